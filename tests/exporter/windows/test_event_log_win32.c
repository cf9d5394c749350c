/* SPDX-License-Identifier: MIT */
/*
 * Log lines as event log entries. The event log is one of the test's own: its functions stand in
 * front of those of Windows when the test is linked (and Wine's keeps nothing).
 */
#include "exporter/windows/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/os_win32.h"

#define SOURCE_KEY L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\etw_exporter"

enum { ENTRY_CHARACTERS = 512 };

static struct {
	unsigned opened, closed, reported;
	unsigned refuse; /* that many entries */
	DWORD id;
	WORD type;
	WCHAR text[ENTRY_CHARACTERS];
	size_t length;
} event_log;

static HANDLE WINAPI register_source(LPCWSTR server, LPCWSTR name)
{
	assert_null(server);
	assert_int_equal(wcscmp(name, L"etw_exporter"), 0);
	event_log.opened++;
	return (HANDLE)(uintptr_t)event_log.opened;
}

static BOOL WINAPI deregister_source(HANDLE source)
{
	assert_true((uintptr_t)source == event_log.opened);
	event_log.closed++;
	return TRUE;
}

static BOOL WINAPI report_event(HANDLE source, WORD type, WORD category, DWORD id, PSID user,
				WORD strings, DWORD data_size, LPCWSTR *texts, LPVOID data)
{
	assert_true((uintptr_t)source == event_log.opened);
	assert_true(category == 0 && !user && strings == 1 && data_size == 0 && !data);
	if (event_log.refuse > 0) {
		event_log.refuse--;
		SetLastError(RPC_S_SERVER_UNAVAILABLE);
		return FALSE;
	}
	event_log.reported++;
	event_log.id = id;
	event_log.type = type;
	event_log.length = wcslen(texts[0]);
	wcsncpy(event_log.text, texts[0], ENTRY_CHARACTERS - 1);
	return TRUE;
}

extern void *const __imp_RegisterEventSourceW;
extern void *const __imp_DeregisterEventSource;
extern void *const __imp_ReportEventW;
void *const __imp_RegisterEventSourceW = (void *)register_source;
void *const __imp_DeregisterEventSource = (void *)deregister_source;
void *const __imp_ReportEventW = (void *)report_event;

static int forget(void **state)
{
	(void)state;
	memset(&event_log, 0, sizeof event_log);
	log_configure(LOG_INFO, LOG_LOGFMT);
	return 0;
}

static void lines_become_entries_of_their_level(void **state)
{
	static const struct {
		enum log_level level;
		WORD type;
	} cases[] = { { LOG_INFO, EVENTLOG_INFORMATION_TYPE },
		      { LOG_WARNING, EVENTLOG_WARNING_TYPE },
		      { LOG_ERROR, EVENTLOG_ERROR_TYPE } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(event_log_open(NULL));
		log_line(cases[i].level, "Session started", log_text("session", "gr\xc3\xb6"));
		event_log_close();
		assert_int_equal(event_log.reported, i + 1);
		assert_int_equal(event_log.type, cases[i].type);
		assert_int_equal(event_log.id, 1);
		assert_non_null(
			wcsstr(event_log.text, L" msg=\"Session started\" session=\"gr\x00f6\""));
	}
	assert_int_equal(event_log.opened, event_log.closed);
}

/* "ReportEventW function", Microsoft Learn: a text cannot contain %n. */
static void a_place_holder_in_a_text_stays_text(void **state)
{
	(void)state;
	assert_true(event_log_open(NULL));
	log_info("x", log_text("address", "fe80::1%1"), log_text("other", "%%a 5% %n"));
	event_log_close();
	assert_non_null(wcsstr(event_log.text, L" address=fe80::1% 1 other=\"% %a 5% %n\""));
}

static void an_entry_that_is_too_long_is_cut(void **state)
{
	char *text = calloc(50000, 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 49999);
	assert_true(event_log_open(NULL));
	log_info("x", log_text("long", text));
	event_log_close();
	assert_int_equal(event_log.reported, 1);
	assert_in_range(event_log.length, 30000, 31839);
	free(text);
}

static void an_event_log_that_was_restarted_is_found_again(void **state)
{
	(void)state;
	assert_true(event_log_open(NULL));
	event_log.refuse = 1;
	log_info("first");
	log_info("second");
	event_log_close();
	assert_int_equal(event_log.reported, 2);
	assert_int_equal(event_log.opened, 2);
	assert_int_equal(event_log.closed, 2);
}

static void an_event_log_that_fails_stops_no_writer(void **state)
{
	(void)state;
	assert_true(event_log_open(NULL));
	event_log.refuse = 1000;
	for (int i = 0; i < 100; i++) {
		log_error("nobody reads this");
	}
	event_log_close();
	assert_int_equal(event_log.reported, 0);
	assert_int_equal(event_log.opened, event_log.closed);
}

static void the_source_is_registered_and_removed(void **state)
{
	struct etw_error err = { 0 };
	WCHAR file[64];
	DWORD levels = 0, size = sizeof file, levels_size = sizeof levels;

	(void)state;
	assert_true(event_log_register("C:\\a b\\etw_exporter.exe", &err));
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, SOURCE_KEY, L"EventMessageFile",
				      RRF_RT_REG_SZ, NULL, file, &size),
			 ERROR_SUCCESS);
	assert_int_equal(wcscmp(file, L"C:\\a b\\etw_exporter.exe"), 0);
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, SOURCE_KEY, L"TypesSupported",
				      RRF_RT_REG_DWORD, NULL, &levels, &levels_size),
			 ERROR_SUCCESS);
	assert_int_equal(levels,
			 EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE);
	assert_true(event_log_register("D:\\other.exe", &err));
	assert_true(event_log_unregister(&err));
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, SOURCE_KEY, L"EventMessageFile",
				      RRF_RT_REG_SZ, NULL, file, &size),
			 ERROR_FILE_NOT_FOUND);
	assert_true(event_log_unregister(&err));
}

/* What the event viewer does: the text of the message in the program, with the line put in. */
static void the_program_holds_the_message_of_its_entries(void **state)
{
	const char *path = getenv("ETW_EXPORTER");
	const WCHAR *arguments[] = { L"level=info msg=\"one line\" 5% done" };
	WCHAR *wide, *dos, text[128];
	HMODULE program;
	DWORD size;

	(void)state;
	if (!path) {
		skip();
	}
	wide = wide_from(path);
	assert_non_null(wide);
	/* The test gets a path of the host; Wine has it below Z:. */
	dos = calloc(wcslen(wide) + 3, sizeof *dos);
	assert_non_null(dos);
	wcscpy(dos, wide[0] == L'/' ? L"Z:" : L"");
	wcscat(dos, wide);
	program = LoadLibraryExW(dos, NULL, LOAD_LIBRARY_AS_DATAFILE);
	assert_non_null(program);
	size = FormatMessageW(FORMAT_MESSAGE_FROM_HMODULE | FORMAT_MESSAGE_ARGUMENT_ARRAY, program,
			      1, 0, text, 128, (va_list *)(uintptr_t)arguments);
	assert_int_equal(size, wcslen(arguments[0]) + 2);
	assert_int_equal(wcsncmp(text, arguments[0], wcslen(arguments[0])), 0);
	assert_int_equal(wcscmp(text + wcslen(arguments[0]), L"\r\n"), 0);
	FreeLibrary(program);
	free(dos);
	free(wide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lines_become_entries_of_their_level, forget),
		cmocka_unit_test_setup(a_place_holder_in_a_text_stays_text, forget),
		cmocka_unit_test_setup(an_entry_that_is_too_long_is_cut, forget),
		cmocka_unit_test_setup(an_event_log_that_was_restarted_is_found_again, forget),
		cmocka_unit_test_setup(an_event_log_that_fails_stops_no_writer, forget),
		cmocka_unit_test(the_source_is_registered_and_removed),
		cmocka_unit_test(the_program_holds_the_message_of_its_entries),
	};

	return cmocka_run_group_tests_name("event_log_win32", tests, NULL, NULL);
}

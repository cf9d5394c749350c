/* SPDX-License-Identifier: MIT */
/*
 * The service, installed, run and removed by the program as it ships and the service manager of
 * this machine (Wine's, where the tests run).
 */
#include "exporter/windows/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <shellapi.h>

#include <cmocka.h>

#include "base/os_win32.h"
#include "base/text.h"
#include "tests/support/patience.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"

#define NAME       L"etw_exporter"
#define SOURCE_KEY L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\etw_exporter"

enum { LOOK_MS = 10, LINE_SIZE = 4096 };

static WCHAR program[MAX_PATH]; /* the exporter */
static SC_HANDLE manager;
static SC_HANDLE service; /* of the test that runs, or NULL */

/* ---- the program ---- */

static HANDLE inherited_file(const char *path)
{
	SECURITY_ATTRIBUTES inherited = { sizeof inherited, NULL, TRUE };
	HANDLE file = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ, &inherited, CREATE_ALWAYS,
				  0, NULL);

	assert_true(file != INVALID_HANDLE_VALUE);
	return file;
}

/* Runs it with these arguments; said is what it wrote on both outputs. Returns its exit code. */
static DWORD run(const char *arguments, char said[LINE_SIZE])
{
	char path[TEMPORARY_PATH_SIZE];
	WCHAR *wide = wide_from(arguments), *line;
	STARTUPINFOW start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
	PROCESS_INFORMATION process;
	DWORD status;
	size_t size;
	FILE *file;

	temporary_path(path, "txt");
	line = calloc(MAX_PATH + 3 + strlen(arguments), sizeof *line);
	assert_true(wide && line);
	swprintf(line, MAX_PATH + 3 + strlen(arguments), L"\"%ls\" %ls", program, wide);
	start.hStdOutput = start.hStdError = inherited_file(path);
	assert_true(
		CreateProcessW(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process));
	assert_int_equal(WaitForSingleObject(process.hProcess, WAIT_MS), WAIT_OBJECT_0);
	assert_true(GetExitCodeProcess(process.hProcess, &status));
	CloseHandle(process.hProcess);
	CloseHandle(process.hThread);
	CloseHandle(start.hStdOutput);
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(said, 1, LINE_SIZE - 1, file);
	said[size] = '\0';
	fclose(file);
	remove(path);
	free(line);
	free(wide);
	return status;
}

static void must_run(const char *arguments)
{
	char said[LINE_SIZE];
	DWORD status = run(arguments, said);

	if (status != 0) {
		fail_msg("%s: %lu, %s", arguments, (unsigned long)status, said);
	}
}

static void install(const char *arguments)
{
	char line[2048];

	snprintf(line, sizeof line, "--service=install --web.listen-address=127.0.0.1:0 %s",
		 arguments);
	must_run(line);
}

/* ---- the service ---- */

static void open_service(void)
{
	service = OpenServiceW(manager, NAME, SERVICE_ALL_ACCESS);
	assert_non_null(service);
}

/* While another program has it open, a service that is removed is still there. */
static void close_service(void)
{
	if (service) {
		CloseServiceHandle(service);
	}
	service = NULL;
}

static bool is_installed(void)
{
	SC_HANDLE found = OpenServiceW(manager, NAME, SERVICE_QUERY_STATUS);

	if (found) {
		CloseServiceHandle(found);
	}
	return found != NULL;
}

/* Waits until it is in this state, or has stopped. */
static SERVICE_STATUS wait_for(DWORD requested)
{
	SERVICE_STATUS status;

	for (unsigned waited = 0;; waited += LOOK_MS) {
		assert_true(QueryServiceStatus(service, &status));
		if (status.dwCurrentState == requested ||
		    status.dwCurrentState == SERVICE_STOPPED) {
			return status;
		}
		assert_true(waited < WAIT_MS);
		Sleep(LOOK_MS);
	}
}

static QUERY_SERVICE_CONFIGW *service_config(void)
{
	enum { SIZE = 8192 };
	QUERY_SERVICE_CONFIGW *config = calloc(1, SIZE);
	DWORD needed;

	assert_non_null(config);
	assert_true(QueryServiceConfigW(service, config, SIZE, &needed));
	return config;
}

static int start_clean(void **state)
{
	char said[LINE_SIZE];

	(void)state;
	close_service();
	if (is_installed()) {
		run("--service=uninstall", said);
	}
	return 0;
}

/* ---- arguments ---- */

static char *as_it_is(const char *path)
{
	return text_duplicate(path, strlen(path));
}

static void assert_read_back(const char *argument)
{
	char name[] = "etw_exporter", *copy = as_it_is(argument);
	char *argv[] = { name, copy };
	struct etw_text line = { 0 };
	WCHAR *wide, **taken;
	char *again;
	int count;

	assert_non_null(copy);
	assert_true(
		service_command_line(&line, "C:\\Program Files\\e.exe", 2, argv, as_it_is, NULL));
	wide = wide_from(line.data);
	assert_non_null(wide);
	taken = CommandLineToArgvW(wide, &count);
	assert_int_equal(count, 3);
	assert_int_equal(wcscmp(taken[0], L"C:\\Program Files\\e.exe"), 0);
	assert_int_equal(wcscmp(taken[1], L"--service=run"), 0);
	again = narrow_from(taken[2]);
	assert_string_equal(again, argument);
	free(again);
	LocalFree(taken);
	free(wide);
	text_free(&line);
	free(copy);
}

/* Every word of up to six of the letters that matter. */
static void windows_reads_every_argument_back(void **state)
{
	static const char letters[] = "a\\\" ";

	(void)state;
	for (unsigned length = 0; length <= 6; length++) {
		for (unsigned word = 0; word < 1U << 2 * length; word++) {
			char argument[8] = "";

			for (unsigned i = 0; i < length; i++) {
				argument[i] = letters[word >> 2 * i & 3];
			}
			assert_read_back(argument);
		}
	}
	assert_read_back("gr\xc3\xb6\xc3\x9f\xf0\x9f\x93\x88 \t\n");
}

/* ---- installing ---- */

static void installing_makes_a_service_with_its_arguments(void **state)
{
	QUERY_SERVICE_CONFIGW *config;
	WCHAR expected[2048], folder[MAX_PATH];

	(void)state;
	assert_true(GetCurrentDirectoryW(MAX_PATH, folder) > 0);
	install("\"--replay.file=no such.etl\" --replay.loop");
	open_service();
	config = service_config();
	swprintf(expected, 2048,
		 L"\"%ls\" --service=run --web.listen-address=127.0.0.1:0 "
		 L"\"--replay.file=%ls\\no such.etl\" --replay.loop",
		 program, folder);
	assert_int_equal(wcscmp(config->lpBinaryPathName, expected), 0);
	assert_int_equal(config->dwStartType, SERVICE_AUTO_START);
	assert_int_equal(config->dwServiceType, SERVICE_WIN32_OWN_PROCESS);
	assert_int_equal(wcscmp(config->lpServiceStartName, L"LocalSystem"), 0);
	assert_true(wcslen(config->lpDisplayName) > 0);
	free(config);
	close_service();
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, SOURCE_KEY, L"EventMessageFile",
				      RRF_RT_REG_SZ, NULL, NULL, NULL),
			 ERROR_SUCCESS);
}

static void installing_again_brings_the_service_up_to_date(void **state)
{
	QUERY_SERVICE_CONFIGW *config;

	(void)state;
	install("--collector.cpu");
	install("--collector.image");
	open_service();
	config = service_config();
	assert_null(wcsstr(config->lpBinaryPathName, L"--collector.cpu"));
	assert_non_null(wcsstr(config->lpBinaryPathName, L" --collector.image"));
	free(config);
	close_service();
}

static void a_configuration_that_is_wrong_is_not_installed(void **state)
{
	char said[LINE_SIZE];

	(void)state;
	assert_int_equal(run("--service=install --collector.nonsense", said), 2);
	assert_non_null(strstr(said, "nonsense"));
	assert_false(is_installed());
}

/* ---- running ---- */

/* A service that serves a recording, to be removed; opened. */
static void install_replay(char sample[TEMPORARY_PATH_SIZE])
{
	char arguments[512];

	temporary_path(sample, "etl");
	assert_true(sample_write(sample, NULL, NULL));
	snprintf(arguments, sizeof arguments, "--replay.loop --replay.speed=1 --replay.file=%s",
		 sample);
	install(arguments);
	open_service();
}

static void it_runs_answers_and_stops(void **state)
{
	char sample[TEMPORARY_PATH_SIZE];
	SERVICE_STATUS status;

	(void)state;
	install_replay(sample);
	for (unsigned again = 0; again < 2; again++) {
		assert_true(StartServiceW(service, 0, NULL));
		status = wait_for(SERVICE_RUNNING);
		assert_int_equal(status.dwCurrentState, SERVICE_RUNNING);
		assert_int_equal(status.dwControlsAccepted,
				 SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN |
					 SERVICE_ACCEPT_PARAMCHANGE | SERVICE_ACCEPT_PRESHUTDOWN);
		assert_true(ControlService(service, SERVICE_CONTROL_INTERROGATE, &status));
		assert_true(ControlService(service, SERVICE_CONTROL_PARAMCHANGE, &status));
		assert_int_equal(wait_for(SERVICE_RUNNING).dwCurrentState, SERVICE_RUNNING);
		/* Its configuration has no flight recorder; Wine does not pass the answer on. */
		if (!ControlService(service, SERVICE_RECORD, &status)) {
			assert_int_equal(GetLastError(), ERROR_SERVICE_NOT_ACTIVE);
		}
		assert_int_equal(wait_for(SERVICE_RUNNING).dwCurrentState, SERVICE_RUNNING);
		assert_true(ControlService(service, SERVICE_CONTROL_STOP, &status));
		status = wait_for(SERVICE_STOPPED);
		assert_int_equal(status.dwWin32ExitCode, NO_ERROR);
	}
	close_service();
	remove(sample);
}

static void remove_entry(const char *folder, const char *name)
{
	char path[2 * MAX_PATH];

	snprintf(path, sizeof path, "%s\\%s", folder, name);
	assert_true(DeleteFileA(path));
}

/* The number of files in the folder, which all are recordings with something in them. */
static unsigned remove_recordings(const char *folder)
{
	char pattern[TEMPORARY_PATH_SIZE + 8];
	WIN32_FIND_DATAA entry;
	unsigned count = 0;
	HANDLE search;

	snprintf(pattern, sizeof pattern, "%s\\*.*", folder);
	search = FindFirstFileA(pattern, &entry);
	assert_true(search != INVALID_HANDLE_VALUE);
	do {
		if (!(entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) {
			const char *ending = strrchr(entry.cFileName, '.');

			assert_string_equal(ending ? ending : "", ".etl");
			assert_true(entry.nFileSizeLow > 4096);
			remove_entry(folder, entry.cFileName);
			count++;
		}
	} while (FindNextFileA(search, &entry));
	FindClose(search);
	return count;
}

static bool has_recording(const char *folder)
{
	char pattern[TEMPORARY_PATH_SIZE + 24];
	WIN32_FIND_DATAA entry;
	HANDLE search;

	snprintf(pattern, sizeof pattern, "%s\\etw_exporter-*Z.etl", folder);
	search = FindFirstFileA(pattern, &entry);
	if (search == INVALID_HANDLE_VALUE) {
		return false;
	}
	FindClose(search);
	return true;
}

/* As "sc control etw_exporter 128" sends it. */
static void a_control_has_a_recording_written(void **state)
{
	char sample[TEMPORARY_PATH_SIZE], config[TEMPORARY_PATH_SIZE], folder[TEMPORARY_PATH_SIZE];
	char text[512];
	SERVICE_STATUS status;

	(void)state;
	temporary_path(sample, "etl");
	temporary_path(config, "yaml");
	temporary_path(folder, "recordings");
	assert_true(sample_write(sample, NULL, NULL));
	assert_true(CreateDirectoryA(folder, NULL));
	snprintf(text, sizeof text, "recorder: { dir: %s, memory: 4MiB, interval: 1s }\n", folder);
	temporary_write(config, text, strlen(text));
	snprintf(text, sizeof text,
		 "--config.file=%s --replay.loop --replay.speed=20 --replay.file=%s", config,
		 sample);
	install(text);
	open_service();
	assert_true(StartServiceW(service, 0, NULL));
	assert_int_equal(wait_for(SERVICE_RUNNING).dwCurrentState, SERVICE_RUNNING);
	/* Before the first event there is nothing to record. */
	for (unsigned waited = 0; !has_recording(folder); waited += 100) {
		assert_true(waited < WAIT_MS);
		assert_true(ControlService(service, SERVICE_RECORD, &status));
		Sleep(100);
	}
	assert_true(ControlService(service, SERVICE_CONTROL_STOP, &status));
	assert_int_equal(wait_for(SERVICE_STOPPED).dwWin32ExitCode, NO_ERROR);
	close_service();
	assert_true(remove_recordings(folder) > 0);
	assert_true(RemoveDirectoryA(folder));
	remove(config);
	remove(sample);
}

static void why_it_cannot_start_is_an_exit_code_of_its_own(void **state)
{
	static const struct {
		const char *config; /* when it starts */
		DWORD status;
	} cases[] = { { "", 1 }, { "nonsense: 1\n", 2 } };
	char path[TEMPORARY_PATH_SIZE], arguments[512];

	(void)state;
	temporary_path(path, "yaml");
	temporary_write(path, "", 0);
	snprintf(arguments, sizeof arguments, "--config.file=%s --replay.file=no-such.etl", path);
	install(arguments);
	open_service();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		SERVICE_STATUS status;

		temporary_write(path, cases[i].config, strlen(cases[i].config));
		assert_true(StartServiceW(service, 0, NULL));
		status = wait_for(SERVICE_STOPPED);
		assert_int_equal(status.dwWin32ExitCode, ERROR_SERVICE_SPECIFIC_ERROR);
		assert_int_equal(status.dwServiceSpecificExitCode, cases[i].status);
	}
	close_service();
	remove(path);
}

/* ---- removing ---- */

static void a_service_that_runs_is_stopped_and_removed(void **state)
{
	char sample[TEMPORARY_PATH_SIZE];

	(void)state;
	install_replay(sample);
	assert_true(StartServiceW(service, 0, NULL));
	assert_int_equal(wait_for(SERVICE_RUNNING).dwCurrentState, SERVICE_RUNNING);
	must_run("--service=uninstall");
	assert_int_equal(wait_for(SERVICE_STOPPED).dwCurrentState, SERVICE_STOPPED);
	close_service();
	assert_false(is_installed());
	assert_int_equal(RegGetValueW(HKEY_LOCAL_MACHINE, SOURCE_KEY, L"EventMessageFile",
				      RRF_RT_REG_SZ, NULL, NULL, NULL),
			 ERROR_FILE_NOT_FOUND);
	remove(sample);
}

static void what_cannot_be_done_is_said_in_one_line(void **state)
{
	char said[LINE_SIZE];

	(void)state;
	assert_int_equal(run("--service=uninstall", said), 1);
	assert_string_equal(said,
			    "etw_exporter: the service cannot be removed: it is not installed\n");
	assert_int_equal(run("--service=run", said), 2);
	assert_string_equal(said, "etw_exporter: --service=run is for the service manager; start "
				  "the service with: net start etw_exporter\n");
}

static int find_program(void **state)
{
	const char *path = getenv("ETW_EXPORTER");
	WCHAR *wide = wide_from(path ? path : "");

	(void)state;
	assert_non_null(wide);
	/* The test gets a path of the host; Wine has it below Z:. */
	swprintf(program, MAX_PATH, L"%ls%ls", wide[0] == L'/' ? L"Z:" : L"", wide);
	for (WCHAR *at = program; *at; at++) {
		*at = *at == L'/' ? L'\\' : *at;
	}
	free(wide);
	manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_ALL_ACCESS);
	return manager ? 0 : -1;
}

static int forget_manager(void **state)
{
	start_clean(state);
	CloseServiceHandle(manager);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_reads_every_argument_back),
		cmocka_unit_test_setup(installing_makes_a_service_with_its_arguments, start_clean),
		cmocka_unit_test_setup(installing_again_brings_the_service_up_to_date, start_clean),
		cmocka_unit_test_setup(a_configuration_that_is_wrong_is_not_installed, start_clean),
		cmocka_unit_test_setup(it_runs_answers_and_stops, start_clean),
		cmocka_unit_test_setup(a_control_has_a_recording_written, start_clean),
		cmocka_unit_test_setup(why_it_cannot_start_is_an_exit_code_of_its_own, start_clean),
		cmocka_unit_test_setup(a_service_that_runs_is_stopped_and_removed, start_clean),
		cmocka_unit_test_setup(what_cannot_be_done_is_said_in_one_line, start_clean),
	};

	if (!getenv("ETW_EXPORTER")) {
		return 77; /* nothing to install */
	}
	return cmocka_run_group_tests_name("service_win32", tests, find_program, forget_manager);
}

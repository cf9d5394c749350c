/* SPDX-License-Identifier: MIT */
/*
 * The crash handler. This program starts itself as a child, and the child crashes in the way that
 * its argument says. A stack overflow is not tested: Wine ends the process without an exception.
 */
#include "exporter/windows/crash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/support/patience.h"

enum { ABORTED = 3 };

/* ---- the child ---- */

static HANDLE acted; /* the parent's event */
static CRITICAL_SECTION taken;

static void act(void)
{
	SetEvent(acted);
}

/* Waits for a lock that the crashing thread holds. */
static void act_too_late(void)
{
	EnterCriticalSection(&taken);
	SetEvent(acted);
}

static void die_of_fault(void *unused)
{
	volatile int *volatile nowhere = NULL;

	(void)unused;
	*nowhere = 1;
}

/* As ProcessTrace() does with callbacks: catches what a thread raises, which then ends. Windows
 * runs it behind all other vectored handlers, and before the filter of unhandled exceptions. */
static LONG CALLBACK catch_and_end_thread(EXCEPTION_POINTERS *exception)
{
	(void)exception;
	ExitThread(0);
}

static void fault_in_callback(void *fatal)
{
	volatile bool in_callback = fatal != NULL;

	AddVectoredExceptionHandler(0, catch_and_end_thread);
	os_use_fault_flag(&in_callback);
	die_of_fault(NULL);
}

/* A security product has code of its own in the process. It may fault there on purpose. */
static void fault_elsewhere(void *unused)
{
	static const unsigned char code[] = { 0x31, 0xc0, 0x89, 0x00 }; /* writes to address 0 */
	volatile bool in_callback = true;
	void *elsewhere = VirtualAlloc(NULL, sizeof code, MEM_COMMIT, PAGE_EXECUTE_READWRITE);
	void (*call)(void);

	(void)unused;
	memcpy(elsewhere, code, sizeof code);
	memcpy(&call, &elsewhere, sizeof call);
	AddVectoredExceptionHandler(0, catch_and_end_thread);
	os_use_fault_flag(&in_callback);
	call();
}

/* C++ raises this code for what it throws, and a handler of the program catches it. */
static void raise_in_callback(void *unused)
{
	volatile bool in_callback = true;

	(void)unused;
	AddVectoredExceptionHandler(0, catch_and_end_thread);
	os_use_fault_flag(&in_callback);
	RaiseException(0xe06d7363, 0, 0, NULL);
}

static void die_on_thread(const char *how)
{
	static const struct {
		const char *how;
		void (*run)(void *context);
		void *context;
	} threads[] = {
		{ "thread", die_of_fault, NULL },
		{ "callback", fault_in_callback, (void *)1 },
		{ "caught", fault_in_callback, NULL },
		{ "thrown", raise_in_callback, NULL },
		{ "elsewhere", fault_elsewhere, NULL },
	};
	struct os_thread thread;

	for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
		if (strcmp(how, threads[i].how) == 0 &&
		    os_thread_start(&thread, threads[i].run, threads[i].context, NULL)) {
			os_thread_join(&thread);
		}
	}
}

static int die(const char *how)
{
	SetErrorMode(SEM_NOGPFAULTERRORBOX);
	acted = OpenEventA(EVENT_MODIFY_STATE, FALSE, "etw_exporter_test_crash");
	InitializeCriticalSection(&taken);
	if (!acted || !crash_catch(strcmp(how, "locked") == 0 ? act_too_late : act, NULL)) {
		return 1;
	}
	if (strcmp(how, "locked") == 0) {
		EnterCriticalSection(&taken);
	}
	if (strcmp(how, "abort") == 0) {
		abort();
	}
	if (strcmp(how, "end") == 0) {
		crash_end("a reason");
	}
	if (strcmp(how, "fault") == 0 || strcmp(how, "locked") == 0) {
		die_of_fault(NULL);
	}
	die_on_thread(how);
	return 0;
}

/* ---- the parent ---- */

/* A file for the child's standard error. */
static HANDLE open_log(void)
{
	SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
	char folder[MAX_PATH], path[MAX_PATH];
	HANDLE file;

	assert_in_range(GetTempPathA(MAX_PATH, folder), 1, MAX_PATH - 1);
	assert_int_not_equal(GetTempFileNameA(folder, "etw", 0, path), 0);
	file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE | DELETE,
			   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited,
			   CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, NULL);
	assert_true(file != INVALID_HANDLE_VALUE);
	return file;
}

static void how_a_process_dies_and_whether_it_acts_before(void **state)
{
	static const struct {
		const char *how;
		DWORD status;
		bool acts;
		const char *logs; /* NULL: nothing */
	} cases[] = {
		{ "fault", EXCEPTION_ACCESS_VIOLATION, true, "reason=\"access violation\"" },
		{ "thread", EXCEPTION_ACCESS_VIOLATION, true, "code=0xc0000005 at=test_crash" },
		{ "callback", EXCEPTION_ACCESS_VIOLATION, true, "reason=\"access violation\"" },
		{ "abort", ABORTED, true, "abort()" },
		{ "end", CRASH_STATUS, true, "reason=\"a reason\"" },
		{ "locked", EXCEPTION_ACCESS_VIOLATION, false, NULL },
		{ "caught", 0, false, NULL },
		{ "thrown", 0, false, NULL },
		{ "elsewhere", 0, false, NULL },
		{ "exit", 0, false, NULL },
	};
	HANDLE event = CreateEventA(NULL, TRUE, FALSE, "etw_exporter_test_crash");
	char program[MAX_PATH];

	(void)state;
	assert_non_null(event);
	assert_in_range(GetModuleFileNameA(NULL, program, MAX_PATH), 1, MAX_PATH - 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		STARTUPINFOA start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
		PROCESS_INFORMATION child;
		char line[64], log[4096];
		HANDLE file = open_log();
		DWORD status, size;

		print_message("  %s\n", cases[i].how);
		ResetEvent(event);
		start.hStdError = file;
		snprintf(line, sizeof line, "test_crash %s", cases[i].how);
		assert_true(CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &start,
					   &child));
		assert_int_equal(WaitForSingleObject(child.hProcess, WAIT_MS), WAIT_OBJECT_0);
		assert_true(GetExitCodeProcess(child.hProcess, &status));
		CloseHandle(child.hProcess);
		CloseHandle(child.hThread);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(WaitForSingleObject(event, 0) == WAIT_OBJECT_0, cases[i].acts);
		SetFilePointer(file, 0, NULL, FILE_BEGIN);
		assert_true(ReadFile(file, log, sizeof log - 1, &size, NULL));
		log[size] = '\0';
		CloseHandle(file); /* which removes it */
		print_message("    %s\n", log);
		assert_int_equal(strstr(log, "Ending at once") != NULL, cases[i].logs != NULL);
		assert_true(!cases[i].logs || strstr(log, cases[i].logs));
	}
	CloseHandle(event);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_a_process_dies_and_whether_it_acts_before),
	};

	if (argc == 2) {
		return die(argv[1]);
	}
	return cmocka_run_group_tests_name("crash_win32", tests, NULL, NULL);
}

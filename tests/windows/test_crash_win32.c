/* SPDX-License-Identifier: MIT */
/*
 * The crash handler. This program starts itself as a child, and the child crashes in the way that
 * its argument says. A stack overflow is not tested: Wine ends the process without an exception.
 */
#include "windows/crash.h"

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

static int die(const char *how)
{
	struct os_thread thread;

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
	if (strcmp(how, "thread") == 0 && os_thread_start(&thread, die_of_fault, NULL, NULL)) {
		os_thread_join(&thread);
	}
	if (strcmp(how, "exit") != 0) {
		die_of_fault(NULL);
	}
	return 0;
}

/* ---- the parent ---- */

static void how_a_process_dies_and_whether_it_acts_before(void **state)
{
	static const struct {
		const char *how;
		DWORD status;
		bool acts;
	} cases[] = {
		{ "fault", EXCEPTION_ACCESS_VIOLATION, true },
		{ "thread", EXCEPTION_ACCESS_VIOLATION, true },
		{ "abort", ABORTED, true },
		{ "locked", EXCEPTION_ACCESS_VIOLATION, false },
		{ "exit", 0, false },
	};
	HANDLE event = CreateEventA(NULL, TRUE, FALSE, "etw_exporter_test_crash");
	char program[MAX_PATH];

	(void)state;
	assert_non_null(event);
	assert_in_range(GetModuleFileNameA(NULL, program, MAX_PATH), 1, MAX_PATH - 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		STARTUPINFOA start = { .cb = sizeof start };
		PROCESS_INFORMATION child;
		char line[64];
		DWORD status;

		print_message("  %s\n", cases[i].how);
		ResetEvent(event);
		snprintf(line, sizeof line, "test_crash %s", cases[i].how);
		assert_true(CreateProcessA(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &start,
					   &child));
		assert_int_equal(WaitForSingleObject(child.hProcess, WAIT_MS), WAIT_OBJECT_0);
		assert_true(GetExitCodeProcess(child.hProcess, &status));
		CloseHandle(child.hProcess);
		CloseHandle(child.hThread);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(WaitForSingleObject(event, 0) == WAIT_OBJECT_0, cases[i].acts);
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

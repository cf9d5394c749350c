/* SPDX-License-Identifier: MIT */
#include "windows/crash.h"

#include <process.h>
#include <signal.h>
#include <windows.h>

#include "base/os_win32.h"

enum { LAST_ACT_MS = 2000, STACK_LEFT_BYTES = 65536 };

/* Written before the filter is in place. */
static struct {
	void (*last_act)(void);
	HANDLE crashed; /* set by the thread that dies */
	HANDLE done;    /* set when the last act is over */
} crash;

static unsigned __stdcall wait_for_crash(void *unused)
{
	(void)unused;
	WaitForSingleObject(crash.crashed, INFINITE);
	crash.last_act();
	SetEvent(crash.done);
	return 0;
}

/* On the thread that died: two calls to the kernel, no lock, hardly any stack. */
static void act_last(void)
{
	SetEvent(crash.crashed);
	WaitForSingleObject(crash.done, LAST_ACT_MS);
}

static LONG WINAPI on_exception(EXCEPTION_POINTERS *exception)
{
	(void)exception;
	act_last();
	return EXCEPTION_CONTINUE_SEARCH;
}

static void on_abort(int number)
{
	(void)number;
	act_last();
}

bool crash_catch(void (*last_act)(void), struct error *err)
{
	ULONG stack_bytes = STACK_LEFT_BYTES;
	uintptr_t thread;

	crash.last_act = last_act;
	crash.crashed = CreateEventW(NULL, TRUE, FALSE, NULL);
	crash.done = CreateEventW(NULL, TRUE, FALSE, NULL);
	thread = crash.crashed && crash.done ?
			 _beginthreadex(NULL, 0, wait_for_crash, NULL, 0, NULL) :
			 0;
	if (thread == 0) {
		return error_set_last(err, "the crash handler cannot be installed");
	}
	CloseHandle((HANDLE)thread);
	/* Bytes that a full stack keeps for the handler of that exception. */
	SetThreadStackGuarantee(&stack_bytes);
	SetUnhandledExceptionFilter(on_exception);
	signal(SIGABRT, on_abort);
	return true;
}

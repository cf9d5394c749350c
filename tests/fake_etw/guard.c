/* SPDX-License-Identifier: MIT */
/*
 * Calls a function and survives its faults, as ProcessTrace does with callbacks.
 *
 * ProcessTrace has a frame-based handler around each callback. Windows runs such a handler after
 * all vectored ones, so the fake's, which is a vectored one, is the last of these; natively a fault
 * is a signal. Either way the thread continues where the call began. Nothing in between is undone:
 * locks that the callback took stay as they were.
 */
#include "tests/fake_etw/internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
/* Where the thread continues; longjmp() would unwind frames that the handler stands on. */
static _Thread_local void *place[5];
static _Thread_local bool guarded;

static void land(void)
{
	__builtin_longjmp(place, 1);
}

static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception)
{
	if (!guarded || exception->ExceptionRecord->ExceptionCode < 0xc0000000) {
		return EXCEPTION_CONTINUE_SEARCH;
	}
	/* As if the faulting instruction had called land(). */
	exception->ContextRecord->Rip = (DWORD64)(uintptr_t)land;
	exception->ContextRecord->Rsp = (exception->ContextRecord->Rsp & ~(DWORD64)15) - 8;
	return EXCEPTION_CONTINUE_EXECUTION;
}

void fake_guard_begin(void)
{
	static bool installed;

	if (!installed && !AddVectoredExceptionHandler(0, on_exception)) {
		abort();
	}
	installed = true;
}

static __attribute__((noinline)) bool call_guarded(void (*call)(void *context), void *context)
{
	if (__builtin_setjmp(place)) {
		return false;
	}
	guarded = true;
	call(context);
	return true;
}
#else
#include <signal.h>

static _Thread_local sigjmp_buf place;
static _Thread_local bool guarded;
static struct sigaction before;

static void on_signal(int number)
{
	if (guarded) {
		siglongjmp(place, 1);
	}
	/* The instruction runs again and faults, this time for the handler that was there. */
	sigaction(number, &before, NULL);
}

void fake_guard_begin(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction present;

	/* cmocka installs its own for each test. */
	if (sigaction(SIGSEGV, NULL, &present) != 0) {
		abort();
	}
	if (present.sa_handler != on_signal) {
		before = present;
		sigaction(SIGSEGV, &action, NULL);
	}
}

static bool call_guarded(void (*call)(void *context), void *context)
{
	if (sigsetjmp(place, 1) != 0) {
		return false;
	}
	guarded = true;
	call(context);
	return true;
}
#endif

bool fake_guard(void (*call)(void *context), void *context)
{
	bool done = call_guarded(call, context);

	guarded = false;
	if (!done) {
		fprintf(stderr, "fake_etw: a callback has faulted\n");
	}
	return done;
}

/* SPDX-License-Identifier: MIT */
/*
 * The crash handler runs the last act of a process that dies, and logs the reason.
 *
 * Three paths lead to it: the filter of unhandled exceptions, abort(), and a vectored handler,
 * which Windows runs before any handler on the stack. The vectored handler is for callbacks of
 * ProcessTrace(), which catches their exceptions, so that the filter would never run. It runs for
 * every exception of every thread, and most of these are handled, so it must be sure that the
 * exception is fatal: the thread must have set os_faults_fatal(), the code must be one that the
 * processor raises for a mistake of the program, and the instruction must be in a module that this
 * program calls. Security products put their own code into our process, where faults may be raised
 * and handled on purpose. A fault of ours elsewhere is found when ProcessTrace() returns.
 *
 * The thread that dies does as little as possible: it notes what happened, wakes the other thread,
 * and waits for it. That one has a whole stack, but the thread that died may hold any lock of the
 * process, even those of the log and the heap; therefore the wait is limited.
 */
#include "exporter/windows/crash.h"

#include <inttypes.h>
#include <process.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <windows.h>

#include "base/log.h"
#include "base/os.h"
#include "base/os_win32.h"
#include "exporter/windows/service.h"

enum { LAST_ACT_MS = 5000, STACK_LEFT_BYTES = 65536 };

/* last_act and the events are written before the handlers are installed. The first thread that dies
 * writes the other members before it sets `crashed`. */
static struct {
	void (*last_act)(void);
	HANDLE crashed; /* set by the thread that dies */
	HANDLE done;    /* set when the last act has returned */
	atomic_bool noted;
	const char *reason; /* reason of crash_end() or abort(); NULL: an exception */
	DWORD thread;
	DWORD code;
	const void *address;
} crash;

static const struct {
	DWORD code;
	const char *text;
} faults[] = {
	{ EXCEPTION_ACCESS_VIOLATION, "access violation" },
	{ EXCEPTION_IN_PAGE_ERROR, "a page could not be read" },
	{ EXCEPTION_STACK_OVERFLOW, "stack overflow" },
	{ EXCEPTION_ILLEGAL_INSTRUCTION, "illegal instruction" },
	{ EXCEPTION_PRIV_INSTRUCTION, "privileged instruction" },
	{ EXCEPTION_INT_DIVIDE_BY_ZERO, "division by zero" },
	{ EXCEPTION_INT_OVERFLOW, "integer overflow" },
	{ EXCEPTION_DATATYPE_MISALIGNMENT, "misaligned access" },
	{ EXCEPTION_ARRAY_BOUNDS_EXCEEDED, "array bounds exceeded" },
	{ EXCEPTION_NONCONTINUABLE_EXCEPTION, "an exception that cannot be continued" },
};

/* Returns the text for a fault; NULL if the exception is not a fault of the program. */
static const char *fault_text(DWORD code)
{
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		if (faults[i].code == code) {
			return faults[i].text;
		}
	}
	return NULL;
}

/* The program, and the modules that callbacks of ProcessTrace() call; NULL: the program itself. */
static const WCHAR *const module_names[] = {
	NULL, L"ntdll.dll", L"kernelbase.dll", L"kernel32.dll", L"msvcrt.dll", L"ucrtbase.dll"
};

enum { MODULES = sizeof module_names / sizeof module_names[0] };

/* Written before the handlers are installed; size 0: the module is not loaded. */
static struct {
	uintptr_t start, size;
} modules[MODULES];

static void find_modules(void)
{
	for (size_t i = 0; i < MODULES; i++) {
		const HMODULE module = GetModuleHandleW(module_names[i]);
		const IMAGE_DOS_HEADER *dos = (const void *)module;
		const IMAGE_NT_HEADERS *headers;

		if (module) {
			headers = (const void *)((const char *)module + dos->e_lfanew);
			modules[i].start = (uintptr_t)module;
			modules[i].size = headers->OptionalHeader.SizeOfImage;
		}
	}
}

static bool is_in_our_code(const void *address)
{
	bool found = false;

	for (size_t i = 0; i < MODULES; i++) {
		found = found || (uintptr_t)address - modules[i].start < modules[i].size;
	}
	return found;
}

/* Writes "etw_exporter.exe+0x1234", which a debugger with debug information maps to a source
 * line. */
static void place_text(const void *address, char text[static MAX_PATH + 32])
{
	char path[MAX_PATH] = "?";
	HMODULE module = NULL;

	if (GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
				       GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
			       (LPCSTR)address, &module)) {
		GetModuleFileNameA(module, path, MAX_PATH);
		path[MAX_PATH - 1] = '\0';
	}
	snprintf(text, MAX_PATH + 32, "%s+0x%" PRIxPTR, os_path_name(path),
		 (uintptr_t)address - (uintptr_t)module);
}

static void log_reason(void)
{
	const char *fault = fault_text(crash.code);
	char code[16], place[MAX_PATH + 32];

	if (crash.reason) {
		log_always(LOG_ERROR, "Ending at once", log_text("reason", crash.reason),
			   log_u64("thread", crash.thread));
	} else {
		snprintf(code, sizeof code, "0x%08lx", (unsigned long)crash.code);
		place_text(crash.address, place);
		log_always(LOG_ERROR, "Ending at once",
			   log_text("reason", fault ? fault : "an unhandled exception"),
			   log_text("code", code), log_text("at", place),
			   log_u64("thread", crash.thread));
	}
	event_log_close(); /* waits until the event log has the line */
}

static unsigned __stdcall wait_for_crash(void *unused)
{
	(void)unused;
	WaitForSingleObject(crash.crashed, INFINITE);
	crash.last_act();
	log_reason();
	SetEvent(crash.done);
	return 0;
}

/* Runs on the thread that died. It makes two calls to the kernel, takes no lock and uses little
 * stack. exception may be NULL. */
static void act_last(const EXCEPTION_RECORD *exception, const char *reason)
{
	if (!atomic_exchange(&crash.noted, true)) {
		crash.reason = reason;
		crash.thread = GetCurrentThreadId();
		crash.code = exception ? exception->ExceptionCode : 0;
		crash.address = exception ? exception->ExceptionAddress : NULL;
		SetEvent(crash.crashed);
	}
	WaitForSingleObject(crash.done, LAST_ACT_MS);
}

static LONG WINAPI on_exception(EXCEPTION_POINTERS *exception)
{
	act_last(exception->ExceptionRecord, NULL);
	return EXCEPTION_CONTINUE_SEARCH;
}

/* Windows calls this for every exception of the process, before any handler on the stack. */
static LONG CALLBACK on_first_chance(EXCEPTION_POINTERS *exception)
{
	DWORD code = exception->ExceptionRecord->ExceptionCode;

	if (!os_faults_fatal() || !fault_text(code) ||
	    !is_in_our_code(exception->ExceptionRecord->ExceptionAddress)) {
		return EXCEPTION_CONTINUE_SEARCH;
	}
	os_set_faults_fatal(false); /* so that a fault in this function does not call it again */
	act_last(exception->ExceptionRecord, NULL);
	/* This starts Windows' error reporting, as for an unhandled exception. */
	UnhandledExceptionFilter(exception);
	TerminateProcess(GetCurrentProcess(), code);
	return EXCEPTION_CONTINUE_SEARCH;
}

static void on_abort(int number)
{
	(void)number;
	act_last(NULL, "abort() was called");
}

_Noreturn void crash_end(const char *reason)
{
	act_last(NULL, reason);
	TerminateProcess(GetCurrentProcess(), CRASH_STATUS);
	abort();
}

bool crash_catch(void (*last_act)(void), struct etw_error *err)
{
	ULONG stack_bytes = STACK_LEFT_BYTES;
	uintptr_t thread;

	crash.last_act = last_act;
	find_modules();
	crash.crashed = CreateEventW(NULL, TRUE, FALSE, NULL);
	crash.done = CreateEventW(NULL, TRUE, FALSE, NULL);
	thread = crash.crashed && crash.done ?
			 _beginthreadex(NULL, 0, wait_for_crash, NULL, 0, NULL) :
			 0;
	if (thread == 0 || !AddVectoredExceptionHandler(1, on_first_chance)) {
		return error_set_last(err, "the crash handler cannot be installed");
	}
	CloseHandle((HANDLE)thread);
	/* Reserves stack for the handler of a stack overflow. */
	SetThreadStackGuarantee(&stack_bytes);
	SetUnhandledExceptionFilter(on_exception);
	signal(SIGABRT, on_abort);
	return true;
}

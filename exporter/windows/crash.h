/* SPDX-License-Identifier: MIT */
/*
 * Runs a function, the last act, before the process dies of a fault. It exists on Windows only,
 * because trace sessions outlive the process there; elsewhere crash_catch() does nothing.
 */
#ifndef WINDOWS_CRASH_H
#define WINDOWS_CRASH_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Installs the handler. From now on, when the process dies of an unhandled exception, of abort() or
 * by crash_end(), last_act() runs first, and then the reason is logged. Both run on a thread that
 * this function starts and that waits until then, because the thread that died may have no stack
 * left and may hold any lock. The dying thread waits for it at most five seconds. Then Windows
 * continues as it would without the handler (error reporting, exit status).
 *
 * An exception that some handler would handle also ends the process, with the code of the exception
 * as exit status, if it is a fault and os_faults_fatal() is true: ProcessTrace() catches the
 * exceptions of its callbacks, and the program would go on with torn state. Exceptions that are no
 * faults (of C++, of debuggers, of RPC) are left alone, and so are faults in code that is neither
 * the program's nor of the modules of Windows that it calls.
 *
 * The calling thread and the threads of os_thread_start() reserve stack for the handler, which they
 * need when their stack overflows.
 *
 * The last act does not run when the process ends at once: by TerminateProcess(), a fast fail (a
 * smashed stack, a corrupt heap), or loss of power. main() calls this once.
 *
 * Source: "SetUnhandledExceptionFilter function", "Vectored Exception Handling", "__fastfail",
 * Microsoft Learn.
 */
bool crash_catch(void (*last_act)(void), struct etw_error *err);

/* The exit status of crash_end(), the same as for a program that could not run (main.c). */
enum { CRASH_STATUS = 1 };

/* Ends the process as a fault does, when it cannot continue. reason: a text that is never freed. */
_Noreturn void crash_end(const char *reason);

#endif

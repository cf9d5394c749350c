/* SPDX-License-Identifier: MIT */
/*
 * A last act before the process dies of a fault. On Windows only, because trace sessions outlive
 * the process there; elsewhere crash_catch() does nothing.
 */
#ifndef WINDOWS_CRASH_H
#define WINDOWS_CRASH_H

#include <stdbool.h>

#include "base/error.h"

/*
 * From now on, when the process dies of an unhandled exception, of abort() or by crash_end(),
 * last_act runs first, and then the reason is logged. Both run on a thread that is started here and
 * waits: the thread that died may have no stack left, and may hold any lock. After five seconds it
 * is waited for no longer. Then Windows goes on as it would without this (error reporting, exit
 * status).
 *
 * An exception that would be handled ends the process likewise, with the code of the exception as
 * exit status, if it is a fault and os_faults_fatal(): ProcessTrace() catches the exceptions of its
 * callbacks, and the program would go on with torn state. Exceptions that are no faults (of C++, of
 * debuggers, of RPC) are left alone.
 *
 * The calling thread, and those of os_thread_start(), keep stack for this when they overflow their
 * stack.
 *
 * There is no last act when the process ends at once: TerminateProcess(), a fast fail (a smashed
 * stack, a corrupt heap), the loss of power. To be called once, by main().
 *
 * Source: "SetUnhandledExceptionFilter function", "Vectored Exception Handling", "__fastfail",
 * Microsoft Learn.
 */
bool crash_catch(void (*last_act)(void), struct etw_error *err);

/* The exit status of crash_end(): that of a program that could not run (main.c). */
enum { CRASH_STATUS = 1 };

/* Ends the process as a fault does, for what cannot go on; reason: a text that stays. */
_Noreturn void crash_end(const char *reason);

#endif

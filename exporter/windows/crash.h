/* SPDX-License-Identifier: MIT */
/*
 * A last act before the process dies of a fault. On Windows only: what a process leaves behind
 * there, trace sessions, ends with it elsewhere.
 */
#ifndef WINDOWS_CRASH_H
#define WINDOWS_CRASH_H

#include <stdbool.h>

#include "base/error.h"

/*
 * From here on, when the process dies of an unhandled exception or of abort(), last_act
 * runs first, on a thread that waits for this since now: the one that died may have no stack left,
 * and may hold any lock. It gets two seconds; a last act that waits for such a lock is left alone.
 * Then Windows goes on as without us (error reporting, exit code).
 *
 * A full stack leaves room for this on the calling thread; on others it may not.
 *
 * What ends a process at once gets no last act: TerminateProcess(), a fast fail (a smashed stack,
 * a corrupt heap), the loss of power. Once, by main().
 *
 * Source: "SetUnhandledExceptionFilter function", "__fastfail", Microsoft Learn.
 */
bool crash_catch(void (*last_act)(void), struct error *err);

#endif

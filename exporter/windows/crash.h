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
 * From now on, when the process dies of an unhandled exception or of abort(), last_act runs first,
 * on a thread that is started here and waits: the thread that died may have no stack left, and may
 * hold any lock. After two seconds it is waited for no longer. Then Windows goes on as it would
 * without this (error reporting, exit code).
 *
 * The calling thread keeps stack for this when it overflows its stack; other threads may not.
 *
 * There is no last act when the process ends at once: TerminateProcess(), a fast fail (a smashed
 * stack, a corrupt heap), the loss of power. To be called once, by main().
 *
 * Source: "SetUnhandledExceptionFilter function", "__fastfail", Microsoft Learn.
 */
bool crash_catch(void (*last_act)(void), struct error *err);

#endif

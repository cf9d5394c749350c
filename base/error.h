/* SPDX-License-Identifier: MIT */
/*
 * Errors as sentences to which callers add context.
 *
 * The innermost function describes what happened, with the numbers; a caller that knows more (a
 * path, a line) adds it in front. A caller that does not need the error passes NULL.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#include <etw/error.h>

/* Hints for the compiler. Each is empty if the compiler does not support it. */
#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#define RARE     __attribute__((noinline, cold)) /* rarely called: kept out of the hot path */
/* For a function that the compiler can shorten much, because an argument is constant. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define NOINLINE
#define RARE
#define ALWAYS_INLINE inline
#endif

/*
 * Sets code and sentence, replacing earlier ones. Returns false, so that `return error_set(err, …)`
 * is the early exit of a function that returns bool. err may be NULL.
 */
bool error_set(struct etw_error *err, enum etw_error_code code, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);

/* Sets ETW_ERROR_NO_MEMORY and "no memory for WHAT". Returns false. err may be NULL. */
bool error_no_memory(struct etw_error *err, const char *what);

/* Puts "<text>: " in front of the sentence. Returns false. err may be NULL. */
bool error_prefix(struct etw_error *err, const char *format, ...) ETW_PRINTF_LIKE(2, 3);

#endif

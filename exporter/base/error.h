/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, as a sentence that gains context on its way up.
 *
 * The innermost function says what happened, with the numbers; each caller that knows more (a path,
 * a line) puts it in front. A caller that does not care passes NULL.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__MINGW32__)
/* Its printf, not that of Microsoft's library, which knows no %zu. */
#define PRINTF_LIKE(format_index, first) __attribute__((format(gnu_printf, format_index, first)))
#else
#define PRINTF_LIKE(format_index, first) __attribute__((format(printf, format_index, first)))
#endif

enum error_code {
	ERROR_NONE = 0,
	ERROR_NO_MEMORY,
	ERROR_SYSTEM, /* the operating system refused: a file, a port, a thread */
	ERROR_FORMAT, /* bytes that are not what they should be */
	ERROR_CONFIG, /* a configuration, collector or command line that says what it may not */
	ERROR_LIMIT,  /* a bound of ours was reached */
	ERROR_UNSUPPORTED,
};

struct error {
	enum error_code code;
	char text[512]; /* UTF-8, one line, no trailing stop; error_set() sees to the first two */
};

/*
 * Sets code and sentence, replacing what was there. Returns false, so that
 * `return error_set(err, …)` is the early exit of a function that returns bool. err may be NULL.
 */
bool error_set(struct error *err, enum error_code code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Sets ERROR_NO_MEMORY and "no memory for WHAT". Returns false. err may be NULL. */
bool error_no_memory(struct error *err, const char *what);

/* Puts "<text>: " in front of the sentence. Returns false. err may be NULL. */
bool error_prefix(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif

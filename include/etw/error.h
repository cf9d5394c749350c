/* SPDX-License-Identifier: MIT */
/*
 * Errors: a code and a sentence for people.
 *
 * This header includes nothing of the C library, so that a file may still choose its features after
 * it (_GNU_SOURCE).
 */
#ifndef ETW_ERROR_H
#define ETW_ERROR_H

enum etw_error_code {
	ETW_ERROR_NONE = 0,
	ETW_ERROR_NO_MEMORY,
	ETW_ERROR_SYSTEM, /* the operating system refused: a file, a port, a thread */
	ETW_ERROR_FORMAT, /* bytes do not have the expected format */
	ETW_ERROR_CONFIG, /* a mistake in the configuration, an argument or the command line */
	ETW_ERROR_LIMIT,  /* a limit of this library was reached */
	ETW_ERROR_UNSUPPORTED,
	ETW_ERROR_MISUSE, /* a function was called with NULL, or in the wrong order */
};

/* A function that can fail takes a pointer to one. The caller owns it, and passes NULL if it does
 * not need the reason. */
struct etw_error {
	enum etw_error_code code;
	char text[512]; /* one line of UTF-8, without a full stop at the end */
};

#if defined(__MINGW32__)
/* gnu_printf is the printf of MinGW; that of Microsoft's C library has no %zu. */
#define ETW_PRINTF_LIKE(format_index, first) \
	__attribute__((format(gnu_printf, format_index, first)))
#elif defined(__GNUC__)
#define ETW_PRINTF_LIKE(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define ETW_PRINTF_LIKE(format_index, first)
#endif

#endif

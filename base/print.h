/* SPDX-License-Identifier: MIT */
/*
 * Results on standard output, and errors on standard error. A program that could not write its
 * result must report that and fail; otherwise a user with a full disk would believe that the
 * truncated file is complete.
 */
#ifndef BASE_PRINT_H
#define BASE_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/*
 * Writes to standard output and flushes it. Returns false if that fails. err then has a sentence,
 * except when the reader has closed the pipe on purpose, which needs no message.
 */
bool print_bytes(const char *bytes, size_t size, struct etw_error *err);

/* Writes a text and frees it. It is also an error if memory ran out while the text was made. */
bool print_text(struct etw_text *text, struct etw_error *err);

/*
 * Writes one line to standard error, with one call. On Windows fprintf() writes byte by byte, and
 * then a console shows no characters outside ASCII.
 */
void print_failure(const char *format, ...) ETW_PRINTF_LIKE(1, 2);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Results on standard output, and errors on standard error. A program that could not write its
 * result must say so and fail: the reader of a file on a full disk would take what is there for the
 * whole.
 */
#ifndef BASE_PRINT_H
#define BASE_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/*
 * Writes to standard output and flushes it. False when that fails; err then has a sentence, except
 * when the reader has closed the pipe: this reader has seen enough, and no complaint is needed.
 */
bool print_bytes(const char *bytes, size_t size, struct etw_error *err);

/* Writes a text and frees it. It is also an error if the text lacked memory. */
bool print_text(struct etw_text *text, struct etw_error *err);

/*
 * Writes one line to standard error, with one call: where fprintf() writes byte by byte, as it does
 * on Windows, a console shows no character outside ASCII.
 */
void print_failure(const char *format, ...) ETW_PRINTF_LIKE(1, 2);

#endif

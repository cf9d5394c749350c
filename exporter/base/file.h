/* SPDX-License-Identifier: MIT */
/*
 * Reads whole files, for example those that a configuration names.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * The caller frees *bytes, which has room for a NUL after its size. A file of more than `most`
 * bytes (a multiple of 1 MiB) is an ERROR_CONFIG. Errors do not contain the path.
 */
bool file_read_whole(const char *path, size_t most, char **bytes, size_t *size, struct error *err);

#endif

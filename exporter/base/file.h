/* SPDX-License-Identifier: MIT */
/*
 * Files that a configuration names, read whole.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * *bytes is to be freed, and has room for a NUL behind size. More than `most` bytes (whole MiB) are
 * an ERROR_CONFIG. Errors do not name the path.
 */
bool file_read_whole(const char *path, size_t most, char **bytes, size_t *size, struct error *err);

#endif

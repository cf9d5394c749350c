/* SPDX-License-Identifier: MIT */
/*
 * Files that a test writes into the working directory and removes.
 */
#ifndef SUPPORT_TEMPORARY_H
#define SUPPORT_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

enum { TEMPORARY_PATH_SIZE = 64 };

/* Makes a name with this ending ("etl") that no other test process uses. Creates no file. */
void temporary_path(char path[TEMPORARY_PATH_SIZE], const char *ending);

/* Writes a file, which the caller removes. Fails the test if that is not possible. */
void temporary_write(const char *path, const void *bytes, size_t size);

/* Overwrites size bytes (at most 8) of such a file with a number, little-endian. */
void temporary_patch(const char *path, size_t offset, uint64_t value, unsigned size);

#endif

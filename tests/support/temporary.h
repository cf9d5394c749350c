/* SPDX-License-Identifier: MIT */
/*
 * Files that a test writes: in the working directory, gone afterwards.
 */
#ifndef SUPPORT_TEMPORARY_H
#define SUPPORT_TEMPORARY_H

#include <stddef.h>
#include <stdint.h>

enum { TEMPORARY_PATH_SIZE = 64 };

/* A name that no other test process uses, with this ending ("etl"). Nothing is made. */
void temporary_path(char path[TEMPORARY_PATH_SIZE], const char *ending);

/* Writes the file, whole; fails the test when it cannot. To be removed by the caller. */
void temporary_write(const char *path, const void *bytes, size_t size);

/* Overwrites size bytes (at most 8) of such a file with a number, little-endian. */
void temporary_patch(const char *path, size_t offset, uint64_t value, unsigned size);

#endif

/* SPDX-License-Identifier: MIT */
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

void temporary_path(char path[TEMPORARY_PATH_SIZE], const char *ending)
{
	static unsigned count;

	snprintf(path, TEMPORARY_PATH_SIZE, "temporary-%ld-%u.%s", (long)getpid(), count++, ending);
}

void temporary_write(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void temporary_patch(const char *path, size_t offset, uint64_t value, unsigned size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint8_t bytes[8];

	for (unsigned i = 0; i < size; i++) {
		bytes[i] = (uint8_t)(value >> (8 * i));
	}
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
	close(fd);
}

/* SPDX-License-Identifier: MIT */
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/system.h"

void temporary_path(char path[TEMPORARY_PATH_SIZE], const char *ending)
{
	static unsigned count;

	snprintf(path, TEMPORARY_PATH_SIZE, "./temporary-%lu-%u.%s", system_process_id(), count++,
		 ending);
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
	FILE *file = fopen(path, "r+b");
	uint8_t bytes[8];

	for (unsigned i = 0; i < size; i++) {
		bytes[i] = (uint8_t)(value >> (8 * i));
	}
	assert_non_null(file);
	assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

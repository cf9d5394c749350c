/* SPDX-License-Identifier: MIT */
#include "tests/support/in_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct etw_writer *open_in_memory(const struct etw_writer_options *options)
{
	struct etw_error err = { 0 };
	struct etw_writer *writer = etw_writer_open(NULL, options, &err);

	if (!writer) {
		print_error("%s\n", err.text);
	}
	assert_non_null(writer);
	return writer;
}

const uint8_t *finish_in_memory(struct etw_writer *writer, size_t *size)
{
	struct etw_error err = { 0 };
	bool finished = etw_writer_finish(writer, &err);

	if (!finished) {
		print_error("%s\n", err.text);
	}
	assert_true(finished);
	return etl_writer_bytes(writer, size);
}

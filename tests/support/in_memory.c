/* SPDX-License-Identifier: MIT */
#include "tests/support/in_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct etl_writer *open_in_memory(const struct etl_writer_options *options)
{
	struct error err = { 0 };
	struct etl_writer *writer = etl_writer_open(NULL, options, &err);

	if (!writer) {
		print_error("%s\n", err.text);
	}
	assert_non_null(writer);
	return writer;
}

const uint8_t *finish_in_memory(struct etl_writer *writer, size_t *size)
{
	struct error err = { 0 };
	bool finished = etl_writer_finish(writer, &err);

	if (!finished) {
		print_error("%s\n", err.text);
	}
	assert_true(finished);
	return etl_writer_bytes(writer, size);
}

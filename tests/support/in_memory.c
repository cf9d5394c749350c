/* SPDX-License-Identifier: MIT */
#include "tests/support/in_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct etl_builder *open_in_memory(const struct etl_builder_options *options)
{
	struct error err = { 0 };
	struct etl_builder *builder = etl_builder_open(NULL, options, &err);

	if (!builder) {
		print_error("%s\n", err.text);
	}
	assert_non_null(builder);
	return builder;
}

const uint8_t *finish_in_memory(struct etl_builder *builder, size_t *size)
{
	struct error err = { 0 };
	bool finished = etl_builder_finish(builder, &err);

	if (!finished) {
		print_error("%s\n", err.text);
	}
	assert_true(finished);
	return etl_builder_bytes(builder, size);
}

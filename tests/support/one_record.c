/* SPDX-License-Identifier: MIT */
#include "tests/support/one_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"

void one_record_make(struct one_record *one, const struct etw_out_record *out)
{
	const struct etw_source_clock clock = { .type = ETW_CLOCK_SYSTEM_TIME,
						.frequency = 10000000,
						.perf_frequency = 10000000 };

	one->size = etw_out_record_size(out);
	assert_true(one->size <= sizeof one->bytes);
	memset(one->bytes, 0, sizeof one->bytes);
	etl_out_record_store(out, 8, one->bytes);
	etl_format_init(&one->format, &clock, 8, 0);
	etl_walk_start(&one->walk, &one->format, one->bytes, (uint32_t)one->size, 0, 7);
	assert_true(etl_walk_seek(&one->walk, 0, 7)); /* there is no buffer header */
}

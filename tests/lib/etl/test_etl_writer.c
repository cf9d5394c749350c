/* SPDX-License-Identifier: MIT */
/*
 * What the writer of recordings writes, byte by byte, checked by hand against docs/etl-format.md:
 * tests of the reader build on it.
 */
#include "lib/etl/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/etl/unpack.h"
#include "tests/support/assert_hex.h"
#include "tests/support/in_memory.h"

/* --- the first buffer ------------------------------------------------------------------------- */

static const struct etw_writer_options plain_options = {
	.pointer_size = 8,
	.processors = 4,
	.buffer_size = 1024,
	.processor_index = true,
	.perf_frequency = 10000000,
	.cpu_mhz = 3592,
	.start_raw = 1942608875,
	.start_time = INT64_C(132404548206236167),
	.boot_time = INT64_C(132404546264872939),
	.bias_minutes = 480,
	.session_name = "S\xc3\xa9rie",
	.file_name = "C:\\a.etl",
	.maximum_file_mb = 500,
	.os_build = 9200,
	.os_major = 6,
	.os_minor = 2,
	.logger_id = 0x1c,
	.events_lost = 7,
	.buffers_lost = 2,
	.process_id = 3988,
	.thread_id = 3780,
};

static void the_first_buffer_is_as_documented(void **state)
{
	struct etw_writer *writer = open_in_memory(&plain_options);
	struct etw_out_record record = { .type = ETW_RECORD_PERFINFO,
					 .raw_time = 1942608875 + 10069 };
	size_t size;
	const uint8_t *b;

	(void)state;
	etw_writer_add(writer, &record);
	b = finish_in_memory(writer, &size);
	assert_int_equal(size, 2048);

	assert_int_equal(etw_load_u32(b + 0x00), 1024);  /* BufferSize */
	assert_int_equal(etw_load_u32(b + 0x04), 0x1a0); /* SavedOffset */
	assert_true(etw_load_u64(b + 0x10) == 0);        /* TimeStamp */
	assert_true(etw_load_u64(b + 0x18) == 0);        /* SequenceNumber */
	assert_int_equal(etw_load_u16(b + 0x28), 0);     /* processor */
	assert_int_equal(etw_load_u16(b + 0x2a), 0x1c);  /* LoggerId */
	assert_int_equal(etw_load_u32(b + 0x2c), 3);     /* State */
	assert_int_equal(etw_load_u32(b + 0x30), 0x1a0); /* Offset */
	assert_int_equal(etw_load_u16(b + 0x34), 0x21);  /* BufferFlag */
	assert_int_equal(etw_load_u16(b + 0x36), 4);     /* BufferType */

	/* The header record: SYSTEM64, version 2, group 0, type 0. */
	assert_hex(b + 0x48, 16, "0200 02c0 5601 00 00 c40e0000 940f0000");
	assert_true(etw_load_u64(b + 0x58) == 1942608875);

	b += 0x68; /* its payload, in the 64-bit layout */
	assert_int_equal(etw_load_u32(b + 0x00), 1024);
	assert_hex(b + 0x04, 4, "06 02 01 05");
	assert_int_equal(etw_load_u32(b + 0x08), 9200);
	assert_int_equal(etw_load_u32(b + 0x0c), 4);
	assert_true(etw_load_u64(b + 0x10) == UINT64_C(132404548206236167) + 10069); /* EndTime */
	assert_int_equal(etw_load_u32(b + 0x18), 156250);
	assert_int_equal(etw_load_u32(b + 0x1c), 500);
	assert_int_equal(etw_load_u32(b + 0x20), 1); /* LogFileMode: sequential */
	assert_int_equal(etw_load_u32(b + 0x24), 2); /* BuffersWritten */
	assert_int_equal(etw_load_u32(b + 0x2c), 8);
	assert_int_equal(etw_load_u32(b + 0x30), 7); /* EventsLost */
	assert_int_equal(etw_load_u32(b + 0x34), 3592);
	assert_int_equal(etw_load_u32(b + 0x48), 480); /* Bias */
	/* Names, and month 0 in both dates: no daylight saving time ("TIME_ZONE_INFORMATION
	 * structure", Microsoft Learn). */
	for (unsigned i = 0x4c; i < 0xf8; i++) {
		assert_int_equal(b[i], 0);
	}
	assert_true(etw_load_u64(b + 0xf8) == UINT64_C(132404546264872939));
	assert_true(etw_load_u64(b + 0x100) == 10000000);
	assert_true(etw_load_u64(b + 0x108) == UINT64_C(132404548206236167));
	assert_int_equal(etw_load_u32(b + 0x110), 1); /* ReservedFlags: performance counter */
	assert_int_equal(etw_load_u32(b + 0x114), 2); /* BuffersLost */
	assert_hex(b + 0x118, 30,
		   "5300 e900 7200 6900 6500 0000 4300 3a00 5c00 6100 2e00 6500 7400 6c00 0000");
	assert_int_equal(b[0x1a0 - 0x68], 0xff); /* behind the data: filler */
	etw_writer_close(writer);
}

static void a_32_bit_header_embeds_shorter_pointers(void **state)
{
	struct etw_writer_options options = plain_options;
	struct etw_writer *writer;
	size_t size;
	const uint8_t *b;

	(void)state;
	options.pointer_size = 4;
	options.clock = ETW_CLOCK_CPU_CYCLE;
	writer = open_in_memory(&options);
	b = finish_in_memory(writer, &size);
	assert_int_equal(b[0x4a], 0x01); /* SYSTEM32 */
	b += 0x68;
	assert_int_equal(etw_load_u32(b + 0x2c), 4);
	assert_int_equal(etw_load_u32(b + 0x40), 480);
	assert_true(etw_load_u64(b + 0xf8) == 10000000);
	assert_int_equal(etw_load_u32(b + 0x108), 3);
	assert_hex(b + 0x110, 4, "5300 e900");
	etw_writer_close(writer);
}

static void a_session_that_was_not_stopped_has_no_end_time(void **state)
{
	struct etw_writer_options options = plain_options;
	struct etw_writer *writer;
	size_t size;
	const uint8_t *b;

	(void)state;
	options.unclosed = true;
	writer = open_in_memory(&options);
	b = finish_in_memory(writer, &size) + 0x68;
	assert_true(etw_load_u64(b + 0x10) == 0);
	assert_int_equal(etw_load_u32(b + 0x24), 1);
	etw_writer_close(writer);
}

static void records_of_the_first_buffer_stand_behind_its_header(void **state)
{
	struct etw_writer *writer = open_in_memory(&plain_options);
	struct etw_out_record record = { .type = ETW_RECORD_SYSTEM,
					 .opcode = 5,
					 .version = 2,
					 .payload = "abc",
					 .payload_size = 3 };
	size_t size;
	const uint8_t *b;

	(void)state;
	etl_writer_add_to_header(writer, &record);
	b = finish_in_memory(writer, &size);
	assert_int_equal(size, 1024);
	assert_int_equal(etw_load_u32(b + 0x30), 0x1c8);
	assert_hex(b + 0x1a0, 8, "0200 02c0 2300 05 00");
	assert_hex(b + 0x1c0, 8, "616263 0000000000");
	etw_writer_close(writer);
}

static void a_short_first_buffer_grows_to_its_header(void **state)
{
	struct etw_writer_options options = plain_options;
	struct etw_writer *writer;
	size_t size;
	const uint8_t *b;

	(void)state;
	options.header_buffer_size = 8;
	writer = open_in_memory(&options);
	b = finish_in_memory(writer, &size);
	assert_int_equal(size, 0x1a0);
	assert_int_equal(etw_load_u32(b), 0x1a0);
	assert_int_equal(etw_load_u32(b + 0x68), 1024); /* the header has that of the others */
	etw_writer_close(writer);
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void buffers_go_out_when_they_are_full(void **state)
{
	/* A buffer of 1024 has room for 952 bytes: 59 records of 16. */
	static const struct {
		uint16_t processor;
		unsigned sequence;
		unsigned flags;
		unsigned records;
	} expected[] = {
		{ 1, 1, 0x20, 59 }, { 0, 2, 0x20, 59 }, { 0, 3, 0x20, 1 }, { 1, 4, 0x21, 31 }
	};
	struct etw_writer *writer = open_in_memory(&plain_options);
	struct etw_out_record record = { .type = ETW_RECORD_PERFINFO };
	size_t size;
	const uint8_t *b;

	(void)state;
	for (int i = 0; i < 150; i++) {
		record.processor = i % 5 > 1; /* 60 records for 0, 90 for 1 */
		record.raw_time = 1000 + i;
		etw_writer_add(writer, &record);
	}
	b = finish_in_memory(writer, &size);
	assert_int_equal(size, 5 * 1024);
	for (size_t i = 0; i < 4; i++) {
		b += 1024;
		assert_int_equal(etw_load_u32(b), 1024);
		assert_int_equal(etw_load_u16(b + 0x28), expected[i].processor);
		assert_true(etw_load_u64(b + 0x18) == expected[i].sequence);
		assert_int_equal(etw_load_u16(b + 0x34), expected[i].flags);
		assert_int_equal(etw_load_u16(b + 0x36), 0);
		assert_int_equal(etw_load_u32(b + 0x30), 0x48 + 16 * expected[i].records);
		/* The buffer has the time of its last record. */
		assert_true(etw_load_u64(b + 0x10) == etw_load_u64(b + etw_load_u32(b + 0x30) - 8));
		for (size_t at = etw_load_u32(b + 0x30); at < 1024; at++) {
			assert_int_equal(b[at], 0xff);
		}
	}
	etw_writer_close(writer);
}

static void add_lines(struct etw_writer *writer, bool flush)
{
	char line[100];

	for (int i = 0; i < 200; i++) {
		struct etw_out_record record = {
			.type = ETW_RECORD_SYSTEM,
			.processor = (uint16_t)(i % 4),
			.raw_time = i,
			.payload = line,
			.payload_size =
				(size_t)snprintf(line, sizeof line, "record number %d of many", i)
		};

		etw_writer_add(writer, &record);
		if (flush && i == 100) {
			etl_writer_flush(writer);
		}
	}
}

static void packed_buffers_hold_what_plain_ones_do(void **state)
{
	struct etw_writer_options options = plain_options;
	struct etw_writer *plain_builder = open_in_memory(&options);
	struct etw_writer *packed_builder;
	uint8_t made[1024];
	size_t plain_left, packed_left;
	const uint8_t *plain, *packed;

	(void)state;
	options.compressed = true;
	packed_builder = open_in_memory(&options);
	add_lines(plain_builder, true);
	add_lines(packed_builder, true);
	plain = finish_in_memory(plain_builder, &plain_left);
	packed = finish_in_memory(packed_builder, &packed_left);
	assert_true(packed_left < plain_left);
	assert_int_equal(etw_load_u32(packed + 0x68 + 0x20), 0x04000001); /* LogFileMode */
	for (; plain_left > 1024; plain += 1024, plain_left -= 1024) {
		uint32_t stride = etw_load_u32(packed);
		uint32_t used = etw_load_u32(plain + 1024 + 0x30);
		size_t size;

		packed += stride;
		packed_left -= stride;
		stride = etw_load_u32(packed);
		assert_in_range(stride, 0x49, packed_left);
		assert_int_equal(etw_load_u16(packed + 0x34),
				 etw_load_u16(plain + 1024 + 0x34) | 0x40);
		assert_memory_equal(packed + 0x04, plain + 1024 + 0x04, 0x34 - 0x04);
		assert_true(etl_decompress(packed + 0x48, stride - 0x48, made, used - 0x48, &size));
		assert_int_equal(size, used - 0x48);
		assert_memory_equal(made, plain + 1024 + 0x48, size);
	}
	assert_int_equal(packed_left, etw_load_u32(packed));
	etw_writer_close(plain_builder);
	etw_writer_close(packed_builder);
}

static void a_buffer_that_does_not_shrink_stays_plain(void **state)
{
	struct etw_writer_options options = plain_options;
	struct etw_writer *writer;
	uint8_t noise[900];
	uint32_t x = 1;
	size_t size;
	const uint8_t *b;

	(void)state;
	for (size_t i = 0; i < sizeof noise; i++) {
		x = x * 1664525 + 1013904223;
		noise[i] = (uint8_t)(x >> 24);
	}
	options.compressed = true;
	writer = open_in_memory(&options);
	etw_writer_add(writer, &(struct etw_out_record){ .type = ETW_RECORD_PERFINFO,
							 .payload = noise,
							 .payload_size = sizeof noise });
	b = finish_in_memory(writer, &size);
	assert_int_equal(size, 2048);
	assert_int_equal(etw_load_u16(b + 1024 + 0x34), 0x21);
	etw_writer_close(writer);
}

static void a_file_holds_what_memory_does(void **state)
{
	char path[] = "test_etl_writer.tmp.etl";
	struct etw_error err = { 0 };
	struct etw_writer *in_memory = open_in_memory(&plain_options);
	struct etw_writer *in_file = etw_writer_open(path, &plain_options, &err);
	uint8_t *read;
	const uint8_t *bytes;
	size_t size;
	FILE *file;

	(void)state;
	assert_non_null(in_file);
	add_lines(in_memory, false);
	add_lines(in_file, false);
	bytes = finish_in_memory(in_memory, &size);
	assert_true(etw_writer_finish(in_file, &err));
	assert_true(etw_writer_written(in_file) == size);
	etw_writer_close(in_file);
	file = fopen(path, "rb");
	assert_non_null(file);
	read = malloc(size + 1);
	assert_int_equal(fread(read, 1, size + 1, file), size);
	assert_memory_equal(read, bytes, size);
	fclose(file);
	remove(path);
	free(read);
	etw_writer_close(in_memory);
}

/* --- failures --------------------------------------------------------------------------------- */

static void the_first_failure_is_reported_at_the_end(void **state)
{
	static const uint8_t large[1000];
	static const struct {
		struct etw_out_record record;
		const char *text;
	} cases[] = {
		{ { .type = ETW_RECORD_PERFINFO, .processor = 4 },
		  "record of processor 4 in a recording of 4 processors" },
		{ { .type = ETW_RECORD_PERFINFO, .payload = large, .payload_size = 937 },
		  "record of 953 bytes does not fit into a buffer of 1024" },
		/* A reader stops there (docs/etl-format.md section 3). */
		{ { .type = ETW_RECORD_WNODE, .payload = large, .payload_size = 3 },
		  "record of 7 bytes: the least are 8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_writer *writer = open_in_memory(&plain_options);
		struct etw_out_record fine = { .type = ETW_RECORD_PERFINFO };
		struct etw_error err = { 0 };

		etw_writer_add(writer, &fine);
		assert_false(etw_writer_failed(writer));
		etw_writer_add(writer, &cases[i].record);
		assert_true(etw_writer_failed(writer));
		etw_writer_add(writer, &fine);
		assert_false(etw_writer_finish(writer, &err));
		assert_string_equal(err.text, cases[i].text);
		etw_writer_close(writer);
	}
}

static void options_that_make_no_recording_are_refused(void **state)
{
	static const struct {
		struct etw_writer_options options;
		const char *text;
	} cases[] = {
		{ { .buffer_size = 1001 },
		  "buffer size 1001 is not a multiple of 8 from 512 to 16777216" },
		{ { .buffer_size = 64 },
		  "buffer size 64 is not a multiple of 8 from 512 to 16777216" },
		{ { .pointer_size = 5 }, "pointer size 5 is neither 4 nor 8" },
	};
	struct etw_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_null(etw_writer_open(NULL, &cases[i].options, &err));
		assert_string_equal(err.text, cases[i].text);
	}
	assert_null(etw_writer_open("no/such/folder/a.etl", &plain_options, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM); /* and the rest is the system's sentence */
	assert_ptr_equal(strstr(err.text, "no/such/folder/a.etl: cannot create: "), err.text);
	etw_writer_close(NULL);
}

/* --- time ------------------------------------------------------------------------------------- */

static void raw_times_follow_the_clock(void **state)
{
	static const struct {
		struct etw_writer_options options;
		int64_t after_a_minute;
	} cases[] = {
		{ { .perf_frequency = 2337949, .start_raw = 5 }, 5 + INT64_C(2337949) * 60 },
		{ { .clock = ETW_CLOCK_SYSTEM_TIME, .start_raw = INT64_C(132404548206236167) },
		  INT64_C(132404548206236167) + 600000000 },
		{ { .clock = ETW_CLOCK_CPU_CYCLE, .cpu_mhz = 2400 }, INT64_C(2400000000) * 60 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_writer *writer = open_in_memory(&cases[i].options);
		size_t size;
		const uint8_t *b;

		assert_true(etl_writer_raw_time(writer, UINT64_C(60000000000)) ==
			    cases[i].after_a_minute);
		etw_writer_add(writer,
			       &(struct etw_out_record){ .type = ETW_RECORD_PERFINFO,
							 .raw_time = cases[i].after_a_minute });
		b = finish_in_memory(writer, &size);
		/* EndTime is a minute after StartTime. */
		assert_true(etw_load_u64(b + 0x68 + 0x10) ==
			    etw_load_u64(b + 0x68 + 0x108) + 600000000);
		etw_writer_close(writer);
	}
}

/* A mirror gets them from a recording, which may be damaged. */
static void any_start_is_written(void **state)
{
	static const int64_t starts[] = { INT64_MIN, INT64_MIN + 1, -1, 1, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		const struct etw_writer_options options = { .start_time = starts[i],
							    .start_raw = starts[i] };
		struct etw_writer *writer = open_in_memory(&options);
		size_t size;
		const uint8_t *b;

		etw_writer_add(writer, &(struct etw_out_record){ .type = ETW_RECORD_PERFINFO });
		b = finish_in_memory(writer, &size);
		assert_true(etw_load_u64(b + 0x68 + 0x108) == (uint64_t)starts[i]);
		etw_writer_close(writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_buffer_is_as_documented),
		cmocka_unit_test(a_32_bit_header_embeds_shorter_pointers),
		cmocka_unit_test(a_session_that_was_not_stopped_has_no_end_time),
		cmocka_unit_test(records_of_the_first_buffer_stand_behind_its_header),
		cmocka_unit_test(a_short_first_buffer_grows_to_its_header),
		cmocka_unit_test(buffers_go_out_when_they_are_full),
		cmocka_unit_test(packed_buffers_hold_what_plain_ones_do),
		cmocka_unit_test(a_buffer_that_does_not_shrink_stays_plain),
		cmocka_unit_test(a_file_holds_what_memory_does),
		cmocka_unit_test(the_first_failure_is_reported_at_the_end),
		cmocka_unit_test(options_that_make_no_recording_are_refused),
		cmocka_unit_test(raw_times_follow_the_clock),
		cmocka_unit_test(any_start_is_written),
	};

	return cmocka_run_group_tests_name("etl_writer", tests, NULL, NULL);
}

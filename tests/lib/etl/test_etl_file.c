/* SPDX-License-Identifier: MIT */
/*
 * Files, their headers and buffers: recordings of the writer with single bytes changed, as damage
 * and other writers change them.
 */
#include "lib/etl/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/index.h"
#include "lib/etl/writer.h"
#include "tests/support/collected.h"
#include "tests/support/exact_copy.h"

enum { BUFFER_SIZE = 1024, HEADER_BUFFER = 1024, RECORDS = 60 };

/* Offsets in a buffer header, docs/etl-format.md section 1.1. */
enum {
	AT_SIZE = 0x00,
	AT_SAVED_OFFSET = 0x04,
	AT_PROCESSOR = 0x28,
	AT_OFFSET = 0x30,
	AT_FLAGS = 0x34,
	AT_TYPE = 0x36,
};

/* A recording in memory that can be changed. */
struct image {
	uint8_t *bytes;
	size_t size;
};

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)value);
	put16(at + 2, (uint16_t)(value >> 16));
}

static struct image build(const struct etw_writer_options *options, unsigned records)
{
	static const uint8_t payload[24] = "twenty-four bytes of it";
	struct etw_error err;
	struct etw_writer *writer = etw_writer_open(NULL, options, &err);
	struct image image;
	const uint8_t *bytes;

	assert_non_null(writer);
	for (unsigned i = 0; i < records; i++) {
		etw_writer_add(writer, &(struct etw_out_record){
					       .type = ETW_RECORD_SYSTEM,
					       .raw_time = 1000 + i,
					       .group = 0x01,
					       .opcode = 10,
					       .payload = payload,
					       .payload_size = sizeof payload,
				       });
	}
	assert_true(etw_writer_finish(writer, &err));
	bytes = etl_writer_bytes(writer, &image.size);
	image.bytes = exact_copy(bytes, image.size);
	etw_writer_close(writer);
	return image;
}

/* The first buffer and four of RECORDS records (16 fit each), uncompressed. */
static struct image build_plain(void)
{
	struct etw_writer_options options = { .buffer_size = BUFFER_SIZE,
					      .header_buffer_size = HEADER_BUFFER };

	return build(&options, RECORDS);
}

struct read {
	struct collected collected;
	struct etw_problems problems;
	struct etw_damage damage;
	uint64_t buffers;
};

/* Reads a copy of exact size, so that a read beyond it is seen. */
static struct read read_all(const struct image *image)
{
	uint8_t *copy = exact_copy(image->bytes, image->size);
	struct etw_error err;
	struct etw_file *file = etw_file_over(copy, image->size, 0, &err);
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = 1 << 20 };
	struct read read = { 0 };
	struct etw_visitor visitor = { .record_context = &read.collected, .on_record = collect };

	assert_non_null(file);
	read.damage.problems = &read.problems;
	assert_true(etl_index_build(&index, file, &read.damage, &visitor, &err));
	read.buffers = index.buffers;
	etl_index_done(&index);
	etw_file_close(file);
	free(copy);
	return read;
}

static void read_done(struct read *read)
{
	collected_done(&read->collected);
	etw_problems_done(&read->problems);
}

/* Reads, expects counts, and that a problem is reported exactly when something was counted. */
static void expect(const char *name, const struct image *image, uint64_t records, uint64_t buffers,
		   uint64_t bad_buffers, uint64_t bad_records, bool truncated)
{
	struct read read = read_all(image);
	bool bad = bad_buffers || bad_records || truncated;

	print_message("  %s%s%s\n", name, read.problems.count ? ": " : "",
		      read.problems.count ? read.problems.sentences[0] : "");
	assert_int_equal(read.collected.count, records);
	assert_int_equal(read.buffers, buffers);
	assert_int_equal(read.damage.bad_buffers, bad_buffers);
	assert_int_equal(read.damage.bad_records, bad_records);
	assert_int_equal(read.damage.truncated, truncated);
	assert_int_equal(read.problems.count > 0, bad);
	read_done(&read);
}

static void the_header_is_read_in_both_layouts(void **state)
{
	static const char long_name[] = "S\xc3\xa9ssion \xf0\x9f\x98\x80";

	(void)state;
	for (uint8_t pointer_size = 4; pointer_size <= 8; pointer_size += 4) {
		struct etw_writer_options options = {
			.pointer_size = pointer_size,
			.processors = 5,
			.buffer_size = BUFFER_SIZE,
			.clock = ETW_CLOCK_CPU_CYCLE,
			.cpu_mhz = 2393,
			.perf_frequency = 2337949,
			.start_raw = 555,
			.start_time = 132404548206236167,
			.end_time = 132404548306935923,
			.boot_time = 132404546264872939,
			.bias_minutes = -60,
			.session_name = long_name,
			.file_name = "C:\\t\\x.etl",
			.os_build = 19045,
			.os_major = 10,
			.events_lost = 7,
			.buffers_lost = 2,
		};
		struct image image = build(&options, 1);
		struct etw_error err;
		struct etw_file *file = etw_file_over(image.bytes, image.size, 0, &err);
		const struct etw_header *header;

		assert_non_null(file);
		header = &file->header;
		assert_int_equal(header->buffer_size_bytes, BUFFER_SIZE);
		assert_int_equal(header->version_major, 10);
		assert_int_equal(header->os_build, 19045);
		assert_int_equal(header->processors, 5);
		assert_true(header->start_time == 132404548206236167);
		assert_true(header->end_time == 132404548306935923);
		assert_true(header->boot_time == 132404546264872939);
		assert_int_equal(header->raw_time, 555);
		assert_int_equal(header->mode, 1);
		assert_int_equal(header->buffers_written, 2);
		assert_int_equal(header->pointer_size, pointer_size);
		assert_int_equal(header->events_lost, 7);
		assert_int_equal(header->buffers_lost, 2);
		assert_int_equal(header->timezone_bias_minutes, -60);
		assert_int_equal(header->clock_type, ETW_CLOCK_CPU_CYCLE);
		assert_int_equal(header->cpu_mhz, 2393);
		assert_int_equal(header->perf_frequency, 2337949);
		assert_string_equal(header->logger_name, long_name);
		assert_string_equal(header->log_file_name, "C:\\t\\x.etl");
		assert_null(file->clock_doubt);
		assert_true(file->format.clock.frequency == 2393000000);
		assert_true(file->format.clock.perf_frequency == 2337949);
		assert_int_equal(file->format.pointer_size, pointer_size);
		etw_file_close(file);
		free(image.bytes);
	}
}

static void clocks_that_make_no_sense_are_taken_as_10_mhz(void **state)
{
	static const struct {
		const char *name;
		struct etw_header header;
		uint64_t frequency;
		uint64_t perf_frequency;
		bool doubt;
	} cases[] = {
		{ "qpc", { .clock_type = 1, .perf_frequency = 3 }, 3, 3, false },
		{ "qpc, 0 Hz", { .clock_type = 1 }, 10000000, 10000000, true },
		{ "qpc, -1 Hz",
		  { .clock_type = 1, .perf_frequency = -1 },
		  10000000,
		  10000000,
		  true },
		{ "system time", { .clock_type = 2, .perf_frequency = 3 }, 10000000, 3, false },
		{ "cycles",
		  { .clock_type = 3, .perf_frequency = 3, .cpu_mhz = 4294967295U },
		  4294967295000000,
		  3,
		  false },
		{ "cycles, 0 MHz", { .clock_type = 3, .perf_frequency = 3 }, 10000000, 3, true },
		{ "no clock", { .clock_type = 0, .perf_frequency = 3 }, 3, 3, true },
		{ "unknown clock", { .clock_type = 0xffffffff, .perf_frequency = 3 }, 3, 3, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *doubt = "?";
		struct etw_source_clock clock = etl_header_clock(&cases[i].header, &doubt);

		print_message("  %s\n", cases[i].name);
		assert_true(clock.frequency == cases[i].frequency);
		assert_true(clock.perf_frequency == cases[i].perf_frequency);
		assert_int_equal(doubt != NULL, cases[i].doubt);
	}
}

/* The first bytes of such files, by their formats' specifications. */
static void archives_and_other_files_are_named(void **state)
{
	static const struct {
		const char bytes[13];
		const char *sentence;
	} cases[] = {
		{ "PK\x03\x04\x14\0\0\0\x08\0zip", "is a zip archive: unpack it first" },
		{ "\x1f\x8b\x08\x08gz", "is packed by gzip: unpack it first" },
		{ "\xfd\x37zXZ", "is packed by xz: unpack it first" },
		{ "7z\xbc\xaf\x27\x1c", "is a 7-Zip archive: unpack it first" },
		{ "BZh91AY", "is packed by bzip2: unpack it first" },
		{ "\x28\xb5\x2f\xfdzst", "is packed by zstd: unpack it first" },
		{ "Rar!\x1a\x07", "is a RAR archive: unpack it first" },
		{ "MSCF", "is a cabinet (.cab): unpack it first" },
		{ "ElfFile", "is an event log of Windows (.evtx), not a recording (.etl)" },
		{ "Nettrace",
		  "is a trace of .NET's EventPipe (.nettrace), not a recording (.etl)" },
		{ "MDMP\x93\xa7", "is a memory dump, not a recording (.etl)" },
		{ "<?xml", "is XML, not a recording (.etl)" },
		{ "PK\x03", "is not a recording: it does not start with a buffer of records" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		assert_null(etw_file_over(cases[i].bytes, sizeof cases[i].bytes, 0, &err));
		assert_string_equal(err.text, cases[i].sentence);
	}
}

static void a_file_that_is_no_recording_is_refused(void **state)
{
	struct image image = build_plain();
	struct etw_error err;

	(void)state;
	assert_null(etw_file_over("", 0, 0, &err));
	assert_string_equal(err.text, "is empty, not a recording");
	assert_null(etw_file_over("MZ", 2, 0, &err));
	for (size_t size = 0; size < 72 + 32 + 280; size += 3) {
		assert_null(etw_file_over(image.bytes, size, 0, &err));
		assert_int_equal(err.code, ETW_ERROR_FORMAT);
	}
	image.bytes[72 + 6] = 1; /* opcode of the first record */
	assert_null(etw_file_over(image.bytes, image.size, 0, &err));
	assert_string_equal(err.text,
			    "is not a recording: its first record is not a logfile header");
	image.bytes[72 + 6] = 0;
	put16(image.bytes + AT_TYPE, 7);
	assert_null(etw_file_over(image.bytes, image.size, 0, &err));
	memset(image.bytes, 'a', image.size);
	assert_null(etw_file_over(image.bytes, image.size, 0, &err));
	free(image.bytes);
	assert_null(etw_file_open("/nonexistent.etl", 0, &err));
	assert_memory_equal(err.text, "/nonexistent.etl: cannot be opened: ", 36);
	assert_null(etw_file_open("/", 0, &err));
	assert_string_equal(err.text, "/: is a directory, not a regular file");
}

static void damage_to_a_buffer_header_costs_that_buffer(void **state)
{
	static const struct {
		const char *name;
		unsigned at; /* in the header of the third buffer */
		uint32_t value;
		unsigned size;
		uint64_t records, buffers, bad_buffers, bad_records;
		bool truncated;
	} cases[] = {
		/* Four buffers of 17, 17, 17 and 9 records, and the header record. */
		{ "as built", AT_PROCESSOR, 0, 2, 61, 5, 0, 0, false },
		{ "rundown buffer", AT_TYPE, 1, 2, 61, 5, 0, 0, false },
		{ "batched buffer", AT_TYPE, 5, 2, 61, 5, 0, 0, false },
		{ "empty marker", AT_TYPE, 6, 2, 44, 5, 0, 0, false },
		{ "debug info", AT_TYPE, 7, 2, 44, 5, 0, 0, false },
		{ "unknown type", AT_TYPE, 0xffff, 2, 61, 5, 0, 0, false },
		{ "saved offset is not used", AT_SAVED_OFFSET, 0, 4, 61, 5, 0, 0, false },
		{ "offset 0: saved offset is used", AT_OFFSET, 0, 4, 61, 5, 0, 0, false },
		{ "offset inside the header", AT_OFFSET, 71, 4, 44, 5, 1, 0, false },
		{ "no records", AT_OFFSET, 72, 4, 44, 5, 0, 0, false },
		{ "offset inside a record", AT_OFFSET, 72 + 56 + 8, 4, 45, 5, 0, 1, false },
		{ "offset beyond the buffer", AT_OFFSET, BUFFER_SIZE + 8, 4, 61, 5, 0, 1, false },
		{ "offset of 16 MiB", AT_OFFSET, 16 << 20, 4, 61, 5, 0, 1, false },
		{ "offset above 16 MiB", AT_OFFSET, (16 << 20) + 1, 4, 44, 5, 1, 0, false },
		{ "largest offset", AT_OFFSET, 0xffffffff, 4, 44, 5, 1, 0, false },
		{ "size 0", AT_SIZE, 0, 4, 44, 4, 1, 0, false },
		{ "size below the header", AT_SIZE, 71, 4, 44, 4, 1, 0, false },
		{ "largest size", AT_SIZE, 0xffffffff, 4, 44, 4, 1, 0, false },
		{ "not compressed after all", AT_FLAGS, 0x40, 2, 44, 5, 1, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct image image = build_plain();
		uint8_t *header = image.bytes + HEADER_BUFFER + BUFFER_SIZE;

		memcpy(header + cases[i].at,
		       &(uint8_t[]){ (uint8_t)cases[i].value, (uint8_t)(cases[i].value >> 8),
				     (uint8_t)(cases[i].value >> 16),
				     (uint8_t)(cases[i].value >> 24) },
		       cases[i].size);
		expect(cases[i].name, &image, cases[i].records, cases[i].buffers,
		       cases[i].bad_buffers, cases[i].bad_records, cases[i].truncated);
		free(image.bytes);
	}
}

static void the_processor_is_a_byte_unless_the_header_says_index(void **state)
{
	struct etw_buffer_header header;
	uint8_t bytes[ETL_BUFFER_HEADER_SIZE] = { 0 };

	(void)state;
	etl_buffer_header_read(&header, bytes);
	assert_true(header.all_zero);
	put16(bytes + AT_PROCESSOR, 0x080f);
	etl_buffer_header_read(&header, bytes);
	assert_false(header.all_zero);
	assert_int_equal(header.processor, 0x0f);
	put16(bytes + AT_FLAGS, 0x20);
	etl_buffer_header_read(&header, bytes);
	assert_int_equal(header.processor, 0x080f);
}

static void space_that_was_reserved_ends_a_recording_quietly(void **state)
{
	struct etw_writer_options options = { .buffer_size = BUFFER_SIZE,
					      .log_file_mode = ETW_MODE_PREALLOCATE |
							       ETW_MODE_SEQUENTIAL };
	struct image image = build(&options, RECORDS);
	struct image longer = { calloc(1, image.size + 10000), image.size + 10000 };

	(void)state;
	memcpy(longer.bytes, image.bytes, image.size);
	expect("reserved in advance", &longer, RECORDS + 1, 5, 0, 0, false);
	free(image.bytes);
	free(longer.bytes);
	image = build_plain();
	longer = (struct image){ calloc(1, image.size + 10000), image.size + 10000 };
	memcpy(longer.bytes, image.bytes, image.size);
	/* Of the size of ten buffers. */
	expect("not reserved", &longer, RECORDS + 1, 5, 10, 0, false);
	free(image.bytes);
	free(longer.bytes);
}

/* Buffers differ in size; the one in the logfile header is the stride of none. */
static void each_buffer_has_its_own_size(void **state)
{
	struct image image = build_plain();
	struct image longer = { calloc(1, image.size + 1000), image.size + 1000 };
	size_t cut = HEADER_BUFFER + BUFFER_SIZE;

	(void)state;
	memcpy(longer.bytes, image.bytes, cut);
	memset(longer.bytes + cut, 0xff, 1000);
	memcpy(longer.bytes + cut + 1000, image.bytes + cut, image.size - cut);
	put32(longer.bytes + HEADER_BUFFER, BUFFER_SIZE + 1000);
	expect("a longer buffer", &longer, RECORDS + 1, 5, 0, 0, false);
	put32(image.bytes + HEADER_BUFFER, 72 + 56 * 17);
	memmove(image.bytes + HEADER_BUFFER + 72 + 56 * 17, image.bytes + cut, image.size - cut);
	image.size -= BUFFER_SIZE - 72 - 56 * 17;
	expect("a buffer without filler", &image, RECORDS + 1, 5, 0, 0, false);
	free(longer.bytes);
	free(image.bytes);
}

static void a_compressed_buffer_that_makes_no_sense_is_dropped(void **state)
{
	struct etw_writer_options options = { .buffer_size = BUFFER_SIZE,
					      .header_buffer_size = HEADER_BUFFER,
					      .compressed = true };
	static const struct {
		const char *name;
		unsigned at;
		uint32_t value;
		uint64_t records, bad_buffers, bad_records;
	} cases[] = {
		{ "as built", AT_SAVED_OFFSET, 0, 61, 0, 0 },
		{ "all copies from nowhere", 72, 0xffffffff, 44, 1, 0 },
		{ "unpacks to more than it should", AT_OFFSET, 72 + 56 * 2, 44, 1, 0 },
		{ "should unpack to more", AT_OFFSET, 72 + 56 * 20, 61, 0, 1 },
		{ "should unpack to 16 MiB", AT_OFFSET, 16 << 20, 44, 1, 0 },
		{ "should unpack to more than that", AT_OFFSET, (16 << 20) + 8, 44, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct image image = build(&options, RECORDS);

		assert_true(image.size < HEADER_BUFFER + 4 * BUFFER_SIZE);
		put32(image.bytes + HEADER_BUFFER + cases[i].at, cases[i].value);
		expect(cases[i].name, &image, cases[i].records, 5, cases[i].bad_buffers,
		       cases[i].bad_records, false);
		free(image.bytes);
	}
}

/* At every cut, what is whole before it is read, and the cut is reported. */
static void a_recording_cut_anywhere_keeps_its_whole_records(void **state)
{
	(void)state;
	for (int compressed = 0; compressed < 2; compressed++) {
		struct etw_writer_options options = { .buffer_size = BUFFER_SIZE,
						      .header_buffer_size = HEADER_BUFFER,
						      .compressed = compressed };
		struct image image = build(&options, RECORDS);
		struct image cut = { image.bytes, image.size };
		uint64_t last = 0;

		for (cut.size = 72 + 32 + 290; cut.size < image.size; cut.size++) {
			struct read read = read_all(&cut);

			assert_true(read.damage.truncated);
			assert_true(read.problems.count > 0);
			assert_true(read.collected.count >= last);
			if (!compressed && cut.size > HEADER_BUFFER) {
				size_t in_buffer = (cut.size - HEADER_BUFFER) % BUFFER_SIZE;
				size_t whole = in_buffer < 72 ? 0 : (in_buffer - 72) / 56;

				assert_int_equal(read.collected.count,
						 1 + (cut.size - HEADER_BUFFER) / BUFFER_SIZE * 17 +
							 (whole < 17 ? whole : 17));
			}
			last = read.collected.count;
			read_done(&read);
			if (cut.size >= HEADER_BUFFER + 3 * BUFFER_SIZE + 72 + 9 * 56 &&
			    !compressed) {
				break; /* only filler follows */
			}
		}
		assert_true(last >= RECORDS);
		free(image.bytes);
	}
}

static void problems_are_bounded(void **state)
{
	struct etw_writer_options options = { .buffer_size = 512 };
	struct image image = build(&options, 7 * 300);
	struct read read;

	(void)state;
	for (size_t at = 512 + AT_OFFSET; at < image.size; at += 1024) {
		put32(image.bytes + at, 1);
	}
	read = read_all(&image);
	assert_int_equal(read.problems.count, ETW_PROBLEMS_MAX);
	assert_int_equal(read.problems.count + read.problems.dropped, read.damage.bad_buffers);
	assert_int_equal(read.damage.bad_buffers, 150);
	read_done(&read);
	free(image.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_is_read_in_both_layouts),
		cmocka_unit_test(clocks_that_make_no_sense_are_taken_as_10_mhz),
		cmocka_unit_test(a_file_that_is_no_recording_is_refused),
		cmocka_unit_test(archives_and_other_files_are_named),
		cmocka_unit_test(damage_to_a_buffer_header_costs_that_buffer),
		cmocka_unit_test(the_processor_is_a_byte_unless_the_header_says_index),
		cmocka_unit_test(space_that_was_reserved_ends_a_recording_quietly),
		cmocka_unit_test(each_buffer_has_its_own_size),
		cmocka_unit_test(a_compressed_buffer_that_makes_no_sense_is_dropped),
		cmocka_unit_test(a_recording_cut_anywhere_keeps_its_whole_records),
		cmocka_unit_test(problems_are_bounded),
	};

	return cmocka_run_group_tests_name("etl_file", tests, NULL, NULL);
}

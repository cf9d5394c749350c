/* SPDX-License-Identifier: MIT */
/*
 * Recordings written again: what a reader delivers of the result, and what the callback changes in
 * it. The order of ties is part of every comparison, because records are compared in time order.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/os.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"
#include "lib/etl/writer.h"
#include "tests/support/assert_hex.h"
#include "tests/support/collected.h"
#include "tests/support/every_class.h"
#include "tests/support/in_memory.h"
#include "tests/support/temporary.h"

enum { START = 1000, SIZE_MOST = 1 << 20 };

/* ---- recordings ---- */

struct bytes {
	uint8_t *at; /* owned */
	size_t size;
};

static struct bytes take(struct etw_writer *writer)
{
	struct bytes bytes;
	const uint8_t *at = finish_in_memory(writer, &bytes.size);

	bytes.at = malloc(bytes.size);
	assert_non_null(bytes.at);
	memcpy(bytes.at, at, bytes.size);
	etw_writer_close(writer);
	return bytes;
}

static struct bytes every_class(bool compressed)
{
	struct etw_writer_options options = every_class_options(8, ETW_CLOCK_QPC, compressed);
	struct etw_writer *writer = open_in_memory(&options);

	every_class_add(writer, 8);
	return take(writer);
}

/* Records of 24 bytes on two processors, every time four times on each; id n has payload n. */
static struct bytes numbered(unsigned count, const struct etw_writer_options *given)
{
	struct etw_writer_options options = given ? *given : (struct etw_writer_options){ 0 };
	struct etw_writer *writer;

	options.processors = options.processors ? options.processors : 2;
	options.buffer_size = options.buffer_size ? options.buffer_size : 1024;
	options.start_raw = START;
	writer = open_in_memory(&options);
	for (uint32_t i = 0; i < count; i++) {
		struct etw_out_record record = { .type = ETW_RECORD_PERFINFO,
						 .processor = i % 2,
						 .raw_time = START + i / 8,
						 .group = 0x0f,
						 .opcode = 46,
						 .payload = &i,
						 .payload_size = sizeof i };

		etw_writer_add(writer, &record);
	}
	return take(writer);
}

/* What a reader delivers in time order; then *damage is what it counts. */
static struct collected read_all(struct bytes recording, struct etw_damage *damage)
{
	struct collected found = { 0 };
	struct etw_visitor visitor = { .record_context = &found, .on_record = collect };
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX };
	struct etl_progress progress = { 0 };
	struct etw_file *file = etw_file_over(recording.at, recording.size, 0, NULL);

	assert_non_null(file);
	assert_true(etl_index_build(&index, file, damage, &(struct etw_visitor){ 0 }, NULL));
	assert_true(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &visitor, NULL));
	etl_index_done(&index);
	etw_file_close(file);
	return found;
}

static uint32_t number_of(const struct etw_record *record)
{
	return record->type == ETW_RECORD_PERFINFO ? etw_load_u32(record->payload) : 0;
}

/* The numbers of a recording in time order. */
struct numbers {
	uint32_t of; /* only multiples of this one */
	uint32_t count;
	uint32_t order; /* the numbers and their order, as one number */
	uint32_t size;  /* of the last payload */
};

static void note_number(void *context, const struct etw_record *record)
{
	struct numbers *numbers = context;

	if (record->type == ETW_RECORD_PERFINFO && number_of(record) % numbers->of == 0) {
		numbers->count++;
		numbers->order = numbers->order * 31 + number_of(record);
		numbers->size = record->payload_size;
	}
}

static struct numbers numbers_of(struct bytes recording, uint32_t of)
{
	struct numbers numbers = { .of = of };
	struct etw_visitor visitor = { .record_context = &numbers, .on_record = note_number };
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX };
	struct etl_progress progress = { 0 };
	struct etw_damage damage = { 0 };
	struct etw_file *file = etw_file_over(recording.at, recording.size, 0, NULL);

	assert_non_null(file);
	assert_true(etl_index_build(&index, file, &damage, &(struct etw_visitor){ 0 }, NULL));
	assert_true(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &visitor, NULL));
	assert_true(damage.bad_buffers == 0 && damage.bad_records == 0 && !damage.truncated);
	etl_index_done(&index);
	etw_file_close(file);
	return numbers;
}

/* ---- mirrors ---- */

static struct bytes mirrored(const struct bytes *inputs, size_t count, struct etw_mirror_form form,
			     const struct etw_mirror_visitor *visitor, struct etw_damage *damage)
{
	static const struct etw_mirror_visitor nothing;
	struct etw_file *files[4] = { NULL };
	struct etw_mirror *mirror;
	struct bytes copy;
	const uint8_t *at;

	for (size_t i = 0; i < count; i++) {
		files[i] = etw_file_over(inputs[i].at, inputs[i].size, 0, NULL);
		assert_non_null(files[i]);
	}
	mirror = etw_mirror_open(NULL, form, files, count, NULL);
	assert_non_null(mirror);
	for (size_t i = 0; i < count; i++) {
		assert_true(etw_mirror_copy(mirror, files[i], visitor ? visitor : &nothing, damage,
					    NULL));
	}
	assert_true(etw_mirror_finish(mirror, NULL));
	at = etw_mirror_bytes(mirror, &copy.size);
	copy.at = malloc(copy.size);
	assert_non_null(copy.at);
	memcpy(copy.at, at, copy.size);
	etw_mirror_close(mirror);
	for (size_t i = 0; i < count; i++) {
		etw_file_close(files[i]);
	}
	return copy;
}

static struct bytes mirror_one(struct bytes input, enum etw_packing packing,
			       const struct etw_mirror_visitor *visitor)
{
	struct etw_damage damage = { 0 };
	struct bytes copy =
		mirrored(&input, 1, (struct etw_mirror_form){ packing, 0 }, visitor, &damage);

	assert_true(damage.bad_buffers == 0 && damage.bad_records == 0 && !damage.truncated);
	return copy;
}

static void assert_same_records(struct bytes a, struct bytes b)
{
	struct etw_damage damage = { 0 };
	struct collected x = read_all(a, &damage), y = read_all(b, &damage);

	assert_true(x.count > 0);
	assert_int_equal(x.count, y.count);
	for (size_t i = 0; i < x.count; i++) {
		/* The logfile header says whether buffers are packed, and how many there are. */
		assert_true(x.records[i].hash == y.records[i].hash || x.records[i].index == 0);
		assert_true(x.records[i].raw_time == y.records[i].raw_time);
	}
	collected_done(&x);
	collected_done(&y);
}

static void nothing_changed_gives_the_same_bytes(void **state)
{
	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct bytes input = every_class(compressed);
		struct bytes copy = mirror_one(input, ETW_AS_READ, NULL);

		assert_int_equal(copy.size, input.size);
		assert_memory_equal(copy.at, input.at, input.size);
		free(copy.at);
		copy = mirror_one(input, compressed ? ETW_COMPRESSED : ETW_PLAIN, NULL);
		assert_int_equal(copy.size, input.size);
		assert_memory_equal(copy.at, input.at, input.size);
		free(copy.at);
		free(input.at);
	}
}

static void ten_generations_have_the_records_of_the_first(void **state)
{
	struct bytes first = every_class(false);
	struct bytes last = mirror_one(first, ETW_AS_READ, NULL);
	size_t packed_size = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		bool pack = i % 2 == 0;
		struct bytes next = mirror_one(last, pack ? ETW_COMPRESSED : ETW_PLAIN, NULL);

		assert_same_records(first, next);
		assert_true(pack ? next.size < first.size : next.size == first.size);
		assert_true(!pack || packed_size == 0 || next.size == packed_size);
		packed_size = pack ? next.size : packed_size;
		free(last.at);
		last = next;
	}
	free(last.at);
	free(first.at);
}

static void what_a_reader_would_not_believe_stays_plain(void **state)
{
	/* 100,000 equal records in one buffer: 2.4 MB that pack to a few hundred bytes. */
	const struct etw_writer_options options = { .buffer_size = 4 << 20, .start_raw = START };
	const struct etw_out_record record = { .type = ETW_RECORD_PERFINFO,
					       .raw_time = START,
					       .group = 0x0f,
					       .opcode = 46,
					       .payload = "same",
					       .payload_size = 4 };
	struct etw_writer *writer = open_in_memory(&options);
	struct bytes input, copy;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		etw_writer_add(writer, &record);
	}
	input = take(writer);
	copy = mirror_one(input, ETW_COMPRESSED, NULL);
	assert_same_records(input, copy);
	free(copy.at);
	free(input.at);
}

/* ---- decisions ---- */

/* context: keeps the multiples of this number. */
static enum etw_mirror_action keep_multiples(void *context, const struct etw_record *record,
					     struct etw_mirror_bytes *bytes)
{
	const uint32_t *of = context;

	assert_true(bytes->size == (record->type == ETW_RECORD_PERFINFO ? 20 : bytes->size));
	return number_of(record) % *of == 0 ? ETW_MIRROR_KEEP : ETW_MIRROR_DROP;
}

static void what_stays_is_in_order_and_empty_buffers_are_gone(void **state)
{
	struct bytes input = numbered(1000, NULL);
	uint32_t of = 999; /* 0 on one processor, 999 on the other */
	struct etw_mirror_visitor visitor = { .context = &of, .decide = keep_multiples };
	struct bytes copy = mirror_one(input, ETW_AS_READ, &visitor);
	struct numbers numbers = numbers_of(copy, 1);

	(void)state;
	assert_int_equal(numbers.order, 999);
	assert_int_equal(numbers.count, 2);
	/* The first buffer and one for each; the header says so. */
	assert_int_equal(copy.size, 3 * 1024);
	assert_int_equal(etw_load_u32(copy.at + 0x68 + 0x24), 3);
	free(copy.at);
	free(input.at);
}

static void small_rests_of_one_processor_are_joined(void **state)
{
	const struct etw_writer_options options = { .buffer_size = 8192 };
	struct bytes input = numbered(20000, &options);
	size_t buffers = input.size / 8192;

	(void)state;
	assert_true(buffers > 60);
	/* 7: times are often equal on both processors, 1000: never. */
	for (uint32_t of = 7; of <= 1000; of += 993) {
		struct etw_mirror_visitor visitor = { .context = &of, .decide = keep_multiples };
		struct numbers expected = numbers_of(input, of);

		for (unsigned packing = ETW_AS_READ; packing <= ETW_COMPRESSED; packing++) {
			struct bytes copy = mirror_one(input, (enum etw_packing)packing, &visitor);
			struct numbers numbers = numbers_of(copy, 1);

			assert_int_equal(numbers.count, expected.count);
			assert_int_equal(numbers.order, expected.order);
			if (packing == ETW_PLAIN && of == 1000) {
				assert_int_equal(copy.size, 2 * 8192);
			}
			free(copy.at);
		}
	}
	free(input.at);
}

/* Large pieces and joined ones, and such as go out with the bytes that they have. */
static void any_number_of_threads_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint32_t of = 1; of <= 100; of += 33) {
		const struct etw_writer_options options = { .buffer_size = 4096,
							    .compressed = of == 34 };
		struct bytes input = numbered(20000, &options), first = { NULL, 0 };
		struct etw_mirror_visitor visitor = { .context = &of, .decide = keep_multiples };

		for (unsigned threads = 1; threads <= 8; threads *= 2) {
			const struct etw_mirror_form form = { ETW_COMPRESSED, threads };
			struct etw_damage damage = { 0 };
			struct bytes copy = mirrored(&input, 1, form, &visitor, &damage);

			if (threads == 1) {
				first = copy;
				continue;
			}
			assert_int_equal(copy.size, first.size);
			assert_memory_equal(copy.at, first.at, first.size);
			free(copy.at);
		}
		free(first.at);
		free(input.at);
	}
}

/* Replaces every record by one with a payload of 400 bytes that begins with the same number. */
static enum etw_mirror_action grow(void *context, const struct etw_record *record,
				   struct etw_mirror_bytes *bytes)
{
	uint8_t *larger = context;

	if (record->type != ETW_RECORD_PERFINFO) {
		return ETW_MIRROR_KEEP;
	}
	memset(larger, 0, 16 + 400);
	memcpy(larger, bytes->at, bytes->size);
	store_u16(larger + 4, 16 + 400);
	*bytes = (struct etw_mirror_bytes){ larger, 16 + 400 };
	return ETW_MIRROR_REPLACE;
}

static void records_that_grow_split_a_buffer_and_keep_the_order(void **state)
{
	const struct etw_writer_options options = { .buffer_size = 4096, .compressed = true };
	uint8_t larger[16 + 400];
	struct etw_mirror_visitor visitor = { .context = larger, .decide = grow };
	struct bytes input = numbered(1000, &options);
	struct numbers expected = numbers_of(input, 1);

	(void)state;
	assert_int_equal(expected.count, 1000);
	for (unsigned packing = ETW_AS_READ; packing <= ETW_COMPRESSED; packing++) {
		struct bytes copy = mirror_one(input, (enum etw_packing)packing, &visitor);
		struct numbers numbers = numbers_of(copy, 1);

		assert_int_equal(numbers.order, expected.order);
		assert_int_equal(numbers.count, 1000);
		assert_int_equal(numbers.size, 400);
		if (packing == ETW_PLAIN) {
			/* 9 of 416 bytes in each 4096: at least 112 buffers and the first. */
			assert_true(copy.size >= 113 * 4096);
			assert_int_equal(copy.size % 4096, 0);
		}
		free(copy.at);
	}
	free(input.at);
}

/* A reader searches a buffer that is larger than the stated size for others, which a payload may
 * imitate. */
static void the_header_states_the_size_of_a_buffer_that_grew(void **state)
{
	enum { STATED = 1024, BUFFER_SIZE_AT = 72 + 32 };
	const struct etw_writer_options options = { .buffer_size = 8192, .compressed = true };
	struct bytes input = numbered(2000, &options);

	(void)state;
	assert_int_equal(etw_load_u32(input.at + BUFFER_SIZE_AT), 8192);
	store_u32(input.at + BUFFER_SIZE_AT, STATED);
	for (unsigned packing = ETW_AS_READ; packing <= ETW_COMPRESSED; packing++) {
		struct bytes copy = mirror_one(input, (enum etw_packing)packing,
					       &(struct etw_mirror_visitor){ 0 });
		uint32_t stated = etw_load_u32(copy.at + BUFFER_SIZE_AT);
		uint32_t largest = STATED;

		for (size_t at = etw_load_u32(copy.at); at < copy.size;
		     at += etw_load_u32(copy.at + at)) {
			uint32_t size = etw_load_u32(copy.at + at);

			largest = size > largest ? size : largest;
		}
		/* Buffers that are copied as they are keep the recording as it was. */
		assert_int_equal(stated, packing == ETW_PLAIN ? largest : STATED);
		assert_true(packing != ETW_PLAIN || largest > STATED);
		free(copy.at);
	}
	free(input.at);
}

static enum etw_mirror_action too_large(void *context, const struct etw_record *record,
					struct etw_mirror_bytes *bytes)
{
	if (record->type == ETW_RECORD_PERFINFO) {
		*bytes = (struct etw_mirror_bytes){ context, 65536 };
		return ETW_MIRROR_REPLACE;
	}
	return ETW_MIRROR_KEEP;
}

static void a_record_that_no_recording_can_have_is_an_error(void **state)
{
	struct bytes input = numbered(10, NULL);
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL);
	struct etw_mirror *mirror =
		etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_AS_READ, 0 }, &file, 1, NULL);
	uint8_t *large = calloc(1, 65536);
	struct etw_mirror_visitor visitor = { .context = large, .decide = too_large };
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_non_null(large);
	assert_false(etw_mirror_copy(mirror, file, &visitor, &damage, &err));
	assert_string_equal(err.text, "a record of 65536 bytes cannot be stored");
	etw_mirror_close(mirror);
	etw_file_close(file);
	free(large);
	free(input.at);
}

static enum etw_mirror_action stop_at_third(void *context, const struct etw_record *record,
					    struct etw_mirror_bytes *bytes)
{
	unsigned *shown = context;

	(void)record;
	(void)bytes;
	return ++*shown == 3 ? ETW_MIRROR_STOP : ETW_MIRROR_KEEP;
}

static void a_callback_can_end_the_copy(void **state)
{
	struct bytes input = numbered(10, NULL);
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL);
	struct etw_mirror *mirror =
		etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_AS_READ, 0 }, &file, 1, NULL);
	unsigned shown = 0;
	struct etw_mirror_visitor visitor = { .context = &shown, .decide = stop_at_third };
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_false(etw_mirror_copy(mirror, file, &visitor, &damage, &err));
	assert_int_equal(shown, 3);
	assert_false(etw_mirror_output_failed(mirror));
	etw_mirror_close(mirror);
	etw_file_close(file);
	free(input.at);
}

static enum etw_mirror_action drop_all(void *context, const struct etw_record *record,
				       struct etw_mirror_bytes *bytes)
{
	(void)context;
	(void)record;
	(void)bytes;
	return ETW_MIRROR_DROP;
}

static void the_logfile_header_always_stays(void **state)
{
	struct bytes input = numbered(100, NULL);
	struct etw_mirror_visitor visitor = { .decide = drop_all };
	struct bytes copy = mirror_one(input, ETW_COMPRESSED, &visitor);
	struct etw_damage damage = { 0 };
	struct collected found = read_all(copy, &damage);

	(void)state;
	assert_int_equal(found.count, 1);
	assert_int_equal(copy.size, 1024);
	collected_done(&found);
	free(copy.at);
	free(input.at);
}

static void stacks_are_taken_out_and_other_items_stay(void **state)
{
	static const uint8_t data[24] = "0123456789abcdef";
	const struct etw_out_item items[] = { { ETW_EXTENDED_RELATED_ACTIVITY, 16, data },
					      { ETW_EXTENDED_STACK64, 24, data },
					      { ETW_EXTENDED_EVENT_KEY, 8, data },
					      { ETW_EXTENDED_STACK32, 12, data } };
	struct etw_out_record record = {
		.type = ETW_RECORD_EVENT, .items = items, .payload = "payload", .payload_size = 7
	};
	uint8_t bytes[ETL_BUFFER_HEADER_SIZE + 256] = { 0 }, out[256], expected[256];
	struct etw_source_clock clock = { .type = ETW_CLOCK_QPC,
					  .frequency = 1,
					  .perf_frequency = 1 };
	struct etl_format format;
	struct etl_walk walk;
	size_t size, expected_size;

	(void)state;
	etl_format_init(&format, &clock, 8, 0);
	for (size_t count = 1; count <= 4; count++) {
		size_t kept = 0;
		struct etw_out_item rest[4];

		record.items = items;
		record.item_count = count;
		size = etw_out_record_size(&record);
		etl_out_record_store(&record, 8, bytes + ETL_BUFFER_HEADER_SIZE);
		for (size_t i = 0; i < count; i++) {
			if (items[i].type != ETW_EXTENDED_STACK64 &&
			    items[i].type != ETW_EXTENDED_STACK32) {
				rest[kept++] = items[i];
			}
		}
		record.items = rest;
		record.item_count = kept;
		expected_size = etw_out_record_size(&record);
		etl_out_record_store(&record, 8, expected);

		etl_walk_start(&walk, &format, bytes, (uint32_t)(ETL_BUFFER_HEADER_SIZE + size), 0,
			       0);
		assert_true(etl_walk_next(&walk));
		size = etw_strip_items(&walk.record, bytes + ETL_BUFFER_HEADER_SIZE, size,
				       1 << ETW_EXTENDED_STACK32 | 1 << ETW_EXTENDED_STACK64, out);
		assert_int_equal(size, count == 1 ? 0 : expected_size);
		assert_memory_equal(out, expected, size);
	}
	/* Only stacks: the record has no items any more. */
	record.items = items + 1;
	record.item_count = 1;
	size = etw_out_record_size(&record);
	etl_out_record_store(&record, 8, bytes + ETL_BUFFER_HEADER_SIZE);
	etl_walk_start(&walk, &format, bytes, (uint32_t)(ETL_BUFFER_HEADER_SIZE + size), 0, 0);
	assert_true(etl_walk_next(&walk));
	assert_int_equal(etw_strip_items(&walk.record, bytes + ETL_BUFFER_HEADER_SIZE, size,
					 1 << ETW_EXTENDED_STACK64, out),
			 87);
	assert_hex(out, 6, "5700 13c0 0000");
	assert_memory_equal(out + 80, "payload", 7);
}

/* ---- several inputs ---- */

static void merged_recordings_have_the_records_and_losses_of_both(void **state)
{
	const struct etw_writer_options first = { .events_lost = 3,
						  .buffers_lost = 1,
						  .start_time = 2000000000,
						  .boot_time = 1,
						  .end_time = 2000100000 };
	struct etw_writer_options second = first;
	struct bytes inputs[2], copy;
	struct etw_damage damage = { 0 };
	struct collected found;

	(void)state;
	second.events_lost = UINT32_MAX;
	second.start_time = 1999999000;
	second.end_time = 2000000001;
	inputs[0] = numbered(100, &first);
	inputs[1] = numbered(60, &second);
	copy = mirrored(inputs, 2, (struct etw_mirror_form){ ETW_AS_READ, 0 }, NULL, &damage);
	found = read_all(copy, &damage);
	assert_int_equal(found.count, 1 + 100 + 60);
	assert_true(damage.bad_records == 0 && !damage.truncated);
	assert_true(etw_load_u64(copy.at + 0x68 + 0x10) == 2000100000);    /* EndTime */
	assert_int_equal(etw_load_u32(copy.at + 0x68 + 0x30), UINT32_MAX); /* EventsLost */
	assert_true(etw_load_u64(copy.at + 0x68 + 0x108) == 1999999000);   /* StartTime */
	assert_int_equal(etw_load_u32(copy.at + 0x68 + 0x114), 2);         /* BuffersLost */
	collected_done(&found);
	free(copy.at);
	free(inputs[0].at);
	free(inputs[1].at);
}

/* Each part of --split has the losses of the whole. Losses that never fall are those of the session
 * so far, as in a recording of several files; those of another session come besides. */
static void parts_of_a_session_have_its_losses_only_once(void **state)
{
	static const struct {
		uint32_t lost[3];
		const char *names[3];
		uint32_t all;
	} cases[] = {
		{ { 4, 4, 4 }, { "S", "S", "S" }, 4 },
		{ { 1, 5, 5 }, { "S", "S", "S" }, 5 },
		{ { 7, 0, 2 }, { "S", "S", "S" }, 9 },
		{ { 4, 4, 4 }, { "S", "Other", "S" }, 8 },
		{ { 4, 4, 4 }, { "S", "T", "U" }, 12 },
		{ { 5, 3, 4 }, { "S", "S", "S" }, 12 }, /* they fell once: each has its own */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes inputs[3], copy;
		struct etw_damage damage = { 0 };

		for (size_t j = 0; j < 3; j++) {
			inputs[j] = numbered(10, &(struct etw_writer_options){
							 .session_name = cases[i].names[j],
							 .file_name = "x.etl",
							 .events_lost = cases[i].lost[j],
							 .buffers_lost = cases[i].lost[j] });
		}
		copy = mirrored(inputs, 3, (struct etw_mirror_form){ ETW_AS_READ, 0 }, NULL,
				&damage);
		assert_int_equal(etw_load_u32(copy.at + 0x68 + 0x30),
				 cases[i].all); /* EventsLost */
		assert_int_equal(etw_load_u32(copy.at + 0x68 + 0x114),
				 cases[i].all); /* BuffersLost */
		free(copy.at);
		for (size_t j = 0; j < 3; j++) {
			free(inputs[j].at);
		}
	}
}

/* The result is as large and has as many processors as the largest input, wherever that stands. */
static void a_merged_recording_has_the_bounds_of_the_larger_one(void **state)
{
	(void)state;
	for (size_t larger = 0; larger < 2; larger++) {
		struct bytes inputs[2], copy;
		struct etw_damage damage = { 0 };
		struct etw_file *file;

		inputs[larger] = numbered(10, &(struct etw_writer_options){ .buffer_size = 4096,
									    .processors = 6 });
		inputs[1 - larger] = numbered(10, &(struct etw_writer_options){ .buffer_size = 1024,
										.processors = 2 });
		copy = mirrored(inputs, 2, (struct etw_mirror_form){ ETW_AS_READ, 0 }, NULL,
				&damage);
		file = etw_file_over(copy.at, copy.size, 0, NULL);
		assert_non_null(file);
		assert_int_equal(file->header.buffer_size_bytes, 4096);
		assert_int_equal(file->header.processors, 6);
		etw_file_close(file);
		free(copy.at);
		free(inputs[0].at);
		free(inputs[1].at);
	}
}

static void recordings_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		struct etw_writer_options options;
		const char *sentence;
	} cases[] = {
		{ { .pointer_size = 4 }, "it has pointers of 4 bytes, not of 8" },
		{ { .clock = ETW_CLOCK_SYSTEM_TIME }, "it has another clock: systemtime, not qpc" },
		{ { .perf_frequency = 3000000 },
		  "it has a clock of 3000000 ticks per second, not 10000000" },
		{ { .boot_time = INT64_C(133601436000000000) },
		  "it is of another machine, or of another boot of it: the boot times are 3600 s apart" },
	};
	struct bytes first = numbered(10, NULL);
	struct etw_file *files[2] = { etw_file_over(first.at, first.size, 0, NULL) };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes second = numbered(10, &cases[i].options);
		struct etw_error err = { 0 };

		files[1] = etw_file_over(second.at, second.size, 0, NULL);
		assert_null(etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_AS_READ, 0 }, files,
					    2, &err));
		assert_string_equal(err.text, cases[i].sentence);
		etw_file_close(files[1]);
		free(second.at);
	}
	etw_file_close(files[0]);
	free(first.at);
}

/* ---- further records ---- */

static void added_records_come_behind_those_of_the_same_time(void **state)
{
	struct bytes input = numbered(80, NULL);
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL);
	struct etw_mirror *mirror =
		etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_AS_READ, 0 }, &file, 1, NULL);
	struct etw_mirror_visitor visitor = { 0 };
	struct etw_damage damage = { 0 };
	uint32_t number = 5000;
	struct etw_out_record record = { .type = ETW_RECORD_PERFINFO,
					 .processor = 1,
					 .raw_time = START + 3, /* of 24 to 31 */
					 .group = 0x0f,
					 .opcode = 46,
					 .payload = &number,
					 .payload_size = sizeof number };
	struct collected found;
	struct collected before = read_all(input, &damage);
	struct bytes copy;

	(void)state;
	assert_true(etw_mirror_copy(mirror, file, &visitor, &damage, NULL));
	etw_writer_add(etw_mirror_writer(mirror), &record);
	assert_true(etw_mirror_finish(mirror, NULL));
	copy.at = (uint8_t *)(uintptr_t)etw_mirror_bytes(mirror, &copy.size);
	found = read_all(copy, &damage);
	assert_int_equal(found.count, 1 + 80 + 1);
	for (size_t i = 1; i < found.count; i++) {
		if (i != 33) { /* the header, 32 records */
			assert_true(found.records[i].hash == before.records[i - (i > 33)].hash);
		}
	}
	assert_true(found.records[33].raw_time == START + 3);
	collected_done(&found);
	collected_done(&before);
	etw_mirror_close(mirror);
	etw_file_close(file);
	free(input.at);
}

/* The header of what is made of a recording and of one more record. */
static struct etw_header header_with_record_at(const struct etw_writer_options *options,
					       int64_t raw_time)
{
	struct bytes input = numbered(80, options), copy;
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL), *made;
	struct etw_mirror *mirror =
		etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_AS_READ, 0 }, &file, 1, NULL);
	const struct etw_mirror_visitor visitor = { 0 };
	const struct etw_out_record record = {
		.type = ETW_RECORD_PERFINFO, .raw_time = raw_time, .group = 0x0f, .opcode = 46
	};
	struct etw_damage damage = { 0 };
	struct etw_header header;

	assert_true(etw_mirror_copy(mirror, file, &visitor, &damage, NULL));
	etw_writer_add(etw_mirror_writer(mirror), &record);
	assert_true(etw_mirror_finish(mirror, NULL));
	copy.at = (uint8_t *)(uintptr_t)etw_mirror_bytes(mirror, &copy.size);
	made = etw_file_over(copy.at, copy.size, 0, NULL);
	assert_non_null(made);
	header = made->header;
	etw_file_close(made);
	etw_mirror_close(mirror);
	etw_file_close(file);
	free(input.at);
	return header;
}

/* A tick is 100 ns, and the recording ends 9 ticks after its start. */
static void an_added_record_moves_the_end_if_it_is_later(void **state)
{
	static const struct {
		int64_t after; /* in ticks */
		bool unclosed;
		int64_t end; /* after the start; -1: none */
	} cases[] = {
		{ 5, false, 9 },    { 9, false, 9 },
		{ 10, false, 10 },  { 5000000, false, 5000000 },
		{ -100, false, 9 }, { 10, true, -1 },
	};
	const int64_t start = INT64_C(133601436000000000);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_writer_options options = { .start_time = start,
							    .unclosed = cases[i].unclosed };
		struct etw_header header = header_with_record_at(&options, START + cases[i].after);

		assert_true(header.start_time == start);
		assert_true(header.end_time == (cases[i].end < 0 ? 0 : start + cases[i].end));
	}
}

/* ---- damage ---- */

static void a_damaged_recording_is_copied_as_far_as_it_is_read(void **state)
{
	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct bytes whole = every_class(compressed);

		for (size_t size = ETL_BUFFER_HEADER_SIZE + 400; size < whole.size; size += 61) {
			struct bytes cut = { whole.at, size };
			struct etw_damage damage = { 0 }, of_copy = { 0 };
			struct etw_file *file = etw_file_over(cut.at, cut.size, 0, NULL);
			struct collected found;
			struct bytes copy;

			if (!file) {
				continue;
			}
			etw_file_close(file);
			copy = mirrored(&cut, 1,
					(struct etw_mirror_form){ (enum etw_packing)(size % 3), 0 },
					NULL, &damage);
			assert_same_records(cut, copy);
			assert_true(damage.truncated);
			found = read_all(copy, &of_copy);
			assert_false(of_copy.truncated);
			assert_int_equal(of_copy.bad_buffers, 0);
			collected_done(&found);
			free(copy.at);
		}
		free(whole.at);
	}
}

struct watch {
	struct etw_mirror *mirror;
	unsigned buffers;
};

static void read_what_is_there(void *context, uint64_t bytes_read)
{
	struct watch *watch = context;
	struct etw_damage damage = { 0 };
	struct bytes so_far;
	struct collected found;

	(void)bytes_read;
	watch->buffers++;
	so_far.at = (uint8_t *)(uintptr_t)etw_mirror_bytes(watch->mirror, &so_far.size);
	found = read_all(so_far, &damage);
	assert_true(found.count >= watch->buffers);
	assert_true(damage.bad_buffers == 0 && damage.bad_records == 0 && !damage.truncated);
	collected_done(&found);
}

static void what_is_written_is_readable_at_every_moment(void **state)
{
	struct bytes input = numbered(500, NULL);
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL);
	struct watch watch = { etw_mirror_open(NULL, (struct etw_mirror_form){ ETW_COMPRESSED, 0 },
					       &file, 1, NULL),
			       0 };
	struct etw_mirror_visitor visitor = { .buffer_context = &watch,
					      .on_buffer = read_what_is_there };
	struct etw_damage damage = { 0 };

	(void)state;
	assert_true(etw_mirror_copy(watch.mirror, file, &visitor, &damage, NULL));
	assert_true(watch.buffers > 10);
	assert_true(etw_mirror_finish(watch.mirror, NULL));
	etw_mirror_close(watch.mirror);
	etw_file_close(file);
	free(input.at);
}

/* Cuts what is written of a recording so far: a reader gets the records of all whole
 * buffers, perhaps some of the last one, and notices the cut. */
static void assert_readable_when_cut(struct bytes image)
{
	size_t whole = etw_load_u32(image.at), buffers = 1, before = 0, of_whole = 0, most = 0,
	       next;

	for (; whole < image.size; whole = next, buffers++) {
		next = whole + etw_load_u32(image.at + whole);
		assert_true(next <= image.size);
		for (size_t size = whole; size < next; size += size == whole ? 1 : 5) {
			struct etw_damage damage = { 0 };
			struct collected found =
				read_all((struct bytes){ image.at, size }, &damage);

			if (size == whole) {
				of_whole = found.count;
				assert_true(of_whole > before && of_whole >= most);
				assert_true(damage.bad_buffers == 0 && damage.bad_records == 0);
			}
			most = found.count;
			assert_true(found.count >= of_whole);
			assert_int_equal(damage.truncated, size > whole);
			collected_done(&found);
		}
		before = of_whole;
	}
	assert_true(buffers > 3);
}

static void a_recording_that_is_cut_while_it_is_written_has_all_whole_buffers(void **state)
{
	(void)state;
	for (unsigned compressed = 0; compressed < 2; compressed++) {
		struct etw_writer_options options =
			every_class_options(8, ETW_CLOCK_QPC, compressed);
		struct etw_writer *writer = open_in_memory(&options);
		struct bytes input = numbered(300, &(struct etw_writer_options){ 0 }), image;
		struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL);
		struct etw_mirror *mirror = etw_mirror_open(
			NULL,
			(struct etw_mirror_form){ compressed ? ETW_COMPRESSED : ETW_PLAIN, 0 },
			&file, 1, NULL);
		struct etw_damage damage = { 0 };

		every_class_add(writer, 8);
		etl_writer_flush(writer);
		image.at = (uint8_t *)(uintptr_t)etl_writer_bytes(writer, &image.size);
		assert_readable_when_cut(image);
		etw_writer_close(writer);

		assert_true(etw_mirror_copy(mirror, file, &(struct etw_mirror_visitor){ 0 },
					    &damage, NULL));
		image.at = (uint8_t *)(uintptr_t)etw_mirror_bytes(mirror, &image.size);
		assert_readable_when_cut(image);
		etw_mirror_close(mirror);
		etw_file_close(file);
		free(input.at);
	}
}

/* ---- files ---- */

static void a_file_has_its_name_only_when_it_is_whole(void **state)
{
	struct bytes input = numbered(500, NULL);
	struct etw_file *file = etw_file_over(input.at, input.size, 0, NULL), *written;
	struct etw_mirror_visitor visitor = { 0 };
	struct etw_damage damage = { 0 };
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	for (unsigned finished = 0; finished < 2; finished++) {
		struct etw_mirror *mirror = etw_mirror_open(
			path, (struct etw_mirror_form){ ETW_AS_READ, 0 }, &file, 1, NULL);

		assert_true(etw_mirror_copy(mirror, file, &visitor, &damage, NULL));
		assert_null(etw_file_open(path, 0, NULL));
		assert_true(!finished || etw_mirror_finish(mirror, NULL));
		etw_mirror_close(mirror);
		written = etw_file_open(path, 0, NULL);
		assert_int_equal(written != NULL, finished);
		etw_file_close(written);
	}
	os_file_remove(path, NULL);
	etw_file_close(file);
	free(input.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changed_gives_the_same_bytes),
		cmocka_unit_test(ten_generations_have_the_records_of_the_first),
		cmocka_unit_test(what_a_reader_would_not_believe_stays_plain),
		cmocka_unit_test(what_stays_is_in_order_and_empty_buffers_are_gone),
		cmocka_unit_test(small_rests_of_one_processor_are_joined),
		cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
		cmocka_unit_test(records_that_grow_split_a_buffer_and_keep_the_order),
		cmocka_unit_test(a_record_that_no_recording_can_have_is_an_error),
		cmocka_unit_test(a_callback_can_end_the_copy),
		cmocka_unit_test(the_logfile_header_always_stays),
		cmocka_unit_test(stacks_are_taken_out_and_other_items_stay),
		cmocka_unit_test(merged_recordings_have_the_records_and_losses_of_both),
		cmocka_unit_test(parts_of_a_session_have_its_losses_only_once),
		cmocka_unit_test(a_merged_recording_has_the_bounds_of_the_larger_one),
		cmocka_unit_test(the_header_states_the_size_of_a_buffer_that_grew),
		cmocka_unit_test(recordings_that_do_not_fit_are_refused),
		cmocka_unit_test(added_records_come_behind_those_of_the_same_time),
		cmocka_unit_test(an_added_record_moves_the_end_if_it_is_later),
		cmocka_unit_test(a_damaged_recording_is_copied_as_far_as_it_is_read),
		cmocka_unit_test(what_is_written_is_readable_at_every_moment),
		cmocka_unit_test(a_recording_that_is_cut_while_it_is_written_has_all_whole_buffers),
		cmocka_unit_test(a_file_has_its_name_only_when_it_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Damaged recordings: the reader gets through, in bounded time, and says or counts what is wrong.
 *
 * A small recording of everything (every_class.h) is cut at every byte, and every length in it is
 * set to 0, to its maximum and to near misses. What the reader delivers is read to the last byte
 * and decoded, so that the sanitizers see every access. Records never vanish silently: either as
 * many come out as without the damage, or there is a message or a counter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <etw/recording.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/trace_schemas.h"
#include "tests/support/every_class.h"
#include "tests/support/exact_copy.h"
#include "tests/support/in_memory.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum {
	BUFFER_HEADER_SIZE = 0x48,
	LENGTHS_MOST = 1024,
	/* A byte of a packed stream makes 64 KiB and more; no record is smaller than 8 bytes. */
	RECORDS_MOST = 2 * EVERY_CLASS_SIZE_MOST,
};

/* --- a consumer that looks at everything ------------------------------------------------------ */

struct outcome {
	bool opened;
	uint64_t ahead, records;
	uint32_t sum; /* of all bytes, so that reading them is not optimised away */
	struct etw_source_statistics statistics;
	struct etw_trace_schemas_counts schemas;
	struct etw_error err;
};

struct consumer {
	struct outcome *outcome;
	struct etw_trace_schemas *schemas;
	struct etw_text text;
};

static void read_bytes(struct consumer *consumer, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = exact_copy(bytes, size);

	for (size_t i = 0; i < size; i++) {
		consumer->outcome->sum = consumer->outcome->sum * 31 + copy[i];
	}
	free(copy);
}

static void decode(struct consumer *consumer, const struct etw_record *record)
{
	const struct etw_schema *schema = etw_kernel_schema_of(record);
	struct etw_field_slice slices[64];
	uint8_t *copy;
	struct etw_record exact = *record;
	unsigned whole;

	if (!record->classic || !schema || schema->field_count == 0 || schema->field_count > 64) {
		return;
	}
	/* The payload in a block of its own: nothing behind it may be looked at. */
	exact.payload = copy = exact_copy(record->payload, record->payload_size);
	whole = etw_fields_walk(schema, schema->field_count - 1u, &exact, slices, NULL);
	for (unsigned i = 0; i < whole; i++) {
		text_clear(&consumer->text);
		etw_field_text(&schema->fields[i], &slices[i], &consumer->text);
		consumer->outcome->sum += (uint32_t)consumer->text.size;
	}
	free(copy);
}

static void first_pass(void *context, const struct etw_record *record)
{
	struct consumer *consumer = context;

	assert_true(++consumer->outcome->ahead <= RECORDS_MOST);
	etw_trace_schemas_look(consumer->schemas, record);
}

static void look(void *context, const struct etw_record *record)
{
	struct consumer *consumer = context;
	struct etw_extended_item item;
	uint32_t offset = 0;

	assert_true(++consumer->outcome->records <= RECORDS_MOST);
	read_bytes(consumer, record->payload, record->payload_size);
	while (etw_record_next_extended(record, &offset, &item)) {
		read_bytes(consumer, item.data, item.size);
	}
	consumer->outcome->sum += record->provider->bytes[15];
	decode(consumer, record);
}

static void consume(const char *path, uint8_t pointer_size, struct outcome *outcome)
{
	struct consumer consumer = { .outcome = outcome,
				     .schemas = etw_trace_schemas_new(&outcome->err) };
	const struct etw_event_sink sink = { .context = &consumer,
					     .on_first_pass = first_pass,
					     .on_event = look };
	const struct etw_source_file_options options = { .pointer_size = pointer_size };
	struct etw_source *source;

	*outcome = (struct outcome){ 0 };
	assert_non_null(consumer.schemas);
	source = etw_source_open_file(path, &options, &outcome->err);
	if (source) {
		outcome->opened = true;
		assert_true(etw_source_run(source, &sink, &outcome->err));
		etw_trace_schemas_finish(consumer.schemas);
		etw_trace_schemas_count(consumer.schemas, &outcome->schemas);
		etw_source_statistics(source, &outcome->statistics);
		etw_source_close(source);
	}
	etw_trace_schemas_free(consumer.schemas);
	text_free(&consumer.text);
}

/* A failure to open is one line that begins with the path and says something. */
static void assert_reported(const struct outcome *outcome, const char *path)
{
	size_t size = strlen(path);

	assert_true(outcome->err.code != ETW_ERROR_NONE);
	assert_memory_equal(outcome->err.text, path, size);
	assert_memory_equal(outcome->err.text + size, ": ", 2);
	assert_true(strlen(outcome->err.text + size + 2) > 10);
	assert_null(strchr(outcome->err.text, '\n'));
}

static bool is_counted(const struct outcome *outcome)
{
	const struct etw_source_statistics *s = &outcome->statistics;

	return s->truncated || s->bad_buffers > 0 || s->bad_records > 0 ||
	       s->buffers != s->buffers_written;
}

/* --- recordings to damage --------------------------------------------------------------------- */

struct recording {
	const char *name;
	struct etw_writer_options options;
	uint8_t *bytes; /* owned */
	size_t size;
	struct outcome whole;
};

static struct recording recordings[] = {
	{ .name = "64-bit, plain" },
	{ .name = "32-bit, plain, system time" },
	{ .name = "64-bit, packed, processor cycles" },
};

enum { RECORDINGS = sizeof recordings / sizeof recordings[0] };

static int build_recordings(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	recordings[0].options = every_class_options(8, ETW_CLOCK_QPC, false);
	recordings[1].options = every_class_options(4, ETW_CLOCK_SYSTEM_TIME, false);
	recordings[2].options = every_class_options(8, ETW_CLOCK_CPU_CYCLE, true);
	for (size_t i = 0; i < RECORDINGS; i++) {
		struct recording *r = &recordings[i];
		struct etw_writer *writer = open_in_memory(&r->options);
		const uint8_t *bytes;

		every_class_add(writer, r->options.pointer_size);
		bytes = finish_in_memory(writer, &r->size);
		assert_in_range(r->size, 2000, EVERY_CLASS_SIZE_MOST);
		r->bytes = exact_copy(bytes, r->size);
		etw_writer_close(writer);
		temporary_write(path, r->bytes, r->size);
		consume(path, 0, &r->whole);
		remove(path);
		assert_true(r->whole.opened);
		assert_false(is_counted(&r->whole));
		assert_true(r->whole.records > 50);
		assert_true(r->whole.schemas.manifests == 1);
		assert_true(r->whole.schemas.event_infos == 1);
		assert_true(r->whole.schemas.maps == 1);
		assert_true(r->whole.ahead == r->whole.records);
	}
	return 0;
}

static int free_recordings(void **state)
{
	(void)state;
	for (size_t i = 0; i < RECORDINGS; i++) {
		free(recordings[i].bytes);
	}
	return 0;
}

static void a_recording_cut_at_any_byte_is_read_as_far_as_it_goes(void **state)
{
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	for (size_t i = 0; i < RECORDINGS; i++) {
		const struct recording *r = &recordings[i];
		uint64_t most = r->whole.records;
		size_t opened = 0;

		temporary_write(path, r->bytes, r->size);
		for (size_t size = r->size; size-- > 0;) {
			struct outcome outcome;

			assert_int_equal(truncate(path, (off_t)size), 0);
			consume(path, 0, &outcome);
			if (!outcome.opened) {
				assert_reported(&outcome, path);
				continue;
			}
			opened++;
			if (!is_counted(&outcome)) {
				fail_msg("%s, cut at %zu: nothing is said", r->name, size);
			}
			/* What is left never grows, and all of it is delivered in both passes. */
			assert_true(outcome.records <= most);
			assert_true(outcome.ahead == outcome.records);
			most = outcome.records;
		}
		remove(path);
		print_message("  %s: %zu bytes, %zu of the cuts are recordings\n", r->name, r->size,
			      opened);
		assert_true(opened > r->size - 1024);
	}
}

/* --- lengths ---------------------------------------------------------------------------------- */

struct length {
	size_t offset; /* in the file */
	unsigned size; /* bytes */
	const char *what;
	bool must_announce; /* 0 and the maximum cannot be right */
};

struct lengths {
	struct length list[LENGTHS_MOST];
	size_t count;
};

static void add_length(struct lengths *lengths, size_t offset, unsigned size, const char *what,
		       bool must_announce)
{
	assert_true(lengths->count < LENGTHS_MOST);
	lengths->list[lengths->count++] = (struct length){ offset, size, what, must_announce };
}

/* Lengths inside a record: extended items, what is in them, counts and offsets in payloads. */
static void find_inner_lengths(struct lengths *lengths, const uint8_t *bytes, size_t at,
			       size_t size)
{
	uint8_t type = bytes[at + 2];
	size_t payload = at + 80;

	if (type == 0x12 || type == 0x13) {
		bool more = bytes[at + 4] & 1;

		for (size_t item = payload; more; item = payload) {
			add_length(lengths, item, 2, "extended item", false);
			add_length(lengths, item + 4, 2, "linkage of extended items", false);
			add_length(lengths, item + 6, 2, "data of an extended item", false);
			add_length(lengths, item + 8, 2, "metadata or traits", false);
			more = bytes[item + 4] & 1;
			payload = item + etw_load_u16(bytes + item);
		}
	} else if (type == 0x0a || type == 0x14) {
		payload = at + 48;
	} else {
		return;
	}
	/* Strings, chunks, property counts, name offsets: anything may be one. */
	for (size_t i = payload; i + 4 <= at + size && i < payload + 160; i += 2) {
		add_length(lengths, i, i % 4 ? 2 : 4, "payload", false);
	}
}

static void find_lengths(const struct recording *r, struct lengths *lengths)
{
	lengths->count = 0;
	for (size_t buffer = 0; buffer < r->size; buffer += etw_load_u32(r->bytes + buffer)) {
		bool packed = etw_load_u16(r->bytes + buffer + 0x34) & 0x40;
		size_t end = buffer + etw_load_u32(r->bytes + buffer + 0x30);
		size_t at = buffer + BUFFER_HEADER_SIZE;

		add_length(lengths, buffer, 4, "BufferSize", true);
		add_length(lengths, buffer + 0x04, 4, "SavedOffset", false);
		add_length(lengths, buffer + 0x08, 4, "CurrentOffset", false);
		add_length(lengths, buffer + 0x30, 4, "Offset", false);
		while (!packed && at + 8 <= end) {
			uint8_t type = r->bytes[at + 2];
			bool late = r->bytes[at + 3] == 0xc0 &&
				    (type <= 0x04 || type == 0x10 || type == 0x11);
			size_t size_at = at + (late ? 4 : 0);
			size_t size = etw_load_u16(r->bytes + size_at);

			add_length(lengths, size_at, 2, "record", true);
			find_inner_lengths(lengths, r->bytes, at, size);
			at += (size + 7) & ~(size_t)7;
		}
	}
	/* Of the logfile header: BufferSize, processors, pointer size. */
	add_length(lengths, BUFFER_HEADER_SIZE + 32, 4, "BufferSize of the header", false);
	add_length(lengths, BUFFER_HEADER_SIZE + 32 + 0x0c, 4, "processors", false);
	add_length(lengths, BUFFER_HEADER_SIZE + 32 + 0x2c, 4, "pointer size", false);
}

static void damage(const struct recording *r, const struct length *length, uint64_t value,
		   bool extreme, const char *path)
{
	struct outcome outcome;

	temporary_patch(path, length->offset, value, length->size);
	consume(path, 0, &outcome);
	if (!outcome.opened) {
		assert_reported(&outcome, path);
		return;
	}
	assert_true(outcome.ahead == outcome.records);
	if (extreme && !is_counted(&outcome) &&
	    (length->must_announce || outcome.records != r->whole.records)) {
		fail_msg("%s, %s at %zu is %#llx: %llu of %llu records and nothing is said",
			 r->name, length->what, length->offset, (unsigned long long)value,
			 (unsigned long long)outcome.records, (unsigned long long)r->whole.records);
	}
}

static void a_length_that_is_wrong_is_noticed_or_harmless(void **state)
{
	static struct lengths lengths;
	char path[TEMPORARY_PATH_SIZE];

	(void)state;
	temporary_path(path, "etl");
	for (size_t i = 0; i < RECORDINGS; i++) {
		const struct recording *r = &recordings[i];

		find_lengths(r, &lengths);
		temporary_write(path, r->bytes, r->size);
		print_message("  %s: %zu lengths\n", r->name, lengths.count);
		for (size_t j = 0; j < lengths.count; j++) {
			const struct length *length = &lengths.list[j];
			uint64_t most = length->size == 2 ? UINT16_MAX : UINT32_MAX;
			uint64_t right = length->size == 2 ?
						 etw_load_u16(r->bytes + length->offset) :
						 etw_load_u32(r->bytes + length->offset);
			const uint64_t near_misses[] = { 1,         right - 1, right + 1,
							 right * 2, most / 2,  most - 7 };

			damage(r, length, 0, right != 0, path);
			damage(r, length, most, right != most, path);
			for (size_t k = 0; k < sizeof near_misses / sizeof near_misses[0]; k++) {
				damage(r, length, near_misses[k] & most, false, path);
			}
			temporary_patch(path, length->offset, right, length->size);
		}
	}
	remove(path);
}

static void any_byte_of_a_packed_recording_may_be_wrong(void **state)
{
	const struct recording *r = &recordings[2];
	char path[TEMPORARY_PATH_SIZE];
	struct outcome outcome;

	(void)state;
	temporary_path(path, "etl");
	temporary_write(path, r->bytes, r->size);
	for (size_t i = 0; i < r->size; i++) {
		for (unsigned bit = 0; bit < 8; bit += 7) {
			temporary_patch(path, i, r->bytes[i] ^ 1u << bit, 1);
			consume(path, 0, &outcome);
			if (!outcome.opened) {
				assert_reported(&outcome, path);
			}
		}
		temporary_patch(path, i, r->bytes[i], 1);
	}
	remove(path);
}

static void another_pointer_size_than_the_recording_has_is_harmless(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct outcome outcome;

	(void)state;
	temporary_path(path, "etl");
	for (size_t i = 0; i < RECORDINGS; i++) {
		temporary_write(path, recordings[i].bytes, recordings[i].size);
		for (uint8_t pointer_size = 4; pointer_size <= 8; pointer_size += 4) {
			consume(path, pointer_size, &outcome);
			assert_true(outcome.opened);
			assert_true(outcome.records == recordings[i].whole.records);
		}
		remove(path);
	}
}

/* --- what is no recording --------------------------------------------------------------------- */

static void a_file_that_is_no_recording_is_reported_in_one_line(void **state)
{
	static const char text[] =
		"etw_exporter turns Event Tracing for Windows into metrics.\n"
		"This line is long enough for a buffer header and a little more.\n";
	static const struct {
		const char *what;
		const char *bytes; /* NULL: there is no such file */
		size_t size;
	} cases[] = {
		{ "nothing", NULL, 0 },
		{ "an empty file", "", 0 },
		{ "one byte", "x", 1 },
		{ "a text file", text, sizeof text - 1 },
		{ "a short text file", text, 20 },
	};
	uint8_t block[4096];
	char path[TEMPORARY_PATH_SIZE];
	struct outcome outcome;

	(void)state;
	temporary_path(path, "etl");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (cases[i].bytes) {
			temporary_write(path, cases[i].bytes, cases[i].size);
		}
		consume(path, 0, &outcome);
		remove(path);
		assert_false(outcome.opened);
		assert_reported(&outcome, path);
		print_message("  %s: %s\n", cases[i].what, outcome.err.text + strlen(path) + 2);
	}
	for (int i = 0; i < 2; i++) {
		memset(block, i ? 0xff : 0, sizeof block);
		temporary_write(path, block, sizeof block);
		consume(path, 0, &outcome);
		remove(path);
		assert_false(outcome.opened);
		assert_reported(&outcome, path);
	}
	assert_true(system_make_folder(path));
	consume(path, 0, &outcome);
	assert_true(system_remove_folder(path));
	assert_false(outcome.opened);
	assert_reported(&outcome, path);
	assert_non_null(strstr(outcome.err.text, "directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_cut_at_any_byte_is_read_as_far_as_it_goes),
		cmocka_unit_test(a_length_that_is_wrong_is_noticed_or_harmless),
		cmocka_unit_test(any_byte_of_a_packed_recording_may_be_wrong),
		cmocka_unit_test(another_pointer_size_than_the_recording_has_is_harmless),
		cmocka_unit_test(a_file_that_is_no_recording_is_reported_in_one_line),
	};

	return cmocka_run_group_tests_name("robust", tests, build_recordings, free_recordings);
}

/* SPDX-License-Identifier: MIT */
/*
 * Parts of a recording: together they have each of its records once, also at the ends of time and
 * with more buffers than are noted.
 */
#include "etwtool/relog/relog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"
#include "tests/support/each_event.h"
#include "tests/support/temporary.h"

enum { RECORDS_MOST = 2000, PARTS_MOST = 2000, PROCESSORS = 3, MANY = 1 << 20 };

static const struct etw_guid provider = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
					    16 } };

/* ---- a recording whose events have the ids from 0 on ---- */

struct recording {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	uint16_t count;
};

static struct recording begin_recording(int64_t start_raw)
{
	const struct etw_writer_options options = { .processors = PROCESSORS,
						    .buffer_size = 1024,
						    .start_raw = start_raw };
	struct recording recording = { .count = 0 };
	struct etw_error err = { 0 };

	temporary_path(recording.path, "etl");
	recording.writer = etw_writer_open(recording.path, &options, &err);
	assert_non_null(recording.writer);
	return recording;
}

static void add_record(struct recording *recording, int64_t raw_time)
{
	const struct etw_out_record record = {
		.type = ETW_RECORD_EVENT,
		.processor = recording->count % PROCESSORS,
		.raw_time = raw_time,
		.id = recording->count++,
		.provider = &provider,
		.payload = "payload",
		.payload_size = 8,
	};

	assert_true(recording->count <= RECORDS_MOST);
	etw_writer_add(recording->writer, &record);
}

/* ---- its parts ---- */

struct parts {
	unsigned seen[RECORDS_MOST]; /* by id: in so many parts */
	char paths[PARTS_MOST][TEMPORARY_PATH_SIZE + 16];
	unsigned count;
};

static struct parts parts;

static void note_part(void *context, const char *path, const struct etw_mirror_counts *counts)
{
	(void)context;
	assert_true(parts.count < PARTS_MOST);
	assert_true(counts->records > 0);
	snprintf(parts.paths[parts.count++], sizeof parts.paths[0], "%s", path);
}

static void note_record(void *context, const struct seen_event *event)
{
	(void)context;
	if (memcmp(event->record->provider, &provider, sizeof provider) == 0) {
		parts.seen[event->record->id]++;
	}
}

/* Ends a recording, splits it, and looks for its records in the parts. */
static void assert_parts(struct recording *recording, struct split_by by, size_t notes_most)
{
	const struct split_request request = {
		.by = by, .output = recording->path, .notes_most = notes_most, .on_part = note_part
	};
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };
	struct etw_file *file;

	parts = (struct parts){ .count = 0 };
	file = etw_file_open(recording->path, 0, &err);
	assert_non_null(file);
	if (!split_recording(file, &request, &damage, &err)) {
		fail_msg("%s", err.text);
	}
	etw_file_close(file);
	for (unsigned i = 0; i < parts.count; i++) {
		for_each_event(parts.paths[i], note_record, NULL);
		remove(parts.paths[i]);
	}
	for (unsigned i = 0; i < recording->count; i++) {
		if (parts.seen[i] != 1) {
			fail_msg("record %u is in %u of %u parts", i, parts.seen[i], parts.count);
		}
	}
}

static void finish_recording(struct recording *recording)
{
	struct etw_error err = { 0 };

	assert_true(etw_writer_finish(recording->writer, &err));
	etw_writer_close(recording->writer);
}

/* ---- the tests ---- */

/* A millisecond is 10,000 ticks. */
static void times_at_both_ends_of_64_bits_are_in_a_part(void **state)
{
	static const struct {
		int64_t start, times[3];
		unsigned parts;
	} rows[] = {
		{ 0, { 1, 2, INT64_MAX }, 2 },
		{ 0, { INT64_MIN + 1, 1, INT64_MAX - 1 }, 2 },
		{ INT64_MIN + 2, { INT64_MIN + 3, -1, INT64_MAX }, 3 },
		{ INT64_MIN + 2, { INT64_MIN + 3, INT64_MAX - 1, INT64_MAX }, 2 },
		{ INT64_MAX - 5, { INT64_MAX - 5, INT64_MAX - 1, INT64_MAX }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct recording recording = begin_recording(rows[i].start);

		for (size_t j = 0; j < 3; j++) {
			add_record(&recording, rows[i].times[j]);
		}
		finish_recording(&recording);
		assert_parts(&recording, (struct split_by){ .duration_ms = 1 }, MANY);
		assert_int_equal(parts.count, rows[i].parts);
		assert_parts(&recording, (struct split_by){ .size_bytes = 4096 }, MANY);
		remove(recording.path);
	}
}

/* The buffers of processors overlap in time, so a part has some of each. */
static void a_recording_may_have_more_buffers_than_notes(void **state)
{
	static const size_t notes[] = { MANY, 50, 3, 2 };
	static const struct split_by cuts[] = { { .duration_ms = 1 },
						{ .duration_ms = 30 },
						{ .size_bytes = 8192 } };
	struct recording recording = begin_recording(0);
	unsigned counts[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < RECORDS_MOST; i++) {
		add_record(&recording, 1 + (int64_t)i * 1000); /* ten in a millisecond */
	}
	finish_recording(&recording);
	for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
		for (size_t j = 0; j < sizeof cuts / sizeof cuts[0]; j++) {
			assert_parts(&recording, cuts[j], notes[i]);
			counts[j] = i == 0 ? parts.count : counts[j];
			assert_true(parts.count > 1 || notes[i] < 50);
			if (cuts[j].duration_ms > 0) {
				assert_int_equal(parts.count, counts[j]);
			}
		}
	}
	/* 200 ms */
	assert_int_equal(counts[0], 200);
	assert_int_equal(counts[1], 7);
	remove(recording.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_at_both_ends_of_64_bits_are_in_a_part),
		cmocka_unit_test(a_recording_may_have_more_buffers_than_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

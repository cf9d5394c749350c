/* SPDX-License-Identifier: MIT */
/*
 * Recordings of several files. Without a finder of repetitions nothing but the logfile headers of
 * later files is left out; tests/e2e/file_sets.sh has the rest.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/recording.h>

#include "base/os.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"
#include "lib/etl/writer.h"
#include "tests/support/temporary.h"

enum { FILES_MOST = 3, BUFFER_SIZE = 1024 };

/* One file: a number in its name, what its header says, and records of one processor. */
struct part {
	unsigned number;
	uint32_t events_lost;
	int64_t boot_time;
	unsigned records;
	size_t cut;           /* bytes that are missing at its end */
	uint32_t buffer_size; /* 0: BUFFER_SIZE */
	uint16_t processors;
	int64_t end_time;
};

struct set {
	char start[TEMPORARY_PATH_SIZE]; /* of every name */
	char pattern[TEMPORARY_PATH_SIZE + 16];
	char paths[FILES_MOST][TEMPORARY_PATH_SIZE + 16];
};

static void make(struct set *set, const struct part parts[FILES_MOST])
{
	int64_t time = 0;

	temporary_path(set->start, "set");
	snprintf(set->pattern, sizeof set->pattern, "%s_*.etl", set->start);
	for (size_t i = 0; i < FILES_MOST; i++) {
		const struct etw_writer_options options = {
			.buffer_size = parts[i].buffer_size ? parts[i].buffer_size : BUFFER_SIZE,
			.processors = parts[i].processors,
			.end_time = parts[i].end_time,
			.events_lost = parts[i].events_lost,
			.boot_time = parts[i].boot_time,
			.start_raw = time,
		};
		struct etw_error err = { 0 };
		struct etw_writer *writer = etw_writer_open(NULL, &options, &err);
		const uint8_t *bytes;
		size_t size;

		assert_non_null(writer);
		for (unsigned j = 0; j < parts[i].records; j++) {
			etw_writer_add(writer,
				       &(struct etw_out_record){ .type = ETW_RECORD_PERFINFO,
								 .opcode = (uint8_t)i,
								 .raw_time = ++time });
		}
		assert_true(etw_writer_finish(writer, &err));
		bytes = etl_writer_bytes(writer, &size);
		snprintf(set->paths[i], sizeof set->paths[i], "%s_%u.etl", set->start,
			 parts[i].number);
		temporary_write(set->paths[i], bytes, size - parts[i].cut);
		etw_writer_close(writer);
	}
}

static void remove_files(const struct set *set)
{
	for (size_t i = 0; i < FILES_MOST; i++) {
		os_file_remove(set->paths[i], NULL);
	}
}

struct found {
	unsigned headers;
	unsigned records[FILES_MOST]; /* by file */
	int64_t last;
};

static void on_record(void *context, const struct etw_record *record)
{
	struct found *found = context;

	if (record->type == ETW_RECORD_SYSTEM) {
		found->headers++;
		return;
	}
	assert_true(record->raw_time >= found->last);
	found->last = record->raw_time;
	found->records[record->opcode]++;
}

static void read_all(struct etw_file *file, struct found *found, struct etw_damage *damage)
{
	struct etl_index index = { .entries_max = ETL_INDEX_MAX, .keep_bytes = ETL_KEEP_MAX };
	struct etw_visitor visitor = { .record_context = found, .on_record = on_record };
	struct etl_progress progress = { 0 };
	const struct etw_visitor none = { 0 };
	struct etw_error err = { 0 };

	*found = (struct found){ 0 };
	assert_true(etl_index_build(&index, file, damage, &none, &err));
	assert_true(etl_order_run(file, &index, ETL_OPEN_MAX, &progress, &visitor, &err));
	assert_true(progress.records ==
		    found->headers + found->records[0] + found->records[1] + found->records[2]);
	etl_index_done(&index);
}

static void files_are_one_recording_in_the_order_of_their_numbers(void **state)
{
	static const struct part parts[FILES_MOST] = { { .number = 1, .records = 200 },
						       { .number = 2, .records = 300 },
						       { .number = 10, .records = 100 } };
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };
	struct etw_file *file;
	struct found found;
	struct set set;

	(void)state;
	make(&set, parts);
	file = etw_file_open(set.pattern, 0, &err);
	assert_non_null(file);
	read_all(file, &found, &damage);
	assert_int_equal(found.headers, 1);
	assert_int_equal(found.records[0], 200);
	assert_int_equal(found.records[1], 300);
	assert_int_equal(found.records[2], 100);
	assert_false(damage.truncated);
	assert_int_equal(file->part_count, 3);
	assert_string_equal(file->parts[2].path, set.paths[2]);
	assert_string_equal(file->set_doubt, "numbers of the set are missing: 3 to 9");
	etw_file_close(file);
	remove_files(&set);
}

static void what_is_cut_off_a_file_costs_the_others_nothing(void **state)
{
	/* 16 bytes a record, 59 of them in a buffer behind its header of 72 bytes. */
	static const struct part parts[FILES_MOST] = {
		{ .number = 1, .records = 59 * 2 },
		{ .number = 2, .records = 59 * 2, .cut = 1020 },
		{ .number = 3, .records = 59 }
	};
	struct etw_damage damage = { 0 };
	struct etw_error err = { 0 };
	struct etw_file *file;
	struct found found;
	struct set set;

	(void)state;
	make(&set, parts);
	file = etw_file_open(set.pattern, 0, &err);
	assert_non_null(file);
	read_all(file, &found, &damage);
	assert_true(damage.truncated);
	assert_int_equal(found.records[0], 59 * 2);
	assert_int_equal(found.records[1], 59);
	assert_int_equal(found.records[2], 59);
	assert_null(file->set_doubt);
	etw_file_close(file);
	remove_files(&set);
}

/* Losses that never fall are taken as those of the session so far. */
static void a_damaged_header_at_the_end_of_a_file_costs_the_next_one_nothing(void **state)
{
	static const struct part parts[FILES_MOST] = { { .number = 1, .records = 59 * 3 },
						       { .number = 2, .records = 59 * 3 },
						       { .number = 3, .records = 59 } };
	static const uint64_t sizes[] = { 0, BUFFER_SIZE * 3, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct etw_damage damage = { 0 };
		struct etw_error err = { 0 };
		struct etw_file *file;
		struct found found;
		struct set set;

		make(&set, parts);
		temporary_patch(set.paths[0], BUFFER_SIZE * 3, sizes[i], 4);
		temporary_patch(set.paths[1], BUFFER_SIZE, sizes[i], 4);
		file = etw_file_open(set.pattern, 0, &err);
		assert_non_null(file);
		read_all(file, &found, &damage);
		/* Three buffers long, the last one could be cut as well; then its data is used. */
		assert_int_equal(damage.truncated, sizes[i] == BUFFER_SIZE * 3);
		assert_int_equal(found.records[0], 59 * (damage.truncated ? 3 : 2));
		assert_int_equal(found.records[1], 59 * 2);
		assert_int_equal(found.records[2], 59);
		assert_int_equal(damage.bad_bytes, BUFFER_SIZE * (damage.truncated ? 1 : 2));
		etw_file_close(file);
		remove_files(&set);
	}
}

static void losses_are_those_of_all_files(void **state)
{
	static const struct {
		uint32_t lost[FILES_MOST];
		uint32_t all;
	} cases[] = { { { 1, 5, 5 }, 5 }, { { 7, 0, 2 }, 9 }, { { 0, 0, 0 }, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct part parts[FILES_MOST] = {
			{ .number = 1, .events_lost = cases[i].lost[0] },
			{ .number = 2, .events_lost = cases[i].lost[1] },
			{ .number = 3, .events_lost = cases[i].lost[2] },
		};
		struct etw_error err = { 0 };
		struct etw_file *file;
		struct set set;

		make(&set, parts);
		file = etw_file_open(set.pattern, 0, &err);
		assert_non_null(file);
		assert_int_equal(file->header.events_lost, cases[i].all);
		assert_int_equal(file->parts[1].events_lost, cases[i].lost[1]);
		assert_int_equal(file->header.buffers_written, 3);
		etw_file_close(file);
		remove_files(&set);
	}
}

/* The bounds are those of the largest file, and the end is that of the last one. */
static void the_header_of_a_set_is_true_of_all_files(void **state)
{
	enum { END = 2000000000 };
	static const struct part parts[FILES_MOST] = {
		{ .number = 1, .records = 10, .processors = 2, .end_time = END + 1 },
		{ .number = 2,
		  .records = 1000,
		  .processors = 6,
		  .buffer_size = 8 * BUFFER_SIZE,
		  .end_time = END + 2 },
		{ .number = 3, .records = 10, .processors = 4, .end_time = END + 3 },
	};
	struct etw_error err = { 0 };
	struct etw_damage damage = { 0 };
	struct etw_file *file;
	struct found found;
	struct set set;

	(void)state;
	make(&set, parts);
	file = etw_file_open(set.pattern, 0, &err);
	assert_non_null(file);
	assert_int_equal(file->header.buffer_size_bytes, 8 * BUFFER_SIZE);
	assert_int_equal(file->header.processors, 6);
	assert_true(file->header.end_time == END + 3);
	read_all(file, &found, &damage);
	assert_int_equal(found.records[0], 10);
	assert_int_equal(found.records[1], 1000);
	assert_int_equal(found.records[2], 10);
	assert_true(damage.bad_buffers == 0 && damage.bad_records == 0);
	etw_file_close(file);
	remove_files(&set);
}

static void files_that_do_not_belong_together_are_refused(void **state)
{
	static const struct part parts[FILES_MOST] = { { .number = 1 },
						       { .number = 2, .boot_time = 1000 },
						       { .number = 3 } };
	struct etw_error err = { 0 };
	char text[512];
	struct set set;

	(void)state;
	make(&set, parts);
	assert_null(etw_file_open(set.pattern, 0, &err));
	snprintf(text, sizeof text, "%s: does not belong to %s: it is of another machine",
		 set.paths[1], set.paths[0]);
	assert_true(strncmp(err.text, text, strlen(text)) == 0);
	remove_files(&set);
}

static void one_star_in_the_last_component_is_a_number(void **state)
{
	static const struct part parts[FILES_MOST] = { { .number = 1 },
						       { .number = 2 },
						       { .number = 3 } };
	struct etw_file_set found;
	struct etw_error err = { 0 };
	char path[TEMPORARY_PATH_SIZE + 32];
	struct set set;

	(void)state;
	make(&set, parts);
	assert_true(etw_file_set_find(&found, set.paths[0], &err));
	assert_int_equal(found.count, 0);
	snprintf(path, sizeof path, "%s*_*.etl", set.start);
	assert_true(etw_file_set_find(&found, path, &err));
	assert_int_equal(found.count, 0);
	snprintf(path, sizeof path, "%s*.etl", set.start); /* "_1" is no number */
	assert_true(etw_file_set_find(&found, path, &err));
	assert_int_equal(found.count, 0);
	snprintf(path, sizeof path, "./%s_*.etl", set.start);
	assert_true(etw_file_set_find(&found, path, &err));
	assert_int_equal(found.count, 3);
	etw_file_set_done(&found);
	snprintf(path, sizeof path, "%s_02.etl", set.start);
	temporary_write(path, "", 0);
	assert_false(etw_file_set_find(&found, set.pattern, &err));
	assert_non_null(strstr(err.text, " has the same number as "));
	os_file_remove(path, NULL);
	remove_files(&set);
}

/* The shells of Windows do not put the files in the place of a pattern. */
static void a_pattern_stands_for_the_files_that_match_by_name(void **state)
{
	static const struct part parts[FILES_MOST] = { { .number = 3 },
						       { .number = 1 },
						       { .number = 22 } };
	static const struct {
		const char *end;
		size_t count;
		size_t files[FILES_MOST];
	} cases[] = {
		{ "_*.etl", 3, { 1, 2, 0 } }, { "_?.ETL", 2, { 1, 0 } },
		{ "*2.et?", 1, { 2 } },       { "_1.etl", 0, { 0 } }, /* a name, not a pattern */
		{ ".zip:*.etl", 0, { 0 } },                           /* of an archive */
	};
	struct etw_file_set found;
	struct etw_error err = { 0 };
	char path[TEMPORARY_PATH_SIZE + 32];
	struct set set;

	(void)state;
	make(&set, parts);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(path, sizeof path, "%s%s", set.start, cases[i].end);
		assert_true(etw_file_set_match(&found, path, &err));
		assert_int_equal(found.count, cases[i].count);
		for (size_t j = 0; j < found.count; j++) {
			assert_string_equal(found.files[j].path, set.paths[cases[i].files[j]]);
		}
		etw_file_set_done(&found);
	}
	snprintf(path, sizeof path, "%s_*4.etl", set.start);
	assert_false(etw_file_set_match(&found, path, &err));
	assert_non_null(strstr(err.text, "_*4.etl: no file has such a name"));
	remove_files(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_one_recording_in_the_order_of_their_numbers),
		cmocka_unit_test(what_is_cut_off_a_file_costs_the_others_nothing),
		cmocka_unit_test(a_damaged_header_at_the_end_of_a_file_costs_the_next_one_nothing),
		cmocka_unit_test(losses_are_those_of_all_files),
		cmocka_unit_test(the_header_of_a_set_is_true_of_all_files),
		cmocka_unit_test(files_that_do_not_belong_together_are_refused),
		cmocka_unit_test(one_star_in_the_last_component_is_a_number),
		cmocka_unit_test(a_pattern_stands_for_the_files_that_match_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Damaged recordings through the whole flow, with every collector on: nothing crashes, and every
 * record that the reader delivers is counted exactly once.
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
#include "exporter/pipeline.h"
#include "metrics/registry.h"
#include "tests/support/every_class.h"
#include "tests/support/exact_copy.h"
#include "tests/support/in_memory.h"
#include "tests/support/page_oracle.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"
#include "tests/support/thorough.h"

static struct {
	struct program program; /* its set-up alone */
	struct shard *shard;
	uint64_t records; /* delivered by all recordings so far */
	uint64_t runs;
} all;

static int wire_everything(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	program_set_up(&all.program, NULL, &(struct setup_options){ .every_collector = true });
	all.shard = registry_shard(all.program.setup.registry, false, &err);
	assert_non_null(all.shard);
	return 0;
}

static int unwire(void **state)
{
	(void)state;
	program_close(&all.program);
	return 0;
}

static void run(const char *path)
{
	const struct etw_source_file_options file = { 0 };
	struct pipeline_options options = { .setup = &all.program.setup,
					    .session = "damaged",
					    .shard = all.shard };
	struct etw_source_statistics statistics;
	struct etw_error err = { 0 };
	struct pipeline *pipeline;

	options.source = etw_source_open_file(path, &file, &err);
	if (!options.source) {
		return; /* test_robust looks at what is said then */
	}
	pipeline = pipeline_new(&options, &err);
	assert_non_null(pipeline);
	assert_true(pipeline_run(pipeline, &err));
	etw_source_statistics(options.source, &statistics);
	all.records += statistics.records;
	all.runs++;
	pipeline_free(pipeline);
	etw_source_close(options.source);
}

/* What all recordings so far delivered stands on the page, counted under any outcome. */
static void assert_all_counted(void)
{
	struct etw_text page = program_page(&all.program);

	const char *line;
	const char *fault = page_fault(page.data, page.size, &line);

	if (fault) {
		fail_msg("%s: %.200s", fault, line);
	}
	assert_true(all.records > 0);
	assert_true(page_value(&page, "etw_events_total") == all.records);
	assert_true(page_value(&page, "etw_provider_events_total") == all.records);
	assert_true(page_value(&page, "etw_consumer_records_total") == all.records);
	print_message("  %llu recordings, %llu records\n", (unsigned long long)all.runs,
		      (unsigned long long)all.records);
	text_free(&page);
}

struct recording {
	char path[TEMPORARY_PATH_SIZE];
	uint8_t *bytes; /* owned */
	size_t size;
};

static struct recording make_recording(uint8_t pointer_size, bool compressed)
{
	const struct etw_writer_options options =
		every_class_options(pointer_size, ETW_CLOCK_QPC, compressed);
	struct etw_writer *writer = open_in_memory(&options);
	struct recording recording;
	const uint8_t *bytes;

	every_class_add(writer, pointer_size);
	bytes = finish_in_memory(writer, &recording.size);
	recording.bytes = exact_copy(bytes, recording.size);
	etw_writer_close(writer);
	temporary_path(recording.path, "etl");
	temporary_write(recording.path, recording.bytes, recording.size);
	return recording;
}

static void remove_recording(struct recording *recording)
{
	remove(recording->path);
	free(recording->bytes);
}

/* A recording is damaged at each place, or at each fifth: odd, so that all bytes of a field have
 * their turn. */
static size_t places_apart(void)
{
	return is_thorough() ? 1 : 5;
}

static void a_cut_recording_is_counted_as_far_as_it_goes(void **state)
{
	const size_t apart = 3 * places_apart();

	(void)state;
	for (unsigned form = 0; form < 3; form++) {
		struct recording recording = make_recording(form == 1 ? 4 : 8, form == 2);

		run(recording.path);
		for (size_t size = recording.size; size-- > 0;) {
			assert_int_equal(truncate(recording.path, (off_t)size), 0);
			if (size % apart == form) {
				run(recording.path);
			}
		}
		remove_recording(&recording);
	}
	assert_all_counted();
}

static void wrong_words_anywhere_are_harmless(void **state)
{
	static const uint16_t words[] = { 0, 0xffff, 0x7fff, 0x0101 };
	const size_t apart = 2 * places_apart();

	(void)state;
	for (unsigned form = 0; form < 3; form++) {
		struct recording recording = make_recording(form == 1 ? 4 : 8, form == 2);

		for (size_t at = 0; at + 2 <= recording.size; at += apart) {
			uint16_t right = etw_load_u16(recording.bytes + at);

			if (etw_load_u32(recording.bytes + (at & ~(size_t)3)) == UINT32_MAX) {
				continue; /* filler between buffers */
			}
			temporary_patch(recording.path, at, words[(at / 2 + form) % 4], 2);
			run(recording.path);
			temporary_patch(recording.path, at, right, 2);
		}
		remove_recording(&recording);
	}
	assert_all_counted();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_recording_is_counted_as_far_as_it_goes),
		cmocka_unit_test(wrong_words_anywhere_are_harmless),
	};

	return cmocka_run_group_tests_name("robust_pipeline", tests, wire_everything, unwire);
}

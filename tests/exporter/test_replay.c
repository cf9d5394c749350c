/* SPDX-License-Identifier: MIT */
/*
 * Recordings through the whole flow: what is counted, under which names, and what several files and
 * loops make of it.
 */
#include "exporter/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/program.h"
#include "tests/support/small_recording.h"
#include "tests/support/temporary.h"

enum { ROUNDS = 1000 };

#define KERNEL ",provider=\"Windows Kernel\""

static char path[TEMPORARY_PATH_SIZE];
static uint64_t records;

static int make_recording(void **state)
{
	(void)state;
	temporary_path(path, "etl");
	records = small_recording(path, ROUNDS);
	return 0;
}

static int remove_recording(void **state)
{
	(void)state;
	return remove(path);
}

static void run(struct program *program)
{
	struct etw_error err = { 0 };

	assert_true(runner_run(program->runner, &err));
	assert_string_equal(err.text, "");
}

static void each_record_is_counted_once_and_has_one_outcome(void **state)
{
	const char *const paths[] = { path };
	struct program program;
	struct etw_text page;

	(void)state;
	program_open(&program, paths, 1, false);
	run(&program);
	page = program_page(&program);
	assert_int_equal(page_value(&page, "etw_events_total"), records);
	assert_int_equal(page_value(&page, "etw_provider_events_total"), records);
	assert_int_equal(page_value(&page, "etw_consumer_events_total"), records);
	assert_int_equal(page_value(&page, "etw_consumer_records_total"), records);
	text_free(&page);
	program_close(&program);
}

static void bytes_count_for_the_process_that_caused_them(void **state)
{
	const char *const paths[] = { path };
	struct program program;
	struct etw_text page;

	(void)state;
	program_open(&program, paths, 1, false);
	run(&program);
	page = program_page(&program);
	assert_int_equal(page_value(&page, "etw_file_written_bytes_total{process=\"alpha\"" KERNEL
					   ",volume=\"HarddiskVolume3\"}"),
			 ROUNDS * SMALL_WRITE_BYTES);
	/* Only the rundown at the end names beta: the first pass has read it. */
	assert_int_equal(page_value(&page,
				    "etw_disk_process_read_bytes_total{process=\"beta\"" KERNEL
				    ",disk=\"0\"}"),
			 ROUNDS * SMALL_READ_BYTES);
	assert_int_equal(page_value(&page, "etw_process_exits_total{process=\"gamma\"" KERNEL
					   ",result=\"success\"}"),
			 1);
	assert_int_equal(page_value(&page, "etw_process_instances{process=\"alpha\"" KERNEL "}"),
			 1);
	assert_int_equal(page_value(&page, "etw_process_instances{process=\"beta\"" KERNEL "}"), 1);
	assert_int_equal(page_value(&page, "etw_process_instances{process=\"gamma\"" KERNEL "}"),
			 0);
	text_free(&page);
	program_close(&program);
}

static void a_second_recording_of_the_same_name_has_another_label(void **state)
{
	const char *const paths[] = { path, path };
	const char *name = strrchr(path, '/') + 1;
	char line[256];
	struct program program;
	struct etw_text page;

	(void)state;
	program_open(&program, paths, 2, false);
	run(&program);
	page = program_page(&program);
	snprintf(line, sizeof line, "etw_session_events_lost_total{session=\"%s\"}", name);
	assert_int_equal(page_value(&page, line), SMALL_LOST_EVENTS);
	snprintf(line, sizeof line, "etw_session_events_lost_total{session=\"%s#2\"}", name);
	assert_int_equal(page_value(&page, line), SMALL_LOST_EVENTS);
	assert_int_equal(page_value(&page, "etw_events_total"), 2 * records);
	/* The second recording is a machine of its own: its processes do not stand beside those of
	 * the first. */
	assert_int_equal(page_value(&page, "etw_process_instances"), 2);
	assert_int_equal(page_value(&page, "etw_replay_finished"), 1);
	assert_int_equal(page_value(&page, "etw_replay_progress_ratio"), 1);
	text_free(&page);
	program_close(&program);
}

static void without_a_pass_nothing_is_counted_or_lost_yet(void **state)
{
	const char *const paths[] = { path };
	struct program program;
	struct etw_text page;

	(void)state;
	program_open(&program, paths, 1, false);
	page = program_page(&program);
	assert_false(runner_ready(program.runner));
	assert_int_equal(page_value(&page, "etw_session_events_lost_total"), 0);
	assert_int_equal(page_value(&page, "etw_session_up"), 0);
	assert_int_equal(page_value(&page, "etw_replay_finished"), 0);
	text_free(&page);
	program_close(&program);
}

/* Waits on what is counted, not on the clock, until the recording has been passed over so many
 * times. */
static uint64_t wait_for_passes(struct program *program, unsigned passes)
{
	for (;;) {
		struct etw_text page = program_page(program);
		uint64_t events = page_value(&page, "etw_events_total");

		text_free(&page);
		if (events != UINT64_MAX && events >= passes * records) {
			return events;
		}
	}
}

static void a_loop_goes_on_counting_and_adds_losses_once(void **state)
{
	const char *const paths[] = { path };
	struct program program;
	struct etw_text page;
	uint64_t buffers, passes;

	(void)state;
	program_open(&program, paths, 1, false);
	run(&program);
	page = program_page(&program);
	buffers = page_value(&page, "etw_consumer_buffers_total");
	assert_true(buffers > 0);
	text_free(&page);
	program_close(&program);

	program_open(&program, paths, 1, true);
	assert_true(runner_start(program.runner, NULL));
	assert_true(wait_for_passes(&program, 3) >= 3 * records);
	assert_true(runner_ready(program.runner));
	runner_stop(program.runner);
	runner_join(program.runner);
	page = program_page(&program);
	assert_int_equal(page_value(&page, "etw_session_events_lost_total"), SMALL_LOST_EVENTS);
	assert_int_equal(page_value(&page, "etw_consumer_records_total"),
			 page_value(&page, "etw_events_total"));
	passes = page_value(&page, "etw_events_total") / records;
	assert_in_range(page_value(&page, "etw_consumer_buffers_total"), passes * buffers,
			(passes + 1) * buffers);
	assert_int_equal(page_value(&page, "etw_replay_finished"), 0);
	text_free(&page);
	program_close(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_counted_once_and_has_one_outcome),
		cmocka_unit_test(bytes_count_for_the_process_that_caused_them),
		cmocka_unit_test(a_second_recording_of_the_same_name_has_another_label),
		cmocka_unit_test(without_a_pass_nothing_is_counted_or_lost_yet),
		cmocka_unit_test(a_loop_goes_on_counting_and_adds_losses_once),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}

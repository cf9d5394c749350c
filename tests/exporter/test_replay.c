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

#include "lib/etl/writer.h"
#include "tests/support/kernel_events.h"
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

/* ---- gauges at the edge between two passes ---- */

enum { SECOND = 10000000 }; /* ticks of the recordings that the tests write */

static void process_at(struct kernel_events *k, int64_t time, enum lifetime_opcode opcode,
		       uint32_t id, const char *image)
{
	kernel_events_at(k, 0, time, 4, 8);
	event_process(k, opcode,
		      &(struct kernel_process){ .id = id, .image = image, .command_line = image });
}

/* alpha.exe runs from the rundown on. gamma.exe starts 20 seconds later and runs at the end. */
static void record_edge(const char *file)
{
	const struct etw_writer_options options = { .processors = 1, .buffer_size = 4096 };
	struct etw_writer *writer = etw_writer_open(file, &options, NULL);
	struct kernel_events k;

	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	process_at(&k, 1000, OP_DC_START, 100, "alpha.exe");
	process_at(&k, 10 * SECOND, OP_START, 200, "short.exe");
	process_at(&k, 11 * SECOND, OP_STOP, 200, "short.exe");
	process_at(&k, 20 * SECOND, OP_START, 300, "gamma.exe");
	process_at(&k, 21 * SECOND, OP_START, 400, "short.exe");
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
}

#define GAMMA_RUNS "etw_process_instances{process=\"gamma\"" KERNEL "}"

/* What scrapes see, and when. */
struct edge {
	struct program program;
	unsigned passes;
	int64_t first;                        /* time of the first record of each pass */
	uint64_t fewest;                      /* processes on a page, after the first with any */
	uint64_t gamma_at_start, gamma_later; /* of gamma.exe, in the second pass */
};

static uint64_t scrape(struct edge *edge, const char *name)
{
	struct etw_text page = program_page(&edge->program);
	uint64_t value = page_value(&page, name);
	uint64_t running = page_value(&page, "etw_process_instances");

	text_free(&page);
	if (running < edge->fewest && (running > 0 || edge->fewest != UINT64_MAX)) {
		edge->fewest = running;
	}
	return value;
}

/* Runs in both passes over the file, so also before anything of a pass is counted. */
static void on_edge_buffer(void *context)
{
	scrape(context, GAMMA_RUNS);
}

static void on_edge_record(void *context, const struct etw_record *record,
			   const struct etw_event_class *class, struct tracker *tracker)
{
	(void)context;
	(void)record;
	(void)class;
	(void)tracker;
}

static void on_edge_time(void *context, int64_t time)
{
	struct edge *edge = context;
	uint64_t gamma = scrape(edge, GAMMA_RUNS);

	if (edge->first == 0) {
		edge->first = time;
	} else if (time == edge->first) {
		edge->passes++;
		edge->gamma_at_start = gamma;
		if (edge->passes == 2) {
			runner_stop(edge->program.runner);
		}
	} else if (edge->passes == 1 && time < edge->first + 12 * SECOND) {
		edge->gamma_later = gamma;
	}
}

static void gauges_stay_until_the_next_pass_of_a_loop_has_read_its_rundown(void **state)
{
	static struct edge edge;
	const struct pipeline_observer observer = {
		.context = &edge,
		.on_record = on_edge_record,
		.on_buffer = on_edge_buffer,
	};
	const char *const paths[] = { path };
	struct runner_options options = {
		.paths = paths,
		.path_count = 1,
		.loop = true,
		.observer = &observer,
		.on_time = on_edge_time,
		.time_context = &edge,
	};
	struct etw_error err = { 0 };

	(void)state;
	edge = (struct edge){ .fewest = UINT64_MAX };
	record_edge(path);
	program_set_up(&edge.program, NULL, &(struct setup_options){ .no_manifests = true });
	program_run(&edge.program, options);
	assert_true(runner_run(edge.program.runner, &err));
	program_close(&edge.program);
	assert_int_equal(edge.passes, 2);
	assert_int_equal(edge.fewest, 1);         /* alpha.exe */
	assert_int_equal(edge.gamma_at_start, 1); /* as at the end of the pass before */
	assert_int_equal(edge.gamma_later, 0);    /* it has not started in this pass */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_counted_once_and_has_one_outcome),
		cmocka_unit_test(bytes_count_for_the_process_that_caused_them),
		cmocka_unit_test(a_second_recording_of_the_same_name_has_another_label),
		cmocka_unit_test(without_a_pass_nothing_is_counted_or_lost_yet),
		cmocka_unit_test(a_loop_goes_on_counting_and_adds_losses_once),
		cmocka_unit_test(gauges_stay_until_the_next_pass_of_a_loop_has_read_its_rundown),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}

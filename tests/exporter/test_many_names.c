/* SPDX-License-Identifier: MIT */
/*
 * More names of programs than a family has room for, through the whole flow: those that are over
 * make room for those that come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/recording.h>

#include "exporter/pipeline.h"
#include "exporter/runner.h"
#include "metrics/registry.h"
#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define KERNEL  ",provider=\"Windows Kernel\""
#define SECOND  INT64_C(10000000) /* ticks of the recordings */
#define MINUTE  (60 * SECOND)
#define WRITTEN "etw_file_written_bytes_total"

enum { LIMIT = 2000, WRITE_SIZE = 64 << 10 };

struct making {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	struct kernel_events k;
	int64_t now;
};

static void begin(struct making *making)
{
	const struct etw_writer_options options = { 0 };
	struct etw_error err = { 0 };

	temporary_path(making->path, "etl");
	making->writer = etw_writer_open(making->path, &options, &err);
	assert_non_null(making->writer);
	kernel_events_init(&making->k, making->writer, 8);
	making->now = SECOND;
}

static void end(struct making *making)
{
	struct etw_error err = { 0 };

	kernel_events_done(&making->k);
	assert_true(etw_writer_finish(making->writer, &err));
	etw_writer_close(making->writer);
}

static void start(struct making *making, uint32_t process_id, const char *image)
{
	const struct kernel_process process = {
		.id = process_id, .parent_id = 4, .image = image, .command_line = image
	};
	const struct kernel_thread thread = { .process_id = process_id, .id = process_id + 1 };

	kernel_events_at(&making->k, 0, making->now, process_id, process_id + 1);
	event_process(&making->k, OP_START, &process);
	event_thread(&making->k, OP_START, &thread);
}

static void stop(struct making *making, uint32_t process_id, const char *image)
{
	const struct kernel_process process = {
		.id = process_id, .parent_id = 4, .image = image, .command_line = image
	};
	const struct kernel_thread thread = { .process_id = process_id, .id = process_id + 1 };

	kernel_events_at(&making->k, 0, making->now, process_id, process_id + 1);
	event_thread(&making->k, OP_STOP, &thread);
	event_process(&making->k, OP_STOP, &process);
}

static void write_file(struct making *making, uint32_t process_id, uint32_t size)
{
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = process_id + 1
	};

	kernel_events_at(&making->k, 0, making->now, process_id, process_id + 1);
	event_file_transfer(&making->k, OP_FILE_WRITE, &file, 0, size, FILE_IO_CACHED_WRITE);
}

/* A program that writes a byte and ends after a tenth of a second. */
static void run_once(struct making *making, const char *image)
{
	start(making, 1000, image);
	making->now += SECOND / 20;
	write_file(making, 1000, 1);
	making->now += SECOND / 20;
	stop(making, 1000, image);
}

static void run_odd_programs(struct making *making, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char image[32];

		snprintf(image, sizeof image, "odd%u.exe", i);
		run_once(making, image);
	}
}

static struct etw_text replay(const struct making *making, const char *config, bool single_pass)
{
	return program_replay(making->path, config, &(struct setup_options){ .no_manifests = true },
			      (struct runner_options){ .file = { .single_pass = single_pass } });
}

/* 2,010 programs run once; 15 minutes later a service starts and writes 1 GiB. */
static void after_2010_odd_programs_a_service_has_its_own_series(void **state)
{
	enum { SERVICE = 5000, WRITES = (1 << 30) / WRITE_SIZE, ODD = LIMIT + 10 };
	struct making making;
	struct etw_text page;
	uint64_t evicted;

	(void)state;
	begin(&making);
	run_odd_programs(&making, ODD);
	making.now += 15 * MINUTE;
	start(&making, SERVICE, "sqlservr.exe");
	for (unsigned i = 0; i < WRITES; i++) {
		making.now += SECOND / 1000;
		write_file(&making, SERVICE, WRITE_SIZE);
	}
	end(&making);
	page = replay(&making, NULL, false);
	assert_int_equal(page_value(&page,
				    WRITTEN "{process=\"sqlservr\"" KERNEL ",volume=\"_unknown\"}"),
			 1 << 30);
	assert_int_equal(page_value(&page,
				    WRITTEN "{process=\"_other\"" KERNEL ",volume=\"_other\"}"),
			 UINT64_MAX);
	evicted = page_value(&page, "etw_exporter_series_evicted_total{metric=\"" WRITTEN "\"}");
	assert_int_equal(evicted, LIMIT / 8);
	text_free(&page);
}

/* What ended within the last minute stays, so that it has been scraped: there is no room yet. */
static void programs_that_have_just_ended_keep_their_series(void **state)
{
	enum { ROOM = 300 };
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making);
	run_odd_programs(&making, ROOM + 10);
	making.now += 20 * SECOND;
	start(&making, 5000, "sqlservr.exe");
	write_file(&making, 5000, WRITE_SIZE);
	end(&making);
	page = replay(&making, "limits: { series_per_family: 300 }\n", false);
	assert_int_equal(page_value(&page, "etw_exporter_series_evicted_total"), UINT64_MAX);
	assert_in_range(page_value(&page,
				   WRITTEN "{process=\"_other\"" KERNEL ",volume=\"_other\"}"),
			WRITE_SIZE, WRITE_SIZE + 11);
	text_free(&page);
}

/* Ten new names each second for an hour. Then a program that lives longer than a minute writes 1
 * GiB, and the names go on. */
static void names_that_are_renewed_do_not_hide_a_program_that_lives_on(void **state)
{
	enum { SERVICE = 5000, HOUR = 36000, AFTER = 1200, WRITES = (1 << 30) / WRITE_SIZE };
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making);
	for (unsigned i = 0; i < HOUR + AFTER; i++) {
		char image[32];

		snprintf(image, sizeof image, "odd%u.exe", i);
		run_once(&making, image);
		if (i == HOUR) {
			start(&making, SERVICE, "sqlservr.exe");
		}
		for (unsigned w = 0; i >= HOUR && w < (WRITES + AFTER - 1) / AFTER; w++) {
			write_file(&making, SERVICE, WRITE_SIZE);
		}
	}
	end(&making);
	page = replay(&making, NULL, false);
	assert_in_range(page_value(&page,
				   WRITTEN "{process=\"sqlservr\"" KERNEL ",volume=\"_unknown\"}"),
			1 << 30, (1 << 30) + AFTER * WRITE_SIZE);
	text_free(&page);
}

/* A service that runs, but writes nothing for an hour, while other programs come and go. */
static void a_quiet_service_keeps_its_series(void **state)
{
	enum { SERVICE = 5000 };
	struct making making;
	struct etw_text page;

	(void)state;
	begin(&making);
	start(&making, SERVICE, "sqlservr.exe");
	write_file(&making, SERVICE, 17);
	for (unsigned i = 0; i < 4; i++) {
		char image[32];

		making.now += 15 * MINUTE;
		for (unsigned j = 0; j < LIMIT / 8; j++) {
			snprintf(image, sizeof image, "odd%u-%u.exe", i, j);
			run_once(&making, image);
		}
	}
	making.now += MINUTE;
	write_file(&making, SERVICE, 4);
	end(&making);
	page = replay(&making, "limits: { series_per_family: 300 }\n", false);
	assert_int_equal(page_value(&page,
				    WRITTEN "{process=\"sqlservr\"" KERNEL ",volume=\"_unknown\"}"),
			 21);
	assert_in_range(page_value(&page,
				   "etw_exporter_series_evicted_total{metric=\"" WRITTEN "\"}"),
			1, LIMIT);
	text_free(&page);
}

static void count_call(void *context)
{
	++*(unsigned *)context;
}

static void forget_nothing(void *context)
{
	(void)context;
}

/* Half a minute of writes, in dozens of buffers, while the series of their programs fill more than
 * half of their families. */
static void label_sets_are_examined_each_ten_seconds_and_not_at_each_buffer(void **state)
{
	enum { PROGRAMS = 30, WRITES = 30000 };
	const struct etw_source_file_options file = { 0 };
	struct program program;
	struct pipeline_options options = { .setup = &program.setup, .session = "many" };
	struct etw_source_statistics statistics;
	struct etw_error err = { 0 };
	struct pipeline *pipeline;
	struct making making;
	unsigned calls = 0;

	(void)state;
	begin(&making);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		char image[32];

		snprintf(image, sizeof image, "program%u.exe", (unsigned)i);
		start(&making, 1000 + 4 * i, image);
	}
	for (uint32_t i = 0; i < WRITES; i++) {
		making.now = SECOND + (int64_t)i * 25 * SECOND / WRITES;
		write_file(&making, 1000 + 4 * (i % PROGRAMS), 1);
	}
	end(&making);
	program_set_up(&program, "limits: { series_per_family: 50 }\n",
		       &(struct setup_options){ .no_manifests = true });
	options.shard = registry_shard(program.setup.registry, false, &err);
	options.source = etw_source_open_file(making.path, &file, &err);
	assert_non_null(options.shard);
	assert_non_null(options.source);
	pipeline = pipeline_new(&options, &err);
	assert_non_null(pipeline);
	shard_attend(options.shard, &(struct shard_owner){ .context = &calls,
							   .forget_cells = forget_nothing,
							   .report_alive = count_call });
	assert_true(pipeline_run(pipeline, &err));
	etw_source_statistics(options.source, &statistics);
	assert_true(statistics.buffers > 12);
	assert_int_equal(calls, 2); /* after 10 and 20 seconds */
	pipeline_free(pipeline);
	etw_source_close(options.source);
	program_close(&program);
	remove(making.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_2010_odd_programs_a_service_has_its_own_series),
		cmocka_unit_test(programs_that_have_just_ended_keep_their_series),
		cmocka_unit_test(names_that_are_renewed_do_not_hide_a_program_that_lives_on),
		cmocka_unit_test(a_quiet_service_keeps_its_series),
		cmocka_unit_test(label_sets_are_examined_each_ten_seconds_and_not_at_each_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

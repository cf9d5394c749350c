/* SPDX-License-Identifier: MIT */
#include "tests/lib/live/support/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"

void take_page(struct side *side)
{
	text_free(&side->page);
	side->page = program_page(&side->program);
}

void open_side(struct side *side, const char *config)
{
	memset(side, 0, sizeof *side);
	program_set_up(&side->program, config, &(struct setup_options){ .every_collector = true });
}

void close_side(struct side *side)
{
	program_close(&side->program);
	text_free(&side->page);
}

static void open_runner(struct side *side, struct runner_options options)
{
	program_run(&side->program, options);
	side->runner = side->program.runner;
}

static void open_watched(struct side *side, uint32_t watch_ms)
{
	struct etw_error err = { 0 };

	open_runner(side, (struct runner_options){
				  .watch_ms = watch_ms, .retry_ms = 10, .snapshot_ms = 20 });
	assert_true(runner_start(side->runner, &err));
}

void open_live(struct side *side)
{
	open_watched(side, 20);
}

void open_live_unwatched(struct side *side)
{
	open_watched(side, 3600000);
}

void run_replay(struct side *side, const char *path, bool single_pass)
{
	struct etw_error err = { 0 };

	open_runner(side, (struct runner_options){ .paths = &path,
						   .path_count = 1,
						   .file = { .single_pass = single_pass } });
	assert_true(runner_run(side->runner, &err));
	take_page(side);
}

uint64_t value_of(struct side *side, const char *line)
{
	const char *at;

	take_page(side);
	at = strstr(side->page.data, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

void begin_live(struct side *side, const char *config)
{
	static const struct fake_etw_options machine = { .manual_flush = true };

	fake_etw_reset(&machine);
	open_side(side, config);
}

void start_live(struct side *side, const char *config)
{
	open_side(side, config);
	open_live(side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
}

void stop_live(struct side *side)
{
	runner_stop(side->runner);
	runner_join(side->runner);
}

void end_live(struct side *side)
{
	stop_live(side);
	close_side(side);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
	assert_int_equal(fake_etw_open_things().registrations, 0);
}

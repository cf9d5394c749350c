/* SPDX-License-Identifier: MIT */
/*
 * How long the machine of a recording had run, by its header: a response time of a disk that is
 * longer is no duration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define TICKS INT64_C(10000000) /* a second */
#define START INT64_C(132500000000000000)

enum { HOUR = 3600 };

/* Of a read that ends a minute after the start of the recording. */
static const struct recording {
	enum etw_clock_type clock;
	int64_t start_raw;
	int64_t boot_time;
	int64_t response_s;
	bool fits;
} recordings[] = {
	{ ETW_CLOCK_QPC, 5 * TICKS, START - HOUR *TICKS, HOUR + 59, true },
	{ ETW_CLOCK_QPC, 5 * TICKS, START - HOUR *TICKS, HOUR + 61, false },
	/* The counter says that it has run for two hours. */
	{ ETW_CLOCK_QPC, 2 * HOUR *TICKS, START - HOUR *TICKS, 2 * HOUR + 59, true },
	{ ETW_CLOCK_QPC, 2 * HOUR *TICKS, START - HOUR *TICKS, 2 * HOUR + 61, false },
	{ ETW_CLOCK_SYSTEM_TIME, START, START - HOUR *TICKS, HOUR + 59, true },
	{ ETW_CLOCK_SYSTEM_TIME, START, START - HOUR *TICKS, HOUR + 61, false },
	/* The header says that the machine started afterwards. */
	{ ETW_CLOCK_SYSTEM_TIME, START, START + TICKS, 300 * 24 * HOUR, true },
	{ ETW_CLOCK_SYSTEM_TIME, START, START + TICKS, 400 * 24 * HOUR, false },
};

static void check(const struct recording *recording)
{
	const struct etw_writer_options options = { .pointer_size = 8,
						    .clock = recording->clock,
						    .start_raw = recording->start_raw,
						    .start_time = START,
						    .boot_time = recording->boot_time };
	const struct kernel_disk io = {
		.size = 4096, .response_ticks = (uint64_t)(recording->response_s * TICKS)
	};
	char path[TEMPORARY_PATH_SIZE], line[128];
	struct etw_writer *writer;
	struct kernel_events k;
	struct etw_error err = { 0 };
	struct etw_text page;

	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, &err);
	assert_non_null(writer);
	kernel_events_init(&k, writer, 8);
	kernel_events_at(&k, 0, recording->start_raw + 60 * TICKS, 4, 8);
	event_disk(&k, OP_DISK_READ, &io);
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, &err));
	etw_writer_close(writer);
	page = program_replay(path, NULL, &(struct setup_options){ 0 },
			      (struct runner_options){ 0 });
	snprintf(line, sizeof line,
		 "\netw_disk_operation_duration_seconds_sum{disk=\"0\",operation=\"read\"} %lld\n",
		 (long long)recording->response_s);
	assert_int_equal(strstr(page.data, line) != NULL, recording->fits);
	assert_int_equal(
		strstr(page.data,
		       "\netw_invalid_durations_total{metric=\"etw_disk_operation_duration_"
		       "seconds\",reason=\"too_long\"} 1\n") != NULL,
		!recording->fits);
	assert_non_null(strstr(page.data,
			       "\netw_disk_operations_total{disk=\"0\",operation=\"read\"} 1\n"));
	assert_non_null(strstr(page.data, "\netw_disk_read_bytes_total{disk=\"0\"} 4096\n"));
	text_free(&page);
}

static void the_header_says_how_long_the_machine_had_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
		check(&recordings[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_says_how_long_the_machine_had_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

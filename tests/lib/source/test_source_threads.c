/* SPDX-License-Identifier: MIT */
/*
 * What other threads may do to a source while its consumer runs: read statistics, and stop it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <etw/recording.h>

#include "base/os.h"
#include "lib/etl/writer.h"
#include "tests/support/temporary.h"

enum { RECORDS = 5000, RUNS = 20 };

static char path[TEMPORARY_PATH_SIZE];

static int make_recording(void **state)
{
	struct etw_writer_options options = { .buffer_size = 4096, .compressed = true };
	struct etw_writer *writer;
	struct etw_error err;
	bool good;

	(void)state;
	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, &err);
	for (unsigned i = 0; writer && i < RECORDS; i++) {
		etw_writer_add(writer, &(struct etw_out_record){ .type = ETW_RECORD_PERFINFO,
								 .raw_time = i,
								 .group = 0x0f });
	}
	good = writer && etw_writer_finish(writer, &err);
	etw_writer_close(writer);
	return good ? 0 : -1;
}

static int remove_recording(void **state)
{
	(void)state;
	return remove(path);
}

struct watched {
	struct etw_source *source;
	uint64_t readings;
	bool went_back; /* a count was lower than before */
};

static void watch(void *context)
{
	struct watched *watched = context;
	struct etw_source_statistics statistics;
	uint64_t last = 0;

	do {
		etw_source_statistics(watched->source, &statistics);
		watched->went_back |= statistics.records < last;
		watched->readings++;
		last = statistics.records;
	} while (last < RUNS * (RECORDS + 1));
	etw_source_stop(watched->source);
}

static void count(void *context, const struct etw_record *record)
{
	uint64_t *records = context;

	(void)record;
	++*records;
}

static void any_thread_may_read_statistics_and_stop(void **state)
{
	uint64_t records = 0;
	struct etw_event_sink sink = { .context = &records, .on_event = count };
	struct watched watched = { 0 };
	struct etw_source_statistics statistics;
	struct os_thread thread;
	struct etw_error err;

	(void)state;
	watched.source = etw_source_open_file(path, NULL, &err);
	assert_non_null(watched.source);
	assert_true(os_thread_start(&thread, watch, &watched, &err));
	while (!etw_source_stopping(watched.source)) {
		assert_true(etw_source_run(watched.source, &sink, &err));
	}
	os_thread_join(&thread);
	assert_false(watched.went_back);
	assert_true(watched.readings > 0);
	etw_source_statistics(watched.source, &statistics);
	assert_int_equal(statistics.records, records);
	assert_true(records >= RUNS * (RECORDS + 1));
	etw_source_close(watched.source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_thread_may_read_statistics_and_stop),
	};

	return cmocka_run_group_tests_name("source_threads", tests, make_recording,
					   remove_recording);
}

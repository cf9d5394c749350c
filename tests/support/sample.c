/* SPDX-License-Identifier: MIT */
#include "tests/support/sample.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/sample_scenario.h"

static void add_counts(const struct machine *m, struct sample_totals *totals)
{
	memcpy(totals->kernel_counts, m->events.counts, sizeof totals->kernel_counts);
	/* The logfile header is the writer's; it is a record of EventTrace too. */
	totals->kernel_counts[GROUP_EVENT_TRACE][0]++;
	totals->records =
		1 + m->events.records + totals->application_records + totals->remark_records;
}

static bool play_minute(struct machine *m, struct etw_error *err)
{
	const uint64_t end = SAMPLE_SECONDS * SECOND;

	scenario_begin(m);
	machine_run(m, end / 3);
	etl_writer_set_compressed(m->writer, true);
	machine_run(m, end);
	if (!m->failed) {
		cast_leave(m);
	}
	if (m->failed) {
		return error_set(err, ETW_ERROR_NO_MEMORY,
				 "the sample's machine has run out of memory");
	}
	return etw_writer_finish(m->writer, err);
}

bool sample_write(const char *path, struct sample_totals *totals, struct etw_error *err)
{
	const struct etw_writer_options options = {
		.processors = SAMPLE_PROCESSORS,
		.processor_index = true,
		.cpu_mhz = 2394,
		.start_raw = INT64_C(36123456789),
		.boot_time = INT64_C(133601436000000000) - INT64_C(36123456789),
		.session_name = "Server Health",
		.file_name = "C:\\PerfLogs\\Admin\\ServerHealth.etl",
		.maximum_file_mb = 256,
		.process_id = 1044,
		.thread_id = 1052,
	};
	struct etw_writer *writer = etw_writer_open(path, &options, err);
	struct machine *m = calloc(1, sizeof *m);
	struct sample_totals *counted = calloc(1, sizeof *counted);
	bool written = false;

	if (!m || !counted) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the sample's machine");
	} else if (writer) {
		machine_init(m, writer, counted);
		written = play_minute(m, err);
		add_counts(m, counted);
		machine_done(m);
		if (totals) {
			*totals = *counted;
		}
	}
	free(counted);
	free(m);
	etw_writer_close(writer);
	return written;
}

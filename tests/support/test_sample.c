/* SPDX-License-Identifier: MIT */
/*
 * The sample recording and the benchmark's: the reader finds in them what their makers have
 * counted.
 *
 * The counts are kept where things happen, not where records are written, and the payloads are read
 * here at offsets written out by hand.
 */
#include <etw/recording.h>

#include "tests/support/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/decode/kernel_class.h"
#include "tests/support/kernel_events.h"
#include "tests/support/plain_recording.h"
#include "tests/support/temporary.h"

/* What the reader delivered. */
struct seen {
	uint64_t ahead, records, buffers;
	int64_t last_time;
	uint64_t out_of_order;
	int64_t last_raw[SAMPLE_PROCESSORS]; /* in file order */
	uint64_t processors;                 /* bit set */
	uint64_t backwards;
	uint32_t kernel[32][128];
	uint64_t sys_config, events; /* those of providers other than the kernel */
	uint64_t undecodable;
	struct plain_totals sums;
};

static void see_ahead(void *context, const struct etw_record *record)
{
	struct seen *seen = context;

	seen->ahead++;
	assert_in_range(record->processor, 0, SAMPLE_PROCESSORS - 1);
	seen->processors |= UINT64_C(1) << record->processor;
	seen->backwards += record->raw_time < seen->last_raw[record->processor];
	seen->last_raw[record->processor] = record->raw_time;
}

/* Whether the payload is exactly what the layout says: all fields whole, nothing left. */
static bool fits_its_layout(const struct etw_record *record)
{
	const struct etw_schema *schema = etw_kernel_schema_of(record);
	struct etw_field_slice slices[64];
	uint32_t rest = 0;

	if (!schema || schema->field_count > 64) {
		return false;
	}
	if (schema->field_count == 0) {
		return record->payload_size == 0;
	}
	return etw_fields_walk(schema, schema->field_count - 1u, record, slices, &rest) ==
		       schema->field_count &&
	       rest == 0;
}

static void add_sums(struct plain_totals *sums, const struct etw_record *record)
{
	const uint8_t *p = record->payload;

	switch (record->kernel_group << 8 | record->opcode) {
	case GROUP_FILE_IO << 8 | 67:
		*(etw_load_u32(p + 40) & 2 ? &sums->paging_read_bytes : &sums->file_read_bytes) +=
			etw_load_u32(p + 36);
		break;
	case GROUP_FILE_IO << 8 | 68:
		sums->file_written_bytes += etw_load_u32(p + 40) & 2 ? 0 : etw_load_u32(p + 36);
		break;
	case GROUP_DISK_IO << 8 | 10:
		sums->disk_read_bytes += etw_load_u32(p + 8);
		break;
	case GROUP_DISK_IO << 8 | 11:
		sums->disk_written_bytes += etw_load_u32(p + 8);
		break;
	case GROUP_TCP_IP << 8 | 10:
	case GROUP_TCP_IP << 8 | 26:
		sums->tcp_sent_bytes += etw_load_u32(p + 4);
		break;
	case GROUP_TCP_IP << 8 | 11:
	case GROUP_TCP_IP << 8 | 27:
		sums->tcp_received_bytes += etw_load_u32(p + 4);
		break;
	case GROUP_PAGE_FAULT << 8 | 32:
		sums->hard_faults++;
		break;
	case GROUP_PROCESS << 8 | 1:
		sums->process_starts++;
		break;
	case GROUP_THREAD << 8 | 1:
		sums->thread_starts++;
		break;
	default:
		break;
	}
}

static void count_record(void *context, const struct etw_record *record)
{
	struct seen *seen = context;

	seen->records++;
	seen->out_of_order += record->time < seen->last_time;
	seen->last_time = record->time;
	if (record->kernel_group < 32) {
		seen->kernel[record->kernel_group][record->opcode & 127]++;
		add_sums(&seen->sums, record);
	} else if (record->type == ETW_RECORD_FULL) {
		seen->sys_config++;
	} else {
		seen->events++;
		return;
	}
	seen->undecodable += !fits_its_layout(record);
}

static void see_buffer(void *context)
{
	((struct seen *)context)->buffers++;
}

static struct seen *read_recording(const char *path, struct etw_source_statistics *statistics)
{
	struct seen *seen = calloc(1, sizeof *seen);
	struct etw_event_sink sink = { .context = seen,
				       .on_first_pass = see_ahead,
				       .on_event = count_record,
				       .on_buffer = see_buffer };
	struct etw_source_file_options options = { 0 };
	struct etw_error err = { 0 };
	struct etw_source *source = etw_source_open_file(path, &options, &err);

	assert_non_null(seen);
	assert_string_equal(err.text, "");
	assert_non_null(source);
	assert_true(etw_source_run(source, &sink, &err));
	etw_source_statistics(source, statistics);
	assert_int_equal(etw_source_facts(source)->processors, SAMPLE_PROCESSORS);
	assert_true(etw_source_facts(source)->clock.frequency == 10000000);
	etw_source_close(source);
	return seen;
}

static void assert_undamaged(const struct seen *seen,
			     const struct etw_source_statistics *statistics, uint64_t records)
{
	assert_true(seen->ahead == records);
	assert_true(seen->records == records);
	assert_true(statistics->records == records);
	assert_true(statistics->buffers == statistics->buffers_written);
	assert_true(statistics->bad_buffers == 0);
	assert_true(statistics->bad_records == 0);
	assert_true(statistics->late_records == 0);
	assert_false(statistics->truncated);
	assert_true(seen->out_of_order == 0);
	assert_true(seen->backwards == 0);
	assert_true(seen->processors == 0xff);
	assert_true(seen->undecodable == 0);
}

/* --- the sample ------------------------------------------------------------------------------- */

struct sample {
	char path[TEMPORARY_PATH_SIZE];
	struct sample_totals totals;
	struct etw_source_statistics statistics;
	struct seen *seen;
};

static int make_sample(void **state)
{
	struct sample *sample = calloc(1, sizeof *sample);
	struct etw_error err = { 0 };

	assert_non_null(sample);
	temporary_path(sample->path, "etl");
	if (!sample_write(sample->path, &sample->totals, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	sample->seen = read_recording(sample->path, &sample->statistics);
	*state = sample;
	return 0;
}

static int remove_sample(void **state)
{
	struct sample *sample = *state;

	remove(sample->path);
	free(sample->seen);
	free(sample);
	return 0;
}

static void the_sample_reads_without_a_problem_and_in_order(void **state)
{
	const struct sample *sample = *state;

	assert_undamaged(sample->seen, &sample->statistics, sample->totals.records);
	assert_in_range(sample->totals.records, 50000, 200000);
	assert_in_range(sample->statistics.bytes_total, 500000, 6000000);
	assert_true(sample->statistics.events_lost == 0);
}

static void the_sample_has_the_records_of_the_simulation(void **state)
{
	const struct sample *sample = *state;

	for (size_t group = 0; group < 32; group++) {
		for (size_t opcode = 0; opcode < 128; opcode++) {
			if (sample->seen->kernel[group][opcode] !=
			    sample->totals.kernel_counts[group][opcode]) {
				fail_msg("group %zu, opcode %zu: %u records, %u in the books",
					 group, opcode,
					 (unsigned)sample->seen->kernel[group][opcode],
					 (unsigned)sample->totals.kernel_counts[group][opcode]);
			}
		}
	}
	assert_true(sample->seen->sys_config == sample->totals.sys_config_records);
	assert_true(sample->seen->events ==
		    sample->totals.application_records + sample->totals.remark_records);
}

static void the_sample_feeds_every_kernel_family(void **state)
{
	static const struct {
		const char *what;
		enum kernel_group group;
		unsigned opcode;
		unsigned least;
	} cases[] = {
		{ "process start", GROUP_PROCESS, 1, 10 },
		{ "process exit", GROUP_PROCESS, 2, 10 },
		{ "processes at the start", GROUP_PROCESS, 3, 10 },
		{ "processes at the end", GROUP_PROCESS, 4, 10 },
		{ "thread start", GROUP_THREAD, 1, 50 },
		{ "thread exit", GROUP_THREAD, 2, 50 },
		{ "threads at the start", GROUP_THREAD, 3, 50 },
		{ "threads at the end", GROUP_THREAD, 4, 50 },
		{ "context switch", GROUP_THREAD, 36, 1000 },
		{ "ready thread", GROUP_THREAD, 50, 1000 },
		{ "image load", GROUP_PROCESS, 10, 50 },
		{ "image unload", GROUP_IMAGE, 2, 10 },
		{ "images at the start", GROUP_IMAGE, 3, 10 },
		{ "file named at its making", GROUP_FILE_IO, 32, 5 },
		{ "file named at its end", GROUP_FILE_IO, 35, 5 },
		{ "files at the end", GROUP_FILE_IO, 36, 20 },
		{ "file create", GROUP_FILE_IO, 64, 1000 },
		{ "file read", GROUP_FILE_IO, 67, 1000 },
		{ "file write", GROUP_FILE_IO, 68, 1000 },
		{ "file delete", GROUP_FILE_IO, 70, 1 },
		{ "file rename", GROUP_FILE_IO, 71, 1 },
		{ "directory listing", GROUP_FILE_IO, 72, 1 },
		{ "file flush", GROUP_FILE_IO, 73, 1 },
		{ "end of a file operation", GROUP_FILE_IO, 76, 1000 },
		{ "read of a minifilter", GROUP_FILE_IO, 83, 100 },
		{ "call of a minifilter before", GROUP_FILE_IO, 98, 1000 },
		{ "call of a minifilter after", GROUP_FILE_IO, 99, 1000 },
		{ "failed call of a minifilter", GROUP_FILE_IO, 101, 10 },
		{ "disk read", GROUP_DISK_IO, 10, 1000 },
		{ "disk write", GROUP_DISK_IO, 11, 1000 },
		{ "disk flush", GROUP_DISK_IO, 14, 1 },
		{ "TCP send", GROUP_TCP_IP, 10, 1000 },
		{ "TCP receive", GROUP_TCP_IP, 11, 1000 },
		{ "TCP disconnect", GROUP_TCP_IP, 13, 100 },
		{ "TCP retransmit", GROUP_TCP_IP, 14, 10 },
		{ "TCP accept", GROUP_TCP_IP, 15, 100 },
		{ "TCP failure", GROUP_TCP_IP, 17, 5 },
		{ "TCP send, IPv6", GROUP_TCP_IP, 26, 100 },
		{ "TCP receive, IPv6", GROUP_TCP_IP, 27, 100 },
		{ "TCP connect, IPv6", GROUP_TCP_IP, 28, 10 },
		{ "TCP disconnect, IPv6", GROUP_TCP_IP, 29, 10 },
		{ "UDP send", GROUP_UDP_IP, 10, 50 },
		{ "UDP receive", GROUP_UDP_IP, 11, 50 },
		{ "UDP send, IPv6", GROUP_UDP_IP, 26, 10 },
		{ "transition fault", GROUP_PAGE_FAULT, 10, 100 },
		{ "demand-zero fault", GROUP_PAGE_FAULT, 11, 100 },
		{ "copy on write", GROUP_PAGE_FAULT, 12, 10 },
		{ "guard page", GROUP_PAGE_FAULT, 13, 10 },
		{ "hard fault", GROUP_PAGE_FAULT, 32, 100 },
		{ "address space taken", GROUP_PAGE_FAULT, 98, 100 },
		{ "address space given back", GROUP_PAGE_FAULT, 99, 100 },
		{ "memory of all processes", GROUP_PAGE_FAULT, 125, 100 },
		{ "registry key made", GROUP_REGISTRY, 10, 5 },
		{ "registry key opened", GROUP_REGISTRY, 11, 100 },
		{ "registry value written", GROUP_REGISTRY, 14, 10 },
		{ "registry value read", GROUP_REGISTRY, 16, 100 },
		{ "registry key closed", GROUP_REGISTRY, 27, 100 },
		{ "sample", GROUP_PERF_INFO, 46, 1000 },
		{ "interrupt", GROUP_PERF_INFO, 67, 1000 },
		{ "DPC", GROUP_PERF_INFO, 68, 1000 },
		{ "processors", GROUP_SYSTEM_CONFIG, 10, 1 },
		{ "physical disk", GROUP_SYSTEM_CONFIG, 11, 2 },
		{ "logical disk", GROUP_SYSTEM_CONFIG, 12, 2 },
		{ "network adapter", GROUP_SYSTEM_CONFIG, 13, 1 },
	};
	const struct sample *sample = *state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t count = sample->seen->kernel[cases[i].group][cases[i].opcode];

		if (count < cases[i].least) {
			fail_msg("%s: %u records", cases[i].what, (unsigned)count);
		}
	}
}

static void the_sample_has_processes_that_end_in_every_way(void **state)
{
	const struct sample *sample = *state;
	struct sample_process_totals all = { 0 };
	uint64_t alive = 0;

	for (size_t i = 0; i < sample->totals.process_count; i++) {
		const struct sample_process_totals *one = &sample->totals.processes[i];

		all.starts += one->starts;
		all.exits += one->exits;
		all.exits_error += one->exits_error;
		all.exits_crash += one->exits_crash;
		alive += one->alive;
		all.pipe_read_bytes += one->pipe_read_bytes;
		all.pipe_written_bytes += one->pipe_written_bytes;
		all.network_written_bytes += one->network_written_bytes;
		for (size_t disk = 0; disk < SAMPLE_DISKS; disk++) {
			all.file_read_bytes[disk] += one->file_read_bytes[disk];
			all.file_written_bytes[disk] += one->file_written_bytes[disk];
			all.paging_read_bytes[disk] += one->paging_read_bytes[disk];
			all.paging_written_bytes[disk] += one->paging_written_bytes[disk];
		}
	}
	assert_true(sample->totals.process_count >= 10);
	assert_true(all.exits_error > 0);
	assert_true(all.exits_crash > 0);
	assert_true(all.exits > all.exits_error + all.exits_crash);
	assert_true(alive == sample->totals.kernel_counts[GROUP_PROCESS][4]);
	for (size_t disk = 0; disk < SAMPLE_DISKS; disk++) {
		assert_true(all.file_read_bytes[disk] > 0);
		assert_true(all.file_written_bytes[disk] > 0);
		assert_true(all.paging_read_bytes[disk] + all.paging_written_bytes[disk] > 0);
	}
	assert_true(sample->seen->sums.file_read_bytes ==
		    all.file_read_bytes[0] + all.file_read_bytes[1] + all.pipe_read_bytes);
	assert_true(sample->seen->sums.file_written_bytes ==
		    all.file_written_bytes[0] + all.file_written_bytes[1] + all.pipe_written_bytes +
			    all.network_written_bytes);
	assert_true(sample->seen->sums.paging_read_bytes ==
		    all.paging_read_bytes[0] + all.paging_read_bytes[1]);
}

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(8 << 20);

	assert_non_null(file);
	assert_non_null(bytes);
	*size = fread(bytes, 1, 8 << 20, file);
	fclose(file);
	return bytes;
}

static void the_sample_is_the_same_every_time(void **state)
{
	const struct sample *sample = *state;
	struct etw_error err = { 0 };
	char path[TEMPORARY_PATH_SIZE];
	uint8_t *first, *second;
	size_t first_size, second_size;

	temporary_path(path, "etl");
	assert_true(sample_write(path, NULL, &err));
	first = read_all(sample->path, &first_size);
	second = read_all(path, &second_size);
	assert_int_equal(first_size, second_size);
	assert_memory_equal(first, second, first_size);
	remove(path);
	free(first);
	free(second);
}

/* --- the benchmark's recording ---------------------------------------------------------------- */

static void a_plain_recording_has_the_records_that_were_written(void **state)
{
	static const struct {
		uint64_t size;
		bool switches;
	} cases[] = { { 1 << 20, false }, { 5 << 20, true } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct plain_totals totals;
		struct etw_source_statistics statistics;
		struct seen *seen;
		struct etw_error err = { 0 };
		char path[TEMPORARY_PATH_SIZE];

		temporary_path(path, "etl");
		assert_true(plain_recording_write(path, cases[i].size, cases[i].switches, &totals,
						  &err));
		seen = read_recording(path, &statistics);
		remove(path);
		assert_undamaged(seen, &statistics, totals.records);
		assert_in_range(statistics.bytes_total, cases[i].size - 400000,
				cases[i].size + 400000);
		assert_int_equal(seen->kernel[GROUP_THREAD][36] > 0, cases[i].switches);
		totals.records = 0;
		assert_memory_equal(&seen->sums, &totals, sizeof totals);
		free(seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sample_reads_without_a_problem_and_in_order),
		cmocka_unit_test(the_sample_has_the_records_of_the_simulation),
		cmocka_unit_test(the_sample_feeds_every_kernel_family),
		cmocka_unit_test(the_sample_has_processes_that_end_in_every_way),
		cmocka_unit_test(the_sample_is_the_same_every_time),
		cmocka_unit_test(a_plain_recording_has_the_records_that_were_written),
	};

	return cmocka_run_group_tests_name("sample", tests, make_sample, remove_sample);
}

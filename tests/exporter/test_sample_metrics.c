/* SPDX-License-Identifier: MIT */
/*
 * The sample recording through the whole program: the page says what the sample's maker knows.
 *
 * The counts of the simulation are kept by process name where things happen; they know nothing of
 * events, attribution, rules or labels.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/sample.h"
#include "tests/support/temporary.h"

static struct sample_totals totals;
static struct text page;

/* All collectors are on: the opt-in ones find their events in the sample too. */
static int replay_sample(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	const char *paths[] = { path };
	struct error err = { 0 };
	struct program program;

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, &totals, &err));
	program_set_up(&program, NULL, &(struct setup_options){ .every_collector = true });
	program_run(&program, (struct runner_options){ .paths = paths, .path_count = 1 });
	assert_true(runner_run(program.runner, &err));
	page = program_page(&program);
	program_close(&program);
	remove(path);
	return 0;
}

static int free_page(void **state)
{
	(void)state;
	text_free(&page);
	return 0;
}

/* A series that the page does not have counts as 0. */
static void expect(uint64_t expected, const char *format, ...) PRINTF_LIKE(2, 3);

static void expect(uint64_t expected, const char *format, ...)
{
	char series[256];
	uint64_t value;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(series, sizeof series, format, arguments);
	va_end(arguments);
	value = page_value(&page, series);
	if (value == UINT64_MAX) {
		value = 0;
	}
	if (value != expected) {
		fail_msg("%s is %" PRIu64 ", not %" PRIu64, series, value, expected);
	}
}

#define KERNEL "provider=\"Windows Kernel\""

static void processes_start_and_end_as_in_the_simulation(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->starts, "etw_process_starts_total{process=\"%s\"," KERNEL "}", p->name);
		expect(p->exits - p->exits_error - p->exits_crash,
		       "etw_process_exits_total{process=\"%s\"," KERNEL ",result=\"success\"}",
		       p->name);
		expect(p->exits_error,
		       "etw_process_exits_total{process=\"%s\"," KERNEL ",result=\"error\"}",
		       p->name);
		expect(p->exits_crash,
		       "etw_process_exits_total{process=\"%s\"," KERNEL ",result=\"crash\"}",
		       p->name);
		expect(p->alive, "etw_process_instances{process=\"%s\"," KERNEL "}", p->name);
		expect(p->threads_started, "etw_thread_starts_total{process=\"%s\"," KERNEL "}",
		       p->name);
	}
}

static void file_operations_are_those_of_the_simulation(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];
		const struct {
			const char *name;
			uint64_t count;
		} operations[] = { { "read", p->file_reads },     { "write", p->file_writes },
				   { "create", p->file_creates }, { "delete", p->file_deletes },
				   { "rename", p->file_renames }, { "flush", p->file_flushes } };

		for (size_t j = 0; j < sizeof operations / sizeof operations[0]; j++) {
			expect(operations[j].count,
			       "etw_file_operations_total{process=\"%s\"," KERNEL
			       ",operation=\"%s\"}",
			       p->name, operations[j].name);
		}
	}
}

static void file_bytes_are_those_of_the_simulation_by_volume(void **state)
{
	static const char *const volumes[SAMPLE_DISKS] = { "C:", "D:" };

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		for (size_t disk = 0; disk < SAMPLE_DISKS; disk++) {
			expect(p->file_read_bytes[disk],
			       "etw_file_read_bytes_total{process=\"%s\"," KERNEL ",volume=\"%s\"}",
			       p->name, volumes[disk]);
			expect(p->file_written_bytes[disk],
			       "etw_file_written_bytes_total{process=\"%s\"," KERNEL
			       ",volume=\"%s\"}",
			       p->name, volumes[disk]);
			expect(p->paging_read_bytes[disk],
			       "etw_file_paging_read_bytes_total{process=\"%s\"," KERNEL
			       ",volume=\"%s\"}",
			       p->name, volumes[disk]);
			expect(p->paging_written_bytes[disk],
			       "etw_file_paging_written_bytes_total{process=\"%s\"," KERNEL
			       ",volume=\"%s\"}",
			       p->name, volumes[disk]);
		}
	}
	/* Every file is named, if only at the end: no bytes are left without a volume. */
	assert_null(strstr(page.data, "volume=\"_unknown\""));
}

static void disk_transfers_are_those_of_the_simulation(void **state)
{
	struct sample_process_totals all = { 0 };

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];
		uint64_t read = 0, written = 0;

		for (unsigned disk = 0; disk < SAMPLE_DISKS; disk++) {
			char series[128];
			uint64_t value;

			snprintf(series, sizeof series,
				 "etw_disk_process_read_bytes_total{process=\"%s\"," KERNEL
				 ",disk=\"%u\"}",
				 p->name, disk);
			value = page_value(&page, series);
			read += value == UINT64_MAX ? 0 : value;
			snprintf(series, sizeof series,
				 "etw_disk_process_written_bytes_total{process=\"%s\"," KERNEL
				 ",disk=\"%u\"}",
				 p->name, disk);
			value = page_value(&page, series);
			written += value == UINT64_MAX ? 0 : value;
		}
		assert_true(read == p->disk_read_bytes);
		assert_true(written == p->disk_written_bytes);
		all.disk_reads += p->disk_reads;
		all.disk_writes += p->disk_writes;
		all.disk_flushes += p->disk_flushes;
		all.disk_read_bytes += p->disk_read_bytes;
		all.disk_written_bytes += p->disk_written_bytes;
	}
	expect(all.disk_reads + all.disk_writes + all.disk_flushes, "etw_disk_operations_total");
	expect(all.disk_read_bytes, "etw_disk_read_bytes_total");
	expect(all.disk_written_bytes, "etw_disk_written_bytes_total");
	expect(1,
	       "etw_disk_info{disk=\"1\",model=\"SEAGATE ST1000NX0313\",bytes_per_sector=\"512\"}");
	expect(1,
	       "etw_disk_volume_info{disk=\"0\",partition=\"3\",volume=\"C:\",file_system=\"NTFS\"}");
}

static void network_traffic_is_that_of_the_simulation(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->tcp_sent_bytes,
		       "etw_network_sent_bytes_total{process=\"%s\"," KERNEL ",protocol=\"tcp\"}",
		       p->name);
		expect(p->tcp_received_bytes,
		       "etw_network_received_bytes_total{process=\"%s\"," KERNEL
		       ",protocol=\"tcp\"}",
		       p->name);
		expect(p->udp_sent_bytes,
		       "etw_network_sent_bytes_total{process=\"%s\"," KERNEL ",protocol=\"udp\"}",
		       p->name);
		expect(p->udp_received_bytes,
		       "etw_network_received_bytes_total{process=\"%s\"," KERNEL
		       ",protocol=\"udp\"}",
		       p->name);
		expect(p->connects,
		       "etw_tcp_connections_total{process=\"%s\"," KERNEL
		       ",direction=\"outbound\"}",
		       p->name);
		expect(p->accepts,
		       "etw_tcp_connections_total{process=\"%s\"," KERNEL ",direction=\"inbound\"}",
		       p->name);
		expect(p->disconnects, "etw_tcp_disconnects_total{process=\"%s\"," KERNEL "}",
		       p->name);
		expect(p->retransmits, "etw_tcp_retransmits_total{process=\"%s\"," KERNEL "}",
		       p->name);
	}
	expect(totals.connect_failures, "etw_tcp_connect_failures_total");
}

static void hard_faults_are_those_of_the_simulation(void **state)
{
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->hard_faults, "etw_memory_hard_faults_total{process=\"%s\"," KERNEL "}",
		       p->name);
		expect(p->hard_fault_bytes,
		       "etw_memory_hard_fault_read_bytes_total{process=\"%s\"," KERNEL "}",
		       p->name);
		all += p->hard_faults;
	}
	expect(all, "etw_memory_hard_fault_duration_seconds_count");
}

static void every_record_is_counted_once(void **state)
{
	(void)state;
	expect(totals.records, "etw_events_total");
	expect(totals.records, "etw_provider_events_total");
	expect(totals.records, "etw_consumer_records_total");
	expect(totals.records, "etw_consumer_events_total");
	expect(totals.application_records,
	       "etw_events_total{process=\"w3wp\",provider=\"Contoso.Shop\"}");
	assert_null(strstr(page.data, "process=\"_unknown\""));
}

static void opt_in_collectors_find_their_events(void **state)
{
	uint32_t(*counts)[128] = totals.kernel_counts;

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->cpu_samples, "etw_process_cpu_samples_total{process=\"%s\"," KERNEL "}",
		       p->name);
	}
	expect(counts[GROUP_THREAD][36], "etw_thread_context_switches_total");
	expect(counts[GROUP_PERF_INFO][68] + counts[GROUP_PERF_INFO][69],
	       "etw_dpc_duration_seconds_count");
	expect(counts[GROUP_PERF_INFO][67], "etw_isr_duration_seconds_count");
	expect(counts[GROUP_PROCESS][10], "etw_image_loads_total");
	expect(1, "etw_driver_loads_total{driver=\"bowser.sys\"}");
	expect(0, "etw_dpc_duration_seconds_count{driver=\"_unknown\"}");
}

/* No family of a default collector stays without a sample above 0. */
static void every_default_family_moves(void **state)
{
	static const char *const families[] = {
		"etw_events_total",
		"etw_provider_events_total",
		"etw_process_instances",
		"etw_process_threads",
		"etw_process_starts_total",
		"etw_process_exits_total",
		"etw_thread_starts_total",
		"etw_file_operations_total",
		"etw_file_read_bytes_total",
		"etw_file_written_bytes_total",
		"etw_file_paging_read_bytes_total",
		"etw_file_paging_written_bytes_total",
		"etw_disk_operations_total",
		"etw_disk_read_bytes_total",
		"etw_disk_written_bytes_total",
		"etw_disk_operation_duration_seconds_count",
		"etw_disk_process_operations_total",
		"etw_disk_process_read_bytes_total",
		"etw_disk_process_written_bytes_total",
		"etw_disk_process_io_seconds_total",
		"etw_disk_info",
		"etw_disk_volume_info",
		"etw_network_sent_bytes_total",
		"etw_network_received_bytes_total",
		"etw_network_operations_total",
		"etw_tcp_connections_total",
		"etw_tcp_disconnects_total",
		"etw_tcp_retransmits_total",
		"etw_tcp_connect_failures_total",
		"etw_memory_hard_faults_total",
		"etw_memory_hard_fault_read_bytes_total",
		"etw_memory_hard_fault_duration_seconds_count",
	};

	(void)state;
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		uint64_t value = page_value(&page, families[i]);

		if (value == UINT64_MAX || value == 0) {
			fail_msg("%s has no sample above 0", families[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_start_and_end_as_in_the_simulation),
		cmocka_unit_test(file_operations_are_those_of_the_simulation),
		cmocka_unit_test(file_bytes_are_those_of_the_simulation_by_volume),
		cmocka_unit_test(disk_transfers_are_those_of_the_simulation),
		cmocka_unit_test(network_traffic_is_that_of_the_simulation),
		cmocka_unit_test(hard_faults_are_those_of_the_simulation),
		cmocka_unit_test(every_record_is_counted_once),
		cmocka_unit_test(opt_in_collectors_find_their_events),
		cmocka_unit_test(every_default_family_moves),
	};

	return cmocka_run_group_tests_name("sample_metrics", tests, replay_sample, free_page);
}

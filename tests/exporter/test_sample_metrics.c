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
static struct etw_text page;

/* All collectors are on: the opt-in ones find their events in the sample too. */
static int replay_sample(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, &totals, &err));
	page = program_replay(path, NULL, &(struct setup_options){ .every_collector = true },
			      (struct runner_options){ 0 });
	return 0;
}

static int free_page(void **state)
{
	(void)state;
	text_free(&page);
	return 0;
}

/* A series that the page does not have counts as 0. */
static void expect(uint64_t expected, const char *format, ...) ETW_PRINTF_LIKE(2, 3);

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
#define DOTNET "provider=\"Microsoft-Windows-DotNETRuntime\""

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
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->pipe_read_bytes,
		       "etw_file_read_bytes_total{process=\"%s\"," KERNEL ",volume=\"pipe\"}",
		       p->name);
		expect(p->pipe_written_bytes,
		       "etw_file_written_bytes_total{process=\"%s\"," KERNEL ",volume=\"pipe\"}",
		       p->name);
		expect(p->network_written_bytes,
		       "etw_file_written_bytes_total{process=\"%s\"," KERNEL ",volume=\"Mup\"}",
		       p->name);
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

/* The time of all calls of a minifilter that the page has for an operation, in seconds. */
static double seconds_in(const char *driver, const char *operation)
{
	char series[160];
	const char *at;

	snprintf(series, sizeof series,
		 "\netw_minifilter_call_duration_seconds_sum{driver=\"%s\",operation=\"%s\"} ",
		 driver, operation);
	at = strstr(page.data, series);
	return at ? strtod(at + strlen(series), NULL) : 0;
}

static void minifilters_cost_what_they_cost_in_the_simulation(void **state)
{
	static const char *const drivers[SAMPLE_FILTERS] = { "wdfilter.sys", "luafv.sys" };
	static const char *const volumes[SAMPLE_DISKS] = { "C:", "D:" };
	uint64_t ticks[SAMPLE_FILTERS] = { 0 };

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		for (size_t j = 0; j < SAMPLE_FILTERS; j++) {
			ticks[j] += p->filters[j].ticks;
#define OF_FILTER(family)                                                         \
	"etw_minifilter_" family "_total{process=\"%s\"," KERNEL ",driver=\"%s\"" \
	",operation=\"%s\""
			expect(p->filters[j].create_calls, OF_FILTER("calls") "}", p->name,
			       drivers[j], "create");
			expect(p->filters[j].write_calls, OF_FILTER("calls") "}", p->name,
			       drivers[j], "write");
			expect(p->filters[j].failures,
			       OF_FILTER("failures") ",status=\"object_name_not_found\"}", p->name,
			       drivers[j], "create");
#undef OF_FILTER
		}
		for (size_t disk = 0; disk < SAMPLE_DISKS; disk++) {
			expect(p->filter_read_bytes[disk],
			       "etw_file_filter_read_bytes_total{process=\"%s\"," KERNEL
			       ",volume=\"%s\"}",
			       p->name, volumes[disk]);
		}
		expect(p->filter_reads,
		       "etw_file_operations_total{process=\"%s\"," KERNEL
		       ",operation=\"flt_read\"}",
		       p->name);
	}
	for (size_t j = 0; j < SAMPLE_FILTERS; j++) {
		double seconds = seconds_in(drivers[j], "create") + seconds_in(drivers[j], "write");

		assert_true(ticks[j] > 0);
		assert_int_equal((uint64_t)(seconds * 1e7 + 0.5), ticks[j]);
	}
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

static void memory_of_processes_is_that_of_the_last_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->working_set_bytes,
		       "etw_process_working_set_bytes{process=\"%s\"," KERNEL "}", p->name);
		expect(p->private_working_set_bytes,
		       "etw_process_private_working_set_bytes{process=\"%s\"," KERNEL "}",
		       p->name);
		expect(p->commit_bytes, "etw_process_commit_bytes{process=\"%s\"," KERNEL "}",
		       p->name);
	}
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
	uint64_t running = 0;

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect(p->cpu_samples, "etw_process_cpu_samples_total{process=\"%s\"," KERNEL "}",
		       p->name);
		running += p->alive > 0;
	}
	expect(running - 3, "etw_process_image_info"); /* Idle, System, Registry have no file */
	expect(counts[GROUP_THREAD][36], "etw_thread_context_switches_total");
	expect(counts[GROUP_PERF_INFO][68] + counts[GROUP_PERF_INFO][69],
	       "etw_dpc_duration_seconds_count");
	expect(counts[GROUP_PERF_INFO][67], "etw_isr_duration_seconds_count");
	expect(counts[GROUP_PROCESS][10], "etw_image_loads_total");
	expect(1, "etw_driver_loads_total{driver=\"bowser.sys\"}");
	expect(0, "etw_dpc_duration_seconds_count{driver=\"_unknown\"}");
}

static void soft_faults_and_address_space_are_those_of_the_simulation(void **state)
{
	static const char *const types[SAMPLE_SOFT_FAULTS] = { "transition", "demand_zero",
							       "copy_on_write", "guard_page" };

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		for (size_t j = 0; j < SAMPLE_SOFT_FAULTS; j++) {
			expect(p->soft_faults[j],
			       "etw_memory_page_faults_total{process=\"%s\"," KERNEL
			       ",type=\"%s\"}",
			       p->name, types[j]);
		}
		expect(p->virtual_allocated_bytes,
		       "etw_memory_virtual_allocated_bytes_total{process=\"%s\"," KERNEL "}",
		       p->name);
		expect(p->virtual_freed_bytes,
		       "etw_memory_virtual_freed_bytes_total{process=\"%s\"," KERNEL "}", p->name);
	}
}

/* The sum of a family's samples that contain a text. */
static uint64_t sum_of(const char *family, const char *text)
{
	struct page_line line = { 0 };
	uint64_t sum = 0;
	size_t size = strlen(family);

	while (page_next_line(&page, &line)) {
		char copy[512];

		if (line.size <= size || memcmp(line.text, family, size) != 0) {
			continue;
		}
		snprintf(copy, sizeof copy, "%.*s", (int)line.size, line.text);
		if (copy[size] == '{' && strstr(copy, text)) {
			sum += page_line_value(&line);
		}
	}
	return sum;
}

static void expect_sum(uint64_t expected, const char *family, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);

static void expect_sum(uint64_t expected, const char *family, const char *format, ...)
{
	char text[256];
	uint64_t sum;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	sum = sum_of(family, text);
	if (sum != expected) {
		fail_msg("%s with %s is %" PRIu64 ", not %" PRIu64, family, text, sum, expected);
	}
}

static void registry_operations_are_those_of_the_simulation(void **state)
{
	uint64_t all = 0, failed = 0;

	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect_sum(p->registry_operations, "etw_registry_operations_total",
			   "process=\"%s\"", p->name);
		all += p->registry_operations;
		failed += p->registry_failures;
	}
	expect_sum(all - failed, "etw_registry_operations_total", "result=\"success\"");
	expect(all, "etw_registry_operation_duration_seconds_count");
}

static void lookups_and_connections_are_those_of_the_simulation(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		expect_sum(p->dns_queries, "etw_dns_queries_total", "process=\"%s\"", p->name);
		expect_sum(p->dns_failures, "etw_dns_failures_total", "process=\"%s\"", p->name);
		expect_sum(p->tcp_refused, "etw_tcp_process_connect_failures_total",
			   "process=\"%s\"", p->name);
	}
	expect(totals.tcp_connects, "etw_tcp_connect_duration_seconds_count");
}

static void answers_of_http_are_those_of_the_simulation(void **state)
{
	uint64_t answers = 0;

	(void)state;
	assert_true(totals.http_count >= 8); /* two sites, four codes */
	for (size_t i = 0; i < totals.http_count; i++) {
		const struct sample_http_totals *answer = &totals.http[i];

		expect(answer->gets,
		       "etw_http_requests_total{site=\"%s\",method=\"GET\",code=\"%u\",pool="
		       "\"shop\",cache=\"miss\"}",
		       answer->site, answer->code);
		expect(answer->posts,
		       "etw_http_requests_total{site=\"%s\",method=\"POST\",code=\"%u\",pool="
		       "\"shop\",cache=\"miss\"}",
		       answer->site, answer->code);
		answers += answer->gets + answer->posts;
	}
	expect(answers, "etw_http_requests_total");
	expect(totals.http_sent, "etw_http_request_duration_seconds_count");
	expect(totals.http_connections, "etw_http_connections_total");
}

static void runtimes_of_dotnet_are_those_of_the_simulation(void **state)
{
	(void)state;
	for (size_t i = 0; i < totals.process_count; i++) {
		const struct sample_process_totals *p = &totals.processes[i];

		for (unsigned j = 0; j < SAMPLE_GENERATIONS; j++) {
			expect(p->collections[j],
			       "etw_dotnet_gc_collections_total{process=\"%s\"," DOTNET
			       ",generation=\"%u\"}",
			       p->name, j);
		}
		expect(p->collection_pauses,
		       "etw_dotnet_gc_pause_seconds_count{process=\"%s\"," DOTNET "}", p->name);
		expect(p->allocated_bytes,
		       "etw_dotnet_allocated_bytes_total{process=\"%s\"," DOTNET "}", p->name);
		expect(p->exceptions, "etw_dotnet_exceptions_total{process=\"%s\"," DOTNET "}",
		       p->name);
		expect(p->contentions, "etw_dotnet_contentions_total{process=\"%s\"," DOTNET "}",
		       p->name);
		expect(p->contention_ns / 1000000000,
		       "etw_dotnet_contention_seconds_total{process=\"%s\"," DOTNET "}", p->name);
		expect(p->methods_compiled,
		       "etw_dotnet_methods_jitted_total{process=\"%s\"," DOTNET "}", p->name);
	}
}

/* What a newcomer would take for a fault of the exporter. */
static void nothing_is_unmatched_invalid_or_beyond_a_limit(void **state)
{
	(void)state;
	assert_non_null(strstr(page.data, "\netw_state_unmatched_total{table=\"pair\",side="));
	expect(0, "etw_state_unmatched_total");
	expect(0, "etw_decode_errors_total");
	expect(0, "etw_invalid_durations_total");
	expect(0, "etw_exporter_series_overflow_total");
}

/* No family of a collector that needs no configuration stays without a sample above 0. */
static void every_family_moves(void **state)
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
		"etw_process_cpu_samples_total",
		"etw_process_cpu_seconds_total",
		"etw_thread_context_switches_total",
		"etw_thread_process_context_switches_total",
		"etw_thread_process_waits_total",
		"etw_thread_ready_duration_seconds_count",
		"etw_thread_waits_total",
		"etw_dpc_duration_seconds_count",
		"etw_isr_duration_seconds_count",
		"etw_image_loads_total",
		"etw_driver_loads_total",
		"etw_process_info",
		"etw_process_image_info",
		"etw_process_working_set_bytes",
		"etw_process_private_working_set_bytes",
		"etw_process_commit_bytes",
		"etw_file_operation_duration_seconds_count",
		"etw_file_process_operation_duration_seconds_count",
		"etw_file_operation_errors_total",
		"etw_memory_page_faults_total",
		"etw_memory_virtual_allocated_bytes_total",
		"etw_memory_virtual_freed_bytes_total",
		"etw_registry_operations_total",
		"etw_registry_operation_duration_seconds_count",
		"etw_event_payload_bytes_total",
		"etw_dns_queries_total",
		"etw_dns_failures_total",
		"etw_dns_query_duration_seconds_count",
		"etw_tcp_connect_duration_seconds_count",
		"etw_tcp_process_connect_failures_total",
		"etw_http_connections_total",
		"etw_http_requests_total",
		"etw_http_request_duration_seconds_count",
		"etw_dotnet_allocated_bytes_total",
		"etw_dotnet_contention_seconds_total",
		"etw_dotnet_contentions_total",
		"etw_dotnet_exceptions_total",
		"etw_dotnet_gc_collections_total",
		"etw_dotnet_gc_heap_bytes",
		"etw_dotnet_gc_pause_seconds_count",
		"etw_dotnet_methods_jitted_total",
		"etw_dotnet_threadpool_threads",
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
		cmocka_unit_test(minifilters_cost_what_they_cost_in_the_simulation),
		cmocka_unit_test(hard_faults_are_those_of_the_simulation),
		cmocka_unit_test(memory_of_processes_is_that_of_the_last_reading),
		cmocka_unit_test(every_record_is_counted_once),
		cmocka_unit_test(opt_in_collectors_find_their_events),
		cmocka_unit_test(soft_faults_and_address_space_are_those_of_the_simulation),
		cmocka_unit_test(registry_operations_are_those_of_the_simulation),
		cmocka_unit_test(lookups_and_connections_are_those_of_the_simulation),
		cmocka_unit_test(answers_of_http_are_those_of_the_simulation),
		cmocka_unit_test(runtimes_of_dotnet_are_those_of_the_simulation),
		cmocka_unit_test(nothing_is_unmatched_invalid_or_beyond_a_limit),
		cmocka_unit_test(every_family_moves),
	};

	return cmocka_run_group_tests_name("sample_metrics", tests, replay_sample, free_page);
}

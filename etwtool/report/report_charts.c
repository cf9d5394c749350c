/* SPDX-License-Identifier: MIT */
/*
 * The charts of etwtool report, in the order in which a section of the page has them.
 */
#include <string.h>

#include "etwtool/report/report_series.h"

#define FILE_WRITTEN        "etw_file_written_bytes_total"
#define FILE_READ           "etw_file_read_bytes_total"
#define DISK_CAUSED_WRITTEN "etw_disk_caused_written_bytes_total"
#define DISK_LATENCY        "etw_disk_operation_duration_seconds_bucket"
#define STACK(section, title, sample, label, unit)                                           \
	{                                                                                    \
		section, title, sample, label, NULL, NULL, REPORT_##unit, REPORT_STACK, NULL \
	}
#define STACK_TIME(section, title, sample, label, noun)                                       \
	{                                                                                     \
		section, title, sample, label, NULL, NULL, REPORT_SECONDS, REPORT_STACK, noun \
	}
#define LATENCY(section, title, sample, only, value, noun)                                    \
	{                                                                                     \
		section, title, sample, "le", only, value, REPORT_COUNT, REPORT_BUCKETS, noun \
	}
#define REMARK(sample, label)                                                            \
	{                                                                                \
		NULL, NULL, sample, label, NULL, NULL, REPORT_COUNT, REPORT_REMARK, NULL \
	}

static const struct report_chart chart_rows[] = {
	STACK("writes", "Written to files, by process", FILE_WRITTEN, "process", BYTES),
	STACK("writes", "Written to files, by volume", FILE_WRITTEN, "volume", BYTES),
	STACK("writes", "Written by paging I/O, by process", "etw_file_paging_written_bytes_total",
	      "process", BYTES),
	STACK("reads", "Read from files, by process", FILE_READ, "process", BYTES),
	STACK("reads", "Read from files, by volume", FILE_READ, "volume", BYTES),
	STACK("reads", "Read by hard page faults, by process",
	      "etw_memory_hard_fault_read_bytes_total", "process", BYTES),
	LATENCY("disks", "Response times of reads", DISK_LATENCY, "operation", "read", "requests"),
	LATENCY("disks", "Response times of writes", DISK_LATENCY, "operation", "write",
		"requests"),
	LATENCY("disks", "Response times of flushes", DISK_LATENCY, "operation", "flush",
		"requests"),
	STACK_TIME("disks", "Time of disk requests, by process",
		   "etw_disk_process_io_seconds_total", "process", "in flight"),
	STACK("disks", "Written to disks, by the process that caused it", DISK_CAUSED_WRITTEN,
	      "process", BYTES),
	STACK("disks", "Written to disks, by the process that issued it",
	      "etw_disk_process_written_bytes_total", "process", BYTES),
	STACK("disks", "Read from disks, by the process that caused it",
	      "etw_disk_caused_read_bytes_total", "process", BYTES),
	STACK("disks", "Read from disks, by the process that issued it",
	      "etw_disk_process_read_bytes_total", "process", BYTES),
	STACK("disks", "Written to disks, by how it was caused", DISK_CAUSED_WRITTEN, "how", BYTES),
	STACK("disks", "Written, by disk", "etw_disk_written_bytes_total", "disk", BYTES),
	STACK("disks", "Read, by disk", "etw_disk_read_bytes_total", "disk", BYTES),
	STACK("network", "Sent, by process", "etw_network_sent_bytes_total", "process", BYTES),
	STACK("network", "Received, by process", "etw_network_received_bytes_total", "process",
	      BYTES),
	STACK("network", "TCP segments sent again, by process", "etw_tcp_retransmits_total",
	      "process", COUNT),
	STACK("network", "HTTP requests, by site", "etw_http_requests_total", "site", COUNT),
	STACK("network", "DNS queries, by process", "etw_dns_queries_total", "process", COUNT),
	STACK_TIME("cpu", "CPU time, by process", "etw_process_cpu_seconds_total", "process",
		   "CPUs"),
	STACK("cpu", "CPU samples, by process", "etw_process_cpu_samples_total", "process", COUNT),
	LATENCY("cpu", "Ready, but waiting for a processor",
		"etw_thread_ready_duration_seconds_bucket", NULL, NULL, "threads"),
	STACK("cpu", "Waits of threads, by process", "etw_thread_process_waits_total", "process",
	      COUNT),
	STACK("cpu", "Waits of threads, by reason", "etw_thread_waits_total", "reason", COUNT),
	STACK("cpu", "Context switches, by process", "etw_thread_process_context_switches_total",
	      "process", COUNT),
	STACK_TIME("drivers", "Time in DPCs, by driver", "etw_dpc_duration_seconds_sum", "driver",
		   NULL),
	STACK_TIME("drivers", "Time in ISRs, by driver", "etw_isr_duration_seconds_sum", "driver",
		   NULL),
	STACK("dotnet", "Allocated on .NET heaps, by process", "etw_dotnet_allocated_bytes_total",
	      "process", BYTES),
	STACK("dotnet", "Garbage collections, by process", "etw_dotnet_gc_collections_total",
	      "process", COUNT),
	STACK_TIME("dotnet", "Pauses of all managed threads, by process",
		   "etw_dotnet_gc_pause_seconds_sum", "process", NULL),
	STACK("dotnet", "Exceptions, by process", "etw_dotnet_exceptions_total", "process", COUNT),
	STACK_TIME("dotnet", "Waits for locks, by process", "etw_dotnet_contention_seconds_total",
		   "process", "threads"),
	STACK("events", "Events, by provider", "etw_events_total", "provider", COUNT),
	STACK("events", "Events, by process", "etw_events_total", "process", COUNT),
	REMARK("etw_consumer_lost_notifications_total", "type"),
	REMARK("etw_consumer_unattributed_events_total", "reason"),
	REMARK("etw_consumer_records_total", "outcome"),
	REMARK("etw_decode_errors_total", "provider"),
	REMARK("etw_invalid_durations_total", "metric"),
	REMARK("etw_exporter_series_overflow_total", "metric"),
	REMARK("etw_exporter_series_evicted_total", "metric"),
	REMARK("etw_state_evictions_total", "table"),
};
_Static_assert(sizeof chart_rows / sizeof chart_rows[0] == REPORT_CHARTS, "REPORT_CHARTS");
const struct report_chart *const report_charts = chart_rows;

const struct report_series *report_find(const struct report_charted *charted, const char *sample)
{
	size_t i = 0;

	while (i + 1 < REPORT_CHARTS && strcmp(report_charts[i].sample, sample) != 0) {
		i++;
	}
	return &charted->series[i];
}

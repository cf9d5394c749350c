/* SPDX-License-Identifier: MIT */
/*
 * The charts of etwtool report in the order of the page, its sections, and functions that read the
 * rows of a chart.
 */
#include <etw/record.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utc.h"
#include "etwtool/report/report.h"

/* ---- values for people ---- */

/*
 * Formats values of etwtool report for people, in findings and Markdown. The script of the page
 * (page/report_page.js, ../../exporter/http/page/chart.js) formats them in the same way.
 */

#define SECOND UINT64_C(10000000)

/* Adds "12,345". */
static void add_number(struct etw_text *out, uint64_t number)
{
	char digits[24];
	int size = snprintf(digits, sizeof digits, "%" PRIu64, number);

	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0) {
			text_add_char(out, ',');
		}
		text_add_char(out, digits[i]);
	}
}

void report_add_counted(struct etw_text *out, uint64_t number, const char *noun)
{
	add_number(out, number);
	text_add_format(out, " %s%s", noun, number == 1 ? "" : "s");
}

static void add_bytes(struct etw_text *out, double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	size_t i = 0;
	int decimals;

	while (bytes >= 999.5 && i + 1 < sizeof units / sizeof units[0]) {
		bytes /= 1000;
		i++;
	}
	/* A rate may have a fraction of a byte. */
	decimals = (i > 0 || bytes != floor(bytes)) && bytes < 99.95 ? 1 : 0;
	text_add_format(out, "%.*f %s", decimals, bytes, units[i]);
}

/* Adds a number with about three digits. */
static void add_real(struct etw_text *out, double value)
{
	if (value > 0 && value < 0.0005) {
		text_add_string(out, "< 0.001");
	} else if (value >= 99.95) {
		add_number(out, (uint64_t)(value + 0.5));
	} else {
		text_add_format(out, "%.*f", value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3, value);
	}
}

static void add_seconds(struct etw_text *out, double seconds)
{
	if (seconds >= 0.9995 || seconds == 0) {
		add_real(out, seconds);
		text_add_string(out, " s");
	} else if (seconds >= 0.0009995) {
		add_real(out, seconds * 1e3);
		text_add_string(out, " ms");
	} else {
		add_real(out, seconds * 1e6);
		text_add_string(out, " µs");
	}
}

void report_add_value(struct etw_text *out, enum report_unit unit, uint64_t value)
{
	switch (unit) {
	case REPORT_BYTES:
		add_bytes(out, (double)value);
		break;
	case REPORT_SECONDS:
		add_seconds(out, (double)value / 1e9);
		break;
	case REPORT_COUNT:
		add_number(out, value);
		break;
	}
}

void report_add_rate(struct etw_text *out, const struct report_chart *chart, uint64_t value,
		     uint64_t time_100ns)
{
	double rate = (double)value * (double)SECOND / (double)time_100ns;

	if (time_100ns == 0) {
		text_add_string(out, "–");
		return;
	}
	switch (chart->unit) {
	case REPORT_BYTES:
		add_bytes(out, rate);
		text_add_string(out, "/s");
		break;
	case REPORT_COUNT:
		add_real(out, rate);
		text_add_string(out, "/s");
		break;
	case REPORT_SECONDS:
		add_real(out, rate / (chart->noun ? 1e9 : 1e7));
		text_add_format(out, " %s", chart->noun ? chart->noun : "%");
		break;
	}
}

void report_add_duration(struct etw_text *out, uint64_t time_100ns)
{
	uint64_t seconds = time_100ns / SECOND, minutes = seconds / 60, hours = minutes / 60;

	if (hours >= 48) {
		text_add_format(out, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	} else if (hours > 0) {
		text_add_format(out, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	} else if (minutes > 0) {
		text_add_format(out, "%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
	} else {
		add_seconds(out, (double)time_100ns / (double)SECOND);
	}
}

void report_add_clock(struct etw_text *out, const struct report *report, int64_t time)
{
	const struct report_steps *steps = &report->charted.steps;
	const uint64_t day = 24 * 3600 * SECOND;
	char text[UTC_TEXT_SIZE];

	if (time == ETW_RECORD_NO_TIME || !utc_format(time, text)) {
		text_add_string(out, "–");
		return;
	}
	/* The text reads "2020-07-29T00:07:00.6236167Z". */
	if (etw_time_since_1970(steps->first) / day != etw_time_since_1970(steps->last) / day) {
		text_add(out, text, 10);
		text_add_char(out, ' ');
	}
	text_add(out, text + 11, steps->step < (int64_t)SECOND ? 12 : 8);
}

/* ---- charts ---- */

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
	STACK("network", "TCP segments retransmitted, by process", "etw_tcp_retransmits_total",
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

static const struct report_first first_rows[] = {
	{ "etw_file_written_bytes_total", "Written to files", NULL },
	{ "etw_file_read_bytes_total", "Read from files", NULL },
	{ "etw_disk_process_io_seconds_total", "Time in disk requests", NULL },
	{ "etw_disk_caused_written_bytes_total", "Caused disk writes", NULL },
	{ "etw_disk_caused_read_bytes_total", "Caused disk reads", NULL },
	{ "etw_memory_hard_fault_read_bytes_total", "Read by hard page faults", NULL },
	{ "etw_dotnet_contention_seconds_total", "Time waiting for .NET locks", NULL },
	{ "etw_thread_process_waits_total", "Waits of threads", NULL },
	{ "etw_process_cpu_seconds_total", "CPU time", NULL },
	{ "etw_process_cpu_samples_total", "CPU samples", "etw_process_cpu_seconds_total" },
	{ "etw_network_sent_bytes_total", "Sent over the network", NULL },
	{ "etw_network_received_bytes_total", "Received", NULL },
	{ "etw_tcp_retransmits_total", "TCP segments retransmitted", NULL },
	{ "etw_dpc_duration_seconds_sum", "Time in DPCs", NULL },
	{ "etw_isr_duration_seconds_sum", "Time in ISRs", NULL },
	{ "etw_dotnet_gc_pause_seconds_sum", "Pauses of .NET programs", NULL },
	{ "etw_dotnet_exceptions_total", ".NET exceptions", NULL },
};
_Static_assert(sizeof first_rows / sizeof first_rows[0] == REPORT_FIRSTS, "REPORT_FIRSTS");
const struct report_first *const report_firsts = first_rows;

/* Returns the first chart of the sample that has a total; REPORT_CHARTS if none has. */
static size_t chart_of(const struct report *report, const char *sample)
{
	size_t i = 0;

	while (i < REPORT_CHARTS && (report->charted.series[i].total == 0 ||
				     strcmp(report_charts[i].sample, sample) != 0)) {
		i++;
	}
	return i;
}

size_t report_first_chart(const struct report *report, const struct report_first *first)
{
	bool said_better = first->unless && chart_of(report, first->unless) < REPORT_CHARTS;

	return said_better ? REPORT_CHARTS : chart_of(report, first->sample);
}

/* ---- sections ---- */

static const struct report_section section_rows[] = {
	{ "writes", "Who wrote what, and when",
	  "Bytes that programs ask to write to files, including writes into the cache. Pipes and "
	  "mail slots count as files; the table by volume shows them apart.",
	  "file" },
	{ "reads", "Who read what",
	  "Bytes that programs ask to read from files, including reads from the cache. Pipes and "
	  "mail slots count as files; the table by volume shows them apart.",
	  "file" },
	{ "disks", "Disks", "What reached the disks, and how long their requests took.", "disk" },
	{ "network", "Network", "Payload of TCP and UDP, without headers of packets.", "network" },
	{ "cpu", "CPU and waits", "Who used the processors, and what threads waited for.",
	  "sched" },
	{ "drivers", "Drivers",
	  "Time of the processors in deferred procedure calls and interrupts.", "interrupt" },
	{ "dotnet", ".NET", "Garbage collections, locks and exceptions of .NET programs.",
	  "dotnet" },
	{ "processes", "Processes", NULL, "process" },
	{ "events", "All events", "What was recorded at all.", NULL },
};
_Static_assert(sizeof section_rows / sizeof section_rows[0] == REPORT_SECTIONS, "REPORT_SECTIONS");
const struct report_section *const report_sections = section_rows;

/* ---- rows ---- */

size_t report_rows(const struct report_series *series)
{
	size_t rows = series->count;

	while (rows > 0 && series->rows[rows - 1].total == 0) {
		rows--;
	}
	return rows;
}

uint64_t report_peak(const struct report *report, const struct report_series *series, size_t first,
		     size_t end, unsigned *step)
{
	uint64_t most = 0;

	*step = 0;
	for (unsigned i = 0; i <= report->charted.steps.current; i++) {
		uint64_t sum = 0;

		for (size_t j = first; j < end; j++) {
			sum = count_sum(sum, report_growth(&series->rows[j], i));
		}
		if (sum > most) {
			most = sum;
			*step = i;
		}
	}
	return most;
}

uint64_t report_mean_time(const struct report_steps *steps)
{
	uint64_t time = etw_time_between(steps->first, steps->last);

	return time > (uint64_t)steps->step ? time : (uint64_t)steps->step;
}

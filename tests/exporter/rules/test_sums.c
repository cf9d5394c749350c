/* SPDX-License-Identifier: MIT */
/*
 * What must hold for any stream of events, at any limit: the samples of a family by process add up
 * to what the stream has, and none of them decreases or goes, while processes start, exit and
 * take each other's ids.
 *
 * Streams are random; SUMS_SEED repeats one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/support/page.h"
#include "tests/support/rule_run.h"

enum { EVENTS = 3000, CHECK_EVERY = 500, ROWS_MAX = 16, IDS = 12, NAMES = 40, SCALE = 1000000000 };

/* One family, and one of the events that feed it. */
struct row {
	const char *family;
	const char *event;
	const char *owner; /* the field with the process or thread id; NULL: the header's process */
	const char *value; /* NULL: each counts 1 */
	uint64_t unit;     /* of value, in billionths of the family's unit; 0: whole ones */
	bool not_zero;     /* thread 0 is left out */
};

static const struct {
	const char *collector;
	struct row rows[ROWS_MAX];
} cases[] = {
	{ "disk",
	  { { "etw_disk_process_operations_total", "DiskIo/Read", "IssuingThreadId", NULL, 0, 0 },
	    { "etw_disk_process_operations_total", "DiskIo/Write", "IssuingThreadId", NULL, 0, 0 },
	    { "etw_disk_process_read_bytes_total", "DiskIo/Read", "IssuingThreadId", "TransferSize",
	      0, 0 },
	    { "etw_disk_process_written_bytes_total", "DiskIo/Write", "IssuingThreadId",
	      "TransferSize", 0, 0 },
	    { "etw_disk_process_io_seconds_total", "DiskIo/Read", "IssuingThreadId",
	      "HighResResponseTime", SCALE / RUN_PERF_FREQUENCY, 0 },
	    { "etw_disk_process_io_seconds_total", "DiskIo/Write", "IssuingThreadId",
	      "HighResResponseTime", SCALE / RUN_PERF_FREQUENCY, 0 } } },
	{ "file",
	  { { "etw_file_operations_total", "FileIo/Read", NULL, NULL, 0, 0 },
	    { "etw_file_operations_total", "FileIo/Write", NULL, NULL, 0, 0 },
	    { "etw_file_operations_total", "FileIo/Flush", NULL, NULL, 0, 0 },
	    { "etw_file_read_bytes_total", "FileIo/Read", NULL, "IoSize", 0, 0 },
	    { "etw_file_written_bytes_total", "FileIo/Write", NULL, "IoSize", 0, 0 } } },
	{ "file_other",
	  { { "etw_file_operations_total", "FileIo/Close", NULL, NULL, 0, 0 },
	    { "etw_file_operations_total", "FileIo/Cleanup", NULL, NULL, 0, 0 } } },
	{ "network",
	  { { "etw_network_sent_bytes_total", "TcpIp/SendIPV4", "PID", "size", 0, 0 },
	    { "etw_network_sent_bytes_total", "UdpIp/SendIPV6", "PID", "size", 0, 0 },
	    { "etw_network_received_bytes_total", "TcpIp/RecvIPV6", "PID", "size", 0, 0 },
	    { "etw_network_operations_total", "TcpIp/SendIPV4", "PID", NULL, 0, 0 },
	    { "etw_network_operations_total", "UdpIp/SendIPV6", "PID", NULL, 0, 0 },
	    { "etw_network_operations_total", "TcpIp/RecvIPV6", "PID", NULL, 0, 0 },
	    { "etw_tcp_connections_total", "TcpIp/ConnectIPV4", "PID", NULL, 0, 0 },
	    { "etw_tcp_connections_total", "TcpIp/AcceptIPV6", "PID", NULL, 0, 0 },
	    { "etw_tcp_disconnects_total", "TcpIp/DisconnectIPV4", "PID", NULL, 0, 0 },
	    { "etw_tcp_retransmits_total", "TcpIp/RetransmitIPV6", "PID", NULL, 0, 0 } } },
	{ "tcp_peers",
	  { { "etw_tcp_peer_sent_bytes_total", "TcpIp/SendIPV4", "PID", "size", 0, 0 },
	    { "etw_tcp_peer_received_bytes_total", "TcpIp/RecvIPV6", "PID", "size", 0, 0 },
	    { "etw_tcp_peer_connections_total", "TcpIp/ConnectIPV4", "PID", NULL, 0, 0 },
	    { "etw_tcp_peer_retransmits_total", "TcpIp/RetransmitIPV6", "PID", NULL, 0, 0 } } },
	{ "memory",
	  { { "etw_memory_hard_faults_total", "PageFault/HardFault", "TThreadId", NULL, 0, 0 },
	    { "etw_memory_hard_fault_read_bytes_total", "PageFault/HardFault", "TThreadId",
	      "ByteCount", 0, 0 } } },
	{ "page_faults",
	  { { "etw_memory_page_faults_total", "PageFault/CopyOnWrite", NULL, NULL, 0, 0 },
	    { "etw_memory_page_faults_total", "PageFault/DemandZeroFault", NULL, NULL, 0, 0 } } },
	{ "virtual_alloc",
	  { { "etw_memory_virtual_allocated_bytes_total", "PageFault/VirtualAlloc", "ProcessId",
	      "RegionSize", 0, 0 },
	    { "etw_memory_virtual_freed_bytes_total", "PageFault/VirtualFree", "ProcessId",
	      "RegionSize", 0, 0 } } },
	{ "cpu",
	  { { "etw_process_cpu_samples_total", "PerfInfo/SampleProf", "ThreadId", NULL, 0, 1 } } },
	{ "sched",
	  { { "etw_thread_process_context_switches_total", "Thread/CSwitch", "NewThreadId", NULL, 0,
	      0 } } },
	{ "minifilter",
	  { { "etw_minifilter_calls_total", "FileIo/FltPreOpCompletion", NULL, NULL, 0, 0 },
	    { "etw_minifilter_calls_total", "FileIo/FltPostOpCompletion", NULL, NULL, 0, 0 },
	    { "etw_minifilter_failures_total", "FileIo/FltPreOpFailure", NULL, NULL, 0, 0 } } },
	{ "image", { { "etw_image_loads_total", "Image/Load", "ProcessId", NULL, 0, 0 } } },
	{ "registry",
	  { { "etw_registry_operations_total", "Registry/Open", NULL, NULL, 0, 0 },
	    { "etw_registry_operations_total", "Registry/SetValue", NULL, NULL, 0, 0 } } },
};

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 20) % end);
}

/* Few ids, so that each has many owners; 0 is Idle's. Threads have ten times the id. */
static uint32_t random_id(void)
{
	return 4 * random_below(IDS);
}

/* ---- the stream ---- */

struct stream {
	struct rule_run run;
	const struct row *rows;
	size_t row_count;
	uint64_t totals[ROWS_MAX]; /* billionths, by row */
	struct etw_text page;      /* the last one */
};

static void process_event(struct stream *stream)
{
	static const char *const events[] = { "Process/Start", "Process/Stop", "Process/DCStart" };
	uint32_t id = random_id(), process = random_id();
	char image[32];

	snprintf(image, sizeof image, "program%u.exe", (unsigned)random_below(NAMES));
	rule_run_process(&stream->run, events[random_below(3)], id, image, random_below(2));
	rule_run_blank(&stream->run, random_below(3) == 0 ? "Thread/Stop" : "Thread/Start");
	rule_run_set(&stream->run, "TThreadId", 10 * id);
	rule_run_set(&stream->run, "ProcessId", process);
	rule_run_feed(&stream->run);
}

static void add_to_totals(struct stream *stream, const char *event, uint32_t owner, uint32_t value)
{
	for (size_t i = 0; i < stream->row_count; i++) {
		const struct row *row = &stream->rows[i];

		if (strcmp(row->event, event) == 0 && !(row->not_zero && owner == 0)) {
			stream->totals[i] += row->value ? value * (row->unit ? row->unit : SCALE) :
							  SCALE;
		}
	}
}

static void counted_event(struct stream *stream)
{
	const struct row *row = &stream->rows[random_below((uint32_t)stream->row_count)];
	uint32_t owner = random_id(), value = random_below(100000);

	rule_run_blank(&stream->run, row->event);
	for (size_t i = 0; i < stream->row_count; i++) {
		const struct row *other = &stream->rows[i];

		if (strcmp(other->event, row->event) == 0 && other->value) {
			rule_run_set(&stream->run, other->value, value);
		}
	}
	if (row->owner) {
		rule_run_set(&stream->run, row->owner,
			     strstr(row->owner, "Thread") ? 10 * owner : owner);
		stream->run.record.process_id = ETW_RECORD_NO_ID;
		stream->run.record.thread_id = ETW_RECORD_NO_ID;
	} else {
		stream->run.record.process_id = random_below(20) ? owner : ETW_RECORD_NO_ID;
		stream->run.record.thread_id = 10 * owner;
	}
	add_to_totals(stream, row->event, owner, value);
	rule_run_feed(&stream->run);
}

/* ---- the page ---- */

/* A sample's value in billionths; whole part and up to nine decimals. */
static uint64_t billionths(const char *at)
{
	char *end;
	uint64_t value = strtoull(at, &end, 10) * SCALE, digit = SCALE / 10;

	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9'; end++, digit /= 10) {
			value += (uint64_t)(*end - '0') * digit;
		}
	}
	return value;
}

static const char *value_of(const char *line)
{
	return strstr(line, "} ") + 2;
}

static uint64_t sum_of(const struct etw_text *page, const char *family)
{
	char start[128];
	uint64_t sum = 0;

	snprintf(start, sizeof start, "\n%s{", family);
	for (const char *at = page->data; (at = strstr(at, start)) != NULL; at++) {
		sum += billionths(value_of(at));
	}
	return sum;
}

static void check_sums(struct stream *stream)
{
	for (size_t i = 0; i < stream->row_count; i++) {
		const char *family = stream->rows[i].family;
		uint64_t total = 0, sum = sum_of(&stream->page, family);

		for (size_t j = 0; j < stream->row_count; j++) {
			if (strcmp(stream->rows[j].family, family) == 0) {
				total += stream->totals[j];
			}
		}
		if (sum != total) {
			fail_msg("%s: the samples have %llu billionths, the stream %llu", family,
				 (unsigned long long)sum, (unsigned long long)total);
		}
	}
}

/* Every sample with a process is still there, and no less. */
static void check_rising(const struct etw_text *before, const struct etw_text *now)
{
	for (const char *at = before->data; (at = strstr(at, "_total{process=")) != NULL; at++) {
		const char *line = at, *value, *found;
		char key[512];

		while (line[-1] != '\n') {
			line--;
		}
		value = value_of(at);
		snprintf(key, sizeof key, "\n%.*s", (int)(value - line), line);
		found = strstr(now->data, key);
		if (!found) {
			fail_msg("a sample is gone: %s", key);
		}
		if (billionths(found + strlen(key)) < billionths(value)) {
			fail_msg("a sample has decreased: %s", key);
		}
	}
}

static void check(struct stream *stream)
{
	struct etw_text before = stream->page;

	stream->page = page_of(stream->run.registry);
	if (before.data) {
		check_rising(&before, &stream->page);
	}
	text_free(&before);
	check_sums(stream);
}

static void run_stream(size_t number, unsigned series, unsigned processes)
{
	struct stream stream = { .rows = cases[number].rows };
	char configuration[128];

	while (stream.row_count < ROWS_MAX && stream.rows[stream.row_count].family) {
		stream.row_count++;
	}
	snprintf(configuration, sizeof configuration,
		 "limits: { series_per_family: %u, processes: %u }\n", series, processes);
	rule_run_open_shipped_with(&stream.run, cases[number].collector, configuration);
	for (unsigned i = 0; i < EVENTS; i++) {
		if (random_below(4) == 0) {
			process_event(&stream);
		} else {
			counted_event(&stream);
		}
		if (i % CHECK_EVERY == 0) {
			check(&stream);
		}
	}
	check(&stream);
	for (size_t i = 0; i < stream.row_count; i++) {
		assert_true(stream.totals[i] > 0);
	}
	text_free(&stream.page);
	rule_run_close(&stream.run);
}

static void samples_add_up_and_never_decrease(void **state)
{
	static const struct {
		unsigned series, processes;
	} limits[] = { { 1, 20000 }, { 2, 3 }, { 5, 20000 }, { 2000, 1 }, { 2000, 20000 } };
	const char *given = getenv("SUMS_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : os_unix_time_ns() | 1;

	(void)state;
	print_message("  SUMS_SEED=%llu\n", (unsigned long long)seed);
	random_state = seed;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t j = 0; j < sizeof limits / sizeof limits[0]; j++) {
			print_message("  %s: %u series, %u processes\n", cases[i].collector,
				      limits[j].series, limits[j].processes);
			run_stream(i, limits[j].series, limits[j].processes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_add_up_and_never_decrease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

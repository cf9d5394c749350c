/* SPDX-License-Identifier: MIT */
/*
 * The self-test runs its own live session, as the program does, and performs an activity whose size
 * is known: processes, files that are written in several ways, and connections. Then it compares
 * what was counted with what was done. The counts are the values of the exposition
 * (metrics/visit.h), so the whole path from the event to the page is tested. A row of the table
 * names the family, the labels to look for, what is expected, and what to look at when the row
 * fails.
 *
 * The families of the shipped collectors count the whole process, which may write more than the
 * activity (lines of its log, for instance), so they hold at least what was done. The collector
 * self_test.yaml, which no other run has, counts the files and connections of the activity alone,
 * each type of file apart from the others, so its numbers are exact. Rows of our process count from
 * the moment before the activity, because other events of the process may come earlier; the others
 * count from the start of the session.
 *
 * The last counts are read before the session stops, because losses are normal while Windows writes
 * its last records at a stop. Canaries show when all earlier events have been delivered. Two flush
 * intervals after the activity the watcher has checked the session at least once, and counts as
 * sent every canary that was written before. When all of these have come back, everything written
 * before them on any processor has come too.
 */
#include "selftest/self_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/builtin.h"
#include "exporter/health.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "metrics/exposition.h"
#include "metrics/registry.h"
#include "metrics/visit.h"

enum {
	LOOK_MS = 20,       /* interval of the checks; canaries are under way most of the time */
	DELIVERY_MS = 2000, /* two flush intervals, and longer than the watcher's interval */
	REPORT_COLUMNS = 80,
	ADVICE_COLUMN = 6,
};

/* The parts of a run, owned. */
struct self_test {
	struct setup setup;
	struct runner *runner;
	struct health *health;
};

/* The values that rows expect; rows name them by offset. */
struct expected {
	uint64_t none;          /* 0 */
	uint64_t some;          /* 1 */
	uint64_t canaries;      /* canaries sent; at least 1, because a session without any has no
				   provider */
	uint64_t written_bytes; /* bytes that programs wrote to all files */
	struct activity_network tcp; /* sum over both versions of IP */
	struct activity done;
};

enum comparison { EXACTLY, AT_LEAST };

struct row_label {
	const char *name, *value;
};

/* A row sums the samples of a family that have these labels. */
struct self_test_row {
	const char *what;
	const char *family;
	struct row_label labels[2]; /* an entry with name NULL is unused */
	enum comparison comparison;
	bool of_process; /* sums samples of our process, counted from the beginning of the activity
			  */
	size_t volume;   /* offset in struct expected of the value of the label "volume"; 0: any
			    volume */
	size_t expected; /* offset in struct expected of the number */
	enum activity_part part; /* the part of the activity that the row needs */
	const char *look_at;     /* what to check if the row fails */
};

#define EXPECT(member)   .expected = offsetof(struct expected, member)
#define WRITTEN(of_part) EXPECT(done.written_bytes[of_part]), .part = (of_part)
#define VOLUME(member)   .volume = offsetof(struct expected, done.member)
#define LABELS(...)      .labels = { __VA_ARGS__ }
#define FILES            "etw_self_test_written_bytes_total"
#define NETWORK          "etw_self_test_network_bytes_total"
#define CONNECTIONS      "etw_self_test_connections_total"
#define HARVESTED        "etw_session_names_harvested_total"
#define OF_US            .of_process = true
#define BY_PROGRAM              \
	{                       \
		"io", "program" \
	}
#define BY_PAGING              \
	{                      \
		"io", "paging" \
	}

/* clang-format off */
static const struct self_test_row rows[] = {
	{ "event records delivered", "etw_consumer_records_total", .comparison = AT_LEAST, EXPECT(some),
	  .look_at = "the log, and whether another program stops the session: nothing arrives" },
	{ "processes started", "etw_process_starts_total", OF_US, EXPECT(done.processes),
	  .look_at = "kernel flag PROCESS, class Process opcode 1" },
	{ "processes exited with status 0", "etw_process_exits_total", OF_US, EXPECT(done.processes),
	  LABELS({ "result", "success" }), .look_at = "class Process opcode 2, its ExitStatus" },
	{ "bytes written to files", "etw_file_written_bytes_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(written_bytes),
	  .look_at = "kernel flag FILE_IO_INIT, class FileIo opcode 68: IoSize, IoFlags" },
	{ "bytes read from a file", "etw_file_read_bytes_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(done.read_bytes), .look_at = "class FileIo opcode 67: IoSize, IoFlags" },
	{ "files deleted", "etw_file_operations_total", OF_US, .comparison = AT_LEAST, EXPECT(done.deletes),
	  LABELS({ "operation", "delete" }), .look_at = "class FileIo opcode 70" },
	{ "bytes of cached writes", FILES, OF_US, WRITTEN(ACTIVITY_CACHED),
	  LABELS({ "file", "cached" }, BY_PROGRAM),
	  .look_at = "class FileIo opcode 64: whether it names the file; opcode 68: FileKey, IoFlags" },
	{ "... under the volume of the file", FILES, OF_US, WRITTEN(ACTIVITY_CACHED), VOLUME(volume),
	  LABELS({ "file", "cached" }, BY_PROGRAM),
	  .look_at = "QueryDosDevice of the drive, and label volume of etw_file_written_bytes_total" },
	{ "bytes of a file opened earlier", FILES, OF_US, WRITTEN(ACTIVITY_HELD_FILE), VOLUME(volume),
	  LABELS({ "file", "held" }, BY_PROGRAM),
	  .look_at = "class FileIo opcode 36: names of files that were open before the session started" },
	{ "bytes of write-through writes", FILES, OF_US, WRITTEN(ACTIVITY_WRITE_THROUGH),
	  LABELS({ "file", "through" }, BY_PROGRAM), .look_at = "class FileIo opcode 68: IoFlags" },
	{ "... written to disk by the cache", FILES, WRITTEN(ACTIVITY_WRITE_THROUGH), .comparison = AT_LEAST,
	  LABELS({ "file", "through" }, BY_PAGING),
	  .look_at = "class FileIo opcode 68: IoFlags bit 2 (paging I/O) of writes by the cache, and their FileKey" },
	{ "bytes of unbuffered writes", FILES, OF_US, WRITTEN(ACTIVITY_UNBUFFERED),
	  LABELS({ "file", "unbuffered" }, BY_PROGRAM), .look_at = "class FileIo opcode 68: IoFlags" },
	{ "bytes of a mapped file, paging", FILES, WRITTEN(ACTIVITY_MAPPED), .comparison = AT_LEAST,
	  LABELS({ "file", "mapped" }, BY_PAGING),
	  .look_at = "class FileIo opcode 68 of the process that flushes, or of System: IoFlags bit 2, FileKey" },
	{ "bytes by the tree of processes", FILES, OF_US, WRITTEN(ACTIVITY_TREE),
	  LABELS({ "file", "tree" }, BY_PROGRAM),
	  .look_at = "rows of processes above; TTID of FileIo events, and the process of a thread that ended" },
	{ "bytes on a volume that came later", FILES, OF_US, WRITTEN(ACTIVITY_LATER_VOLUME),
	  VOLUME(later_volume), LABELS({ "file", "later" }, BY_PROGRAM),
	  .look_at = "how soon a new drive is known: label volume of etw_file_written_bytes_total" },
	{ "TCP bytes sent", "etw_network_sent_bytes_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(tcp.sent_bytes), LABELS({ "protocol", "tcp" }),
	  .look_at = "kernel flag NETWORK_TCPIP, class TcpIp opcodes 10 and 26: PID, size" },
	{ "TCP bytes received", "etw_network_received_bytes_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(tcp.received_bytes), LABELS({ "protocol", "tcp" }),
	  .look_at = "class TcpIp opcodes 11 and 27: PID, size" },
	{ "TCP connections made", "etw_tcp_connections_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(tcp.connects), LABELS({ "direction", "outbound" }), .look_at = "class TcpIp opcodes 12 and 28" },
	{ "TCP connections accepted", "etw_tcp_connections_total", OF_US, .comparison = AT_LEAST,
	  EXPECT(tcp.accepts), LABELS({ "direction", "inbound" }), .look_at = "class TcpIp opcodes 15 and 31" },
	{ "bytes sent over IPv4", NETWORK, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv4.sent_bytes),
	  LABELS({ "ip", "4" }, { "direction", "sent" }), .look_at = "class TcpIp opcode 10: PID, size" },
	{ "bytes received over IPv4", NETWORK, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv4.received_bytes),
	  LABELS({ "ip", "4" }, { "direction", "received" }), .look_at = "class TcpIp opcode 11: PID, size" },
	{ "connections made over IPv4", CONNECTIONS, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv4.connects),
	  LABELS({ "ip", "4" }, { "direction", "outbound" }), .look_at = "class TcpIp opcode 12" },
	{ "bytes sent over IPv6", NETWORK, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv6.sent_bytes),
	  .part = ACTIVITY_IPV6, LABELS({ "ip", "6" }, { "direction", "sent" }),
	  .look_at = "class TcpIp opcode 26: PID, size" },
	{ "bytes received over IPv6", NETWORK, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv6.received_bytes),
	  .part = ACTIVITY_IPV6, LABELS({ "ip", "6" }, { "direction", "received" }),
	  .look_at = "class TcpIp opcode 27: PID, size" },
	{ "connections made over IPv6", CONNECTIONS, OF_US, .comparison = AT_LEAST, EXPECT(done.ipv6.connects),
	  .part = ACTIVITY_IPV6, LABELS({ "ip", "6" }, { "direction", "outbound" }),
	  .look_at = "class TcpIp opcode 28" },
	{ "names of open files announced", HARVESTED, .comparison = AT_LEAST, EXPECT(some),
	  .look_at = "class FileIo opcode 36, which Windows writes when a session stops" },
	{ "disks described", "etw_disk_info", .comparison = AT_LEAST, EXPECT(some),
	  .look_at = "class SystemConfig opcode 11, which Windows writes when a session stops" },
	{ "events of services with a name", "etw_self_test_service_events_total", .comparison = AT_LEAST,
	  EXPECT(some),
	  .look_at = "class SystemConfig opcode 15; class Thread: SubProcessTag" },
	{ "own test events that came back", "etw_session_canary_received_total", EXPECT(canaries),
	  .look_at = "etw_session_events_lost_total: losses that Windows does not report, or a provider that is not enabled" },
	{ "events that did not decode", "etw_consumer_records_total", EXPECT(none),
	  LABELS({ "outcome", "undecodable" }),
	  .look_at = "etw_decode_errors_total of a run, which names them: a layout differs" },
	{ "events that Windows lost", "etw_session_events_lost_total", EXPECT(none),
	  .look_at = "buffers of the session in the configuration: a machine this busy needs more" },
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0] };

struct counts {
	uint64_t counted[ROWS];
	uint64_t canaries_sent, canaries_received;
};

/* ---- counts ---- */

/* The state of a visit of the registry. */
struct counting {
	const char *process;
	struct expected expected; /* what was done so far; only its volumes are used */
	struct counts *counts;
};

static const char canaries_sent[] = "etw_session_canary_sent_total";
static const char canaries_received[] = "etw_session_canary_received_total";

static bool has_label(const struct visited_sample *sample, const char *name, const char *value)
{
	return strcmp(sample_label(sample, name), value) == 0;
}

/* Returns whether the row sums this sample of its family. */
static bool is_counted(const struct counting *counting, const struct self_test_row *row,
		       const struct visited_sample *sample)
{
	if (row->of_process && !has_label(sample, "process", counting->process)) {
		return false;
	}
	if (row->volume != 0 &&
	    !has_label(sample, "volume", (const char *)&counting->expected + row->volume)) {
		return false;
	}
	for (size_t i = 0; i < sizeof row->labels / sizeof row->labels[0]; i++) {
		const struct row_label *label = &row->labels[i];

		if (label->name && !has_label(sample, label->name, label->value)) {
			return false;
		}
	}
	return true;
}

static void count_sample(void *context, const struct visited_sample *sample)
{
	const struct counting *counting = context;
	struct counts *counts = counting->counts;
	const char *name = family_name(sample->family);

	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].family, name) == 0 && is_counted(counting, &rows[i], sample)) {
			counts->counted[i] += sample->value;
		}
	}
	if (strcmp(name, canaries_sent) == 0) {
		counts->canaries_sent += sample->value;
	} else if (strcmp(name, canaries_received) == 0) {
		counts->canaries_received += sample->value;
	}
}

static bool read_counts(struct registry *registry, const struct self_test_options *options,
			const struct activity *done, struct counts *counts, struct etw_error *err)
{
	struct counting counting = { .process = options->process,
				     .expected = { .done = *done },
				     .counts = counts };
	const struct registry_visitor visitor = { .on_sample = count_sample, .context = &counting };

	*counts = (struct counts){ .canaries_sent = 0 };
	return registry_visit(registry, &visitor) || error_no_memory(err, "the metrics");
}

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* Gives the present page to on_page(). It has the counts that were read last, or later ones. */
static bool show_page(struct registry *registry, const struct self_test_options *options,
		      const char *moment, struct etw_error *err)
{
	struct etw_text page = { 0 };
	bool good = !options->on_page ||
		    (exposition_write(registry, NULL, add_chunk, &page) && !page.failed);

	if (good && options->on_page) {
		options->on_page(options->result_context, moment, &page);
	}
	text_free(&page);
	return good || error_no_memory(err, "the metrics");
}

/* ---- the session ---- */

/* Makes the built-in configuration, with another name for its session. */
static struct config *make_config(const struct self_test_options *options, struct etw_error *err)
{
	struct config *config = config_default(err);
	char *name = text_duplicate(SELF_TEST_SESSION, strlen(SELF_TEST_SESSION));

	if (config && name) {
		free(config->sessions[0].name);
		config->sessions[0].name = name;
		config->sessions[0].logger = options->system_providers ? LOGGER_SYSTEM_PROVIDERS :
									 LOGGER_AUTO;
		return config;
	}
	if (config) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the self-test");
	}
	free(name);
	config_free(config);
	return NULL;
}

static void self_test_close(struct self_test *test)
{
	health_free(test->health);
	runner_free(test->runner);
	setup_close(&test->setup);
}

static bool self_test_open(struct self_test *test, const struct self_test_options *options,
			   struct etw_error *err)
{
	const struct runner_options runner = { .setup = &test->setup,
					       .watch_ms = options->watch_ms };
	const struct setup_options setup = {
		.collectors = builtin_self_test_collectors,
		.collector_count = builtin_self_test_collector_count,
	};

	if (!setup_open(&test->setup, make_config(options, err), &setup, err)) {
		return false;
	}
	test->runner = runner_new(&runner, err);
	test->health = test->runner ? health_new(&test->setup, test->runner, err) : NULL;
	return test->health && runner_start(test->runner, err);
}

static bool stopped(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_SYSTEM, "the self-test was stopped");
}

static bool wait_until_ready(struct self_test *test, const struct self_test_options *options,
			     struct etw_error *err)
{
	for (uint32_t ms = 0; ms < options->idle_ms && !runner_ready(test->runner); ms += LOOK_MS) {
		if (!options->wait(options->context, LOOK_MS)) {
			return stopped(err);
		}
	}
	return true;
}

/* Reads the counts after the activity repeatedly, until all its events have been delivered. */
static bool wait_for_delivery(struct self_test *test, const struct self_test_options *options,
			      const struct activity *done, struct counts *after,
			      struct etw_error *err)
{
	for (uint32_t ms = 0; ms < options->duration_ms; ms += LOOK_MS) {
		if (!options->wait(options->context, LOOK_MS)) {
			return stopped(err);
		}
		if (ms < DELIVERY_MS) {
			continue;
		}
		if (!read_counts(test->setup.registry, options, done, after, err)) {
			return false;
		}
		if (after->canaries_sent > 0 && after->canaries_received == after->canaries_sent) {
			return true;
		}
	}
	return read_counts(test->setup.registry, options, done, after, err);
}

/* Reads the counts before and after the activity. */
static bool measure(struct self_test *test, const struct self_test_options *options,
		    struct activity *done, struct counts *before, struct counts *after,
		    struct etw_error *err)
{
	struct registry *registry = test->setup.registry;

	return wait_until_ready(test, options, err) &&
	       read_counts(registry, options, done, before, err) &&
	       show_page(registry, options, "before", err) &&
	       options->act(options->context, done, err) &&
	       wait_for_delivery(test, options, done, after, err) &&
	       show_page(registry, options, "after", err);
}

/* ---- the table ---- */

static void add_network(struct activity_network *sum, const struct activity_network *more)
{
	sum->sent_bytes += more->sent_bytes;
	sum->received_bytes += more->received_bytes;
	sum->connects += more->connects;
	sum->accepts += more->accepts;
}

static struct expected expect(const struct activity *done, const struct counts *after)
{
	struct expected expected = { .some = 1,
				     .canaries = after->canaries_sent > 0 ? after->canaries_sent :
									    1,
				     .done = *done };

	for (unsigned i = 0; i < ACTIVITY_PARTS; i++) {
		/* Stores to a mapped file are not requests of the program. */
		expected.written_bytes += i == ACTIVITY_MAPPED ? 0 : done->written_bytes[i];
	}
	add_network(&expected.tcp, &done->ipv4);
	add_network(&expected.tcp, &done->ipv6);
	return expected;
}

/* Adds the words, broken into lines that are indented by ADVICE_COLUMN. */
static void add_advice(struct etw_text *report, const char *words)
{
	size_t column = 0;

	while (*words != '\0') {
		size_t size = strcspn(words, " ");

		if (column > 0 && column + 1 + size <= REPORT_COLUMNS) {
			text_add_char(report, ' ');
			column += 1 + size;
		} else {
			text_add_format(report, "%s%*s", column > 0 ? "\n" : "", ADVICE_COLUMN, "");
			column = ADVICE_COLUMN + size;
		}
		text_add(report, words, size);
		words += size + (words[size] == ' ');
	}
	text_add_char(report, '\n');
}

static void add_row(struct etw_text *report, const struct self_test_result *result)
{
	if (result->state == SELF_TEST_SKIPPED) {
		text_add_format(report, "  %-36s %30s  skipped\n", result->what, "");
	} else {
		text_add_format(report, "  %-36s %s %10" PRIu64 " %10" PRIu64 "  %s\n",
				result->what, result->at_least ? "at least" : "        ",
				result->expected, result->counted,
				result->state == SELF_TEST_OK ? "ok" : "FAILED");
	}
	if (result->state != SELF_TEST_OK) {
		struct etw_text advice = { 0 };

		text_add_format(&advice, "%s%s", result->state == SELF_TEST_FAILED ? "check " : "",
				result->look_at);
		add_advice(report, advice.data ? advice.data : "");
		text_free(&advice);
	}
}

/* Returns the result of a row. Its texts are borrowed from the row and from *expected. */
static struct self_test_result result_of(const struct self_test_row *row,
					 const struct expected *expected, uint64_t counted)
{
	const char *skipped = expected->done.skipped[row->part];
	struct self_test_result result = {
		.what = row->what,
		.counted = counted,
		.at_least = row->comparison == AT_LEAST,
		.look_at = "",
	};
	bool holds;

	memcpy(&result.expected, (const char *)expected + row->expected, sizeof result.expected);
	holds = result.at_least ? counted >= result.expected : counted == result.expected;
	if (skipped[0] != '\0') {
		result.state = SELF_TEST_SKIPPED;
		result.look_at = skipped;
	} else if (!holds) {
		result.state = SELF_TEST_FAILED;
		result.look_at = row->look_at;
	}
	return result;
}

/* Adds every row to the report and gives it to on_result(). Returns true if no row failed. */
static bool show_results(const struct self_test_options *options, struct etw_text *report,
			 const struct activity *done, const struct counts *before,
			 const struct counts *after)
{
	const struct expected expected = expect(done, after);
	unsigned failed = 0, skipped = 0;

	text_add_format(report, "Self-test of etw_exporter: what process \"%s\" did.\n\n",
			options->process);
	text_add_format(report, "  %-36s          %10s %10s\n", "", "expected", "counted");
	for (size_t i = 0; i < ROWS; i++) {
		uint64_t earlier = rows[i].of_process ? before->counted[i] : 0;
		struct self_test_result result =
			result_of(&rows[i], &expected, after->counted[i] - earlier);

		failed += result.state == SELF_TEST_FAILED;
		skipped += result.state == SELF_TEST_SKIPPED;
		add_row(report, &result);
		if (options->on_result) {
			options->on_result(options->result_context, &result);
		}
	}
	text_add_string(report, failed == 0 ? "\nAll counts are as expected" :
					      "\nSome counts are not as expected");
	if (skipped > 0) {
		text_add_format(report, "; rows skipped: %u", skipped);
	}
	text_add_string(report, ".\n");
	return failed == 0;
}

bool self_test_run(const struct self_test_options *options, struct etw_text *report, bool *passed,
		   struct etw_error *err)
{
	struct self_test test = { 0 };
	struct activity done = { 0 };
	struct counts before, after;
	bool measured = (!options->prepare || options->prepare(options->context, err)) &&
			self_test_open(&test, options, err) &&
			measure(&test, options, &done, &before, &after, err);

	if (test.runner) {
		runner_stop(test.runner);
		runner_join(test.runner);
	}
	self_test_close(&test);
	if (!measured) {
		return false;
	}
	*passed = show_results(options, report, &done, &before, &after);
	return !report->failed || error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the table");
}

/* SPDX-License-Identifier: MIT */
/*
 * The self-test runs a live session of its own, as the program does, and performs an activity whose
 * size is known: it starts processes, writes and reads a file, and sends bytes over TCP. Then it
 * compares what was counted for this process with what was done. Everything is read from the
 * exposition, so the whole way from the event to the page is tested. A row of the table names the
 * family, the label to look for, what is expected, and what to look at when the row fails. Rows of
 * our process count from the moment before the activity, because other events of the process may
 * come earlier; the others count from the start of the session. The last page is read after the
 * session has stopped, when everything that it held has been delivered.
 */
#include "windows/self_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "health.h"
#include "metrics/exposition.h"
#include "runner.h"
#include "setup.h"

enum { LOOK_MS = 50 };

/* What is run, owned. */
struct self_test {
	struct setup setup;
	struct runner *runner;
	struct health *health;
};

#define NONE SIZE_MAX       /* 0 is expected */
#define SOME (SIZE_MAX - 1) /* 1 is expected */
#define SENT (SIZE_MAX - 2) /* the canaries that the exporter has written */

enum comparison { EXACTLY, AT_LEAST };

/*
 * A row sums the samples of a family that have this label; of_process: those of our process, and
 * only what came since the activity began.
 * expected: the offset of the number in struct activity, or NONE, SOME, SENT.
 */
struct row {
	const char *what;
	const char *family;
	const char *label; /* NULL: any */
	enum comparison comparison;
	bool of_process;
	size_t expected;
	const char *look_at; /* when it does not hold */
};

#define DONE(member) offsetof(struct activity, member)

static const struct row rows[] = {
	{ "event records delivered", "etw_consumer_records_total", NULL, AT_LEAST, false, SOME,
	  "nothing arrives: see the log, and whether another program stops the session" },
	{ "processes started", "etw_process_starts_total", NULL, EXACTLY, true, DONE(processes),
	  "kernel flag PROCESS, class Process opcode 1" },
	{ "processes exited with status 0", "etw_process_exits_total", "result=\"success\"",
	  EXACTLY, true, DONE(processes), "class Process opcode 2, its ExitStatus" },
	{ "bytes written to a file", "etw_file_written_bytes_total", NULL, EXACTLY, true,
	  DONE(written_bytes),
	  "kernel flag FILE_IO_INIT, class FileIo opcode 68: IoSize, IoFlags" },
	{ "bytes read from a file", "etw_file_read_bytes_total", NULL, AT_LEAST, true,
	  DONE(read_bytes), "class FileIo opcode 67: IoSize, IoFlags" },
	{ "files deleted", "etw_file_operations_total", "operation=\"delete\"", AT_LEAST, true,
	  DONE(deletes), "class FileIo opcode 70" },
	{ "TCP bytes sent", "etw_network_sent_bytes_total", "protocol=\"tcp\"", AT_LEAST, true,
	  DONE(sent_bytes), "kernel flag NETWORK_TCPIP, class TcpIp opcode 10: PID, size" },
	{ "TCP bytes received", "etw_network_received_bytes_total", "protocol=\"tcp\"", AT_LEAST,
	  true, DONE(received_bytes), "class TcpIp opcode 11: PID, size" },
	{ "TCP connections made", "etw_tcp_connections_total", "direction=\"outbound\"", AT_LEAST,
	  true, DONE(connects), "class TcpIp opcode 12" },
	{ "TCP connections accepted", "etw_tcp_connections_total", "direction=\"inbound\"",
	  AT_LEAST, true, DONE(accepts), "class TcpIp opcode 15" },
	{ "own test events that came back", "etw_session_canary_received_total", NULL, EXACTLY,
	  false, SENT, "loss that Windows does not report, or a provider that is not enabled" },
	{ "events that did not decode", "etw_consumer_records_total", "outcome=\"undecodable\"",
	  EXACTLY, false, NONE, "etw_decode_errors_total of a run names them: a layout differs" },
	{ "events that Windows lost", "etw_session_events_lost_total", NULL, EXACTLY, false, NONE,
	  "a machine this busy needs more buffers: sessions in the configuration" },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

struct counts {
	uint64_t counted[ROWS];
	uint64_t sent; /* canaries */
};

/* ---- counts ---- */

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* Whether a line has this text among its labels. */
static bool has_label(const char *line, const char *end, const char *label)
{
	const char *at = strstr(line, label);

	return at && at < end;
}

/* The value at the end of a line of an exposition; all values here are integers. */
static uint64_t line_value(const char *line, const char *end)
{
	const char *at = end;

	while (at > line && at[-1] != ' ') {
		at--;
	}
	return strtoull(at, NULL, 10);
}

static uint64_t sum_of(const char *page, const struct row *row, const char *process)
{
	struct text label = { 0 };
	size_t name_size = strlen(row->family);
	uint64_t sum = 0;

	text_add_format(&label, "process=\"%s\"", process);
	for (const char *line = page; line && *line; line = strchr(line, '\n')) {
		const char *end;

		line += *line == '\n';
		end = strchr(line, '\n');
		if (end && strncmp(line, row->family, name_size) == 0 && line[name_size] == '{' &&
		    (!row->label || has_label(line, end, row->label)) &&
		    (!row->of_process || (label.data && has_label(line, end, label.data)))) {
			sum += line_value(line, end);
		}
	}
	text_free(&label);
	return sum;
}

static bool read_counts(struct registry *registry, const struct self_test_options *options,
			const char *moment, struct counts *counts, struct error *err)
{
	static const struct row sent = { .family = "etw_session_canary_sent_total" };
	struct text page = { 0 };
	bool taken = exposition_write(registry, add_chunk, &page) > 0 && !page.failed;

	for (size_t i = 0; taken && i < ROWS; i++) {
		counts->counted[i] = sum_of(page.data, &rows[i], options->process);
	}
	if (taken) {
		counts->sent = sum_of(page.data, &sent, options->process);
	}
	if (taken && options->on_page) {
		options->on_page(options->result_context, moment, &page);
	}
	text_free(&page);
	return taken || error_set(err, ERROR_NO_MEMORY, "no memory for the metrics");
}

/* ---- the session ---- */

/* The built-in configuration, with another name for its session. */
static struct config *make_config(struct error *err)
{
	struct config *config = config_default(err);
	char *name = text_duplicate(SELF_TEST_SESSION, strlen(SELF_TEST_SESSION));

	if (config && name) {
		free(config->sessions[0].name);
		config->sessions[0].name = name;
		return config;
	}
	if (config) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the self-test");
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

static bool self_test_open(struct self_test *test, struct error *err)
{
	const struct runner_options runner = { .setup = &test->setup };

	if (!setup_open(&test->setup, make_config(err), &(struct setup_options){ 0 }, err)) {
		return false;
	}
	test->runner = runner_new(&runner, err);
	test->health = test->runner ? health_new(&test->setup, test->runner, err) : NULL;
	return test->health && runner_start(test->runner, err);
}

static bool stopped(struct error *err)
{
	return error_set(err, ERROR_SYSTEM, "the self-test was stopped");
}

/* Reads the counts before and after the activity; then the consumer has ended. */
static bool measure(struct self_test *test, const struct self_test_options *options,
		    struct activity *done, struct counts *before, struct counts *after,
		    struct error *err)
{
	bool acted;

	for (uint32_t ms = 0; ms < options->idle_ms && !runner_ready(test->runner); ms += LOOK_MS) {
		if (!options->wait(options->context, LOOK_MS)) {
			return stopped(err);
		}
	}
	if (!read_counts(test->setup.registry, options, "before", before, err)) {
		return false;
	}
	acted = options->act(options->context, done, err);
	if (acted && !options->wait(options->context, options->duration_ms)) {
		return stopped(err);
	}
	runner_stop(test->runner); /* what the session still holds is delivered */
	runner_join(test->runner);
	return acted && read_counts(test->setup.registry, options, "after", after, err);
}

/* ---- the table ---- */

static uint64_t expected_of(const struct row *row, const struct activity *done, uint64_t sent)
{
	uint64_t expected = row->expected == SENT ? sent : row->expected == SOME;

	if (row->expected < sizeof *done) {
		memcpy(&expected, (const char *)done + row->expected, sizeof expected);
	}
	return expected;
}

static const char *const states[] = {
	[SELF_TEST_OK] = "ok",
	[SELF_TEST_FAILED] = "FAILED",
	[SELF_TEST_SKIPPED] = "skipped",
};

static void add_row(struct text *report, const struct self_test_result *result)
{
	text_add_format(report, "  %-36s %s %10" PRIu64 " %10" PRIu64 "  %s\n", result->what,
			result->at_least ? "at least" : "        ", result->expected,
			result->counted, states[result->state]);
	if (result->look_at[0] != '\0') {
		text_add_format(report, "      %s%s\n",
				result->state == SELF_TEST_FAILED ? "check " : "", result->look_at);
	}
}

static struct self_test_result result_of(const struct row *row, const struct activity *done,
					 uint64_t counted, uint64_t sent)
{
	struct self_test_result result = {
		.what = row->what,
		.expected = expected_of(row, done, sent),
		.counted = counted,
		.at_least = row->comparison == AT_LEAST,
		.look_at = "",
	};
	bool holds = result.at_least ? counted >= result.expected : counted == result.expected;

	if (!holds) {
		result.state = SELF_TEST_FAILED;
		result.look_at = row->look_at;
	}
	return result;
}

/* Adds every row to the report, and gives it to on_result(). Returns whether none failed. */
static bool show_results(const struct self_test_options *options, struct text *report,
			 const struct activity *done, const struct counts *before,
			 const struct counts *after)
{
	bool passed = true;

	text_add_format(report, "Self-test of etw_exporter: what process \"%s\" did.\n\n",
			options->process);
	text_add_format(report, "  %-36s          %10s %10s\n", "", "expected", "counted");
	for (size_t i = 0; i < ROWS; i++) {
		uint64_t earlier = rows[i].of_process ? before->counted[i] : 0;
		struct self_test_result result =
			result_of(&rows[i], done, after->counted[i] - earlier, after->sent);

		passed = passed && result.state != SELF_TEST_FAILED;
		add_row(report, &result);
		if (options->on_result) {
			options->on_result(options->result_context, &result);
		}
	}
	text_add_string(report, passed ? "\nAll counts are as expected.\n" :
					 "\nSome counts are not as expected.\n");
	return passed;
}

bool self_test_run(const struct self_test_options *options, struct text *report, bool *passed,
		   struct error *err)
{
	struct self_test test = { 0 };
	struct activity done = { 0 };
	struct counts before, after;
	bool measured = self_test_open(&test, err) &&
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
	return !report->failed || error_set(err, ERROR_NO_MEMORY, "no memory for the table");
}

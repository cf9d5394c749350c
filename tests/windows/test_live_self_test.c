/* SPDX-License-Identifier: MIT */
/*
 * The self-test against tests/fake_etw: the activity is a script, of which the fake reports what
 * the kernel would.
 */
#include "windows/self_test.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/etl_builder.h"
#include "tests/support/kernel_events.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { OURS = 100, CHILD = 300, BYTES = 4096 };

/* Events that the script leaves out or adds. */
struct script {
	bool no_file_writes;
	bool child_crashes;
	bool cut_file_event; /* too short to decode */
	unsigned lost;
	bool fails;
	bool stop; /* the program is requested to end */
};

static void report(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t id,
		   uint32_t status)
{
	const struct kernel_process process = { .id = id,
						.parent_id = 4,
						.exit_status = status,
						.image = "etw_exporter.exe",
						.command_line = "etw_exporter" };
	const struct kernel_thread thread = { .process_id = id, .id = id + 1 };

	event_process(k, opcode, &process);
	event_thread(k, opcode, &thread);
}

static void add_file(struct kernel_events *k, const struct script *script)
{
	const struct kernel_file file = {
		.irp = 1, .object = 0xf00, .key = 0xbee, .thread_id = OURS + 1
	};

	if (!script->no_file_writes) {
		event_file_transfer(k, OP_FILE_WRITE, &file, 0, BYTES, FILE_IO_CACHED_WRITE);
		event_file_transfer(k, OP_FILE_WRITE, &file, BYTES, BYTES, FILE_IO_CACHED_WRITE);
	}
	event_file_transfer(k, OP_FILE_WRITE, &file, 0, BYTES, FILE_IO_PAGING);
	event_file_transfer(k, OP_FILE_READ, &file, 0, BYTES, FILE_IO_CACHED_READ);
	event_file_info(k, OP_FILE_DELETE, &file, 1, 13);
}

static void add_connection(struct kernel_events *k)
{
	const struct kernel_network end = { .process_id = OURS, .size = BYTES };

	event_network(k, OP_NET_CONNECT, &end);
	event_network(k, OP_NET_ACCEPT, &end);
	event_network(k, OP_NET_SEND, &end);
	event_network(k, OP_NET_RECEIVE, &end);
}

/* A recording of what the kernel would report. */
static void write_events(const char *path, const struct script *script)
{
	struct etl_builder *builder =
		etl_builder_open(path, &(struct etl_builder_options){ 0 }, NULL);
	struct kernel_events k;

	assert_non_null(builder);
	kernel_events_init(&k, builder, 8);
	kernel_events_at(&k, 0, 1000, OURS, OURS + 1);
	report(&k, OP_DC_START, OURS, 259);
	report(&k, OP_START, CHILD, 259);
	report(&k, OP_STOP, CHILD, script->child_crashes ? 0xc0000005 : 0);
	add_file(&k, script);
	add_connection(&k);
	kernel_events_done(&k);
	assert_true(etl_builder_finish(builder, NULL));
	etl_builder_close(builder);
}

static void emit_cut_file_event(void)
{
	static const GUID file_class = {
		0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
	};
	const struct fake_etw_event event = { .provider = file_class,
					      .descriptor = { .Opcode = OP_FILE_WRITE,
							      .Version = 3 },
					      .classic = true,
					      .payload = "",
					      .payload_size = 1 };

	assert_int_equal(fake_etw_emit(&event), 1);
}

static bool act(void *context, struct activity *done, struct error *err)
{
	const struct fake_etw_play_options options = { .only = SELF_TEST_SESSION };
	const struct script *script = context;
	struct fake_etw_played played;
	char path[TEMPORARY_PATH_SIZE];

	if (script->fails) {
		return error_set(err, ERROR_SYSTEM, "a temporary file cannot be created");
	}
	temporary_path(path, "etl");
	write_events(path, script);
	assert_true(fake_etw_wait_consumer(SELF_TEST_SESSION, WAIT_MS));
	assert_true(fake_etw_play(path, &options, &played, err));
	remove(path);
	if (script->cut_file_event) {
		emit_cut_file_event();
	}
	fake_etw_lose_events(SELF_TEST_SESSION, script->lost);
	*done = (struct activity){ .processes = 1,
				   .written_bytes = 2 * BYTES,
				   .read_bytes = BYTES,
				   .deletes = 1,
				   .sent_bytes = BYTES,
				   .received_bytes = BYTES,
				   .connects = 1,
				   .accepts = 1 };
	return true;
}

static bool wait_a_little(void *context, uint64_t ms)
{
	const struct script *script = context;

	system_sleep_ms((unsigned)ms);
	return !script->stop;
}

/* What programs get beside the table. */
struct told {
	size_t results, not_ok;
	struct self_test_result last_not_ok; /* its texts are those of the table of rows */
	char moments[32];
};

static void on_result(void *context, const struct self_test_result *result)
{
	struct told *told = context;

	told->results++;
	if (result->state != SELF_TEST_OK) {
		told->not_ok++;
		told->last_not_ok = *result;
	}
}

static void on_page(void *context, const char *moment, const struct text *page)
{
	struct told *told = context;

	snprintf(told->moments + strlen(told->moments),
		 sizeof told->moments - strlen(told->moments), "%s ", moment);
	assert_non_null(strstr(page->data, "# TYPE etw_consumer_records_total counter\n"));
}

static bool run(struct script *script, struct text *report, bool *passed, struct told *told,
		struct error *err)
{
	const struct self_test_options options = { .act = act,
						   .context = script,
						   .process = "etw_exporter",
						   .wait = wait_a_little,
						   .idle_ms = WAIT_MS,
						   .duration_ms = 1,
						   .on_result = on_result,
						   .on_page = on_page,
						   .result_context = told };

	return self_test_run(&options, report, passed, err);
}

static int start(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	log_configure(LOG_WARNING, LOG_LOGFMT);
	return 0;
}

static int nothing_is_left(void **state)
{
	(void)state;
	return fake_etw_open_things().sessions == 0 && fake_etw_open_things().traces == 0 ? 0 : -1;
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		found++;
	}
	return found;
}

static void what_is_counted_as_done_passes(void **state)
{
	struct script script = { 0 };
	struct text report = { 0 };
	struct error err = { 0 };
	struct told told = { 0 };
	bool passed = false;

	(void)state;
	assert_true(run(&script, &report, &passed, &told, &err));
	print_message("%s", report.data);
	assert_true(passed);
	assert_null(strstr(report.data, "FAILED"));
	assert_non_null(strstr(report.data, "bytes written to a file"));
	assert_non_null(strstr(report.data, "own test events that came back"));
	assert_non_null(strstr(report.data, "\nAll counts are as expected.\n"));
	assert_string_equal(told.moments, "before after ");
	assert_int_equal(told.not_ok, 0);
	assert_int_equal(told.results, count(report.data, "  ok\n"));
	text_free(&report);
}

static void what_is_missing_fails_its_row_and_says_where_to_look(void **state)
{
	static const struct {
		const char *row, *look_at;
		struct script script;
	} cases[] = {
		{ "bytes written to a file", "opcode 68", { .no_file_writes = true } },
		{ "processes exited with status 0", "ExitStatus", { .child_crashes = true } },
		{ "events that did not decode",
		  "etw_decode_errors_total",
		  { .cut_file_event = true } },
		{ "events that Windows lost", "buffers", { .lost = 3 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct script script = cases[i].script;
		struct text report = { 0 };
		struct error err = { 0 };
		struct told told = { 0 };
		bool passed = true;

		fake_etw_reset(NULL);
		assert_true(run(&script, &report, &passed, &told, &err));
		assert_false(passed);
		if (count(report.data, "FAILED") != 1) {
			print_message("%s", report.data);
		}
		assert_int_equal(count(report.data, "FAILED"), 1);
		assert_non_null(strstr(report.data, "FAILED\n      check "));
		assert_int_equal(told.not_ok, 1);
		assert_int_equal(told.last_not_ok.state, SELF_TEST_FAILED);
		assert_string_equal(told.last_not_ok.what, cases[i].row);
		assert_non_null(strstr(told.last_not_ok.look_at, cases[i].look_at));
		assert_int_not_equal(told.last_not_ok.counted, told.last_not_ok.expected);
		text_free(&report);
	}
}

static void what_cannot_be_tried_is_one_sentence(void **state)
{
	static const struct {
		const char *sentence;
		struct script script;
		bool denied;
	} cases[] = {
		{ "a temporary file cannot be created", { .fails = true }, false },
		{ "the self-test was stopped", { .stop = true }, false },
		{ "session etw_exporter_self_test: access is denied (error 5): run as "
		  "administrator",
		  { 0 },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct script script = cases[i].script;
		struct text report = { 0 };
		struct error err = { 0 };
		struct told told = { 0 };
		bool passed;

		fake_etw_reset(&(struct fake_etw_options){
			.rights = cases[i].denied ? FAKE_ETW_NO_RIGHTS : FAKE_ETW_ADMINISTRATOR });
		assert_false(run(&script, &report, &passed, &told, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(report.size, 0);
		assert_int_equal(told.results, 0);
		assert_int_equal(fake_etw_open_things().sessions, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_counted_as_done_passes, start,
						nothing_is_left),
		cmocka_unit_test_setup_teardown(
			what_is_missing_fails_its_row_and_says_where_to_look, start,
			nothing_is_left),
		cmocka_unit_test_setup_teardown(what_cannot_be_tried_is_one_sentence, start,
						nothing_is_left),
	};

	return cmocka_run_group_tests_name("live_self_test", tests, NULL, NULL);
}

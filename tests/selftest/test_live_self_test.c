/* SPDX-License-Identifier: MIT */
/*
 * The self-test against tests/fake_etw: the activity is a script, of which the fake reports what
 * the kernel would.
 */
#include "selftest/self_test.h"

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "lib/etl/writer.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/kernel_events.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

/* Ids, and bytes of the files, no two alike. */
enum {
	OURS = 100,
	CHILD = 300,
	HOST = 500,
	FIRST_OF_TREE = 1000,
	TREE = 5,
	SERVICE_TAG = 7,
	PIECE = 4096,
	CACHED = 2 * PIECE,
	HELD = 3 * PIECE,
	THROUGH = 4 * PIECE,
	UNBUFFERED = 5 * PIECE,
	MAPPED = 6 * PIECE,
	LATER = 7 * PIECE,
	TREE_FILE = 1000,
	READ = PIECE,
	SENT_4 = 8 * PIECE,
	SENT_6 = 9 * PIECE,
};

/* What the machine reports otherwise than what was done, and how the self-test is run. */
struct script {
	bool no_cached_writes;
	bool no_held_name; /* what was open before the session started has no name */
	bool cached_writes_are_paging;
	bool no_through_paging;
	bool no_unbuffered;
	bool mapped_unwritten;
	bool drive_unknown;
	bool later_drive_unknown;
	bool tree_process_missing;
	bool tree_name_missing; /* of one file */
	bool child_crashes;
	bool no_read, no_delete;
	bool no_disk, no_service; /* that SystemConfig announces */
	bool no_ipv6_events;
	bool no_ipv4_receive;
	bool cut_file_event; /* too short to decode */
	unsigned lost;
	bool no_ipv6, no_volume; /* this machine has neither */
	bool lose_canaries, no_canaries;
	bool fails, fails_early;
	bool stop;            /* the program is requested to end */
	unsigned hold_for;    /* the consumer gets nothing for so many looks at the page */
	uint32_t patience_ms; /* 0: WAIT_MS */
	unsigned looks;       /* so far */
	bool acted;
};

static int64_t now; /* raw time of the next events */

static void next_moment(struct kernel_events *k, uint32_t process)
{
	now += 1000;
	kernel_events_at(k, 0, now, process, process + 1);
}

static void lifetime(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t id,
		     uint32_t status, const char *image)
{
	const struct kernel_process process = {
		.id = id, .parent_id = 4, .exit_status = status, .image = image, .command_line = ""
	};
	const struct kernel_thread thread = { .process_id = id,
					      .id = id + 1,
					      .sub_process_tag = id == HOST ? SERVICE_TAG : 0 };

	next_moment(k, id);
	if (opcode == OP_STOP) {
		event_thread(k, opcode, &thread);
		event_process(k, opcode, &process);
	} else {
		event_process(k, opcode, &process);
		event_thread(k, opcode, &thread);
	}
}

static struct kernel_file file_of(unsigned number, uint32_t process)
{
	return (struct kernel_file){ .irp = number,
				     .object = 0xf000 + number,
				     .key = 0xb000 + number,
				     .thread_id = process + 1 };
}

/* A file that is created and written by a process. path: behind the volume; NULL: no event names
 * it. */
static void write_file(struct kernel_events *k, unsigned number, uint32_t process, const char *path,
		       uint32_t bytes, uint32_t flags)
{
	const struct kernel_file file = file_of(number, process);

	next_moment(k, process);
	if (path) {
		event_file_create(k, &file, path, 0, 0);
	}
	for (uint32_t at = 0; at < bytes; at += PIECE) {
		event_file_transfer(k, OP_FILE_WRITE, &file, at,
				    bytes - at < PIECE ? bytes - at : PIECE, flags);
	}
}

#define FOLDER     "\\Device\\HarddiskVolume3\\Temp\\etw_self_test_17\\"
#define NEW_FOLDER "\\Device\\HarddiskVolume9\\etw_self_test_17\\"

enum { UNBUFFERED_WRITE = 0x60a01 }; /* IRP_NOCACHE */

static void add_files(struct kernel_events *k, const struct script *script)
{
	const struct kernel_file cached = file_of(1, OURS), held = file_of(2, OURS);

	write_file(k, 1, OURS, FOLDER "cached.dat", script->no_cached_writes ? 0 : CACHED,
		   script->cached_writes_are_paging ? FILE_IO_PAGING : FILE_IO_CACHED_WRITE);
	event_file_transfer(k, OP_FILE_WRITE, &cached, 0, PIECE, FILE_IO_PAGING);
	if (!script->no_read) {
		event_file_transfer(k, OP_FILE_READ, &cached, 0, READ, FILE_IO_CACHED_READ);
	}
	if (!script->no_delete) {
		event_file_info(k, OP_FILE_DELETE, &cached, 1, 13);
	}
	if (!script->no_held_name) {
		event_file_name(k, OP_FILE_NAME_RUNDOWN, held.object, FOLDER "held.dat");
		event_file_name(k, OP_FILE_NAME_RUNDOWN, held.key, FOLDER "held.dat");
	}
	write_file(k, 2, OURS, NULL, HELD, FILE_IO_CACHED_WRITE);
	write_file(k, 3, OURS, FOLDER "through.dat", THROUGH, FILE_IO_CACHED_WRITE);
	write_file(k, 3, OURS, NULL, script->no_through_paging ? 0 : THROUGH, FILE_IO_PAGING);
	write_file(k, 4, OURS, FOLDER "unbuffered.dat", script->no_unbuffered ? 0 : UNBUFFERED,
		   UNBUFFERED_WRITE);
	/* The memory manager writes whole pages, maybe more than once. */
	write_file(k, 5, OURS, FOLDER "mapped.dat", 0, 0);
	write_file(k, 5, 4, NULL, script->mapped_unwritten ? 0 : MAPPED + PIECE, FILE_IO_PAGING);
	if (!script->no_volume) {
		write_file(k, 6, OURS, NEW_FOLDER "later.dat", LATER, FILE_IO_CACHED_WRITE);
	}
}

static void add_tree(struct kernel_events *k, const struct script *script)
{
	for (unsigned i = 0; i < TREE; i++) {
		uint32_t id = FIRST_OF_TREE + 4 * i;
		bool nameless = script->tree_name_missing && i == 3;
		char path[128];

		if (script->tree_process_missing && i == 2) {
			continue;
		}
		snprintf(path, sizeof path, FOLDER "tree-1-%u.dat", i);
		lifetime(k, OP_START, id, 259, "etw_selftest.exe");
		write_file(k, 100 + i, id, nameless ? NULL : path, TREE_FILE, FILE_IO_CACHED_WRITE);
		lifetime(k, OP_STOP, id, 0, "etw_selftest.exe");
	}
}

static void add_connections(struct kernel_events *k, const struct script *script)
{
	static const enum network_opcode opcodes[] = { OP_NET_CONNECT, OP_NET_ACCEPT, OP_NET_SEND,
						       OP_NET_RECEIVE };

	next_moment(k, OURS);
	for (unsigned ipv6 = 0; ipv6 <= !script->no_ipv6; ipv6++) {
		const struct kernel_network end = { .ipv6 = ipv6,
						    .process_id = OURS,
						    .size = ipv6 ? SENT_6 : SENT_4 };

		for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
			if (!(ipv6 && script->no_ipv6_events) &&
			    !(!ipv6 && opcodes[i] == OP_NET_RECEIVE && script->no_ipv4_receive)) {
				event_network(k, opcodes[i], &end);
			}
		}
	}
}

/* What SystemConfig says of the machine. */
static void add_machine(struct kernel_events *k, const struct script *script)
{
	const struct kernel_physical_disk disk = {
		.bytes_per_sector = 512, .model = "Contoso Disk", .partitions = 1, .boot_drive = "C"
	};

	next_moment(k, HOST);
	if (!script->no_disk) {
		event_system_physical_disk(k, &disk);
	}
	if (!script->no_service) {
		etw_payload_u32(&k->payload, HOST);
		etw_payload_u32(&k->payload, 4); /* it runs */
		etw_payload_u32(&k->payload, SERVICE_TAG);
		etw_payload_wstring(&k->payload, "Dnscache");
		etw_payload_wstring(&k->payload, "DNS Client");
		etw_payload_wstring(&k->payload, "svchost.exe");
		event_add(k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 15, 2);
	}
}

/* A recording of what the kernel would report. */
static void write_events(const char *path, const struct script *script)
{
	struct etw_writer *writer = etw_writer_open(path, &(struct etw_writer_options){ 0 }, NULL);
	struct kernel_events k;

	assert_non_null(writer);
	now = 0;
	kernel_events_init(&k, writer, 8);
	lifetime(&k, OP_DC_START, OURS, 259, "etw_selftest.exe");
	lifetime(&k, OP_DC_START, HOST, 259, "svchost.exe");
	add_machine(&k, script);
	lifetime(&k, OP_START, CHILD, 259, "etw_selftest.exe");
	lifetime(&k, OP_STOP, CHILD, script->child_crashes ? 0xc0000005 : 0, "etw_selftest.exe");
	add_files(&k, script);
	add_tree(&k, script);
	add_connections(&k, script);
	write_file(&k, 900, HOST, "\\Device\\HarddiskVolume3\\Windows\\dns.log", PIECE,
		   FILE_IO_CACHED_WRITE);
	kernel_events_done(&k);
	assert_true(etw_writer_finish(writer, NULL));
	etw_writer_close(writer);
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

static struct activity what_was_done(const struct script *script)
{
	struct activity done = {
		.processes = 1 + TREE,
		.written_bytes = { [ACTIVITY_CACHED] = CACHED,
				   [ACTIVITY_HELD_FILE] = HELD,
				   [ACTIVITY_WRITE_THROUGH] = THROUGH,
				   [ACTIVITY_UNBUFFERED] = UNBUFFERED,
				   [ACTIVITY_MAPPED] = MAPPED,
				   [ACTIVITY_TREE] = TREE * TREE_FILE,
				   [ACTIVITY_LATER_VOLUME] = LATER },
		.read_bytes = READ,
		.deletes = 1,
		.ipv4 = { SENT_4, SENT_4, 1, 1 },
		.ipv6 = { SENT_6, SENT_6, 1, 1 },
		.volume = "C:",
		.later_volume = "Z:",
	};

	if (script->no_ipv6) {
		done.ipv6 = (struct activity_network){ 0 };
		strcpy(done.skipped[ACTIVITY_IPV6], "IPv6 is off");
	}
	if (script->no_volume) {
		done.written_bytes[ACTIVITY_LATER_VOLUME] = 0;
		strcpy(done.skipped[ACTIVITY_LATER_VOLUME], "no VHD can be attached");
	}
	return done;
}

static bool prepare(void *context, struct etw_error *err)
{
	const struct script *script = context;

	/* What exists before the start is opened before it. */
	assert_int_equal(fake_etw_open_things().sessions, 0);
	return !script->fails_early ||
	       error_set(err, ETW_ERROR_SYSTEM, "a file cannot be held open");
}

static bool act(void *context, struct activity *done, struct etw_error *err)
{
	const struct fake_etw_play_options options = { .only = SELF_TEST_SESSION };
	struct script *script = context;
	struct fake_etw_played played;
	char path[TEMPORARY_PATH_SIZE];

	if (script->fails) {
		return error_set(err, ETW_ERROR_SYSTEM, "a temporary file cannot be created");
	}
	temporary_path(path, "etl");
	write_events(path, script);
	assert_true(fake_etw_wait_consumer(SELF_TEST_SESSION, WAIT_MS));
	fake_etw_hold_consumer(SELF_TEST_SESSION, script->hold_for > 0);
	assert_true(fake_etw_play(path, &options, &played, err));
	remove(path);
	if (script->cut_file_event) {
		emit_cut_file_event();
	}
	if (script->lost > 0) {
		unsigned calls;

		/* The watcher reads the losses once a period with ControlTraceW(). The harvest
		 * calls that, too, but not twenty times. */
		fake_etw_lose_events(SELF_TEST_SESSION, script->lost);
		calls = fake_etw_calls("ControlTraceW");
		while (fake_etw_calls("ControlTraceW") < calls + 20) {
			system_sleep_ms(2);
		}
	}
	*done = what_was_done(script);
	script->acted = true;
	return true;
}

/*
 * Time passes faster here, and the flush timer fires each time. What the self-test waits for is
 * waited for, so that a busy machine changes nothing.
 */
static bool wait_a_little(void *context, uint64_t ms)
{
	struct script *script = context;
	bool needs_canaries = script->hold_for > 0 || script->lose_canaries;

	(void)ms;
	script->looks += script->acted;
	if (script->looks == 1 && script->hold_for == 0) {
		assert_true(fake_etw_drain(SELF_TEST_SESSION, WAIT_MS));
	}
	if (script->looks == 1 && script->lose_canaries) {
		/* All else has arrived, so the next buffer holds canaries alone. */
		fake_etw_lose_buffers(SELF_TEST_SESSION, 1);
	}
	if (script->looks == script->hold_for) {
		fake_etw_hold_consumer(SELF_TEST_SESSION, false);
	}
	if (script->looks >=
	    script->hold_for) { /* each flush takes a buffer until it is delivered */
		fake_etw_flush(SELF_TEST_SESSION);
	}
	system_sleep_ms(needs_canaries ? 10 : 2);
	return !script->stop;
}

/* What programs get beside the table. */
struct told {
	size_t results, failed, skipped;
	/* That failed; their texts are those of the table of rows, which stay. */
	struct self_test_result rows[32];
	char moments[32];
};

static void on_result(void *context, const struct self_test_result *result)
{
	struct told *told = context;

	told->results++;
	told->skipped += result->state == SELF_TEST_SKIPPED;
	if (result->state == SELF_TEST_FAILED && told->failed < 32) {
		told->rows[told->failed++] = *result;
	}
}

static void on_page(void *context, const char *moment, const struct etw_text *page)
{
	struct told *told = context;
	struct fake_etw_session session;

	/* Losses are normal while a session stops: the counts are taken before. */
	assert_true(fake_etw_session(SELF_TEST_SESSION, &session));
	fake_etw_hold_consumer(SELF_TEST_SESSION, false);
	snprintf(told->moments + strlen(told->moments),
		 sizeof told->moments - strlen(told->moments), "%s ", moment);
	assert_non_null(strstr(page->data, "# TYPE etw_consumer_records_total counter\n"));
}

/* A machine with two drives. */
static void reset(const struct script *script, enum fake_etw_rights rights)
{
	fake_etw_reset(&(struct fake_etw_options){ .rights = rights });
	if (script->no_canaries) {
		fake_etw_fail_always("EventWriteTransfer", ERROR_NOT_ENOUGH_MEMORY);
	}
	if (!script->drive_unknown) {
		fake_etw_add_volume("C:", "\\Device\\HarddiskVolume3");
	}
	if (!script->later_drive_unknown) {
		fake_etw_add_volume("Z:", "\\Device\\HarddiskVolume9");
	}
}

static bool run_self_test(struct script *script, struct etw_text *report, bool *passed,
			  struct told *told, struct etw_error *err)
{
	const struct self_test_options options = {
		.prepare = prepare,
		.act = act,
		.context = script,
		.process = "etw_selftest",
		.wait = wait_a_little,
		.idle_ms = 1, /* names come with the activity */
		.duration_ms = script->patience_ms > 0 ? script->patience_ms : WAIT_MS,
		.watch_ms = 40,
		.on_result = on_result,
		.on_page = on_page,
		.result_context = told,
	};

	return self_test_run(&options, report, passed, err);
}

static int start(void **state)
{
	(void)state;
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

struct outcome {
	struct etw_text report;
	struct told told;
	bool passed;
};

/* Runs a script that can be measured; the caller frees the report. */
static struct outcome measure(struct script *script)
{
	struct outcome outcome = { 0 };
	struct etw_error err = { 0 };

	reset(script, FAKE_ETW_ADMINISTRATOR);
	if (!run_self_test(script, &outcome.report, &outcome.passed, &outcome.told, &err)) {
		fail_msg("%s", err.text);
	}
	return outcome;
}

/* No line is wider than a console. */
static void assert_narrow(const char *report)
{
	for (const char *line = report; *line != '\0';) {
		size_t size = strcspn(line, "\n");

		if (size > 80) {
			print_message("%.*s\n", (int)size, line);
		}
		assert_true(size <= 80);
		line += size + (line[size] == '\n');
	}
}

static void what_is_counted_as_done_passes(void **state)
{
	struct script script = { 0 };
	struct outcome outcome = measure(&script);
	const char *report = outcome.report.data;

	(void)state;
	fputs(report, stdout);
	assert_true(outcome.passed);
	assert_null(strstr(report, "FAILED"));
	assert_non_null(strstr(report, "  bytes of a file opened earlier  "));
	assert_non_null(strstr(report, "\nAll counts are as expected"));
	assert_narrow(report);
	assert_string_equal(outcome.told.moments, "before after ");
	assert_int_equal(outcome.told.failed, 0);
	assert_int_equal(outcome.told.skipped, count(report, "  skipped\n"));
	assert_int_equal(outcome.told.results, count(report, "  ok\n") + outcome.told.skipped);
	text_free(&outcome.report);
}

#define TOTAL "bytes written to files"

static void what_is_missing_fails_its_rows_and_says_where_to_look(void **state)
{
	static const struct {
		const char *look_at; /* of the last row */
		struct script script;
		const char *rows[8]; /* that fail */
	} cases[] = {
		{ "QueryDosDevice",
		  { .no_cached_writes = true },
		  { TOTAL, "bytes of cached writes", "... under the volume of the file" } },
		{ "QueryDosDevice",
		  { .cached_writes_are_paging = true },
		  { TOTAL, "bytes of cached writes", "... under the volume of the file" } },
		{ "opcode 36",
		  { .no_held_name = true },
		  { "bytes of a file opened earlier", "names of open files announced" } },
		{ "opcode 36",
		  { .drive_unknown = true },
		  { "... under the volume of the file", "bytes of a file opened earlier" } },
		{ "IoFlags bit 2",
		  { .no_through_paging = true },
		  { "... written to disk by the cache" } },
		{ "opcode 68", { .no_unbuffered = true }, { TOTAL, "bytes of unbuffered writes" } },
		{ "System", { .mapped_unwritten = true }, { "bytes of a mapped file, paging" } },
		{ "TTID",
		  { .tree_process_missing = true },
		  { "processes started", "processes exited with status 0", TOTAL,
		    "bytes by the tree of processes" } },
		{ "TTID", { .tree_name_missing = true }, { "bytes by the tree of processes" } },
		{ "new drive",
		  { .later_drive_unknown = true },
		  { "bytes on a volume that came later" } },
		{ "ExitStatus", { .child_crashes = true }, { "processes exited with status 0" } },
		{ "opcode 67", { .no_read = true }, { "bytes read from a file" } },
		{ "opcode 70", { .no_delete = true }, { "files deleted" } },
		{ "SystemConfig opcode 11", { .no_disk = true }, { "disks described" } },
		{ "SubProcessTag", { .no_service = true }, { "events of services with a name" } },
		{ "opcode 11",
		  { .no_ipv4_receive = true },
		  { "TCP bytes received", "bytes received over IPv4" } },
		{ "opcode 28",
		  { .no_ipv6_events = true },
		  { "TCP bytes sent", "TCP bytes received", "TCP connections made",
		    "TCP connections accepted", "bytes sent over IPv6", "bytes received over IPv6",
		    "connections made over IPv6" } },
		{ "does not report",
		  { .lose_canaries = true, .patience_ms = 3000 },
		  { "own test events that came back" } },
		{ "not enabled",
		  { .no_canaries = true, .patience_ms = 3000 },
		  { "own test events that came back" } },
		{ "etw_decode_errors_total",
		  { .cut_file_event = true },
		  { "events that did not decode" } },
		{ "buffers", { .lost = 3 }, { "events that Windows lost" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct script script = cases[i].script;
		struct outcome outcome = measure(&script);
		const struct told *told = &outcome.told;
		size_t rows = 0;

		if (outcome.passed) {
			fputs(outcome.report.data, stdout);
			fail_msg("case %zu: no row failed", i);
		}
		for (; cases[i].rows[rows]; rows++) {
			if (rows >= told->failed ||
			    strcmp(told->rows[rows].what, cases[i].rows[rows]) != 0) {
				fputs(outcome.report.data, stdout);
				fail_msg("case %zu: not the row \"%s\"", i, cases[i].rows[rows]);
			}
			assert_int_not_equal(told->rows[rows].counted, told->rows[rows].expected);
		}
		if (told->failed != rows) {
			fputs(outcome.report.data, stdout);
		}
		assert_int_equal(told->failed, rows);
		assert_non_null(strstr(told->rows[rows - 1].look_at, cases[i].look_at));
		assert_int_equal(count(outcome.report.data, "  FAILED\n      check "), rows);
		assert_non_null(strstr(outcome.report.data, "\nSome counts are not as expected"));
		assert_narrow(outcome.report.data);
		text_free(&outcome.report);
	}
}

static void what_this_machine_cannot_do_is_skipped_with_the_reason(void **state)
{
	struct script script = { .no_ipv6 = true, .no_volume = true };
	struct outcome outcome = measure(&script);
	const char *report = outcome.report.data;

	(void)state;
	assert_true(outcome.passed);
	assert_int_equal(outcome.told.failed, 0);
	assert_int_equal(count(report, "  skipped\n      IPv6 is off\n"), 3);
	assert_int_equal(count(report, "  skipped\n      no VHD can be attached\n"), 1);
	assert_narrow(report);
	text_free(&outcome.report);
}

static void counts_wait_until_everything_has_been_delivered(void **state)
{
	struct script late = { .hold_for = 150 };
	struct script never = { .hold_for = UINT_MAX, .patience_ms = 3000 };
	struct outcome outcome = measure(&late);

	(void)state;
	assert_true(outcome.passed);
	assert_true(late.looks >= late.hold_for);
	text_free(&outcome.report);

	/* What does not arrive in time is not waited for. */
	outcome = measure(&never);
	assert_false(outcome.passed);
	assert_non_null(strstr(outcome.report.data, "  bytes of cached writes"));
	text_free(&outcome.report);
}

static void what_cannot_be_tried_is_one_sentence(void **state)
{
	static const struct {
		const char *sentence;
		struct script script;
		bool denied;
	} cases[] = {
		{ "a temporary file cannot be created", { .fails = true }, false },
		{ "a file cannot be held open", { .fails_early = true }, false },
		{ "the self-test was stopped", { .stop = true }, false },
		{ "session etw_exporter_self_test: access is denied (error 5): run as "
		  "administrator; if you do, look whether the account SYSTEM may write to "
		  "%SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup",
		  { 0 },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct script script = cases[i].script;
		struct etw_text report = { 0 };
		struct etw_error err = { 0 };
		struct told told = { 0 };
		bool passed;

		reset(&script, cases[i].denied ? FAKE_ETW_NO_RIGHTS : FAKE_ETW_ADMINISTRATOR);
		assert_false(run_self_test(&script, &report, &passed, &told, &err));
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
			what_is_missing_fails_its_rows_and_says_where_to_look, start,
			nothing_is_left),
		cmocka_unit_test_setup_teardown(
			what_this_machine_cannot_do_is_skipped_with_the_reason, start,
			nothing_is_left),
		cmocka_unit_test_setup_teardown(counts_wait_until_everything_has_been_delivered,
						start, nothing_is_left),
		cmocka_unit_test_setup_teardown(what_cannot_be_tried_is_one_sentence, start,
						nothing_is_left),
	};

	return cmocka_run_group_tests_name("live_self_test", tests, NULL, NULL);
}

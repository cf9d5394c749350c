/* SPDX-License-Identifier: MIT */
/*
 * The files of etw_selftest --out against tests/fake_etw: which there are, what the summary says of
 * failures, and that nothing is left behind.
 */
#include "selftest/kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/existing.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { PATH_SIZE = 256, FILE_MOST = 1 << 20 };

/* What the activity does, and when the program is requested to stop. */
struct script {
	bool fails;
	bool stop;
	bool loses; /* the session loses events */
	/* Hangs from the self-test on until a part has given up on it; NULL: none does. */
	struct fake_etw_provider *hangs;
	bool acted;
};

/* Disk 7 writes 4096 bytes (DiskIo_TypeGroup1: DiskNumber, IrpFlags, TransferSize, …). */
static void write_to_disk(void)
{
	static const GUID disk_class = {
		0x3d6fa8d4, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	static const uint32_t payload[14] = { 7, 0, 4096 };

	fake_etw_emit(&(struct fake_etw_event){ .provider = disk_class,
						.descriptor = { .Opcode = 11, .Version = 3 },
						.classic = true,
						.process_id = 4,
						.thread_id = 8,
						.payload = payload,
						.payload_size = sizeof payload });
}

static bool act(void *context, struct activity *done, struct etw_error *err)
{
	struct script *script = context;

	script->acted = true;
	write_to_disk();
	if (script->fails) {
		return error_set(err, ETW_ERROR_SYSTEM, "a temporary file cannot be created");
	}
	if (script->loses) {
		fake_etw_lose_events(SELF_TEST_SESSION, 3);
	}
	memset(done, 0, sizeof *done);
	return true;
}

static bool wait_a_little(void *context, uint64_t ms)
{
	const struct script *script = context;
	struct fake_etw_session session;

	/* The parts call this before they begin: a probe session that runs then is one that hangs.
	 */
	if (script->hangs && script->acted && ms == 0) {
		fake_etw_provider_block(script->hangs,
					!fake_etw_session("etw_exporter_probe_1", &session));
	}
	system_sleep_ms(ms > 0);
	return !script->stop;
}

/* A folder of its own for a test. */
struct test_folder {
	char folder[TEMPORARY_PATH_SIZE];
};

static bool remove_entry(void *folder, const char *name)
{
	char path[PATH_SIZE];

	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
		snprintf(path, sizeof path, "%s/%s", (const char *)folder, name);
		if (remove(path) != 0) { /* a folder */
			os_folder_list(path, remove_entry, path);
			system_remove_folder(path);
		}
	}
	return true;
}

static int set_up(void **state)
{
	static struct test_folder place;

	fake_etw_reset(NULL);
	existing_add();
	log_configure(LOG_WARNING, LOG_LOGFMT);
	temporary_path(place.folder, "kit");
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct test_folder *place = *state;
	struct fake_etw_open open = fake_etw_open_things();

	os_folder_list(place->folder, remove_entry, place->folder);
	system_remove_folder(place->folder);
	fake_etw_reset(NULL);
	return open.sessions == 0 && open.traces == 0 && open.registrations == 0 ? 0 : -1;
}

static bool run_limited(const struct test_folder *place, struct script *script, bool private_names,
			uint32_t call_ms, struct etw_text *report, struct etw_error *err)
{
	const struct kit_options options = { .folder = place->folder,
					     .private_names = private_names,
					     .call_ms = call_ms,
					     .kernel_ms = 1,
					     .self_test = { .act = act,
							    .context = script,
							    .process = "etw_selftest",
							    .wait = wait_a_little,
							    .idle_ms = 1,
							    .duration_ms = WAIT_MS,
							    .watch_ms = 40 } };
	bool passed = false;

	return kit_run(&options, report, &passed, err);
}

static bool run_kit(const struct test_folder *place, struct script *script, bool private_names,
		    struct etw_text *report, struct etw_error *err)
{
	return run_limited(place, script, private_names, 0, report, err);
}

/* The text of a file, to be freed; "" when it is not there. */
static char *text_of(const struct test_folder *place, const char *name)
{
	char path[PATH_SIZE];
	char *text = NULL;
	size_t size;

	snprintf(path, sizeof path, "%s/%s", place->folder, name);
	if (!file_read_whole(path, FILE_MOST, &text, &size, NULL)) {
		return calloc(1, 1);
	}
	text[size] = '\0';
	return text;
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++) {
		lines += *text == '\n';
	}
	return lines;
}

static void check_has(const struct test_folder *place, const char *name, const char *part)
{
	char *text = text_of(place, name);

	if (!strstr(text, part)) {
		print_message("%s has no \"%s\":\n%s\n", name, part, text);
		fail();
	}
	free(text);
}

static void check_has_not(const struct test_folder *place, const char *name, const char *part)
{
	char *text = text_of(place, name);

	assert_null(strstr(text, part));
	free(text);
}

/* What the kernel reports when all its flags come on: an image of a driver, and a minifilter's call
 * with a start. */
static void add_kernel_events(uint64_t base)
{
	static const GUID image = {
		0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 }
	};
	uint64_t payload[6] = { base };
	LARGE_INTEGER now;

	fake_etw_add_existing(&image, 3, payload, sizeof payload);
	QueryPerformanceCounter(&now);
	payload[0] = (uint64_t)now.QuadPart;
	fake_etw_add_rundown(&(struct fake_etw_event){ .provider = fake_file_class,
						       .descriptor = { .Opcode = 99, .Version = 3 },
						       .classic = true,
						       .process_id = 4,
						       .thread_id = 8,
						       .payload = payload,
						       .payload_size = sizeof payload });
}

static void every_part_leaves_its_file(void **state)
{
	static const struct {
		const char *name, *part;
	} files[] = {
		{ "summary.txt", "Confirmed (" },
		{ "summary.txt", "Self-test: " },
		{ "README.txt", "summary.txt" },
		{ "README.txt", "read this first" },
		{ "machine.csv", "windows,10.0.22621\n" },
		{ "machine.csv", "max_loggers,64\n" },
		{ "sessions-before.csv", "name,id,mode," },
		{ "sessions-before.csv", "Other Session" },
		{ "sessions-after.csv", "Other Session" },
		{ "session.csv", "ms,query_status," },
		{ "timeline.csv", "moment,STOP returned,,0," },
		{ "loggers.csv", "\nprivate,0,0x02000100," },
		{ "loggers.csv", "\nNT Kernel Logger,0," },
		{ "loggers.csv", "without rights," },
		{ "assumptions.txt", "S12   confirmed  EnableFlags of a session" },
		{ "assumptions.txt", "B5    no probe " },
		{ "self-test.txt", "bytes written to files" },
		{ "self-test.csv", "what,expected,counted," },
		{ "kernel-masks.csv", "StartTraceW with all flags,0,0x" },
		{ "kernel-masks.csv", "TraceSetInformation with all groups,0,0x" },
		{ "kernel-masks.csv", "events lost,0," },
		{ "kernel-counts.csv", ",FileIo,FltPostOpCompletion,99,3,system,48,1,1,1,0,0\n" },
		{ "summary.txt", "answered: W1e W11a; no event for: W11b\n" },
		{ "assumptions.txt", "W11a  confirmed " },
		{ "assumptions.txt", "address 0 in 0 of 2 images of drivers" },
		{ "disks.csv", "family,disk,bytes\netw_disk_written_bytes_total,7,4096\n" },
		{ "before.prom", "etw_session_up{" },
		{ "after.prom", "etw_session_up{" },
	};
	const struct test_folder *place = *state;
	struct script script = { .loses = true };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };
	char *summary;

	assert_true(fake_etw_other_start("Other Session", EVENT_TRACE_REAL_TIME_MODE, 0));
	add_kernel_events(0xfffff80a10000000);
	assert_true(run_kit(place, &script, false, &report, &err));
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		check_has(place, files[i].name, files[i].part);
	}
	/* What failed is in the summary, with what to check. */
	check_has(place, "summary.txt", "  events that Windows lost: 3, expected 0; check ");
	summary = text_of(place, "summary.txt");
	assert_true(lines_of(summary) <= 30);
	assert_non_null(strstr(report.data, summary));
	free(summary);
	text_free(&report);
	assert_true(fake_etw_other_stop("Other Session"));
}

static void a_refuted_assumption_stands_in_the_summary(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	fake_etw_otherwise("S15");
	assert_true(run_kit(place, &script, false, &report, &err));
	check_has(place, "summary.txt", "\n  S15 handles of sessions are not used again: QUERY by");
	check_has(place, "assumptions.txt", "S15   REFUTED ");
	text_free(&report);
}

/* As if Windows hid addresses from callers without SeDebugPrivilege. */
static void hidden_addresses_are_a_refuted_assumption(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	add_kernel_events(0);
	assert_true(run_kit(place, &script, false, &report, &err));
	check_has(place, "assumptions.txt", "W1e   REFUTED ");
	check_has(place, "summary.txt", "address 0 in 2 of 2 images of drivers");
	text_free(&report);
}

/* The recording has names of files, which no mask reaches. */
static void with_masked_names_the_recording_of_kernel_events_does_not_stay(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };
	char path[PATH_SIZE];

	add_kernel_events(0xfffff80a10000000);
	assert_true(run_kit(place, &script, true, &report, &err));
	check_has(place, "kernel-counts.csv", ",FileIo,FltPostOpCompletion,99,");
	snprintf(path, sizeof path, "%s/all-kernel.etl", place->folder);
	assert_null(os_file_open(path, NULL));
	text_free(&report);
}

/* Without rights nothing works, and each part says so. */
static void a_part_that_fails_does_not_lose_the_others(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_true(run_kit(place, &script, false, &report, &err));
	check_has(place, "summary.txt", "Self-test: it did not run, see below\n");
	check_has(place, "summary.txt",
		  "  self-test: session etw_exporter_self_test: access is denied");
	check_has(place, "loggers.csv", "\nprivate,5,,,,,,,,\n");
	check_has(place, "timeline.csv", "moment,StartTraceW returned,,5,");
	check_has(place, "session.csv", ",5,,,,");
	check_has(place, "kernel-masks.csv", "StartTraceW with all flags,5,");
	check_has(place, "summary.txt", "  all-kernel.etl: it was not recorded; ");
	check_has(place, "assumptions.txt", "W11a  not tested ");
	check_has(place, "assumptions.txt", "C1a   ");
	text_free(&report);
}

static void an_activity_that_fails_is_a_line(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { .fails = true };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	assert_true(run_kit(place, &script, false, &report, &err));
	check_has(place, "summary.txt", "  self-test: a temporary file cannot be created\n");
	check_has(place, "assumptions.txt", "S12   confirmed ");
	text_free(&report);
}

static void a_stop_leaves_what_was_collected(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { .stop = true };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	assert_true(run_kit(place, &script, false, &report, &err));
	check_has(place, "summary.txt", "The program was requested to stop before the end.\n");
	check_has(place, "assumptions.txt", "the program was requested to stop");
	check_has(place, "machine.csv", "windows,");
	assert_int_equal(fake_etw_calls("StartTraceW"), 0);
	text_free(&report);
}

/* A call that takes longer than it may: the timeline waits for a provider that hangs. */
static void what_hangs_loses_only_what_calls_event_tracing(void **state)
{
	enum { CALL_MS = 4000 };
	static const GUID rundown = {
		0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
	};
	const struct test_folder *place = *state;
	struct script script = { .hangs = fake_etw_provider_open(&rundown, NULL, NULL) };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	assert_true(run_limited(place, &script, false, CALL_MS, &report, &err));
	check_has(place, "summary.txt", "  timeline.csv: it did not end in time\n");
	check_has(place, "summary.txt", "  loggers.csv: an earlier call of event tracing hangs\n");
	check_has(place, "assumptions.txt", "an earlier call of event tracing hangs");
	check_has(place, "self-test.txt", "bytes written to files");
	check_has(place, "machine.csv", "version,");
	text_free(&report);
	fake_etw_provider_close(script.hangs);
}

static void names_are_masked_in_all_files(void **state)
{
	static const char *const names[] = { "sessions-before.csv", "sessions-after.csv" };
	const struct test_folder *place = *state;
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	assert_true(fake_etw_other_start("Trace of C:\\Merger; Initech\\Budget.xlsx",
					 EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(run_kit(place, &script, true, &report, &err));
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		check_has(place, names[i], "\"Trace of C:\\name1\\name2.xlsx\",");
		check_has_not(place, names[i], "Merger");
		check_has_not(place, names[i], "Initech");
	}
	check_has(place, "README.txt", "pseudonyms");
	text_free(&report);
	assert_true(fake_etw_other_stop("Trace of C:\\Merger; Initech\\Budget.xlsx"));
}

static void a_folder_with_files_gets_a_folder_for_each_run(void **state)
{
	const struct test_folder *place = *state;
	struct script script = { .stop = true };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		assert_true(run_kit(place, &script, false, &report, &err));
	}
	check_has(place, "summary.txt", "etw_exporter");
	check_has(place, "run-2/summary.txt", "etw_exporter");
	check_has(place, "run-3/summary.txt", "etw_exporter");
	assert_non_null(strstr(report.data, "/run-3\n"));
	text_free(&report);
}

static void a_folder_that_cannot_be_made_is_one_sentence(void **state)
{
	struct test_folder place = { "no-such-folder/below" };
	struct script script = { 0 };
	struct etw_text report = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_false(run_kit(&place, &script, false, &report, &err));
	assert_non_null(strstr(err.text, "no-such-folder/below"));
	assert_int_equal(fake_etw_calls("StartTraceW"), 0);
	assert_int_equal(report.size, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_part_leaves_its_file),
		TEST(a_refuted_assumption_stands_in_the_summary),
		TEST(hidden_addresses_are_a_refuted_assumption),
		TEST(with_masked_names_the_recording_of_kernel_events_does_not_stay),
		TEST(a_part_that_fails_does_not_lose_the_others),
		TEST(an_activity_that_fails_is_a_line),
		TEST(a_stop_leaves_what_was_collected),
		TEST(what_hangs_loses_only_what_calls_event_tracing),
		TEST(names_are_masked_in_all_files),
		TEST(a_folder_with_files_gets_a_folder_for_each_run),
		TEST(a_folder_that_cannot_be_made_is_one_sentence),
	};

	return cmocka_run_group_tests_name("live_kit", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Sessions that also write a recording: its replay counts what the session counted, it survives
 * what happens to the session, and it never costs more than the recording.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "etl/source_file.h"
#include "live/live_source.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/live/support/run.h"
#include "tests/live/support/side.h"
#include "tests/support/sample.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { LINES_MAX = 5000, MEBIBYTE = 1 << 20, BUFFER = 64 * 1024 };

/* Of the recordings of one test: the first, and those of sessions that were started again. */
static char paths[3][TEMPORARY_PATH_SIZE + 4];

/* A stem of its own for each test. */
static void name_recordings(void)
{
	char path[TEMPORARY_PATH_SIZE];

	temporary_path(path, "rec");
	for (unsigned i = 0; i < 3; i++) {
		const char *number[] = { "", ".2", ".3" };

		snprintf(paths[i], sizeof paths[i], "%.*s%s.etl", (int)(strlen(path) - 4), path,
			 number[i]);
	}
}

static bool exists(const char *path)
{
	struct os_file *file = os_file_open(path, NULL);

	os_file_close(file);
	return file != NULL;
}

static uint64_t size_of(const char *path)
{
	struct error err = { 0 };
	struct os_file *file = os_file_open(path, &err);
	uint64_t size;

	assert_string_equal(err.text, "");
	size = os_file_size(file);
	os_file_close(file);
	return size;
}

static int set_up(void **state)
{
	run_set_up_manual(state);
	name_recordings();
	((struct run *)*state)->options.recording_path = paths[0];
	((struct run *)*state)->options.buffer_size_bytes = BUFFER;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		remove(paths[i]);
	}
	return 0;
}

/* ---- what a recording has ---- */

struct replayed {
	uint64_t starts; /* of processes */
	int64_t last_raw;
	struct source_clock clock;
};

static void on_event(void *context, const struct event_record *record)
{
	struct replayed *replayed = context;

	if (memcmp(record->provider, &process_class, sizeof *record->provider) == 0) {
		replayed->starts++;
		replayed->last_raw = record->raw_time;
	}
}

static struct replayed replay(const char *path)
{
	const struct source_file_options options = { .single_pass = true };
	struct replayed replayed = { 0 };
	const struct event_sink sink = { .context = &replayed, .on_event = on_event };
	struct error err = { 0 };
	struct source *source = source_open_file(path, &options, &err);

	assert_string_equal(err.text, "");
	assert_true(source_run(source, &sink, &err));
	replayed.clock = source_facts(source)->clock;
	source_close(source);
	return replayed;
}

/* Emits, and waits until the session has delivered them. */
static void emit_and_wait(struct run *run, unsigned count)
{
	uint64_t before;

	os_mutex_lock(&run->lock);
	before = run->events;
	os_mutex_unlock(&run->lock);
	for (unsigned i = 0; i < count; i++) {
		emit_process_start(8 + 4 * i);
	}
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	assert_true(run_wait(run, &run->events, before + count));
}

/* Of a session that has stopped. */
static unsigned count_reports(const struct run *run, enum session_event event)
{
	unsigned count = 0;

	for (size_t i = 0; i < run->session_event_count; i++) {
		count += run->session_events[i] == event;
	}
	return count;
}

/* ---- tests ---- */

static void a_recording_has_what_the_session_delivered(void **state)
{
	struct run *run = *state;
	struct replayed replayed;
	char sentence[200];

	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 3);
	run_stop(run);
	snprintf(sentence, sizeof sentence, "started, recording to %s", paths[0]);
	assert_string_equal(run_sentence(run, SESSION_STARTED), sentence);
	replayed = replay(paths[0]);
	assert_int_equal(replayed.starts, 3);
	assert_int_equal(replayed.last_raw, run->record.raw_time); /* the counter, not converted */
	assert_int_equal(replayed.clock.type, CLOCK_QPC);
	run_end(run);
}

static void what_comes_at_the_stop_is_recorded(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	emit_process_start(12); /* still in a buffer */
	run_stop(run);
	assert_int_equal(replay(paths[0]).starts, 2);
	run_end(run);
}

/* A session that a crash left behind, with the file that the next one wants. */
static void leave_session(const char *name, const char *path)
{
	struct {
		EVENT_TRACE_PROPERTIES base;
		WCHAR name[64];
		WCHAR file[TEMPORARY_PATH_SIZE + 4];
	} properties = { .base = { .Wnode = { .BufferSize = sizeof properties,
					      .Flags = WNODE_FLAG_TRACED_GUID },
				   .LogFileMode = EVENT_TRACE_REAL_TIME_MODE |
						  EVENT_TRACE_FILE_MODE_SEQUENTIAL } };
	WCHAR wide[64];
	TRACEHANDLE handle;

	properties.base.LoggerNameOffset = (ULONG)((char *)properties.name - (char *)&properties);
	properties.base.LogFileNameOffset = (ULONG)((char *)properties.file - (char *)&properties);
	for (size_t i = 0; i <= strlen(path); i++) {
		properties.file[i] = (WCHAR)path[i];
	}
	for (size_t i = 0; i <= strlen(name); i++) {
		wide[i] = (WCHAR)name[i];
	}
	assert_int_equal(StartTraceW(&handle, wide, &properties.base), 0);
}

static void a_session_that_was_left_over_gives_its_file_back(void **state)
{
	struct run *run = *state;

	leave_session("etw_test", paths[0]);
	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	run_stop(run);
	assert_int_equal(count_reports(run, SESSION_STALE), 1);
	assert_int_equal(count_reports(run, SESSION_RECORDING_ENDED), 0);
	assert_int_equal(replay(paths[0]).starts, 1);
	run_end(run);
}

static void a_file_of_another_session_is_left_to_it(void **state)
{
	struct run *run = *state;

	leave_session("other", paths[0]);
	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	run_stop(run);
	assert_string_equal(
		run_sentence(run, SESSION_RECORDING_ENDED),
		"its recording cannot be written: the name is not valid, or another session "
		"writes that file (error 161)");
	assert_true(fake_etw_other_stop("other"));
	assert_int_equal(replay(paths[0]).starts, 0);
	run_end(run);
}

static void each_start_of_the_session_has_a_file_of_its_own(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	for (unsigned i = 0; i < 2; i++) {
		emit_and_wait(run, i + 1);
		assert_true(fake_etw_other_stop("etw_test"));
		assert_true(run_wait(run, &run->restarts, i + 1));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	}
	emit_and_wait(run, 3);
	run_stop(run);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(replay(paths[i]).starts, i + 1);
	}
	run_end(run);
}

static void a_path_without_ending_gets_its_number_at_the_end(void **state)
{
	struct run *run = *state;

	*strrchr(paths[0], '.') = '\0';
	*strrchr(paths[1], '.') = '\0';
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait(run, &run->restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	run_stop(run);
	assert_true(exists(paths[0]));
	assert_true(exists(paths[1]));
	run_end(run);
}

static void a_path_may_have_any_characters(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct run *run = *state;

	temporary_path(path, "J\xc3\xbcrgen-\xf0\x9f\x93\x88.etl");
	run->options.recording_path = path;
	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	run_stop(run);
	assert_int_equal(replay(path).starts, 1);
	assert_true(system_remove_file(path));
	run_end(run);
}

static void a_restored_session_goes_on_in_its_file(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	assert_true(fake_etw_other_set_realtime("etw_test", false));
	assert_true(run_wait_session_event(run, SESSION_RESTORED));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_and_wait(run, 2);
	run_stop(run);
	assert_int_equal(replay(paths[0]).starts, 3);
	assert_false(exists(paths[1]));
	run_end(run);
}

static void a_required_file_that_cannot_be_written_is_an_error(void **state)
{
	static const char path[] = "./no-such-folder/recording.etl";
	struct run *run = *state;
	struct error err = { 0 };

	run->options.recording_path = path;
	run->options.recording_required = true;
	assert_null(source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session etw_test: it cannot be recorded in "
				      "./no-such-folder/recording.etl: there is no such folder "
				      "(error 3)");
	run_end(run);
}

/* For any reason: the folder is missing, or Windows does not record such a session. */
static void a_session_runs_without_a_file_that_cannot_be_written(void **state)
{
	static const struct fake_etw_options refusing = { .manual_flush = true,
							  .no_log_in_real_time = true };
	struct run *run = *state;

	fake_etw_reset(&refusing);
	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 2);
	run_stop(run);
	assert_string_equal(run_sentence(run, SESSION_RECORDING_ENDED),
			    "its recording cannot be written: a parameter is not valid (error 87)");
	assert_string_equal(run_sentence(run, SESSION_STARTED), "started");
	assert_int_equal(count_reports(run, SESSION_RECORDING_ENDED), 1);
	assert_false(exists(paths[0]));
	run_end(run);
}

/* An error of the session is reported as one. */
static void a_session_that_cannot_be_started_is_not_blamed_on_its_file(void **state)
{
	struct run *run = *state;
	struct error err = { 0 };

	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_null(source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session etw_test: access is denied (error 5): run as "
				      "administrator");
	assert_false(exists(paths[0]));
	run_end(run);
}

static void later_the_session_goes_on_without_its_file(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	fake_etw_set_log_disk(BUFFER); /* the disk is full now */
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait_session_event(run, SESSION_RECORDING_ENDED));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_and_wait(run, 2);
	run_stop(run);
	assert_string_equal(run_sentence(run, SESSION_RECORDING_ENDED),
			    "its next recording cannot be written: the disk has not enough space; "
			    "Windows needs 200 MB besides (error 112)");
	assert_int_equal(replay(paths[0]).starts, 1);
	assert_false(exists(paths[1]));
	run_end(run);
}

static void paths_that_cannot_be_files_are_refused(void **state)
{
	static char long_path[2000];
	static const char *const bad[] = { "", "\xff.etl", long_path };
	struct run *run = *state;

	memset(long_path, 'x', sizeof long_path - 1);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = { 0 };

		run->options.recording_path = bad[i];
		assert_null(source_open_live(&run->options, &err));
		assert_int_equal(err.code, ERROR_CONFIG);
		assert_string_equal(err.text, "session etw_test: the path of its recording is "
					      "empty, not UTF-8 or too long");
	}
	assert_int_equal(fake_etw_calls("StartTraceW"), 0);
	run_end(run);
}

/* Eight of them fill a buffer; waits until the consumer has made room. */
static void emit_large(unsigned count)
{
	static const char payload[8 * 1024 - 200];
	const struct fake_etw_event event = { .provider = process_class,
					      .descriptor = { .Opcode = 1, .Version = 4 },
					      .classic = true,
					      .payload = payload,
					      .payload_size = sizeof payload };

	for (unsigned i = 0; i < count; i++) {
		assert_true(fake_etw_emit_waiting(&event, WAIT_MS));
	}
}

/* The machine ends the session with its file. */
static void a_full_recording_does_not_end_the_metrics(void **state)
{
	struct run *run = *state;

	run->options.recording_max_bytes = MEBIBYTE;
	run_start_and_wait(run, &run->options);
	emit_large(20 * 8); /* 15 buffers fit, behind the one of the header */
	assert_true(run_wait_session_event(run, SESSION_LOST));
	assert_true(run_wait(run, &run->restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_and_wait(run, 2);
	run_stop(run);
	assert_int_equal(count_reports(run, SESSION_RECORDING_ENDED), 1);
	assert_string_equal(run_sentence(run, SESSION_RECORDING_ENDED),
			    "its recording has reached its maximum of 1 MiB");
	assert_string_equal(run_sentence(run, SESSION_LOST),
			    "its recording is full, or another program stopped it");
	assert_int_equal(size_of(paths[0]), MEBIBYTE);
	assert_false(exists(paths[1]));
	run_end(run);
}

/* The machine ends the file alone; the watcher sees it. */
static void a_recording_that_ends_alone_is_reported(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .full_log_ends_alone = true };
	struct run *run = *state;

	fake_etw_reset(&machine);
	run->options.recording_max_bytes = MEBIBYTE;
	run_start_and_wait(run, &run->options);
	emit_large(20 * 8);
	assert_true(run_wait_session_event(run, SESSION_RECORDING_ENDED));
	emit_and_wait(run, 2);
	run_stop(run);
	assert_int_equal(run->restarts, 0);
	assert_int_equal(count_reports(run, SESSION_RECORDING_ENDED), 1);
	assert_int_equal(size_of(paths[0]), MEBIBYTE);
	run_end(run);
}

/* A session that ends again and again does not fill the disk. */
static void the_maximum_is_that_of_all_files(void **state)
{
	struct run *run = *state;

	run->options.recording_max_bytes = 3 * MEBIBYTE;
	run_start_and_wait(run, &run->options);
	emit_large(20 * 8); /* 21 buffers with that of the header */
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait(run, &run->restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_large(20 * 8);
	assert_true(run_wait_session_event(run, SESSION_RECORDING_ENDED));
	run_stop(run);
	assert_int_equal(size_of(paths[0]), 21 * BUFFER);
	assert_int_equal(size_of(paths[1]), MEBIBYTE); /* of 48 - 21 buffers 16 are whole ones */
	assert_false(exists(paths[2]));
	run_end(run);
}

/* No maximum in practice; MaximumFileSize has 32 bits. */
static void a_maximum_may_be_huge(void **state)
{
	struct run *run = *state;

	run->options.recording_max_bytes = UINT64_MAX;
	run_start_and_wait(run, &run->options);
	emit_and_wait(run, 1);
	run_stop(run);
	assert_int_equal(count_reports(run, SESSION_RECORDING_ENDED), 0);
	assert_int_equal(replay(paths[0]).starts, 1);
	run_end(run);
}

/* ---- the program ---- */

static void open_recorded(struct side *side, const char *config)
{
	struct error err = { 0 };

	open_side(side, config);
	program_run(&side->program, (struct runner_options){ .watch_ms = 3600000,
							     .retry_ms = 10,
							     .recording_path = paths[0] });
	side->runner = side->program.runner;
	assert_true(runner_start(side->runner, &err));
}

static void the_first_session_of_the_program_is_recorded(void **state)
{
	struct fake_etw_session session;
	struct side side;

	run_reset_manual(state);
	name_recordings();
	open_recorded(&side,
		      "sessions: { one: {}, two: { logger: user, providers: [ '" SOME_PROVIDER
		      "' ] } }\n");
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.mode & EVENT_TRACE_FILE_MODE_SEQUENTIAL, 1);
	assert_true(fake_etw_session("two", &session));
	assert_int_equal(session.mode & EVENT_TRACE_FILE_MODE_SEQUENTIAL, 0);
	end_live(&side);
	assert_true(exists(paths[0]));
	assert_false(exists(paths[1]));
	tear_down(state);
}

/* ---- live equals the replay of the recording ---- */

/* Facts of sessions, of our own process, of how tables were filled. */
static bool is_compared(const char *line)
{
	static const char *const left_out[] = { "#",
						"etw_session_",
						"etw_replay_",
						"process_",
						"etw_exporter_config_",
						"etw_exporter_scrape",
						"etw_exporter_series",
						"etw_consumer_",
						"etw_schema_cache_",
						"etw_state_" };

	for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
		if (strncmp(line, left_out[i], strlen(left_out[i])) == 0) {
			return false;
		}
	}
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The samples of a page, sorted; the page is cut into lines. */
static size_t read_samples(struct text *page, char *lines[LINES_MAX])
{
	size_t count = 0;

	for (char *line = strtok(page->data, "\n"); line; line = strtok(NULL, "\n")) {
		if (is_compared(line)) {
			assert_true(count < LINES_MAX);
			lines[count++] = line;
		}
	}
	qsort(lines, count, sizeof lines[0], compare_lines);
	return count;
}

static void assert_same_samples(struct side *live, struct side *replayed)
{
	static char *ours[LINES_MAX], *theirs[LINES_MAX];
	size_t count = read_samples(&live->page, ours);
	size_t other = read_samples(&replayed->page, theirs);

	for (size_t i = 0; i < count && i < other; i++) {
		assert_string_equal(ours[i], theirs[i]);
	}
	assert_int_equal(count, other);
	assert_true(count > 50);
}

/* A machine plays a recording; the session records it again. */
static void assert_replays_as_it_ran(const char *played_path)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .changes_unreported = true };
	/* The events of the program's own provider belong to one run. */
	static const char config[] = "filters: { events: [ { event: EventTrace/* }, "
				     "{ event: '{07f70771-7647-53cf-f7a8-a8c8660b66d7}/*' } ] }\n"
				     "sessions: { one: {} }\n";
	const struct fake_etw_play_options options = { .only = "one" };
	struct fake_etw_played played;
	struct side live, replayed;
	struct error err = { 0 };

	print_message("  %s\n", os_path_name(played_path));
	name_recordings();
	fake_etw_reset(&machine);
	assert_true(fake_etw_clock_like(played_path, NULL));
	open_recorded(&live, config);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	assert_true(fake_etw_play(played_path, &options, &played, &err));
	assert_true(played.emitted > 0);
	assert_true(fake_etw_drain("one", WAIT_MS));
	stop_live(&live);
	take_page(&live);
	open_side(&replayed, config);
	run_replay(&replayed, paths[0], true);
	assert_same_samples(&live, &replayed);
	close_side(&replayed);
	end_live(&live);
	tear_down(NULL);
}

static void the_sample_is_recorded_as_it_is_counted(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	struct error err = { 0 };

	(void)state;
	temporary_path(path, "etl");
	assert_true(sample_write(path, NULL, &err));
	assert_replays_as_it_ran(path);
	remove(path);
}

static bool try_recording(void *context, const char *name)
{
	const char *ending = strrchr(name, '.');
	unsigned *recordings = context;
	char path[1024];

	if (ending && strcmp(ending, ".etl") == 0) {
		++*recordings;
		snprintf(path, sizeof path, "%s/../shared/traces/%s", SOURCE_DIR, name);
		assert_replays_as_it_ran(path);
	}
	return true;
}

/* Where they are at hand. */
static void every_recording_is_recorded_as_it_is_counted(void **state)
{
	unsigned recordings = 0;

	(void)state;
	assert_true(os_folder_list(SOURCE_DIR "/../shared/traces", try_recording, &recordings));
	if (recordings == 0) {
		skip();
	}
}

int main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RUN(a_recording_has_what_the_session_delivered),
		RUN(what_comes_at_the_stop_is_recorded),
		RUN(a_session_that_was_left_over_gives_its_file_back),
		RUN(a_file_of_another_session_is_left_to_it),
		RUN(each_start_of_the_session_has_a_file_of_its_own),
		RUN(a_path_without_ending_gets_its_number_at_the_end),
		RUN(a_path_may_have_any_characters),
		RUN(a_restored_session_goes_on_in_its_file),
		RUN(a_required_file_that_cannot_be_written_is_an_error),
		RUN(a_session_runs_without_a_file_that_cannot_be_written),
		RUN(a_session_that_cannot_be_started_is_not_blamed_on_its_file),
		RUN(later_the_session_goes_on_without_its_file),
		RUN(paths_that_cannot_be_files_are_refused),
		RUN(a_full_recording_does_not_end_the_metrics),
		RUN(a_recording_that_ends_alone_is_reported),
		RUN(the_maximum_is_that_of_all_files),
		RUN(a_maximum_may_be_huge),
		cmocka_unit_test(the_first_session_of_the_program_is_recorded),
		cmocka_unit_test(the_sample_is_recorded_as_it_is_counted),
		cmocka_unit_test(every_recording_is_recorded_as_it_is_counted),
	};
	int failed = cmocka_run_group_tests_name("live_recording", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

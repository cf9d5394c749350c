/* SPDX-License-Identifier: MIT */
/*
 * Live sessions through the whole program, against tests/fake_etw: what health shows of them, when
 * names are known, restarts, refusals. What they count is compared with replays in
 * test_live_replay.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/temporary.h"

static void emit_process(uint8_t opcode, uint32_t pid)
{
	/* Process, version 4, of a 64-bit kernel: id at 8, the rest too short to name it. */
	uint8_t payload[12] = { [8] = (uint8_t)pid };
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = opcode, .Version = 4 },
					.classic = true,
					.process_id = pid,
					.payload = payload,
					.payload_size = sizeof payload };

	fake_etw_emit(&event);
}

static void health_shows_the_session(void **state)
{
	struct side side;

	(void)state;
	start_live(&side, "");
	fake_etw_lose_events("etw_exporter", 3);
	for (int i = 0; i < 5; i++) {
		emit_process(1, 8);
	}
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	take_page(&side);
	assert_non_null(strstr(side.page.data,
			       "\netw_session_info{session=\"etw_exporter\",kind=\"system_logger\","
			       "clock=\"qpc\",mode=\"real_time,persist_on_hybrid_shutdown,"
			       "system_logger,independent\"} 1\n"));
	assert_null(strstr(side.page.data, "etw_replay_"));
	WAIT_UNTIL(value_of(&side, "\netw_session_events_lost_total{session=\"etw_exporter\"} ") ==
		   3);
	assert_int_equal(value_of(&side, "\netw_session_up{session=\"etw_exporter\"} "), 1);
	assert_int_equal(value_of(&side, "\netw_session_buffers_max{session=\"etw_exporter\"} "),
			 128);
	assert_int_equal(value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
					 "reason=\"stopped\"} "),
			 0);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 5);
	stop_live(&side);
	assert_int_equal(value_of(&side, "\netw_session_up{session=\"etw_exporter\"} "), 0);
	end_live(&side);
}

static void canaries_stand_beside_the_other_metrics(void **state)
{
	struct side side;
	uint64_t received;

	(void)state;
	open_side(&side, "sessions: { noise: { logger: user, providers: "
			 "['" SOME_PROVIDER "'] } }\n");
	fake_etw_add_process(GetCurrentProcessId(), 4, "etw_exporter.exe");
	open_live(&side);
	/* At 0 before anything was flushed. */
	assert_int_equal(value_of(&side, "\netw_session_canary_delay_seconds_count"
					 "{session=\"noise\"} "),
			 0);
	assert_int_equal(value_of(&side, "\netw_session_canary_received_total{session=\"noise\"} "),
			 0);
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	WAIT_UNTIL(value_of(&side, "\netw_session_canary_sent_total{session=\"noise\"} ") >= 3);
	stop_live(&side);
	received = value_of(&side, "\netw_session_canary_received_total{session=\"noise\"} ");
	assert_true(received >= 3);
	assert_int_equal(value_of(&side, "\netw_session_canary_sent_total{session=\"noise\"} "),
			 received);
	assert_int_equal(value_of(&side, "\netw_session_canary_delay_seconds_count"
					 "{session=\"noise\"} "),
			 received);
	/* Events like any other. */
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"noise\",provider="
					 "\"etw_exporter\"} "),
			 received);
	assert_int_equal(value_of(&side, "\netw_events_total{process=\"etw_exporter\",provider="
					 "\"etw_exporter\"} "),
			 received + value_of(&side, "\netw_session_canary_received_total{session="
						    "\"etw_exporter\"} "));
	end_live(&side);
}

/* The watcher does not look before the end: the statistics are those that the stop returns. */
static void lost_buffers_are_counted_and_so_are_their_notices(void **state)
{
	struct side side;

	(void)state;
	open_side(&side, "");
	open_live_unwatched(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	fake_etw_lose_buffers("etw_exporter", 1);
	emit_process(1, 8);
	fake_etw_flush("etw_exporter");
	emit_process(1, 9);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_lost_notifications_total{session="
					 "\"etw_exporter\",type=\"buffer\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	stop_live(&side);
	assert_int_equal(value_of(&side, "\netw_session_realtime_buffers_lost_total{session="
					 "\"etw_exporter\"} "),
			 1);
	assert_true(
		value_of(&side, "\netw_session_buffers_written_total{session=\"etw_exporter\"} ") >=
		1);
	end_live(&side);
}

/* An event of a minute ago, by the clock of the session. */
static void lag_and_busy_time_are_shown(void **state)
{
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.timed = true };
	LARGE_INTEGER now, frequency;
	struct side side;

	(void)state;
	open_side(&side, "");
	open_live_unwatched(&side); /* so that no canary is newer than the event */
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	QueryPerformanceCounter(&now);
	QueryPerformanceFrequency(&frequency);
	event.raw_time = now.QuadPart - 60 * frequency.QuadPart;
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	/* Shown once the consumer is through with the buffer. */
	WAIT_UNTIL(value_of(&side, "\netw_consumer_lag_seconds{session=\"etw_exporter\"} ") >= 60);
	assert_non_null(strstr(side.page.data,
			       "\netw_consumer_busy_seconds_total{session=\"etw_exporter\"} "));
	end_live(&side);
}

static void processes_that_no_event_names_are_named_by_the_snapshot(void **state)
{
	struct side side;

	(void)state;
	fake_etw_add_process(8, 4, "notepad.exe");
	start_live(&side, "");
	emit_process(1, 8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"notepad\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	end_live(&side);
}

/* DiskIo/Write, version 3: its header names no process, its payload the thread that issued it. */
static void disk_events_have_their_process_from_the_first_one(void **state)
{
	static const GUID disk_class = {
		0x3d6fa8d4, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	uint8_t payload[52] = { [9] = 0x10, [48] = 20 }; /* TransferSize 4096, IssuingThreadId 20 */
	const struct fake_etw_event event = { .provider = disk_class,
					      .descriptor = { .Opcode = 11, .Version = 3 },
					      .classic = true,
					      .process_id = UINT32_MAX,
					      .thread_id = UINT32_MAX,
					      .payload = payload,
					      .payload_size = sizeof payload };
	struct side side;

	(void)state;
	fake_etw_add_process(8, 4, "notepad.exe");
	fake_etw_add_thread(20, 8);
	start_live(&side, "");
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side,
				  "\netw_disk_process_written_bytes_total{process=\"notepad\","
				  "provider=\"Windows Kernel\",disk=\"0\"} "),
			 4096);
	end_live(&side);
}

static void ready_when_every_process_found_was_seen(void **state)
{
	struct side side;

	(void)state;
	fake_etw_add_process(8, 4, "notepad.exe");
	start_live(&side, "sessions: { etw_exporter: { flush: 1h } }\n");
	assert_false(runner_ready(side.runner));
	emit_process(3, 8);
	emit_process(3, 4);
	WAIT_UNTIL((emit_process(3, 12), /* another process of the machine */
		    fake_etw_drain("etw_exporter", WAIT_MS) && runner_ready(side.runner)));
	end_live(&side);
}

static void ready_after_one_flush_interval(void **state)
{
	uint64_t begin = os_monotonic_ns();
	struct side side;

	(void)state;
	fake_etw_add_process(8, 4, "notepad.exe");
	start_live(&side, ""); /* flushes every second */
	WAIT_UNTIL(runner_ready(side.runner));
	assert_true(os_monotonic_ns() - begin >= 1000000000);
	end_live(&side);
}

static void a_restart_forgets_what_ran_and_keeps_what_was_counted(void **state)
{
	struct side side;

	(void)state;
	start_live(&side, "");
	emit_process(1, 8);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_instances{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	assert_true(fake_etw_other_stop("etw_exporter"));
	WAIT_UNTIL(value_of(&side, "\netw_session_restarts_total{session=\"etw_exporter\","
				   "reason=\"stopped\"} ") != 0);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	emit_process(1, 9);
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_instances{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 2);
	end_live(&side);
}

static void user_sessions_run_beside_the_kernel_session(void **state)
{
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Id = 7, .Level = 4 } };
	struct side side;

	(void)state;
	start_live(&side, "sessions: { noise: { logger: user, providers: "
			  "['" SOME_PROVIDER "'] } }\n");
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	assert_int_equal(fake_etw_emit(&event), 1);
	emit_process(1, 8);
	assert_true(fake_etw_drain("noise", WAIT_MS));
	assert_true(fake_etw_drain("etw_exporter", WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"noise\",provider="
					 "\"11111111-2222-3333-4444-555555555555\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_consumer_events_total{session=\"etw_exporter\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	end_live(&side);
}

/* As many as Windows runs at a time ("Event Tracing Sessions", Microsoft Learn). */
enum { SESSIONS = 64 };

/* Each session has a provider of its own: Windows gives the events of one to eight sessions. */
static void add_sessions(struct etw_text *config, unsigned count)
{
	text_add_string(config, "kernel_events: off\nsessions:\n");
	for (unsigned i = 0; i < count; i++) {
		text_add_format(config,
				"  noise_%02u: { logger: user, providers: "
				"['{%08x-2222-3333-4444-555555555555}'] }\n",
				i, i + 1);
	}
	assert_false(config->failed);
}

static void as_many_sessions_run_as_windows_has(void **state)
{
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Id = 7, .Level = 4 } };
	struct etw_text config = { 0 };
	struct side side;
	char line[160];

	(void)state;
	add_sessions(&config, SESSIONS);
	open_side(&side, config.data);
	open_live_unwatched(&side);
	for (unsigned i = 0; i < SESSIONS; i++) {
		snprintf(line, sizeof line, "noise_%02u", i);
		assert_true(fake_etw_wait_consumer(line, WAIT_MS));
	}
	for (unsigned i = 0; i < SESSIONS; i++) {
		event.provider.Data1 = i + 1;
		for (unsigned events = 0; events <= i; events++) {
			assert_int_equal(fake_etw_emit(&event), 1);
		}
	}
	for (unsigned i = 0; i < SESSIONS; i++) {
		snprintf(line, sizeof line, "noise_%02u", i);
		assert_true(fake_etw_drain(line, WAIT_MS));
		snprintf(line, sizeof line,
			 "\netw_consumer_events_total{session=\"noise_%02u\",provider="
			 "\"%08x-2222-3333-4444-555555555555\"} ",
			 i, i + 1);
		assert_int_equal(value_of(&side, line), i + 1);
	}
	end_live(&side);
	text_free(&config);
}

static const GUID kernel_process = {
	0x22fb2cd6, 0x0e7b, 0x422b, { 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16 }
};

/* Microsoft-Windows-Kernel-Process reports a process: 1 starts, 15 runs. */
static unsigned announce_process(uint16_t id)
{
	const struct fake_etw_event event = {
		.provider = kernel_process, .descriptor = { .Id = id, .Level = 4, .Keyword = 0x10 }
	};

	return fake_etw_emit(&event);
}

static void on_callback(void *context, const struct fake_etw_callback *callback)
{
	(void)context;
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		announce_process(15);
	}
}

/* A session that enables its events for names only does not count them; one that rules enable them
 * for does. */
static void a_start_counts_once_however_many_sessions_need_names(void **state)
{
	static const char collector[] =
		"collector: kernel_process\nhelp: Test.\ndefault: on\n"
		"needs: { providers: ['{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:4::0x10'] }\n"
		"metrics:\n"
		"  - name: etw_test_starts_total\n"
		"    type: counter\n    help: Starts.\n    labels: { session: Session }\n"
		"    events: [ { event: '{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}/1' } ]\n";
	static const char *const sessions[] = { "a", "b", "etw_exporter" };
	const char *path = "./kernel_process.yaml";
	struct fake_etw_provider *provider;
	struct fake_etw_session session;
	struct side side;

	(void)state;
	temporary_write(path, collector, strlen(collector));
	open_side(&side, "collector_files: ['./kernel_process.yaml']\n"
			 "sessions:\n"
			 "  a: { logger: user, providers: "
			 "['" SOME_PROVIDER "'] }\n"
			 "  b: { logger: user, providers: "
			 "['" SOME_PROVIDER "'] }\n");
	remove(path);
	provider = fake_etw_provider_open(&kernel_process, on_callback, NULL);
	open_live_unwatched(&side);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fake_etw_wait_consumer(sessions[i], WAIT_MS));
	}
	assert_int_equal(announce_process(1), 3);
	emit_process(1, 8);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fake_etw_drain(sessions[i], WAIT_MS));
	}
	assert_true(fake_etw_session("b", &session));
	assert_int_equal(session.delivered, 2); /* what ran already, and the start */
	assert_int_equal(value_of(&side, "\netw_test_starts_total{session=\"etw_exporter\"} "), 1);
	assert_null(strstr(side.page.data, "etw_test_starts_total{session=\"a\"}"));
	assert_null(strstr(side.page.data, "etw_test_starts_total{session=\"b\"}"));
	assert_int_equal(value_of(&side, "\netw_consumer_records_total{session=\"b\",outcome="
					 "\"counted\"} "),
			 0);
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\","
					 "provider=\"Windows Kernel\"} "),
			 1);
	fake_etw_provider_close(provider);
	end_live(&side);
}

static void a_second_session_that_cannot_start_stops_the_first(void **state)
{
	struct side side;
	struct etw_error err = { 0 };

	(void)state;
	open_side(&side, "sessions: { noise: { logger: user, providers: "
			 "['" SOME_PROVIDER "'] } }\n");
	fake_etw_fail("StartTraceW", ERROR_ACCESS_DENIED, 1);
	assert_null(runner_new(&(struct runner_options){ .setup = &side.program.setup }, &err));
	assert_memory_equal(err.text, "session noise: ", 15);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	close_side(&side);
}

struct lines {
	struct os_mutex lock;
	struct etw_text text;
};

static void keep_line(void *context, enum log_level level, const char *line, size_t size)
{
	struct lines *lines = context;

	(void)level;
	os_mutex_lock(&lines->lock);
	text_add(&lines->text, line, size);
	text_add_char(&lines->text, '\n');
	os_mutex_unlock(&lines->lock);
}

static bool has_line(struct lines *lines, const char *part)
{
	bool has;

	os_mutex_lock(&lines->lock);
	has = lines->text.data && strstr(lines->text.data, part);
	os_mutex_unlock(&lines->lock);
	return has;
}

/* One session reports who stopped the other; the tracker has the name. */
static void the_log_names_the_program_that_stopped_a_session(void **state)
{
	static struct lines lines; /* log lines may still come when the test has failed */
	struct side side;

	(void)state;
	os_mutex_init(&lines.lock);
	log_to(keep_line, &lines);
	open_side(&side,
		  "sessions: { noise: { logger: user, providers: ['" SOME_PROVIDER "'] } }\n");
	fake_etw_add_process(4242, 4, "logman.exe");
	open_live(&side);
	assert_true(fake_etw_wait_consumer("etw_exporter", WAIT_MS));
	assert_true(fake_etw_wait_consumer("noise", WAIT_MS));
	assert_true(fake_etw_other_stop("etw_exporter"));
	fake_etw_flush("noise");
	WAIT_UNTIL(has_line(&lines, "logman (process id 4242) stopped it"));
	assert_true(has_line(&lines, "session=etw_exporter"));
	end_live(&side);
	log_to(NULL, NULL);
	text_free(&lines.text);
	os_mutex_done(&lines.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(health_shows_the_session, run_reset_manual),
		cmocka_unit_test_setup(the_log_names_the_program_that_stopped_a_session,
				       run_reset_manual),
		cmocka_unit_test_setup(canaries_stand_beside_the_other_metrics, run_reset_manual),
		cmocka_unit_test_setup(lost_buffers_are_counted_and_so_are_their_notices,
				       run_reset_manual),
		cmocka_unit_test_setup(lag_and_busy_time_are_shown, run_reset_manual),
		cmocka_unit_test_setup(processes_that_no_event_names_are_named_by_the_snapshot,
				       run_reset_manual),
		cmocka_unit_test_setup(disk_events_have_their_process_from_the_first_one,
				       run_reset_manual),
		cmocka_unit_test_setup(ready_when_every_process_found_was_seen, run_reset_manual),
		cmocka_unit_test_setup(ready_after_one_flush_interval, run_reset_manual),
		cmocka_unit_test_setup(a_restart_forgets_what_ran_and_keeps_what_was_counted,
				       run_reset_manual),
		cmocka_unit_test_setup(user_sessions_run_beside_the_kernel_session,
				       run_reset_manual),
		cmocka_unit_test_setup(as_many_sessions_run_as_windows_has, run_reset_manual),
		cmocka_unit_test_setup(a_start_counts_once_however_many_sessions_need_names,
				       run_reset_manual),
		cmocka_unit_test_setup(a_second_session_that_cannot_start_stops_the_first,
				       run_reset_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

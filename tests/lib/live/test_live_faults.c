/* SPDX-License-Identifier: MIT */
/*
 * Live sessions when something goes wrong: other programs interfere, Windows refuses or ends what
 * was started.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>
#include <etw/source.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"

/* ---- others ---- */

static void a_session_that_another_program_stops_is_started_again(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait(run, &run->restarts, 1));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process_start(9);
	assert_true(run_wait(run, &run->events, 2));
	assert_int_equal(run->snapshots, 2);
	run_stop(run);
	assert_int_equal(run_statistics(run).restarts[ETW_RESTART_STOPPED], 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_LOST), "another program stopped it");
	run_end(run);
}

/* What Windows answers to queries is documented in part: each way that it may be. */
static const struct fake_etw_options machines[] = {
	{ .processors = 4 },
	{ .other_guid = true },
	{ .reused_handles = true },
	{ .other_guid = true, .reused_handles = true },
};

enum { MACHINES = sizeof machines / sizeof machines[0] };

static unsigned all_restarts(struct run *run)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ETW_RESTART_COUNT; i++) {
		sum += run_statistics(run).restarts[i];
	}
	return (unsigned)sum;
}

static void a_session_is_known_by_what_queries_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct run run;
		unsigned calls;

		print_message("  machine %zu\n", i);
		fake_etw_reset(&machines[i]);
		run_begin(&run);
		run_start_and_wait(&run, &run.options);
		calls = fake_etw_calls("ControlTraceW");
		WAIT_UNTIL(fake_etw_calls("ControlTraceW") >= calls + 5);
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 1));
		run_stop(&run);
		assert_int_equal(all_restarts(&run), 0);
		assert_int_equal(fake_etw_calls("StartTraceW"), 1);
		run_end(&run);
	}
}

/* It is then known by the handle, and by what the next query answers. */
static void a_first_query_that_fails_does_not_matter(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct run run;

		fake_etw_reset(&machines[i]);
		fake_etw_fail("ControlTraceW", ERROR_NO_SYSTEM_RESOURCES, 0);
		run_begin(&run);
		run_start_and_wait(&run, &run.options);
		WAIT_UNTIL(fake_etw_calls("ControlTraceW") >= 5);
		assert_int_equal(all_restarts(&run), 0);
		assert_true(fake_etw_other_steal("etw_test"));
		assert_true(run_wait(&run, &run.restarts, 1));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		run_stop(&run);
		assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_STOLEN], 1);
		run_end(&run);
	}
}

static void a_session_that_another_program_takes_is_taken_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct run run;

		print_message("  machine %zu\n", i);
		fake_etw_reset(&machines[i]);
		run_begin(&run);
		run_start_and_wait(&run, &run.options);
		assert_true(fake_etw_other_steal("etw_test"));
		assert_true(run_wait(&run, &run.restarts, 1));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		run_stop(&run);
		assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_STOLEN], 1);
		run_end(&run);
	}
}

/* A second exporter with this configuration starts a session with the same name and GUID, and
 * Windows gives it the handle that is free. */
static void a_session_that_the_same_program_takes_is_taken_back(void **state)
{
	static const struct fake_etw_options machine = { .fixed_guids = true,
							 .reused_handles = true };
	struct fake_etw_session session;
	struct run *run = *state;

	fake_etw_reset(&machine);
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_steal("etw_test"));
	assert_true(run_wait(run, &run->restarts, 1)); /* what ran before may be gone */
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.flags, run->options.kernel_flags);
	run_stop(run);
	assert_int_equal(run_statistics(run).restarts[ETW_RESTART_STOLEN], 1);
	run_end(run);
}

/* The watcher has put the real-time mode back while nothing was consumed. */
static void a_kernel_logger_that_is_stolen_after_a_repair_is_noticed(void **state)
{
	static const char name[] = "NT Kernel Logger";
	static const struct fake_etw_options machine = { .fixed_guids = true,
							 .reused_handles = true };
	struct fake_etw_session session;
	struct run *run = *state;

	fake_etw_reset(&machine);
	run->options.logger = ETW_LIVE_NT_KERNEL;
	run->options.name = name;
	run->options.watch_ms = 300; /* the consumer notices it first */
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_set_realtime(name, false));
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_ERROR] >= 1);
	WAIT_UNTIL(fake_etw_session(name, &session) && session.consumers == 1 &&
		   (session.mode & EVENT_TRACE_REAL_TIME_MODE));
	assert_true(fake_etw_other_steal(name));
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_STOLEN] == 1);
	run_stop(run);
	assert_true(fake_etw_other_stop(name));
	run_end(run);
}

static void a_stale_session_is_stopped_and_started_again(void **state)
{
	struct run *run = *state;

	assert_true(fake_etw_other_start(
		"etw_test", EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE,
		ETW_KERNEL_FLAG_PROCESS));
	run_start_and_wait(run, &run->options);
	assert_int_equal(run->session_events[0], ETW_SESSION_STALE);
	assert_int_equal(run->session_events[1], ETW_SESSION_STARTED);
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	run_end(run);
}

static void changed_flags_are_put_back(void **state)
{
	static const struct {
		enum etw_live_logger logger;
		uint32_t flags; /* what is left to flags */
	} cases[] = {
		{ ETW_LIVE_PRIVATE,
		  ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD | ETW_KERNEL_FLAG_FILE_IO_INIT },
		{ ETW_LIVE_SYSTEM_PROVIDERS, ETW_KERNEL_FLAG_FILE_IO_INIT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct run run;
		struct fake_etw_session session;

		run_begin(&run);
		run.options.logger = cases[i].logger;
		run.options.kernel_flags |= ETW_KERNEL_FLAG_FILE_IO_INIT;
		run_start_and_wait(&run, &run.options);
		assert_true(fake_etw_other_set_flags("etw_test", ETW_KERNEL_FLAG_CSWITCH));
		WAIT_UNTIL(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED] == 1);
		/* What the other program enabled stays: it may need it. */
		WAIT_UNTIL(fake_etw_session("etw_test", &session) &&
			   session.flags == (cases[i].flags | ETW_KERNEL_FLAG_CSWITCH));
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 1));
		run_stop(&run);
		assert_int_equal(run.restarts, 0); /* the session went on */
		run_end(&run);
	}
}

/* Waits until the watcher has looked at the masks several times more. */
static void wait_for_looks(void)
{
	unsigned calls = fake_etw_calls("TraceQueryInformation");

	WAIT_UNTIL(fake_etw_calls("TraceQueryInformation") >= calls + 5);
}

static void masks_that_gain_bits_are_left_alone(void **state)
{
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE,
							ETW_LIVE_SYSTEM_PROVIDERS };
	static const enum fake_etw_mask_gain gains[] = { FAKE_ETW_MASKS_GAIN_AT_ONCE,
							 FAKE_ETW_MASKS_GAIN_LATER };
	struct etw_provider_spec provider;

	(void)state;
	assert_true(etw_provider_spec_parse(&provider, SOME_PROVIDER, NULL));
	for (size_t i = 0; i < 4; i++) {
		const struct fake_etw_options machine = { .mask_gain = gains[i % 2] };
		const uint32_t asked = ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_FILE_IO_INIT;
		struct fake_etw_session session;
		struct run run;

		print_message("  case %zu\n", i);
		fake_etw_reset(&machine);
		run_begin(&run);
		run.options.logger = loggers[i / 2];
		run.options.kernel_flags = asked;
		run.options.providers = &provider;
		run.options.provider_count = 1;
		run_start_and_wait(&run, &run.options);
		WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.masks[5] != 0);
		wait_for_looks();
		assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED], 0);
		assert_true(fake_etw_session("etw_test", &session));
		assert_true((session.flags & ~asked) != 0 && session.masks[5] != 0);
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 1));
		/* A bit that is wanted and gone comes back; what was gained stays. */
		assert_true(fake_etw_other_set_flags("etw_test", 0));
		WAIT_UNTIL(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED] == 1);
		wait_for_looks();
		assert_true(fake_etw_session("etw_test", &session));
		assert_true((session.flags & ETW_KERNEL_FLAG_FILE_IO_INIT) != 0);
		assert_true(session.masks[5] != 0);
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 2));
		run_stop(&run);
		assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED], 1);
		run_end(&run);
	}
	etw_provider_spec_done(&provider);
}

/* Two programs that change a setting in turn would do so for ever. */
static void what_is_changed_again_and_again_is_given_up(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;
	unsigned calls, reports = 0;

	run_start_and_wait(run, &run->options);
	for (unsigned i = 1; i <= 3; i++) {
		assert_true(fake_etw_other_set_flags("etw_test", ETW_KERNEL_FLAG_CSWITCH));
		WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_FLAGS_CHANGED] == i);
	}
	assert_int_equal(run_statistics(run).restores_given_up, 0);
	calls = fake_etw_calls("TraceSetInformation");
	assert_true(fake_etw_other_set_flags("etw_test", ETW_KERNEL_FLAG_CSWITCH));
	assert_true(run_wait_session_event(run, ETW_SESSION_GIVEN_UP));
	wait_for_looks();
	assert_int_equal(fake_etw_calls("TraceSetInformation"), calls);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_CSWITCH);
	run_stop(run);
	assert_int_equal(run_statistics(run).restarts[ETW_RESTART_FLAGS_CHANGED], 3);
	assert_int_equal(run_statistics(run).restores_given_up, 1);
	for (size_t i = 0; i < run->session_event_count; i++) {
		reports += run->session_events[i] == ETW_SESSION_GIVEN_UP;
	}
	assert_int_equal(reports, 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_GIVEN_UP),
			    "the set of kernel events changed again after it was restored 3 times "
			    "within a minute: it is left as it is for ten minutes");
	run_end(run);
}

static void a_lost_real_time_mode_is_put_back(void **state)
{
	static const enum etw_live_logger loggers[] = { ETW_LIVE_PRIVATE, ETW_LIVE_NT_KERNEL };

	(void)state;
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		struct fake_etw_session session;
		const char *name;
		struct run run;

		fake_etw_reset(NULL);
		run_begin(&run);
		run.options.logger = loggers[i];
		name = loggers[i] == ETW_LIVE_NT_KERNEL ? "NT Kernel Logger" : run.options.name;
		run.options.name = name;
		run_start_and_wait(&run, &run.options);
		assert_true(fake_etw_other_set_realtime(name, false));
		WAIT_UNTIL(fake_etw_session(name, &session) &&
			   (session.mode & EVENT_TRACE_REAL_TIME_MODE));
		emit_process_start(8);
		assert_true(run_wait(&run, &run.events, 1));
		run_stop(&run);
		assert_true(run_statistics(&run).restarts[ETW_RESTART_FLAGS_CHANGED] >= 1);
		assert_int_equal(run_statistics(&run).restarts[ETW_RESTART_STOLEN], 0);
		assert_int_equal(run.restarts, 0); /* the session went on */
		run_end(&run);
	}
}

/* ---- Windows ---- */

/* "ProcessTrace function", Microsoft Learn, and what others have seen it return; 998 is in
 * test_live_order.c. */
static void a_consumer_that_windows_ends_goes_on(void **state)
{
	static const uint32_t errors[] = {
		ERROR_INVALID_HANDLE,         ERROR_BAD_LENGTH,
		ERROR_INVALID_PARAMETER,      ERROR_CANCELLED,
		ERROR_INVALID_TIME,           ERROR_INVALID_DATA,
		ERROR_WMI_INSTANCE_NOT_FOUND, ERROR_WMI_ALREADY_ENABLED,
	};
	struct run *run = *state;

	run->options.retry_ms = 1;
	run_start_and_wait(run, &run->options);
	for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		print_message("  error %u\n", (unsigned)errors[i]);
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		fake_etw_end_consumer("etw_test", errors[i]);
		WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_ERROR] == i + 1);
	}
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_int_equal(run->restarts, 0);
	assert_int_equal(fake_etw_calls("StartTraceW"), 1); /* the same session ran all the time */
	run_end(run);
}

static void a_missing_right_to_start_is_reported_in_one_line(void **state)
{
	static const struct {
		uint32_t error;
		const char *sentence;
	} cases[] = {
		{ ERROR_ACCESS_DENIED,
		  "session etw_test: access is denied (error 5): run as "
		  "administrator; if you do, look whether the account SYSTEM may "
		  "write to %SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup" },
		{ ERROR_NO_SYSTEM_RESOURCES,
		  "session etw_test: Windows has no resources for it (error 1450): all 64 "
		  "sessions, or all 8 with kernel events, are in use, its buffers are too large, or "
		  "%SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup has no room; "
		  "`kernel_events: off` in the configuration needs none of the 8" },
		{ ERROR_NO_SUCH_PRIVILEGE,
		  "session etw_test: a privilege is missing (error 1313): processor samples need "
		  "\"Profile system performance\"; switch the collector cpu off, or run as "
		  "administrator" },
		{ ERROR_INVALID_PARAMETER,
		  "session etw_test: it cannot be started: a parameter is not valid (error 87)" },
	};
	struct run *run = *state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		fake_etw_fail_always("StartTraceW", cases[i].error);
		assert_null(etw_source_open_live(&run->options, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	}
	run_end(run);
}

/* Which code Windows answers is written nowhere, so both likely ones are explained. */
static void a_clock_that_is_one_too_many_is_explained(void **state)
{
	static const uint32_t codes[] = { ERROR_INVALID_PARAMETER, ERROR_NO_SYSTEM_RESOURCES };
	static const char explanation[] =
		"; before Windows 10 1703, system loggers use at most two types of clock at a time: "
		"stop a system logger that does not use the performance counter (\"logman query "
		"-ets\" lists the sessions)";
	struct run *run = *state;

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		/* System time and cycles are in use. */
		const struct fake_etw_options machine = { .os_build = 14393,
							  .foreign_system_loggers = 2,
							  .foreign_clocks = 1u << 2 | 1u << 3,
							  .clock_type_error = codes[i] };
		struct etw_error err = { 0 };

		fake_etw_reset(&machine);
		assert_null(etw_source_open_live(&run->options, &err));
		assert_non_null(strstr(err.text, explanation));
	}
	/* Where that is no reason, it is not mentioned. */
	fake_etw_reset(NULL);
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		struct etw_error err = { 0 };

		fake_etw_fail_always("StartTraceW", codes[i]);
		assert_null(etw_source_open_live(&run->options, &err));
		assert_null(strstr(err.text, "clock"));
		fake_etw_fail_never("StartTraceW");
	}
	run_end(run);
}

static void a_user_without_rights_may_not(void **state)
{
	static const struct fake_etw_options machine = { .rights = FAKE_ETW_NO_RIGHTS };
	struct run *run = *state;
	struct etw_error err = { 0 };

	fake_etw_reset(&machine);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_non_null(strstr(err.text, "run as administrator"));
	run_end(run);
}

static void a_missing_right_to_consume_is_reported_as_well(void **state)
{
	struct run *run = *state;
	struct etw_error err = { 0 };

	fake_etw_fail("OpenTraceW", ERROR_ACCESS_DENIED, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session etw_test: access is denied (error 5): run as "
				      "administrator");
	fake_etw_fail("OpenTraceW", ERROR_NOACCESS, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session etw_test: it cannot be consumed: an address is not "
				      "valid (error 998)");
	run_end(run);
}

static void a_restart_that_fails_is_tried_on(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	fake_etw_fail_always("StartTraceW", ERROR_NO_SYSTEM_RESOURCES);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait_session_event(run, ETW_SESSION_NOT_RESTARTED));
	assert_false(run_statistics(run).up);
	fake_etw_fail_never("StartTraceW");
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	run_stop(run);
	assert_non_null(
		strstr(run_sentence(run, ETW_SESSION_NOT_RESTARTED), "Windows has no resources"));
	run_end(run);
}

/* ---- the NT Kernel Logger ---- */

static void the_kernel_logger_of_another_program_is_waited_for(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.name = "NT Kernel Logger";
	run->options.logger = ETW_LIVE_NT_KERNEL;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 ETW_KERNEL_FLAG_CSWITCH));
	run_start(run, &run->options);
	assert_true(run_wait_session_event(run, ETW_SESSION_CONFLICT));
	WAIT_UNTIL(fake_etw_calls("StartTraceW") >= 3);
	assert_false(run_statistics(run).up);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_CSWITCH); /* theirs, untouched */
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	assert_true(fake_etw_wait_consumer("NT Kernel Logger", WAIT_MS));
	WAIT_UNTIL(run_statistics(run).up);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD);
	run_stop(run);
	run_end(run);
}

static void waiting_for_the_kernel_logger_can_be_stopped(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.name = "NT Kernel Logger";
	run->options.logger = ETW_LIVE_NT_KERNEL;
	run->options.retry_ms = 600000;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 ETW_KERNEL_FLAG_CSWITCH));
	run_start(run, &run->options);
	run_stop(run);
	assert_true(fake_etw_session("NT Kernel Logger", &session)); /* still theirs */
	etw_source_close(run->source);
	run->source = NULL;
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	run_end(run);
}

static void a_stolen_kernel_logger_is_not_stolen_back(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.name = "NT Kernel Logger";
	run->options.logger = ETW_LIVE_NT_KERNEL;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_steal("NT Kernel Logger"));
	assert_true(run_wait_session_event(run, ETW_SESSION_CONFLICT));
	assert_int_equal(run_statistics(run).restarts[ETW_RESTART_STOLEN], 1);
	run_stop(run);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	etw_source_close(run->source);
	run->source = NULL;
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	run_end(run);
}

static void the_kernel_logger_is_taken_over_when_configured(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run->options.name = "NT Kernel Logger";
	run->options.logger = ETW_LIVE_NT_KERNEL;
	run->options.takeover = true;
	assert_true(fake_etw_other_start("NT Kernel Logger", EVENT_TRACE_REAL_TIME_MODE,
					 ETW_KERNEL_FLAG_CSWITCH));
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_int_equal(session.flags, ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD);
	assert_int_equal(run->session_events[0], ETW_SESSION_STALE);
	run_stop(run);
	run_end(run);
}

/* ---- clocks ---- */

/* Event times follow it (test_live_order.c); raw times and what is computed from them do not. */
static void raw_times_and_the_lag_stay_right_when_the_system_time_jumps(void **state)
{
	static const int64_t jumps_100ns[] = { INT64_C(36000000000), -INT64_C(864000000000) };
	struct run *run = *state;
	LARGE_INTEGER before, frequency;
	int64_t raw;

	run_start_and_wait(run, &run->options);
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&before);
	for (uint64_t i = 0; i < sizeof jumps_100ns / sizeof jumps_100ns[0]; i++) {
		uint64_t buffers = run_statistics(run).buffers;

		fake_etw_jump_system_time(jumps_100ns[i]); /* an hour ahead, a day back */
		emit_process_start(9);
		assert_true(run_wait(run, &run->events, 2 + i));
		os_mutex_lock(&run->lock);
		raw = run->record.raw_time;
		os_mutex_unlock(&run->lock);
		assert_true(raw >= before.QuadPart &&
			    raw - before.QuadPart < frequency.QuadPart / 1000 * 4 * WAIT_MS);
		WAIT_UNTIL(run_statistics(run).buffers > buffers);
		assert_true(run_statistics(run).lag_ns < UINT64_C(1000000) * 4 * WAIT_MS);
	}
	run_stop(run);
	run_end(run);
}

/* ---- a process that dies ---- */

static void a_dying_process_stops_its_sessions_and_no_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < MACHINES; i++) {
		struct etw_source *ours, *stolen, *gone;
		struct fake_etw_session session;
		struct etw_live_options options;
		struct run run;

		print_message("  machine %zu\n", i);
		fake_etw_reset(&machines[i]);
		run_begin(&run);
		options = run.options;
		options.on_session_event = NULL;
		ours = etw_source_open_live(&options, NULL);
		options.name = "stolen";
		stolen = etw_source_open_live(&options, NULL);
		options.name = "gone";
		gone = etw_source_open_live(&options, NULL);
		assert_true(ours && stolen && gone);
		assert_true(fake_etw_other_steal("stolen"));
		assert_true(fake_etw_other_stop("gone"));
		/* It has the place of the one that is gone, and perhaps its handle. */
		assert_true(fake_etw_other_start("others", EVENT_TRACE_REAL_TIME_MODE, 0));
		etw_live_emergency_stop();
		assert_false(fake_etw_session("etw_test", &session));
		assert_true(fake_etw_session("stolen", &session));
		assert_true(fake_etw_session("others", &session));
		etw_source_close(ours);
		etw_source_close(stolen);
		etw_source_close(gone);
		assert_true(fake_etw_session("stolen", &session));
		assert_true(fake_etw_session("others", &session));
		/* The emergency stop does not touch sessions that are closed. */
		fake_etw_reset(NULL);
		etw_live_emergency_stop();
		assert_int_equal(fake_etw_calls("ControlTraceW"), 0);
		run_end(&run);
	}
}

static void a_session_that_cannot_be_stopped_is_said(void **state)
{
	struct run *run = *state;
	struct fake_etw_session session;

	run_start_and_wait(run, &run->options);
	fake_etw_fail_always("ControlTraceW", ERROR_ACCESS_DENIED);
	run_stop(run);
	assert_string_equal(run_sentence(run, ETW_SESSION_NOT_STOPPED),
			    "access is denied (error 5)");
	assert_true(fake_etw_session("etw_test", &session));
	fake_etw_fail_never("ControlTraceW");
	assert_true(fake_etw_other_stop("etw_test"));
	run_end(run);
}

/* More than 64, which is the number of sessions only where EtwMaxLoggers is not set. */
static void a_dying_process_stops_all_its_sessions(void **state)
{
	static const struct fake_etw_options machine = { .max_loggers = 256 };
	enum { SESSIONS = 100 };
	struct etw_source *sources[SESSIONS];
	struct etw_live_options options;
	char name[32];
	struct run run;

	(void)state;
	fake_etw_reset(&machine);
	run_begin(&run);
	options = run.options;
	options.on_session_event = NULL;
	options.logger = ETW_LIVE_USER;
	options.kernel_flags = 0;
	options.name = name;
	for (unsigned i = 0; i < SESSIONS; i++) {
		snprintf(name, sizeof name, "session %u", i);
		sources[i] = etw_source_open_live(&options, NULL);
		assert_non_null(sources[i]);
	}
	etw_live_emergency_stop();
	assert_int_equal(fake_etw_open_things().sessions, 0);
	for (unsigned i = 0; i < SESSIONS; i++) {
		etw_source_close(sources[i]);
	}
	run_end(&run);
}

/* ---- many times ---- */

static bool count_entry(void *context, const char *name)
{
	unsigned *count = context;

	(void)name;
	++*count;
	return true;
}

/* Linux can count them; elsewhere a thread is a handle. */
static unsigned threads_now(void)
{
	unsigned count = 0;

	os_folder_list("/proc/self/task", count_entry, &count);
	return count;
}

static uint64_t handles_now(void)
{
	struct os_process_stats stats;

	os_process_stats(&stats);
	return stats.open_fds;
}

static void start_and_stop(void)
{
	struct etw_error err = { 0 };
	struct etw_canary *canary = etw_canary_open("1", &err);
	struct run run;

	assert_non_null(canary);
	run_begin(&run);
	run.options.canary = canary;
	run_start(&run, &run.options);
	run_stop(&run);
	run_end(&run);
	etw_canary_close(canary);
	assert_int_equal(fake_etw_open_things().registrations, 0);
}

/* Bytes are counted by AddressSanitizer, in its build. */
static void a_thousand_starts_and_stops_leave_nothing(void **state)
{
	unsigned threads;
	uint64_t handles;

	(void)state;
	for (int i = 0; i < 20; i++) {
		start_and_stop(); /* one-time allocations are done */
	}
	threads = threads_now();
	handles = handles_now();
	for (int i = 0; i < 980; i++) {
		start_and_stop();
	}
	/* A joined thread may still be in the list for a moment. */
	WAIT_UNTIL(threads_now() <= threads);
	WAIT_UNTIL(handles_now() <= handles);
}

/* Not to be mistaken for missing rights. */
static void in_a_container_the_sentence_names_it(void **state)
{
	static const struct fake_etw_options container = { .container = true };
	struct run *run = *state;
	struct etw_error err = { 0 };

	fake_etw_reset(&container);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(
		err.text, "session etw_test: access is denied (error 5): in a Windows container "
			  "with process isolation there are no kernel events; run the exporter on "
			  "the host or in a HostProcess container, or configure a session with "
			  "logger: user");
	/* Also with another error. */
	fake_etw_fail_always("StartTraceW", ERROR_INVALID_PARAMETER);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_non_null(
		strstr(err.text, "a parameter is not valid (error 87): in a Windows container "));
	fake_etw_fail_never("StartTraceW");
	/* A session without kernel events can fail there, too. */
	run->options.logger = ETW_LIVE_USER;
	run->options.kernel_flags = 0;
	fake_etw_fail("StartTraceW", ERROR_ACCESS_DENIED, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_null(strstr(err.text, "container"));
	run_end(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_session_that_another_program_stops_is_started_again,
				       run_set_up),
		cmocka_unit_test_setup(a_session_is_known_by_what_queries_answer, run_reset),
		cmocka_unit_test_setup(a_first_query_that_fails_does_not_matter, run_reset),
		cmocka_unit_test_setup(a_session_that_another_program_takes_is_taken_back,
				       run_reset),
		cmocka_unit_test_setup(a_session_that_the_same_program_takes_is_taken_back,
				       run_set_up),
		cmocka_unit_test_setup(a_kernel_logger_that_is_stolen_after_a_repair_is_noticed,
				       run_set_up),
		cmocka_unit_test_setup(a_stale_session_is_stopped_and_started_again, run_set_up),
		cmocka_unit_test_setup(changed_flags_are_put_back, run_reset),
		cmocka_unit_test_setup(masks_that_gain_bits_are_left_alone, run_reset),
		cmocka_unit_test_setup(what_is_changed_again_and_again_is_given_up, run_set_up),
		cmocka_unit_test_setup(a_lost_real_time_mode_is_put_back, run_reset),
		cmocka_unit_test_setup(a_consumer_that_windows_ends_goes_on, run_set_up),
		cmocka_unit_test_setup(a_missing_right_to_start_is_reported_in_one_line,
				       run_set_up),
		cmocka_unit_test_setup(a_clock_that_is_one_too_many_is_explained, run_set_up),
		cmocka_unit_test_setup(a_user_without_rights_may_not, run_set_up),
		cmocka_unit_test_setup(a_missing_right_to_consume_is_reported_as_well, run_set_up),
		cmocka_unit_test_setup(a_restart_that_fails_is_tried_on, run_set_up),
		cmocka_unit_test_setup(the_kernel_logger_of_another_program_is_waited_for,
				       run_set_up),
		cmocka_unit_test_setup(waiting_for_the_kernel_logger_can_be_stopped, run_set_up),
		cmocka_unit_test_setup(a_stolen_kernel_logger_is_not_stolen_back, run_set_up),
		cmocka_unit_test_setup(the_kernel_logger_is_taken_over_when_configured, run_set_up),
		cmocka_unit_test_setup(a_dying_process_stops_its_sessions_and_no_others, run_reset),
		cmocka_unit_test_setup(a_session_that_cannot_be_stopped_is_said, run_set_up),
		cmocka_unit_test_setup(a_dying_process_stops_all_its_sessions, run_reset),
		cmocka_unit_test_setup(in_a_container_the_sentence_names_it, run_set_up),
		cmocka_unit_test_setup(raw_times_and_the_lag_stay_right_when_the_system_time_jumps,
				       run_set_up),
		cmocka_unit_test_setup(a_thousand_starts_and_stops_leave_nothing, run_reset_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

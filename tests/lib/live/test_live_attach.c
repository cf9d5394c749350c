/* SPDX-License-Identifier: MIT */
/*
 * Sessions of other programs that a source attaches to: they are read, and nothing in them changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>
#include <etw/session.h>
#include <etw/source.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

enum { SYSTEM_LOGGER = EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE };

static const char theirs[] = "theirs";

static void attach_to(struct run *run, uint32_t flags)
{
	run->options.name = theirs;
	run->options.logger = ETW_LIVE_ATTACH;
	run->options.kernel_flags = flags;
}

static bool same_session(const struct fake_etw_session *a, const struct fake_etw_session *b)
{
	return a->handle == b->handle && a->mode == b->mode && a->providers == b->providers &&
	       memcmp(a->masks, b->masks, sizeof a->masks) == 0 &&
	       a->maximum_buffers == b->maximum_buffers && a->flush_timer == b->flush_timer &&
	       a->stack_events == b->stack_events;
}

/* How often a session was started or changed, by anyone but another program. */
static unsigned changes(void)
{
	return fake_etw_calls("StartTraceW") + fake_etw_calls("EnableTraceEx2") +
	       fake_etw_calls("TraceSetInformation");
}

static void its_events_are_delivered_and_it_stays_as_it_is(void **state)
{
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct fake_etw_session before, after;
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	assert_true(fake_etw_other_enable(theirs, &some_provider, 4, UINT64_MAX));
	assert_true(fake_etw_session(theirs, &before));
	attach_to(run, ETW_KERNEL_FLAG_PROCESS);
	run_start_and_wait(run, &run->options);
	assert_string_equal(etw_source_facts(run->source)->type, "attached");
	emit_process_start(8);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain(theirs, WAIT_MS));
	etw_source_wake(run->source);
	assert_true(run_wait(run, &run->events, 2));
	run_stop(run);
	assert_int_equal(changes(), 0);
	assert_true(fake_etw_session(theirs, &after));
	assert_true(same_session(&before, &after));
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	assert_string_equal(run_sentence(run, ETW_SESSION_STOPPED), "");
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void a_crash_leaves_it_alone(void **state)
{
	struct fake_etw_session session;
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	attach_to(run, ETW_KERNEL_FLAG_PROCESS);
	run_start_and_wait(run, &run->options);
	etw_live_emergency_stop();
	assert_true(fake_etw_session(theirs, &session));
	run_stop(run);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void kernel_events_that_it_lacks_are_named(void **state)
{
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	attach_to(run, ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_DISK_IO | ETW_KERNEL_FLAG_FILE_IO);
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "its controller has not enabled kernel events that are needed: "
			    "DISK_IO, FILE_IO");
	run_stop(run);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void a_session_without_kernel_events_is_read_too(void **state)
{
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(fake_etw_other_enable(theirs, &some_provider, 4, UINT64_MAX));
	attach_to(run, 0);
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void one_that_does_not_run_is_waited_for(void **state)
{
	struct run *run = *state;

	attach_to(run, ETW_KERNEL_FLAG_PROCESS);
	run_start(run, &run->options);
	assert_true(run_wait_session_event(run, ETW_SESSION_ABSENT));
	assert_false(run_statistics(run).up);
	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	assert_true(fake_etw_wait_consumer(theirs, WAIT_MS));
	emit_process_start(8);
	assert_true(run_wait(run, &run->events, 1));
	/* It ends, and comes again. */
	assert_true(fake_etw_other_stop(theirs));
	WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_STOPPED] == 1);
	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	assert_true(fake_etw_wait_consumer(theirs, WAIT_MS));
	emit_process_start(9);
	assert_true(run_wait(run, &run->events, 2));
	run_stop(run);
	assert_int_equal(changes(), 0);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void what_it_lost_before_does_not_count(void **state)
{
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	fake_etw_lose_events(theirs, 7);
	attach_to(run, ETW_KERNEL_FLAG_PROCESS);
	run_start_and_wait(run, &run->options);
	assert_int_equal(run_statistics(run).events_lost, 0);
	fake_etw_lose_events(theirs, 2);
	WAIT_UNTIL(run_statistics(run).events_lost == 2);
	run_stop(run);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

/* It has the same GUID, as that of an autologger, and Windows gives it the handle that is free. */
static void one_that_is_started_again_at_once_is_another(void **state)
{
	static const struct fake_etw_options machine = { .fixed_guids = true,
							 .reused_handles = true };
	struct run *run = *state;

	fake_etw_reset(&machine);
	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	attach_to(run, ETW_KERNEL_FLAG_PROCESS);
	run_start_and_wait(run, &run->options);
	fake_etw_lose_events(theirs, 100);
	WAIT_UNTIL(run_statistics(run).events_lost == 100);
	assert_true(fake_etw_other_steal(theirs));
	assert_true(run_wait(run, &run->restarts, 1)); /* what ran before may be gone */
	assert_true(fake_etw_wait_consumer(theirs, WAIT_MS));
	fake_etw_lose_events(theirs, 5);
	WAIT_UNTIL(run_statistics(run).events_lost == 105);
	run_stop(run);
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void one_without_real_time_mode_cannot_be_read(void **state)
{
	struct etw_error err = { 0 };
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(fake_etw_other_set_realtime(theirs, false));
	attach_to(run, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session theirs: it cannot be attached to: its controller "
				      "has not started it in real time mode");
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void one_that_may_not_be_read_is_an_error(void **state)
{
	struct etw_error err = { 0 };
	struct run *run = *state;

	assert_true(fake_etw_other_start(theirs, EVENT_TRACE_REAL_TIME_MODE, 0));
	fake_etw_fail("OpenTraceW", ERROR_ACCESS_DENIED, 0);
	attach_to(run, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session theirs: access is denied (error 5): this account "
				      "may not read it");
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

/* A session of another program may stamp its events with any clock. */
static TRACEHANDLE start_with_clock(ULONG clock)
{
	struct {
		EVENT_TRACE_PROPERTIES base;
		WCHAR name[64];
	} properties = { .base = { .Wnode = { .BufferSize = sizeof properties,
					      .Flags = WNODE_FLAG_TRACED_GUID,
					      .ClientContext = clock },
				   .LogFileMode = EVENT_TRACE_REAL_TIME_MODE,
				   .LoggerNameOffset = sizeof properties.base } };
	TRACEHANDLE session = 0;

	assert_int_equal(StartTraceW(&session, u"theirs", &properties.base), ERROR_SUCCESS);
	assert_int_equal(EnableTraceEx2(session, &some_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
					4, UINT64_MAX, 0, 0, NULL),
			 ERROR_SUCCESS);
	return session;
}

static void its_clock_may_be_system_time(void **state)
{
	enum { SYSTEM_TIME = 2, SECOND = 10000000 };
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct run *run = *state;
	FILETIME before;
	int64_t then;

	start_with_clock(SYSTEM_TIME);
	attach_to(run, 0);
	run_start_and_wait(run, &run->options);
	assert_int_equal(etw_source_facts(run->source)->clock.type, ETW_CLOCK_SYSTEM_TIME);
	GetSystemTimePreciseAsFileTime(&before);
	then = (int64_t)before.dwHighDateTime << 32 | before.dwLowDateTime;
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	assert_true(run->record.time >= then - SECOND && run->record.time <= then + 60 * SECOND);
	assert_true(run_statistics(run).lag_ns < UINT64_C(60000000000));
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

static void a_clock_of_cycles_cannot_be_read(void **state)
{
	enum { CYCLES = 3 };
	struct etw_error err = { 0 };
	struct run *run = *state;

	start_with_clock(CYCLES);
	attach_to(run, 0);
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text, "session theirs: it cannot be attached to: its clock is the "
				      "cycle counter of the processor");
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

/* The session was waited for, and its times have another clock than the program has assumed. */
static void a_clock_that_does_not_fit_later_is_reported(void **state)
{
	enum { SYSTEM_TIME = 2 };
	struct run *run = *state;

	attach_to(run, 0);
	run_start(run, &run->options);
	assert_true(run_wait_session_event(run, ETW_SESSION_ABSENT));
	start_with_clock(SYSTEM_TIME);
	assert_true(run_wait_session_event(run, ETW_SESSION_NOT_RESTARTED));
	run_stop(run);
	assert_string_equal(run_sentence(run, ETW_SESSION_NOT_RESTARTED),
			    "session theirs: it cannot be attached to: its clock is another one "
			    "than at the start of the program, or than the default if no such "
			    "session ran then; restart the program");
	assert_string_equal(run_sentence(run, ETW_SESSION_LOST), "");
	assert_true(fake_etw_other_stop(theirs));
	run_end(run);
}

/* As users have it: the rules count what another program's session delivers. */
static void the_exporter_counts_what_it_delivers(void **state)
{
	struct side side;
	unsigned before;

	(void)state;
	begin_live(&side, "sessions: { theirs: { logger: attach } }\n");
	assert_true(fake_etw_other_start(theirs, SYSTEM_LOGGER, ETW_KERNEL_FLAG_PROCESS));
	before = changes();
	open_live(&side);
	assert_true(fake_etw_wait_consumer(theirs, WAIT_MS));
	emit_process_start(8);
	assert_true(fake_etw_drain(theirs, WAIT_MS));
	assert_int_equal(value_of(&side, "\netw_process_starts_total{process=\"_unknown\",provider="
					 "\"Windows Kernel\"} "),
			 1);
	assert_int_equal(value_of(&side, "\netw_session_up{session=\"theirs\"} "), 1);
	stop_live(&side);
	assert_int_equal(changes(), before);
	assert_true(fake_etw_other_stop(theirs));
	end_live(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(its_events_are_delivered_and_it_stays_as_it_is, run_set_up),
		cmocka_unit_test_setup(a_crash_leaves_it_alone, run_set_up),
		cmocka_unit_test_setup(kernel_events_that_it_lacks_are_named, run_set_up),
		cmocka_unit_test_setup(a_session_without_kernel_events_is_read_too, run_set_up),
		cmocka_unit_test_setup(one_that_does_not_run_is_waited_for, run_set_up),
		cmocka_unit_test_setup(what_it_lost_before_does_not_count, run_set_up),
		cmocka_unit_test_setup(one_that_is_started_again_at_once_is_another, run_set_up),
		cmocka_unit_test_setup(one_without_real_time_mode_cannot_be_read, run_set_up),
		cmocka_unit_test_setup(one_that_may_not_be_read_is_an_error, run_set_up),
		cmocka_unit_test_setup(its_clock_may_be_system_time, run_set_up),
		cmocka_unit_test_setup(a_clock_of_cycles_cannot_be_read, run_set_up),
		cmocka_unit_test_setup(a_clock_that_does_not_fit_later_is_reported, run_set_up),
		cmocka_unit_test(the_exporter_counts_what_it_delivers),
	};

	return cmocka_run_group_tests_name("live_attach", tests, NULL, NULL);
}

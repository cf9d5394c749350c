/* SPDX-License-Identifier: MIT */
/*
 * Live sessions on a machine that delivers the buffers of quiet processors late, and whose clocks
 * disagree.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <etw/session.h>

#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"

enum { EVENTS = 2000, STEP = 1000 };

/* What came, counted by the test. */
struct order {
	int64_t newest;
	uint64_t late;
};

static void note_order(void *context, const struct etw_record *record)
{
	struct order *order = context;

	if (record->raw_time < order->newest) {
		order->late++;
	} else {
		order->newest = record->raw_time;
	}
}

static struct fake_etw_event process_start(uint32_t i, int64_t raw_time)
{
	return (struct fake_etw_event){ .provider = process_class,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.timed = true,
					.raw_time = raw_time,
					.process_id = i,
					.processor = (uint16_t)(i % 4) };
}

static void events_that_come_late_are_counted(void **state)
{
	static const struct fake_etw_options machines[] = {
		{ .manual_flush = true },
		{ .manual_flush = true, .disorder_ms = 10, .disorder_seed = 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
		struct order order = { INT64_MIN, 0 };
		struct run run;

		fake_etw_reset(&machines[i]);
		run_begin(&run);
		run.on_record = note_order;
		run.context = &order;
		run_start_and_wait(&run, &run.options);
		for (uint32_t j = 0; j < EVENTS; j++) {
			struct fake_etw_event event = process_start(j, (int64_t)j * STEP);

			assert_true(fake_etw_emit_waiting(&event, WAIT_MS));
		}
		assert_true(fake_etw_drain("etw_test", WAIT_MS));
		run_stop(&run);
		assert_int_equal(run.events, EVENTS);
		assert_int_equal(run_statistics(&run).late_records, order.late);
		assert_int_equal(order.late > 0, machines[i].disorder_ms > 0);
		run_end(&run);
	}
}

/* The lag is that of the newest event, not that of one that comes late behind it. */
static void a_late_event_is_no_lag(void **state)
{
	struct run *run = *state;
	LARGE_INTEGER now, frequency;

	run_start_and_wait(run, &run->options);
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&now);
	for (uint32_t i = 0; i < 2; i++) {
		int64_t age = i == 0 ? 0 : 100000 * frequency.QuadPart;
		struct fake_etw_event event = process_start(i, now.QuadPart - age);

		assert_int_equal(fake_etw_emit(&event), 1);
		assert_true(fake_etw_drain("etw_test", WAIT_MS));
	}
	run_stop(run);
	assert_int_equal(run_statistics(run).late_records, 1);
	assert_true(run_statistics(run).lag_ns < UINT64_C(90000) * 1000000000);
	run_end(run);
}

static void the_page_shows_how_many_came_late(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	struct side side;

	(void)state;
	fake_etw_reset(&machine);
	open_side(&side, "sessions: { one: {} }\n");
	open_live_unwatched(&side);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	for (uint32_t i = 0; i < 3; i++) {
		struct fake_etw_event event = process_start(i, 9000 - (int64_t)i * STEP);

		assert_int_equal(fake_etw_emit(&event), 1);
		assert_true(fake_etw_drain("one", WAIT_MS));
	}
	WAIT_UNTIL(value_of(&side, "\netw_consumer_late_records_total{session=\"one\"} ") == 2);
	end_live(&side);
}

/* ---- clocks ---- */

/* 100 ns since 1601 UTC, of the fake machine. */
static int64_t system_now(void)
{
	FILETIME time;

	GetSystemTimePreciseAsFileTime(&time);
	return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

/* Writes an event, and returns how much earlier than the system time its time is, at least; ms. */
static int64_t behind_ms(struct run *run)
{
	struct fake_etw_event event = process_start(1, 0);
	int64_t before = system_now(), time;
	uint64_t count;

	os_mutex_lock(&run->lock);
	count = run->events + 1;
	os_mutex_unlock(&run->lock);
	event.timed = false;
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(fake_etw_drain("etw_test", WAIT_MS));
	assert_true(run_wait(run, &run->events, count));
	os_mutex_lock(&run->lock);
	time = run->record.time;
	os_mutex_unlock(&run->lock);
	return (before - time) / 10000;
}

static void event_times_follow_a_system_time_that_is_set(void **state)
{
	struct run *run = *state;

	run_start_and_wait(run, &run->options);
	assert_true(behind_ms(run) <= 1);
	fake_etw_jump_system_time(INT64_C(36000000000)); /* an hour */
	WAIT_UNTIL(behind_ms(run) <= 10);
	fake_etw_jump_system_time(INT64_C(-72000000000));
	WAIT_UNTIL(behind_ms(run) >= -1000);
	run_stop(run);
	run_end(run);
}

/* Too little to be a time that was set, and too much for ever. */
static void a_drift_is_corrected_now_and_then(void **state)
{
	struct run *run = *state;

	run->options.anchor_ms = 10;
	run_start_and_wait(run, &run->options);
	fake_etw_jump_system_time(50 * 10000);
	WAIT_UNTIL(behind_ms(run) <= 5);
	run_stop(run);
	run_end(run);
}

/* A counter that is twice as fast: without new anchors an event seems to be as far in the future as
 * the session has run. */
static void a_counter_that_is_too_fast_does_not_run_away(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .counter_ppm = 1000000 };
	struct run *run = *state;
	int64_t start;

	fake_etw_reset(&machine);
	run->options.anchor_ms = 1;
	run_start_and_wait(run, &run->options);
	start = system_now();
	WAIT_UNTIL(system_now() - start > 4000000 &&
		   -behind_ms(run) < (system_now() - start) / 10000 / 2);
	run_stop(run);
	run_end(run);
}

/* ---- faults ---- */

/* The reason that on_fault() was called with. Static, because it has no context: a process ends
 * once. */
static char fault_reason[128];

static void note_fault(const char *reason)
{
	snprintf(fault_reason, sizeof fault_reason, "%s", reason);
}

struct faulty {
	struct etw_source *source;
	struct etw_error err;
	bool good;
};

static void fault(void *context, const struct etw_record *record)
{
	volatile int *volatile nowhere = (int *)16;

	(void)context;
	(void)record;
	*nowhere = 1;
}

static void run_into_fault(void *context)
{
	const struct etw_event_sink sink = { .on_event = fault };
	struct faulty *faulty = context;

	faulty->good = etw_source_run(faulty->source, &sink, &faulty->err);
}

static void after_a_fault_in_a_callback_nothing_is_consumed_again(void **state)
{
	struct run *run = *state;
	struct faulty faulty = { .good = true };
	struct os_thread thread;

	fault_reason[0] = '\0';
	run->options.on_fault = note_fault;
	run_open(run, &run->options);
	faulty.source = run->source;
	assert_true(os_thread_start(&thread, run_into_fault, &faulty, NULL));
	assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
	emit_process_start(1);
	fake_etw_flush("etw_test");
	os_thread_join(&thread);
	assert_false(faulty.good);
	assert_string_equal(faulty.err.text, "session etw_test: a callback has faulted");
	assert_string_equal(fault_reason, "an exception in a callback of ProcessTrace (error 998)");
	assert_int_equal(fake_etw_calls("ProcessTrace"), 1);
	run_end(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_that_come_late_are_counted),
		cmocka_unit_test_setup(a_late_event_is_no_lag, run_set_up_manual),
		cmocka_unit_test(the_page_shows_how_many_came_late),
		cmocka_unit_test_setup(event_times_follow_a_system_time_that_is_set,
				       run_set_up_manual),
		cmocka_unit_test_setup(a_drift_is_corrected_now_and_then, run_set_up_manual),
		cmocka_unit_test_setup(a_counter_that_is_too_fast_does_not_run_away,
				       run_set_up_manual),
		cmocka_unit_test_setup(after_a_fault_in_a_callback_nothing_is_consumed_again,
				       run_set_up_manual),
	};
	int failed = cmocka_run_group_tests_name("live_order", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

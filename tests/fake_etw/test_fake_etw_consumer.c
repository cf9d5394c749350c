/* SPDX-License-Identifier: MIT */
/*
 * Consumers of the fake ETW: rows C of tests/fake_etw/BEHAVIOUR.md, one test a row.
 */
#define INITGUID
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID lost_class = {
	0x6a399ae0, 0x4bc6, 0x4de9, { 0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e }
};

static int reset(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

static int all_is_closed(void **state)
{
	struct fake_etw_open open = fake_etw_open_things();

	(void)state;
	return open.traces == 0 && open.registrations == 0 && open.handles == 0 ? 0 : -1;
}

static unsigned emit_process(uint32_t pid, int64_t raw_time, uint16_t processor)
{
	struct fake_etw_event event = { .provider = process_class,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.timed = raw_time != 0,
					.raw_time = raw_time,
					.process_id = pid,
					.thread_id = pid + 1,
					.processor = processor,
					.payload = &pid,
					.payload_size = sizeof(pid) };

	return fake_etw_emit(&event);
}

static void start(void)
{
	assert_int_equal(recorder_start(u"test", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
}

/* Opens, runs, and waits until ProcessTrace is inside. */
static void consume(struct recorder *recorder, ULONG mode)
{
	assert_int_equal(recorder_open(recorder, u"test", mode), 0);
	recorder_run(recorder);
	assert_true(fake_etw_wait_consumer("test", WAIT_MS));
}

static void open_trace_needs_a_session_that_runs(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	assert_int_equal(recorder_open(&recorder, u"nobody", 0), ERROR_WMI_INSTANCE_NOT_FOUND);
	recorder_close(&recorder);
	assert_true(OpenTraceW(NULL) == INVALID_PROCESSTRACE_HANDLE);
	assert_int_equal(GetLastError(), ERROR_INVALID_PARAMETER);
	recorder.log.LoggerName = NULL;
	assert_true(OpenTraceW(&recorder.log) == INVALID_PROCESSTRACE_HANDLE);
	assert_int_equal(GetLastError(), ERROR_BAD_PATHNAME);
}

static void open_trace_needs_rights(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_int_equal(recorder_open(&recorder, u"test", 0), ERROR_ACCESS_DENIED);
	recorder_close(&recorder);
}

static void open_trace_fills_the_log_file_header(void **state)
{
	static const struct fake_etw_options bare = { .manual_flush = true,
						      .bare_log_header = true };
	struct recorder recorder = { 0 };
	LARGE_INTEGER frequency;

	(void)state;
	start();
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	QueryPerformanceFrequency(&frequency);
	assert_true(recorder.log.LogfileHeader.PerfFreq.QuadPart == frequency.QuadPart);
	assert_true(recorder.log.LogfileHeader.BootTime.QuadPart > 0);
	assert_int_equal(recorder.log.LogfileHeader.TimerResolution, 156250);
	assert_int_equal(recorder.log.LogfileHeader.PointerSize, 8);
	assert_int_equal(recorder.log.LogfileHeader.NumberOfProcessors, 4);
	assert_int_equal(recorder.log.LogfileHeader.ReservedFlags, 1);
	recorder_close(&recorder);

	fake_etw_reset(&bare);
	start();
	recorder = (struct recorder){ 0 };
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	assert_true(recorder.log.LogfileHeader.PerfFreq.QuadPart == 0);
	recorder_close(&recorder);
}

static void open_trace_reports_the_clock_of_the_session(void **state)
{
	(void)state;
	for (ULONG clock = 1; clock <= 3; clock++) {
		struct recorder_properties properties;
		struct recorder recorder = { 0 };
		TRACEHANDLE session;

		recorder_properties(&properties, false);
		properties.base.Wnode.ClientContext = clock;
		assert_int_equal(StartTraceW(&session, u"one", &properties.base), 0);
		assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
		assert_int_equal(recorder.log.LogfileHeader.ReservedFlags, clock);
		recorder_close(&recorder);
		assert_int_equal(ControlTraceW(session, NULL, &properties.base,
					       EVENT_TRACE_CONTROL_STOP),
				 0);
	}
}

static void process_trace_checks_its_handles(void **state)
{
	struct recorder recorder = { 0 };
	TRACEHANDLE handles[65] = { 42 };
	FILETIME early = { 0, 1 };
	FILETIME late = { 0, 2 };

	(void)state;
	start();
	assert_int_equal(ProcessTrace(NULL, 1, NULL, NULL), ERROR_INVALID_PARAMETER);
	assert_int_equal(ProcessTrace(handles, 0, NULL, NULL), ERROR_BAD_LENGTH);
	assert_int_equal(ProcessTrace(handles, 65, NULL, NULL), ERROR_BAD_LENGTH);
	assert_int_equal(ProcessTrace(handles, 1, NULL, NULL), ERROR_INVALID_HANDLE);
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	handles[0] = handles[1] = recorder.trace;
	assert_int_equal(ProcessTrace(handles, 1, &late, &early), ERROR_INVALID_TIME);
	assert_int_equal(ProcessTrace(handles, 2, NULL, NULL), ERROR_WMI_ALREADY_ENABLED);
	recorder_close(&recorder);
}

static void process_trace_wants_a_session_in_real_time_mode(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	assert_true(fake_etw_other_set_realtime("test", false));
	assert_int_equal(ProcessTrace(&recorder.trace, 1, NULL, NULL),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
	assert_int_equal(recorder_stop(u"test"), 0);
	assert_int_equal(ProcessTrace(&recorder.trace, 1, NULL, NULL),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
	recorder_close(&recorder);
}

static void process_trace_blocks_until_the_trace_is_closed(void **state)
{
	struct recorder recorder = { 0 };
	struct fake_etw_session session;

	(void)state;
	start();
	consume(&recorder, 0);
	assert_int_equal(emit_process(7, 0, 0), 1);
	Sleep(30);
	assert_int_equal(recorder_count(&recorder), 0); /* nothing flushed it */
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 1));
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.consumers, 1);
	assert_int_equal(CloseTrace(recorder.trace), ERROR_CTX_CLOSE_PENDING);
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(CloseTrace(recorder.trace), ERROR_INVALID_HANDLE);
	recorder_close(&recorder);
}

static void close_trace_delivers_what_was_flushed_and_nothing_newer(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	emit_process(1, 0, 0);
	fake_etw_flush("test");
	emit_process(2, 0, 0);
	recorder_run(&recorder);
	assert_true(fake_etw_wait_consumer("test", WAIT_MS));
	assert_int_equal(CloseTrace(recorder.trace), ERROR_CTX_CLOSE_PENDING);
	fake_etw_flush("test");
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count, 1);
	recorder_close(&recorder);
}

static void close_trace_may_drop_what_was_flushed(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .close_drops = true };
	struct recorder recorder = { 0 };

	(void)state;
	fake_etw_reset(&machine);
	start();
	consume(&recorder, 0);
	fake_etw_hold_consumer("test", true);
	emit_process(1, 0, 0);
	fake_etw_flush("test");
	assert_int_equal(CloseTrace(recorder.trace), ERROR_CTX_CLOSE_PENDING);
	fake_etw_hold_consumer("test", false);
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count, 0);
	recorder_close(&recorder);
}

static void close_trace_knows_its_handles(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	assert_int_equal(CloseTrace(0), ERROR_INVALID_HANDLE);
	assert_int_equal(CloseTrace(INVALID_PROCESSTRACE_HANDLE), ERROR_INVALID_HANDLE);
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	assert_int_equal(CloseTrace(recorder.trace), 0);
	assert_int_equal(CloseTrace(recorder.trace), ERROR_INVALID_HANDLE);
	assert_int_equal(ProcessTrace(&recorder.trace, 1, NULL, NULL), ERROR_INVALID_HANDLE);
	recorder_close(&recorder);
}

static void process_trace_returns_when_the_session_stops(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	consume(&recorder, 0);
	emit_process(1, 0, 0);
	emit_process(2, 0, 1);
	assert_true(fake_etw_other_stop("test")); /* flushes */
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count, 2);
	recorder_close(&recorder);
}

static void process_trace_may_not_notice_the_end(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	fake_etw_otherwise("C9a");
	start();
	consume(&recorder, 0);
	emit_process(1, 0, 0);
	assert_int_equal(recorder_stop(u"test"), 0);
	assert_true(recorder_wait(&recorder, 1)); /* what it had is delivered */
	assert_int_equal(CloseTrace(recorder.trace), ERROR_CTX_CLOSE_PENDING);
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count, 1);
	recorder_close(&recorder);
}

static void buffer_callback_cancels(void **state)
{
	struct recorder recorder = { .cancel_at = 2 };

	(void)state;
	start();
	consume(&recorder, 0);
	for (unsigned i = 0; i < 3; i++) {
		emit_process(i, 0, 0);
		fake_etw_flush("test");
	}
	assert_int_equal(recorder_join(&recorder), ERROR_CANCELLED);
	assert_int_equal(recorder.buffers, 2);
	assert_int_equal(recorder.count, 2);
	recorder_close(&recorder);
}

static void process_trace_ends_with_what_a_test_asks_for(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	consume(&recorder, 0);
	fake_etw_end_consumer("test", ERROR_NOACCESS);
	assert_int_equal(recorder_join(&recorder), ERROR_NOACCESS);
	recorder_close(&recorder);
}

static void fault(void *context)
{
	volatile int *volatile nowhere = (int *)16;

	(void)context;
	*nowhere = 1;
}

static void a_fault_in_a_callback_ends_process_trace_and_nothing_else(void **state)
{
	struct recorder recorder = { .on_event = fault };
	struct recorder next = { 0 };

	(void)state;
	start();
	consume(&recorder, 0);
	emit_process(1, 0, 0);
	emit_process(2, 0, 0);
	fake_etw_flush("test");
	assert_int_equal(recorder_join(&recorder), ERROR_NOACCESS);
	assert_int_equal(recorder.count, 0);
	recorder_close(&recorder);
	/* The session and the process go on. */
	consume(&next, 0);
	emit_process(3, 0, 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&next, 1));
	CloseTrace(next.trace);
	recorder_join(&next);
	recorder_close(&next);
}

static void records_have_what_was_emitted(void **state)
{
	struct recorder recorder = { 0 };
	const struct recorded *event;

	(void)state;
	start();
	consume(&recorder, PROCESS_TRACE_MODE_RAW_TIMESTAMP);
	assert_int_equal(emit_process(77, 123456789, 3), 1);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 1));
	event = &recorder.events[0];
	assert_true(IsEqualGUID(&event->header.ProviderId, &process_class));
	assert_int_equal(event->header.EventDescriptor.Opcode, 1);
	assert_int_equal(event->header.EventDescriptor.Version, 4);
	assert_true(event->header.TimeStamp.QuadPart == 123456789);
	assert_int_equal(event->header.ProcessId, 77);
	assert_int_equal(event->header.ThreadId, 78);
	assert_int_equal(event->header.Flags, EVENT_HEADER_FLAG_CLASSIC_HEADER |
						      EVENT_HEADER_FLAG_64_BIT_HEADER |
						      EVENT_HEADER_FLAG_PROCESSOR_INDEX);
	assert_int_equal(event->context.ProcessorIndex, 3);
	assert_int_equal(event->payload_size, 4);
	assert_true(event->has_payload);
	assert_int_equal(event->payload[0], 77);
	/* It points to nothing where there is nothing. */
	assert_int_equal(fake_etw_emit(&(struct fake_etw_event){ .provider = process_class,
								 .descriptor = { .Opcode = 1 },
								 .classic = true }),
			 1);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 2));
	assert_int_equal(recorder.events[1].payload_size, 0);
	assert_false(recorder.events[1].has_payload);
	recorder_end(&recorder);
}

static int64_t system_now(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	return (int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
}

static void times_are_system_time_unless_raw(void **state)
{
	struct recorder recorder = { 0 };
	LARGE_INTEGER counter;
	int64_t earliest, latest, time;

	(void)state;
	fake_etw_set_clock(2337949, 1000000, 133600000000000000);
	start();
	consume(&recorder, 0);
	earliest = system_now();
	QueryPerformanceCounter(&counter);
	latest = system_now();
	emit_process(1, counter.QuadPart + 2337949, 0); /* in a second */
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 1));
	time = recorder.events[0].header.TimeStamp.QuadPart;
	assert_true(time > earliest && time < latest + 2 * 10000000);
	recorder_end(&recorder);
}

static void events_of_all_processors_come_in_time_order(void **state)
{
	struct recorder recorder = { 0 };
	int64_t last = 0;

	(void)state;
	start();
	consume(&recorder, PROCESS_TRACE_MODE_RAW_TIMESTAMP);
	for (unsigned i = 0; i < 400; i++) {
		emit_process(i, 1000 + i, (uint16_t)(i * 7 % 4));
	}
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 400));
	for (size_t i = 0; i < 400; i++) {
		assert_true(recorder.events[i].header.TimeStamp.QuadPart > last);
		last = recorder.events[i].header.TimeStamp.QuadPart;
	}
	recorder_end(&recorder);
}

static void a_full_buffer_waits_for_older_events_of_other_processors(void **state)
{
	struct recorder recorder = { 0 };
	struct fake_etw_session session;
	unsigned emitted = 1;

	(void)state;
	start();
	consume(&recorder, PROCESS_TRACE_MODE_RAW_TIMESTAMP);
	emit_process(1, 1000, 1); /* stays in the buffer of processor 1 */
	do {
		emit_process(2, 2000 + emitted++, 0);
		assert_true(fake_etw_session("test", &session));
	} while (session.buffers_written == 0);
	Sleep(50);
	assert_int_equal(recorder_count(&recorder), 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, emitted));
	assert_int_equal(recorder.events[0].header.ProcessId, 1);
	recorder_end(&recorder);
}

enum { DISORDERED = 4000, DISORDER_MS = 10, DISORDER_TICKS = 100000, DISORDER_STEP = 1000 };

/* Plays the same events to a machine of that seed; order[] are the numbers as they came. */
static void play_in_disorder(unsigned seed, bool flush_between, uint32_t order[DISORDERED])
{
	const struct fake_etw_options options = { .manual_flush = true,
						  .disorder_ms = DISORDER_MS,
						  .disorder_seed = seed };
	struct recorder recorder = { 0 };

	fake_etw_reset(&options);
	start();
	consume(&recorder, PROCESS_TRACE_MODE_RAW_TIMESTAMP);
	for (uint32_t i = 0; i < DISORDERED; i++) {
		const struct fake_etw_event event = { .provider = process_class,
						      .descriptor = { .Opcode = 1 },
						      .classic = true,
						      .timed = true,
						      .raw_time = (int64_t)i * DISORDER_STEP + 1,
						      .process_id = i,
						      .processor = (uint16_t)(i % 4) };

		assert_true(fake_etw_emit_waiting(&event, WAIT_MS));
		if (flush_between && i == DISORDERED / 2) {
			Sleep(20); /* what may go has gone */
		}
	}
	assert_true(fake_etw_drain("test", WAIT_MS));
	assert_true(recorder_wait(&recorder, DISORDERED));
	for (uint32_t i = 0; i < DISORDERED; i++) {
		order[i] = recorder.events[i].header.ProcessId;
	}
	recorder_end(&recorder);
}

static void a_buffer_may_come_later_than_newer_ones_of_other_processors(void **state)
{
	static uint32_t order[DISORDERED], again[DISORDERED];
	int64_t last[] = { -1, -1, -1, -1 };
	uint32_t newest = 0, late = 0;

	(void)state;
	play_in_disorder(1, false, order);
	for (uint32_t i = 0; i < DISORDERED; i++) {
		int64_t *of_processor = &last[order[i] % 4];

		assert_true(order[i] > *of_processor);
		*of_processor = order[i];
		if (order[i] < newest) {
			assert_in_range((newest - order[i]) * DISORDER_STEP, 1, DISORDER_TICKS);
			late++;
		} else {
			newest = order[i];
		}
	}
	assert_in_range(late, DISORDERED / 10, DISORDERED - 1);
	play_in_disorder(1, true, again);
	assert_memory_equal(order, again, sizeof order);
	play_in_disorder(2, false, again);
	assert_memory_not_equal(order, again, sizeof order);
}

static void losses_are_reported_by_a_record(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	consume(&recorder, 0);
	fake_etw_lose_events("test", 5);
	emit_process(1, 0, 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 2));
	assert_true(IsEqualGUID(&recorder.events[0].header.ProviderId, &lost_class));
	assert_int_equal(recorder.events[0].header.EventDescriptor.Opcode, 32);
	fake_etw_lose_buffers("test", 1);
	emit_process(2, 0, 0);
	fake_etw_flush("test");
	emit_process(3, 0, 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 4));
	assert_int_equal(recorder.events[2].header.EventDescriptor.Opcode, 33);
	assert_int_equal(recorder.events[3].header.ProcessId, 3);
	recorder_end(&recorder);
}

static void the_flush_timer_delivers(void **state)
{
	struct recorder recorder = { 0 };
	struct recorder_properties properties;
	TRACEHANDLE handle;

	(void)state;
	fake_etw_reset(NULL);
	recorder_properties(&properties, true);
	properties.base.LogFileMode |= EVENT_TRACE_USE_MS_FLUSH_TIMER;
	properties.base.FlushTimer = 20;
	properties.base.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
	assert_int_equal(StartTraceW(&handle, u"test", &properties.base), 0);
	consume(&recorder, 0);
	emit_process(1, 0, 0);
	assert_true(recorder_wait(&recorder, 1));
	recorder_end(&recorder);
}

static void what_is_written_before_a_consumer_opens_comes_first(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start();
	emit_process(1, 0, 0);
	fake_etw_flush("test");
	emit_process(2, 0, 0);
	consume(&recorder, 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&recorder, 2));
	assert_int_equal(recorder.events[0].header.ProcessId, 1);
	assert_int_equal(recorder.events[1].header.ProcessId, 2);
	recorder_end(&recorder);
}

static void two_consumers_get_every_event(void **state)
{
	struct recorder first = { 0 };
	struct recorder second = { 0 };
	struct fake_etw_session session;

	(void)state;
	start();
	consume(&first, 0);
	assert_int_equal(recorder_open(&second, u"test", 0), 0);
	recorder_run(&second);
	do {
		assert_true(fake_etw_session("test", &session));
	} while (session.consumers < 2);
	emit_process(1, 0, 0);
	fake_etw_flush("test");
	assert_true(recorder_wait(&first, 1));
	assert_true(recorder_wait(&second, 1));
	assert_true(fake_etw_drain("test", WAIT_MS));
	recorder_stop(u"test");
	assert_int_equal(recorder_join(&first), 0);
	assert_int_equal(recorder_join(&second), 0);
	recorder_close(&first);
	recorder_close(&second);
}

static void a_thread_has_a_priority(void **state)
{
	struct recorder recorder = { 0 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(GetThreadPriority(GetCurrentThread()), THREAD_PRIORITY_NORMAL);
	assert_true(SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_HIGHEST));
	assert_int_equal(GetThreadPriority(GetCurrentThread()), THREAD_PRIORITY_HIGHEST);
	assert_true(SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_NORMAL));
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(fake_etw_consumer_priority("one"), THREAD_PRIORITY_ERROR_RETURN);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_int_equal(fake_etw_consumer_priority("one"), THREAD_PRIORITY_NORMAL);
	recorder_end(&recorder);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, reset, all_is_closed)
	const struct CMUnitTest tests[] = {
		ROW(open_trace_needs_a_session_that_runs),
		ROW(open_trace_needs_rights),
		ROW(open_trace_fills_the_log_file_header),
		ROW(open_trace_reports_the_clock_of_the_session),
		ROW(process_trace_checks_its_handles),
		ROW(process_trace_wants_a_session_in_real_time_mode),
		ROW(process_trace_blocks_until_the_trace_is_closed),
		ROW(close_trace_delivers_what_was_flushed_and_nothing_newer),
		ROW(close_trace_may_drop_what_was_flushed),
		ROW(close_trace_knows_its_handles),
		ROW(process_trace_returns_when_the_session_stops),
		ROW(process_trace_may_not_notice_the_end),
		ROW(buffer_callback_cancels),
		ROW(process_trace_ends_with_what_a_test_asks_for),
		ROW(a_fault_in_a_callback_ends_process_trace_and_nothing_else),
		ROW(records_have_what_was_emitted),
		ROW(times_are_system_time_unless_raw),
		ROW(events_of_all_processors_come_in_time_order),
		ROW(a_full_buffer_waits_for_older_events_of_other_processors),
		ROW(a_buffer_may_come_later_than_newer_ones_of_other_processors),
		ROW(losses_are_reported_by_a_record),
		ROW(the_flush_timer_delivers),
		ROW(what_is_written_before_a_consumer_opens_comes_first),
		ROW(two_consumers_get_every_event),
		ROW(a_thread_has_a_priority),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_consumer", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

/* SPDX-License-Identifier: MIT */
/*
 * Buffers of the fake ETW's sessions and what gets lost: rows B of tests/fake_etw/BEHAVIOUR.md, one
 * test a row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const GUID some_provider = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };

enum { A_BUFFER = 45 /* events of 88 bytes in 4096 - 72 */ };

static int reset(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

static unsigned emit(uint16_t processor)
{
	static const char payload[8] = "payload";
	struct fake_etw_event event = { .provider = some_provider,
					.processor = processor,
					.payload = payload,
					.payload_size = sizeof(payload) };

	return fake_etw_emit(&event);
}

/* A session with buffers of 4 KB that gets everything of some_provider. */
static TRACEHANDLE start(const WCHAR *name, ULONG mode, ULONG least, ULONG most)
{
	struct recorder_properties properties;
	TRACEHANDLE handle;

	recorder_properties(&properties, false);
	properties.base.LogFileMode |= mode;
	properties.base.BufferSize = 4;
	properties.base.MinimumBuffers = least;
	properties.base.MaximumBuffers = most;
	assert_int_equal(StartTraceW(&handle, name, &properties.base), 0);
	assert_int_equal(EnableTraceEx2(handle, &some_provider, 1, 0, 0, 0, 0, NULL), 0);
	return handle;
}

static struct fake_etw_session session_state(const char *name)
{
	struct fake_etw_session session;

	assert_true(fake_etw_session(name, &session));
	return session;
}

static void a_buffer_goes_out_when_it_is_full(void **state)
{
	(void)state;
	start(u"one", 0, 0, 0);
	for (unsigned i = 0; i < A_BUFFER; i++) {
		emit(0);
	}
	assert_int_equal(session_state("one").buffers_written, 0);
	emit(0);
	assert_int_equal(session_state("one").buffers_written, 1);
}

static void every_processor_has_a_buffer_of_its_own(void **state)
{
	static const uint16_t processors[] = { 4, 256 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		fake_etw_reset(&(struct fake_etw_options){ .manual_flush = true,
							   .processors = processors[i] });
		start(u"one", 0, 0, 0);
		start(u"shared", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 0, 0);
		for (uint16_t j = 0; j < processors[i]; j++) {
			emit(j);
		}
		/* Two a processor, of which one is in use; */
		assert_int_equal(session_state("one").free_buffers, processors[i]);
		fake_etw_flush("one");
		assert_int_equal(session_state("one").buffers_written, processors[i]);
		/* two for all, with room for all these events or some of them. */
		assert_int_equal(session_state("shared").minimum_buffers, 2);
		assert_int_equal(session_state("shared").buffers_written,
				 (processors[i] - 1) / A_BUFFER);
	}
}

static void an_empty_buffer_is_not_flushed(void **state)
{
	(void)state;
	start(u"one", 0, 0, 0);
	fake_etw_flush("one");
	assert_int_equal(session_state("one").buffers_written, 0);
}

struct gate {
	atomic_bool open;
};

static void wait_for_gate(void *context)
{
	struct gate *gate = context;

	while (!atomic_load(&gate->open)) {
		Sleep(1);
	}
}

static void the_pool_grows_to_its_maximum_and_then_events_are_lost(void **state)
{
	struct gate gate = { false };
	struct recorder recorder = { .on_event = wait_for_gate, .context = &gate };
	struct fake_etw_session session;

	(void)state;
	start(u"one", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 2, 10);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_int_equal(session_state("one").buffers, 2);
	for (unsigned i = 0; i < 10 * A_BUFFER + 33; i++) {
		assert_int_equal(emit(0), 1);
	}
	session = session_state("one");
	assert_int_equal(session.buffers, 10);
	assert_int_equal(session.free_buffers, 0);
	assert_int_equal(session.events_lost,
			 33); /* the tenth buffer is full, there is no eleventh */
	atomic_store(&gate.open, true);
	assert_true(fake_etw_drain("one", WAIT_MS));
	session = session_state("one");
	assert_int_equal(session.delivered, 10 * A_BUFFER);
	assert_int_equal(session.buffers, 10); /* ETW does not free unused buffers */
	assert_int_equal(session.free_buffers, 10);
	emit(0);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(session_state("one").events_lost, 33);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count,
			 10 * A_BUFFER + 1 + 1); /* and one record that reports the loss */
	recorder_close(&recorder);
}

static void without_a_consumer_the_playback_file_fills(void **state)
{
	static const struct fake_etw_options two = { .manual_flush = true, .playback_buffers = 2 };
	static const EVENT_DESCRIPTOR descriptor = { .Level = 4 };
	struct recorder recorder = { 0 };
	EVENT_DATA_DESCRIPTOR data;
	REGHANDLE provider;

	(void)state;
	fake_etw_reset(&two);
	start(u"one", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 0, 0);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	EventDataDescCreate(&data, "payload", 8);
	for (unsigned i = 0; i < 3 * A_BUFFER; i++) {
		assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 1, &data),
				 0);
	}
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 1, &data),
			 ERROR_LOG_FILE_FULL);
	assert_int_equal(session_state("one").events_lost, 1);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 1, &data), 0);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(session_state("one").delivered, 3 * A_BUFFER + 1);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
	assert_int_equal(EventUnregister(provider), 0);
}

static void a_slow_consumer_makes_writes_fail(void **state)
{
	static const EVENT_DESCRIPTOR descriptor = { .Level = 4 };
	struct gate gate = { false };
	struct recorder recorder = { .on_event = wait_for_gate, .context = &gate };
	ULONG error = 0;
	REGHANDLE provider;

	(void)state;
	start(u"one", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 2, 2);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	assert_true(recorder_consume(&recorder, u"one"));
	for (unsigned i = 0; i < 200 && error == 0; i++) {
		error = EventWriteTransfer(provider, &descriptor, NULL, NULL, 0, NULL);
	}
	assert_int_equal(error, ERROR_NOT_ENOUGH_MEMORY);
	assert_int_equal(session_state("one").events_lost, 1);
	atomic_store(&gate.open, true);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
	assert_int_equal(EventUnregister(provider), 0);
}

static void lost_buffers_are_counted_with_their_events(void **state)
{
	struct recorder recorder = { 0 };
	struct recorder_properties properties;
	struct fake_etw_session session;

	(void)state;
	start(u"one", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 0, 0);
	assert_true(recorder_consume(&recorder, u"one"));
	fake_etw_lose_buffers("one", 2);
	for (unsigned i = 0; i < 4 * A_BUFFER; i++) {
		emit(0);
	}
	assert_true(fake_etw_drain("one", WAIT_MS));
	session = session_state("one");
	assert_int_equal(session.realtime_buffers_lost, 2);
	assert_int_equal(session.events_in_lost_buffers, 2 * A_BUFFER);
	assert_int_equal(session.delivered, 2 * A_BUFFER);
	assert_int_equal(session.events_lost, 0);
	assert_int_equal(recorder_query(u"one", &properties), 0);
	assert_int_equal(properties.base.RealTimeBuffersLost, 2);
	assert_int_equal(properties.base.BuffersWritten, 4);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
}

enum { WRITERS = 4, EACH = 5000 };

static void write_many(void *context)
{
	uint16_t *processor = context;

	for (unsigned i = 0; i < EACH; i++) {
		(void)emit(*processor);
	}
}

static void query_often(void *context)
{
	atomic_bool *stop = context;
	struct recorder_properties properties;

	while (!atomic_load(stop)) {
		(void)recorder_query(u"one", &properties);
		fake_etw_flush(NULL);
	}
}

static void what_was_emitted_was_delivered_or_lost(void **state)
{
	const uint32_t independent = EVENT_TRACE_INDEPENDENT_SESSION_MODE |
				     EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN;
	struct recorder first = { 0 };
	struct recorder second = { 0 };
	struct os_thread writers[WRITERS];
	struct os_thread watcher;
	uint16_t processors[WRITERS];
	atomic_bool stop = false;
	struct fake_etw_session session;
	size_t losses = 0;

	(void)state;
	start(u"one", independent, 0, 10);
	start(u"two", independent, 0, 1000);
	assert_int_equal(recorder_open(&first, u"one", 0), 0);
	assert_int_equal(recorder_open(&second, u"two", 0), 0);
	recorder_run(&first);
	recorder_run(&second);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	assert_true(fake_etw_wait_consumer("two", WAIT_MS));
	assert_true(os_thread_start(&watcher, query_often, &stop, NULL));
	for (uint16_t i = 0; i < WRITERS; i++) {
		processors[i] = i;
		assert_true(os_thread_start(&writers[i], write_many, &processors[i], NULL));
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		os_thread_join(&writers[i]);
	}
	atomic_store(&stop, true);
	os_thread_join(&watcher);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_true(fake_etw_drain("two", WAIT_MS));
	session = session_state("one");
	print_message("  one: %u emitted, %u delivered, %u lost\n", (unsigned)session.emitted,
		      (unsigned)session.delivered, (unsigned)session.events_lost);
	assert_int_equal(session.emitted, WRITERS * EACH);
	assert_int_equal(session.delivered + session.events_lost, WRITERS * EACH);
	session = session_state("two");
	assert_int_equal(session.delivered + session.events_lost, WRITERS * EACH);
	recorder_stop(u"one");
	recorder_stop(u"two");
	recorder_join(&first);
	recorder_join(&second);
	for (size_t i = 0; i < second.count && i < RECORDER_EVENTS; i++) {
		losses += second.events[i].header.EventDescriptor.Opcode == 32;
	}
	assert_true(second.count >= session.delivered && losses <= second.count);
	recorder_close(&first);
	recorder_close(&second);
}

static void starting_and_stopping_leaves_nothing_behind(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct recorder recorder = { 0 };

		start(u"one", 0, 0, 0);
		assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
		emit(0);
		recorder_run(&recorder);
		if (i % 2 == 0) {
			assert_true(fake_etw_wait_consumer("one", WAIT_MS));
			assert_int_equal(recorder_stop(u"one"), 0);
			assert_int_equal(recorder_join(&recorder), 0);
			recorder_close(&recorder);
		} else {
			CloseTrace(recorder.trace); /* at any moment of ProcessTrace's start */
			recorder_join(&recorder);
			assert_true(recorder.result == 0 ||
				    recorder.result == ERROR_INVALID_HANDLE);
			assert_int_equal(recorder_stop(u"one"), 0);
			recorder_close(&recorder);
		}
	}
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
}

static void a_consumer_can_be_held_up(void **state)
{
	struct recorder recorder = { 0 };

	(void)state;
	start(u"one", EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING, 2, 2);
	assert_true(recorder_consume(&recorder, u"one"));
	fake_etw_hold_consumer("one", true);
	for (unsigned i = 0; i < 3 * A_BUFFER; i++) {
		emit(0);
	}
	assert_int_equal(session_state("one").events_lost, A_BUFFER);
	assert_int_equal(recorder_count(&recorder), 0);
	fake_etw_hold_consumer("one", false);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(session_state("one").delivered, 2 * A_BUFFER);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
}

static void a_writer_that_waits_for_a_buffer_loses_no_event(void **state)
{
	static const struct fake_etw_options by_timer = { .processors = 2 };
	static const struct fake_etw_event event = {
		.provider = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } }
	};
	enum { EVENTS = 200 * A_BUFFER };
	struct recorder recorder = { 0 };
	struct recorder_properties properties;
	struct fake_etw_session session;
	TRACEHANDLE handle;

	(void)state;
	fake_etw_reset(&by_timer);
	recorder_properties(&properties, false);
	properties.base.LogFileMode |= EVENT_TRACE_USE_MS_FLUSH_TIMER;
	properties.base.FlushTimer = 1;
	properties.base.BufferSize = 4;
	properties.base.MaximumBuffers = 4;
	assert_int_equal(StartTraceW(&handle, u"one", &properties.base), 0);
	assert_int_equal(EnableTraceEx2(handle, &event.provider, 1, 0, 0, 0, 0, NULL), 0);
	assert_true(recorder_consume(&recorder, u"one"));
	for (unsigned i = 0; i < EVENTS; i++) {
		assert_true(fake_etw_emit_waiting(&event, WAIT_MS));
	}
	fake_etw_hold_consumer("one", true);
	while (fake_etw_emit_waiting(&event, 1)) {
	}
	fake_etw_hold_consumer("one", false);
	assert_true(fake_etw_drain("one", WAIT_MS));
	session = session_state("one");
	assert_true(session.emitted >= EVENTS);
	assert_int_equal(session.events_lost, 0);
	assert_int_equal(session.delivered, session.emitted);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(a_buffer_goes_out_when_it_is_full),
		ROW(every_processor_has_a_buffer_of_its_own),
		ROW(an_empty_buffer_is_not_flushed),
		ROW(the_pool_grows_to_its_maximum_and_then_events_are_lost),
		ROW(without_a_consumer_the_playback_file_fills),
		ROW(a_slow_consumer_makes_writes_fail),
		ROW(lost_buffers_are_counted_with_their_events),
		ROW(what_was_emitted_was_delivered_or_lost),
		ROW(starting_and_stopping_leaves_nothing_behind),
		ROW(a_consumer_can_be_held_up),
		ROW(a_writer_that_waits_for_a_buffer_loses_no_event),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_buffers", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

/* SPDX-License-Identifier: MIT */
/*
 * Recordings played through the fake ETW: rows R of tests/fake_etw/BEHAVIOUR.md, one test a row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "lib/etl/writer.h"
#include "tests/support/temporary.h"

static const struct etw_guid some_provider =
	ETW_GUID_INIT(0x12345678, 0x1234, 0x1234, 1, 2, 3, 4, 5, 6, 7, 8);
static const struct etw_guid image_id =
	ETW_GUID_INIT(0xb3e675d7, 0x2554, 0x4f18, 0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde);
static const struct etw_guid event_info =
	ETW_GUID_INIT(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71);
static const struct etw_guid activity = ETW_GUID_INIT(0xac, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);

enum { START_RAW = 5000, MANY = 3000 };

static char path[TEMPORARY_PATH_SIZE];

static int reset(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

/* Builds a recording with the records of a table; times go up by 10 ticks. */
static void build(const struct etw_out_record *records, size_t count)
{
	struct etw_writer_options options = { .processors = 4,
					      .perf_frequency = 2337949,
					      .start_raw = START_RAW };
	struct etw_error err;
	struct etw_writer *writer;

	temporary_path(path, "etl");
	writer = etw_writer_open(path, &options, &err);
	assert_non_null(writer);
	for (size_t i = 0; i < count; i++) {
		struct etw_out_record record = records[i];

		record.raw_time = START_RAW + 10 * ((int64_t)i + 1);
		etw_writer_add(writer, &record);
	}
	assert_true(etw_writer_finish(writer, &err));
	etw_writer_close(writer);
}

static void play_records(struct fake_etw_play_options *options, struct fake_etw_played *played)
{
	struct etw_error err;

	if (!fake_etw_play(path, options, played, &err)) {
		fail_msg("%s", err.text);
	}
}

static void consume(struct recorder *recorder, const WCHAR *name, const char *utf8)
{
	assert_int_equal(recorder_open(recorder, name, PROCESS_TRACE_MODE_RAW_TIMESTAMP), 0);
	recorder_run(recorder);
	assert_true(fake_etw_wait_consumer(utf8, WAIT_MS));
}

static void finish(struct recorder *recorder, const WCHAR *name, const char *utf8)
{
	assert_true(fake_etw_drain(utf8, WAIT_MS));
	assert_int_equal(recorder_stop(name), 0);
	assert_int_equal(recorder_join(recorder), 0);
}

static void records_become_event_records(void **state)
{
	static const char payload[] = "0123456";
	static const uint64_t start_key = 42;
	static const struct etw_out_item items[] = { { ETW_EXTENDED_PROCESS_START_KEY,
						       sizeof(start_key), &start_key } };
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_SYSTEM,
		  .group = 3,
		  .opcode = 1,
		  .version = 4,
		  .process_id = 8,
		  .thread_id = 12,
		  .processor = 2,
		  .payload = payload,
		  .payload_size = 7 },
		{ .type = ETW_RECORD_PERFINFO,
		  .group = 1,
		  .opcode = 10,
		  .version = 3,
		  .pointer_size = 4 },
		{ .type = ETW_RECORD_EVENT,
		  .provider = &some_provider,
		  .id = 7,
		  .version = 1,
		  .channel = 2,
		  .level = 4,
		  .opcode = 9,
		  .task = 11,
		  .keyword = 0x20,
		  .activity = &activity,
		  .process_id = 9,
		  .thread_id = 13,
		  .items = items,
		  .item_count = 1,
		  .payload = payload,
		  .payload_size = 3 },
	};
	struct recorder recorder = { 0 };
	struct fake_etw_played played;
	const struct recorded *event;
	TRACEHANDLE one;
	GUID guid;

	(void)state;
	build(records, 3);
	assert_int_equal(recorder_start(u"one", true,
					EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_IO, &one),
			 0);
	memcpy(&guid, some_provider.bytes, sizeof(guid));
	assert_int_equal(EnableTraceEx2(one, &guid, 1, 5, 0, 0, 0, NULL), 0);
	consume(&recorder, u"one", "one");
	play_records(NULL, &played);
	assert_int_equal(played.emitted, 3);
	assert_int_equal(played.left_out, 1); /* the header */
	finish(&recorder, u"one", "one");
	assert_int_equal(recorder.count, 3);

	event = &recorder.events[0];
	assert_int_equal(event->header.ProviderId.Data1, 0x3d6fa8d0);
	assert_int_equal(event->header.EventDescriptor.Opcode, 1);
	assert_int_equal(event->header.EventDescriptor.Version, 4);
	assert_int_equal(event->header.ProcessId, 8);
	assert_int_equal(event->header.ThreadId, 12);
	assert_int_equal(event->header.TimeStamp.QuadPart, START_RAW + 10);
	assert_int_equal(event->context.ProcessorIndex, 2);
	assert_true((event->header.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0);
	assert_true((event->header.Flags & EVENT_HEADER_FLAG_64_BIT_HEADER) != 0);
	assert_int_equal(event->payload_size, 7);
	assert_memory_equal(event->payload, payload, 7);

	event = &recorder.events[1];
	assert_int_equal(event->header.ProviderId.Data1, 0x3d6fa8d4);
	assert_int_equal(event->header.ProcessId, UINT32_MAX); /* PERFINFO records have none */
	assert_int_equal(event->header.ThreadId, UINT32_MAX);
	assert_true((event->header.Flags & EVENT_HEADER_FLAG_32_BIT_HEADER) != 0);
	assert_int_equal(event->header.Flags & EVENT_HEADER_FLAG_64_BIT_HEADER, 0);

	event = &recorder.events[2];
	assert_memory_equal(&event->header.ProviderId, some_provider.bytes, 16);
	assert_int_equal(event->header.EventDescriptor.Id, 7);
	assert_int_equal(event->header.EventDescriptor.Channel, 2);
	assert_int_equal(event->header.EventDescriptor.Level, 4);
	assert_int_equal(event->header.EventDescriptor.Opcode, 9);
	assert_int_equal(event->header.EventDescriptor.Task, 11);
	assert_int_equal(event->header.EventDescriptor.Keyword, 0x20);
	assert_memory_equal(&event->header.ActivityId, activity.bytes, 16);
	assert_int_equal(event->header.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER, 0);
	assert_int_equal(event->item_count, 1);
	assert_int_equal(event->item_types[0], EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY);
	assert_int_equal(event->item_starts[0], 42);
	recorder_close(&recorder);
	assert_int_equal(remove(path), 0);
}

static void what_no_session_delivers_is_left_out(void **state)
{
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_FULL, .provider = &image_id, .opcode = 36 },
		{ .type = ETW_RECORD_FULL, .provider = &event_info, .opcode = 32 },
		{ .type = ETW_RECORD_SYSTEM, .group = 0, .opcode = 8 },
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 1 },
	};
	struct fake_etw_played played;

	(void)state;
	build(records, 4);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	play_records(NULL, &played);
	assert_int_equal(played.emitted, 1);
	assert_int_equal(played.left_out, 4);
	assert_int_equal(played.unwanted, 0);
	assert_int_equal(remove(path), 0);
}

static void sessions_get_what_they_have_enabled(void **state)
{
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 1 },
		{ .type = ETW_RECORD_SYSTEM, .group = 5, .opcode = 1 },
		{ .type = ETW_RECORD_EVENT, .provider = &some_provider, .level = 4, .keyword = 1 },
		{ .type = ETW_RECORD_EVENT, .provider = &some_provider, .level = 4, .keyword = 2 },
		{ .type = ETW_RECORD_EVENT, .provider = &some_provider, .level = 5, .keyword = 1 },
	};
	struct fake_etw_played played;
	struct fake_etw_session session;
	TRACEHANDLE user;
	GUID guid;

	(void)state;
	build(records, 5);
	memcpy(&guid, some_provider.bytes, sizeof(guid));
	assert_int_equal(recorder_start(u"system", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	assert_int_equal(recorder_start(u"user", false, 0, &user), 0);
	assert_int_equal(EnableTraceEx2(user, &guid, 1, 4, 0x1, 0, 0, NULL), 0);
	play_records(NULL, &played);
	assert_int_equal(played.emitted, 2);
	assert_int_equal(played.unwanted, 3);
	assert_true(fake_etw_session("system", &session));
	assert_int_equal(session.emitted, 1);
	assert_true(fake_etw_session("user", &session));
	assert_int_equal(session.emitted, 1);
	play_records(&(struct fake_etw_play_options){ .only = "user" }, &played);
	assert_int_equal(played.emitted, 5);
	assert_true(fake_etw_session("user", &session));
	assert_int_equal(session.emitted, 6);
	assert_int_equal(remove(path), 0);
}

static void build_many(void)
{
	static struct etw_out_record records[MANY];
	static const char payload[64];

	for (size_t i = 0; i < MANY; i++) {
		records[i] = (struct etw_out_record){ .type = ETW_RECORD_SYSTEM,
						      .group = 3,
						      .opcode = 1,
						      .processor = (uint16_t)(i % 4),
						      .process_id = (uint32_t)i,
						      .payload = payload,
						      .payload_size = sizeof(payload) };
	}
	build(records, MANY);
}

static TRACEHANDLE start_small(void)
{
	struct recorder_properties properties;
	TRACEHANDLE one;

	recorder_properties(&properties, true);
	properties.base.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
	properties.base.BufferSize = 4;
	properties.base.MaximumBuffers = 8;
	assert_int_equal(StartTraceW(&one, u"one", &properties.base), 0);
	return one;
}

static void playing_waits_for_buffers(void **state)
{
	struct recorder recorder = { 0 };
	struct fake_etw_played played;
	struct fake_etw_session session;

	(void)state;
	build_many();
	start_small();
	consume(&recorder, u"one", "one");
	play_records(NULL, &played);
	assert_int_equal(played.emitted, MANY);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.events_lost, 0);
	assert_int_equal(session.delivered, MANY);
	finish(&recorder, u"one", "one");
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(recorder.events[i].header.ProcessId,
				 i); /* in time order, over four processors */
	}
	recorder_close(&recorder);
	assert_int_equal(remove(path), 0);
}

static void a_lossy_play_loses_what_finds_no_buffer(void **state)
{
	struct fake_etw_played played;
	struct fake_etw_session session;

	(void)state;
	build_many();
	start_small();
	play_records(&(struct fake_etw_play_options){ .lossy = true }, &played);
	assert_int_equal(played.emitted, MANY);
	assert_true(fake_etw_session("one", &session));
	assert_true(session.events_lost > 0 && session.events_lost < MANY);
	assert_int_equal(remove(path), 0);
}

static void the_clocks_can_be_those_of_the_recording(void **state)
{
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 1 }
	};
	struct fake_etw_played played;
	LARGE_INTEGER frequency;
	LARGE_INTEGER counter;
	uint64_t begun_ns;
	int64_t seconds;
	struct etw_error err;

	(void)state;
	build(records, 1);
	begun_ns = os_monotonic_ns();
	assert_true(fake_etw_clock_like(path, &err));
	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&counter);
	assert_int_equal(frequency.QuadPart, 2337949);
	seconds = 1 + (int64_t)((os_monotonic_ns() - begun_ns) / UINT64_C(1000000000));
	assert_true(counter.QuadPart >= START_RAW &&
		    counter.QuadPart < START_RAW + 2337949 * seconds);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	fake_etw_set_clock(2337949, 0, 133600000000000000);
	play_records(&(struct fake_etw_play_options){ .advance_clock = true }, &played);
	QueryPerformanceCounter(&counter);
	assert_true(counter.QuadPart >= START_RAW + 10);
	assert_false(fake_etw_clock_like("no such file", &err));
	assert_false(fake_etw_play("no such file", NULL, &played, &err));
	assert_int_equal(remove(path), 0);
}

static bool skip_all(void *context, const struct etw_record *record)
{
	(void)context;
	return record->opcode == 1;
}

static void a_test_may_skip_records(void **state)
{
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 1 },
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 2 }
	};
	struct fake_etw_played played;

	(void)state;
	build(records, 2);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	play_records(&(struct fake_etw_play_options){ .skip = skip_all }, &played);
	assert_int_equal(played.emitted, 1);
	assert_int_equal(played.left_out, 2);
	assert_int_equal(remove(path), 0);
}

static void records_can_happen_when_they_are_played(void **state)
{
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_SYSTEM, .group = 3, .opcode = 1 }
	};
	struct recorder recorder = { 0 };
	struct fake_etw_played played;
	LARGE_INTEGER before, after;

	(void)state;
	build(records, 1);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	assert_int_equal(recorder_open(&recorder, u"one", PROCESS_TRACE_MODE_RAW_TIMESTAMP), 0);
	recorder_run(&recorder);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	fake_etw_set_clock(2337949, START_RAW + INT64_C(2337949) * 3600, 133600000000000000);
	QueryPerformanceCounter(&before);
	play_records(&(struct fake_etw_play_options){ .now = true }, &played);
	QueryPerformanceCounter(&after);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(recorder_count(&recorder), 1);
	assert_in_range(recorder.events[0].header.TimeStamp.QuadPart, before.QuadPart,
			after.QuadPart);
	recorder_stop(u"one");
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
	assert_int_equal(remove(path), 0);
}

/* What a session gets when it stops: the keys of names. */
static unsigned names_at_stop(const WCHAR *name, const char *utf8, uint64_t *last_key)
{
	struct recorder recorder = { 0 };
	unsigned names = 0;

	assert_int_equal(recorder_start(name, true,
					EVENT_TRACE_FLAG_DISK_IO | EVENT_TRACE_FLAG_DISK_FILE_IO,
					NULL),
			 0);
	consume(&recorder, name, utf8);
	finish(&recorder, name, utf8);
	for (size_t i = 0; i < recorder.count; i++) {
		names += recorder.events[i].header.EventDescriptor.Opcode == 36;
		memcpy(last_key, recorder.events[i].payload, sizeof(*last_key));
	}
	recorder_close(&recorder);
	return names;
}

static void the_end_of_a_recording_is_reported_at_stop_only(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .end_rundown_at_stop = true };
	static const uint64_t old_key = 0xaaa, new_key = 0xbbb;
	static const uint32_t process = 8, other_process = 12; /* as version 0 has it */
	const struct etw_out_record records[] = {
		{ ETW_RECORD_SYSTEM, .group = 3, .opcode = 3, .payload = &process,
		  .payload_size = 4 },
		{ ETW_RECORD_SYSTEM, .group = 4, .opcode = 32, .payload = &new_key,
		  .payload_size = 8 },
		{ ETW_RECORD_SYSTEM, .group = 4, .opcode = 36, .payload = &new_key,
		  .payload_size = 8 },
		{ ETW_RECORD_SYSTEM, .group = 4, .opcode = 36, .payload = &old_key,
		  .payload_size = 8 },
		{ ETW_RECORD_SYSTEM, .group = 3, .opcode = 4, .payload = &process,
		  .payload_size = 4 },
		{ ETW_RECORD_SYSTEM, .group = 3, .opcode = 4, .payload = &other_process,
		  .payload_size = 4 },
	};
	struct fake_etw_session session;
	struct fake_etw_played played;
	struct etw_error err;
	uint64_t key = 0;

	(void)state;
	build(records, sizeof(records) / sizeof(records[0]));
	fake_etw_reset(&machine);
	assert_true(fake_etw_exist_like(path, &err));
	fake_etw_set_clock(2337949, -INT64_C(2337949) * 86400, 133600000000000000); /* before it */
	assert_int_equal(names_at_stop(u"early", "early", &key), 1);
	assert_int_equal(key, old_key);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1); /* the process that begins nowhere */
	play_records(NULL, &played);
	assert_int_equal(played.emitted, 1);
	assert_int_equal(played.left_out, 1 + 4); /* the header, and the end */
	fake_etw_set_clock(2337949, START_RAW + 1000, 133600000000000000);
	assert_int_equal(names_at_stop(u"after", "after", &key), 2);
	assert_false(fake_etw_exist_like("no such file", &err));
	assert_int_equal(remove(path), 0);
}

/* An interrupt that began 3 ticks before its record, and an event of a provider with an item. */
static void build_two(void)
{
	static const int64_t began = START_RAW + 7;
	static const uint64_t start_key = 42;
	static const struct etw_out_item items[] = { { ETW_EXTENDED_PROCESS_START_KEY,
						       sizeof(start_key), &start_key } };
	const struct etw_out_record records[] = {
		{ .type = ETW_RECORD_PERFINFO,
		  .group = 15,
		  .opcode = 67,
		  .version = 2,
		  .payload = &began,
		  .payload_size = sizeof(began) },
		{ .type = ETW_RECORD_EVENT,
		  .provider = &some_provider,
		  .id = 7,
		  .process_id = 9,
		  .items = items,
		  .item_count = 1,
		  .payload = &began,
		  .payload_size = sizeof(began) },
	};

	build(records, 2);
}

/* The consumer "one", which has got both; they are kept. */
static void consume_two(struct recorder *recorder, struct fake_etw_kept *kept)
{
	struct fake_etw_play_options options = { .only = "one" };
	struct fake_etw_played played;

	build_two();
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	assert_false(fake_etw_keep("one", kept)); /* there is no consumer */
	consume(recorder, u"one", "one");
	assert_true(fake_etw_keep("one", kept));
	play_records(&options, &played);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_true(fake_etw_keep("one", NULL));
	assert_int_equal(kept->count, 2);
}

static void deliver_later(void *context, EVENT_TRACE_LOGFILEW *log_file)
{
	struct fake_etw_kept *kept = context;

	for (size_t i = 0; i < kept->count; i++) {
		struct fake_etw_kept_record *record = kept->records[i];

		fake_etw_restamp(record, record->record.EventHeader.TimeStamp.QuadPart + 1000);
		log_file->EventRecordCallback(&record->record);
	}
}

static int64_t first_number(const struct recorded *event)
{
	int64_t number;

	assert_int_equal(event->payload_size, sizeof(number));
	memcpy(&number, event->payload, sizeof(number));
	return number;
}

static void what_was_delivered_can_be_delivered_again(void **state)
{
	struct recorder recorder = { 0 };
	struct fake_etw_kept kept = { 0 };
	const struct recorded *event;

	(void)state;
	consume_two(&recorder, &kept);
	assert_true(fake_etw_run_on_consumer("one", deliver_later, &kept));
	assert_int_equal(fake_etw_kept_buffer(&kept, 0, 65536), 2);
	assert_int_equal(fake_etw_kept_buffer(&kept, 0, 1), 1); /* one fits any buffer */
	fake_etw_kept_done(&kept);
	finish(&recorder, u"one", "one");
	assert_int_equal(recorder.count, 4);
	for (size_t i = 0; i < 2; i++) { /* first those that were played */
		event = &recorder.events[i];
		assert_int_equal(event->header.TimeStamp.QuadPart, START_RAW + 10 * (i + 1));
		assert_int_equal(first_number(event), START_RAW + 7);
	}
	event = &recorder.events[2];
	assert_int_equal(event->header.ProviderId.Data1, 0xce1dbfb4);
	assert_int_equal(event->header.TimeStamp.QuadPart, START_RAW + 10 + 1000);
	assert_int_equal(first_number(event), START_RAW + 7 + 1000);
	event = &recorder.events[3];
	assert_int_equal(event->header.TimeStamp.QuadPart, START_RAW + 20 + 1000);
	assert_int_equal(first_number(event), START_RAW + 7); /* a number of a provider */
	assert_int_equal(event->item_count, 1);
	assert_int_equal(event->item_starts[0], 42);
	assert_false(fake_etw_run_on_consumer("one", deliver_later, &kept)); /* it has ended */
	recorder_close(&recorder);
	assert_int_equal(remove(path), 0);
}

static void what_was_delivered_can_be_delivered_at_a_pace(void **state)
{
	struct recorder recorder = { 0 };
	struct fake_etw_kept kept = { 0 };
	struct fake_etw_paced paced, none;

	(void)state;
	consume_two(&recorder, &kept);
	assert_true(fake_etw_pace("one", &kept, 100, 1, &paced));
	assert_true(paced.delivered <= 100); /* fewer on a busy machine */
	assert_true(paced.ns >= 1000000000);
	fake_etw_kept_done(&kept);
	assert_false(fake_etw_pace("one", &kept, 100, 1, &none)); /* nothing is kept */
	finish(&recorder, u"one", "one");
	assert_int_equal(recorder.count, 2 + paced.delivered);
	recorder_close(&recorder);
	assert_int_equal(remove(path), 0);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(records_become_event_records),
		ROW(what_no_session_delivers_is_left_out),
		ROW(sessions_get_what_they_have_enabled),
		ROW(playing_waits_for_buffers),
		ROW(a_lossy_play_loses_what_finds_no_buffer),
		ROW(the_clocks_can_be_those_of_the_recording),
		ROW(a_test_may_skip_records),
		ROW(records_can_happen_when_they_are_played),
		ROW(the_end_of_a_recording_is_reported_at_stop_only),
		ROW(what_was_delivered_can_be_delivered_again),
		ROW(what_was_delivered_can_be_delivered_at_a_pace),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_play", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

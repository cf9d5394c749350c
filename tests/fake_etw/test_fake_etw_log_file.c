/* SPDX-License-Identifier: MIT */
/*
 * Sessions of the fake ETW that write a log file: rows L of tests/fake_etw/BEHAVIOUR.md, one test a
 * row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "etl/source_file.h"
#include "source/event_record.h"
#include "tests/support/temporary.h"

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID perf_info_class = {
	0xce1dbfb4, 0x137e, 0x4da6, { 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc }
};
static const GUID some_provider = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };
static const GUID some_class = { 0x87654321, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };

enum { RECORDS_MAX = 16, BUFFER = 64 * 1024, MEGABYTE = 1024 * 1024 };

static char path[TEMPORARY_PATH_SIZE];
static WCHAR wide_path[TEMPORARY_PATH_SIZE];

/* What our reader finds in the file. */
struct replayed {
	uint64_t events;
	struct event_record records[RECORDS_MAX]; /* without what they point to … */
	struct guid providers[RECORDS_MAX];       /* … except this … */
	char payloads[RECORDS_MAX][8];            /* … and this */
	struct source_facts facts;
	struct source_statistics statistics;
};

static int reset_with(const struct fake_etw_options *options)
{
	fake_etw_reset(options);
	temporary_path(path, "etl");
	for (size_t i = 0; i < sizeof(path); i++) {
		wide_path[i] = (WCHAR)path[i]; /* ASCII */
	}
	return 0;
}

static int reset(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	return reset_with(&manual);
}

static int remove_file(void **state)
{
	(void)state;
	remove(path);
	return 0;
}

/* A system logger with a file; mode is added to that. */
static void properties_with_file(struct recorder_properties *properties, ULONG mode)
{
	recorder_properties(properties, true);
	properties->base.LogFileMode = EVENT_TRACE_SYSTEM_LOGGER_MODE | mode;
	properties->base.LogFileNameOffset = offsetof(struct recorder_properties, file);
	properties->base.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
	properties->base.BufferSize = BUFFER / 1024;
	memcpy(properties->file, wide_path, sizeof(wide_path));
}

static ULONG start(const WCHAR *name, struct recorder_properties *properties)
{
	TRACEHANDLE handle;

	return StartTraceW(&handle, name, &properties->base);
}

static void start_with_file(ULONG mode)
{
	struct recorder_properties properties;

	properties_with_file(&properties, mode);
	assert_int_equal(start(u"test", &properties), 0);
}

static void stop(void)
{
	struct recorder_properties properties;

	properties_with_file(&properties, 0); /* there is room for the file's name */
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_STOP), 0);
}

/* Returns how many sessions it reached. */
static unsigned emit(const void *payload, size_t size)
{
	const struct fake_etw_event event = {
		.provider = process_class,
		.descriptor = { .Opcode = 1, .Version = 4 },
		.classic = true,
		.process_id = 8,
		.thread_id = 12,
		.payload = payload,
		.payload_size = size,
	};

	return fake_etw_emit(&event);
}

static void emit_process(const void *payload, size_t size)
{
	assert_int_equal(emit(payload, size), 1);
}

static void on_event(void *context, const struct event_record *record)
{
	struct replayed *replayed = context;

	if (replayed->events < RECORDS_MAX) {
		replayed->records[replayed->events] = *record;
		replayed->providers[replayed->events] = *record->provider;
		memcpy(replayed->payloads[replayed->events], record->payload,
		       record->payload_size < 7 ? record->payload_size : 7);
	}
	replayed->events++;
}

/* The first record is the header. */
static void replay(struct replayed *replayed)
{
	const struct source_file_options options = { .single_pass = true };
	struct event_sink sink = { .context = replayed, .on_event = on_event };
	struct error err = { 0 };
	struct source *source = source_open_file(path, &options, &err);

	assert_string_equal(err.text, "");
	memset(replayed, 0, sizeof(*replayed));
	assert_true(source_run(source, &sink, &err));
	replayed->facts = *source_facts(source);
	source_statistics(source, &replayed->statistics);
	source_close(source);
}

static void a_log_file_is_written_beside_real_time(void **state)
{
	struct recorder recorder = { 0 };
	static struct replayed replayed;

	(void)state;
	start_with_file(EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	assert_int_equal(recorder_open(&recorder, u"test", PROCESS_TRACE_MODE_RAW_TIMESTAMP), 0);
	recorder_run(&recorder);
	assert_true(fake_etw_wait_consumer("test", WAIT_MS));
	emit_process("one", 3);
	emit_process("two", 3);
	assert_true(fake_etw_drain("test", WAIT_MS));
	emit_process("three", 5);
	stop();
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder_count(&recorder), 3);
	replay(&replayed);
	assert_int_equal(replayed.events, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(replayed.records[i + 1].raw_time,
				 recorder.events[i].header.TimeStamp.QuadPart);
		assert_int_equal(replayed.records[i + 1].process_id, 8);
		assert_int_equal(replayed.records[i + 1].thread_id, 12);
		assert_int_equal(replayed.records[i + 1].opcode, 1);
		assert_memory_equal(replayed.payloads[i + 1], recorder.events[i].payload, 3);
	}
	recorder_close(&recorder);
}

static void a_log_file_alone_needs_no_consumer(void **state)
{
	static struct replayed replayed;
	struct fake_etw_session session;

	(void)state;
	start_with_file(0);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_FILE_MODE_SEQUENTIAL, 1);
	for (unsigned i = 0; i < 10000; i++) {
		emit_process("12345678", 8);
	}
	stop();
	replay(&replayed);
	assert_int_equal(replayed.events, 1 + 10000);
}

static void a_file_name_makes_a_real_time_session_write_it(void **state)
{
	struct fake_etw_session session;

	(void)state;
	start_with_file(EVENT_TRACE_REAL_TIME_MODE);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_FILE_MODE_SEQUENTIAL, 1);
}

static void records_have_the_headers_of_the_kernel(void **state)
{
	const struct fake_etw_event profile = { .provider = perf_info_class,
						.descriptor = { .Opcode = 46, .Version = 2 },
						.classic = true,
						.process_id = UINT32_MAX,
						.thread_id = UINT32_MAX };
	const struct fake_etw_event manifest = {
		.provider = some_provider,
		.descriptor = { .Id = 7, .Version = 1, .Level = 4, .Keyword = 0x20 },
		.process_id = 9,
		.pointer_size = 4
	};
	const struct fake_etw_event classic = { .provider = some_class,
						.descriptor = { .Opcode = 5, .Level = 3 },
						.classic = true };
	static struct replayed replayed;
	struct recorder_properties properties;

	(void)state;
	properties_with_file(&properties, 0);
	assert_int_equal(start(u"test", &properties), 0);
	assert_true(fake_etw_other_set_flags("test",
					     EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_PROFILE));
	assert_true(fake_etw_other_enable("test", &some_provider, 5, 0));
	assert_true(fake_etw_other_enable("test", &some_class, 5, 0));
	emit_process("", 0);
	assert_int_equal(fake_etw_emit(&profile), 1);
	assert_int_equal(fake_etw_emit(&manifest), 1);
	assert_int_equal(fake_etw_emit(&classic), 1);
	stop();
	replay(&replayed);
	assert_int_equal(replayed.events, 5);
	assert_int_equal(replayed.records[1].type, RECORD_SYSTEM);
	assert_int_equal(replayed.records[2].type, RECORD_PERFINFO);
	assert_memory_equal(&replayed.providers[2], &perf_info_class, 16);
	assert_int_equal(replayed.records[3].type, RECORD_EVENT);
	assert_int_equal(replayed.records[3].pointer_size, 4);
	assert_int_equal(replayed.records[3].id, 7);
	assert_int_equal(replayed.records[3].keyword, 0x20);
	assert_int_equal(replayed.records[4].type, RECORD_FULL);
	assert_int_equal(replayed.records[4].level, 3);
	assert_memory_equal(&replayed.providers[4], &some_class, 16);
}

static void the_header_says_how_the_session_went(void **state)
{
	static struct replayed replayed;
	LARGE_INTEGER frequency;

	(void)state;
	start_with_file(EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	emit_process("", 0);
	fake_etw_lose_events("test", 5);
	stop();
	replay(&replayed);
	QueryPerformanceFrequency(&frequency);
	assert_int_equal(replayed.facts.clock.type, 1);
	assert_int_equal(replayed.facts.clock.perf_frequency, frequency.QuadPart);
	assert_int_equal(replayed.statistics.events_lost, 5);
}

static void a_file_that_exists_is_overwritten(void **state)
{
	static const char junk[BUFFER * 3] = "not a recording";
	static struct replayed replayed;

	(void)state;
	temporary_write(path, junk, sizeof(junk));
	start_with_file(EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	emit_process("", 0);
	stop();
	replay(&replayed);
	assert_int_equal(replayed.events, 2);
}

static void a_session_that_does_not_start_leaves_a_file_alone(void **state)
{
	struct recorder_properties properties;
	FILE *file;

	(void)state;
	temporary_write(path, "before", 6);
	assert_int_equal(recorder_start(u"test", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(start(u"test", &properties), ERROR_ALREADY_EXISTS);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fgetc(file), 'b');
	fclose(file);
}

static void a_file_that_cannot_be_created_prevents_the_session(void **state)
{
	struct recorder_properties properties;

	(void)state;
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	memcpy(properties.file, u"./no-such-folder/x.etl", sizeof(u"./no-such-folder/x.etl"));
	assert_int_equal(start(u"test", &properties), ERROR_PATH_NOT_FOUND);
	memcpy(properties.file, u".", sizeof(u".")); /* a folder */
	assert_int_equal(start(u"test", &properties), ERROR_ACCESS_DENIED);
	assert_false(fake_etw_session("test", &(struct fake_etw_session){ 0 }));
}

static void a_session_that_names_no_file_cannot_write_one(void **state)
{
	struct recorder_properties properties;

	(void)state;
	properties_with_file(&properties,
			     EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties.base.LogFileNameOffset = 0;
	assert_int_equal(start(u"test", &properties), ERROR_BAD_PATHNAME);
	properties_with_file(&properties, EVENT_TRACE_BUFFERING_MODE);
	assert_int_equal(start(u"test", &properties), ERROR_INVALID_PARAMETER);
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	for (size_t i = 0; i < sizeof(properties.file) / sizeof(WCHAR); i++) {
		properties.file[i] = 'n'; /* without an end */
	}
	assert_int_equal(start(u"test", &properties), ERROR_INVALID_PARAMETER);
}

static void two_sessions_cannot_write_one_file(void **state)
{
	struct recorder_properties properties;

	(void)state;
	start_with_file(EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties_with_file(&properties, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	assert_int_equal(start(u"second", &properties), ERROR_BAD_PATHNAME);
	stop();
	assert_int_equal(start(u"second", &properties), 0);
}

static void a_full_disk_prevents_the_session(void **state)
{
	static const struct fake_etw_options nearly_full = { .log_disk_bytes = 300 * MEGABYTE };
	struct recorder_properties properties;

	(void)state;
	reset_with(&nearly_full);
	properties_with_file(&properties, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties.base.MaximumFileSize = 101;
	assert_int_equal(start(u"test", &properties), ERROR_DISK_FULL);
	properties.base.MaximumFileSize = 100; /* and 200 that stay free */
	assert_int_equal(start(u"test", &properties), 0);
}

/* Eight of them fill a buffer. */
static const char large[8 * 1024 - 200];

static void fill_buffers(unsigned count)
{
	for (unsigned i = 0; i < count * 8; i++) {
		emit_process(large, sizeof(large));
	}
}

static void a_file_that_is_full_ends_its_session(void **state)
{
	static struct replayed replayed;
	struct recorder_properties properties;

	(void)state;
	properties_with_file(&properties, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties.base.MaximumFileSize = 1;
	assert_int_equal(start(u"test", &properties), 0);
	fill_buffers(15); /* the first one of the file has the header */
	assert_true(fake_etw_session("test", &(struct fake_etw_session){ 0 }));
	while (emit(large, sizeof(large)) > 0) {
	}
	assert_false(fake_etw_session("test", &(struct fake_etw_session){ 0 }));
	replay(&replayed);
	assert_int_equal(replayed.events, 1 + 15 * 8);
}

static void a_file_that_is_full_may_end_alone(void **state)
{
	static const struct fake_etw_options alone = { .full_log_ends_alone = true,
						       .manual_flush = true };
	static struct replayed replayed;
	struct recorder_properties properties;
	struct recorder recorder = { 0 };

	(void)state;
	reset_with(&alone);
	properties_with_file(&properties,
			     EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties.base.MaximumFileSize = 1;
	properties.base.MaximumBuffers = 100;
	assert_int_equal(start(u"test", &properties), 0);
	assert_int_equal(recorder_open(&recorder, u"test", 0), 0);
	recorder_run(&recorder);
	assert_true(fake_etw_wait_consumer("test", WAIT_MS));
	fill_buffers(20);
	assert_true(fake_etw_drain("test", WAIT_MS));
	assert_int_equal(recorder_count(&recorder), 20 * 8);
	stop();
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
	replay(&replayed);
	assert_int_equal(replayed.events, 1 + 15 * 8);
}

static void what_the_disk_does_not_take_is_lost_to_the_file(void **state)
{
	static const struct fake_etw_options small = { .log_disk_bytes = 201 * MEGABYTE,
						       .manual_flush = true };
	struct recorder_properties properties;
	struct fake_etw_session session;

	(void)state;
	reset_with(&small);
	properties_with_file(&properties, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	assert_int_equal(start(u"test", &properties), 0);
	fake_etw_set_log_disk(4 * BUFFER); /* another program fills it */
	fill_buffers(10);
	fake_etw_flush("test");
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.log_buffers_lost, 7);
	assert_int_equal(recorder_query(u"test", &properties), ERROR_MORE_DATA);
	assert_int_equal(properties.base.LogBuffersLost, 7);
}

static void the_name_of_the_file_is_returned(void **state)
{
	struct recorder_properties properties;

	(void)state;
	properties_with_file(&properties, EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties.base.MaximumFileSize = 3;
	assert_int_equal(start(u"test", &properties), 0);
	properties_with_file(&properties, 0);
	memset(properties.file, 0, sizeof(properties.file));
	properties.base.MaximumFileSize = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_QUERY), 0);
	assert_memory_equal(properties.file, wide_path, (strlen(path) + 1) * sizeof(WCHAR));
	assert_int_equal(properties.base.MaximumFileSize, 3);
	properties.base.Wnode.BufferSize =
		offsetof(struct recorder_properties, file) + 4 * sizeof(WCHAR);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_MORE_DATA);
}

static void an_update_leaves_the_file_or_changes_it(void **state)
{
	struct recorder_properties properties;
	static struct replayed replayed;
	char first[TEMPORARY_PATH_SIZE];

	(void)state;
	start_with_file(EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL);
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 ERROR_BAD_PATHNAME); /* the name of before */
	properties.base.LogFileNameOffset = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 0);
	emit_process("", 0);
	memcpy(first, path, sizeof(path));
	temporary_path(path, "etl");
	for (size_t i = 0; i < sizeof(path); i++) {
		wide_path[i] = (WCHAR)path[i];
	}
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 0);
	emit_process("", 0);
	emit_process("", 0);
	stop();
	replay(&replayed);
	assert_int_equal(replayed.events, 3);
	assert_int_equal(remove(path), 0);
	memcpy(path, first, sizeof(path));
	replay(&replayed);
	assert_int_equal(replayed.events, 2);
}

static void a_system_logger_may_be_refused_a_file(void **state)
{
	static const struct fake_etw_options refusing = { .no_log_in_real_time = true };
	struct recorder_properties properties;

	(void)state;
	reset_with(&refusing);
	properties_with_file(&properties, EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(start(u"test", &properties), ERROR_INVALID_PARAMETER);
	properties_with_file(&properties, 0);
	assert_int_equal(start(u"test", &properties), 0);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, reset, remove_file)
	const struct CMUnitTest tests[] = {
		ROW(a_log_file_is_written_beside_real_time),
		ROW(a_log_file_alone_needs_no_consumer),
		ROW(a_file_name_makes_a_real_time_session_write_it),
		ROW(records_have_the_headers_of_the_kernel),
		ROW(the_header_says_how_the_session_went),
		ROW(a_file_that_exists_is_overwritten),
		ROW(a_session_that_does_not_start_leaves_a_file_alone),
		ROW(a_file_that_cannot_be_created_prevents_the_session),
		ROW(a_session_that_names_no_file_cannot_write_one),
		ROW(two_sessions_cannot_write_one_file),
		ROW(a_full_disk_prevents_the_session),
		ROW(a_file_that_is_full_ends_its_session),
		ROW(a_file_that_is_full_may_end_alone),
		ROW(what_the_disk_does_not_take_is_lost_to_the_file),
		ROW(the_name_of_the_file_is_returned),
		ROW(an_update_leaves_the_file_or_changes_it),
		ROW(a_system_logger_may_be_refused_a_file),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_log_file", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

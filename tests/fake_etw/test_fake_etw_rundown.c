/* SPDX-License-Identifier: MIT */
/*
 * When the fake ETW reports what exists already: rows P22 to P25 of tests/fake_etw/BEHAVIOUR.md,
 * one test a row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID kernel_rundown = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};

enum { DISK = 11, FILE_RUNDOWN = 36, MANY = 150000 };

static int reset(void **state)
{
	static const struct fake_etw_options manual = { .manual_flush = true };

	(void)state;
	fake_etw_reset(&manual);
	return 0;
}

static void add_one_of_each(void)
{
	fake_etw_add_existing(&process_class, 3, "1234", 4);
	fake_etw_add_existing(&fake_config_class, DISK, "5678", 4);
	fake_etw_add_open_files(1);
}

static TRACEHANDLE start(const WCHAR *name, ULONG flags, ULONG buffer_kb, ULONG most)
{
	struct recorder_properties properties;
	TRACEHANDLE handle;

	recorder_properties(&properties, true);
	properties.base.EnableFlags = flags;
	properties.base.BufferSize = buffer_kb;
	properties.base.MaximumBuffers = most;
	assert_int_equal(StartTraceW(&handle, name, &properties.base), 0);
	return handle;
}

static void consume(struct recorder *recorder, const WCHAR *name, const char *utf8)
{
	assert_int_equal(recorder_open(recorder, name, PROCESS_TRACE_MODE_RAW_TIMESTAMP), 0);
	recorder_run(recorder);
	assert_true(fake_etw_wait_consumer(utf8, WAIT_MS));
}

static struct recorder_properties *properties_of_a_stop(void)
{
	static struct recorder_properties properties;

	recorder_properties(&properties, false);
	return &properties;
}

/* Returns the losses that STOP says. */
static ULONG stop(struct recorder *recorder, const WCHAR *name)
{
	struct recorder_properties properties;

	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(0, name, &properties.base, EVENT_TRACE_CONTROL_STOP), 0);
	assert_int_equal(recorder_join(recorder), 0);
	return properties.base.EventsLost;
}

static unsigned count_of(const struct recorder *recorder, const GUID *class, uint8_t opcode)
{
	unsigned count = 0;

	for (size_t i = 0; i < recorder->count && i < RECORDER_EVENTS; i++) {
		const EVENT_HEADER *header = &recorder->events[i].header;

		count += header->EventDescriptor.Opcode == opcode &&
			 memcmp(&header->ProviderId, class, sizeof(*class)) == 0;
	}
	return count;
}

static uint64_t emitted(const char *name)
{
	struct fake_etw_session session;

	assert_true(fake_etw_session(name, &session));
	return session.emitted;
}

static void what_exists_is_reported_again_at_stop(void **state)
{
	static const struct {
		ULONG flags;
		unsigned processes, names, disks;
	} cases[] = {
		{ EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_FILE_IO, 1, 1, 1 },
		{ EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_NO_SYSCONFIG, 1, 0, 0 },
		{ EVENT_TRACE_FLAG_DISK_FILE_IO, 0, 1, 1 },
	};

	(void)state;
	add_one_of_each();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recorder recorder = { 0 };

		start(u"one", cases[i].flags, 64, 0);
		assert_int_equal(emitted("one"), cases[i].processes);
		consume(&recorder, u"one", "one");
		assert_int_equal(stop(&recorder, u"one"), 0);
		assert_int_equal(count_of(&recorder, &process_class, 3), cases[i].processes);
		assert_int_equal(count_of(&recorder, &process_class, 4), cases[i].processes);
		assert_int_equal(count_of(&recorder, &fake_file_class, FILE_RUNDOWN),
				 cases[i].names);
		assert_int_equal(count_of(&recorder, &fake_config_class, DISK), cases[i].disks);
		recorder_close(&recorder);
	}
}

static void the_rundown_of_stop_can_lose(void **state)
{
	struct recorder small = { 0 };
	struct recorder large = { 0 };
	ULONG lost;

	(void)state;
	fake_etw_add_open_files(MANY);
	start(u"small", EVENT_TRACE_FLAG_DISK_FILE_IO, 64, 16);
	consume(&small, u"small", "small");
	lost = stop(&small, u"small");
	assert_true(lost > 0 && lost < MANY);
	assert_int_equal(small.count + lost, MANY);
	recorder_close(&small);
	start(u"large", EVENT_TRACE_FLAG_DISK_FILE_IO, 1024, 200);
	consume(&large, u"large", "large");
	assert_int_equal(stop(&large, u"large"), 0);
	assert_int_equal(large.count, MANY);
	recorder_close(&large);
}

static void ask(TRACEHANDLE session, uint64_t keywords)
{
	assert_int_equal(EnableTraceEx2(session, &kernel_rundown,
					EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, keywords, 0, 0,
					NULL),
			 0);
}

static void the_rundown_provider_reports_at_once_late_or_never(void **state)
{
	static const struct {
		enum fake_etw_rundown_provider provider;
		unsigned at_once, late;
	} cases[] = {
		{ FAKE_ETW_NAMES_AT_ONCE, 1, 1 },
		{ FAKE_ETW_NAMES_LATE, 0, 1 },
		{ FAKE_ETW_NAMES_NEVER, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fake_etw_options machine = { .manual_flush = true,
							  .rundown_provider = cases[i].provider };
		TRACEHANDLE one;

		fake_etw_reset(&machine);
		add_one_of_each();
		one = start(u"one", EVENT_TRACE_FLAG_DISK_FILE_IO, 64, 0);
		ask(one, 0x20);
		fake_etw_report_late_names();
		assert_int_equal(emitted("one"), 0); /* another keyword */
		ask(one, 0x10);
		assert_int_equal(emitted("one"), cases[i].at_once);
		fake_etw_report_late_names();
		assert_int_equal(emitted("one"), cases[i].late);
		fake_etw_report_late_names();
		assert_int_equal(emitted("one"), cases[i].late);
	}
}

static void masks_that_go_off_and_on_bring_whole_rundowns(void **state)
{
	const ULONG flags = EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_DISK_FILE_IO;
	struct recorder recorder = { 0 };

	(void)state;
	add_one_of_each();
	start(u"one", flags, 64, 0);
	consume(&recorder, u"one", "one");
	assert_true(fake_etw_other_set_flags("one", 0));
	assert_int_equal(emitted("one"), 3);
	assert_true(fake_etw_other_set_flags("one", flags));
	assert_int_equal(emitted("one"), 4);
	stop(&recorder, u"one");
	assert_int_equal(count_of(&recorder, &process_class, 3), 2);
	assert_int_equal(count_of(&recorder, &process_class, 4), 2);
	assert_int_equal(count_of(&recorder, &fake_file_class, FILE_RUNDOWN), 2);
	assert_int_equal(count_of(&recorder, &fake_config_class, DISK), 1);
	recorder_close(&recorder);
}

static void names_before_process_trace_fill_the_playback_file(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .playback_buffers = 8 };
	struct recorder recorder = { 0 };
	struct fake_etw_session session;
	TRACEHANDLE one;
	uint64_t lost;

	(void)state;
	fake_etw_reset(&machine);
	fake_etw_add_open_files(MANY);
	one = start(u"one", EVENT_TRACE_FLAG_DISK_IO, 64, 32);
	assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
	ask(one, 0x10);
	assert_true(fake_etw_session("one", &session));
	lost = session.events_lost;
	assert_int_equal(session.emitted, MANY);
	assert_true(lost > 0 && lost < MANY);
	recorder_run(&recorder);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(stop(&recorder, u"one"), lost);
	assert_int_equal(recorder.count + lost, MANY + 1); /* one says that there were losses */
	recorder_close(&recorder);
}

static void a_rundown_of_flags_is_whole_when_it_is_consumed(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true,
							 .playback_buffers = 8 };
	struct recorder recorder = { 0 };
	struct fake_etw_session session;
	uint32_t masks[8] = { EVENT_TRACE_FLAG_PROCESS };
	TRACEHANDLE one;

	(void)state;
	fake_etw_reset(&machine);
	for (unsigned i = 0; i < MANY; i++) {
		fake_etw_add_existing(&process_class, 3, "1234567890123456789012345678", 28);
	}
	one = start(u"one", EVENT_TRACE_FLAG_PROCESS, 64, 32);
	assert_true(fake_etw_session("one", &session));
	assert_true(session.events_lost > 0); /* nothing consumes it */
	assert_int_equal(StopTraceW(one, NULL, &properties_of_a_stop()->base), 0);
	one = start(u"one", 0, 64, 32);
	consume(&recorder, u"one", "one");
	assert_int_equal(
		TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks, sizeof(masks)), 0);
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.events_lost, 0);
	assert_int_equal(recorder.count, MANY);
	stop(&recorder, u"one");
	recorder_close(&recorder);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(what_exists_is_reported_again_at_stop),
		ROW(the_rundown_of_stop_can_lose),
		ROW(the_rundown_provider_reports_at_once_late_or_never),
		ROW(masks_that_go_off_and_on_bring_whole_rundowns),
		ROW(names_before_process_trace_fill_the_playback_file),
		ROW(a_rundown_of_flags_is_whole_when_it_is_consumed),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_rundown", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

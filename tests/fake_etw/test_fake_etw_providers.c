/* SPDX-License-Identifier: MIT */
/*
 * Providers of the fake ETW and who enables them: rows P of tests/fake_etw/BEHAVIOUR.md, one test a
 * row.
 */
#define INITGUID
#include "lib/source/etw_sdk_win32.h"
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const GUID some_provider = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };
static const GUID other_provider = { 0x87654321, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };
static const GUID process_class = {
	0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
};
static const GUID system_process = {
	0x151f55dc, 0x467d, 0x471f, { 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff, 0x66 }
};
static const GUID kernel_rundown = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

static ULONG enable(TRACEHANDLE session, const GUID *provider, UCHAR level, ULONGLONG any)
{
	return EnableTraceEx2(session, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level, any, 0,
			      WAIT_MS, NULL);
}

static ULONG capture(TRACEHANDLE session, const GUID *provider, UCHAR level, ULONGLONG any)
{
	return EnableTraceEx2(session, provider, EVENT_CONTROL_CODE_CAPTURE_STATE, level, any, 0,
			      WAIT_MS, NULL);
}

static ULONG disable(TRACEHANDLE session, const GUID *provider)
{
	return EnableTraceEx2(session, provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0, 0, 0,
			      WAIT_MS, NULL);
}

static ULONG enable_with(TRACEHANDLE session, ENABLE_TRACE_PARAMETERS *parameters)
{
	return EnableTraceEx2(session, &some_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0,
			      WAIT_MS, parameters);
}

/* The same with one filter. */
static ULONG filter_by(TRACEHANDLE session, ULONG type, const void *data, ULONG size)
{
	EVENT_FILTER_DESCRIPTOR filter = { .Ptr = (ULONGLONG)(ULONG_PTR)data,
					   .Size = size,
					   .Type = type };
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableFilterDesc = &filter,
					       .FilterDescCount = 1 };

	return enable_with(session, &parameters);
}

static void expect_callbacks(struct fake_etw_provider *provider,
			     const struct fake_etw_callback *expected, size_t count)
{
	struct fake_etw_callback callbacks[16];
	size_t got = fake_etw_provider_callbacks(provider, callbacks, 16);

	for (size_t i = 0; i < got && i < 16; i++) {
		print_message("  (%u, %u, 0x%llx)\n", (unsigned)callbacks[i].is_enabled,
			      callbacks[i].level, (unsigned long long)callbacks[i].match_any);
	}
	assert_int_equal(got, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(callbacks[i].is_enabled, expected[i].is_enabled);
		assert_int_equal(callbacks[i].level, expected[i].level);
		assert_true(callbacks[i].match_any == expected[i].match_any);
	}
	fake_etw_provider_forget(provider);
}

/*
 * The table of the protocol, measured on Windows: what callbacks a provider gets while two
 * recorders start and stop. Around a capture the controller enables keywords and capture keywords,
 * asks, and enables the keywords alone again.
 */
static void callbacks_get_the_union_and_captures_the_requesting_session(void **state)
{
#define RECEIVED(is, at_level, any)                                         \
	{                                                                   \
		.is_enabled = (is), .level = (at_level), .match_any = (any) \
	}
	static const struct fake_etw_callback one_starts[] = { RECEIVED(1, 5, 0x3),
							       RECEIVED(2, 5, 0x3),
							       RECEIVED(1, 5, 0x1) };
	static const struct fake_etw_callback two_starts[] = { RECEIVED(1, 7, 0x19),
							       RECEIVED(2, 7, 0x18),
							       RECEIVED(1, 7, 0x9) };
	static const struct fake_etw_callback one_stops[] = {
		RECEIVED(1, 7, 0xD), RECEIVED(2, 5, 0x5), RECEIVED(1, 7, 0x9), RECEIVED(1, 7, 0x8)
	};
	static const struct fake_etw_callback two_stops[] = {
		RECEIVED(1, 7, 0x28), RECEIVED(2, 7, 0x28), RECEIVED(1, 7, 0x8), RECEIVED(0, 0, 0)
	};
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	TRACEHANDLE one;
	TRACEHANDLE two;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(recorder_start(u"two", false, 0, &two), 0);

	assert_int_equal(enable(one, &some_provider, 5, 0x1 | 0x2), 0);
	assert_int_equal(capture(one, &some_provider, 5, 0x1 | 0x2), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0x1), 0);
	expect_callbacks(provider, one_starts, 3);

	assert_int_equal(enable(two, &some_provider, 7, 0x8 | 0x10), 0);
	assert_int_equal(capture(two, &some_provider, 7, 0x8 | 0x10), 0);
	assert_int_equal(enable(two, &some_provider, 7, 0x8), 0);
	expect_callbacks(provider, two_starts, 3);

	assert_int_equal(enable(one, &some_provider, 5, 0x1 | 0x4), 0);
	assert_int_equal(capture(one, &some_provider, 5, 0x1 | 0x4), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0x1), 0);
	assert_int_equal(disable(one, &some_provider), 0);
	expect_callbacks(provider, one_stops, 4);

	assert_int_equal(enable(two, &some_provider, 7, 0x8 | 0x20), 0);
	assert_int_equal(capture(two, &some_provider, 7, 0x8 | 0x20), 0);
	assert_int_equal(enable(two, &some_provider, 7, 0x8), 0);
	assert_int_equal(disable(two, &some_provider), 0);
	expect_callbacks(provider, two_stops, 4);
	fake_etw_provider_close(provider);
#undef RECEIVED
}

static void unions_know_levels_and_keywords_that_mean_all(void **state)
{
	static const struct fake_etw_callback received[] = {
		{ .is_enabled = 1, .level = 5, .match_any = 0x1 },
		{ .is_enabled = 1, .level = 255, .match_any = UINT64_MAX },
		{ .is_enabled = 1, .level = 5, .match_any = 0x1 },
	};
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_callback callbacks[3];
	TRACEHANDLE one;
	TRACEHANDLE two;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(recorder_start(u"two", false, 0, &two), 0);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 5, 0x1, 0x1, WAIT_MS, NULL), 0);
	assert_int_equal(enable(two, &some_provider, 0, 0), 0);
	assert_int_equal(disable(two, &some_provider), 0);
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 3), 3);
	assert_int_equal(callbacks[0].match_all, 0x1);
	assert_int_equal(callbacks[1].match_all, 0); /* else two would miss events */
	expect_callbacks(provider, received, 3);
	fake_etw_provider_close(provider);
}

static void emit_state(void *context, const struct fake_etw_callback *callback)
{
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Id = 100, .Keyword = 0x2, .Level = 4 } };

	(void)context;
	if (callback->is_enabled == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		fake_etw_emit(&event);
	}
}

static void state_is_written_before_the_capturing_call_returns(void **state)
{
	struct fake_etw_provider *provider =
		fake_etw_provider_open(&some_provider, emit_state, NULL);
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0x3), 0);
	assert_int_equal(capture(one, &some_provider, 5, 0x3), 0);
	assert_int_equal(disable(one, &some_provider), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1);
	assert_int_equal(enable(one, &some_provider, 5, 0x1),
			 0); /* without the state's keyword it is lost on the session */
	assert_int_equal(capture(one, &some_provider, 5, 0x2), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1);
	fake_etw_provider_close(provider);
}

static void a_capture_of_what_is_not_enabled_reaches_no_provider(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(capture(one, &some_provider, 5, 0x2), 0);
	expect_callbacks(provider, NULL, 0);
	fake_etw_provider_close(provider);
}

static void a_session_that_stops_disables_its_providers(void **state)
{
	static const struct fake_etw_callback off[] = { { .is_enabled = 0 } };
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0x1), 0);
	fake_etw_provider_forget(provider);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	expect_callbacks(provider, off, 1);
	fake_etw_provider_close(provider);
}

static void a_provider_may_come_later(void **state)
{
	static const struct fake_etw_callback on[] = {
		{ .is_enabled = 1, .level = 5, .match_any = 0x9 }
	};
	struct fake_etw_provider *provider;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0x9), 0);
	provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	expect_callbacks(provider, on, 1);
	fake_etw_provider_close(provider);
}

static void enabling_waits_for_the_callback_or_says_that_it_did_not(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	fake_etw_provider_block(provider, true);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 5, 0, 0, 20, NULL), ERROR_TIMEOUT);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 5, 0, 0, 0, NULL),
			 0); /* does not wait */
	fake_etw_provider_block(provider, false);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 5, 0, 0, INFINITE, NULL), 0);
	fake_etw_provider_close(provider);
}

static void enabling_checks_its_arguments(void **state)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = 3 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(0, &some_provider, 5, 0), ERROR_INVALID_PARAMETER);
	assert_int_equal(enable(one, NULL, 5, 0), ERROR_INVALID_PARAMETER);
	assert_int_equal(enable(one, &SystemTraceControlGuid, 5, 0), ERROR_INVALID_PARAMETER);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 3, 5, 0, 0, 0, NULL),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(enable(one + 1, &some_provider, 5, 0), ERROR_WMI_INSTANCE_NOT_FOUND);
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
	parameters.Version = ENABLE_TRACE_PARAMETERS_VERSION_2;
	parameters.ControlFlags = 1;
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
	parameters.ControlFlags = 0;
	parameters.FilterDescCount = 1;
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
	parameters.FilterDescCount = 0;
	assert_int_equal(enable_with(one, &parameters), 0);
	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_int_equal(enable(one, &some_provider, 5, 0), ERROR_ACCESS_DENIED);
}

static void a_provider_is_disabled_without_filters(void **state)
{
	ULONG pid = 4;
	EVENT_FILTER_DESCRIPTOR filter = { .Ptr = (ULONGLONG)(ULONG_PTR)&pid,
					   .Size = sizeof(pid),
					   .Type = EVENT_FILTER_TYPE_PID };
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableFilterDesc = &filter,
					       .FilterDescCount = 1 };
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(EnableTraceEx2(one, &some_provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0,
					0, 0, 0, &parameters),
			 ERROR_INVALID_PARAMETER);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.providers, 1);
	assert_int_equal(disable(one, &some_provider), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.providers, 0);
}

static void eight_sessions_may_enable_a_provider(void **state)
{
	WCHAR name[3] = u"a0";
	TRACEHANDLE handles[9];

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		name[1] = (WCHAR)('0' + i);
		assert_int_equal(recorder_start(name, false, 0, &handles[i]), 0);
		assert_int_equal(enable(handles[i], &some_provider, 5, 0),
				 i < 8 ? 0u : ERROR_NO_SYSTEM_RESOURCES);
	}
	assert_int_equal(enable(handles[3], &some_provider, 4, 0), 0); /* an update is no new one */
	assert_int_equal(disable(handles[3], &some_provider), 0);
	assert_int_equal(enable(handles[8], &some_provider, 5, 0), 0);
}

/* How many events of the table got into the session. */
static unsigned try(const GUID *provider, UCHAR level, ULONGLONG keyword, USHORT id, uint32_t pid)
{
	struct fake_etw_event event = {
		.provider = *provider,
		.descriptor = { .Id = id, .Level = level, .Keyword = keyword },
		.process_id = pid
	};

	return fake_etw_emit(&event);
}

static void levels_and_keywords_choose_events(void **state)
{
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(try(&some_provider, 1, 0, 1, 1), 0); /* not enabled */
	assert_int_equal(enable(one, &some_provider, 4, 0x6), 0);
	assert_int_equal(try(&some_provider, 4, 0x2, 1, 1), 1);
	assert_int_equal(try(&some_provider, 5, 0x2, 1, 1), 0); /* too detailed */
	assert_int_equal(try(&some_provider, 4, 0x1, 1, 1), 0); /* another keyword */
	assert_int_equal(try(&some_provider, 4, 0, 1, 1), 1);   /* no keyword: always */
	assert_int_equal(try(&other_provider, 4, 0x2, 1, 1), 0);
	assert_int_equal(enable(one, &some_provider, 0, 0), 0); /* 0: every level, every keyword */
	assert_int_equal(try(&some_provider, 255, 0x8000000000000000, 1, 1), 1);
	assert_int_equal(EnableTraceEx2(one, &some_provider, 1, 5, 0x7, 0x3, WAIT_MS, NULL), 0);
	assert_int_equal(try(&some_provider, 4, 0x3, 1, 1), 1);
	assert_int_equal(try(&some_provider, 4, 0x1, 1, 1), 0); /* not all of 0x3 */
}

static void filters_choose_events(void **state)
{
	static const USHORT ids_in[] = { 1, 2, 10, 20 }; /* FilterIn TRUE, count 2 */
	static const USHORT ids_out[] = { 0, 1, 10 };
	static const ULONG pids[] = { 100, 200 };
	static const WCHAR names[] = u"one.exe;TWO.exe";
	TRACEHANDLE one;

	(void)state;
	fake_etw_add_process(300, 4, "two.exe");
	fake_etw_add_process(400, 4, "three.exe");
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EVENT_ID, ids_in, 8), 0);
	assert_int_equal(try(&some_provider, 4, 0, 10, 1), 1);
	assert_int_equal(try(&some_provider, 4, 0, 11, 1), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EVENT_ID, ids_out, 6), 0);
	assert_int_equal(try(&some_provider, 4, 0, 10, 1), 0);
	assert_int_equal(try(&some_provider, 4, 0, 11, 1), 1);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_PID, pids, sizeof(pids)), 0);
	assert_int_equal(try(&some_provider, 4, 0, 10, 200), 1); /* the ids of before are gone */
	assert_int_equal(try(&some_provider, 4, 0, 10, 300), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EXECUTABLE_NAME, names, sizeof(names)),
			 0);
	assert_int_equal(try(&some_provider, 4, 0, 10, 300), 1);
	assert_int_equal(try(&some_provider, 4, 0, 10, 400), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0), 0); /* none */
	assert_int_equal(try(&some_provider, 4, 0, 10, 400), 1);
}

static void filters_that_make_no_sense_are_refused(void **state)
{
	static USHORT ids[70] = { 1, 65 };
	static const ULONG pids[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static const WCHAR name[] = { 'a', 'b' }; /* no NUL */
	EVENT_FILTER_DESCRIPTOR twice[2] = {
		{ .Ptr = (ULONGLONG)(ULONG_PTR)pids, .Size = 4, .Type = EVENT_FILTER_TYPE_PID },
		{ .Ptr = (ULONGLONG)(ULONG_PTR)pids, .Size = 4, .Type = EVENT_FILTER_TYPE_PID }
	};
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableFilterDesc = twice,
					       .FilterDescCount = 2 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EVENT_ID, ids, 4 + 65 * 2),
			 ERROR_INVALID_PARAMETER);
	ids[1] = 64;
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EVENT_ID, ids, 4 + 64 * 2), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EVENT_ID, ids, 4 + 63 * 2),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_PID, pids, 36), ERROR_INVALID_PARAMETER);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_PID, pids, 32), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_PID, pids, 7), ERROR_INVALID_PARAMETER);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EXECUTABLE_NAME, name, sizeof(name)),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_PID, NULL, 4), ERROR_INVALID_PARAMETER);
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
	parameters.FilterDescCount = 14;
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
}

static void a_filter_has_at_most_1024_bytes(void **state)
{
	static uint8_t anything[1025];
	WCHAR names[513];
	TRACEHANDLE one;

	(void)state;
	for (size_t i = 0; i < 513; i++) {
		names[i] = i % 8 == 7 ? ';' : 'x';
	}
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	names[511] = 0;
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EXECUTABLE_NAME, names, 512 * 2), 0);
	names[511] = ';';
	names[512] = 0;
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_EXECUTABLE_NAME, names, 513 * 2),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_SCHEMATIZED, anything, 1024), 0);
	assert_int_equal(filter_by(one, EVENT_FILTER_TYPE_SCHEMATIZED, anything, 1025),
			 ERROR_INVALID_PARAMETER);
}

/* Windows passes such a filter on to the processes that have the provider; later ones get none. */
static void a_filter_of_the_provider_reaches_it(void **state)
{
	static const ULONG types[] = { EVENT_FILTER_TYPE_NONE, EVENT_FILTER_TYPE_SCHEMATIZED };
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_provider *late;
	struct fake_etw_callback callbacks[2];
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(filter_by(one, types[i],
					   "a\0"
					   "1",
					   4),
				 0);
	}
	assert_true(fake_etw_wait_idle(5000));
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 2), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(callbacks[i].filter_type, types[i]);
		assert_int_equal(callbacks[i].filter_size, 4);
		assert_memory_equal(callbacks[i].filter,
				    "a\0"
				    "1",
				    4);
	}
	late = fake_etw_provider_open(&some_provider, NULL, NULL);
	assert_int_equal(fake_etw_provider_callbacks(late, callbacks, 1), 1);
	assert_int_equal(callbacks[0].is_enabled, 1);
	assert_int_equal(callbacks[0].filter_size, 0);
}

static const GUID an_event_class = { 0xc1a55e5, 1, 2, { 3 } };

static unsigned try_classic(UCHAR level)
{
	const struct fake_etw_event event = { .provider = an_event_class,
					      .descriptor = { .Opcode = 10, .Level = level },
					      .classic = true };

	return fake_etw_emit(&event);
}

static void a_classic_provider_is_enabled_by_its_control_guid(void **state)
{
	struct recorder recorder = { 0 };
	TRACEHANDLE one;

	(void)state;
	fake_etw_add_classic(&some_provider, &an_event_class);
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &an_event_class, 5, 0), 0);
	assert_int_equal(try_classic(4), 0);
	assert_int_equal(enable(one, &some_provider, 4, 0), 0);
	assert_int_equal(try_classic(5), 0);
	assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
	recorder_run(&recorder);
	assert_int_equal(try_classic(4), 1);
	fake_etw_flush("one");
	assert_true(recorder_wait(&recorder, 1));
	assert_memory_equal(&recorder.events[0].header.ProviderId, &an_event_class, sizeof(GUID));
	assert_true(recorder.events[0].header.Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER);
	assert_int_equal(recorder.events[0].header.EventDescriptor.Opcode, 10);
	assert_int_equal(disable(one, &some_provider), 0);
	assert_int_equal(try_classic(4), 0);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
}

static void the_last_session_has_a_classic_provider(void **state)
{
	struct fake_etw_session session;
	TRACEHANDLE one, two;

	(void)state;
	fake_etw_add_classic(&some_provider, &an_event_class);
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(recorder_start(u"two", false, 0, &two), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0), 0);
	assert_int_equal(enable(two, &some_provider, 5, 0), 0);
	assert_int_equal(try_classic(4), 1);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.providers, 0);
	assert_true(fake_etw_session("two", &session));
	assert_int_equal(session.emitted, 1);
}

static void properties_add_items(void **state)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableProperty =
						       EVENT_ENABLE_PROPERTY_SID |
						       EVENT_ENABLE_PROPERTY_TS_ID |
						       EVENT_ENABLE_PROPERTY_STACK_TRACE |
						       EVENT_ENABLE_PROPERTY_PROCESS_START_KEY };
	static const USHORT expected[] = { EVENT_HEADER_EXT_TYPE_SID, EVENT_HEADER_EXT_TYPE_TS_ID,
					   EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY,
					   EVENT_HEADER_EXT_TYPE_STACK_TRACE64 };
	struct recorder recorder = { 0 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
	recorder_run(&recorder);
	assert_int_equal(try(&some_provider, 4, 0, 1, 77), 1);
	assert_true(fake_etw_wait_consumer("one", WAIT_MS));
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(recorder.events[0].item_count, 4);
	assert_memory_equal(recorder.events[0].item_types, expected, sizeof(expected));
	assert_int_equal(recorder.events[0].item_starts[2], 0x100000000004d);
	assert_true((recorder.events[0].header.Flags & EVENT_HEADER_FLAG_EXTENDED_INFO) != 0);
	parameters.EnableProperty = EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0;
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(try(&some_provider, 4, 0, 1, 77), 0);
	assert_int_equal(try(&some_provider, 4, 1, 1, 77), 1);
	recorder_end(&recorder);
}

static void events_of_containers_come_when_they_are_asked_for(void **state)
{
	static const struct fake_etw_options old = { .os_build = 17134 };
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Id = 1, .Level = 4, .Keyword = 1 },
					.container = "{c0a7}",
					.payload = "" };
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2 };
	struct recorder recorder = { 0 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(fake_etw_emit(&event), 0);
	parameters.EnableProperty = EVENT_ENABLE_PROPERTY_ENABLE_SILOS;
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(fake_etw_emit(&event), 1);
	parameters.EnableProperty |= EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING;
	assert_int_equal(enable_with(one, &parameters), 0);
	assert_int_equal(fake_etw_emit(&event), 1);
	event.container = NULL;
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_true(fake_etw_drain("one", WAIT_MS));
	CloseTrace(recorder.trace);
	recorder_join(&recorder);
	assert_int_equal(recorder.count, 3);
	assert_int_equal(recorder.events[0].item_count, 0);
	assert_int_equal(recorder.events[1].item_count, 1);
	assert_int_equal(recorder.events[1].item_types[0], 16);
	assert_int_equal(recorder.events[2].item_count, 0);
	recorder_close(&recorder);
	fake_etw_reset(&old);
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	parameters.EnableProperty = EVENT_ENABLE_PROPERTY_ENABLE_SILOS;
	assert_int_equal(enable_with(one, &parameters), ERROR_INVALID_PARAMETER);
}

/* --- our own providers --- */

struct received {
	unsigned calls;
	ULONG is_enabled;
	UCHAR level;
	ULONGLONG any;
};

static VOID NTAPI note(LPCGUID source, ULONG is_enabled, UCHAR level, ULONGLONG any, ULONGLONG all,
		       PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
	struct received *received = context;

	(void)source;
	(void)all;
	(void)filter;
	received->calls++;
	received->is_enabled = is_enabled;
	received->level = level;
	received->any = any;
}

static void a_registered_provider_writes_events(void **state)
{
	static const EVENT_DESCRIPTOR descriptor = { .Id = 5, .Level = 4, .Keyword = 0x10 };
	struct received received = { 0 };
	struct recorder recorder = { 0 };
	EVENT_DATA_DESCRIPTOR data[2];
	REGHANDLE provider;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(EventRegister(&some_provider, note, &received, &provider), 0);
	assert_int_equal(fake_etw_open_things().registrations, 1);
	assert_false(EventProviderEnabled(provider, 4, 0x10));
	EventDataDescCreate(&data[0], "ab", 2);
	EventDataDescCreate(&data[1], "cde", 3);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 2, data),
			 0); /* no session has it enabled: fine */
	assert_int_equal(enable(one, &some_provider, 5, 0x10), 0);
	assert_int_equal(received.calls, 1);
	assert_int_equal(received.level, 5);
	assert_true(EventEnabled(provider, &descriptor));
	assert_false(EventProviderEnabled(provider, 6, 0x10));
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, &other_provider, 2, data),
			 0);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(recorder.count, 1);
	assert_int_equal(recorder.events[0].header.EventDescriptor.Id, 5);
	assert_int_equal(recorder.events[0].header.ProcessId, GetCurrentProcessId());
	assert_int_equal(recorder.events[0].payload_size, 5);
	assert_memory_equal(recorder.events[0].payload, "abcde", 5);
	assert_int_equal(recorder.events[0].item_types[0],
			 EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID);
	recorder_end(&recorder);
	assert_int_equal(EventUnregister(provider), 0);
	assert_int_equal(EventUnregister(provider), ERROR_INVALID_HANDLE);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 0, NULL),
			 ERROR_INVALID_HANDLE);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	assert_int_equal(received.calls, 1); /* no callback after the registration ended */
}

static void a_trace_logging_event_contains_its_description(void **state)
{
	static const uint8_t traits[] = { 6, 0, 'a', 'b', 'c', 0 };
	static const uint8_t event[] = { 5, 0, 0, 'e', 0 };
	static const EVENT_DESCRIPTOR descriptor = { .Channel = 11, .Level = 5 };
	struct recorder recorder = { 0 };
	EVENT_DATA_DESCRIPTOR data[3];
	REGHANDLE provider;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0), 0);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	assert_int_equal(EventSetInformation(provider, (EVENT_INFO_CLASS)2,
					     (void *)(ULONG_PTR)traits, 5),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(EventSetInformation(provider, (EVENT_INFO_CLASS)2,
					     (void *)(ULONG_PTR)traits, sizeof(traits)),
			 0);
	EventDataDescCreate(&data[0], traits, sizeof(traits));
	data[0].Reserved = 2; /* EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA */
	EventDataDescCreate(&data[1], event, sizeof(event));
	data[1].Reserved = 1; /* EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA */
	EventDataDescCreate(&data[2], "pay", 3);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 3, data), 0);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(recorder.events[0].item_count, 2);
	assert_int_equal(recorder.events[0].item_types[0], EVENT_HEADER_EXT_TYPE_PROV_TRAITS);
	assert_int_equal(recorder.events[0].item_sizes[0], sizeof(traits));
	assert_int_equal(recorder.events[0].item_types[1], EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL);
	assert_int_equal(recorder.events[0].item_sizes[1], sizeof(event));
	assert_int_equal(recorder.events[0].payload_size, 3);
	recorder_end(&recorder);
	assert_int_equal(EventUnregister(provider), 0);
}

static void without_traits_a_description_is_payload(void **state)
{
	static const uint8_t event[] = { 5, 0, 0, 'e', 0 };
	static const EVENT_DESCRIPTOR descriptor = { .Channel = 11, .Level = 5 };
	struct recorder recorder = { 0 };
	EVENT_DATA_DESCRIPTOR data[2];
	REGHANDLE provider;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0), 0);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	EventDataDescCreate(&data[0], event, sizeof(event));
	data[0].Reserved = 1; /* EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA */
	EventDataDescCreate(&data[1], "pay", 3);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 2, data), 0);
	assert_true(recorder_consume(&recorder, u"one"));
	assert_true(fake_etw_drain("one", WAIT_MS));
	assert_int_equal(recorder.events[0].item_count, 0);
	assert_int_equal(recorder.events[0].payload_size, sizeof(event) + 3);
	recorder_end(&recorder);
	assert_int_equal(EventUnregister(provider), 0);
}

static void writing_has_limits(void **state)
{
	static const EVENT_DESCRIPTOR descriptor = { .Level = 4 };
	static char bytes[70000];
	EVENT_DATA_DESCRIPTOR data[129];
	struct recorder_properties properties;
	struct fake_etw_session session;
	REGHANDLE provider;
	TRACEHANDLE one;

	(void)state;
	recorder_properties(&properties, false);
	properties.base.BufferSize = 4;
	assert_int_equal(StartTraceW(&one, u"one", &properties.base), 0);
	assert_int_equal(enable(one, &some_provider, 5, 0), 0);
	assert_int_equal(EventRegister(NULL, NULL, NULL, &provider), ERROR_INVALID_PARAMETER);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	for (size_t i = 0; i < 129; i++) {
		EventDataDescCreate(&data[i], bytes, 1);
	}
	assert_int_equal(EventWriteTransfer(provider, NULL, NULL, NULL, 0, NULL),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 129, data),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 128, data), 0);
	EventDataDescCreate(&data[0], bytes, sizeof(bytes));
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 1, data),
			 ERROR_ARITHMETIC_OVERFLOW);
	EventDataDescCreate(&data[0], bytes, 5000);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 1, data),
			 ERROR_MORE_DATA);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.events_lost, 1); /* that did not fit the session's buffers */
	assert_int_equal(EventUnregister(provider), 0);
}

/* --- kernel events --- */

static struct fake_etw_event kernel_event(const GUID *class_guid, UCHAR opcode)
{
	return (struct fake_etw_event){ .provider = *class_guid,
					.descriptor = { .Opcode = opcode },
					.classic = true };
}

static void flags_choose_kernel_events(void **state)
{
	static const GUID thread = {
		0x3d6fa8d1, 0xfe05, 0x11d0, { 0x9d, 0xda, 0, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	struct fake_etw_event start = kernel_event(&process_class, 1);
	struct fake_etw_event cswitch = kernel_event(&thread, 36);
	struct fake_etw_event create = kernel_event(&fake_file_class, 64);
	struct fake_etw_event end = kernel_event(&fake_file_class, 76);
	uint32_t masks[8] = { EVENT_TRACE_FLAG_PROCESS, 0x4 };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"user", false, 0, NULL), 0);
	assert_int_equal(fake_etw_emit(&start), 0); /* only system loggers get any */
	assert_int_equal(recorder_start(u"one", true,
					EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_FILE_IO_INIT,
					&one),
			 0);
	assert_int_equal(fake_etw_emit(&start), 1);
	assert_int_equal(fake_etw_emit(&cswitch), 0);
	assert_int_equal(fake_etw_emit(&create), 1);
	assert_int_equal(fake_etw_emit(&end), 0);
	assert_int_equal(
		TraceSetInformation(one, TraceSystemTraceEnableFlagsInfo, masks, sizeof(masks)), 0);
	assert_int_equal(fake_etw_emit(&start), 1);
	assert_int_equal(fake_etw_emit(&cswitch), 1); /* by its group */
	assert_int_equal(fake_etw_emit(&create), 0);
}

static void system_providers_are_for_system_loggers_of_new_builds(void **state)
{
	static const struct fake_etw_options old = { .os_build = 19045 };
	struct fake_etw_event start = kernel_event(&process_class, 1);
	struct fake_etw_event image =
		kernel_event(&(const GUID){ 0x2cb15d1d,
					    0x5fc1,
					    0x11d2,
					    { 0xab, 0xe1, 0, 0xa0, 0xc9, 0x11, 0xf5, 0x18 } },
			     10);
	TRACEHANDLE user;
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"user", false, 0, &user), 0);
	assert_int_equal(enable(user, &system_process, 0, 0x1), ERROR_INVALID_PARAMETER);
	assert_int_equal(recorder_start(u"one", true, 0, &one), 0);
	assert_int_equal(enable(one, &system_process, 0, 0x1), 0);
	assert_int_equal(fake_etw_emit(&start), 1);
	assert_int_equal(fake_etw_emit(&image), 0);
	assert_int_equal(enable(one, &system_process, 0, 0x1001), 0);
	assert_int_equal(fake_etw_emit(&image), 1);
	assert_int_equal(disable(one, &system_process), 0);
	assert_int_equal(fake_etw_emit(&start), 0);
	fake_etw_reset(&old);
	assert_int_equal(recorder_start(u"one", true, 0, &one), 0);
	assert_int_equal(enable(one, &system_process, 0, 0x1),
			 0); /* a provider like any other, that never registers */
	assert_int_equal(fake_etw_emit(&start), 0);
}

static void samples_by_system_provider_need_the_privilege(void **state)
{
	static const GUID system_profile = {
		0xbfeb0324, 0x1cee, 0x496f, { 0xa4, 0x09, 0x2a, 0xc2, 0xb4, 0x8a, 0x63, 0x22 }
	};
	uint32_t masks[8] = { 0xff };
	TRACEHANDLE one;

	(void)state;
	assert_int_equal(recorder_start(u"one", true, 0, &one), 0);
	assert_int_equal(enable(one, &system_profile, 0, 0x1), ERROR_PRIVILEGE_NOT_HELD);
	assert_int_equal(enable(one, &system_process, 0, 0x1), 0);
	assert_int_equal(TraceQueryInformation(one, TraceSystemTraceEnableFlagsInfo, masks,
					       sizeof(masks), NULL),
			 0);
	assert_int_equal(masks[0], 0);
}

static void what_exists_is_reported_when_its_flag_comes_on(void **state)
{
	struct fake_etw_event running = kernel_event(&process_class, 3);
	struct fake_etw_event file = kernel_event(&fake_file_class, 36);
	struct fake_etw_session session;
	TRACEHANDLE one;

	(void)state;
	running.process_id = 8;
	fake_etw_add_rundown(&running);
	fake_etw_add_rundown(&file);
	assert_int_equal(recorder_start(u"one", true, EVENT_TRACE_FLAG_PROCESS, &one), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1);
	assert_true(fake_etw_other_set_flags("one",
					     EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_THREAD));
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1); /* it was on already */
	assert_int_equal(enable(one, &kernel_rundown, 0, 0x20), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 1); /* another keyword */
	assert_int_equal(enable(one, &kernel_rundown, 0, 0x10), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.emitted, 2);
}

/* ---- what is done to sessions ---- */

static const GUID event_tracing = {
	0xb675ec37, 0xbdb6, 0x4648, { 0xbc, 0x92, 0xf3, 0xfd, 0xc7, 0x4d, 0x3c, 0xa2 }
};

/* A report, and at which byte of it the name of the session starts. */
static void assert_report(const struct recorded *event, USHORT id, ULONG pid, size_t name_at,
			  const WCHAR *name)
{
	size_t size = 0;

	while (name[size++] != 0) {
	}
	assert_memory_equal(&event->header.ProviderId, &event_tracing, sizeof(GUID));
	assert_int_equal(event->header.EventDescriptor.Id, id);
	assert_int_equal(event->header.ProcessId, pid);
	assert_true(event->payload_size >= name_at + size * sizeof(*name));
	assert_memory_equal(event->payload + name_at, name, size * sizeof(*name));
}

static void what_is_done_to_sessions_is_reported(void **state)
{
	enum { OTHER = 4242, GUID_AND_MODE = 20 };
	static const GUID watched = { 0x7a7c4ed, 1, 2, { 3 } };
	struct recorder recorder = { 0 };
	struct recorder_properties properties;
	TRACEHANDLE one, two;
	ULONG self = GetCurrentProcessId();

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &one), 0);
	assert_int_equal(enable(one, &event_tracing, 5, 0x410), 0); /* reports itself */
	assert_int_equal(recorder_open(&recorder, u"one", 0), 0);
	recorder_run(&recorder);
	assert_int_equal(recorder_start(u"two", true, 0, &two), 0);
	assert_int_equal(enable(two, &watched, 4, 8), 0);
	assert_int_equal(disable(two, &watched), 0);
	assert_true(fake_etw_other_enable("two", &watched, 4, 8));
	assert_true(fake_etw_other_disable("two", &watched));
	assert_true(fake_etw_other_set_flags("two", EVENT_TRACE_FLAG_PROCESS));
	recorder_properties(&properties, true);
	properties.base.LogFileNameOffset = 0;
	assert_int_equal(ControlTraceW(two, NULL, &properties.base, EVENT_TRACE_CONTROL_UPDATE), 0);
	assert_int_equal(recorder_stop(u"two"), 0);
	assert_true(fake_etw_other_start("two", EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_true(fake_etw_other_stop("two"));
	fake_etw_flush("one");
	assert_true(recorder_wait(&recorder, 11));
	assert_report(&recorder.events[0], 14, self, 16, u"one");
	assert_report(&recorder.events[1], 10, self, GUID_AND_MODE, u"two");
	assert_report(&recorder.events[2], 14, self, 16, u"two");
	assert_memory_equal(recorder.events[2].payload, &watched, sizeof(GUID));
	assert_report(&recorder.events[3], 15, self, 16, u"two");
	assert_report(&recorder.events[4], 14, OTHER, 16, u"two");
	assert_report(&recorder.events[5], 15, OTHER, 16, u"two");
	assert_memory_equal(recorder.events[5].payload, &watched, sizeof(GUID));
	assert_report(&recorder.events[6], 12, OTHER, GUID_AND_MODE, u"two");
	assert_report(&recorder.events[7], 12, self, GUID_AND_MODE, u"two");
	assert_report(&recorder.events[8], 11, self, GUID_AND_MODE, u"two");
	assert_report(&recorder.events[9], 10, OTHER, GUID_AND_MODE, u"two");
	assert_report(&recorder.events[10], 11, OTHER, GUID_AND_MODE, u"two");
	/* Keyword 0x10 alone: sessions, and no providers. */
	assert_int_equal(enable(one, &event_tracing, 5, 0x10), 0);
	assert_int_equal(enable(one, &watched, 4, 8), 0);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_int_equal(recorder_join(&recorder), 0);
	assert_int_equal(recorder.count, 11);
	recorder_close(&recorder);
}

static void a_stop_is_reported_to_the_other_sessions(void **state)
{
	static const struct {
		struct fake_etw_options machine;
		size_t own; /* reports in the session that is stopped */
	} cases[] = { { { .processors = 0 }, 0 }, { { .own_stop_is_reported = true }, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct recorder recorders[2] = { 0 };
		TRACEHANDLE handles[2];

		fake_etw_reset(&cases[i].machine);
		for (unsigned k = 0; k < 2; k++) {
			const WCHAR *name = k == 0 ? u"stopped" : u"other";

			assert_int_equal(recorder_start(name, false, 0, &handles[k]), 0);
			assert_int_equal(recorder_open(&recorders[k], name, 0), 0);
			recorder_run(&recorders[k]);
			assert_true(fake_etw_wait_consumer(k == 0 ? "stopped" : "other", WAIT_MS));
		}
		assert_int_equal(enable(handles[0], &event_tracing, 5, 0x10), 0);
		assert_int_equal(enable(handles[1], &event_tracing, 5, 0x10), 0);
		assert_true(fake_etw_other_stop("stopped"));
		assert_int_equal(recorder_join(&recorders[0]), 0);
		assert_int_equal(recorders[0].count, cases[i].own);
		fake_etw_flush("other");
		assert_true(recorder_wait(&recorders[1], 1));
		assert_report(&recorders[1].events[0], 11, 4242, 20, u"stopped");
		assert_int_equal(recorder_stop(u"other"), 0);
		assert_int_equal(recorder_join(&recorders[1]), 0);
		recorder_close(&recorders[0]);
		recorder_close(&recorders[1]);
	}
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(callbacks_get_the_union_and_captures_the_requesting_session),
		ROW(unions_know_levels_and_keywords_that_mean_all),
		ROW(state_is_written_before_the_capturing_call_returns),
		ROW(a_capture_of_what_is_not_enabled_reaches_no_provider),
		ROW(a_session_that_stops_disables_its_providers),
		ROW(a_provider_may_come_later),
		ROW(enabling_waits_for_the_callback_or_says_that_it_did_not),
		ROW(enabling_checks_its_arguments),
		ROW(a_provider_is_disabled_without_filters),
		ROW(eight_sessions_may_enable_a_provider),
		ROW(levels_and_keywords_choose_events),
		ROW(filters_choose_events),
		ROW(filters_that_make_no_sense_are_refused),
		ROW(a_filter_has_at_most_1024_bytes),
		ROW(a_filter_of_the_provider_reaches_it),
		ROW(a_classic_provider_is_enabled_by_its_control_guid),
		ROW(the_last_session_has_a_classic_provider),
		ROW(properties_add_items),
		ROW(events_of_containers_come_when_they_are_asked_for),
		ROW(a_registered_provider_writes_events),
		ROW(a_trace_logging_event_contains_its_description),
		ROW(without_traits_a_description_is_payload),
		ROW(writing_has_limits),
		ROW(flags_choose_kernel_events),
		ROW(system_providers_are_for_system_loggers_of_new_builds),
		ROW(samples_by_system_provider_need_the_privilege),
		ROW(what_exists_is_reported_when_its_flag_comes_on),
		ROW(what_is_done_to_sessions_is_reported),
		ROW(a_stop_is_reported_to_the_other_sessions),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_providers", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

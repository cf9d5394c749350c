/* SPDX-License-Identifier: MIT */
/*
 * Starting, controlling and listing sessions of the fake ETW: rows S of
 * tests/fake_etw/BEHAVIOUR.md, one test a row.
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

#include <etw/kernel.h>
#include <etw/recording.h>
#include <etw/source.h>

#include "tests/support/temporary.h"

static const WCHAR kernel_logger[] = u"NT Kernel Logger";

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

static ULONG start_with(const struct recorder_properties *requested, const WCHAR *name)
{
	struct recorder_properties properties = *requested;
	TRACEHANDLE handle;

	return StartTraceW(&handle, name, &properties.base);
}

static void bad_arguments_are_refused(void **state)
{
	struct recorder_properties good;
	struct recorder_properties bad;
	TRACEHANDLE handle = 1;

	(void)state;
	recorder_properties(&good, false);
	assert_int_equal(StartTraceW(NULL, u"test", &good.base), ERROR_INVALID_PARAMETER);
	assert_int_equal(StartTraceW(&handle, u"test", NULL), ERROR_INVALID_PARAMETER);
	assert_int_equal(StartTraceW(&handle, NULL, &good.base), ERROR_INVALID_PARAMETER);
	assert_int_equal(StartTraceW(&handle, u"", &good.base), ERROR_INVALID_PARAMETER);
	bad = good;
	bad.base.Wnode.Flags = 0;
	assert_int_equal(start_with(&bad, u"test"), ERROR_INVALID_PARAMETER);
	bad = good;
	bad.base.LoggerNameOffset = 8;
	assert_int_equal(start_with(&bad, u"test"), ERROR_INVALID_PARAMETER);
	bad = good;
	bad.base.LoggerNameOffset = sizeof(bad);
	assert_int_equal(start_with(&bad, u"test"), ERROR_INVALID_PARAMETER);
	bad = good;
	bad.base.LogFileNameOffset = bad.base.LoggerNameOffset; /* must follow the session's name */
	assert_int_equal(start_with(&bad, u"test"), ERROR_INVALID_PARAMETER);
	bad = good;
	bad.base.Wnode.ClientContext = 9;
	assert_int_equal(start_with(&bad, u"test"), ERROR_INVALID_PARAMETER);
	assert_false(fake_etw_session("test", &(struct fake_etw_session){ 0 }));
}

static void lengths_must_be_right(void **state)
{
	struct recorder_properties properties;
	static WCHAR name[1027];
	TRACEHANDLE handle;

	(void)state;
	for (size_t i = 0; i < 1026; i++) {
		name[i] = 'n';
	}
	recorder_properties(&properties, false);
	properties.base.Wnode.BufferSize = sizeof(EVENT_TRACE_PROPERTIES) - 1;
	assert_int_equal(StartTraceW(&handle, u"test", &properties.base), ERROR_BAD_LENGTH);
	recorder_properties(&properties, false);
	properties.base.Wnode.BufferSize =
		offsetof(struct recorder_properties, name) + 4 * sizeof(WCHAR);
	assert_int_equal(StartTraceW(&handle, u"test", &properties.base),
			 ERROR_BAD_LENGTH); /* no room for the NUL */
	recorder_properties(&properties, false);
	assert_int_equal(StartTraceW(&handle, name, &properties.base), ERROR_BAD_LENGTH);
	name[1024] = 0;
	assert_int_equal(StartTraceW(&handle, name, &properties.base), 0);
}

static void starting_returns_the_properties_of_the_session(void **state)
{
	struct recorder_properties properties;
	TRACEHANDLE handle = 0;

	(void)state;
	recorder_properties(&properties, false);
	properties.base.MinimumBuffers = 3; /* less than two a processor */
	assert_int_equal(StartTraceW(&handle, u"t\u00e4st", &properties.base), 0);
	assert_true(handle != 0);
	assert_true(properties.base.Wnode.HistoricalContext == handle);
	assert_int_equal(properties.base.MinimumBuffers, 8);
	assert_int_equal(properties.base.MaximumBuffers, 28);
	assert_int_equal(properties.base.NumberOfBuffers, 8);
	assert_int_equal(properties.base.FreeBuffers, 8);
	assert_true(properties.base.BufferSize > 0);
	assert_int_equal(properties.base.FlushTimer, 1); /* real time: 0 means 1 s */
	assert_non_null(properties.base.LoggerThreadId);
	assert_memory_equal(properties.name, u"t\u00e4st", 5 * sizeof(WCHAR));
	assert_true(fake_etw_session("t\xc3\xa4st", &(struct fake_etw_session){ 0 }));
}

static void numbers_that_make_no_sense_are_overwritten(void **state)
{
	struct recorder_properties properties;
	struct fake_etw_session session;

	(void)state;
	recorder_properties(&properties, false);
	properties.base.BufferSize = 1 << 20;
	properties.base.MinimumBuffers = 100;
	properties.base.MaximumBuffers = 50;
	assert_int_equal(start_with(&properties, u"test"), 0);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.buffer_size_kb, 16384);
	assert_int_equal(session.minimum_buffers, 100);
	assert_int_equal(session.maximum_buffers, 100);
	recorder_properties(&properties, false);
	properties.base.LogFileMode |= EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING;
	assert_int_equal(start_with(&properties, u"one"), 0);
	assert_true(fake_etw_session("one", &session));
	assert_int_equal(session.minimum_buffers, 2);
}

static void first_buffers_need_memory(void **state)
{
	static const struct fake_etw_options machine = { .memory_kb = 1024 };
	struct recorder_properties properties;

	(void)state;
	fake_etw_reset(&machine);
	recorder_properties(&properties, false);
	properties.base.BufferSize = 64;
	properties.base.MinimumBuffers = 17;
	properties.base.MaximumBuffers = 100;
	assert_int_equal(start_with(&properties, u"test"), ERROR_NO_SYSTEM_RESOURCES);
	properties.base.MinimumBuffers = 16;
	assert_int_equal(start_with(&properties, u"test"), 0);
}

static void a_session_needs_somewhere_to_write(void **state)
{
	struct recorder_properties properties;

	(void)state;
	recorder_properties(&properties, false);
	properties.base.LogFileMode = 0;
	assert_int_equal(start_with(&properties, u"test"), ERROR_BAD_PATHNAME);
	properties.base.LogFileMode = EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_BUFFERING_MODE;
	assert_int_equal(start_with(&properties, u"test"), ERROR_INVALID_PARAMETER);
}

static void names_and_guids_are_unique(void **state)
{
	struct recorder_properties properties;

	(void)state;
	assert_int_equal(recorder_start(u"Test", false, 0, NULL), 0);
	assert_int_equal(recorder_start(u"tEST", false, 0, NULL), ERROR_ALREADY_EXISTS);
	recorder_properties(&properties, true);
	assert_int_equal(start_with(&properties, u"one"), 0);
	assert_int_equal(start_with(&properties, u"two"), ERROR_ALREADY_EXISTS);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_int_equal(start_with(&properties, u"two"), 0);
}

static void rights_decide(void **state)
{
	(void)state;
	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), ERROR_ACCESS_DENIED);
	fake_etw_set_rights(FAKE_ETW_PERFORMANCE_LOG_USER);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	assert_int_equal(recorder_start(u"system", true, EVENT_TRACE_FLAG_PROCESS, NULL),
			 ERROR_ACCESS_DENIED);
	assert_int_equal(recorder_start(kernel_logger, false, EVENT_TRACE_FLAG_PROCESS, NULL),
			 ERROR_ACCESS_DENIED);
	fake_etw_set_rights(FAKE_ETW_NO_RIGHTS);
	assert_int_equal(recorder_stop(u"test"), ERROR_ACCESS_DENIED);
}

static void there_are_64_sessions(void **state)
{
	static const struct fake_etw_options others = { .foreign_sessions = 60 };
	WCHAR name[3] = u"a0";

	(void)state;
	fake_etw_reset(&others);
	for (unsigned i = 0; i < 4; i++) {
		name[1] = (WCHAR)('0' + i);
		assert_int_equal(recorder_start(name, false, 0, NULL), 0);
	}
	assert_int_equal(recorder_start(u"more", false, 0, NULL), ERROR_NO_SYSTEM_RESOURCES);
	assert_int_equal(recorder_stop(u"a2"), 0);
	assert_int_equal(recorder_start(u"more", false, 0, NULL), 0);
}

static void there_are_eight_system_loggers_of_which_two_are_reserved(void **state)
{
	static const struct fake_etw_options others = { .foreign_system_loggers = 4 };

	(void)state;
	fake_etw_reset(&others);
	assert_int_equal(recorder_start(u"one", true, 0, NULL), 0);
	assert_int_equal(recorder_start(u"two", true, 0, NULL), 0);
	assert_int_equal(recorder_start(u"three", true, 0, NULL), ERROR_NO_SYSTEM_RESOURCES);
	assert_int_equal(recorder_start(kernel_logger, false, EVENT_TRACE_FLAG_PROCESS, NULL),
			 0); /* has a place of its own */
	assert_int_equal(recorder_start(u"user", false, 0, NULL), 0);
}

static void system_loggers_of_old_builds_use_two_types_of_clock(void **state)
{
	static const struct {
		struct fake_etw_options machine;
		uint32_t error;
	} cases[] = {
		{ { .os_build = 14393 }, ERROR_INVALID_PARAMETER },
		{ { .os_build = 15062, .clock_type_error = ERROR_NO_SYSTEM_RESOURCES },
		  ERROR_NO_SYSTEM_RESOURCES },
		{ { .os_build = 15063 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct recorder_properties properties;

		fake_etw_reset(&cases[i].machine);
		for (ULONG clock = 1; clock <= 3; clock++) {
			WCHAR name[] = { (WCHAR)('a' + clock), 0 };

			recorder_properties(&properties, true);
			properties.base.Wnode.Guid.Data1 = clock;
			properties.base.Wnode.ClientContext = clock;
			assert_int_equal(start_with(&properties, name),
					 clock < 3 ? 0u : cases[i].error);
			/* The limit is of system loggers alone, and of types, not of loggers. */
			recorder_properties(&properties, false);
			properties.base.Wnode.ClientContext = clock;
			name[0] = (WCHAR)('A' + 16 + clock);
			assert_int_equal(start_with(&properties, name), 0);
		}
		assert_int_equal(recorder_start(u"one more", true, 0, NULL), 0);
	}
}

static void a_system_logger_has_a_guid_of_its_own(void **state)
{
	struct recorder_properties properties;

	(void)state;
	recorder_properties(&properties, true);
	memset(&properties.base.Wnode.Guid, 0, sizeof(properties.base.Wnode.Guid));
	assert_int_equal(start_with(&properties, u"test"), ERROR_INVALID_PARAMETER);
	properties.base.Wnode.Guid = SystemTraceControlGuid;
	assert_int_equal(start_with(&properties, u"test"), ERROR_INVALID_PARAMETER);
	recorder_properties(&properties, true);
	properties.base.LogFileMode |= EVENT_TRACE_USE_PAGED_MEMORY;
	assert_int_equal(start_with(&properties, u"test"), ERROR_INVALID_PARAMETER);
}

static void there_is_one_kernel_logger_of_that_name(void **state)
{
	struct fake_etw_session session;

	(void)state;
	assert_int_equal(recorder_start(u"nt KERNEL logger", false, EVENT_TRACE_FLAG_PROCESS, NULL),
			 0);
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_true(
		IsEqualGUID(&session.guid, &SystemTraceControlGuid)); /* for any requested GUID */
	assert_true((session.mode & EVENT_TRACE_SYSTEM_LOGGER_MODE) != 0);
	assert_int_equal(recorder_start(kernel_logger, false, EVENT_TRACE_FLAG_PROCESS, NULL),
			 ERROR_ALREADY_EXISTS);
}

static void flags_are_for_system_loggers(void **state)
{
	(void)state;
	assert_int_equal(recorder_start(u"test", false, EVENT_TRACE_FLAG_PROCESS, NULL),
			 ERROR_INVALID_PARAMETER);
}

static void samples_need_a_privilege(void **state)
{
	static const struct fake_etw_options without = { .no_profile_privilege = true };
	ULONG flags = EVENT_TRACE_FLAG_PROCESS | EVENT_TRACE_FLAG_PROFILE;

	(void)state;
	assert_int_equal(recorder_start(u"test", true, flags, NULL), ERROR_PRIVILEGE_NOT_HELD);
	assert_int_equal(recorder_enable_profile_privilege(), ERROR_SUCCESS);
	assert_int_equal(recorder_start(u"test", true, flags, NULL), 0);
	fake_etw_reset(&without);
	assert_int_equal(recorder_enable_profile_privilege(), ERROR_NOT_ALL_ASSIGNED);
	assert_int_equal(recorder_start(u"test", true, flags, NULL), ERROR_PRIVILEGE_NOT_HELD);
	assert_int_equal(fake_etw_open_things().handles, 0);
}

static void control_by_name_and_by_handle(void **state)
{
	struct recorder_properties properties;
	TRACEHANDLE handle;
	TRACEHANDLE other;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, &handle), 0);
	assert_int_equal(recorder_start(u"other", false, 0, &other), 0);
	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 0);
	assert_memory_equal(properties.name, u"test", 10);
	recorder_properties(&properties, false);
	assert_int_equal(
		ControlTraceW(handle, u"OTHER", &properties.base, EVENT_TRACE_CONTROL_QUERY), 0);
	assert_true(properties.base.Wnode.HistoricalContext == other); /* the name wins */
	assert_int_equal(ControlTraceW(0, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(ControlTraceW(handle, NULL, NULL, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(ControlTraceW(0, u"nobody", &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
	properties.base.Wnode.BufferSize = 100;
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_BAD_LENGTH);
	recorder_properties(&properties, false);
	properties.base.LoggerNameOffset = 4;
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_INVALID_PARAMETER);
	recorder_properties(&properties, false);
	properties.base.Wnode.Guid = SystemTraceControlGuid;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_INVALID_PARAMETER);
}

static void a_handle_ends_with_its_session(void **state)
{
	struct recorder_properties properties;
	TRACEHANDLE handle;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, &handle), 0);
	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_STOP),
			 0);
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_STOP),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(handle, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void names_need_room(void **state)
{
	struct recorder_properties properties;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	recorder_properties(&properties, false);
	properties.base.LoggerNameOffset = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_MORE_DATA);
	recorder_properties(&properties, false);
	properties.base.LogFileNameOffset = properties.base.LoggerNameOffset + 4;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 ERROR_MORE_DATA);
	assert_int_equal(properties.base.NumberOfBuffers, 8); /* all the same */
	recorder_properties(&properties, false);
	properties.base.LoggerNameOffset = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_STOP),
			 ERROR_MORE_DATA);
	assert_int_equal(recorder_stop(u"test"), ERROR_WMI_INSTANCE_NOT_FOUND); /* it has stopped */
}

static void queries_and_stops_return_the_losses(void **state)
{
	struct recorder_properties properties;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	fake_etw_lose_events("test", 7);
	assert_int_equal(recorder_query(u"test", &properties), 0);
	assert_int_equal(properties.base.EventsLost, 7);
	fake_etw_lose_events("test", 1);
	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_STOP), 0);
	assert_int_equal(properties.base.EventsLost, 8);
}

/* The least that an update needs. */
static void update_properties(struct recorder_properties *properties)
{
	memset(properties, 0, sizeof(*properties));
	properties->base.Wnode.BufferSize = sizeof(*properties);
	properties->base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties->base.LogFileMode = EVENT_TRACE_REAL_TIME_MODE;
}

static void an_update_sets_what_it_names(void **state)
{
	struct recorder_properties properties;
	struct fake_etw_session session;

	(void)state;
	assert_int_equal(recorder_start(u"test", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	update_properties(&properties);
	properties.base.EnableFlags = EVENT_TRACE_FLAG_THREAD;
	properties.base.FlushTimer = 5;
	properties.base.MaximumBuffers = 200;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 0);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.masks[0], EVENT_TRACE_FLAG_THREAD);
	assert_int_equal(session.flush_timer, 5);
	assert_int_equal(session.maximum_buffers, 200);
	update_properties(&properties);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 0);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.masks[0], 0);    /* 0 disables all */
	assert_int_equal(session.flush_timer, 5); /* 0 leaves alone */
	assert_int_equal(session.maximum_buffers, 200);
	update_properties(&properties);
	properties.base.LogFileMode = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 0);
	assert_true(fake_etw_session("test", &session));
	assert_int_equal(session.mode & EVENT_TRACE_REAL_TIME_MODE, 0); /* 0 turns real time off */
}

static void an_update_refuses_invalid_settings(void **state)
{
	struct recorder_properties properties;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	update_properties(&properties);
	properties.base.EnableFlags = EVENT_TRACE_FLAG_THREAD;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 ERROR_INVALID_PARAMETER);
	update_properties(&properties);
	properties.base.Wnode.Flags = 0;
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 ERROR_INVALID_PARAMETER);
	update_properties(&properties);
	properties.base.LogFileNameOffset = offsetof(struct recorder_properties, file);
	assert_int_equal(ControlTraceW(0, u"test", &properties.base, EVENT_TRACE_CONTROL_UPDATE),
			 ERROR_BAD_PATHNAME);
}

static void the_shorthands_do_the_same(void **state)
{
	struct recorder_properties properties;

	(void)state;
	assert_int_equal(recorder_start(u"test", true, EVENT_TRACE_FLAG_PROCESS, NULL), 0);
	recorder_properties(&properties, false);
	assert_int_equal(QueryTraceW(0, u"test", &properties.base), 0);
	assert_int_equal(FlushTraceW(0, u"test", &properties.base), 0);
	update_properties(&properties);
	assert_int_equal(UpdateTraceW(0, u"test", &properties.base), 0);
	recorder_properties(&properties, false);
	assert_int_equal(StopTraceW(0, u"test", &properties.base), 0);
	assert_int_equal(StopTraceW(0, u"test", &properties.base), ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void all_sessions_are_listed(void **state)
{
	static struct recorder_properties properties[3];
	PEVENT_TRACE_PROPERTIES array[3];
	ULONG count = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		recorder_properties(&properties[i], false);
		array[i] = &properties[i].base;
	}
	assert_int_equal(recorder_start(u"mine", false, 0, NULL), 0);
	assert_true(fake_etw_other_start("theirs", EVENT_TRACE_REAL_TIME_MODE, 0));
	assert_int_equal(QueryAllTracesW(array, 3, &count), 0);
	assert_int_equal(count, 2);
	assert_memory_equal(properties[0].name, u"mine", 10);
	assert_memory_equal(properties[1].name, u"theirs", 14);
	assert_int_equal(QueryAllTracesW(array, 1, &count), ERROR_MORE_DATA);
	assert_int_equal(count, 2);
	assert_int_equal(QueryAllTracesW(NULL, 1, &count), ERROR_INVALID_PARAMETER);
	assert_int_equal(QueryAllTracesW(array, 0, &count), ERROR_INVALID_PARAMETER);
	assert_int_equal(QueryAllTracesW(array, 65, &count), ERROR_INVALID_PARAMETER);
	assert_int_equal(QueryAllTracesW(array, 3, NULL), ERROR_INVALID_PARAMETER);
}

static void other_programs_interfere(void **state)
{
	struct recorder_properties properties;
	struct fake_etw_session session;
	TRACEHANDLE handle;

	(void)state;
	assert_int_equal(recorder_start(kernel_logger, false, EVENT_TRACE_FLAG_THREAD, &handle), 0);
	assert_true(fake_etw_other_set_flags("NT Kernel Logger", EVENT_TRACE_FLAG_DISK_IO));
	assert_int_equal(recorder_query(kernel_logger, &properties), 0);
	assert_int_equal(properties.base.EnableFlags, EVENT_TRACE_FLAG_DISK_IO);
	assert_true(fake_etw_other_steal("NT Kernel Logger"));
	assert_true(fake_etw_session("NT Kernel Logger", &session));
	assert_true(session.handle != handle);
	assert_int_equal(session.masks[0], EVENT_TRACE_FLAG_PROCESS);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_true(fake_etw_other_stop("NT Kernel Logger"));
	assert_false(fake_etw_other_stop("NT Kernel Logger"));
	for (int fixed = 0; fixed < 2; fixed++) {
		struct fake_etw_session again;

		fake_etw_reset(&(struct fake_etw_options){ .fixed_guids = fixed });
		assert_true(fake_etw_other_start("theirs", EVENT_TRACE_REAL_TIME_MODE, 0));
		assert_true(fake_etw_session("theirs", &session));
		assert_true(fake_etw_other_steal("theirs"));
		assert_true(fake_etw_session("theirs", &again));
		assert_int_equal(memcmp(&session.guid, &again.guid, sizeof(GUID)) == 0, fixed);
	}
}

static void each_call_fails_when_the_test_requests_it(void **state)
{
	(void)state;
	fake_etw_fail("StartTraceW", ERROR_NO_SYSTEM_RESOURCES, 1);
	assert_int_equal(recorder_start(u"one", false, 0, NULL), 0);
	assert_int_equal(recorder_start(u"two", false, 0, NULL), ERROR_NO_SYSTEM_RESOURCES);
	assert_int_equal(recorder_start(u"two", false, 0, NULL), 0);
	fake_etw_fail_always("ControlTraceW", ERROR_ACCESS_DENIED);
	assert_int_equal(recorder_stop(u"one"), ERROR_ACCESS_DENIED);
	assert_int_equal(recorder_stop(u"one"), ERROR_ACCESS_DENIED);
	fake_etw_fail_never("ControlTraceW");
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_int_equal(fake_etw_calls("StartTraceW"), 3);
	assert_int_equal(fake_etw_calls("ControlTraceW"), 3);
}

/* ---- modes ---- */

static uint32_t mode_of(const WCHAR *name, uint32_t requested)
{
	struct recorder_properties properties;

	recorder_properties(&properties, false);
	properties.base.LogFileMode |= requested;
	assert_int_equal(start_with(&properties, name), 0);
	assert_int_equal(recorder_query(name, &properties), 0);
	return properties.base.LogFileMode;
}

static void independent_mode_is_stripped_when_it_stands_alone(void **state)
{
	const uint32_t independent = EVENT_TRACE_INDEPENDENT_SESSION_MODE;
	const uint32_t persist = EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN;
	const uint32_t stop = EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN;
	const struct fake_etw_options machine = { .stripped_modes = persist };

	(void)state;
	assert_int_equal(mode_of(u"alone", independent), EVENT_TRACE_REAL_TIME_MODE);
	assert_int_equal(mode_of(u"persist", independent | persist),
			 EVENT_TRACE_REAL_TIME_MODE | independent | persist);
	assert_int_equal(mode_of(u"stop", independent | stop),
			 EVENT_TRACE_REAL_TIME_MODE | independent | stop);
	fake_etw_reset(&machine);
	assert_int_equal(mode_of(u"persist", independent | persist), EVENT_TRACE_REAL_TIME_MODE);
}

static void modes_may_be_refused(void **state)
{
	static const struct fake_etw_options machine = {
		.refused_modes = EVENT_TRACE_INDEPENDENT_SESSION_MODE
	};
	struct recorder_properties properties;

	(void)state;
	fake_etw_reset(&machine);
	recorder_properties(&properties, false);
	assert_int_equal(start_with(&properties, u"plain"), 0);
	properties.base.LogFileMode |= EVENT_TRACE_INDEPENDENT_SESSION_MODE |
				       EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN;
	assert_int_equal(start_with(&properties, u"independent"), ERROR_INVALID_PARAMETER);
}

static const GUID some_provider = { 0x50e, 1, 2, { 3 } };

/* Three sessions have the provider enabled: one that is full, one with INDEPENDENT, one without. */
static void start_three(void)
{
	static const WCHAR *const names[] = { u"full", u"independent", u"plain" };
	TRACEHANDLE handles[3];

	for (size_t i = 0; i < 3; i++) {
		struct recorder_properties properties;

		recorder_properties(&properties, false);
		if (i == 1) {
			properties.base.LogFileMode |= EVENT_TRACE_INDEPENDENT_SESSION_MODE |
						       EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN;
		}
		assert_int_equal(StartTraceW(&handles[i], names[i], &properties.base), 0);
		assert_int_equal(EnableTraceEx2(handles[i], &some_provider,
						EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0, 0,
						NULL),
				 0);
	}
	fake_etw_fill("full", true);
}

static void assert_counts(const char *name, uint64_t emitted, uint64_t lost, uint64_t withheld)
{
	struct fake_etw_session session;

	assert_true(fake_etw_session(name, &session));
	assert_int_equal(session.emitted, emitted);
	assert_int_equal(session.events_lost, lost);
	assert_int_equal(session.withheld, withheld);
}

static void an_event_without_room_in_one_session_is_lost_in_all(void **state)
{
	const struct fake_etw_event event = { .provider = some_provider };
	REGHANDLE provider;
	const EVENT_DESCRIPTOR descriptor = { .Id = 1 };

	(void)state;
	start_three();
	assert_int_equal(fake_etw_emit(&event), 3);
	assert_counts("full", 1, 1, 0);
	assert_counts("independent", 1, 0, 0);
	assert_counts("plain", 0, 0, 1);
	assert_int_equal(EventRegister(&some_provider, NULL, NULL, &provider), 0);
	assert_int_equal(EventWriteTransfer(provider, &descriptor, NULL, NULL, 0, NULL),
			 ERROR_NOT_ENOUGH_MEMORY);
	assert_int_equal(EventUnregister(provider), 0);
	assert_counts("independent", 2, 0, 0);
	assert_counts("plain", 0, 0, 2);
	fake_etw_fill("full", false);
	assert_int_equal(fake_etw_emit(&event), 3);
	assert_counts("full", 3, 2, 0);
	assert_counts("plain", 1, 0, 2);
}

static void the_mode_of_the_session_without_room_may_decide(void **state)
{
	static const struct fake_etw_options machine = { .full_decides = true };
	const struct fake_etw_event event = { .provider = some_provider };

	(void)state;
	fake_etw_reset(&machine);
	start_three();
	assert_int_equal(fake_etw_emit(&event), 3);
	assert_counts("full", 1, 1, 0);
	assert_counts("independent", 0, 0, 1);
	assert_counts("plain", 0, 0, 1);
	fake_etw_fill("full", false);
	fake_etw_fill("independent", true);
	assert_int_equal(fake_etw_emit(&event), 3);
	assert_counts("independent", 1, 1, 1);
	assert_counts("plain", 1, 0, 1);
}

/* ---- identity ---- */

static void queries_may_answer_a_guid_of_their_own(void **state)
{
	static const struct fake_etw_options machine = { .other_guid = true };
	struct recorder_properties started;
	struct recorder_properties first;
	struct recorder_properties second;
	TRACEHANDLE handle;

	(void)state;
	fake_etw_reset(&machine);
	recorder_properties(&started, false);
	started.base.Wnode.Guid = some_provider;
	assert_int_equal(StartTraceW(&handle, u"test", &started.base), 0);
	assert_memory_equal(&started.base.Wnode.Guid, &some_provider, sizeof(GUID));
	assert_int_equal(recorder_query(u"test", &first), 0);
	assert_memory_not_equal(&first.base.Wnode.Guid, &some_provider, sizeof(GUID));
	assert_true(first.base.Wnode.HistoricalContext == handle);
	assert_int_equal(recorder_query(u"test", &second), 0);
	assert_memory_equal(&first.base.Wnode.Guid, &second.base.Wnode.Guid, sizeof(GUID));
	assert_int_equal(recorder_stop(u"test"), 0);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	assert_int_equal(recorder_query(u"test", &second), 0);
	assert_memory_not_equal(&first.base.Wnode.Guid, &second.base.Wnode.Guid, sizeof(GUID));
}

static void handles_may_be_used_again(void **state)
{
	static const struct fake_etw_options machine = { .reused_handles = true };
	struct recorder_properties properties;
	TRACEHANDLE first;
	TRACEHANDLE second;

	(void)state;
	fake_etw_reset(&machine);
	assert_int_equal(recorder_start(u"one", false, 0, &first), 0);
	assert_int_equal(recorder_start(u"two", false, 0, &second), 0);
	assert_true(first != second);
	assert_int_equal(recorder_stop(u"one"), 0);
	assert_int_equal(recorder_start(u"three", false, 0, &second), 0);
	assert_true(first == second);
	recorder_properties(&properties, false);
	assert_int_equal(ControlTraceW(first, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY),
			 0);
	assert_memory_equal(properties.name, u"three", 12);
}

/* ---- masks ---- */

/* Bits that are set in the masks of a session and were not asked for. */
static unsigned gained_bits(const char *name, uint32_t asked)
{
	struct fake_etw_session session;
	unsigned count = 0;

	assert_true(fake_etw_session(name, &session));
	session.masks[0] &= ~asked;
	for (size_t i = 0; i < 8 * 32; i++) {
		count += session.masks[i / 32] >> i % 32 & 1;
	}
	return count;
}

static void masks_may_gain_bits_by_themselves(void **state)
{
	static const struct {
		enum fake_etw_mask_gain gain;
		bool gains, at_once;
	} cases[] = {
		{ FAKE_ETW_MASKS_STAY, false, false },
		{ FAKE_ETW_MASKS_GAIN_AT_ONCE, true, true },
		{ FAKE_ETW_MASKS_GAIN_LATER, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct fake_etw_options machine = { .mask_gain = cases[i].gain };
		const uint32_t flag = EVENT_TRACE_FLAG_PROCESS;
		TRACEHANDLE session;
		uint64_t began;

		fake_etw_reset(&machine);
		assert_int_equal(recorder_start(u"test", true, flag, &session), 0);
		assert_int_equal(gained_bits("test", flag), 0);
		began = os_monotonic_ns();
		assert_int_equal(EnableTraceEx2(session, &some_provider,
						EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0, 0, 0, 0,
						NULL),
				 0);
		if (cases[i].at_once) {
			assert_true(gained_bits("test", flag) > 0);
		}
		while (cases[i].gains && gained_bits("test", flag) == 0) {
			assert_true(os_monotonic_ns() - began < WAIT_MS * UINT64_C(1000000));
			Sleep(2);
		}
		assert_true(!cases[i].gains || cases[i].at_once ||
			    os_monotonic_ns() - began >= 100000000);
		assert_int_equal(gained_bits("test", flag) > 0, cases[i].gains);
	}
}

/* ---- stops and places ---- */

static void a_stop_returns_losses_of_its_own_records(void **state)
{
	static const struct fake_etw_options machine = { .lost_at_stop = 5 };
	struct recorder_properties properties;

	(void)state;
	fake_etw_reset(&machine);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	fake_etw_lose_events("test", 2);
	assert_int_equal(recorder_query(u"test", &properties), 0);
	assert_int_equal(properties.base.EventsLost, 2);
	recorder_properties(&properties, false);
	assert_int_equal(StopTraceW(0, u"test", &properties.base), 0);
	assert_int_equal(properties.base.EventsLost, 7);
}

static void the_number_of_sessions_is_configured(void **state)
{
	static const struct fake_etw_options small = { .max_loggers = 32, .foreign_sessions = 31 };
	static const struct fake_etw_options large = { .max_loggers = 256,
						       .foreign_sessions = 255 };
	static const struct fake_etw_options old = { .os_build = 15063 };
	static struct recorder_properties properties[257];
	PEVENT_TRACE_PROPERTIES array[257];
	ULONG number = 0;
	ULONG count = 0;

	(void)state;
	for (size_t i = 0; i < 257; i++) {
		recorder_properties(&properties[i], false);
		array[i] = &properties[i].base;
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct fake_etw_options *machine = i == 0 ? &small : &large;

		fake_etw_reset(machine);
		assert_int_equal(TraceQueryInformation(0, TraceMaxLoggersQuery, &number,
						       sizeof(number), NULL),
				 0);
		assert_int_equal(number, machine->max_loggers);
		assert_int_equal(recorder_start(u"last", false, 0, NULL), 0);
		assert_int_equal(recorder_start(u"more", false, 0, NULL),
				 ERROR_NO_SYSTEM_RESOURCES);
		assert_int_equal(QueryAllTracesW(array, number, &count), 0);
		assert_int_equal(count, 1);
		assert_int_equal(QueryAllTracesW(array, number + 1, &count),
				 ERROR_INVALID_PARAMETER);
	}
	fake_etw_reset(&old);
	assert_int_equal(TraceQueryInformation(0, TraceMaxLoggersQuery, &number, sizeof(number),
					       NULL),
			 ERROR_NOT_SUPPORTED);
}

static void sessions_are_filled_and_stops_are_observed(void **state)
{
	const struct fake_etw_event event = { .provider = some_provider };
	struct recorder recorder = { 0 };
	TRACEHANDLE handle;

	(void)state;
	assert_int_equal(recorder_start(u"test", false, 0, &handle), 0);
	assert_int_equal(EnableTraceEx2(handle, &some_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
					0, 0, 0, 0, NULL),
			 0);
	fake_etw_fill("test", true);
	(void)fake_etw_emit(&event);
	assert_counts("test", 1, 1, 0);
	assert_int_equal(recorder_stop(u"test"), 0);
	assert_int_equal(fake_etw_stops_while_consumed(), 0);
	assert_int_equal(recorder_start(u"test", false, 0, NULL), 0);
	assert_true(recorder_consume(&recorder, u"test"));
	assert_int_equal(recorder_stop(u"test"), 0);
	assert_int_equal(fake_etw_stops_while_consumed(), 1);
	assert_int_equal(recorder_join(&recorder), 0);
	recorder_close(&recorder);
}

static void see_type(void *context, const struct etw_record *record)
{
	unsigned *types = context;

	types[record->type]++;
}

static void a_session_may_write_a_file(void **state)
{
	static const GUID process = {
		0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	struct fake_etw_event event = { .provider = process,
					.descriptor = { .Opcode = 1, .Version = 4 },
					.classic = true,
					.process_id = 8,
					.thread_id = 9,
					.payload = "payload",
					.payload_size = 8 };
	char path[TEMPORARY_PATH_SIZE];
	unsigned types[ETW_RECORD_TYPE_COUNT] = { 0 };
	const struct etw_event_sink sink = { .context = types, .on_event = see_type };
	struct recorder_properties properties;
	struct etw_source *source;
	TRACEHANDLE session;

	(void)state;
	temporary_path(path, "etl");
	recorder_properties(&properties, true);
	properties.base.LogFileMode = EVENT_TRACE_SYSTEM_LOGGER_MODE |
				      EVENT_TRACE_FILE_MODE_SEQUENTIAL;
	properties.base.EnableFlags = EVENT_TRACE_FLAG_PROCESS;
	properties.base.LogFileNameOffset = offsetof(struct recorder_properties, file);
	for (size_t i = 0; i <= strlen(path); i++) {
		properties.file[i] = (WCHAR)path[i];
	}
	assert_int_equal(StartTraceW(&session, u"one", &properties.base), 0);
	assert_int_equal(fake_etw_emit(&event), 1);
	event.process_id = event.thread_id = ETW_RECORD_NO_ID; /* as kernel events without ids */
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_int_equal(recorder_stop(u"one"), 0);
	source = etw_source_open_file(
		path, &(struct etw_source_file_options){ .single_pass = true }, NULL);
	assert_non_null(source);
	assert_true(etw_source_run(source, &sink, NULL));
	etw_source_close(source);
	remove(path);
	assert_int_equal(types[ETW_RECORD_SYSTEM], 2); /* with the header of the file */
	assert_int_equal(types[ETW_RECORD_PERFINFO], 1);
	/* A file that cannot be made. */
	recorder_properties(&properties, true);
	properties.base.LogFileMode = EVENT_TRACE_SYSTEM_LOGGER_MODE |
				      EVENT_TRACE_FILE_MODE_SEQUENTIAL;
	properties.base.LogFileNameOffset = offsetof(struct recorder_properties, file);
	memcpy(properties.file, u"/nowhere/at/all.etl", sizeof u"/nowhere/at/all.etl");
	assert_int_equal(StartTraceW(&session, u"one", &properties.base), ERROR_PATH_NOT_FOUND);
	assert_int_equal(fake_etw_open_things().sessions, 0);
}

static void a_row_does_not_hold_when_the_test_requests_it(void **state)
{
	TRACEHANDLE handles[2];

	(void)state;
	fake_etw_otherwise("S15");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recorder_start(u"one", false, 0, &handles[i]), 0);
		assert_int_equal(recorder_stop(u"one"), 0);
	}
	assert_int_equal(handles[0], handles[1]);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(bad_arguments_are_refused),
		ROW(lengths_must_be_right),
		ROW(starting_returns_the_properties_of_the_session),
		ROW(numbers_that_make_no_sense_are_overwritten),
		ROW(first_buffers_need_memory),
		ROW(a_session_needs_somewhere_to_write),
		ROW(names_and_guids_are_unique),
		ROW(rights_decide),
		ROW(there_are_64_sessions),
		ROW(there_are_eight_system_loggers_of_which_two_are_reserved),
		ROW(system_loggers_of_old_builds_use_two_types_of_clock),
		ROW(a_system_logger_has_a_guid_of_its_own),
		ROW(there_is_one_kernel_logger_of_that_name),
		ROW(flags_are_for_system_loggers),
		ROW(samples_need_a_privilege),
		ROW(control_by_name_and_by_handle),
		ROW(a_handle_ends_with_its_session),
		ROW(names_need_room),
		ROW(queries_and_stops_return_the_losses),
		ROW(an_update_sets_what_it_names),
		ROW(an_update_refuses_invalid_settings),
		ROW(the_shorthands_do_the_same),
		ROW(all_sessions_are_listed),
		ROW(other_programs_interfere),
		ROW(each_call_fails_when_the_test_requests_it),
		ROW(independent_mode_is_stripped_when_it_stands_alone),
		ROW(modes_may_be_refused),
		ROW(an_event_without_room_in_one_session_is_lost_in_all),
		ROW(the_mode_of_the_session_without_room_may_decide),
		ROW(queries_may_answer_a_guid_of_their_own),
		ROW(handles_may_be_used_again),
		ROW(masks_may_gain_bits_by_themselves),
		ROW(a_stop_returns_losses_of_its_own_records),
		ROW(the_number_of_sessions_is_configured),
		ROW(sessions_are_filled_and_stops_are_observed),
		ROW(a_session_may_write_a_file),
		ROW(a_row_does_not_hold_when_the_test_requests_it),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_sessions", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

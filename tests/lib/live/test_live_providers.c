/* SPDX-License-Identifier: MIT */
/*
 * Providers of live sessions: found, enabled with their filters, asked for their state.
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

#define OTHER_PROVIDER "{22222222-2222-3333-4444-555555555555}"

static void providers_are_requested_to_capture_their_state(void **state)
{
	static const struct {
		uint32_t is_enabled;
		uint64_t any;
	} expected[] = { { 1, 3 }, { 2, 3 }, { 1, 1 }, { 1, 5 }, { 2, 5 }, { 1, 1 }, { 0, 0 } };
	struct fake_etw_callback callbacks[16];
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}:5::1",
					    NULL));
	spec.capture_at_start = 2;
	spec.capture_at_stop = 4;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run->options.logger = ETW_LIVE_USER;
	run->options.kernel_flags = 0;
	run_start_and_wait(run, &run->options);
	run_stop(run);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 16), 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(callbacks[i].is_enabled, expected[i].is_enabled);
		assert_int_equal(callbacks[i].match_any, expected[i].any);
		assert_int_equal(callbacks[i].level, expected[i].is_enabled ? 5 : 0);
	}
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

/* Keywords of 0 are all keywords: those of the state are among them. */
static void a_capture_leaves_all_keywords_enabled(void **state)
{
	struct fake_etw_callback callbacks[16];
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec spec;
	struct run *run = *state;
	size_t count;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5::0", NULL));
	spec.capture_at_start = 2;
	spec.capture_at_stop = 4;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run->options.logger = ETW_LIVE_USER;
	run->options.kernel_flags = 0;
	run_start_and_wait(run, &run->options);
	run_stop(run);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	count = fake_etw_provider_callbacks(provider, callbacks, 16);
	assert_int_equal(count, 7);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(callbacks[i].match_any,
				 callbacks[i].is_enabled == 1 ? UINT64_MAX : 0);
	}
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

static void state_is_captured_again_and_again(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}:5::1",
					    NULL));
	spec.capture_at_start = 2;
	spec.capture_every_ms = 30;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	WAIT_UNTIL(fake_etw_provider_callbacks(provider, NULL, 0) >= 9);
	run_stop(run);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

static void a_provider_is_found_by_name(void **state)
{
	struct etw_provider_spec specs[3];
	struct run *run = *state;
	struct fake_etw_session session;
	struct etw_error err = { 0 };

	fake_etw_tdh_provider(&some_provider, "Some-Provider", true);
	assert_true(etw_provider_spec_parse(&specs[0], "some-provider", NULL));
	assert_true(etw_provider_spec_parse(&specs[1], "Microsoft-Windows-DNS-Client", NULL));
	/* Of the table, and not registered here. */
	assert_true(etw_provider_spec_parse(&specs[2], "microsoft-windows-powershell", NULL));
	run->options.providers = specs;
	run->options.provider_count = 3;
	run_open(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.providers, 3);
	etw_source_close(run->source);
	run->source = NULL;
	etw_provider_spec_done(&specs[1]);
	assert_true(etw_provider_spec_parse(&specs[1], "No-Such", NULL));
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text,
			    "session etw_test: no provider called 'No-Such' is registered; give "
			    "its GUID");
	etw_provider_spec_done(&specs[1]);
	assert_true(etw_provider_spec_parse(&specs[1], "Some-Providr", NULL));
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text,
			    "session etw_test: no provider called 'Some-Providr' is registered; "
			    "did you mean 'Some-Provider'?");
	run_end(run);
	etw_provider_spec_done(&specs[0]);
	etw_provider_spec_done(&specs[1]);
	etw_provider_spec_done(&specs[2]);
}

/* Windows would take the settings of the second call, and nothing would say so. */
static void a_provider_that_is_listed_by_name_and_by_guid_is_reported(void **state)
{
	struct etw_provider_spec specs[2];
	struct run *run = *state;

	fake_etw_tdh_provider(&some_provider, "Some-Provider", true);
	assert_true(etw_provider_spec_parse(&specs[0], "Some-Provider", NULL));
	assert_true(etw_provider_spec_parse(&specs[1], SOME_PROVIDER, NULL));
	run->options.providers = specs;
	run->options.provider_count = 2;
	run_open(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider Some-Provider is the same as " SOME_PROVIDER
			    ": only the settings of the latter are used");
	run_end(run);
	etw_provider_spec_done(&specs[0]);
	etw_provider_spec_done(&specs[1]);
}

/* A DISABLE with the filters with which the provider was enabled would be refused (row P7b). */
static void a_provider_with_filters_is_disabled_when_it_is_no_longer_needed(void **state)
{
	struct etw_provider_spec spec;
	struct etw_live_change *change;
	struct fake_etw_session session;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5:1,2", NULL));
	spec.process_ids[spec.process_id_count++] = 4;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.providers, 1);
	run->options.provider_count = 0;
	change = etw_live_change_new(run->source, &run->options, NULL);
	assert_non_null(change);
	etw_live_change_apply(change);
	etw_live_change_free(change);
	assert_true(fake_etw_session("etw_test", &session));
	assert_int_equal(session.providers, 0);
	run_stop(run);
	run_end(run);
	etw_provider_spec_done(&spec);
}

static void a_provider_that_cannot_be_disabled_is_reported(void **state)
{
	struct etw_provider_spec spec;
	struct etw_live_change *change;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	run->options.provider_count = 0;
	change = etw_live_change_new(run->source, &run->options, NULL);
	assert_non_null(change);
	fake_etw_fail("EnableTraceEx2", ERROR_BAD_LENGTH, 0);
	etw_live_change_apply(change);
	etw_live_change_free(change);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER
			    ": it could not be disabled: a size is wrong (error 24)");
	run_stop(run);
	run_end(run);
	etw_provider_spec_done(&spec);
}

static void a_provider_that_cannot_be_enabled_is_reported(void **state)
{
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	fake_etw_fail("EnableTraceEx2", ERROR_ACCESS_DENIED, 0);
	run_start_and_wait(run, &run->options);
	run_stop(run);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider {11111111-2222-3333-4444-555555555555}: it could not be "
			    "enabled: access is denied (error 5)");
	run_end(run);
	etw_provider_spec_done(&spec);
}

/* Enabled all the same, for when it appears. */
static void a_provider_that_is_not_registered_delivers_when_it_appears(void **state)
{
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct fake_etw_callback callback;
	struct fake_etw_provider *provider;
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	assert_int_equal(fake_etw_provider_callbacks(provider, &callback, 1), 1);
	assert_int_equal(callback.is_enabled, 1);
	assert_int_equal(callback.level, 5);
	assert_int_equal(fake_etw_emit(&event), 1);
	assert_true(run_wait(run, &run->events, 1));
	run_stop(run);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

/* What it did not do in time it does when it wakes: it is enabled as configured, and asked. */
static void a_provider_that_does_not_answer_in_time_is_enabled(void **state)
{
	static const struct {
		uint32_t is_enabled;
		uint64_t any;
	} expected[] = { { 1, 3 }, { 2, 3 }, { 1, 1 } };
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = { .Level = 4, .Keyword = 1 } };
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_callback callbacks[8];
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5::1", NULL));
	spec.capture_at_start = 2;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	fake_etw_provider_block(provider, true);
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER ": its state could not be captured: it took "
			    "too long (error 1460)");
	assert_int_equal(fake_etw_emit(&event), 1);
	event.descriptor.Keyword = 2; /* asked for with the state only */
	assert_int_equal(fake_etw_emit(&event), 0);
	assert_true(run_wait(run, &run->events, 1));
	fake_etw_provider_block(provider, false);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 8), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(callbacks[i].is_enabled, expected[i].is_enabled);
		assert_int_equal(callbacks[i].match_any, expected[i].any);
	}
	run_stop(run);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

static void a_provider_that_another_program_disables_is_enabled_again(void **state)
{
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec specs[2];
	struct run *run = *state;

	/* The first is not registered, so that disabling it cannot be seen. */
	assert_true(etw_provider_spec_parse(&specs[0], "Microsoft-Windows-DNS-Client", NULL));
	assert_true(etw_provider_spec_parse(&specs[1], SOME_PROVIDER, NULL));
	run->options.providers = specs;
	run->options.provider_count = 2;
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_emit(&event), 1);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_true(fake_etw_other_disable("etw_test", &some_provider));
		WAIT_UNTIL(run_statistics(run).restarts[ETW_RESTART_FLAGS_CHANGED] == i);
		assert_int_equal(fake_etw_emit(&event), 1);
	}
	run_stop(run);
	assert_int_equal(run->events, 4);
	assert_int_equal(run->restarts, 0);
	assert_string_equal(run_sentence(run, ETW_SESSION_RESTORED),
			    "another program disabled provider " SOME_PROVIDER ": enabled again");
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&specs[0]);
	etw_provider_spec_done(&specs[1]);
}

/* As Windows may report one that is enabled. It is enabled once more, and then no longer. */
static void a_provider_that_is_never_reported_as_enabled_is_given_up(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct etw_provider_spec spec;
	struct run *run = *state;

	fake_etw_otherwise("I4a");
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(run_wait_session_event(run, ETW_SESSION_PROVIDER_FAILED));
	assert_int_equal(fake_etw_emit(&event), 1);
	run_stop(run);
	assert_int_equal(run_statistics(run).restarts[ETW_RESTART_FLAGS_CHANGED], 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "Windows does not report provider " SOME_PROVIDER " as enabled after "
			    "it was enabled: whether another program disables it is not seen");
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

static ULONG property_of(uint32_t properties)
{
	struct {
		TRACE_GUID_INFO head;
		TRACE_PROVIDER_INSTANCE_INFO instance;
		TRACE_ENABLE_INFO enabled;
	} answer;
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_provider_spec spec;
	struct run run;
	GUID guid = some_provider;
	ULONG size = 0;

	run_begin(&run);
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	spec.properties = properties;
	run.options.providers = &spec;
	run.options.provider_count = 1;
	run_open(&run, &run.options);
	assert_int_equal(EnumerateTraceGuidsEx(TraceGuidQueryInfo, &guid, sizeof guid, &answer,
					       sizeof answer, &size),
			 ERROR_SUCCESS);
	run_end(&run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
	return answer.enabled.EnableProperty;
}

enum { PLACES = 8 };

/* Enables the provider in as many sessions of another program as Windows allows: "theirs 0" … */
static void take_all_places(void)
{
	char name[16];

	for (unsigned i = 0; i < PLACES; i++) {
		snprintf(name, sizeof name, "theirs %u", i);
		assert_true(fake_etw_other_start(name, EVENT_TRACE_REAL_TIME_MODE, 0));
		assert_true(fake_etw_other_enable(name, &some_provider, 4, 0));
	}
}

static void leave_places(unsigned first)
{
	char name[16];

	for (unsigned i = first; i < PLACES; i++) {
		snprintf(name, sizeof name, "theirs %u", i);
		assert_true(fake_etw_other_stop(name));
	}
}

static void a_provider_without_a_place_is_said_to_have_none(void **state)
{
	struct etw_provider_spec spec;
	struct run *run = *state;

	take_all_places();
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_open(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER ": it could not be enabled: eight sessions "
			    "have it, and Windows allows no more (error 1450); \"etwtool "
			    "sessions\" lists them");
	leave_places(0);
	run_end(run);
	etw_provider_spec_done(&spec);
}

/* Nothing was restored, so nothing is given up, and one line says why it is missing. */
static void a_provider_without_a_place_is_enabled_when_there_is_one(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct etw_source_statistics now;
	struct etw_provider_spec spec;
	struct fake_etw_session session;
	struct run *run = *state;
	unsigned failed = 0, calls;

	take_all_places();
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	calls = fake_etw_calls("EnableTraceEx2");
	WAIT_UNTIL(fake_etw_calls("EnableTraceEx2") >= calls + 5 ||
		   run_statistics(run).restores_given_up > 0);
	assert_true(fake_etw_other_stop("theirs 0"));
	WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.providers == 1);
	assert_true(run_wait_session_event(run, ETW_SESSION_RESTORED));
	run_stop(run);
	assert_string_equal(run_sentence(run, ETW_SESSION_RESTORED),
			    "provider " SOME_PROVIDER
			    ", which could not be enabled before, is enabled");
	for (size_t i = 0; i < run->session_event_count; i++) {
		failed += run->session_events[i] == ETW_SESSION_PROVIDER_FAILED;
	}
	assert_int_equal(failed, 1);
	now = run_statistics(run);
	assert_int_equal(now.restores_given_up, 0);
	assert_int_equal(now.restarts[ETW_RESTART_FLAGS_CHANGED], 0);
	leave_places(1);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

/* Whether Windows reports such a provider as enabled says nothing, but that it refused it does. */
static void a_provider_for_some_programs_is_enabled_when_there_is_a_place(void **state)
{
	struct etw_provider_spec spec;
	struct fake_etw_session session;
	struct run *run = *state;

	take_all_places();
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	spec.executables = strdup("a.exe");
	assert_non_null(spec.executables);
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_stop("theirs 0"));
	WAIT_UNTIL(fake_etw_session("etw_test", &session) && session.providers == 1);
	assert_true(run_wait_session_event(run, ETW_SESSION_RESTORED));
	run_stop(run);
	leave_places(1);
	run_end(run);
	etw_provider_spec_done(&spec);
}

/* EVENT_ENABLE_PROPERTY_* of evntcons.h, Windows SDK. */
static void properties_reach_windows(void **state)
{
	(void)state;
	/* 0x400: events of containers come from all providers. */
	assert_int_equal(property_of(0), 0x400);
	assert_int_equal(property_of(ETW_PROVIDER_SID), 0x401);
	assert_int_equal(property_of(ETW_PROVIDER_SESSION_ID), 0x402);
	assert_int_equal(property_of(ETW_PROVIDER_STACK), 0x404);
	assert_int_equal(property_of(ETW_PROVIDER_NO_KEYWORD_0), 0x410);
	assert_int_equal(property_of(ETW_PROVIDER_PROCESS_START_KEY), 0x480);
	assert_int_equal(property_of(ETW_PROVIDER_CONTAINER_ID), 0xc00);
}

/* ENABLE_SILOS and SOURCE_CONTAINER_TRACKING are newer than the oldest Windows that we run on. */
static void a_windows_without_containers_has_the_other_properties(void **state)
{
	static const struct fake_etw_options old = { .os_build = 17134 };

	(void)state;
	fake_etw_reset(&old);
	assert_int_equal(property_of(0), 0);
	assert_int_equal(property_of(ETW_PROVIDER_SID | ETW_PROVIDER_CONTAINER_ID), 0x1);
}

/* Ids that are left out, and executables: what the long form of a provider says besides. */
static void filters_that_leave_out_reach_windows(void **state)
{
	static const struct {
		uint16_t id;
		uint32_t process_id;
		unsigned sessions;
	} cases[] = {
		{ 1, 50, 1 }, /* a.exe */
		{ 2, 50, 0 }, /* an id that is left out */
		{ 1, 60, 0 }, /* another program */
		{ 3, 70, 1 }, /* b.exe */
	};
	static char executables[] = "a.exe;b.exe";
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct etw_provider_spec spec;
	struct run *run = *state;

	fake_etw_add_process(50, 4, "a.exe");
	fake_etw_add_process(60, 4, "other.exe");
	fake_etw_add_process(70, 4, "b.exe");
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER "::2", NULL));
	spec.ids_out = true;
	spec.executables = executables;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		event.descriptor.Id = cases[i].id;
		event.process_id = cases[i].process_id;
		assert_int_equal(fake_etw_emit(&event), cases[i].sessions);
	}
	run_stop(run);
	assert_int_equal(run->events, 2);
	run_end(run);
	spec.executables = NULL;
	etw_provider_spec_done(&spec);
}

static void see_stack(void *context, const struct etw_record *record)
{
	struct etw_extended_item item;
	unsigned *stacks = context;

	stacks[record->id] += etw_record_find_extended(record, ETW_EXTENDED_STACK64, &item);
}

/* A stack costs more than its event: only some events need one. */
static void stacks_come_with_the_events_that_are_listed(void **state)
{
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	unsigned stacks[3] = { 0 };
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	spec.properties = ETW_PROVIDER_STACK;
	spec.stack_ids[spec.stack_id_count++] = 1;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run->on_record = see_stack;
	run->context = stacks;
	run_start_and_wait(run, &run->options);
	for (USHORT id = 1; id <= 2; id++) {
		event.descriptor.Id = id;
		assert_int_equal(fake_etw_emit(&event), 1);
	}
	run_stop(run);
	assert_int_equal(run->events, 2);
	assert_int_equal(stacks[1], 1);
	assert_int_equal(stacks[2], 0);
	run_end(run);
	etw_provider_spec_done(&spec);
}

/* Windows takes 511 characters of names; without the filter every program would be counted. */
static void executables_that_windows_would_refuse_are_refused(void **state)
{
	char executables[1025];
	struct etw_provider_spec spec;
	struct run *run = *state;
	struct etw_error err;

	memset(executables, 'x', sizeof executables - 1);
	executables[sizeof executables - 1] = '\0';
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER, NULL));
	spec.executables = executables;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	assert_null(etw_source_open_live(&run->options, &err));
	assert_string_equal(err.text,
			    "session etw_test: provider " SOME_PROVIDER
			    ": the names of its executables have more than 511 characters");
	executables[512] = '\0';
	assert_null(etw_source_open_live(&run->options, &err));
	executables[511] = '\0';
	run_start_and_wait(run, &run->options);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	run_stop(run);
	run_end(run);
	spec.executables = NULL;
	etw_provider_spec_done(&spec);
}

#define SOME_KEY                                                              \
	"SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion\\Winevt\\" \
	"Publishers\\" SOME_PROVIDER

/* Copies the value that an EventSource reads when it finds the session enabled, and returns its
 * size; 0: there is none. The number of a session is in its handle. */
static size_t written_arguments(uint8_t bytes[1024])
{
	struct fake_etw_session session;
	char name[64];

	if (!fake_etw_session("etw_test", &session)) {
		return 0;
	}
	snprintf(name, sizeof name, "ControllerData_Session_%u",
		 (unsigned)(session.handle & 0xffff));
	return fake_etw_registry_bytes(SOME_KEY, name, bytes, 1024);
}

/* The type is 0, "update": an EventSource takes the type as a command (dotnet/runtime,
 * EventProvider.cs, GetFilterData; microsoft/perfview, TraceEventSession.cs, EnableProvider). */
static void arguments_reach_the_provider(void **state)
{
	static const char expected[] = "EventCounterIntervalSec\0"
				       "10";
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_callback callback;
	struct etw_provider_spec spec;
	struct run *run = *state;
	uint8_t bytes[1024];

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5:1", NULL));
	assert_true(etw_provider_spec_argument(&spec, "EventCounterIntervalSec", "10", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_wait_idle(WAIT_MS));
	assert_int_equal(fake_etw_provider_callbacks(provider, &callback, 1), 1);
	assert_int_equal(callback.filter_type, 0);
	assert_int_equal(callback.filter_size, sizeof expected);
	assert_memory_equal(callback.filter, expected, sizeof expected);
	/* A program that starts later finds them in the registry. */
	assert_int_equal(written_arguments(bytes), sizeof expected);
	assert_memory_equal(bytes, expected, sizeof expected);
	run_stop(run);
	assert_int_equal(fake_etw_registry_values(), 0);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

static void change_providers(struct run *run)
{
	struct etw_live_change *change = etw_live_change_new(run->source, &run->options, NULL);

	assert_non_null(change);
	etw_live_change_apply(change);
	etw_live_change_free(change);
	assert_true(fake_etw_wait_idle(WAIT_MS));
}

/* A process reads the arguments of a session only once (dotnet/runtime, EventProvider.cs,
 * GetSessions), so the provider is disabled in between. */
static void changed_arguments_reach_the_provider_as_those_of_a_new_session(void **state)
{
	static const uint32_t enabled[] = { 1, 0, 1, 0, 1 }, sizes[] = { 4, 0, 5, 0, 0 };
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct fake_etw_callback callbacks[8];
	struct etw_provider_spec spec;
	struct run *run = *state;
	uint8_t bytes[1024];

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	assert_true(etw_provider_spec_argument(&spec, "a", "1", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	change_providers(run); /* nothing changed */
	etw_provider_spec_done(&spec);
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	assert_true(etw_provider_spec_argument(&spec, "a", "22", NULL));
	change_providers(run);
	assert_int_equal(written_arguments(bytes), 5);
	assert_memory_equal(bytes,
			    "a\0"
			    "22",
			    5);
	etw_provider_spec_done(&spec);
	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	change_providers(run);
	assert_int_equal(fake_etw_registry_values(), 0);
	assert_int_equal(fake_etw_provider_callbacks(provider, callbacks, 8), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(callbacks[i].is_enabled, enabled[i]);
		assert_int_equal(callbacks[i].filter_size, sizes[i]);
	}
	run_stop(run);
	run_end(run);
	fake_etw_provider_close(provider);
	etw_provider_spec_done(&spec);
}

/* Windows reuses handles: until the end of our session is noticed, its handle may lead to a session
 * of another program. */
static void a_change_leaves_a_session_of_another_program_alone(void **state)
{
	static const struct fake_etw_options machine = { .reused_handles = true,
							 .manual_flush = true };
	struct etw_provider_spec specs[2];
	struct fake_etw_session before, now;
	struct run *run = *state;

	fake_etw_reset(&machine);
	fake_etw_otherwise("C9a"); /* ProcessTrace() does not notice the end */
	assert_true(etw_provider_spec_parse(&specs[0], SOME_PROVIDER, NULL));
	assert_true(etw_provider_spec_parse(&specs[1], OTHER_PROVIDER, NULL));
	run->options.watch_ms = 10 * WAIT_MS; /* nor does the watcher */
	run->options.providers = specs;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_session("etw_test", &before));
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(fake_etw_other_start(
		"other", EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE,
		ETW_KERNEL_FLAG_THREAD));
	assert_true(fake_etw_other_enable("other", &some_provider, 0, 0));
	assert_true(fake_etw_session("other", &now));
	assert_int_equal(now.handle, before.handle);
	run->options.providers = &specs[1]; /* one goes, one comes, and so do kernel events */
	run->options.kernel_flags = ETW_KERNEL_FLAG_PROCESS;
	change_providers(run);
	assert_true(fake_etw_session("other", &now));
	assert_int_equal(now.flags, ETW_KERNEL_FLAG_THREAD);
	assert_int_equal(now.providers, 1);
	assert_int_equal(fake_etw_emit(&(struct fake_etw_event){ .provider = some_provider }), 1);
	assert_string_equal(run_sentence(run, ETW_SESSION_PROVIDER_FAILED), "");
	run_stop(run);
	assert_true(fake_etw_other_stop("other"));
	run_end(run);
	etw_provider_spec_done(&specs[0]);
	etw_provider_spec_done(&specs[1]);
}

static void arguments_of_a_provider_that_is_left_out_are_deleted(void **state)
{
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	assert_true(etw_provider_spec_argument(&spec, "a", "1", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_int_equal(fake_etw_registry_values(), 1);
	run->options.provider_count = 0;
	change_providers(run);
	assert_int_equal(fake_etw_registry_values(), 0);
	run_stop(run);
	run_end(run);
	etw_provider_spec_done(&spec);
}

/* Windows gives the next session another number. */
static void a_session_that_is_started_again_has_its_arguments_under_its_new_number(void **state)
{
	struct etw_provider_spec spec;
	struct run *run = *state;
	uint8_t bytes[1024];

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	assert_true(etw_provider_spec_argument(&spec, "a", "1", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	assert_true(fake_etw_other_stop("etw_test"));
	assert_true(run_wait_session_event(run, ETW_SESSION_LOST));
	WAIT_UNTIL(fake_etw_registry_values() == 1 && written_arguments(bytes) == 4);
	run_stop(run);
	assert_int_equal(fake_etw_registry_values(), 0);
	run_end(run);
	etw_provider_spec_done(&spec);
}

static void arguments_that_cannot_be_written_are_reported(void **state)
{
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, SOME_PROVIDER ":5", NULL));
	assert_true(etw_provider_spec_argument(&spec, "a", "1", NULL));
	run->options.providers = &spec;
	run->options.provider_count = 1;
	fake_etw_fail("RegCreateKeyExW", ERROR_ACCESS_DENIED, 0);
	run_start_and_wait(run, &run->options);
	assert_string_equal(
		run_sentence(run, ETW_SESSION_PROVIDER_FAILED),
		"provider " SOME_PROVIDER
		": programs that start from now on do not get its arguments, because "
		"these could not be written to the registry: access is denied (error 5)");
	run_stop(run);
	run_end(run);
	etw_provider_spec_done(&spec);
}

static void filters_reach_windows(void **state)
{
	static const uint16_t ids[] = { 1, 2, 3 };
	struct fake_etw_event event = { .provider = some_provider, .descriptor = { .Level = 4 } };
	struct etw_provider_spec spec;
	struct run *run = *state;

	assert_true(etw_provider_spec_parse(&spec, "{11111111-2222-3333-4444-555555555555}::2,3",
					    NULL));
	spec.process_ids[0] = 50;
	spec.process_id_count = 1;
	run->options.providers = &spec;
	run->options.provider_count = 1;
	run_start_and_wait(run, &run->options);
	for (size_t i = 0; i < 3; i++) {
		event.descriptor.Id = ids[i];
		event.process_id = 50;
		fake_etw_emit(&event);
	}
	run_stop(run);
	assert_int_equal(run->events, 2);
	run_end(run);
	etw_provider_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(providers_are_requested_to_capture_their_state, run_set_up),
		cmocka_unit_test_setup(a_capture_leaves_all_keywords_enabled, run_set_up),
		cmocka_unit_test_setup(state_is_captured_again_and_again, run_set_up),
		cmocka_unit_test_setup(a_provider_is_found_by_name, run_set_up),
		cmocka_unit_test_setup(a_provider_that_is_listed_by_name_and_by_guid_is_reported,
				       run_set_up),
		cmocka_unit_test_setup(a_provider_that_is_not_registered_delivers_when_it_appears,
				       run_set_up),
		cmocka_unit_test_setup(a_provider_that_does_not_answer_in_time_is_enabled,
				       run_set_up),
		cmocka_unit_test_setup(a_provider_that_another_program_disables_is_enabled_again,
				       run_set_up),
		cmocka_unit_test_setup(a_provider_that_is_never_reported_as_enabled_is_given_up,
				       run_set_up),
		cmocka_unit_test_setup(
			a_provider_with_filters_is_disabled_when_it_is_no_longer_needed,
			run_set_up),
		cmocka_unit_test_setup(a_provider_that_cannot_be_disabled_is_reported, run_set_up),
		cmocka_unit_test_setup(a_provider_that_cannot_be_enabled_is_reported, run_set_up),
		cmocka_unit_test_setup(a_provider_without_a_place_is_said_to_have_none, run_set_up),
		cmocka_unit_test_setup(a_provider_without_a_place_is_enabled_when_there_is_one,
				       run_set_up),
		cmocka_unit_test_setup(
			a_provider_for_some_programs_is_enabled_when_there_is_a_place, run_set_up),
		cmocka_unit_test_setup(properties_reach_windows, run_reset),
		cmocka_unit_test_setup(a_windows_without_containers_has_the_other_properties,
				       run_reset),
		cmocka_unit_test_setup(filters_that_leave_out_reach_windows, run_set_up),
		cmocka_unit_test_setup(executables_that_windows_would_refuse_are_refused,
				       run_set_up),
		cmocka_unit_test_setup(stacks_come_with_the_events_that_are_listed, run_set_up),
		cmocka_unit_test_setup(arguments_reach_the_provider, run_set_up),
		cmocka_unit_test_setup(
			changed_arguments_reach_the_provider_as_those_of_a_new_session, run_set_up),
		cmocka_unit_test_setup(a_change_leaves_a_session_of_another_program_alone,
				       run_set_up),
		cmocka_unit_test_setup(arguments_of_a_provider_that_is_left_out_are_deleted,
				       run_set_up),
		cmocka_unit_test_setup(
			a_session_that_is_started_again_has_its_arguments_under_its_new_number,
			run_set_up),
		cmocka_unit_test_setup(arguments_that_cannot_be_written_are_reported, run_set_up),
		cmocka_unit_test_setup(filters_reach_windows, run_set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Providers filtered by their payload: what the configuration says reaches Windows, and what
 * Windows refuses is reported once and left out.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/session.h>

#include "tests/lib/live/support/run.h"
#include "tests/lib/live/support/side.h"
#include "tests/support/event_info_blob.h"

enum { U32 = 8, WSTRING = 1 };

/* Windows has a manifest of some_provider: event 7 in two versions, the older without a status. */
static void describe_events(void)
{
	static const struct blob_property all[] = { { "Name", 0, WSTRING, 0, 1, 0 },
						    { "Status", 0, U32, 0, 1, 4 } };
	struct event_info_blob blob = { .id = 7, .properties = all };
	struct etw_guid provider;

	memcpy(&provider, &some_provider, sizeof provider);
	blob.provider = &provider;
	for (uint8_t version = 0; version < 2; version++) {
		const EVENT_DESCRIPTOR descriptor = { .Id = 7, .Version = version };
		struct etw_payload payload;

		blob.version = version;
		blob.property_count = version + 1U;
		blob.top_level_count = version + 1U;
		etw_payload_init(&payload, 8);
		payload_event_info(&payload, &blob);
		fake_etw_tdh_event(&some_provider, &descriptor, false, payload.bytes, payload.size);
		etw_payload_done(&payload);
	}
}

static bool passes(uint16_t id, uint8_t version, const char *name, uint32_t status)
{
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = {
						.Id = id, .Version = version, .Level = 4 } };
	struct etw_payload payload;
	bool passed;

	etw_payload_init(&payload, 8);
	etw_payload_wstring(&payload, name);
	etw_payload_u32(&payload, status);
	event.payload = payload.bytes;
	event.payload_size = payload.size;
	passed = fake_etw_emit(&event) == 1;
	etw_payload_done(&payload);
	return passed;
}

/* Starts a session whose provider is configured so. */
static struct config *start(struct run *run, const char *payload)
{
	struct etw_text text = { 0 };
	struct etw_live_options options = run_private_session(run);
	struct config *config;

	text_add_format(&text,
			"sessions: { etw_test: { providers: [{ provider: '" SOME_PROVIDER
			"', payload: %s }] } }\n",
			payload);
	assert_false(text.failed);
	config = config_of(text.data);
	text_free(&text);
	run_begin(run);
	options.providers = config->sessions[0].providers;
	options.provider_count = 1;
	run_start_and_wait(run, &options);
	return config;
}

static void finish(struct run *run, struct config *config)
{
	run_stop(run);
	run_end(run);
	config_free(config);
}

static size_t warnings(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->session_event_count; i++) {
		count += run->session_events[i] == ETW_SESSION_PROVIDER_FAILED;
	}
	return count;
}

static void conditions_choose_events_before_they_cost_a_buffer(void **state)
{
	struct run run;
	struct config *config;

	(void)state;
	describe_events();
	config = start(&run, "[{ event: 7, all: [{ field: Name, contains: sql }] }]");
	assert_true(passes(7, 1, "MySQL", 0));
	assert_true(passes(7, 0, "sqlservr", 0));
	assert_false(passes(7, 1, "notepad", 0));
	assert_true(passes(8, 0, "notepad", 0)); /* another event */
	assert_int_equal(warnings(&run), 0);
	run_stop(&run);
	assert_int_equal(run.events, 3);
	run_end(&run);
	config_free(config);
}

static void every_operator_reaches_windows(void **state)
{
	static const struct {
		const char *condition;
		uint32_t good, bad; /* status */
	} numbers[] = {
		{ "eq: 5", 5, 6 },           { "ne: 5", 6, 5 },
		{ "lt: 5", 4, 5 },           { "le: 5", 5, 6 },
		{ "gt: 5", 6, 5 },           { "ge: 0x5", 5, 4 },
		{ "between: [5, 7]", 7, 8 }, { "not_between: [5, 7]", 8, 7 },
		{ "modulo: 5", 15, 16 },
	};
	static const struct {
		const char *condition, *good, *bad;
	} texts[] = {
		{ "contains: b", "abc", "acc" },
		{ "not_contains: b", "acc", "abc" },
		{ "is: abc", "ABC", "abcd" },
		{ "is_not: abc", "abcd", "abc" },
	};
	struct run run;
	struct config *config;
	char payload[128];

	(void)state;
	describe_events();
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		snprintf(payload, sizeof payload, "[{ event: 7, any: [{ field: status, %s }] }]",
			 numbers[i].condition);
		config = start(&run, payload);
		print_message("  %s\n", numbers[i].condition);
		assert_true(passes(7, 1, "a", numbers[i].good));
		assert_false(passes(7, 1, "a", numbers[i].bad));
		finish(&run, config);
	}
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		snprintf(payload, sizeof payload, "[{ event: 7, any: [{ field: Name, %s }] }]",
			 texts[i].condition);
		config = start(&run, payload);
		print_message("  %s\n", texts[i].condition);
		assert_true(passes(7, 1, texts[i].good, 0));
		assert_false(passes(7, 1, texts[i].bad, 0));
		finish(&run, config);
	}
}

static void all_conditions_must_hold_or_any(void **state)
{
	struct run run;
	struct config *config;

	(void)state;
	describe_events();
	config = start(&run,
		       "[{ event: 7, all: [{ field: Name, is: a }, { field: Status, ne: 0 }] }]");
	assert_true(passes(7, 1, "a", 1));
	assert_false(passes(7, 1, "a", 0));
	assert_false(passes(7, 1, "b", 1));
	finish(&run, config);
	config = start(&run,
		       "[{ event: 7, any: [{ field: Name, is: a }, { field: Status, ne: 0 }] }]");
	assert_true(passes(7, 1, "a", 0));
	assert_true(passes(7, 1, "b", 1));
	assert_false(passes(7, 1, "b", 0));
	finish(&run, config);
}

/* Version 0 has no Status. */
static void a_version_that_cannot_be_filtered_is_reported_once_and_comes_whole(void **state)
{
	struct run run;
	struct config *config;

	(void)state;
	describe_events();
	config = start(&run, "[{ event: 7, all: [{ field: Status, ne: 0 }] }]");
	assert_false(passes(7, 1, "a", 0));
	assert_true(passes(7, 0, "a", 0));
	assert_int_equal(warnings(&run), 1);
	assert_string_equal(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER
			    ": some of its events are not filtered by their payload: a parameter "
			    "is not valid (error 87)");
	finish(&run, config);
}

static void what_windows_refuses_is_reported_once_and_left_out(void **state)
{
	static const struct {
		const char *name, *call; /* that fails; NULL: none */
		uint32_t error;
		const char *field, *sentence;
		bool described;
	} cases[] = {
		{ "no manifest", NULL, 0, "Name",
		  ": its events are not filtered by their payload: Windows has no manifest of "
		  "it: it was not found (error 1168)",
		  false },
		{ "no such field", NULL, 0, "Nothing",
		  ": its events are not filtered by their payload: a parameter is not valid (error "
		  "87)",
		  true },
		{ "no room", "TdhAggregatePayloadFilters", ERROR_NOT_ENOUGH_MEMORY, "Name",
		  ": its events are not filtered by their payload: no memory (error 8)", true },
		{ "not taken", "EnableTraceEx2", ERROR_NOT_ENOUGH_MEMORY, "Name",
		  ": its events are not filtered by their payload: no memory (error 8)", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct config *config;
		struct etw_text sentence = { 0 };
		struct run run;
		char payload[128];

		print_message("  %s\n", cases[i].name);
		fake_etw_reset(NULL);
		if (cases[i].described) {
			describe_events();
		}
		if (cases[i].call) {
			fake_etw_fail(cases[i].call, cases[i].error, 0);
		}
		snprintf(payload, sizeof payload, "[{ event: 7, all: [{ field: %s, is: x }] }]",
			 cases[i].field);
		config = start(&run, payload);
		assert_true(passes(7, 1, "a", 0));
		/* Started again, and not reported again. */
		assert_true(fake_etw_other_stop("etw_test"));
		assert_true(run_wait(&run, &run.restarts, 1));
		assert_true(fake_etw_wait_consumer("etw_test", WAIT_MS));
		assert_true(passes(7, 1, "a", 0));
		run_stop(&run);
		assert_int_equal(warnings(&run), 1);
		text_add_format(&sentence, "provider " SOME_PROVIDER "%s", cases[i].sentence);
		assert_string_equal(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED), sentence.data);
		text_free(&sentence);
		run_end(&run);
		config_free(config);
	}
}

/* The provider is enabled without the filter, although it does not answer in time. */
static void a_refused_filter_is_reported_when_the_provider_answers_late(void **state)
{
	struct fake_etw_provider *provider = fake_etw_provider_open(&some_provider, NULL, NULL);
	struct config *config;
	struct run run;

	(void)state;
	describe_events();
	fake_etw_provider_block(provider, true);
	fake_etw_fail("EnableTraceEx2", ERROR_NOT_ENOUGH_MEMORY, 0);
	config = start(&run, "[{ event: 7, all: [{ field: Name, is: x }] }], "
			     "capture_state: { at_start: 0x1 }");
	assert_true(passes(7, 1, "a", 0));
	assert_string_equal(run_sentence(&run, ETW_SESSION_PROVIDER_FAILED),
			    "provider " SOME_PROVIDER
			    ": its events are not filtered by their payload: no memory (error "
			    "8)");
	fake_etw_provider_block(provider, false);
	finish(&run, config);
	fake_etw_provider_close(provider);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(conditions_choose_events_before_they_cost_a_buffer,
				       run_reset),
		cmocka_unit_test_setup(every_operator_reaches_windows, run_reset),
		cmocka_unit_test_setup(all_conditions_must_hold_or_any, run_reset),
		cmocka_unit_test_setup(
			a_version_that_cannot_be_filtered_is_reported_once_and_comes_whole,
			run_reset),
		cmocka_unit_test_setup(what_windows_refuses_is_reported_once_and_left_out,
				       run_reset),
		cmocka_unit_test_setup(a_refused_filter_is_reported_when_the_provider_answers_late,
				       run_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

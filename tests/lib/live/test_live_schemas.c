/* SPDX-License-Identifier: MIT */
/*
 * Schemas in a live session, through the whole program against tests/fake_etw: providers that
 * describe themselves while they run, and processes that describe events of other providers.
 */
#include "lib/decode/event_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/guid.h"
#include "base/log.h"
#include "base/text.h"
#include "lib/decode/inband_manifests.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/inband_manifest.h"
#include "tests/support/one_collector.h"
#include "tests/support/program.h"

enum { HONEST = 40, HONEST_COUNT = 8, HOSTILE = 66 };

#define PROVIDER "11111111-2222-3333-4444-555555555555"

static const struct etw_guid some_guid =
	ETW_GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55);

static const char session[] = "sessions: { s: { logger: user, providers: ['{" PROVIDER "}'] } }\n";

/* What the test asks of event 5: its size, by process id, and its second field. */
static const char collector[] =
	"collector: x\nhelp: h\ndefault: on\nmetrics:\n"
	"- { name: size_total, type: counter, help: h, labels: { provider: Provider }, "
	"events: [{ event: '{" PROVIDER
	"}/5', value: Size, where: [{ field: ProcessId, ne: 66 }] }] }\n"
	"- { name: hostile_size_total, type: counter, help: h, labels: { provider: Provider }, "
	"events: [{ event: '{" PROVIDER
	"}/5', value: Size, where: [{ field: ProcessId, eq: 66 }] }] }\n";

#define SIZED(type, before)                                                          \
	"<events><event value='5' symbol='Sized' template='t'/></events><templates>" \
	"<template tid='t'>" before "<data name='Size' inType='" type "'/></template></templates>"

static const char honest_layout[] = SIZED("win:UInt32", "");
static const char hostile_layout[] = SIZED("win:UInt8", "<data name='X' inType='win:UInt8'/>");
static const char layout_without_size[] =
	"<events><event value='5' symbol='Sized' template='t'/></events><templates>"
	"<template tid='t'><data name='Other' inType='win:UInt32'/></template></templates>";

struct fixture {
	struct program program;
	struct etw_text page;
	unsigned mismatches_reported; /* lines of the log; written by the consumer, read when it is
					 idle */
	char line[600];
};

static void on_line(void *context, enum log_level level, const char *line, size_t size)
{
	struct fixture *fixture = context;

	if (level == LOG_WARNING && strstr(line, "Rule does not apply")) {
		fixture->mismatches_reported++;
		snprintf(fixture->line, sizeof fixture->line, "%.*s", (int)size, line);
	}
}

/* The time of the events, by the performance counter; 0: each happens when it is emitted. */
static int64_t event_time;

static int set_up(void **state)
{
	static const struct fake_etw_options machine = { .manual_flush = true };
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct setup *setup = &fixture->program.setup;
	struct etw_error err = { 0 };

	assert_non_null(fixture);
	event_time = 0;
	fake_etw_reset(&machine);
	log_to(on_line, fixture);
	setup->config = config_of(session);
	setup->registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	assert_non_null(setup->registry);
	setup->rules = one_collector(collector, setup->config, setup->registry, &err);
	assert_string_equal(err.text, "");
	program_run(&fixture->program, (struct runner_options){ .watch_ms = 20, .retry_ms = 10 });
	assert_true(runner_start(fixture->program.runner, &err));
	assert_true(fake_etw_wait_consumer("s", WAIT_MS));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	runner_stop(fixture->program.runner);
	runner_join(fixture->program.runner);
	program_close(&fixture->program);
	text_free(&fixture->page);
	free(fixture);
	log_to(NULL, NULL);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	return 0;
}

/* ---- providers ---- */

static void emit(uint32_t process_id, uint16_t id, uint8_t version, const void *payload,
		 size_t size)
{
	const struct fake_etw_event event = {
		.provider = { 0x11111111,
			      0x2222,
			      0x3333,
			      { 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 } },
		.descriptor = { .Id = id, .Version = version, .Level = 4 },
		.timed = event_time != 0,
		.raw_time = event_time,
		.process_id = process_id,
		.payload = payload,
		.payload_size = size
	};

	assert_int_equal(fake_etw_emit(&event), 1);
}

/* Event 5 with a Size of 0x01000002, which the layout of the hostile process reads as 0. */
static void emit_size(uint32_t process_id)
{
	static const uint8_t payload[] = { 2, 0, 0, 1 };

	emit(process_id, 5, 0, payload, sizeof payload);
}

enum { SENT_SIZE = 0x01000002 };

static void emit_record(void *context, const struct etw_record *record)
{
	(void)context;
	emit(record->process_id, record->id, record->version, record->payload,
	     record->payload_size);
}

static void announce(uint32_t process_id, const char *name, const char *inside)
{
	const struct inband_manifest manifest = {
		.provider = &some_guid, .process_id = process_id, .name = name, .inside = inside
	};

	announce_chunks(&manifest, emit_record, NULL);
}

/* ---- what was counted ---- */

/* UINT64_MAX: there is no such sample. */
static uint64_t value_of(struct fixture *fixture, const char *sample)
{
	assert_true(fake_etw_drain("s", WAIT_MS));
	text_free(&fixture->page);
	fixture->page = program_page(&fixture->program);
	return page_value(&fixture->page, sample);
}

static uint64_t errors_of(struct fixture *fixture, const char *provider, const char *reason)
{
	char sample[200];

	snprintf(sample, sizeof sample, "etw_decode_errors_total{provider=\"%s\",reason=\"%s\"}",
		 provider, reason);
	return value_of(fixture, sample);
}

/* ---- tests ---- */

static void events_count_in_full_from_when_their_manifest_arrives(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 3; i++) {
		emit_size(HONEST);
	}
	assert_int_equal(
		value_of(fixture,
			 "etw_consumer_records_total{session=\"s\",outcome=\"no_schema\"}"),
		3);
	assert_int_equal(errors_of(fixture, PROVIDER, "no_schema"), 3);
	announce(HONEST, "My-Provider", honest_layout);
	emit_size(HONEST);
	emit_size(HONEST);
	assert_int_equal(value_of(fixture, "size_total{provider=\"My-Provider\"}"), 2 * SENT_SIZE);
	assert_int_equal(value_of(fixture,
				  "etw_consumer_records_total{session=\"s\",outcome=\"counted\"}"),
			 2);
	assert_int_equal(errors_of(fixture, PROVIDER, "no_schema"), 3);
	assert_int_equal(value_of(fixture, "etw_state_entries{table=\"manifest\"}"), 1);
	assert_int_equal(fixture->mismatches_reported, 0);
}

static void a_hostile_manifest_changes_nothing_for_others(void **state)
{
	struct fixture *fixture = *state;

	announce(HOSTILE, "Mine", hostile_layout);
	emit_size(HONEST);
	emit_size(HOSTILE);
	assert_int_equal(value_of(fixture, "size_total{provider=\"Mine\"}"), UINT64_MAX);
	announce(HONEST, "My-Provider", honest_layout);
	emit_size(HONEST);
	announce(HOSTILE, "Mine", hostile_layout);
	announce(HOSTILE, "Mine", layout_without_size);
	emit_size(HONEST);
	emit_size(HOSTILE);
	assert_int_equal(value_of(fixture, "size_total{provider=\"Mine\"}"), 2 * SENT_SIZE);
	assert_int_equal(value_of(fixture, "hostile_size_total{provider=\"Mine\"}"), 0);
}

/* Windows knows event 5 of the provider, and has a name for it. */
static void install(const char *name)
{
	static const struct blob_property size = { "Size", 0, 8, 0, 1, 4 };
	const struct event_info_blob blob = { .provider = &some_guid,
					      .id = 5,
					      .provider_name = name,
					      .task = "Sized",
					      .properties = &size,
					      .property_count = 1,
					      .top_level_count = 1 };
	EVENT_DESCRIPTOR descriptor = { .Id = 5 };
	struct etw_payload payload;
	GUID guid;

	memcpy(&guid, &some_guid, sizeof guid);
	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	fake_etw_tdh_event(&guid, &descriptor, false, payload.bytes, payload.size);
	fake_etw_tdh_provider(&guid, name, true);
	etw_payload_done(&payload);
}

static void no_process_overrides_what_windows_knows(void **state)
{
	struct fixture *fixture = *state;

	install("Registered");
	announce(HOSTILE, "Mine", hostile_layout);
	emit_size(HOSTILE);
	emit_size(HONEST);
	assert_int_equal(value_of(fixture, "size_total{provider=\"Registered\"}"), SENT_SIZE);
	assert_int_equal(value_of(fixture, "hostile_size_total{provider=\"Registered\"}"),
			 SENT_SIZE);
	assert_null(strstr(fixture->page.data, "Mine"));
}

static void a_process_that_makes_up_events_blanks_none_of_others(void **state)
{
	struct fixture *fixture = *state;
	LARGE_INTEGER now;

	install("Registered");
	/* Failed queries are counted by second. All happens in one, however long the test takes. */
	QueryPerformanceCounter(&now);
	event_time = now.QuadPart;
	for (uint16_t id = 0; id < 2 * TDH_VAIN_MOST; id++) {
		emit(HOSTILE, (uint16_t)(1000 + id), 0, "", 0);
	}
	emit_size(HOSTILE); /* Windows is not asked about it */
	assert_int_equal(value_of(fixture, "hostile_size_total{provider=\"Registered\"}"),
			 UINT64_MAX);
	/*
	 * A process shares its counter with one of 256. Three processes do so with the hostile one
	 * once in 16 million runs; the first that does not makes the event known to all.
	 */
	for (uint32_t process = HONEST; process < HONEST + HONEST_COUNT; process++) {
		emit_size(process);
	}
	assert_in_range(value_of(fixture, "size_total{provider=\"Registered\"}"),
			(HONEST_COUNT - 2) * SENT_SIZE, HONEST_COUNT * SENT_SIZE);
	emit_size(HOSTILE);
	assert_int_equal(value_of(fixture, "hostile_size_total{provider=\"Registered\"}"),
			 SENT_SIZE);
}

/* How many events were counted for a provider. */
static uint64_t events_of(struct fixture *fixture, const char *provider)
{
	char sample[200];

	snprintf(sample, sizeof sample, "etw_consumer_events_total{session=\"s\",provider=\"%s\"}",
		 provider);
	return value_of(fixture, sample);
}

static void a_provider_that_is_installed_later_has_its_name_from_its_first_event(void **state)
{
	struct fixture *fixture = *state;

	emit(HONEST, 4, 0, "", 0);
	assert_int_equal(events_of(fixture, PROVIDER), 1);
	install("Registered");
	emit_size(HONEST);
	emit(HONEST, 4, 0, "", 0); /* known by its GUID so far */
	assert_int_equal(events_of(fixture, "Registered"), 2);
	assert_int_equal(events_of(fixture, PROVIDER), 1);
}

static void a_name_that_is_announced_late_is_that_of_all_later_events(void **state)
{
	struct fixture *fixture = *state;
	uint64_t nameless, named;

	emit(HONEST, 4, 0, "", 0);
	announce(HONEST, "My-Provider", honest_layout);
	nameless = events_of(fixture, PROVIDER); /* the first chunks among them */
	named = events_of(fixture, "My-Provider");
	for (uint32_t process = HONEST; process < HONEST + 3; process++) {
		emit(process, 4, 0, "", 0);
	}
	announce(HOSTILE, "Mine", hostile_layout);
	emit(HOSTILE, 4, 0, "", 0);
	assert_int_equal(events_of(fixture, PROVIDER), nameless);
	assert_true(events_of(fixture, "My-Provider") > named + 3);
	assert_int_equal(events_of(fixture, "Mine"), UINT64_MAX);
}

static void a_rule_that_lacks_its_field_is_reported_once(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t process = 0; process < 5; process++) {
		char name[20];

		snprintf(name, sizeof name, "Provider-%u", (unsigned)process);
		announce(HONEST + process, name, layout_without_size);
		emit_size(HONEST + process);
	}
	emit(HONEST, 5, 1, "", 0); /* another event class that lacks it */
	assert_int_equal(errors_of(fixture, "Provider-0", "rule"), 5 + 1); /* event classes */
	assert_int_equal(fixture->mismatches_reported, 2);                 /* rules */
	assert_non_null(strstr(fixture->line, "x.yaml:6:"));
	assert_non_null(strstr(fixture->line, "hostile_size_total: event Sized of Provider-0 "
					      "has no field 'Size'"));
}

static void a_process_that_announces_too_much_is_bounded_and_counted(void **state)
{
	struct fixture *fixture = *state;

	announce(HONEST, "My-Provider", honest_layout);
	for (unsigned i = 0; i < 100; i++) {
		char inside[100];

		snprintf(inside, sizeof inside, "<events><event value='5' symbol='s%u'/></events>",
			 i);
		announce(HOSTILE, "Mine", inside);
	}
	emit_size(HONEST);
	assert_int_equal(value_of(fixture, "size_total{provider=\"My-Provider\"}"), SENT_SIZE);
	assert_int_equal(value_of(fixture, "etw_state_entries{table=\"manifest\"}"),
			 1 + INBAND_MOST_OF_PROCESS);
	assert_int_equal(value_of(fixture, "etw_state_evictions_total{table=\"manifest\"}"),
			 100 - INBAND_MOST_OF_PROCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_count_in_full_from_when_their_manifest_arrives),
		TEST(a_hostile_manifest_changes_nothing_for_others),
		TEST(no_process_overrides_what_windows_knows),
		TEST(a_process_that_makes_up_events_blanks_none_of_others),
		TEST(a_provider_that_is_installed_later_has_its_name_from_its_first_event),
		TEST(a_name_that_is_announced_late_is_that_of_all_later_events),
		TEST(a_rule_that_lacks_its_field_is_reported_once),
		TEST(a_process_that_announces_too_much_is_bounded_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

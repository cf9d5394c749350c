/* SPDX-License-Identifier: MIT */
/*
 * Schemas that Windows knows, against tests/fake_etw: what TDH answers decodes like the same
 * description in a recording, and is asked for no more often than needed.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/event_info.h"
#include "lib/decode/event_schema.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/decoded_text.h"
#include "tests/support/event_info_blob.h"

enum { U8 = 4, U16 = 6, U32 = 8, WSTRING = 1, SECOND = 10000000 };

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid beta = { { 0xbe } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;

static const struct blob_map_entry state_names[] = { { 1, "Up" }, { 2, "Down" } };
static const struct event_map_blob states = {
	.provider = &alpha, .name = "States", .entries = state_names, .entry_count = 2
};
static const struct blob_property properties[] = {
	{ "State", 0, U8, 0, 1, 1 },
	{ "Count", 0, U16, 0, 1, 2 },
	{ "Item", BLOB_STRUCT | BLOB_COUNT_BY, 4, 2, 1, 0 },
	{ "Name", 0, WSTRING, 0, 1, 0 },
	{ "Id", 0, U32, 0, 1, 4 },
	{ "Size", 0, U8, 0, 1, 1 },
};
static const char *const maps[] = { "States", NULL, NULL, NULL, NULL, NULL };
static const struct event_info_blob described = { .provider = &alpha,
						  .id = 7,
						  .version = 2,
						  .task = "Work ",
						  .opcode_name = "win:Start",
						  .properties = properties,
						  .property_count = 6,
						  .top_level_count = 4,
						  .maps = maps };

struct fixture {
	struct etw_tdh *tdh;
	struct etw_trace_schemas *trace;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	fake_etw_reset(NULL);
	fixture->tdh = etw_tdh_new(NULL);
	fixture->trace = etw_trace_schemas_new(NULL);
	assert_true(fixture->tdh && fixture->trace);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	etw_tdh_free(fixture->tdh);
	etw_trace_schemas_free(fixture->trace);
	free(fixture);
	fake_etw_reset(NULL);
	return 0;
}

static GUID windows_guid(const struct etw_guid *guid)
{
	GUID made;

	memcpy(&made, guid, sizeof made);
	return made;
}

/* Windows knows the event; less than all of its description when cut. */
static void register_event(const struct event_info_blob *blob, bool classic, size_t cut)
{
	const GUID provider = windows_guid(classic ? blob->event_class : blob->provider);
	const EVENT_DESCRIPTOR descriptor = { .Id = blob->id,
					      .Version = blob->version,
					      .Opcode = blob->opcode };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	payload_event_info(&payload, blob);
	assert_true(cut <= payload.size);
	fake_etw_tdh_event(&provider, &descriptor, classic, payload.bytes, payload.size - cut);
	etw_payload_done(&payload);
}

/* As an EventMapInfo record holds it, the provider in front left off. */
static void register_map(const struct event_map_blob *blob, size_t cut)
{
	const GUID provider = windows_guid(blob->provider);
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	payload_event_map(&payload, blob);
	fake_etw_tdh_map(&provider, blob->name, payload.bytes + 16, payload.size - 16 - cut);
	etw_payload_done(&payload);
}

/* The recording holds the same. */
static void record_description(struct fixture *fixture, const struct event_info_blob *blob,
			       const struct event_map_blob *map)
{
	struct etw_record record = { .provider = &meta_data,
				     .type = ETW_RECORD_FULL,
				     .classic = true };
	struct etw_payload info, names;

	etw_payload_init(&info, 8);
	etw_payload_init(&names, 8);
	payload_event_info(&info, blob);
	payload_event_map(&names, map);
	record.opcode = META_DATA_EVENT_INFO;
	record.payload = info.bytes;
	record.payload_size = (uint32_t)info.size;
	etw_trace_schemas_look(fixture->trace, &record);
	record.opcode = META_DATA_EVENT_MAP_INFO;
	record.payload = names.bytes;
	record.payload_size = (uint32_t)names.size;
	etw_trace_schemas_look(fixture->trace, &record);
	etw_trace_schemas_finish(fixture->trace);
	etw_payload_done(&info);
	etw_payload_done(&names);
}

static struct etw_record event(const struct etw_guid *provider, uint16_t id, uint8_t version)
{
	return (struct etw_record){ .provider = provider,
				    .type = ETW_RECORD_EVENT,
				    .id = id,
				    .version = version,
				    .process_id = 40,
				    .time = 100 * (int64_t)SECOND,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

static const struct etw_schema *live_schema(struct fixture *fixture,
					    const struct etw_record *record)
{
	const struct etw_schema_origins origins = { .live = true,
						    .system = etw_tdh_system(fixture->tdh) };

	return etw_event_schema(&origins, NULL, record, NULL);
}

static void events_decode_as_by_the_description_in_a_recording(void **state)
{
	static const uint8_t bytes[] = { 2, 2, 0,   1, 0,   0, 0,   9, 2, 0, 0,
					 0, 8, 'E', 0, 'n', 0, 'd', 0, 0, 0, 99 };
	struct fixture *fixture = *state;
	const struct etw_record record = event(&alpha, 7, 2);
	const struct etw_schema_origins recorded = { .trace = fixture->trace };
	const struct etw_schema *by_windows, *by_recording;

	register_event(&described, false, 0);
	register_map(&states, 0);
	record_description(fixture, &described, &states);
	by_windows = live_schema(fixture, &record);
	by_recording = etw_event_schema(&recorded, NULL, &record, NULL);
	assert_true(by_windows && by_recording && by_windows != by_recording);
	assert_string_equal(by_windows->event, "Work/win:Start");
	assert_string_equal(by_recording->event, by_windows->event);
	for (unsigned i = 0; i < 2; i++) {
		assert_decoded(i ? by_recording : by_windows, bytes, sizeof bytes, 8,
			       "State=Down Count=2 Item={Id=1 Size=9}{Id=2 Size=8} Name=End", 1);
	}
}

static void classic_events_go_by_class_and_opcode(void **state)
{
	struct fixture *fixture = *state;
	struct event_info_blob mof = described;
	struct etw_record record = event(&beta, 0, 2);

	mof.event_class = &beta;
	mof.opcode = 11;
	mof.source = ETW_EVENT_INFO_MOF;
	mof.maps = NULL;
	register_event(&mof, true, 0);
	assert_null(live_schema(fixture, &record));
	record.classic = true;
	record.type = ETW_RECORD_FULL;
	record.opcode = 11;
	assert_non_null(live_schema(fixture, &record));
	record.opcode = 12;
	assert_null(live_schema(fixture, &record));
}

static void each_answer_is_queried_once(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_record known = event(&alpha, 7, 2), unknown = event(&alpha, 8, 2);
	const struct etw_schema *schema;

	register_event(&described, false, 0);
	register_map(&states, 0);
	schema = live_schema(fixture, &known);
	assert_non_null(schema);
	assert_null(live_schema(fixture, &unknown));
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), 3); /* the size, it, nothing */
	assert_int_equal(fake_etw_calls("TdhGetEventMapInformation"), 2);
	for (unsigned i = 0; i < 100; i++) {
		assert_ptr_equal(live_schema(fixture, &known), schema);
		assert_null(live_schema(fixture, &unknown));
	}
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), 3);
	assert_int_equal(fake_etw_calls("TdhGetEventMapInformation"), 2);
}

static void a_process_that_makes_up_events_does_not_keep_us_asking(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record hostile = event(&alpha, 0, 0);
	struct etw_record honest = event(&alpha, 7, 2);
	bool answered = false;
	unsigned calls;

	register_event(&described, false, 0);
	hostile.process_id = 66;
	for (unsigned id = 1000; id < 5000; id++) {
		hostile.id = (uint16_t)id;
		assert_null(live_schema(fixture, &hostile));
	}
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), TDH_VAIN_MOST);
	/* A process shares its counter with one of 256: three do with this one once in 16 million
	 * runs. */
	for (honest.process_id = 100; honest.process_id < 103; honest.process_id++) {
		answered = live_schema(fixture, &honest) || answered;
	}
	assert_true(answered);
	calls = fake_etw_calls("TdhGetEventInformation");
	hostile.id = 5000;
	assert_null(live_schema(fixture, &hostile));
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), calls);
	hostile.time += SECOND;
	assert_null(live_schema(fixture, &hostile));
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), calls + 1);
}

static void events_that_come_late_do_not_raise_the_limit(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record hostile = event(&alpha, 0, 0);
	int64_t start = hostile.time;

	hostile.process_id = 66;
	for (unsigned id = 1000; id < 5000; id++) {
		hostile.id = (uint16_t)id;
		hostile.time = id % 2 ? start + SECOND : start;
		assert_null(live_schema(fixture, &hostile));
	}
	/* One was asked for before the second second began. */
	assert_int_equal(fake_etw_calls("TdhGetEventInformation"), TDH_VAIN_MOST + 1);
}

static void many_processes_that_make_up_events_cost_no_more_than_a_few(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record hostile = event(&alpha, 0, 0);
	struct etw_record honest = event(&alpha, 7, 2);
	struct etw_schema_system windows = etw_tdh_system(fixture->tdh);
	struct etw_system_answer answer = { .later = false };

	register_event(&described, false, 0);
	for (unsigned i = 0; i < 60000; i++) {
		hostile.process_id = 1000 + i % 500;
		hostile.id = (uint16_t)(1000 + i);
		assert_null(windows.schema(windows.context, &hostile, &answer));
	}
	assert_true(answer.later);
	assert_in_range(fake_etw_calls("TdhGetEventInformation"), TDH_VAIN_MOST_OF_ALL,
			TDH_VAIN_MOST_OF_ALL + 256 * TDH_VAIN_ALWAYS);
	honest.time += SECOND;
	assert_non_null(live_schema(fixture, &honest));
}

static void answers_that_are_not_whole_are_none_or_lack_what_is_cut(void **state)
{
	struct etw_payload whole;
	size_t size;

	etw_payload_init(&whole, 8);
	payload_event_info(&whole, &described);
	size = whole.size;
	etw_payload_done(&whole);
	for (size_t cut = 1; cut <= size; cut++) {
		struct fixture *fixture;
		struct etw_record record = event(&alpha, 7, 2);
		const struct etw_schema *schema;

		tear_down(state);
		set_up(state);
		fixture = *state;
		register_event(&described, false, cut);
		register_map(&states, 0);
		schema = live_schema(fixture, &record);
		if (size - cut < 112 + 6 * 24) { /* header and properties */
			assert_null(schema);
		} else {
			assert_int_equal(schema->field_count, 6);
		}
	}
}

static void a_map_that_is_not_to_be_had_leaves_the_number(void **state)
{
	static const uint8_t bytes[] = { 2, 0, 0 };
	const struct etw_record record = event(&alpha, 7, 2);

	for (unsigned i = 0; i < 3; i++) {
		const struct etw_schema *schema;

		tear_down(state);
		set_up(state);
		register_event(&described, false, 0);
		if (i == 1) {
			register_map(&states, 40);
		} else if (i == 2) {
			register_map(&states, 0);
			fake_etw_fail_always("TdhGetEventMapInformation", ERROR_NOT_SUPPORTED);
		}
		schema = live_schema(*state, &record);
		assert_non_null(schema);
		assert_decoded(schema, bytes, sizeof bytes, 8, "State=2 Count=0 Item= Name=", 0);
		fake_etw_fail_never("TdhGetEventMapInformation");
	}
}

static void a_failure_is_no_answer(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_record record = event(&alpha, 7, 2);

	register_event(&described, false, 0);
	fake_etw_fail_always("TdhGetEventInformation", ERROR_INSUFFICIENT_BUFFER);
	assert_null(live_schema(fixture, &record));
	assert_true(fake_etw_calls("TdhGetEventInformation") < 10);
	fake_etw_fail_never("TdhGetEventInformation");
}

static void providers_have_the_names_they_are_registered_with(void **state)
{
	struct fixture *fixture = *state;
	const GUID a = windows_guid(&alpha), b = windows_guid(&beta);
	const struct etw_schema_origins origins = { .live = true,
						    .system = etw_tdh_system(fixture->tdh) };
	unsigned calls;

	fake_etw_tdh_provider(&b, "Beta", false);
	fake_etw_tdh_provider(&a, "Company-\xc3\x84lpha", true);
	assert_string_equal(etw_event_provider_name(&origins, &alpha), "Company-\xc3\x84lpha");
	assert_string_equal(etw_event_provider_name(&origins, &beta), "Beta");
	calls = fake_etw_calls("TdhEnumerateProviders");
	assert_null(etw_event_provider_name(&origins, &meta_data));
	assert_int_equal(fake_etw_calls("TdhEnumerateProviders"), calls);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_decode_as_by_the_description_in_a_recording),
		TEST(classic_events_go_by_class_and_opcode),
		TEST(each_answer_is_queried_once),
		TEST(a_process_that_makes_up_events_does_not_keep_us_asking),
		TEST(events_that_come_late_do_not_raise_the_limit),
		TEST(many_processes_that_make_up_events_cost_no_more_than_a_few),
		TEST(answers_that_are_not_whole_are_none_or_lack_what_is_cut),
		TEST(a_map_that_is_not_to_be_had_leaves_the_number),
		TEST(a_failure_is_no_answer),
		TEST(providers_have_the_names_they_are_registered_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

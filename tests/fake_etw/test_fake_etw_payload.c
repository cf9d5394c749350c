/* SPDX-License-Identifier: MIT */
/*
 * Filters by payload in the fake ETW, and the manifests that they need: rows P and T of
 * tests/fake_etw/BEHAVIOUR.md, one test a row.
 */
#include "tests/fake_etw/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/event_info_blob.h"

enum {
	I32 = 7,
	U32 = 8,
	F32 = 11,
	WSTRING = 1,
	EQ = 0,
	LT = 4,
	BETWEEN = 6,
	CONTAINS = 20,
	IS = 30
};

static const struct etw_guid described = { { 0x78, 0x56, 0x34, 0x12, 1, 2, 3, 4 } };
static GUID some_provider;

static void describe(uint16_t id, uint8_t version, size_t properties)
{
	static const struct blob_property all[] = { { "Name", 0, WSTRING, 0, 1, 0 },
						    { "Status", 0, I32, 0, 1, 4 },
						    { "Ratio", 0, F32, 0, 1, 4 } };
	const struct event_info_blob blob = { .provider = &described,
					      .id = id,
					      .version = version,
					      .properties = all,
					      .property_count = properties,
					      .top_level_count = properties };
	const EVENT_DESCRIPTOR descriptor = { .Id = id, .Version = version };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	fake_etw_tdh_event(&some_provider, &descriptor, false, payload.bytes, payload.size);
	etw_payload_done(&payload);
}

static int reset(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	memcpy(&some_provider, &described, sizeof some_provider);
	describe(7, 0, 1);
	describe(7, 1, 3);
	return 0;
}

static void events_of_a_manifest_are_listed(void **state)
{
	static const GUID unknown = { 1, 2, 3, { 4 } };
	struct {
		PROVIDER_EVENT_INFO head;
		EVENT_DESCRIPTOR more;
	} returned;
	GUID provider = unknown;
	ULONG size = 0;

	(void)state;
	assert_int_equal(TdhEnumerateManifestProviderEvents(&provider, NULL, &size),
			 ERROR_NOT_FOUND);
	assert_int_equal(TdhEnumerateManifestProviderEvents(NULL, NULL, &size),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(TdhEnumerateManifestProviderEvents(&some_provider, NULL, &size),
			 ERROR_INSUFFICIENT_BUFFER);
	assert_int_equal(size, 8 + 2 * sizeof(EVENT_DESCRIPTOR));
	assert_int_equal(TdhEnumerateManifestProviderEvents(&some_provider, &returned.head, &size),
			 0);
	assert_int_equal(returned.head.NumberOfEvents, 2);
	assert_int_equal(returned.head.EventDescriptorsArray[0].Id, 7);
	assert_int_equal(returned.more.Version, 1);
}

static ULONG create(uint8_t version, bool any, ULONG count, PAYLOAD_FILTER_PREDICATE *predicates,
		    PVOID *filter)
{
	const EVENT_DESCRIPTOR event = { .Id = 7, .Version = version };

	return TdhCreatePayloadFilter(&some_provider, &event, any, count, predicates, filter);
}

static ULONG enable_with(TRACEHANDLE session, EVENT_FILTER_DESCRIPTOR *filter)
{
	ENABLE_TRACE_PARAMETERS parameters = { .Version = ENABLE_TRACE_PARAMETERS_VERSION_2,
					       .EnableFilterDesc = filter,
					       .FilterDescCount = 1 };

	return EnableTraceEx2(session, &some_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0,
			      0, &parameters);
}

static bool passes(uint16_t id, uint8_t version, const char *name, int32_t status)
{
	struct fake_etw_event event = { .provider = some_provider,
					.descriptor = {
						.Id = id, .Version = version, .Level = 4 } };
	struct etw_payload payload;
	bool passed;

	etw_payload_init(&payload, 8);
	etw_payload_wstring(&payload, name);
	etw_payload_u32(&payload, (uint32_t)status);
	event.payload = payload.bytes;
	event.payload_size = payload.size;
	passed = fake_etw_emit(&event) == 1;
	etw_payload_done(&payload);
	return passed;
}

static void payload_filters_choose_events(void **state)
{
	static WCHAR name[] = u"name", status[] = u"Status", one[] = u"ONE", minus[] = u"-5,0";
	PAYLOAD_FILTER_PREDICATE predicates[] = { { name, CONTAINS, one },
						  { status, BETWEEN, minus } };
	EVENT_FILTER_DESCRIPTOR descriptor;
	PVOID filters[2];
	TRACEHANDLE session;

	(void)state;
	assert_int_equal(recorder_start(u"one", false, 0, &session), 0);
	assert_int_equal(create(1, false, 2, predicates, &filters[0]), 0);
	predicates[0].CompareOp = IS;
	assert_int_equal(create(0, true, 1, predicates, &filters[1]), 0);
	assert_int_equal(TdhAggregatePayloadFilters(2, filters, NULL, &descriptor), 0);
	assert_int_equal(descriptor.Type, EVENT_FILTER_TYPE_PAYLOAD);
	assert_int_equal(TdhDeletePayloadFilter(&filters[0]), 0);
	assert_int_equal(TdhDeletePayloadFilter(&filters[1]), 0);
	assert_int_equal(enable_with(session, &descriptor), 0);
	assert_int_equal(TdhCleanupPayloadEventFilterDescriptor(&descriptor), 0);
	assert_true(passes(7, 1, "someone", -5));
	assert_true(passes(7, 1, "one", 0));
	assert_false(passes(7, 1, "two", 0));
	assert_false(passes(7, 1, "one", 1));
	assert_false(passes(7, 1, "one", -6));
	assert_true(passes(7, 0, "One", 1)); /* another version, another filter */
	assert_false(passes(7, 0, "someone", 1));
	assert_true(passes(8, 1, "two", 1)); /* no filter is about it */
	assert_int_equal(EnableTraceEx2(session, &some_provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER,
					5, 0, 0, 0, NULL),
			 0);
	assert_true(passes(7, 1, "two", 1));
}

static void payload_filters_that_make_no_sense_are_refused(void **state)
{
	static WCHAR name[] = u"Name", status[] = u"Status", ratio[] = u"Ratio", none[] = u"None";
	static WCHAR five[] = u"5", text[] = u"abc";
	static const struct {
		WCHAR *field;
		USHORT op;
		WCHAR *value;
	} cases[] = {
		{ none, EQ, five },        /* no such field */
		{ status, IS, five },      /* numbers have other operators */
		{ status, EQ, text },      /* no number */
		{ status, BETWEEN, five }, /* one number */
		{ name, EQ, five },        /* a text */
		{ ratio, LT, five },       /* no type to filter by */
	};
	PAYLOAD_FILTER_PREDICATE predicates[9] = { { status, EQ, five } };
	EVENT_FILTER_DESCRIPTOR wrong = { .Ptr = (ULONGLONG)(ULONG_PTR)predicates,
					  .Size = sizeof predicates,
					  .Type = EVENT_FILTER_TYPE_PAYLOAD };
	TRACEHANDLE session;
	PVOID filter;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		PAYLOAD_FILTER_PREDICATE predicate = { cases[i].field, cases[i].op,
						       cases[i].value };

		assert_int_equal(create(1, false, 1, &predicate, &filter), ERROR_INVALID_PARAMETER);
	}
	assert_int_equal(create(2, false, 1, predicates, &filter), ERROR_NOT_FOUND);
	assert_int_equal(create(1, false, 0, predicates, &filter), ERROR_INVALID_PARAMETER);
	assert_int_equal(create(1, false, 9, predicates, &filter), ERROR_INVALID_PARAMETER);
	assert_int_equal(TdhAggregatePayloadFilters(0, &filter, NULL, &wrong),
			 ERROR_INVALID_PARAMETER);
	assert_int_equal(recorder_start(u"one", false, 0, &session), 0);
	assert_int_equal(enable_with(session, &wrong), ERROR_INVALID_PARAMETER);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup(test, reset)
	const struct CMUnitTest tests[] = {
		ROW(events_of_a_manifest_are_listed),
		ROW(payload_filters_choose_events),
		ROW(payload_filters_that_make_no_sense_are_refused),
	};
	int failed = cmocka_run_group_tests_name("fake_etw_payload", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}

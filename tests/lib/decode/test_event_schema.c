/* SPDX-License-Identifier: MIT */
/*
 * Which schema decodes an event when several are at hand, and the name of its event class.
 */
#include "lib/decode/event_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/event_table.h>

#include "base/guid.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/source/event_record.h"
#include "tests/support/decoded_text.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/exact_copy.h"
#include "tests/support/inband_manifest.h"

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid beta = { { 0xbe } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;
static const struct etw_guid disk_io =
	ETW_GUID_INIT(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);

struct fixture {
	struct etw_trace_schemas *trace;
	struct etw_tracelogging_cache *tracelogging;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	fixture->trace = etw_trace_schemas_new(NULL);
	fixture->tracelogging = etw_tracelogging_cache_new(NULL);
	assert_non_null(fixture->trace);
	assert_non_null(fixture->tracelogging);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	etw_trace_schemas_free(fixture->trace);
	etw_tracelogging_cache_free(fixture->tracelogging);
	free(fixture);
	return 0;
}

static void add_event_info(struct etw_trace_schemas *trace, const struct event_info_blob *blob)
{
	struct etw_record record = { .provider = &meta_data,
				     .type = ETW_RECORD_FULL,
				     .classic = true,
				     .opcode = META_DATA_EVENT_INFO };
	struct etw_payload payload;
	uint8_t *copy;

	etw_payload_init(&payload, 8);
	payload_event_info(&payload, blob);
	copy = exact_copy(payload.bytes, payload.size);
	record.payload = copy;
	record.payload_size = (uint32_t)payload.size;
	etw_trace_schemas_look(trace, &record);
	free(copy);
	etw_payload_done(&payload);
}

/* The events of provider alpha. */
static void announce_events(struct etw_trace_schemas *trace, const char *events)
{
	struct etw_text inside = { 0 };

	text_add_format(&inside, "<events>%s</events>", events);
	announce_manifest(trace, &alpha, "Alpha", inside.data);
	text_free(&inside);
}

static struct etw_record event(const struct etw_guid *provider, uint16_t id, uint8_t version)
{
	return (struct etw_record){ .provider = provider,
				    .type = ETW_RECORD_EVENT,
				    .id = id,
				    .version = version,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

/* One extended item with TraceLogging metadata: an event without fields. */
static void give_metadata(struct etw_record *record, uint8_t item[32], const char *name)
{
	size_t size = 3 + strlen(name) + 1;

	assert_true(8 + size <= 32);
	memset(item, 0, 32);
	item[0] = 32;
	item[2] = ETW_EXTENDED_TRACELOGGING;
	item[6] = (uint8_t)size;
	item[8] = (uint8_t)size;
	memcpy(item + 11, name, strlen(name));
	record->extended = item;
	record->extended_size = 32;
}

static void assert_schema(struct fixture *fixture, const struct etw_record *record,
			  const char *event_name, enum etw_schema_origin origin)
{
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	const struct etw_schema *schema;

	if (fixture->trace) {
		etw_trace_schemas_finish(fixture->trace);
	}
	schema = etw_event_schema(&origins, fixture->tracelogging, record, NULL);
	if (!event_name) {
		assert_null(schema);
		return;
	}
	assert_non_null(schema);
	assert_string_equal(schema->event, event_name);
	assert_int_equal(schema->origin, origin);
}

static void the_event_itself_before_the_manifest_before_the_description(void **state)
{
	struct fixture *fixture = *state;
	struct event_info_blob blob = { .provider = &alpha, .id = 1, .task = "Described" };
	struct etw_record record = event(&alpha, 1, 0);
	uint8_t item[32];

	assert_schema(fixture, &record, NULL, 0);
	add_event_info(fixture->trace, &blob);
	assert_schema(fixture, &record, "Described", ETW_SCHEMA_EVENT_INFO);
	announce_events(fixture->trace, "<event value='1' symbol='Manifested'/>");
	assert_schema(fixture, &record, "Manifested", ETW_SCHEMA_MANIFEST);
	give_metadata(&record, item, "Self");
	assert_schema(fixture, &record, "Self", ETW_SCHEMA_TRACELOGGING);
	assert_schema(&(struct fixture){ .tracelogging = fixture->tracelogging }, &record, "Self",
		      ETW_SCHEMA_TRACELOGGING);
}

static void metadata_that_makes_no_sense_leaves_the_event_undecoded(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record record = event(&alpha, 1, 0);
	uint8_t item[32];

	announce_events(fixture->trace, "<event value='1' symbol='Manifested'/>");
	give_metadata(&record, item, "Self");
	item[6] = 5; /* no end of the name */
	assert_schema(fixture, &record, NULL, 0);
}

static void manifests_fall_back_to_version_0_descriptions_do_not(void **state)
{
	struct fixture *fixture = *state;
	struct event_info_blob blob = { .provider = &beta, .id = 1, .task = "Described" };
	struct etw_record manifest = event(&alpha, 1, 3), description = event(&beta, 1, 3);

	announce_events(fixture->trace, "<event value='1' symbol='Zero'/>");
	add_event_info(fixture->trace, &blob);
	assert_schema(fixture, &manifest, "Zero", ETW_SCHEMA_MANIFEST);
	assert_schema(fixture, &description, NULL, 0);
	blob.version = 3;
	blob.task = "Three";
	add_event_info(fixture->trace, &blob);
	assert_schema(fixture, &description, "Three", ETW_SCHEMA_EVENT_INFO);
}

static void the_newest_manifest_that_has_the_event_decodes_it(void **state)
{
	struct fixture *fixture = *state;
	struct etw_record one = event(&alpha, 1, 0), two = event(&alpha, 2, 0);

	announce_events(fixture->trace, "<event value='1' symbol='Old'/>"
					"<event value='2' symbol='Gone'/>");
	announce_events(fixture->trace, "<event value='1' symbol='New'/>");
	announce_events(fixture->trace, "<event value='1' symbol='Broken'>");
	assert_schema(fixture, &one, "New", ETW_SCHEMA_MANIFEST);
	assert_schema(fixture, &two, "Gone", ETW_SCHEMA_MANIFEST);
}

static struct etw_event_class *class_of(const struct etw_schema_origins *origins,
					const struct etw_record *record,
					struct etw_event_table **table)
{
	struct etw_event_class *class;
	bool added;

	*table = etw_event_table_new(8, origins, NULL);
	assert_non_null(*table);
	class = etw_event_table_find(*table, record, &added);
	assert_non_null(class);
	return class;
}

/* "EventWriteString function", Microsoft Learn: id 0, level and keyword are the caller's. */
static void a_text_is_one_field_under_the_name_of_a_manifest_if_there_is_one(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	struct etw_record text = event(&alpha, 0, 0), usual = event(&alpha, 0, 0);
	struct etw_event_table *table;
	const struct etw_schema *schema;
	uint8_t item[32];

	text.type = ETW_RECORD_STRING;
	give_metadata(&text, item, "Self"); /* the text needs no layout */
	assert_schema(fixture, &text, "EventWriteString", ETW_SCHEMA_STRING);
	schema = etw_event_schema(&origins, fixture->tracelogging, &text, NULL);
	assert_decoded(schema, "h\0i\0\0\0", 6, 8, "Message=hi", 0);
	assert_decoded(schema, "h\0i\0", 4, 8, "Message=hi", 0);
	assert_decoded(schema, "\0\0", 2, 8, "Message=", 0);
	assert_string_equal(class_of(&origins, &text, &table)->event_name, "EventWriteString");
	etw_event_table_free(table);

	/* The template is that of usual events with this id, such as EventSourceMessage of .NET. */
	announce_manifest(fixture->trace, &alpha, "Alpha",
			  "<events><event value='0' symbol='Told' template='T'/></events>"
			  "<templates><template tid='T'><data name='n' inType='win:UInt32'/>"
			  "</template></templates>");
	assert_schema(fixture, &text, "EventWriteString", ETW_SCHEMA_STRING);
	assert_schema(fixture, &usual, "Told", ETW_SCHEMA_MANIFEST);
	assert_string_equal(class_of(&origins, &text, &table)->event_name, "Told");
	assert_string_equal(etw_event_schema_naming(&origins, &text, schema)->event, "Told");
	etw_event_table_free(table);
}

/* With one id, version and opcode. */
static void a_text_and_an_event_of_one_id_are_two_classes(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	struct etw_record text = event(&alpha, 0, 0), usual = event(&alpha, 0, 0);
	struct etw_event_table *table;
	struct etw_event_class *class;
	bool added;

	text.type = ETW_RECORD_STRING;
	text.class_key = record_class_key(0, 0, 0, 8, ETW_RECORD_STRING, false, 0xff);
	usual.class_key = record_class_key(0, 0, 0, 8, ETW_RECORD_EVENT, false, 0xff);
	class = class_of(&origins, &usual, &table);
	assert_null(class->schema);
	assert_non_null(etw_event_table_find(table, &text, &added)->schema);
	assert_true(added);
	assert_ptr_equal(etw_event_table_find(table, &usual, &added), class);
	assert_false(added);
	etw_event_table_free(table);
}

static void classic_events_by_the_kernels_tables_then_by_their_class(void **state)
{
	struct fixture *fixture = *state;
	struct event_info_blob blob = { .provider = &alpha,
					.event_class = &beta,
					.opcode = 7,
					.source = ETW_EVENT_INFO_MOF,
					.task = "Mof" };
	struct etw_record record = event(&beta, 0, 0);

	record.classic = true;
	record.type = ETW_RECORD_FULL;
	record.opcode = 7;
	assert_schema(fixture, &record, NULL, 0);
	add_event_info(fixture->trace, &blob);
	assert_schema(fixture, &record, "Mof", ETW_SCHEMA_EVENT_INFO);
	record.opcode = 8;
	assert_schema(fixture, &record, NULL, 0);

	blob.event_class = &disk_io;
	blob.opcode = 10;
	blob.version = 3;
	add_event_info(fixture->trace, &blob);
	record.provider = &disk_io;
	record.opcode = 10;
	record.version = 3;
	assert_schema(fixture, &record, "DiskIo_TypeGroup1", ETW_SCHEMA_KERNEL);
	record.type = ETW_RECORD_MESSAGE;
	assert_schema(fixture, &record, NULL, 0);
}

static void assert_class(struct etw_event_table *event_table, const struct etw_record *record,
			 const char *name, bool is_new)
{
	bool added;
	struct etw_event_class *class = etw_event_table_find(event_table, record, &added);

	assert_non_null(class);
	assert_string_equal(class->event_name, name);
	assert_int_equal(added, is_new);
}

static void event_classes_have_the_names_of_their_events(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		const char *task, *opcode, *name;
	} described[] = {
		{ "GC", "win:Start", "GC/Start" },
		{ "GC", "win:Info", "GC" },
		{ "GC", "Trigger", "GC/Trigger" },
		{ NULL, NULL, "3" },
	};
	struct etw_record manifest = event(&alpha, 1, 0), unknown = event(&alpha, 9, 0);
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	struct etw_event_table *event_table = etw_event_table_new(100, &origins, NULL);

	assert_non_null(event_table);
	announce_events(fixture->trace, "<event value='1' task='Work' opcode='win:Stop'/>");
	for (uint16_t i = 0; i < sizeof described / sizeof described[0]; i++) {
		struct event_info_blob blob = { .provider = &beta,
						.id = i,
						.task = described[i].task,
						.opcode_name = described[i].opcode };

		add_event_info(fixture->trace, &blob);
	}
	etw_trace_schemas_finish(fixture->trace);
	assert_class(event_table, &manifest, "Work/Stop", true);
	assert_class(event_table, &unknown, "9", true);
	for (uint16_t i = 0; i < sizeof described / sizeof described[0]; i++) {
		struct etw_record record = event(&beta, i, 0);

		assert_class(event_table, &record, described[i].name, true);
	}
	etw_event_table_free(event_table);
}

static void tracelogging_events_of_one_id_are_different_event_classes(void **state)
{
	struct etw_event_table *event_table = etw_event_table_new(3, NULL, NULL);
	struct etw_record one = event(&alpha, 0, 0), two = one, three = one, four = one;
	uint8_t items[4][32];

	(void)state;
	assert_non_null(event_table);
	give_metadata(&one, items[0], "One");
	give_metadata(&two, items[1], "Two");
	give_metadata(&three, items[2], "");
	give_metadata(&four, items[3], "Four");
	assert_class(event_table, &one, "One", true);
	assert_class(event_table, &two, "Two", true);
	assert_class(event_table, &one, "One", false);
	assert_class(event_table, &three, "0", true); /* a name that is empty is none */
	/* In place of one that had no event since it was made. */
	assert_class(event_table, &four, "Four", true);
	assert_class(event_table, &four, "Four", false);
	assert_class(event_table, &one, "One", false);
	etw_event_table_free(event_table);
}

/* More event classes than there are places for the last ones, in turn. */
static void event_classes_that_differ_in_one_member_are_different(void **state)
{
	enum { IDS = 600 };
	struct etw_event_table *event_table = etw_event_table_new(4 * IDS, NULL, NULL);
	struct etw_event_class *met[IDS][4];
	bool added;

	(void)state;
	assert_non_null(event_table);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (uint16_t id = 0; id < IDS; id++) {
			struct etw_record records[4] = { event(&alpha, id, 0), event(&alpha, id, 1),
							 event(&beta, id, 0),
							 event(&alpha, id, 0) };

			records[3].pointer_size = 4;
			for (size_t i = 0; i < 4; i++) {
				struct etw_event_class *class =
					etw_event_table_find(event_table, &records[i], &added);

				assert_non_null(class);
				assert_int_equal(added, turn == 0);
				assert_true(turn == 0 || class == met[id][i]);
				met[id][i] = class;
			}
		}
	}
	etw_event_table_free(event_table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_event_itself_before_the_manifest_before_the_description),
		TEST(metadata_that_makes_no_sense_leaves_the_event_undecoded),
		TEST(manifests_fall_back_to_version_0_descriptions_do_not),
		TEST(the_newest_manifest_that_has_the_event_decodes_it),
		TEST(a_text_is_one_field_under_the_name_of_a_manifest_if_there_is_one),
		TEST(a_text_and_an_event_of_one_id_are_two_classes),
		TEST(classic_events_by_the_kernels_tables_then_by_their_class),
		TEST(event_classes_have_the_names_of_their_events),
		TEST(tracelogging_events_of_one_id_are_different_event_classes),
		TEST(event_classes_that_differ_in_one_member_are_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

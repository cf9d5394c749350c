/* SPDX-License-Identifier: MIT */
/*
 * Several manifests of one provider in a recording: which of them decodes the event of which
 * process, and what that costs.
 */
#include <etw/event_table.h>
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "lib/decode/trace_schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/trace_manifests.h"
#include "lib/source/provider_names.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/exact_copy.h"
#include "tests/support/inband_manifest.h"

enum { FIRST = 40, SECOND = 44, SILENT = 48, BEFORE = -1 };

static const struct etw_guid alpha = { { 0xa1 } };
static const struct etw_guid beta = { { 0xbe } };
static const struct etw_guid meta_data = ETW_META_DATA_CLASS;

struct fixture {
	struct etw_trace_schemas *trace;
	struct etw_event_table *event_table;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct etw_schema_origins origins = { 0 };

	assert_non_null(fixture);
	fixture->trace = etw_trace_schemas_new(NULL);
	assert_non_null(fixture->trace);
	origins.trace = fixture->trace;
	fixture->event_table = etw_event_table_new(4096, &origins, NULL);
	assert_non_null(fixture->event_table);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	etw_event_table_free(fixture->event_table);
	etw_trace_schemas_free(fixture->trace);
	free(fixture);
	return 0;
}

/* ---- records of a recording ---- */

static void look(void *context, const struct etw_record *record)
{
	struct fixture *fixture = context;

	etw_trace_schemas_look(fixture->trace, record);
}

/* A manifest with these elements `event`; the template "number" has one field, "text" another. */
static void announce_of(struct fixture *fixture, const struct etw_guid *provider,
			uint32_t process_id, int64_t time, const char *events)
{
	struct etw_text inside = { 0 };
	struct inband_manifest manifest = {
		.provider = provider, .process_id = process_id, .time = time, .name = "Alpha"
	};

	text_add_format(
		&inside,
		"<events>%s</events><templates>"
		"<template tid='number'><data name='Number' inType='win:UInt32'/></template>"
		"<template tid='text'><data name='Text' inType='win:UnicodeString'/>"
		"</template></templates>",
		events);
	manifest.inside = inside.data;
	announce_chunks(&manifest, look, fixture);
	text_free(&inside);
}

static void announce(struct fixture *fixture, uint32_t process_id, int64_t time, const char *events)
{
	announce_of(fixture, &alpha, process_id, time, events);
}

/* Event 1 under this name. */
static void announce_name(struct fixture *fixture, uint32_t process_id, int64_t time,
			  const char *name)
{
	struct etw_text events = { 0 };

	text_add_format(&events, "<event value='1' symbol='%s'/>", name);
	announce(fixture, process_id, time, events.data);
	text_free(&events);
}

/* Process/Start or Process/End of the kernel, version 4, of 64 bits. */
static void change_process(struct fixture *fixture, uint8_t opcode, uint32_t process_id,
			   int64_t time)
{
	struct etw_record record = { .provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_PROCESS),
				     .type = ETW_RECORD_SYSTEM,
				     .classic = true,
				     .kernel_group = ETW_KERNEL_GROUP_PROCESS,
				     .opcode = opcode,
				     .version = 4,
				     .process_id = 4,
				     .pointer_size = 8,
				     .time = time };
	struct etw_payload payload;
	uint8_t *copy;

	etw_payload_init(&payload, 8);
	etw_payload_u64(&payload, 0xffffd000); /* UniqueProcessKey */
	etw_payload_u32(&payload, process_id);
	copy = exact_copy(payload.bytes, payload.size);
	record.payload = copy;
	record.payload_size = (uint32_t)payload.size;
	look(fixture, &record);
	free(copy);
	etw_payload_done(&payload);
}

/* An event of Microsoft-Windows-Kernel-Process; ProcessID is its first field. */
static void change_process_by_event(struct fixture *fixture, uint16_t id, uint32_t process_id,
				    int64_t time)
{
	const uint8_t payload[4] = { (uint8_t)process_id, (uint8_t)(process_id >> 8) };
	uint8_t *copy = exact_copy(payload, sizeof payload);
	const struct etw_record record = {
		.provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid,
		.type = ETW_RECORD_EVENT,
		.id = id,
		.process_id = 4,
		.payload = copy,
		.payload_size = sizeof payload,
		.pointer_size = 8,
		.kernel_group = 0xff,
		.time = time
	};

	look(fixture, &record);
	free(copy);
}

static struct etw_record event(uint16_t id, uint8_t version, uint32_t process_id, int64_t time)
{
	return (struct etw_record){ .provider = &alpha,
				    .type = ETW_RECORD_EVENT,
				    .id = id,
				    .version = version,
				    .process_id = process_id,
				    .time = time,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

static const struct etw_event_class *class_of(struct fixture *fixture, uint16_t id,
					      uint32_t process_id, int64_t time)
{
	const struct etw_record record = event(id, 0, process_id, time);
	bool added;
	const struct etw_event_class *class =
		etw_event_table_find(fixture->event_table, &record, &added);

	assert_non_null(class);
	return class;
}

/* What the event is called, by the table and without one; each twice, as caches may remember. */
static void assert_called(struct fixture *fixture, uint16_t id, uint32_t process_id, int64_t time,
			  const char *name)
{
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	const struct etw_record record = event(id, 0, process_id, time);

	for (unsigned turn = 0; turn < 2; turn++) {
		const struct etw_schema *schema = etw_event_schema(&origins, NULL, &record, NULL);

		assert_string_equal(schema ? schema->event : "none", name);
		assert_string_equal(class_of(fixture, id, process_id, time)->event_name,
				    schema ? name : "1");
	}
}

static const char *first_field(struct fixture *fixture, uint16_t id, uint32_t process_id)
{
	const struct etw_schema *schema = class_of(fixture, id, process_id, 0)->schema;

	return schema && schema->field_count > 0 ? schema->fields[0].name : "none";
}

/* ---- the own manifest, else the newest that has the event ---- */

#define OLD                                                      \
	"<event value='1' symbol='Work' template='number'/>"     \
	"<event value='2' symbol='Same' template='text'/>"       \
	"<event value='53' symbol='OnlyOld' template='number'/>" \
	"<event value='54' symbol='OnlyOldToo'/>"
#define NEW                                                \
	"<event value='1' symbol='Work' template='text'/>" \
	"<event value='2' symbol='Same' template='text'/>" \
	"<event value='60' symbol='OnlyNew' template='text'/>"

static void each_process_is_decoded_by_its_own_version(void **state)
{
	struct fixture *fixture = *state;

	announce(fixture, FIRST, 10, OLD);
	announce(fixture, SECOND, 20, NEW);
	etw_trace_schemas_finish(fixture->trace);
	for (unsigned turn = 0; turn < 3; turn++) { /* the events of processes alternate */
		assert_string_equal(first_field(fixture, 1, FIRST), "Number");
		assert_string_equal(first_field(fixture, 1, SECOND), "Text");
		assert_string_equal(first_field(fixture, 1, SILENT), "Text");
		for (uint32_t process = FIRST; process <= SILENT; process += 4) {
			assert_string_equal(first_field(fixture, 2, process), "Text");
			assert_string_equal(first_field(fixture, 53, process), "Number");
			assert_string_equal(class_of(fixture, 54, process, 0)->event_name,
					    "OnlyOldToo");
			assert_string_equal(first_field(fixture, 60, process), "Text");
			assert_null(class_of(fixture, 61, process, 0)->schema);
		}
	}
}

static void the_newest_is_so_by_time_whatever_the_order_in_the_file(void **state)
{
	struct fixture *fixture = *state;

	announce(fixture, SECOND, 20, NEW);
	announce(fixture, FIRST, 10, OLD);
	etw_trace_schemas_finish(fixture->trace);
	assert_string_equal(first_field(fixture, 1, FIRST), "Number");
	assert_string_equal(first_field(fixture, 1, SECOND), "Text");
	assert_string_equal(first_field(fixture, 1, SILENT), "Text");
	announce(fixture, SECOND + 1000, 30, OLD); /* as old a version, announced later */
	etw_trace_schemas_finish(fixture->trace);
	etw_event_table_renew(fixture->event_table, NULL);
	assert_string_equal(first_field(fixture, 1, SILENT), "Number");
	assert_string_equal(first_field(fixture, 1, SECOND), "Text");
}

static void of_equal_times_the_later_one_in_the_file_is_the_newest(void **state)
{
	struct fixture *fixture = *state;

	announce_name(fixture, FIRST, 10, "Earlier");
	announce_name(fixture, SECOND, 10, "Later");
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, SILENT, 0, "Later");
	assert_called(fixture, 1, FIRST, 0, "Earlier");
}

static void events_of_one_layout_are_one_class(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_event_class *own, *other;

	announce(fixture, FIRST, 10, OLD);
	announce(fixture, SECOND, 20, NEW);
	for (uint32_t process = 1000; process < 1020; process++) { /* as old, but no copy */
		struct etw_text events = { 0 };

		text_add_format(&events, OLD "<event value='%u' symbol='x'/>", process);
		announce(fixture, process, 15, events.data);
		text_free(&events);
	}
	etw_trace_schemas_finish(fixture->trace);
	own = class_of(fixture, 1, FIRST, 0);
	other = class_of(fixture, 1, SECOND, 0);
	assert_ptr_not_equal(own, other);
	assert_int_not_equal(own->manifest_id, other->manifest_id);
	assert_ptr_equal(class_of(fixture, 1, SILENT, 0), other);
	for (uint32_t process = 1000; process < 1020; process++) {
		assert_ptr_equal(class_of(fixture, 1, process, 0), own);
	}
	for (uint16_t id = 2; id <= 60; id++) {
		const struct etw_event_class *class = class_of(fixture, id, FIRST, 0);

		assert_int_equal(class->manifest_id, 0);
		assert_ptr_equal(class_of(fixture, id, SECOND, 0), class);
		assert_ptr_equal(class_of(fixture, id, SILENT, 0), class);
	}
}

static void one_text_of_many_processes_makes_no_difference(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t process = 1; process < 1000; process++) {
		announce(fixture, process, process, OLD);
	}
	announce_of(fixture, &beta, FIRST, 5, NEW);
	etw_trace_schemas_finish(fixture->trace);
	assert_false(trace_schemas_differ(fixture->trace));
	assert_ptr_equal(class_of(fixture, 1, 1, 0), class_of(fixture, 1, 5000, 0));
	assert_int_equal(class_of(fixture, 1, 1, 0)->manifest_id, 0);
}

static void names_of_values_belong_to_the_layout(void **state)
{
	static const char inside[] =
		"<maps><valueMap name='m'><map value='1' message='%s'/></valueMap></maps>"
		"<templates><template tid='t'><data name='N' inType='win:UInt32' map='m'/>"
		"</template></templates><events><event value='1' symbol='E' template='t'/></events>";
	static const char *const names[] = { "Red", "Blue" };
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 2; i++) {
		struct etw_text manifest = { 0 };

		text_add_string(&manifest, inside);
		memcpy(strstr(manifest.data, "'%s'"), i ? "'B' " : "'A' ", 4);
		announce_chunks(&(struct inband_manifest){ .provider = &alpha,
							   .process_id = i ? SECOND : FIRST,
							   .time = i,
							   .name = names[i],
							   .inside = manifest.data },
				look, fixture);
		text_free(&manifest);
	}
	etw_trace_schemas_finish(fixture->trace);
	assert_string_equal(class_of(fixture, 1, FIRST, 0)->schema->fields[0].map->names[0].name,
			    "A");
	assert_string_equal(class_of(fixture, 1, SECOND, 0)->schema->fields[0].map->names[0].name,
			    "B");
}

static void the_version_of_the_event_comes_before_version_0(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_schema_origins origins = { .trace = fixture->trace };
	static const struct {
		uint8_t version;
		uint32_t process_id;
		const char *name;
	} cases[] = {
		{ 0, FIRST, "OldZero" }, { 0, SECOND, "NewZero" }, { 0, SILENT, "NewZero" },
		{ 1, FIRST, "OldOne" },  { 1, SECOND, "OldOne" },  { 1, SILENT, "OldOne" },
		{ 2, FIRST, "OldZero" }, { 2, SECOND, "NewZero" }, { 2, SILENT, "NewZero" },
	};

	announce(
		fixture, FIRST, 10,
		"<event value='1' symbol='OldZero'/><event value='1' version='1' symbol='OldOne'/>");
	announce(fixture, SECOND, 20, "<event value='1' symbol='NewZero'/>");
	etw_trace_schemas_finish(fixture->trace);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_record record = event(1, cases[i].version, cases[i].process_id, 0);
		const struct etw_schema *schema = etw_event_schema(&origins, NULL, &record, NULL);

		assert_non_null(schema);
		assert_string_equal(schema->event, cases[i].name);
	}
}

static void what_no_manifest_has_is_decoded_by_its_description(void **state)
{
	struct fixture *fixture = *state;
	const struct event_info_blob blob = { .provider = &alpha, .id = 70, .task = "Described" };
	struct etw_record record = { .provider = &meta_data,
				     .type = ETW_RECORD_FULL,
				     .classic = true,
				     .opcode = META_DATA_EVENT_INFO };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	look(fixture, &record);
	etw_payload_done(&payload);
	announce(fixture, FIRST, 10, OLD);
	announce(fixture, SECOND, 20, NEW);
	etw_trace_schemas_finish(fixture->trace);
	assert_string_equal(class_of(fixture, 70, FIRST, 0)->event_name, "Described");
	assert_ptr_equal(class_of(fixture, 70, FIRST, 0), class_of(fixture, 70, SECOND, 0));
}

/* ---- a process and its time ---- */

static void an_id_that_is_reused_means_the_process_of_the_time(void **state)
{
	struct fixture *fixture = *state;

	announce_name(fixture, SECOND, 500, "Other"); /* the newest */
	announce_name(fixture, FIRST, 150, "Former");
	announce_name(fixture, FIRST, 250, "Later"); /* at the end of the process */
	change_process(fixture, ETW_KERNEL_OPCODE_START, FIRST, 100);
	change_process(fixture, ETW_KERNEL_OPCODE_STOP, FIRST, 180);
	change_process(fixture, ETW_KERNEL_OPCODE_START, FIRST, 200);
	change_process(fixture, ETW_KERNEL_OPCODE_START, FIRST, 300);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, 99, "Other");
	assert_called(fixture, 1, FIRST, 100, "Former");
	assert_called(fixture, 1, FIRST, 149, "Former");
	assert_called(fixture, 1, FIRST, 180, "Former");
	assert_called(fixture, 1, FIRST, 181, "Other");
	assert_called(fixture, 1, FIRST, 200, "Later");
	assert_called(fixture, 1, FIRST, 299, "Later");
	assert_called(fixture, 1, FIRST, 300, "Other");
}

static void the_events_of_kernel_process_say_it_too(void **state)
{
	struct fixture *fixture = *state;

	announce_name(fixture, SECOND, 500, "Other");
	announce_name(fixture, FIRST, 150, "Former");
	change_process_by_event(fixture, ETW_PROCESS_EVENT_STOP, FIRST, 200);
	change_process_by_event(fixture, ETW_PROCESS_EVENT_START, FIRST, 100);
	change_process_by_event(fixture, ETW_PROCESS_EVENT_RUNDOWN, FIRST, 170); /* no change */
	change_process_by_event(fixture, ETW_PROCESS_EVENT_START, SECOND, 160);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, 99, "Other");
	assert_called(fixture, 1, FIRST, 100, "Former");
	assert_called(fixture, 1, FIRST, 200, "Former");
	assert_called(fixture, 1, FIRST, 201, "Other");
}

/* Nothing says when the id began to mean another process. */
static void without_starts_the_last_announcement_by_then_holds(void **state)
{
	struct fixture *fixture = *state;

	announce_name(fixture, FIRST, 300, "Former"); /* again: the id was given away twice */
	announce_name(fixture, FIRST, 100, "Former");
	announce_name(fixture, FIRST, 200, "Later");
	announce_name(fixture, FIRST, 210, "Later"); /* it repeats itself */
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, BEFORE, "Former");
	assert_called(fixture, 1, FIRST, 199, "Former");
	assert_called(fixture, 1, FIRST, 200, "Later");
	assert_called(fixture, 1, FIRST, 299, "Later");
	assert_called(fixture, 1, FIRST, 300, "Former");
	assert_called(fixture, 1, FIRST, INT64_MAX, "Former");
	assert_called(fixture, 1, SILENT, 0, "Former"); /* the newest */
}

static void a_manifest_holds_from_its_first_chunk_on(void **state)
{
	struct fixture *fixture = *state;
	struct inband_manifest manifest = { .provider = &alpha,
					    .process_id = FIRST,
					    .time = 200,
					    .name = "Alpha",
					    .inside = "<events><event value='1' symbol='Later'/>"
						      "</events>" };
	struct etw_text xml = { 0 };

	announce_name(fixture, FIRST, 100, "Former");
	inband_manifest_xml(&xml, &manifest);
	announce_chunk(&manifest, 0, 2, xml.data, 30, look, fixture);
	manifest.time = 300;
	announce_chunk(&manifest, 1, 2, xml.data + 30, xml.size - 30, look, fixture);
	text_free(&xml);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, 199, "Former");
	assert_called(fixture, 1, FIRST, 200, "Later");
}

/* ---- chunks ---- */

static void chunks_of_processes_may_alternate(void **state)
{
	enum { PROCESSES = 20, CHUNKS = 34 };
	struct fixture *fixture = *state;
	struct inband_manifest manifests[PROCESSES];
	struct etw_text xml[PROCESSES] = { { 0 } };

	for (unsigned i = 0; i < PROCESSES; i++) {
		char inside[100];

		snprintf(inside, sizeof inside, "<events><event value='1' symbol='Of%u'/></events>",
			 i);
		manifests[i] = (struct inband_manifest){
			.provider = &alpha, .process_id = 100 + i, .name = "Alpha", .inside = inside
		};
		inband_manifest_xml(&xml[i], &manifests[i]);
	}
	for (uint16_t number = 0; number < CHUNKS; number++) {
		for (unsigned i = 0; i < PROCESSES; i++) {
			size_t from = xml[i].size * number / CHUNKS;
			size_t to = xml[i].size * (number + 1U) / CHUNKS;

			manifests[i].time = number;
			announce_chunk(&manifests[i], number, CHUNKS, xml[i].data + from, to - from,
				       look, fixture);
		}
	}
	etw_trace_schemas_finish(fixture->trace);
	for (unsigned i = 0; i < PROCESSES; i++) {
		char name[20];

		snprintf(name, sizeof name, "Of%u", i);
		assert_called(fixture, 1, 100 + i, 50, name);
		text_free(&xml[i]);
	}
}

/* A manifest with one event of this name, cut into chunks, of which each order shows some. */
struct cut_manifest {
	struct inband_manifest manifest;
	struct etw_text xml;
	uint16_t total;
	int64_t time; /* of chunk 0; the others follow */
	char inside[100];
};

static void cut_up(struct cut_manifest *cut, uint32_t process_id, int64_t time, uint16_t total,
		   const char *name)
{
	*cut = (struct cut_manifest){
		.manifest = { .provider = &alpha, .process_id = process_id, .name = "Alpha" },
		.total = total,
		.time = time,
	};
	snprintf(cut->inside, sizeof cut->inside, "<events><event value='1' symbol='%s'/></events>",
		 name);
	cut->manifest.inside = cut->inside;
	inband_manifest_xml(&cut->xml, &cut->manifest);
}

static void show_chunk(struct fixture *fixture, struct cut_manifest *cut, uint16_t number)
{
	size_t from = cut->xml.size * number / cut->total;
	size_t to = cut->xml.size * (number + 1U) / cut->total;

	cut->manifest.time = cut->time + number;
	announce_chunk(&cut->manifest, number, cut->total, cut->xml.data + from, to - from, look,
		       fixture);
}

/* As after a thread has moved from one processor to another between two chunks. */
static void chunks_of_a_manifest_may_stand_in_any_order(void **state)
{
	static const uint16_t orders[][4] = { { 3, 2, 1, 0 }, { 1, 0, 3, 2 }, { 2, 3, 0, 1 },
					      { 0, 2, 1, 3 }, { 1, 2, 3, 0 }, { 3, 0, 1, 2 } };
	struct fixture *fixture = *state;

	announce_name(fixture, SECOND, 1000, "Newest");
	for (unsigned i = 0; i < 6; i++) {
		struct cut_manifest manifest;
		char name[20];

		snprintf(name, sizeof name, "Order%u", i);
		cut_up(&manifest, 100 + i, 100, 4, name);
		for (unsigned j = 0; j < 4; j++) {
			show_chunk(fixture, &manifest, orders[i][j]);
		}
		text_free(&manifest.xml);
	}
	etw_trace_schemas_finish(fixture->trace);
	for (unsigned i = 0; i < 6; i++) {
		char name[20];

		snprintf(name, sizeof name, "Order%u", i);
		assert_called(fixture, 1, 100 + i, 200, name);
	}
}

/* One process announces two texts one after the other, and their chunks stand mixed in the file. */
static void chunks_belong_to_the_announcement_that_is_nearest_in_time(void **state)
{
	enum { MINUTE = 60 * 10 * 1000 * 1000 };
	static const struct {
		bool later;
		uint16_t number;
	} orders[][4] = {
		{ { false, 1 }, { true, 0 }, { true, 1 }, { false, 0 } },
		{ { false, 0 }, { true, 0 }, { false, 1 }, { true, 1 } },
		{ { true, 1 }, { false, 1 }, { true, 0 }, { false, 0 } },
	};
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 3; i++) {
		struct cut_manifest former, later;

		cut_up(&former, 100 + i, 0, 2, "Former");
		cut_up(&later, 100 + i, MINUTE, 2, "Latter");
		for (unsigned j = 0; j < 4; j++) {
			show_chunk(fixture, orders[i][j].later ? &later : &former,
				   orders[i][j].number);
		}
		text_free(&former.xml);
		text_free(&later.xml);
	}
	etw_trace_schemas_finish(fixture->trace);
	for (unsigned i = 0; i < 3; i++) {
		assert_called(fixture, 1, 100 + i, MINUTE - 1, "Former");
		assert_called(fixture, 1, 100 + i, MINUTE, "Latter");
	}
}

/* The first chunk holds, wherever it stands. */
static void a_manifest_holds_from_its_chunk_0_on_wherever_that_stands(void **state)
{
	struct fixture *fixture = *state;
	struct cut_manifest manifest;

	announce_name(fixture, FIRST, 100, "Former");
	cut_up(&manifest, FIRST, 200, 3, "Later");
	show_chunk(fixture, &manifest, 2);
	show_chunk(fixture, &manifest, 0);
	show_chunk(fixture, &manifest, 1);
	text_free(&manifest.xml);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, 199, "Former");
	assert_called(fixture, 1, FIRST, 200, "Later");
}

static void what_is_no_whole_manifest_replaces_none(void **state)
{
	struct fixture *fixture = *state;
	const struct inband_manifest own = { .provider = &alpha, .process_id = FIRST, .time = 300 };

	announce_name(fixture, FIRST, 100, "Own");
	announce_name(fixture, SECOND, 200, "Other");
	announce_chunk(&own, 0, 1, "<garbage", 8, look, fixture);
	announce_chunk(&own, 0, 2, "<instrumentationManifest>", 25, look, fixture);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, FIRST, 400, "Own");
	assert_called(fixture, 1, SILENT, 400, "Other");
}

/* ---- bounds ---- */

static uint64_t dropped(const struct fixture *fixture)
{
	struct etw_trace_schemas_statistics statistics;

	etw_trace_schemas_statistics(fixture->trace, &statistics);
	return statistics.dropped_manifests;
}

static void a_process_that_announces_too_much_loses_its_own(void **state)
{
	enum { HOSTILE = 66, TEXTS = 20000 };
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < TEXTS; i++) {
		char name[20];

		snprintf(name, sizeof name, "x%u", i);
		announce_name(fixture, HOSTILE, i, name);
	}
	/* A process has an eighth of the places for texts. */
	assert_int_equal(dropped(fixture), TEXTS - TRACE_MANIFESTS_MOST / 8);
	announce_name(fixture, FIRST, 100000, "Own");
	announce_name(fixture, SECOND, 200000, "Other");
	assert_int_equal(dropped(fixture), TEXTS - TRACE_MANIFESTS_MOST / 8);
	etw_trace_schemas_finish(fixture->trace);
	assert_called(fixture, 1, HOSTILE, 0, "x0");
	assert_called(fixture, 1, FIRST, 0, "Own");
	assert_called(fixture, 1, SECOND, 0, "Other");
	assert_called(fixture, 1, SILENT, 0, "Other");
}

static void announcements_beyond_the_bound_are_counted(void **state)
{
	enum { HOSTILE = 66, MOST = 1 << 16 };
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < MOST + 5; i++) {
		announce_name(fixture, HOSTILE, i, "Same");
	}
	assert_int_equal(dropped(fixture), 5);
}

static void starts_of_processes_beyond_the_bound_are_counted(void **state)
{
	enum { MOST = 1 << 18 };
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < MOST + 3; i++) {
		change_process(fixture, ETW_KERNEL_OPCODE_START, i, i);
	}
	assert_int_equal(dropped(fixture), 3);
}

/* 1000 processes with a version each, of 50 events that all differ: time must not be squared. */
static void many_versions_are_told_apart(void **state)
{
	enum { PROCESSES = 1000, EVENTS = 50 };
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct etw_text events = { 0 };

		for (unsigned id = 1; id <= EVENTS; id++) {
			text_add_format(&events, "<event value='%u' symbol='E%u'/>", id, i);
		}
		announce(fixture, 1000 + i, i, events.data);
		text_free(&events);
	}
	etw_trace_schemas_finish(fixture->trace);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		char name[20];

		snprintf(name, sizeof name, "E%u", i);
		assert_called(fixture, 1, 1000 + i, 0, name);
		assert_called(fixture, EVENTS, 1000 + i, 0, name);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_process_is_decoded_by_its_own_version),
		TEST(the_newest_is_so_by_time_whatever_the_order_in_the_file),
		TEST(of_equal_times_the_later_one_in_the_file_is_the_newest),
		TEST(events_of_one_layout_are_one_class),
		TEST(one_text_of_many_processes_makes_no_difference),
		TEST(names_of_values_belong_to_the_layout),
		TEST(the_version_of_the_event_comes_before_version_0),
		TEST(what_no_manifest_has_is_decoded_by_its_description),
		TEST(an_id_that_is_reused_means_the_process_of_the_time),
		TEST(the_events_of_kernel_process_say_it_too),
		TEST(without_starts_the_last_announcement_by_then_holds),
		TEST(a_manifest_holds_from_its_first_chunk_on),
		TEST(chunks_of_processes_may_alternate),
		TEST(chunks_of_a_manifest_may_stand_in_any_order),
		TEST(chunks_belong_to_the_announcement_that_is_nearest_in_time),
		TEST(a_manifest_holds_from_its_chunk_0_on_wherever_that_stands),
		TEST(what_is_no_whole_manifest_replaces_none),
		TEST(a_process_that_announces_too_much_loses_its_own),
		TEST(announcements_beyond_the_bound_are_counted),
		TEST(starts_of_processes_beyond_the_bound_are_counted),
		TEST(many_versions_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

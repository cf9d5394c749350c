/* SPDX-License-Identifier: MIT */
/*
 * Manifests of registered providers, against tests/fake_etw: TDH answers with the layouts of real
 * manifests, and what is written from its answers is read back as the manifest it came from.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/describe.h>

#include "lib/decode/manifest/manifest.h"
#include "lib/decode/tdh_types.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/same_schema.h"

static const struct etw_guid alpha = { { 0xa1 } };

static int set_up(void **state)
{
	(void)state;
	fake_etw_reset(NULL);
	return 0;
}

static GUID windows_guid(const struct etw_guid *guid)
{
	GUID made;

	memcpy(&made, guid, sizeof made);
	return made;
}

/* ---- what TDH says of a manifest ---- */

/* The properties of a description, in which the members of a structure follow behind. */
struct described {
	const struct etw_schema *schema;
	struct blob_property properties[ETW_SCHEMA_FIELDS_MOST];
	const char *maps[ETW_SCHEMA_FIELDS_MOST];
	uint16_t property_of[ETW_SCHEMA_FIELDS_MOST]; /* by field */
	uint16_t count;
};

/* Gives the fields of a range their places, those of structures behind all of them. */
static uint16_t place(struct described *to, unsigned first, unsigned end)
{
	uint16_t placed = 0;

	for (unsigned i = first; i < end; i = etw_field_after(to->schema, i)) {
		to->property_of[i] = to->count++;
		placed++;
	}
	for (unsigned i = first; i < end; i = etw_field_after(to->schema, i)) {
		struct blob_property *property = &to->properties[to->property_of[i]];

		if (to->schema->fields[i].type == ETW_FIELD_STRUCT) {
			property->flags = BLOB_STRUCT;
			property->in = to->count;
			property->out = place(to, i + 1, etw_field_after(to->schema, i));
		}
	}
	return placed;
}

static void describe_field(struct described *to, unsigned index)
{
	const struct etw_field *field = &to->schema->fields[index];
	struct blob_property *property = &to->properties[to->property_of[index]];
	struct tdh_names names = { .in_type = "" };

	property->name = field->name;
	property->count = 1;
	to->maps[to->property_of[index]] = field->map ? field->map->name : NULL;
	if (field->count_type == ETW_FIELD_COUNT_FIXED) {
		property->flags |= BLOB_FIXED_COUNT;
		property->count = field->count;
	} else if (field->count_type == ETW_FIELD_COUNT_FIELD) {
		property->flags |= BLOB_COUNT_BY;
		property->count = to->property_of[field->count];
	}
	if (field->type == ETW_FIELD_STRUCT) {
		return;
	}
	assert_true(tdh_names_of(field, &names));
	property->in = (uint16_t)tdh_in_type(names.in_type);
	property->out = (uint16_t)(names.out_type ? tdh_out_type(names.out_type) : 0);
	property->length = names.length;
	if (field->length_type == ETW_FIELD_LENGTH_FIXED) {
		property->flags |= BLOB_FIXED_LENGTH;
		property->length = field->length;
	} else if (field->length_type == ETW_FIELD_LENGTH_FIELD) {
		property->flags |= BLOB_LENGTH_BY;
		property->length = to->property_of[field->length];
	}
}

static void register_map(const struct etw_guid *provider, const struct etw_value_map *map)
{
	struct blob_map_entry *entries = calloc(map->count + 1U, sizeof *entries);
	const struct event_map_blob blob = { .provider = provider,
					     .name = map->name,
					     .bits = map->bits,
					     .entries = entries,
					     .entry_count = map->count };
	const GUID guid = windows_guid(provider);
	struct etw_payload payload;

	assert_non_null(entries);
	for (uint32_t i = 0; i < map->count; i++) {
		entries[i] = (struct blob_map_entry){ map->names[i].value, map->names[i].name };
	}
	etw_payload_init(&payload, 8);
	payload_event_map(&payload, &blob);
	/* Behind the GUID, which only a recording has. */
	fake_etw_tdh_map(&guid, map->name, payload.bytes + sizeof *provider,
			 payload.size - sizeof *provider);
	etw_payload_done(&payload);
	free(entries);
}

static EVENT_DESCRIPTOR descriptor_of(const struct etw_manifest_event *event)
{
	return (EVENT_DESCRIPTOR){ .Id = event->id,
				   .Version = event->version,
				   .Level = event->level,
				   .Opcode = event->opcode,
				   .Task = event->task,
				   .Keyword = event->keywords };
}

static void register_event(const struct etw_guid *provider, const struct etw_manifest_event *event)
{
	struct described *described = calloc(1, sizeof *described);
	const EVENT_DESCRIPTOR descriptor = descriptor_of(event);
	const GUID guid = windows_guid(provider);
	struct event_info_blob blob = { .provider = provider,
					.id = event->id,
					.version = event->version,
					.task = event->task_name,
					.opcode_name = event->opcode_name };
	struct etw_payload payload;

	assert_non_null(described);
	described->schema = event->schema;
	blob.top_level_count = place(described, 0, event->schema->field_count);
	for (unsigned i = 0; i < event->schema->field_count; i++) {
		describe_field(described, i);
		if (event->schema->fields[i].map) {
			register_map(provider, event->schema->fields[i].map);
		}
	}
	blob.properties = described->properties;
	blob.property_count = described->count;
	blob.maps = described->maps;
	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	fake_etw_tdh_event(&guid, &descriptor, false, payload.bytes, payload.size);
	etw_payload_done(&payload);
	free(described);
}

/* Returns the number of events. */
static size_t register_manifest(const struct etw_manifest *manifest,
				const struct etw_guid *provider)
{
	const GUID guid = windows_guid(provider);
	struct etw_manifest_event event;
	const char *name;
	size_t count = 0;
	uint64_t mask;

	while (etw_manifest_event(manifest, 0, count, &event)) {
		register_event(provider, &event);
		count++;
	}
	for (size_t at = 0; manifest_keyword(manifest, 0, &at, &name, &mask);) {
		fake_etw_tdh_keyword(&guid, name, mask);
	}
	return count;
}

static struct etw_manifest *export_manifest(const struct etw_guid *provider, size_t undescribed)
{
	struct etw_manifest_writer *writer = etw_manifest_writer_new(provider, "Alpha", NULL);
	struct etw_manifest *manifest;
	struct etw_error err = { 0 };
	struct etw_text xml = { 0 };
	size_t missing = 0;

	assert_non_null(writer);
	assert_int_equal(etw_tdh_add_events(writer, provider, &missing, &err),
			 ETW_TDH_EVENTS_ADDED);
	assert_int_equal(missing, undescribed);
	etw_manifest_writer_finish(writer, &xml, &err);
	assert_string_equal(err.text, "");
	manifest = manifest_read_checked(xml.data, xml.size, NULL, &err);
	assert_string_equal(err.text, "");
	etw_manifest_writer_free(writer);
	text_free(&xml);
	return manifest;
}

/* ---- tests ---- */

static void built_in_manifests_come_back_from_tdh(void **state)
{
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		const struct builtin_file *file = &builtin_manifests[i];
		struct etw_manifest *manifest =
			manifest_read_checked(file->text, file->size, NULL, NULL);
		struct etw_manifest_event ours, theirs;
		struct etw_manifest *again;
		struct etw_guid provider;
		size_t count;

		set_up(state);
		assert_true(manifest_provider_guid(manifest, 0, &provider));
		count = register_manifest(manifest, &provider);
		again = export_manifest(&provider, 0);
		for (size_t j = 0; j < count; j++) {
			struct etw_schema named;

			assert_true(etw_manifest_event(manifest, 0, j, &ours));
			assert_true(etw_manifest_event(again, 0, j, &theirs));
			assert_int_equal(ours.id, theirs.id);
			assert_int_equal(ours.version, theirs.version);
			assert_int_equal(ours.task, theirs.task);
			assert_int_equal(ours.opcode, theirs.opcode);
			assert_int_equal(ours.level, theirs.level);
			assert_int_equal(ours.keywords, theirs.keywords);
			named = *theirs.schema;
			if (!ours.task_name) {
				named.event = ours.schema->event; /* TDH knows no symbols */
			}
			assert_same_schema(ours.schema, &named);
		}
		assert_false(etw_manifest_event(again, 0, count, &theirs));
		etw_manifest_free(again);
		etw_manifest_free(manifest);
	}
}

static void register_plain(uint16_t id)
{
	struct etw_field field = { .name = "Value", .type = ETW_FIELD_U32 };
	const struct etw_schema schema = { .event = "Work",
					   .fields = &field,
					   .field_count = 1,
					   .first_variable = fields_place(&field, 1) };

	register_event(&alpha,
		       &(struct etw_manifest_event){
			       .schema = &schema, .task_name = "Work", .task = 3, .id = id });
}

/* What TDH lists but cannot describe is counted, and the other events go on. */
static void an_event_that_is_not_described_is_left_out(void **state)
{
	const GUID guid = windows_guid(&alpha);
	const EVENT_DESCRIPTOR bad = { .Id = 8 };
	struct etw_manifest *manifest;
	struct etw_manifest_event event;

	(void)state;
	register_plain(7);
	fake_etw_tdh_event(&guid, &bad, false, "short", 5);
	register_plain(9);
	manifest = export_manifest(&alpha, 1);
	assert_true(etw_manifest_event(manifest, 0, 0, &event));
	assert_int_equal(event.id, 7);
	assert_true(etw_manifest_event(manifest, 0, 1, &event));
	assert_int_equal(event.id, 9);
	assert_false(etw_manifest_event(manifest, 0, 2, &event));
	etw_manifest_free(manifest);
	fake_etw_fail_always("TdhGetManifestEventInformation", ERROR_ACCESS_DENIED);
	etw_manifest_free(export_manifest(&alpha, 3));
	fake_etw_fail_never("TdhGetManifestEventInformation");
}

/* Keywords have made-up names then, and their bits are right. */
static void keywords_without_names_are_kept(void **state)
{
	const GUID guid = windows_guid(&alpha);
	struct etw_field field = { .name = "Value", .type = ETW_FIELD_U32 };
	const struct etw_schema schema = { .event = "Work",
					   .fields = &field,
					   .field_count = 1,
					   .first_variable = fields_place(&field, 1) };
	const struct etw_manifest_event event = { .schema = &schema,
						  .id = 7,
						  .keywords = UINT64_C(0x8001000000000031) };
	struct etw_manifest_event read;
	struct etw_manifest *manifest;

	(void)state;
	register_event(&alpha, &event);
	fake_etw_tdh_keyword(&guid, "Both", 0x30);
	for (unsigned i = 0; i < 2; i++) {
		manifest = export_manifest(&alpha, 0);
		assert_true(etw_manifest_event(manifest, 0, 0, &read));
		assert_int_equal(read.keywords, UINT64_C(0x1000000000031));
		etw_manifest_free(manifest);
		fake_etw_fail_always("TdhEnumerateProviderFieldInformation", ERROR_NOT_SUPPORTED);
	}
	fake_etw_fail_never("TdhEnumerateProviderFieldInformation");
}

static void a_provider_without_a_manifest_has_no_events(void **state)
{
	struct etw_manifest_writer *writer = etw_manifest_writer_new(&alpha, "Alpha", NULL);
	struct etw_error err = { 0 };
	size_t missing = 0;

	(void)state;
	assert_int_equal(etw_tdh_add_events(writer, &alpha, &missing, &err), ETW_TDH_EVENTS_NONE);
	fake_etw_fail_always("TdhEnumerateManifestProviderEvents", ERROR_ACCESS_DENIED);
	assert_int_equal(etw_tdh_add_events(writer, &alpha, &missing, &err), ETW_TDH_EVENTS_FAILED);
	assert_int_equal(strncmp(err.text, "Windows lists no events: ", 25), 0);
	fake_etw_fail_never("TdhEnumerateManifestProviderEvents");
	etw_manifest_writer_free(writer);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(built_in_manifests_come_back_from_tdh),
		TEST(an_event_that_is_not_described_is_left_out),
		TEST(keywords_without_names_are_kept),
		TEST(a_provider_without_a_manifest_has_no_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

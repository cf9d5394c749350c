/* SPDX-License-Identifier: MIT */
/*
 * Manifests that are written: what is read from them equals what they were written from, for the
 * manifests of real providers and for events that other programs could make up.
 */
#include "lib/decode/manifest/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/tdh_types.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/same_schema.h"

#define REFERENCE SOURCE_DIR "/../shared/reference/manifests/"

static const struct etw_guid alpha = { { 0xa1 } };

static struct etw_manifest *read_back(struct etw_manifest_writer *writer, struct etw_text *xml)
{
	struct etw_error err = { 0 };
	struct etw_manifest *manifest;

	etw_manifest_writer_finish(writer, xml, &err);
	assert_string_equal(err.text, "");
	assert_memory_equal(xml->data, ETW_MANIFEST_WRITER_START,
			    sizeof ETW_MANIFEST_WRITER_START - 1);
	manifest = manifest_read_checked(xml->data, xml->size, NULL, &err);
	assert_string_equal(err.text, "");
	return manifest;
}

/* Returns the number of events. */
static size_t assert_written_alike(const struct etw_manifest *manifest)
{
	size_t events = 0;

	for (size_t i = 0; i < manifest_provider_count(manifest); i++) {
		struct etw_manifest_writer_counts counts;
		struct etw_manifest_writer *writer;
		struct etw_manifest *again;
		struct etw_text xml = { 0 };
		struct etw_guid guid;

		assert_true(manifest_provider_guid(manifest, i, &guid));
		writer = etw_manifest_writer_new(&guid, etw_manifest_provider_name(manifest, i),
						 NULL);
		assert_non_null(writer);
		etw_manifest_writer_provider(writer, manifest, i);
		etw_manifest_writer_count(writer, &counts);
		assert_int_equal(counts.cut, 0);
		again = read_back(writer, &xml);
		assert_same_provider(manifest, i, again, 0);
		events += counts.events;
		etw_manifest_free(again);
		etw_manifest_writer_free(writer);
		text_free(&xml);
	}
	return events;
}

static void built_in_manifests_are_written_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		const struct builtin_file *file = &builtin_manifests[i];
		struct etw_manifest *manifest =
			manifest_read_checked(file->text, file->size, NULL, NULL);

		assert_non_null(manifest);
		assert_true(assert_written_alike(manifest) > 0);
		etw_manifest_free(manifest);
	}
}

static void manifests_of_windows_are_written_alike(void **state)
{
	static const char *const names[] = { "ClrEtwAll.man",
					     "Microsoft-Windows-DNS-Client.xml",
					     "Microsoft-Windows-DotNETRuntime.xml",
					     "Microsoft-Windows-HttpService.xml",
					     "Microsoft-Windows-Kernel-EventTracing.xml",
					     "Microsoft-Windows-Kernel-File.xml",
					     "Microsoft-Windows-SMBServer.xml",
					     "Microsoft-Windows-StorPort.xml",
					     "Microsoft-Windows-TCPIP.xml" };
	size_t events = 0;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct etw_manifest *manifest;
		struct etw_error err = { 0 };
		char path[1024], *bytes;
		size_t size;

		snprintf(path, sizeof path, "%s%s", REFERENCE, names[i]);
		if (!file_read_whole(path, 16 << 20, &bytes, &size, &err)) {
			print_message("%s is absent: skipped\n", path);
			skip();
		}
		manifest = manifest_read_checked(bytes, size, NULL, &err);
		assert_string_equal(err.text, "");
		events += assert_written_alike(manifest);
		etw_manifest_free(manifest);
		free(bytes);
	}
	assert_true(events > 1000);
}

/* ---- made-up events ---- */

static struct etw_manifest *write_event(const struct etw_schema *schema,
					struct etw_manifest_event event, size_t cut)
{
	struct etw_manifest_writer *writer = etw_manifest_writer_new(&alpha, "Alpha", NULL);
	struct etw_manifest_writer_counts counts;
	struct etw_manifest *manifest;
	struct etw_text xml = { 0 };

	assert_non_null(writer);
	event.schema = schema;
	manifest_writer_event(writer, &event);
	etw_manifest_writer_count(writer, &counts);
	assert_int_equal(counts.events, 1);
	assert_int_equal(counts.cut, cut);
	manifest = read_back(writer, &xml);
	etw_manifest_writer_free(writer);
	text_free(&xml);
	return manifest;
}

static struct etw_schema schema_of(struct etw_field *fields, uint16_t count)
{
	return (struct etw_schema){ .event = "7",
				    .fields = fields,
				    .field_count = count,
				    .first_variable = fields_place(fields, count),
				    .origin = ETW_SCHEMA_MANIFEST };
}

/* Every type that an in-type and an out-type can make is written so that it is read again. */
static void every_type_has_names(void **state)
{
	static const unsigned out_types[] = { TDH_OUT_DEFAULT, TDH_OUT_STRING,  TDH_OUT_BOOLEAN,
					      TDH_OUT_GUID,    TDH_OUT_PORT,    TDH_OUT_IP4,
					      TDH_OUT_IP6,     TDH_OUT_SOCKADDR };
	size_t types = 0;

	(void)state;
	for (unsigned in = 0; in < 320; in++) {
		for (size_t i = 0; i < sizeof out_types / sizeof out_types[0]; i++) {
			for (unsigned length = 0; length < 3; length++) {
				struct etw_field field = { .name = "F" };
				struct etw_schema schema;
				struct etw_manifest *manifest;

				if (!tdh_field_type(&field, in, out_types[i])) {
					continue;
				}
				if (length > 0 && field_has_length(&field)) {
					field.length_type = ETW_FIELD_LENGTH_FIXED;
					field.length = length == 1 ? 16 : 5;
				}
				tdh_field_finish(&field, out_types[i]);
				schema = schema_of(&field, 1);
				manifest = write_event(&schema,
						       (struct etw_manifest_event){ .id = 7 }, 0);
				assert_same_schema(manifest_schema(manifest, 0, 7, 0, 0), &schema);
				etw_manifest_free(manifest);
				types++;
			}
		}
	}
	assert_true(types > 300);
}

static void references_and_structures_are_kept(void **state)
{
	struct etw_field fields[] = {
		{ .name = "Count", .type = ETW_FIELD_U16 },
		{ .name = "Item",
		  .type = ETW_FIELD_STRUCT,
		  .count_type = ETW_FIELD_COUNT_FIELD,
		  .count = 0,
		  .span = 4 },
		{ .name = "Size", .type = ETW_FIELD_U8 },
		{ .name = "Data",
		  .type = ETW_FIELD_BINARY,
		  .length_type = ETW_FIELD_LENGTH_FIELD,
		  .length = 2 },
		{ .name = "Inner", .type = ETW_FIELD_STRUCT, .span = 1 },
		{ .name = "Text", .type = ETW_FIELD_WSTRING },
		{ .name = "Ids",
		  .type = ETW_FIELD_U32,
		  .count_type = ETW_FIELD_COUNT_FIXED,
		  .count = 3 },
	};
	struct etw_schema schema = schema_of(fields, 7);
	struct etw_manifest *manifest = write_event(
		&schema, (struct etw_manifest_event){ .id = 7, .version = 3, .level = 17 }, 0);
	struct etw_manifest_event event;

	(void)state;
	assert_true(etw_manifest_event(manifest, 0, 0, &event));
	assert_same_schema(event.schema, &schema);
	assert_int_equal(event.version, 3);
	assert_int_equal(event.level, 17);
	etw_manifest_free(manifest);
}

/* The manifest would name another field, or a number, so the template ends before it. */
static void a_reference_that_a_name_does_not_lead_to_ends_the_fields(void **state)
{
	static const char *const names[][2] = { { "N", "N" }, { "16", "M" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct etw_field fields[] = {
			{ .name = names[i][0], .type = ETW_FIELD_U16 },
			{ .name = names[i][1], .type = ETW_FIELD_U16 },
			{ .name = "S", .type = ETW_FIELD_STRUCT, .span = 1 },
			{ .name = "Ids",
			  .type = ETW_FIELD_U32,
			  .count_type = ETW_FIELD_COUNT_FIELD,
			  .count = 0 },
			{ .name = "Last", .type = ETW_FIELD_U8 },
		};
		struct etw_schema schema = schema_of(fields, 5);
		struct etw_manifest *manifest =
			write_event(&schema, (struct etw_manifest_event){ .id = 7 }, 1);

		assert_int_equal(manifest_schema(manifest, 0, 7, 0, 0)->field_count, 2);
		etw_manifest_free(manifest);
	}
}

static void names_from_outside_are_escaped(void **state)
{
	static const char hostile[] = "<&\"'>\t\r\n]]> \xc3\x84\xf0\x9f\x98\x80 $(string.map1.0)";
	struct etw_value_name names[] = { { .value = 1, .name = "<b>&amp;\"" },
					  { .value = 2, .name = "$(string.map1.0)" } };
	struct etw_value_map map = { .names = names, .count = 2, .name = hostile };
	struct etw_field fields[] = { { .name = hostile, .type = ETW_FIELD_U8, .map = &map },
				      { .name = "S",
					.type = ETW_FIELD_ASTRING,
					.length_type = ETW_FIELD_LENGTH_FIELD,
					.length = 0 } };
	struct etw_manifest_event event = {
		.id = 7, .task_name = hostile, .opcode_name = "win:\"Go\"", .task = 5, .opcode = 77
	};
	struct etw_manifest_writer *writer = etw_manifest_writer_new(&alpha, hostile, NULL);
	struct etw_schema schema = schema_of(fields, 2);
	struct etw_manifest *manifest;
	struct etw_text xml = { 0 };

	(void)state;
	value_map_sort(&map);
	manifest_writer_keyword(writer, "a \"keyword\"", 0x30);
	event.schema = &schema;
	event.keywords = 0x31;
	manifest_writer_event(writer, &event);
	manifest = read_back(writer, &xml);
	assert_string_equal(etw_manifest_provider_name(manifest, 0), hostile);
	assert_true(etw_manifest_event(manifest, 0, 0, &event));
	assert_int_equal(event.task, 5);
	assert_int_equal(event.opcode, 77);
	assert_int_equal(event.keywords, 0x31);
	schema.event = event.schema->event;
	assert_same_schema(event.schema, &schema);
	assert_string_equal(event.task_name, hostile);
	assert_int_equal(strncmp(event.schema->event, hostile, sizeof hostile - 1), 0);
	etw_manifest_free(manifest);
	etw_manifest_writer_free(writer);
	text_free(&xml);
}

/* Control characters, which XML has no way to write. */
static void what_xml_does_not_have_becomes_a_replacement(void **state)
{
	struct etw_field field = { .name = "a\x01\xef\xbf\xbe", .type = ETW_FIELD_U8 };
	struct etw_schema schema = schema_of(&field, 1);
	struct etw_manifest *manifest =
		write_event(&schema, (struct etw_manifest_event){ .id = 7 }, 0);

	(void)state;
	assert_string_equal(manifest_schema(manifest, 0, 7, 0, 0)->fields[0].name,
			    "a\xef\xbf\xbd\xef\xbf\xbd");
	etw_manifest_free(manifest);
}

static void maps_of_one_name_stay_two(void **state)
{
	struct etw_value_name up[] = { { .value = 1, .name = "Up" } };
	struct etw_value_name down[] = { { .value = 1, .name = "Down" } };
	struct etw_value_map maps[] = { { .names = up, .count = 1, .name = "States" },
					{ .names = down, .count = 1, .name = "States" },
					{ .names = up, .count = 1, .name = "States" },
					{ .names = up, .count = 1, .bits = true } };
	struct etw_field fields[] = { { .name = "A", .type = ETW_FIELD_U8, .map = &maps[0] },
				      { .name = "B", .type = ETW_FIELD_U8, .map = &maps[1] },
				      { .name = "C", .type = ETW_FIELD_U8, .map = &maps[2] },
				      { .name = "D", .type = ETW_FIELD_U8, .map = &maps[3] } };
	struct etw_schema schema = schema_of(fields, 4);
	struct etw_manifest *manifest =
		write_event(&schema, (struct etw_manifest_event){ .id = 7 }, 0);
	const struct etw_schema *read = manifest_schema(manifest, 0, 7, 0, 0);

	(void)state;
	assert_same_schema(read, &schema);
	assert_ptr_equal(read->fields[0].map, read->fields[2].map);
	assert_string_equal(read->fields[0].map->name, "States");
	etw_manifest_free(manifest);
}

static void the_first_of_two_descriptions_of_an_event_counts(void **state)
{
	struct etw_manifest_writer *writer = etw_manifest_writer_new(&alpha, "Alpha", NULL);
	struct etw_field a = { .name = "A", .type = ETW_FIELD_U8 },
			 b = { .name = "B", .type = ETW_FIELD_U8 };
	struct etw_schema first = schema_of(&a, 1), second = schema_of(&b, 1);
	struct etw_manifest_writer_counts counts;
	struct etw_manifest *manifest;
	struct etw_text xml = { 0 };

	(void)state;
	manifest_writer_event(writer, &(struct etw_manifest_event){ .schema = &first, .id = 7 });
	manifest_writer_event(writer, &(struct etw_manifest_event){ .schema = &second, .id = 7 });
	manifest_writer_event(writer, &(struct etw_manifest_event){ .schema = &second, .id = 8 });
	etw_manifest_writer_count(writer, &counts);
	assert_int_equal(counts.events, 2);
	manifest = read_back(writer, &xml);
	assert_string_equal(manifest_schema(manifest, 0, 7, 0, 0)->fields[0].name, "A");
	assert_string_equal(manifest_schema(manifest, 0, 8, 0, 0)->fields[0].name, "B");
	etw_manifest_free(manifest);
	etw_manifest_writer_free(writer);
	text_free(&xml);
}

/* ---- descriptions ---- */

static const struct etw_value_map *find_map(void *context, const struct etw_event_info *info,
					    uint32_t name)
{
	struct etw_text text = { 0 };

	etw_event_info_string(info->bytes, info->size, name, &text);
	assert_string_equal(text.data, "States");
	text_free(&text);
	return context;
}

static void a_description_is_an_event(void **state)
{
	static const struct blob_property properties[] = { { "State", 0, 4, 0, 1, 1 },
							   { "Count", 0, 6, 0, 1, 2 },
							   { "Item", BLOB_STRUCT | BLOB_COUNT_BY, 3,
							     1, 1, 0 },
							   { "Name", 0, 1, 0, 1, 0 } };
	static const char *const maps[] = { "States", NULL, NULL, NULL };
	struct event_info_blob blob = { .provider = &alpha,
					.id = 7,
					.version = 2,
					.task = "Work ",
					.opcode_name = "win:Start",
					.opcode = 1,
					.properties = properties,
					.property_count = 4,
					.top_level_count = 3,
					.maps = maps };
	struct etw_value_name names[] = { { .value = 1, .name = "Up" } };
	struct etw_value_map map = { .names = names, .count = 1, .name = "States" };
	struct etw_manifest_writer *writer = etw_manifest_writer_new(&alpha, "Alpha", NULL);
	struct described_schema made;
	struct etw_manifest *manifest;
	struct etw_manifest_event event;
	struct etw_event_info info;
	struct etw_payload payload;
	struct etw_text xml = { 0 };

	(void)state;
	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	assert_true(etw_event_info_view(payload.bytes, (uint32_t)payload.size, &info));
	assert_true(etw_manifest_writer_info(writer, &info, find_map, &map));
	assert_true(event_info_schema(&info, &made, NULL));
	made.fields.fields[0].map = &map;
	manifest = read_back(writer, &xml);
	assert_true(etw_manifest_event(manifest, 0, 0, &event));
	assert_same_schema(event.schema, &made.schema);
	assert_string_equal(event.schema->event, "Work/Start");
	assert_int_equal(event.opcode, 1);
	assert_int_equal(event.version, 2);
	described_schema_done(&made);
	etw_manifest_free(manifest);
	blob.source = ETW_EVENT_INFO_MOF;
	etw_payload_clear(&payload);
	payload_event_info(&payload, &blob);
	assert_true(etw_event_info_view(payload.bytes, (uint32_t)payload.size, &info));
	assert_false(etw_manifest_writer_info(writer, &info, find_map, &map));
	etw_payload_done(&payload);
	etw_manifest_writer_free(writer);
	text_free(&xml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in_manifests_are_written_alike),
		cmocka_unit_test(manifests_of_windows_are_written_alike),
		cmocka_unit_test(every_type_has_names),
		cmocka_unit_test(references_and_structures_are_kept),
		cmocka_unit_test(a_reference_that_a_name_does_not_lead_to_ends_the_fields),
		cmocka_unit_test(names_from_outside_are_escaped),
		cmocka_unit_test(what_xml_does_not_have_becomes_a_replacement),
		cmocka_unit_test(maps_of_one_name_stay_two),
		cmocka_unit_test(the_first_of_two_descriptions_of_an_event_counts),
		cmocka_unit_test(a_description_is_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

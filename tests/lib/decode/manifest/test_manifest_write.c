/* SPDX-License-Identifier: MIT */
/*
 * Manifests that are written: what is read from them equals what they were written from, for the
 * manifests of real providers and for events that other programs could make up.
 */
#include "lib/decode/manifest/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/builtin.h"
#include "lib/decode/tdh_types.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/same_schema.h"

#define REFERENCE SOURCE_DIR "/../shared/reference/manifests/"

static const struct guid alpha = { { 0xa1 } };

static struct manifest *read_back(struct manifest_writer *writer, struct text *xml)
{
	struct error err = { 0 };
	struct manifest *manifest;

	manifest_writer_finish(writer, xml, &err);
	assert_string_equal(err.text, "");
	assert_memory_equal(xml->data, MANIFEST_WRITER_START, sizeof MANIFEST_WRITER_START - 1);
	manifest = manifest_read_checked(xml->data, xml->size, NULL, &err);
	assert_string_equal(err.text, "");
	return manifest;
}

/* Returns the number of events. */
static size_t assert_written_alike(const struct manifest *manifest)
{
	size_t events = 0;

	for (size_t i = 0; i < manifest_provider_count(manifest); i++) {
		struct manifest_writer_counts counts;
		struct manifest_writer *writer;
		struct manifest *again;
		struct text xml = { 0 };
		struct guid guid;

		assert_true(manifest_provider_guid(manifest, i, &guid));
		writer = manifest_writer_new(&guid, manifest_provider_name(manifest, i), NULL);
		assert_non_null(writer);
		manifest_writer_provider(writer, manifest, i);
		manifest_writer_count(writer, &counts);
		assert_int_equal(counts.cut, 0);
		again = read_back(writer, &xml);
		assert_same_provider(manifest, i, again, 0);
		events += counts.events;
		manifest_free(again);
		manifest_writer_free(writer);
		text_free(&xml);
	}
	return events;
}

static void built_in_manifests_are_written_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		const struct builtin_file *file = &builtin_manifests[i];
		struct manifest *manifest =
			manifest_read_checked(file->text, file->size, NULL, NULL);

		assert_non_null(manifest);
		assert_true(assert_written_alike(manifest) > 0);
		manifest_free(manifest);
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
		struct manifest *manifest;
		struct error err = { 0 };
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
		manifest_free(manifest);
		free(bytes);
	}
	assert_true(events > 1000);
}

/* ---- made-up events ---- */

static struct manifest *write_event(const struct schema *schema, struct manifest_event event,
				    size_t cut)
{
	struct manifest_writer *writer = manifest_writer_new(&alpha, "Alpha", NULL);
	struct manifest_writer_counts counts;
	struct manifest *manifest;
	struct text xml = { 0 };

	assert_non_null(writer);
	event.schema = schema;
	manifest_writer_event(writer, &event);
	manifest_writer_count(writer, &counts);
	assert_int_equal(counts.events, 1);
	assert_int_equal(counts.cut, cut);
	manifest = read_back(writer, &xml);
	manifest_writer_free(writer);
	text_free(&xml);
	return manifest;
}

static struct schema schema_of(struct field *fields, uint16_t count)
{
	return (struct schema){ .event = "7",
				.fields = fields,
				.field_count = count,
				.first_variable = fields_place(fields, count),
				.origin = SCHEMA_MANIFEST };
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
				struct field field = { .name = "F" };
				struct schema schema;
				struct manifest *manifest;

				if (!tdh_field_type(&field, in, out_types[i])) {
					continue;
				}
				if (length > 0 && field_has_length(&field)) {
					field.length_type = FIELD_LENGTH_FIXED;
					field.length = length == 1 ? 16 : 5;
				}
				tdh_field_finish(&field, out_types[i]);
				schema = schema_of(&field, 1);
				manifest =
					write_event(&schema, (struct manifest_event){ .id = 7 }, 0);
				assert_same_schema(manifest_schema(manifest, 0, 7, 0, 0), &schema);
				manifest_free(manifest);
				types++;
			}
		}
	}
	assert_true(types > 300);
}

static void references_and_structures_are_kept(void **state)
{
	struct field fields[] = {
		{ .name = "Count", .type = FIELD_U16 },
		{ .name = "Item",
		  .type = FIELD_STRUCT,
		  .count_type = FIELD_COUNT_FIELD,
		  .count = 0,
		  .span = 4 },
		{ .name = "Size", .type = FIELD_U8 },
		{ .name = "Data",
		  .type = FIELD_BINARY,
		  .length_type = FIELD_LENGTH_FIELD,
		  .length = 2 },
		{ .name = "Inner", .type = FIELD_STRUCT, .span = 1 },
		{ .name = "Text", .type = FIELD_WSTRING },
		{ .name = "Ids", .type = FIELD_U32, .count_type = FIELD_COUNT_FIXED, .count = 3 },
	};
	struct schema schema = schema_of(fields, 7);
	struct manifest *manifest = write_event(
		&schema, (struct manifest_event){ .id = 7, .version = 3, .level = 17 }, 0);
	struct manifest_event event;

	(void)state;
	assert_true(manifest_event(manifest, 0, 0, &event));
	assert_same_schema(event.schema, &schema);
	assert_int_equal(event.version, 3);
	assert_int_equal(event.level, 17);
	manifest_free(manifest);
}

/* The manifest would name another field, or a number, so the template ends before it. */
static void a_reference_that_a_name_does_not_lead_to_ends_the_fields(void **state)
{
	static const char *const names[][2] = { { "N", "N" }, { "16", "M" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct field fields[] = {
			{ .name = names[i][0], .type = FIELD_U16 },
			{ .name = names[i][1], .type = FIELD_U16 },
			{ .name = "S", .type = FIELD_STRUCT, .span = 1 },
			{ .name = "Ids",
			  .type = FIELD_U32,
			  .count_type = FIELD_COUNT_FIELD,
			  .count = 0 },
			{ .name = "Last", .type = FIELD_U8 },
		};
		struct schema schema = schema_of(fields, 5);
		struct manifest *manifest =
			write_event(&schema, (struct manifest_event){ .id = 7 }, 1);

		assert_int_equal(manifest_schema(manifest, 0, 7, 0, 0)->field_count, 2);
		manifest_free(manifest);
	}
}

static void names_from_outside_are_escaped(void **state)
{
	static const char hostile[] = "<&\"'>\t\r\n]]> \xc3\x84\xf0\x9f\x98\x80 $(string.map1.0)";
	struct value_name names[] = { { .value = 1, .name = "<b>&amp;\"" },
				      { .value = 2, .name = "$(string.map1.0)" } };
	struct value_map map = { .names = names, .count = 2, .name = hostile };
	struct field fields[] = { { .name = hostile, .type = FIELD_U8, .map = &map },
				  { .name = "S",
				    .type = FIELD_ASTRING,
				    .length_type = FIELD_LENGTH_FIELD,
				    .length = 0 } };
	struct manifest_event event = {
		.id = 7, .task_name = hostile, .opcode_name = "win:\"Go\"", .task = 5, .opcode = 77
	};
	struct manifest_writer *writer = manifest_writer_new(&alpha, hostile, NULL);
	struct schema schema = schema_of(fields, 2);
	struct manifest *manifest;
	struct text xml = { 0 };

	(void)state;
	value_map_sort(&map);
	manifest_writer_keyword(writer, "a \"keyword\"", 0x30);
	event.schema = &schema;
	event.keywords = 0x31;
	manifest_writer_event(writer, &event);
	manifest = read_back(writer, &xml);
	assert_string_equal(manifest_provider_name(manifest, 0), hostile);
	assert_true(manifest_event(manifest, 0, 0, &event));
	assert_int_equal(event.task, 5);
	assert_int_equal(event.opcode, 77);
	assert_int_equal(event.keywords, 0x31);
	schema.event = event.schema->event;
	assert_same_schema(event.schema, &schema);
	assert_string_equal(event.task_name, hostile);
	assert_int_equal(strncmp(event.schema->event, hostile, sizeof hostile - 1), 0);
	manifest_free(manifest);
	manifest_writer_free(writer);
	text_free(&xml);
}

/* Control characters, which XML has no way to write. */
static void what_xml_does_not_have_becomes_a_replacement(void **state)
{
	struct field field = { .name = "a\x01\xef\xbf\xbe", .type = FIELD_U8 };
	struct schema schema = schema_of(&field, 1);
	struct manifest *manifest = write_event(&schema, (struct manifest_event){ .id = 7 }, 0);

	(void)state;
	assert_string_equal(manifest_schema(manifest, 0, 7, 0, 0)->fields[0].name,
			    "a\xef\xbf\xbd\xef\xbf\xbd");
	manifest_free(manifest);
}

static void maps_of_one_name_stay_two(void **state)
{
	struct value_name up[] = { { .value = 1, .name = "Up" } };
	struct value_name down[] = { { .value = 1, .name = "Down" } };
	struct value_map maps[] = { { .names = up, .count = 1, .name = "States" },
				    { .names = down, .count = 1, .name = "States" },
				    { .names = up, .count = 1, .name = "States" },
				    { .names = up, .count = 1, .bits = true } };
	struct field fields[] = { { .name = "A", .type = FIELD_U8, .map = &maps[0] },
				  { .name = "B", .type = FIELD_U8, .map = &maps[1] },
				  { .name = "C", .type = FIELD_U8, .map = &maps[2] },
				  { .name = "D", .type = FIELD_U8, .map = &maps[3] } };
	struct schema schema = schema_of(fields, 4);
	struct manifest *manifest = write_event(&schema, (struct manifest_event){ .id = 7 }, 0);
	const struct schema *read = manifest_schema(manifest, 0, 7, 0, 0);

	(void)state;
	assert_same_schema(read, &schema);
	assert_ptr_equal(read->fields[0].map, read->fields[2].map);
	assert_string_equal(read->fields[0].map->name, "States");
	manifest_free(manifest);
}

static void the_first_of_two_descriptions_of_an_event_counts(void **state)
{
	struct manifest_writer *writer = manifest_writer_new(&alpha, "Alpha", NULL);
	struct field a = { .name = "A", .type = FIELD_U8 }, b = { .name = "B", .type = FIELD_U8 };
	struct schema first = schema_of(&a, 1), second = schema_of(&b, 1);
	struct manifest_writer_counts counts;
	struct manifest *manifest;
	struct text xml = { 0 };

	(void)state;
	manifest_writer_event(writer, &(struct manifest_event){ .schema = &first, .id = 7 });
	manifest_writer_event(writer, &(struct manifest_event){ .schema = &second, .id = 7 });
	manifest_writer_event(writer, &(struct manifest_event){ .schema = &second, .id = 8 });
	manifest_writer_count(writer, &counts);
	assert_int_equal(counts.events, 2);
	manifest = read_back(writer, &xml);
	assert_string_equal(manifest_schema(manifest, 0, 7, 0, 0)->fields[0].name, "A");
	assert_string_equal(manifest_schema(manifest, 0, 8, 0, 0)->fields[0].name, "B");
	manifest_free(manifest);
	manifest_writer_free(writer);
	text_free(&xml);
}

/* ---- descriptions ---- */

static const struct value_map *find_map(void *context, const struct event_info *info, uint32_t name)
{
	struct text text = { 0 };

	event_info_string(info->bytes, info->size, name, &text);
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
	struct value_name names[] = { { .value = 1, .name = "Up" } };
	struct value_map map = { .names = names, .count = 1, .name = "States" };
	struct manifest_writer *writer = manifest_writer_new(&alpha, "Alpha", NULL);
	struct described_schema made;
	struct manifest *manifest;
	struct manifest_event event;
	struct event_info info;
	struct payload payload;
	struct text xml = { 0 };

	(void)state;
	payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	assert_true(event_info_view(payload.bytes, (uint32_t)payload.size, &info));
	assert_true(manifest_writer_info(writer, &info, find_map, &map));
	assert_true(event_info_schema(&info, &made, NULL));
	made.fields.fields[0].map = &map;
	manifest = read_back(writer, &xml);
	assert_true(manifest_event(manifest, 0, 0, &event));
	assert_same_schema(event.schema, &made.schema);
	assert_string_equal(event.schema->event, "Work/Start");
	assert_int_equal(event.opcode, 1);
	assert_int_equal(event.version, 2);
	described_schema_done(&made);
	manifest_free(manifest);
	blob.source = EVENT_INFO_MOF;
	payload_clear(&payload);
	payload_event_info(&payload, &blob);
	assert_true(event_info_view(payload.bytes, (uint32_t)payload.size, &info));
	assert_false(manifest_writer_info(writer, &info, find_map, &map));
	payload_done(&payload);
	manifest_writer_free(writer);
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

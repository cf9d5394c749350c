/* SPDX-License-Identifier: MIT */
/*
 * Names of the files that manifests are exported to, which of two manifests is exported, and what
 * becomes of more descriptions than there is room for.
 */
#include "etwtool/recorded_schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "lib/decode/event_info.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/inband_manifest.h"

#define GUID_TEXT "0063715b-eeda-4007-9429-ad526f62696e"

static void assert_file(const char *name, unsigned copy, const char *file)
{
	struct etw_guid guid;
	struct etw_text out = { 0 };

	assert_true(etw_guid_parse(GUID_TEXT, &guid));
	text_add_string(&out, "DIR/");
	export_manifests_file_name(&out, name, &guid, copy);
	assert_string_equal(out.data + 4, file);
	text_free(&out);
}

static void files_have_the_names_of_providers(void **state)
{
	(void)state;
	assert_file("Microsoft-Windows-Services", 0, "Microsoft-Windows-Services.man");
	assert_file("Microsoft-Windows-Windows Firewall With Advanced Security", 0,
		    "Microsoft-Windows-Windows Firewall With Advanced Security.man");
	assert_file("Services", 1, "Services-" GUID_TEXT ".man");
	assert_file("Services", 2, "Services-" GUID_TEXT "-2.man");
	assert_file("Services", 10, "Services-" GUID_TEXT "-10.man");
	assert_file("", 0, GUID_TEXT ".man");
}

static void what_no_file_name_has_becomes_a_low_line(void **state)
{
	(void)state;
	assert_file("../../etc/passwd", 0, "_.._.._etc_passwd.man");
	assert_file("a<b>:\"/\\|?*\t\x7f", 0, "a_b__________.man");
	assert_file(".hidden", 0, "_.hidden.man");
	assert_file("a\xff", 0, "a_.man");
	assert_file("a\xe2\x80\xae"
		    "b",
		    0, "a_b.man");
}

/* Windows opens the device, also with an ending. */
static void names_of_devices_are_changed(void **state)
{
	(void)state;
	assert_file("CON", 0, "_CON.man");
	assert_file("nul.txt", 0, "_nul.txt.man");
	assert_file("Com1", 0, "_Com1.man");
	assert_file("lpt9 .x", 0, "_lpt9 .x.man");
	assert_file("Contoso", 0, "Contoso.man");
	assert_file("COMPANY", 0, "COMPANY.man");
	assert_file("COM12", 0, "COM12.man");
}

/* Which letters are the same in another case is up to the file system. */
static void letters_beyond_ascii_bring_the_guid(void **state)
{
	(void)state;
	assert_file("\xc3\x84pfel", 0, "\xc3\x84pfel-" GUID_TEXT ".man");
}

static void long_names_are_cut_between_characters(void **state)
{
	char name[401], file[201];
	struct etw_text out = { 0 };
	struct etw_guid guid = { { 1 } };

	(void)state;
	memset(name, 'a', 400);
	name[400] = '\0';
	memset(file, 'a', 120);
	strcpy(file + 120, ".man");
	assert_file(name, 0, file);
	for (size_t i = 0; i < 400; i += 4) {
		memcpy(name + i, "\xf0\x9f\x98\x80", 4);
	}
	export_manifests_file_name(&out, name, &guid, 0);
	assert_int_equal(out.size, 120 + 1 + 36 + 4);
	assert_memory_equal(out.data + 116, "\xf0\x9f\x98\x80-", 5);
	text_free(&out);
}

static void learn_record(void *context, const struct etw_record *record)
{
	recorded_schemas_learn(context, record);
}

static void announce(struct recorded_schemas *recorded, uint32_t process_id, int64_t time,
		     const char *inside)
{
	static const struct etw_guid provider = { { 0xa1 } };
	const struct inband_manifest manifest = { .provider = &provider,
						  .process_id = process_id,
						  .time = time,
						  .name = "Alpha",
						  .inside = inside };

	announce_chunks(&manifest, learn_record, recorded);
}

static void take_xml(void *context, const struct etw_guid *provider, const char *name,
		     struct etw_manifest_writer *writer)
{
	struct etw_error err;

	(void)provider;
	assert_string_equal(name, "Alpha");
	assert_true(etw_manifest_writer_finish(writer, context, &err));
}

/* An EventSource announces its manifest when a session enables it, and again when it stops. */
static void the_manifest_that_was_announced_last_is_exported(void **state)
{
	static const char old[] = "<events><event value='1' symbol='Old'/>"
				  "<event value='2' symbol='OldAlone'/></events>";
	static const char new[] = "<events><event value='1' symbol='New'/>"
				  "<event value='3' symbol='NewAlone'/></events>";

	(void)state;
	for (unsigned again = 0; again < 2; again++) {
		struct recorded_schemas *recorded = recorded_schemas_new(NULL);
		struct etw_text xml = { 0 };

		assert_non_null(recorded);
		announce(recorded, 10, 100, old);
		announce(recorded, 20, 200, new);
		if (again) {
			announce(recorded, 10, 300, old);
		}
		assert_true(recorded_schemas_visit(recorded, take_xml, &xml, NULL));
		assert_non_null(xml.data);
		assert_int_equal(strstr(xml.data, "symbol=\"Old\"") != NULL, again);
		assert_int_equal(strstr(xml.data, "symbol=\"New\"") != NULL, !again);
		assert_non_null(strstr(xml.data, "symbol=\"OldAlone\""));
		assert_non_null(strstr(xml.data, "symbol=\"NewAlone\""));
		text_free(&xml);
		recorded_schemas_free(recorded);
	}
}

/* Shows payloads that differ in the provider with which they begin: numbers first … end - 1. */
static void look_at_providers(struct recorded_schemas *recorded, uint8_t opcode,
			      struct etw_payload *payload, uint32_t first, uint32_t end)
{
	static const struct etw_guid meta_data = ETW_META_DATA_CLASS;
	const struct etw_record record = {
		.provider = &meta_data,
		.type = ETW_RECORD_FULL,
		.classic = true,
		.opcode = opcode,
		.payload = payload->bytes,
		.payload_size = (uint32_t)payload->size,
	};

	assert_false(payload->failed);
	for (uint32_t i = first; i < end; i++) {
		store_u32(payload->bytes, i);
		recorded_schemas_learn(recorded, &record);
	}
}

static const struct etw_guid provider_of_many = { { 0xa2 } };

static void a_map_without_room_is_counted_once(void **state)
{
	enum { ROOM = 1 << 16, MORE = 10 };
	static const struct blob_map_entry entry = { 1, "Small" };
	static const struct event_map_blob blob = {
		.provider = &provider_of_many, .name = "Sizes", .entries = &entry, .entry_count = 1
	};
	struct recorded_schemas *recorded = recorded_schemas_new(NULL);
	struct etw_payload payload;

	(void)state;
	assert_non_null(recorded);
	etw_payload_init(&payload, 8);
	payload_event_map(&payload, &blob);
	for (unsigned again = 0; again < 2; again++) {
		look_at_providers(recorded, META_DATA_EVENT_MAP_INFO, &payload, 0, ROOM + MORE);
		assert_int_equal(recorded_schemas_refused(recorded), MORE);
	}
	etw_payload_done(&payload);
	recorded_schemas_free(recorded);
}

/* Which descriptions were there is remembered of so many; others are new each time. */
static void a_bounded_number_of_descriptions_is_remembered(void **state)
{
	enum { ROOM = 1 << 16, KNOWN = 1 << 20, MORE = 10 };
	static const struct event_info_blob blob = { .provider = &provider_of_many,
						     .id = 1,
						     .source = ETW_EVENT_INFO_MANIFEST,
						     .provider_name = "Alpha" };
	struct recorded_schemas *recorded = recorded_schemas_new(NULL);
	struct etw_payload payload;

	(void)state;
	assert_non_null(recorded);
	etw_payload_init(&payload, 8);
	payload_event_info(&payload, &blob);
	look_at_providers(recorded, META_DATA_EVENT_INFO, &payload, 0, KNOWN + MORE);
	assert_int_equal(recorded_schemas_refused(recorded), KNOWN - ROOM + MORE);
	look_at_providers(recorded, META_DATA_EVENT_INFO, &payload, 0, KNOWN);
	assert_int_equal(recorded_schemas_refused(recorded), KNOWN - ROOM + MORE);
	look_at_providers(recorded, META_DATA_EVENT_INFO, &payload, KNOWN, KNOWN + MORE);
	assert_int_equal(recorded_schemas_refused(recorded), KNOWN - ROOM + 2 * MORE);
	etw_payload_done(&payload);
	recorded_schemas_free(recorded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_have_the_names_of_providers),
		cmocka_unit_test(what_no_file_name_has_becomes_a_low_line),
		cmocka_unit_test(names_of_devices_are_changed),
		cmocka_unit_test(letters_beyond_ascii_bring_the_guid),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(the_manifest_that_was_announced_last_is_exported),
		cmocka_unit_test(a_map_without_room_is_counted_once),
		cmocka_unit_test(a_bounded_number_of_descriptions_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

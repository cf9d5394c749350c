/* SPDX-License-Identifier: MIT */
/*
 * What anonymising does with single records: hidden bytes, extended items, manifests, payloads that
 * no schema explains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "base/cursor.h"
#include "etwtool/relog/anonymise.h"
#include "lib/decode/kernel_class.h"
#include "tests/support/one_record.h"

static struct anonymiser *anonymiser;
static struct one_record one;
static struct etw_payload payload;

static void new_anonymiser(bool keep_undescribed)
{
	struct etw_error err = { 0 };

	anonymiser = anonymiser_new(
		&(struct anonymise_options){
			.key = "k", .key_size = 1, .keep_undescribed = keep_undescribed },
		&err);
	assert_non_null(anonymiser);
	etw_payload_init(&payload, 8);
}

static int tear_down(void **state)
{
	(void)state;
	anonymiser_free(anonymiser);
	anonymiser = NULL;
	etw_payload_done(&payload);
	return 0;
}

static bool older_layout; /* the schemas of records are those of earlier versions */

/* The new bytes of a record with the payload above, and where their payload starts. */
static const uint8_t *anonymised(struct etw_out_record out, const struct etw_schema *schema,
				 enum anonymise_answer expected, size_t *payload_size)
{
	const uint8_t *bytes = one.bytes;
	size_t size, header;
	struct etw_error err = { 0 };

	out.payload = payload.bytes;
	out.payload_size = payload.size;
	one_record_make(&one, &out);
	size = one.size;
	header = size - payload.size;
	assert_int_equal(anonymise_record(anonymiser, &one.walk.record, schema, older_layout,
					  &bytes, &size, &err),
			 expected);
	*payload_size = size - header;
	assert_int_equal(etw_load_u16(bytes + (out.type <= ETW_RECORD_PERFINFO ? 4 : 0)), size);
	return bytes + header;
}

static bool contains(const uint8_t *bytes, size_t size, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i + length <= size; i++) {
		if (memcmp(bytes + i, text, length) == 0) {
			return true;
		}
	}
	return false;
}

static const struct etw_schema *of_one(void)
{
	return kernel_schema(one.walk.record.provider, one.walk.record.opcode,
			     one.walk.record.version);
}

/* SystemConfig/CPU of version 2: the name of the machine in 256 units (docs/etl-format.md section
 * 15), of which a writer left some as they were. */
static void bytes_behind_the_nul_of_a_text_are_cleared(void **state)
{
	struct etw_out_record out = {
		.type = ETW_RECORD_SYSTEM, .group = 11, .opcode = 10, .version = 2
	};
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	etw_payload_zeros(&payload, 5 * 4);
	etw_payload_wstring(&payload, "system");
	etw_payload_bytes(&payload, "S\0e\0c\0r\0e\0t\0", 12);
	etw_payload_zeros(&payload, 2 * (256 - 13) + 2 * 134 + 8);
	out.payload = payload.bytes;
	out.payload_size = payload.size;
	one_record_make(&one, &out);
	assert_non_null(of_one());
	at = anonymised(out, of_one(), ANONYMISE_REPLACED, &size);
	assert_int_equal(size, payload.size);
	assert_memory_equal(at + 20, "s\0y\0s\0t\0e\0m\0\0\0\0\0", 16);
	for (size_t i = 20 + 14; i < size; i++) {
		assert_int_equal(at[i], 0);
	}
}

static const struct etw_guid contoso = { { 0xc0, 1, 2, 3 } };

static void the_account_in_an_extended_item_is_replaced(void **state)
{
	static const uint8_t sid[28] = { 1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0,    1,
					 2, 3, 4, 5, 6, 7, 8, 9, 1,  2, 3, 0xe9, 3 };
	const struct etw_out_item item = { .type = ETW_EXTENDED_SID,
					   .size = sizeof sid,
					   .data = sid };
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	at = anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT,
						 .provider = &contoso,
						 .items = &item,
						 .item_count = 1 },
			NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	assert_memory_equal(at - 32, sid, 12); /* S-1-5-21; 4 bytes of padding follow the SID */
	assert_memory_not_equal(at - 20, sid + 12, 12);
}

/* Also what is no SID, because it is cut or of another revision, and what is behind one. */
static void an_item_of_an_account_keeps_nothing_but_the_form_of_a_sid(void **state)
{
	static const struct {
		const char *bytes;
		uint16_t size;
		uint16_t clear_from;
	} cases[] = {
		/* S-1-5-18, which every Windows has, with a name behind it. */
		{ "\1\1\0\0\0\0\0\5\x12\0\0\0secret.", 20, 12 },
		/* S-1-5-21-…, of whose five numbers two are there. */
		{ "\1\5\0\0\0\0\0\5\x15\0\0\0secr", 16, 0 },
		{ "\2\1\0\0\0\0\0\5secr", 12, 0 },
		{ "secret", 6, 0 },
	};
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_out_item item = { ETW_EXTENDED_SID, cases[i].size,
						   cases[i].bytes };

		at = anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT,
							 .provider = &contoso,
							 .items = &item,
							 .item_count = 1 },
				NULL, ANONYMISE_REPLACED, &size);
		at -= (cases[i].size + 7) / 8 * 8;
		assert_memory_equal(at, cases[i].bytes, cases[i].clear_from);
		for (unsigned j = cases[i].clear_from; j < cases[i].size; j++) {
			assert_int_equal(at[j], 0);
		}
	}
}

/* The id of a container is a GUID as text, which Windows writes without braces. */
static void the_container_in_an_extended_item_is_replaced(void **state)
{
	static const char id[] = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
	enum { SIZE = sizeof id - 1, PADDED = 40 };
	const struct etw_out_item item = { ETW_EXTENDED_CONTAINER_ID, SIZE, id };
	const uint8_t *at;
	unsigned same = 0;
	size_t size;

	(void)state;
	new_anonymiser(false);
	at = anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT,
						 .provider = &contoso,
						 .items = &item,
						 .item_count = 1 },
			NULL, ANONYMISE_REPLACED, &size) -
	     PADDED;
	for (size_t i = 0; i < SIZE; i++) {
		assert_int_equal(at[i] == '-', id[i] == '-');
		assert_non_null(strchr("0123456789abcdef-", at[i]));
		same += at[i] == id[i];
	}
	assert_true(same < SIZE / 2); /* 4 are dashes; of the rest one in 16 by chance */
}

static void what_no_schema_explains_is_dropped_or_kept_as_asked(void **state)
{
	const struct etw_out_record out = { .type = ETW_RECORD_EVENT, .provider = &contoso };
	const struct etw_schema *unknown_version;
	struct anonymise_counts counts;
	struct etw_guid image;
	size_t size;

	(void)state;
	new_anonymiser(false);
	etw_payload_astring(&payload, "secret");
	anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	/* A newer version, in which a field was inserted before the name. */
	assert_true(etw_kernel_class_find("Image", 5, &image));
	unknown_version = kernel_schema(&image, 10, 0);
	etw_payload_clear(&payload);
	etw_payload_zeros(&payload, 7);
	etw_payload_wstring(&payload, "secret");
	anonymised(
		(struct etw_out_record){
			.type = ETW_RECORD_FULL, .provider = &image, .opcode = 10, .version = 200 },
		unknown_version, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.dropped, 2);
	tear_down(state);
	new_anonymiser(true);
	etw_payload_astring(&payload, "secret");
	anonymised(out, NULL, ANONYMISE_SAME, &size);
	assert_int_equal(size, 7);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.kept, 1);
}

/* A field that a newer version has in front moves the text to where the layout has a number. */
static void a_layout_of_an_earlier_version_must_explain_every_byte(void **state)
{
	struct etw_field fields[] = { { .name = "Number", .type = ETW_FIELD_U64 },
				      { .name = "Name", .type = ETW_FIELD_WSTRING } };
	struct etw_schema schema = {
		.event = "Work", .fields = fields, .field_count = 2, .origin = ETW_SCHEMA_MANIFEST
	};
	const struct etw_guid provider = { { 1 } };
	const struct etw_out_record out = { .type = ETW_RECORD_EVENT,
					    .provider = &provider,
					    .id = 1 };
	struct anonymise_counts counts;
	const uint8_t *at;
	size_t size;
	bool kept;

	(void)state;
	schema.first_variable = fields_place(fields, 2);
	new_anonymiser(false);
	older_layout = true;
	etw_payload_u64(&payload, 7);
	etw_payload_wstring(&payload, "secret");
	at = anonymised(out, &schema, ANONYMISE_REPLACED, &size);
	kept = size > 8 && etw_load_u64(at) == 7; /* a name may become longer or shorter */
	etw_payload_clear(&payload);
	etw_payload_wstring(&payload, "secret");
	etw_payload_u64(&payload, 7);
	etw_payload_u64(&payload, 7);
	anonymised(out, &schema, ANONYMISE_REPLACED, &size);
	older_layout = false;
	assert_true(kept);
	assert_int_equal(size, 0);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.dropped, 1);
}

static void add_chunk(uint16_t number, uint16_t total, const char *xml)
{
	etw_payload_clear(&payload);
	etw_payload_bytes(&payload, "\x01\x01\x00\x5b", 4);
	etw_payload_u16(&payload, total);
	etw_payload_u16(&payload, number);
	etw_payload_bytes(&payload, xml, strlen(xml));
}

static void files_in_a_manifest_are_crossed_out_across_chunks(void **state)
{
	const struct etw_out_record out = { .type = ETW_RECORD_EVENT,
					    .provider = &contoso,
					    .process_id = 5,
					    .id = 65534,
					    .opcode = 254,
					    .task = 65534 };
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	add_chunk(0, 2, "<provider name=\"Contoso\" resourceFileName=\"C:\\ann\\se");
	at = anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, payload.size);
	assert_true(contains(at, size, "name=\"Contoso\" resourceFileName=\"x:\\xxx\\xx"));
	add_chunk(1, 2, "cret.dll\" symbol=\"S\"/>");
	at = anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_true(contains(at, size, "xxxx.xxx\" symbol=\"S\"/>"));
}

/* Also the name of the attribute may end with a chunk, and chunks of two processes may alternate.
 */
static void no_cut_of_a_manifest_and_no_other_manifest_hides_a_file(void **state)
{
	static const char xml[] = "<a FileName=\"C:\\ann.dll\" helpLink=\"http://ann/\" b=\"ann\">";
	static const char wanted[] =
		"<a FileName=\"x:\\xxx.xxx\" helpLink=\"xxxx://xxx/\" b=\"ann\">";
	struct etw_out_record out = { .type = ETW_RECORD_EVENT,
				      .provider = &contoso,
				      .process_id = 5,
				      .id = 65534,
				      .opcode = 254,
				      .task = 65534 };
	char part[sizeof xml];
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	for (size_t cut = 1; cut + 1 < sizeof xml; cut++) {
		size_t rest = sizeof xml - 1 - cut;

		memcpy(part, xml, cut);
		part[cut] = '\0';
		add_chunk(0, 2, part);
		at = anonymised(out, NULL,
				memcmp(xml, wanted, cut) ? ANONYMISE_REPLACED : ANONYMISE_SAME,
				&size);
		assert_memory_equal(at + 8, wanted, cut);
		out.process_id = 6;
		add_chunk(0, 2, "<x FileName=\"bob");
		anonymised(out, NULL, ANONYMISE_REPLACED, &size);
		out.process_id = 5;
		add_chunk(1, 2, xml + cut);
		at = anonymised(out, NULL,
				memcmp(xml + cut, wanted + cut, rest) ? ANONYMISE_REPLACED :
									ANONYMISE_SAME,
				&size);
		assert_memory_equal(at + 8, wanted + cut, rest);
	}
}

static const uint8_t node[16] = { 1,    2, 3,    4,    5,    6,    7,    0x11, /* version 1 */
				  0x80, 9, 0x00, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e };
static const uint8_t random_guid[16] = { 1, 2, 3, 4, 5, 6, 7, 0x41, 0x80, 9, 1, 2, 3, 4, 5, 6 };

static void only_activities_with_an_adapter_in_them_are_replaced(void **state)
{
	struct etw_out_item item = { .type = ETW_EXTENDED_RELATED_ACTIVITY,
				     .size = 16,
				     .data = node };
	struct etw_out_record out = {
		.type = ETW_RECORD_EVENT, .provider = &contoso, .items = &item, .item_count = 1
	};
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	at = anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_memory_not_equal(at - 6, node + 10, 6);
	item.data = random_guid;
	anonymised(out, NULL, ANONYMISE_SAME, &size);
}

static void items_of_an_unknown_meaning_are_cleared(void **state)
{
	static const char secret[8] = "secrets";
	const struct etw_out_item item = { .type = 40, .size = sizeof secret, .data = secret };
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	at = anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT,
						 .provider = &contoso,
						 .items = &item,
						 .item_count = 1 },
			NULL, ANONYMISE_REPLACED, &size);
	for (size_t i = 1; i <= sizeof secret; i++) {
		assert_int_equal(at[-(int)i], 0);
	}
}

/* Sizes and layouts: docs/etl-format.md sections 9 and 10.3. */
static void what_is_longer_than_its_item_and_unknown_traits_are_cleared(void **state)
{
	static const struct {
		uint16_t type, size, kept;
		char data[48];
	} cases[] = {
		{ 9, 24, 8, "12345678secretsecretsec" },
		{ 17, 24, 16, "1234567812345678secrets" },
		/* a name and its group, which stays; a trait of type 7; bytes behind the traits */
		{ ETW_EXTENDED_PROVIDER_TRAITS, 40, 26,
		  "\x22\0Name\0\x13\0\x01"
		  "0123456789abcdef\x08\0\x07secrebehind" },
		{ ETW_EXTENDED_PROVIDER_TRAITS, 8, 0, "\x30\0secret" }, /* larger than the item */
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_out_item item = { cases[i].type, cases[i].size, cases[i].data };
		const uint8_t *at;
		size_t size;

		new_anonymiser(false);
		at = anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT,
							 .provider = &contoso,
							 .items = &item,
							 .item_count = 1 },
				NULL, ANONYMISE_REPLACED, &size) -
		     cases[i].size;
		assert_memory_equal(at, cases[i].data, cases[i].kept);
		assert_false(contains(at, cases[i].size, "secre"));
		assert_false(contains(at, cases[i].size, "behind"));
		tear_down(state);
	}
}

static void the_adapter_of_an_old_nic_event_is_replaced(void **state)
{
	const struct etw_out_record out = {
		.type = ETW_RECORD_SYSTEM, .group = 11, .opcode = 13, .version = 1
	};
	static const uint8_t address[16] = { 'A', 0x1a, 0x2b, 0x3c, 0x4d, 0x5e };
	const uint8_t *at;
	struct etw_guid config;
	size_t size;

	(void)state;
	new_anonymiser(false);
	assert_true(etw_kernel_class_find("SystemConfig", 12, &config));
	etw_payload_zeros(&payload, 512 + 8);
	etw_payload_bytes(&payload, address, sizeof address);
	etw_payload_zeros(&payload, 12 * 4);
	at = anonymised(out, kernel_schema(&config, 13, 1), ANONYMISE_REPLACED, &size);
	assert_int_equal(size, payload.size);
	assert_memory_not_equal(at + 520, address, 2);
	assert_memory_not_equal(at + 522, address + 2, 4);
}

/*
 * The eight units of the address are bytes, no text: 02-00-4C-4F-4F-50, the usual address of the
 * loopback adapter of Windows, has a control character in the first unit, and each unit of
 * 41-00-2D-00-42-00 would stay in a text.
 */
static void all_units_of_the_adapter_of_an_old_nic_event_are_replaced(void **state)
{
	static const uint8_t addresses[][16] = {
		{ 0x02, 0x00, 0x4c, 0x4f, 0x4f, 0x50 },
		{ 0x41, 0x00, 0x2d, 0x00, 0x42, 0x00 },
	};
	struct etw_guid config;
	const uint8_t *at;
	size_t size;

	(void)state;
	new_anonymiser(false);
	assert_true(etw_kernel_class_find("SystemConfig", 12, &config));
	for (uint8_t version = 0; version < 2; version++) {
		for (size_t i = 0; i < 2; i++) {
			etw_payload_clear(&payload);
			etw_payload_zeros(&payload, 512 + 8);
			etw_payload_bytes(&payload, addresses[i], sizeof addresses[i]);
			etw_payload_zeros(&payload, 12 * 4);
			at = anonymised((struct etw_out_record){ .type = ETW_RECORD_SYSTEM,
								 .group = 11,
								 .opcode = 13,
								 .version = version },
					kernel_schema(&config, 13, version), ANONYMISE_REPLACED,
					&size);
			assert_int_equal(size, payload.size);
			assert_memory_not_equal(at + 520, addresses[i], 2);
			assert_memory_not_equal(at + 522, addresses[i] + 2, 2);
			assert_memory_not_equal(at + 524, addresses[i] + 4, 2);
		}
	}
}

/* A payload of one field. */
static const uint8_t *of_field(struct etw_field field, const void *bytes, size_t bytes_size,
			       enum anonymise_answer expected)
{
	static struct etw_schema schema;
	static struct etw_field fields[1];
	size_t size;

	fields[0] = field;
	schema = (struct etw_schema){
		.event = "E", .fields = fields, .field_count = 1, .origin = ETW_SCHEMA_MANIFEST
	};
	schema.first_variable = fields_place(fields, 1);
	etw_payload_clear(&payload);
	etw_payload_bytes(&payload, bytes, bytes_size);
	return anonymised((struct etw_out_record){ .type = ETW_RECORD_EVENT, .provider = &contoso },
			  &schema, expected, &size);
}

static void guids_of_devices_change_and_those_of_classes_stay(void **state)
{
	struct etw_guid image;
	const uint8_t *at;

	(void)state;
	new_anonymiser(false);
	assert_true(etw_kernel_class_find("Image", 5, &image));
	at = of_field((struct etw_field){ .name = "Volume", .type = ETW_FIELD_GUID }, random_guid,
		      16, ANONYMISE_REPLACED);
	assert_memory_not_equal(at, random_guid, 8);
	of_field((struct etw_field){ .name = "Class", .type = ETW_FIELD_GUID }, &image, 16,
		 ANONYMISE_SAME);
	of_field((struct etw_field){ .name = "ActivityId", .type = ETW_FIELD_GUID }, random_guid,
		 16, ANONYMISE_SAME);
	of_field((struct etw_field){ .name = "ActivityId", .type = ETW_FIELD_GUID }, node, 16,
		 ANONYMISE_REPLACED);
}

static void lists_of_small_integers_are_cleared(void **state)
{
	static const struct {
		uint8_t type, count_type;
		uint16_t count;
		const char *payload;
		const char *cleared; /* NULL: the values stay */
		size_t size;
	} cases[] = {
		{ ETW_FIELD_U8, ETW_FIELD_COUNT_FIXED, 6, "secret", "\0\0\0\0\0", 6 },
		{ ETW_FIELD_U16, ETW_FIELD_COUNT_FIXED, 3, "s\0e\0c\0", "\0\0\0\0\0", 6 },
		/* Also when the payload ends before the list does, within an element or not. */
		{ ETW_FIELD_U8, ETW_FIELD_COUNT_FIXED, 10, "secret", "\0\0\0\0\0", 6 },
		{ ETW_FIELD_U16, ETW_FIELD_COUNT_FIXED, 9, "s\0e\0c\0", "\0\0\0\0\0", 6 },
		{ ETW_FIELD_U16, ETW_FIELD_COUNT_PREFIX, 0, "\x09\0s\0e\0c", "\x09\0\0\0\0\0\xff",
		  7 },
		{ ETW_FIELD_U32, ETW_FIELD_COUNT_FIXED, 2, "12345678", NULL, 8 },
	};

	(void)state;
	new_anonymiser(false);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const uint8_t *at =
			of_field((struct etw_field){ .name = "Name",
						     .type = cases[i].type,
						     .count_type = cases[i].count_type,
						     .count = cases[i].count },
				 cases[i].payload, cases[i].size,
				 cases[i].cleared ? ANONYMISE_REPLACED : ANONYMISE_SAME);

		if (cases[i].cleared) {
			assert_memory_equal(at, cases[i].cleared, cases[i].size);
		}
	}
}

static void addresses_in_integers_are_replaced_and_their_lengths_stay(void **state)
{
	static const uint8_t address[4] = { 203, 0, 113, 25 };

	(void)state;
	new_anonymiser(false);
	of_field((struct etw_field){ .name = "RemoteAddress", .type = ETW_FIELD_U32 }, address, 4,
		 ANONYMISE_REPLACED);
	of_field((struct etw_field){ .name = "RemoteAddressLength", .type = ETW_FIELD_U32 },
		 address, 4, ANONYMISE_SAME);
}

/* Half an address is no address, so nothing of it is left, and each half is counted. */
static void an_address_that_is_cut_is_cleared(void **state)
{
	static const struct {
		struct etw_field field;
		uint32_t size;
	} cases[] = {
		{ { .name = "Peer", .type = ETW_FIELD_IP6 }, 15 },
		{ { .name = "Peer", .type = ETW_FIELD_IP4 }, 3 },
		{ { .name = "RemoteAddress", .type = ETW_FIELD_U32 }, 3 },
		{ { .name = "PhysicalAddr", .type = ETW_FIELD_U64 }, 6 },
	};
	static const uint8_t address[16] = { 203, 0, 113, 25, 4, 5, 6, 7, 8, 9 };
	static const uint8_t zeros[16] = { 0 };
	struct anonymise_counts counts;

	(void)state;
	new_anonymiser(false);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_memory_equal(of_field(cases[i].field, address, cases[i].size,
					     ANONYMISE_REPLACED),
				    zeros, cases[i].size);
	}
	of_field((struct etw_field){ .name = "Size", .type = ETW_FIELD_U32 }, address, 3,
		 ANONYMISE_SAME);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.values[ANONYMISED_ADDRESS], 3);
	assert_int_equal(counts.values[ANONYMISED_BYTES], 1);
}

static void an_address_in_bytes_is_replaced(void **state)
{
	static const uint8_t address[16] = { 0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4,
					     5,    6,    7,    8,    9, 1, 2, 3 };
	const struct etw_field field = { .name = "Peer",
					 .type = ETW_FIELD_BINARY,
					 .form = ETW_FIELD_FORM_IP6,
					 .length_type = ETW_FIELD_LENGTH_FIXED,
					 .length = 16 };

	(void)state;
	new_anonymiser(false);
	assert_memory_not_equal(of_field(field, address, sizeof address, ANONYMISE_REPLACED) + 8,
				address + 8, 8);
}

/* DYNAMIC_TIME_ZONE_INFORMATION has a third name, behind what TIME_ZONE_INFORMATION has. */
static void other_time_zones_are_cleared_as_a_whole(void **state)
{
	static const uint8_t zeros[432] = { 0 };
	uint8_t zone[432] = { 0xc4, 0xff, 0xff, 0xff };

	(void)state;
	new_anonymiser(false);
	memcpy(zone + 4, "s\0e\0c\0", 6);
	memcpy(zone + 172, "s\0e\0c\0", 6);
	assert_memory_equal(of_field((struct etw_field){ .name = "TimeZoneInformation",
							 .type = ETW_FIELD_BINARY,
							 .length_type = ETW_FIELD_LENGTH_FIXED,
							 .length = sizeof zone },
				     zone, sizeof zone, ANONYMISE_REPLACED),
			    zeros, sizeof zone);
}

/* A payload that ends within a text: nothing of the rest is left, and it is as long as before. */
static void a_text_that_is_cut_is_crossed_out(void **state)
{
	static const char wide[] = "s\0e\0c\0r\0e\0t";
	const struct etw_field counted = { .name = "Name", .type = ETW_FIELD_WCOUNTED };
	const struct etw_field narrow = { .name = "Name", .type = ETW_FIELD_ACOUNTED };

	(void)state;
	new_anonymiser(false);
	assert_memory_equal(of_field(counted, "\x40\0s\0e\0c\0r\0e\0t\0", 14, ANONYMISE_REPLACED) +
				    2,
			    "x\0x\0x\0x\0x\0x\0", 12);
	assert_memory_equal(of_field(narrow, "\x40\0secret", 8, ANONYMISE_REPLACED) + 2, "xxxxxx",
			    6);
	assert_memory_not_equal(
		of_field((struct etw_field){ .name = "Name", .type = ETW_FIELD_WSTRING }, wide,
			 sizeof wide, ANONYMISE_REPLACED),
		wide, 6);
}

/* SOCKADDR_IN (ws2def.h) has 8 bytes behind the address, which a sender need not set. */
static void what_is_behind_an_address_of_a_socket_is_cleared(void **state)
{
	static const uint8_t address[16] = { 2,   0,   0x01, 0xbb, 203, 0,   113, 25,
					     's', 'e', 'c',  'r',  'e', 't', 's', 0 };
	static const uint8_t zeros[8] = { 0 };
	const uint8_t *at;

	(void)state;
	new_anonymiser(false);
	at = of_field((struct etw_field){ .name = "Peer",
					  .type = ETW_FIELD_BINARY,
					  .form = ETW_FIELD_FORM_SOCKADDR,
					  .length_type = ETW_FIELD_LENGTH_FIXED,
					  .length = 16 },
		      address, sizeof address, ANONYMISE_REPLACED);
	assert_memory_equal(at, address, 4);
	assert_memory_not_equal(at + 4, address + 4, 4);
	assert_memory_equal(at + 8, zeros, 8);
}

int main(void)
{
#define RUN(test) cmocka_unit_test_teardown(test, tear_down)
	const struct CMUnitTest tests[] = {
		RUN(bytes_behind_the_nul_of_a_text_are_cleared),
		RUN(the_account_in_an_extended_item_is_replaced),
		RUN(an_item_of_an_account_keeps_nothing_but_the_form_of_a_sid),
		RUN(the_container_in_an_extended_item_is_replaced),
		RUN(what_no_schema_explains_is_dropped_or_kept_as_asked),
		RUN(a_layout_of_an_earlier_version_must_explain_every_byte),
		RUN(files_in_a_manifest_are_crossed_out_across_chunks),
		RUN(no_cut_of_a_manifest_and_no_other_manifest_hides_a_file),
		RUN(only_activities_with_an_adapter_in_them_are_replaced),
		RUN(items_of_an_unknown_meaning_are_cleared),
		RUN(what_is_longer_than_its_item_and_unknown_traits_are_cleared),
		RUN(the_adapter_of_an_old_nic_event_is_replaced),
		RUN(all_units_of_the_adapter_of_an_old_nic_event_are_replaced),
		RUN(guids_of_devices_change_and_those_of_classes_stay),
		RUN(lists_of_small_integers_are_cleared),
		RUN(addresses_in_integers_are_replaced_and_their_lengths_stay),
		RUN(an_address_that_is_cut_is_cleared),
		RUN(an_address_in_bytes_is_replaced),
		RUN(other_time_zones_are_cleared_as_a_whole),
		RUN(a_text_that_is_cut_is_crossed_out),
		RUN(what_is_behind_an_address_of_a_socket_is_cleared),
	};

	return cmocka_run_group_tests_name("anonymise_records", tests, NULL, NULL);
}

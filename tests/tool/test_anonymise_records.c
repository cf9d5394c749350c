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

#include "base/cursor.h"
#include "decode/kernel_class.h"
#include "source/payload.h"
#include "tests/support/one_record.h"
#include "tool/anonymise.h"

static struct anonymiser *anonymiser;
static struct one_record one;
static struct payload payload;

static void start(bool keep_undescribed)
{
	struct error err = { 0 };

	anonymiser = anonymiser_new(
		&(struct anonymise_options){ .key = "k", .key_size = 1, .keep_undescribed = keep_undescribed },
		&err);
	assert_non_null(anonymiser);
	payload_init(&payload, 8);
}

static int tear_down(void **state)
{
	(void)state;
	anonymiser_free(anonymiser);
	anonymiser = NULL;
	payload_done(&payload);
	return 0;
}

/* The new bytes of a record with the payload above, and where their payload starts. */
static const uint8_t *anonymised(struct etl_out_record out, const struct schema *schema,
				 enum anonymise_answer expected, size_t *payload_size)
{
	const uint8_t *bytes = one.bytes;
	size_t size, header;
	struct error err = { 0 };

	out.payload = payload.bytes;
	out.payload_size = payload.size;
	one_record_make(&one, &out);
	size = one.size;
	header = size - payload.size;
	assert_int_equal(anonymise_record(anonymiser, &one.walk.record, schema, &bytes, &size,
					  &err),
			 expected);
	*payload_size = size - header;
	assert_int_equal(load_u16(bytes + (out.type <= RECORD_PERFINFO ? 4 : 0)), size);
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

static const struct schema *of_one(void)
{
	return kernel_schema(one.walk.record.provider, one.walk.record.opcode,
			     one.walk.record.version);
}

/* SystemConfig/CPU of version 2: the name of the machine in 256 units (docs/etl-format.md section
 * 15), of which a writer left some as they were. */
static void bytes_behind_the_nul_of_a_text_are_cleared(void **state)
{
	struct etl_out_record out = {
		.type = RECORD_SYSTEM, .group = 11, .opcode = 10, .version = 2
	};
	const uint8_t *at;
	size_t size;

	(void)state;
	start(false);
	payload_zeros(&payload, 5 * 4);
	payload_wstring(&payload, "system");
	payload_bytes(&payload, "S\0e\0c\0r\0e\0t\0", 12);
	payload_zeros(&payload, 2 * (256 - 13) + 2 * 134 + 8);
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

static const struct guid contoso = { { 0xc0, 1, 2, 3 } };

static void the_account_in_an_extended_item_is_replaced(void **state)
{
	static const uint8_t sid[28] = { 1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0,    1,
					 2, 3, 4, 5, 6, 7, 8, 9, 1,  2, 3, 0xe9, 3 };
	const struct etl_out_item item = { .type = EXTENDED_SID, .size = sizeof sid, .data = sid };
	const uint8_t *at;
	size_t size;

	(void)state;
	start(false);
	at = anonymised((struct etl_out_record){ .type = RECORD_EVENT,
						 .provider = &contoso,
						 .items = &item,
						 .item_count = 1 },
			NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	assert_memory_equal(at - 32, sid, 12); /* S-1-5-21; 4 bytes of padding follow the SID */
	assert_memory_not_equal(at - 20, sid + 12, 12);
}

static void what_no_schema_explains_is_dropped_or_kept_as_asked(void **state)
{
	const struct etl_out_record out = { .type = RECORD_EVENT, .provider = &contoso };
	const struct schema *unknown_version;
	struct anonymise_counts counts;
	struct guid image;
	size_t size;

	(void)state;
	start(false);
	payload_astring(&payload, "secret");
	anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	/* A newer version, in which a field was inserted before the name. */
	assert_true(kernel_class_find("Image", 5, &image));
	unknown_version = kernel_schema(&image, 10, 0);
	payload_clear(&payload);
	payload_zeros(&payload, 7);
	payload_wstring(&payload, "secret");
	anonymised(
		(struct etl_out_record){
			.type = RECORD_FULL, .provider = &image, .opcode = 10, .version = 200 },
		unknown_version, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, 0);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.dropped, 2);
	tear_down(state);
	start(true);
	payload_astring(&payload, "secret");
	anonymised(out, NULL, ANONYMISE_SAME, &size);
	assert_int_equal(size, 7);
	anonymiser_counts(anonymiser, &counts);
	assert_int_equal(counts.kept, 1);
}

static void add_chunk(uint16_t number, uint16_t total, const char *xml)
{
	payload_clear(&payload);
	payload_bytes(&payload, "\x01\x01\x00\x5b", 4);
	payload_u16(&payload, total);
	payload_u16(&payload, number);
	payload_bytes(&payload, xml, strlen(xml));
}

static void files_in_a_manifest_are_crossed_out_across_chunks(void **state)
{
	const struct etl_out_record out = { .type = RECORD_EVENT,
					    .provider = &contoso,
					    .process_id = 5,
					    .id = 65534,
					    .opcode = 254,
					    .task = 65534 };
	const uint8_t *at;
	size_t size;

	(void)state;
	start(false);
	add_chunk(0, 2, "<provider name=\"Contoso\" resourceFileName=\"C:\\ann\\se");
	at = anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_int_equal(size, payload.size);
	assert_true(contains(at, size, "name=\"Contoso\" resourceFileName=\"x:\\xxx\\xx"));
	add_chunk(1, 2, "cret.dll\" symbol=\"S\"/>");
	at = anonymised(out, NULL, ANONYMISE_REPLACED, &size);
	assert_true(contains(at, size, "xxxx.xxx\" symbol=\"S\"/>"));
}

int main(void)
{
#define RUN(test) cmocka_unit_test_teardown(test, tear_down)
	const struct CMUnitTest tests[] = {
		RUN(bytes_behind_the_nul_of_a_text_are_cleared),
		RUN(the_account_in_an_extended_item_is_replaced),
		RUN(what_no_schema_explains_is_dropped_or_kept_as_asked),
		RUN(files_in_a_manifest_are_crossed_out_across_chunks),
	};

	return cmocka_run_group_tests_name("anonymise_records", tests, NULL, NULL);
}

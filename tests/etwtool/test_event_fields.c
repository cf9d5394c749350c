/* SPDX-License-Identifier: MIT */
/*
 * Values as people read them: pointers, flags and statuses in hexadecimal, text as text.
 */
#include "base/json.h"
#include "etwtool/event_fields.h"
#include "lib/decode/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *shown(const struct etw_field *field, const void *bytes, uint32_t size,
			 uint32_t count)
{
	static struct etw_text text;
	const struct etw_field_slice slice = { .at = bytes, .size = size, .count = count };

	text_clear(&text);
	field_shown(field, &slice, &text);
	assert_false(text.failed);
	return text.data;
}

static void numbers_are_hexadecimal_where_that_is_how_they_are_known(void **state)
{
	static const struct {
		const char *name;
		uint8_t type;
		uint32_t size;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ "IrpPtr", ETW_FIELD_POINTER, 8, 0xffffc88b5f20e1c0, "0xffffc88b5f20e1c0" },
		{ "IrpPtr", ETW_FIELD_POINTER, 4, 0x8b5f20e1, "0x8b5f20e1" },
		{ "ImageSize", ETW_FIELD_POINTER, 8, 2019328, "2019328" },
		{ "NtStatus", ETW_FIELD_U32, 4, 0xc0000034, "0xc0000034" },
		{ "NtStatus", ETW_FIELD_I32, 4, 0xc0000034, "0xc0000034" },
		{ "NtStatus", ETW_FIELD_U32, 4, 0, "0x0" },
		{ "HResult", ETW_FIELD_I32, 4, 0x80131500, "0x80131500" },
		{ "ExitStatus", ETW_FIELD_U32, 4, 259, "259" },
		{ "ExitStatus", ETW_FIELD_U32, 4, 0xc0000005, "0xc0000005" },
		{ "StatusCode", ETW_FIELD_U32, 4, 404, "404" },
		{ "ErrorCode", ETW_FIELD_I32, 4, 0x80070005, "0x80070005" },
		{ "Count", ETW_FIELD_U32, 4, 0xc0000005, "3221225477" },
		{ "Delta", ETW_FIELD_I32, 4, 0xffffffff, "-1" },
		{ "IoFlags", ETW_FIELD_U32, 4, 0x60a01, "0x60a01" },
		{ "Keywords", ETW_FIELD_U64, 8, 0x8000000000000000, "0x8000000000000000" },
		{ "AcceptAll", ETW_FIELD_BOOL32, 4, 1, "true" },
		{ "Port", ETW_FIELD_PORT, 2, 0xbb01, "443" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_field field = { .name = cases[i].name, .type = cases[i].type };

		print_message("  %s %s\n", cases[i].name, cases[i].text);
		assert_string_equal(shown(&field, &cases[i].value, cases[i].size, 1),
				    cases[i].text);
	}
}

static void text_is_text_in_quotes_that_it_does_not_have(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "\"\"" },
		{ "C:\\Windows\\", "\"C:\\Windows\\\"" },
		{ "\"C:\\a b\\x.exe\" -k", "'\"C:\\a b\\x.exe\" -k'" },
		{ "it's", "\"it's\"" },
		{ "\"a\" 'b'", "\"\\\"a\\\" 'b'\"" },
		{ "a\x1b[31m\r\n\xe2\x80\xae", "\"a\\u001b[31m\\r\\n\\u202e\"" },
		{ "\"\x1b", "'\"\\u001b'" },
	};
	const struct etw_field field = { .name = "Name", .type = ETW_FIELD_ASTRING };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_string_equal(shown(&field, cases[i].text, (uint32_t)strlen(cases[i].text),
					  1),
				    cases[i].shown);
	}
}

static void lists_binary_data_and_addresses_have_no_quotes(void **state)
{
	static const uint64_t stack[] = { 0xfffff80253bb2eb0, 0x10 };
	static const uint8_t bytes[40] = { 0xde, 0xad };
	struct etw_field field = { .name = "Stack",
				   .type = ETW_FIELD_POINTER,
				   .count_type = ETW_FIELD_COUNT_REST };

	(void)state;
	assert_string_equal(shown(&field, stack, sizeof stack, 2), "[0xfffff80253bb2eb0,0x10]");
	assert_string_equal(shown(&field, stack, 0, 0), "[]");
	field = (struct etw_field){ .name = "Data", .type = ETW_FIELD_BINARY };
	assert_string_equal(shown(&field, bytes, 2, 1), "dead");
	assert_string_equal(shown(&field, bytes, sizeof bytes, 1),
			    "dead000000000000000000000000000000000000000000000000000000000000…(40 "
			    "bytes)");
	field = (struct etw_field){ .name = "daddr", .type = ETW_FIELD_IP4 };
	assert_string_equal(shown(&field, "\x0a\x14\x07\x58", 4, 1), "10.20.7.88");
	field = (struct etw_field){ .name = "UserSID", .type = ETW_FIELD_KERNEL_SID };
	assert_string_equal(shown(&field, "", 0, 1), "-");
}

/* ws2def.h, ws2ipdef.h: family, port and address, both in network order. */
static void socket_addresses_are_text_in_json_as_in_text(void **state)
{
	static const uint8_t ip4[16] = { 2, 0, 0x1f, 0x90, 10, 0, 0, 1 };
	static const uint8_t ip6[28] = { 23, 0, 0, 53, [8] = 0xfe, [9] = 0x80, [23] = 2 };
	static const uint8_t other[4] = { 1, 0, 'a', 'b' };
	static const struct {
		const uint8_t *bytes;
		uint32_t size;
		const char *json;
	} cases[] = {
		{ ip4, sizeof ip4, "{\"a\": \"10.0.0.1:8080\"}" },
		{ ip6, sizeof ip6, "{\"a\": \"[fe80::2]:53\"}" },
		{ other, sizeof other, "{\"a\": \"01006162\"}" },
	};
	struct etw_field field = { .name = "a",
				   .type = ETW_FIELD_BINARY,
				   .form = ETW_FIELD_FORM_SOCKADDR };
	struct etw_schema schema = {
		.event = "E", .fields = &field, .field_count = 1, .origin = ETW_SCHEMA_MANIFEST
	};

	(void)state;
	schema.first_variable = fields_place(&field, 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct etw_record record = { .payload = cases[i].bytes,
						   .payload_size = cases[i].size,
						   .pointer_size = 8 };
		struct etw_event_fields fields;
		struct etw_text out = { 0 };
		struct json json;

		json_init(&json, &out, true);
		etw_event_fields_locate(&fields, &schema, &record);
		json_object_begin(&json);
		etw_event_fields_members(&fields, 0, fields.end, &json);
		json_object_end(&json);
		assert_string_equal(out.data, cases[i].json);
		etw_event_fields_done(&fields);
		text_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_hexadecimal_where_that_is_how_they_are_known),
		cmocka_unit_test(text_is_text_in_quotes_that_it_does_not_have),
		cmocka_unit_test(lists_binary_data_and_addresses_have_no_quotes),
		cmocka_unit_test(socket_addresses_are_text_in_json_as_in_text),
	};

	return cmocka_run_group_tests_name("event_fields", tests, NULL, NULL);
}

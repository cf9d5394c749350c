/* SPDX-License-Identifier: MIT */
/*
 * Decoders of labels alone: what each makes of numbers, bytes and text.
 */
#include "exporter/rules/language/decoders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/decode/schema.h"
#include "tests/support/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct etw_field plain_u16 = { .name = "a", .type = ETW_FIELD_U16, .size = { 2, 2 } };
static const struct etw_field port = { .name = "a", .type = ETW_FIELD_PORT, .size = { 2, 2 } };
static const struct etw_field i32 = { .name = "a", .type = ETW_FIELD_I32, .size = { 4, 4 } };
static const struct etw_field u64 = { .name = "a", .type = ETW_FIELD_U64, .size = { 8, 8 } };
static const struct etw_field binary = { .name = "a", .type = ETW_FIELD_BINARY };
static const struct etw_field ip6 = { .name = "a",
				      .type = ETW_FIELD_BINARY,
				      .form = ETW_FIELD_FORM_IP6 };

static void assert_decodes(const struct decode_step *step, const struct decoded *from,
			   const char *expected)
{
	struct etw_text out = { 0 }, scratch = { 0 };
	struct etw_error err = { 0 };
	struct regex_matcher *matcher = regex_matcher_new(&err);

	assert_non_null(matcher);
	decode_chain(step, 1, matcher, from, &scratch, &out);
	assert_string_equal(out.data ? out.data : "", expected);
	text_free(&out);
	text_free(&scratch);
	regex_matcher_free(matcher);
}

static void numbers_are_read(void **state)
{
	static const struct {
		const char *decoder;
		const struct etw_field *field;
		uint64_t number;
		const char *text;
	} cases[] = {
		/* As the collector dns names them, with the prefix of their codes. */
		{ "win32_error", &u64, 9003, "dns_name_error" },
		{ "win32_error", &u64, 9501, "dns_no_records" },
		{ "win32_error", &u64, 9004, "dns_not_implemented" },
		{ "win32_error", &u64, 9006, "9006" },
		{ "irp_major", &u64, 0, "create" },
		{ "irp_major", &u64, 5, "query_info" },
		{ "irp_major", &u64, 27, "pnp" },
		{ "irp_major", &u64, 28, "28" },
		/* ((UCHAR)-1) and ((UCHAR)-20) of fltKernel.h */
		{ "irp_major", &u64, 255, "acquire_for_section_synchronization" },
		{ "irp_major", &u64, 236, "volume_dismount" },
		{ "irp_major", &u64, UINT64_MAX, "18446744073709551615" },
		{ "irp_major", &i32, (uint64_t)-1, "-1" },
		{ "bits", &u64, 0, "none" },
		{ "bits", &u64, 0x21, "0|5" },
		{ "bits", &u64, UINT64_C(1) << 63, "63" },
		/* Of a signed number the sign is one bit, that of its field. */
		{ "bits", &i32, (uint64_t)INT32_MIN, "31" },
		{ "bits", NULL, 6, "1|2" },
		/* 10.0.0.1 in network order, read by a little-endian machine. */
		{ "ip", &u64, 0x0100000a, "10.0.0.1" },
		{ "ip", &i32, (uint64_t)(int64_t)(int32_t)0xffffffff, "255.255.255.255" },
		{ "ip", &u64, 0, "0.0.0.0" },
		{ "ip", &u64, UINT64_C(1) << 32, "_unknown" },
		{ "network", &u64, 0x0104030a, "10.3.4.0/24" },
		{ "network", &i32, (uint64_t)(int64_t)(int32_t)0xffffffff, "255.255.255.0/24" },
		{ "network", &u64, UINT64_C(1) << 32, "_unknown" },
		{ "port", &plain_u16, 0x5000, "80" },
		{ "port", &port, 80, "80" },
		{ "port", &u64, 0xbb01, "443" },
		{ "port", &u64, 0x10000, "_unknown" },
		{ "service_port", &plain_u16, 0x5000, "80" },
		{ "service_port", &port, 32767, "32767" },
		{ "service_port", &port, 32768, "dynamic" },
		{ "service_port", &port, 65535, "dynamic" },
		{ "service_port", &u64, 0x0080, "dynamic" }, /* 32768 in network order */
		{ "service_port", &u64, 0x10000, "_unknown" },
		{ "hresult", &i32, 0, "success" },
		{ "hresult", &i32, 1, "false" },
		{ "hresult", &i32, 0x00040000, "success" },
		{ "hresult", &i32, (uint64_t)(int64_t)(int32_t)0x80004005, "unspecified" },
		{ "hresult", &u64, 0x80070005, "access_denied" },
		{ "hresult", &u64, 0x800702e4, "0x800702e4" },
		{ "hresult", &u64, 0xd0000022, "access_denied" },
		{ "hresult", &u64, 0x80131522, "0x80131522" },
		{ "hresult", &u64, UINT64_C(0x100000000), "0x100000000" },
		/* Decoders of text get the number in decimal. */
		{ "lower", &u64, 12, "12" },
		{ "guid", &u64, 12, "_unknown" },
		{ "sid", &u64, 12, "_unknown" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decode_step step = { .decoder = decoder_find(cases[i].decoder) };
		struct decoded from = { .is_number = true,
					.is_signed = cases[i].field == &i32,
					.number = cases[i].number,
					.field = cases[i].field };

		assert_decodes(&step, &from, cases[i].text);
	}
}

static void bytes_are_read(void **state)
{
	static const uint8_t socket4[16] = { 2, 0, 0x1f, 0x90, 192, 168, 1, 20 };
	static const uint8_t socket6[28] = { 23, 0, 0, 53, 0, 0, 0, 0, 0xfe, 0x80, [23] = 7 };
	static const uint8_t address6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };
	static const uint8_t like_socket[16] = { 2, 0, 0, 80, 10, 0, 0, 1 };
	static const uint8_t storage[128] = { 2, 0, 0, 80, 10, 0, 0, 1 };
	static const uint8_t guid[16] = { 0x78, 0x56, 0x34, 0x12, 0xbc, 0x9a, 0xf0, 0xde,
					  1,    2,    3,    4,    5,    6,    7,    8 };
	static const uint8_t all_parts[16] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	};
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 3, 4, 1 };
	static const uint8_t sid[12] = { 1, 1, 0, 0, 0, 0, 0, 5, 18 };
	static const struct {
		const char *decoder;
		const struct etw_field *field;
		const uint8_t *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ "ip", &binary, socket4, 16, "192.168.1.20" },
		{ "port", &binary, socket4, 16, "8080" },
		{ "ip", &binary, socket6, 28, "fe80::7" },
		{ "port", &binary, socket6, 28, "53" },
		{ "ip", &binary, storage, 128, "10.0.0.1" },
		{ "port", &binary, storage, 128, "80" },
		{ "ip", &binary, socket4 + 4, 4, "192.168.1.20" },
		{ "port", &binary, socket4 + 4, 4, "_unknown" },
		{ "ip", &binary, address6, 16, "2001:db8::1" },
		{ "ip", &ip6, like_socket, 16, "200:50:a00:1::" },
		{ "port", &binary, address6, 16, "_unknown" },
		{ "ip", &binary, socket6, 20, "_unknown" },
		{ "ip", &binary, socket4, 15, "_unknown" },
		{ "ip", &binary, socket4, 0, "_unknown" },
		{ "network", &binary, socket4, 16, "192.168.1.0/24" },
		{ "network", &binary, socket4 + 4, 4, "192.168.1.0/24" },
		{ "network", &binary, socket6, 28, "fe80::/64" },
		{ "network", &binary, address6, 16, "2001:db8::/64" },
		{ "network", &ip6, all_parts, 16, "102:304:506:708::/64" },
		{ "network", &binary, mapped, 16, "10.3.4.0/24" },
		{ "network", &binary, socket4, 15, "_unknown" },
		{ "guid", &binary, guid, 16, "12345678-9abc-def0-0102-030405060708" },
		{ "guid", &binary, guid, 15, "_unknown" },
		{ "sid", &binary, sid, 12, "S-1-5-18" },
		{ "sid", &binary, sid, 11, "_unknown" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decode_step step = { .decoder = decoder_find(cases[i].decoder) };
		uint8_t *bytes = exact_copy(cases[i].bytes, cases[i].size);
		struct decoded from = { .text = "in hexadecimal",
					.size = 14,
					.field = cases[i].field,
					.bytes = bytes,
					.byte_count = cases[i].size };

		assert_decodes(&step, &from, cases[i].text);
		free(bytes);
	}
}

static void text_is_read(void **state)
{
	static const struct {
		const char *decoder;
		const char *from;
		const char *text;
	} cases[] = {
		{ "ip", "10.0.0.1", "10.0.0.1" },
		{ "ip", "10.0.0.1:80", "10.0.0.1" },
		{ "ip", "::1", "::1" },
		{ "ip", "fe80::7", "fe80::7" },
		{ "ip", "[fe80::7]:80", "fe80::7" },
		{ "ip", "[::1]", "::1" },
		{ "ip", "::ffff:10.0.0.1", "::ffff:10.0.0.1" },
		{ "ip", "10.0.0.256", "_unknown" },
		{ "ip", "10.0.0", "_unknown" },
		{ "ip", "10.0.0.1/24", "_unknown" },
		{ "ip", "[::1", "_unknown" },
		{ "ip", "[host]:80", "_unknown" },
		{ "ip", "localhost", "_unknown" },
		{ "ip", "", "_unknown" },
		{ "network", "10.3.4.1", "10.3.4.0/24" },
		{ "network", "10.3.4.1:80", "10.3.4.0/24" },
		{ "network", "[fe80::7]:80", "fe80::/64" },
		{ "network", "1:2:3:4:5:6:7:8", "1:2:3:4::/64" },
		{ "network", "::ffff:10.3.4.1", "10.3.4.0/24" },
		{ "network", "::1::2", "_unknown" },
		{ "network", "localhost", "_unknown" },
		{ "network", "", "_unknown" },
		{ "port", "10.0.0.1:80", "80" },
		{ "port", "[::1]:443", "443" },
		{ "port", "8080", "8080" },
		{ "port", "10.0.0.1", "_unknown" },
		{ "port", "::1", "_unknown" },
		{ "port", "10.0.0.1:65536", "_unknown" },
		{ "port", "10.0.0.1:", "_unknown" },
		{ "port", "", "_unknown" },
		{ "service_port", "10.0.0.1:80", "80" },
		{ "service_port", "10.0.0.1:49152", "dynamic" },
		{ "service_port", "10.0.0.1:65536", "_unknown" },
		{ "service_port", "::1", "_unknown" },
		{ "guid", "{12345678-9ABC-DEF0-0102-030405060708}",
		  "12345678-9abc-def0-0102-030405060708" },
		{ "guid", "12345678-9abc", "_unknown" },
		{ "guid", "", "_unknown" },
		{ "sid", "S-1-5-18", "S-1-5-18" },
		{ "sid", "S-1-5-18 x", "_unknown" },
		{ "sid", "S-1-", "_unknown" },
		{ "sid", "", "_unknown" },
		{ "ip", "::1::2:3:4:5:6:7:8", "_unknown" }, /* nine colons */
		{ "ip", "10.0.0.1:", "10.0.0.1" },
		{ "ip", "10.0.0.1000", "_unknown" },
		{ "lower", "C:\\Dir\\\xc3\x84.TXT", "c:\\dir\\\xc3\x84.txt" }, /* ASCII only */
		{ "basename", "C:\\Dir/A.TXT", "A.TXT" },
		{ "basename", "C:\\Dir\\", "" },
		{ "basename", "A.TXT", "A.TXT" },
		{ "directory", "C:\\Dir\\A.TXT", "C:\\Dir" },
		{ "directory", "C:\\Dir\\", "C:\\Dir" },
		{ "directory", "\\A.TXT", "" },
		{ "directory", "A.TXT", "" },
		{ "extension", "C:\\Dir.d\\A.tar.GZ", "GZ" },
		{ "extension", "C:\\Dir.d\\A", "" },
		{ "extension", "C:\\Dir\\A.", "" },
		{ "extension", "C:\\Dir\\.profile", "profile" },
		{ "drive", "C:\\Dir\\A.TXT", "C:" },
		{ "drive", "c:", "C:" },
		{ "drive", "\\??\\d:\\A.TXT", "D:" },
		{ "drive", "1:\\A.TXT", "_unknown" },
		{ "drive", "\\\\server\\share\\A.TXT", "_unknown" },
		{ "drive", "\\device\\HarddiskVolume3\\A.TXT", "HarddiskVolume3" },
		{ "drive", "\\Device\\HarddiskVolume3", "HarddiskVolume3" },
		{ "drive", "\\Device\\", "_unknown" },
		{ "drive", "\\Device\\\\A.TXT", "_unknown" },
		{ "drive", "\\??\\", "_unknown" },
		{ "drive", "C", "_unknown" },
		{ "drive", "", "_unknown" },
		/* Decoders of numbers leave text as it is. */
		{ "bits", "0x5", "0x5" },
		{ "hresult", "abc", "abc" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decode_step step = { .decoder = decoder_find(cases[i].decoder) };
		uint8_t *text = exact_copy(cases[i].from, strlen(cases[i].from));
		struct decoded from = { .text = (const char *)text, .size = strlen(cases[i].from) };

		print_message("  %s\n", cases[i].from);
		assert_decodes(&step, &from, cases[i].text);
		free(text);
	}
}

/* Text with a count may have a NUL inside, where no address and no SID has one. */
static void text_with_a_nul_is_neither_address_nor_sid(void **state)
{
	static const struct {
		const char *decoder;
		const char *from;
		size_t size;
	} cases[] = {
		{ "ip", "fe80::\0007", 8 },
		{ "ip", "10.0.0.1\0", 9 },
		{ "port", "10.0.0.1:80\0", 12 },
		{ "port", "80\0", 3 },
		{ "sid", "S-1-5-\00018", 9 },
		{ "guid", "12345678-9abc-def0-0102-030405060708\0", 37 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decode_step step = { .decoder = decoder_find(cases[i].decoder) };
		uint8_t *text = exact_copy(cases[i].from, cases[i].size);
		struct decoded from = { .text = (const char *)text, .size = cases[i].size };

		print_message("  %s\n", cases[i].from);
		assert_decodes(&step, &from, "_unknown");
		free(text);
	}
}

/* A label has at most 1024 bytes, and no part of a character. */
static void text_is_cut_between_characters(void **state)
{
	static const struct {
		size_t character; /* where one of four bytes begins */
		size_t size, expected;
	} cases[] = {
		{ 1022, 1022, 1022 }, { 1022, 1026, 1022 }, { 1022, 1040, 1022 },
		{ 1021, 1040, 1021 }, { 1020, 1024, 1024 }, { 1020, 1040, 1024 },
		{ 1024, 1040, 1024 },
	};
	const struct decode_step step = { .decoder = decoder_find("lower") };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[1040], expected[1041];
		struct decoded from = { .text = text, .size = cases[i].size };

		memset(text, 'x', sizeof text);
		memcpy(text + cases[i].character, "\xf0\x9f\x98\x80", 4);
		memcpy(expected, text, sizeof text);
		expected[cases[i].expected] = '\0';
		assert_decodes(&step, &from, expected);
	}
}

/* A cache of labels has one place for numbers that are the same to a decoder, so that their texts
 * must not differ. */
static void numbers_that_are_the_same_become_one_text(void **state)
{
	static const struct {
		const char *decoder;
		const struct etw_field *field;
		uint64_t first, step;
	} cases[] = {
		{ "service_port", &port, 0, 1 },
		{ "service_port", &plain_u16, 0, 1 },
		{ "network", &u64, 0x0100030a, 0xe000 },
		{ "network", &i32, (uint64_t)INT32_MIN, 0x8000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct decode_step step = { .decoder = decoder_find(cases[i].decoder) };
		struct decoded from = { .step = &step, .field = cases[i].field, .is_number = true };
		char texts[2][32] = { "", "" };
		uint64_t same[2] = { 0 };
		struct etw_text out = { 0 };

		from.is_signed = cases[i].field == &i32;
		for (uint64_t n = 0; n < 0x10000; n++) {
			from.number = cases[i].first + n * cases[i].step;
			same[n % 2] = step.decoder->same(&from);
			text_clear(&out);
			step.decoder->decode(&from, &out);
			snprintf(texts[n % 2], sizeof texts[0], "%s", out.data);
			if (n > 0 && same[0] == same[1]) {
				assert_string_equal(texts[0], texts[1]);
			} else if (n > 0) {
				assert_string_not_equal(texts[0], texts[1]);
			}
		}
		text_free(&out);
	}
}

static void bits_have_names(void **state)
{
	static struct map_entry names[] = {
		{ .from = { .number = 1 }, .to = "read" },
		{ .from = { .number = 6 }, .to = "write" },
		{ .from = { .number = 4 }, .to = "append" },
	};
	static const struct {
		uint64_t number;
		const char *text;
	} cases[] = {
		{ 0, "none" },
		{ 1, "read" },
		{ 2, "0x2" },
		{ 4, "append" },
		{ 7, "read|write|append" },
		{ 0x81, "read|0x80" },
	};
	const struct decode_step step = { .decoder = decoder_find("bits"),
					  .bits = names,
					  .bit_count = COUNT(names) };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decoded from = { .is_number = true, .number = cases[i].number };

		assert_decodes(&step, &from, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(bytes_are_read),
		cmocka_unit_test(text_is_read),
		cmocka_unit_test(text_with_a_nul_is_neither_address_nor_sid),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(numbers_that_are_the_same_become_one_text),
		cmocka_unit_test(bits_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

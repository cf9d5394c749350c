/* SPDX-License-Identifier: MIT */
/*
 * Network addresses as text.
 */
#include "lib/decode/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void ip4_is_dotted(void **state)
{
	static const uint8_t bytes[] = { 192, 168, 0, 255 };
	struct etw_text text = { 0 };

	(void)state;
	etw_text_add_ip4(&text, bytes);
	assert_string_equal(text.data, "192.168.0.255");
	text_free(&text);
}

static void ip6_is_written_as_rfc_5952_says(void **state)
{
	static const struct {
		uint16_t groups[8];
		const char *text;
	} cases[] = {
		{ { 0 }, "::" },
		{ { 0, 0, 0, 0, 0, 0, 0, 1 }, "::1" },
		{ { 1 }, "1::" },
		{ { 0x2001, 0xdb8, 0, 0, 0, 0, 2, 1 }, "2001:db8::2:1" },
		{ { 0x2001, 0xdb8, 0, 1, 1, 1, 1, 1 },
		  "2001:db8:0:1:1:1:1:1" }, /* one group is not shortened */
		{ { 0x2001, 0, 0, 1, 0, 0, 0, 1 }, "2001:0:0:1::1" }, /* the longest run */
		{ { 0x2001, 0xdb8, 0, 0, 1, 0, 0, 1 },
		  "2001:db8::1:0:0:1" }, /* the first of equals */
		{ { 0, 0, 1, 2, 3, 4, 0, 0 }, "::1:2:3:4:0:0" },
		{ { 1, 2, 3, 4, 5, 6, 0, 0 }, "1:2:3:4:5:6::" },
		{ { 0, 2, 3, 4, 5, 6, 7, 0 }, "0:2:3:4:5:6:7:0" },
		{ { 0xfe80, 0, 0, 0, 0x950, 0xd6de, 0xfa84, 0x4cc0 }, "fe80::950:d6de:fa84:4cc0" },
		{ { 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff },
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ { 0, 0, 0, 0, 0, 0xffff, 0xc0a8, 1 }, "::ffff:192.168.0.1" },
		{ { 0, 0, 0, 0, 0, 0, 0xc0a8, 1 }, "::c0a8:1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct etw_text text = { 0 };
		uint8_t bytes[16];

		for (size_t k = 0; k < 8; k++) {
			bytes[2 * k] = (uint8_t)(cases[i].groups[k] >> 8);
			bytes[2 * k + 1] = (uint8_t)cases[i].groups[k];
		}
		etw_text_add_ip6(&text, bytes);
		assert_string_equal(text.data, cases[i].text);
		text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ip4_is_dotted),
		cmocka_unit_test(ip6_is_written_as_rfc_5952_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

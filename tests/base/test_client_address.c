/* SPDX-License-Identifier: MIT */
#include "base/client_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A single address as a range has its bytes. */
static struct client_address address_of(const char *text)
{
	struct client_address address = { .local = false };
	struct address_range range;

	assert_true(address_range_parse(text, &range));
	assert_int_equal(range.bits, 128);
	memcpy(address.bytes, range.bytes, sizeof address.bytes);
	return address;
}

static void addresses_are_read_and_written(void **state)
{
	static const struct {
		const char *text, *shown;
		uint8_t bytes[16];
	} cases[] = {
		{ "192.0.2.1",
		  "192.0.2.1",
		  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1 } },
		{ "::ffff:192.0.2.1",
		  "192.0.2.1",
		  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1 } },
		{ "::1", "0:0:0:0:0:0:0:1", { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } },
		{ "::", "0:0:0:0:0:0:0:0", { 0 } },
		{ "2001:db8::a:B",
		  "2001:db8:0:0:0:0:a:b",
		  { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa, 0, 0xb } },
		{ "2001:db8:1:2:3:4:5:6",
		  "2001:db8:1:2:3:4:5:6",
		  { 0x20, 1, 0xd, 0xb8, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 } },
		{ "fe80::", "fe80:0:0:0:0:0:0:0", { 0xfe, 0x80 } },
		{ "1:2:3:4:5:6:7::",
		  "1:2:3:4:5:6:7:0",
		  { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct client_address address = address_of(cases[i].text);
		char shown[CLIENT_ADDRESS_TEXT_SIZE];

		assert_memory_equal(address.bytes, cases[i].bytes, 16);
		client_address_text(&address, shown);
		assert_string_equal(shown, cases[i].shown);
	}
}

static void ranges_contain_what_they_say(void **state)
{
	static const struct {
		const char *range, *address;
		bool contains;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.1.2", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
		{ "10.0.0.0/8", "a00::", false },
		{ "192.0.2.128/25", "192.0.2.128", true },
		{ "192.0.2.128/25", "192.0.2.127", false },
		{ "192.0.2.1", "192.0.2.1", true },
		{ "192.0.2.1/32", "192.0.2.0", false },
		{ "0.0.0.0/0", "255.0.0.1", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "::/0", "127.0.0.1", true },
		{ "::ffff:10.0.0.0/104", "10.2.3.4", true },
		{ "2001:db8::/33", "2001:db8:7fff::", true },
		{ "2001:db8::/33", "2001:db8:8000::", false },
		{ "fe80::/10", "febf::1", true },
		{ "fe80::/10", "fec0::1", false },
		{ "::1", "127.0.0.1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct client_address address = address_of(cases[i].address);
		struct address_range range;

		assert_true(address_range_parse(cases[i].range, &range));
		if (address_range_contains(&range, &address) != cases[i].contains) {
			fail_msg("%s in %s", cases[i].address, cases[i].range);
		}
	}
}

static void other_texts_are_no_ranges(void **state)
{
	static const char *const texts[] = {
		"",
		"localhost",
		"10",
		"10.0.0",
		"10.0.0.0.0",
		"10.0.0.256",
		"10.0.0.01",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/08",
		"10.0.0.0/8 ",
		" 10.0.0.0/8",
		"10.0.0.0/8/8",
		"10.0.0.1/8", /* bits behind the prefix */
		"10.0.0.0/255.0.0.0",
		":",
		":::",
		"1::2::3",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"1:2:3:4:5:6:7:8::",
		"1:2:3:4:5:6:7:",
		":1:2:3:4:5:6:7",
		"12345::",
		"g::",
		"::1%eth0",
		"[::1]",
		"::/129",
		"2001:db8::1/32",
		"1:2:3:4:5:6:7:1.2.3.4",
		"::1.2.3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct address_range range;

		if (address_range_parse(texts[i], &range)) {
			fail_msg("\"%s\" is taken", texts[i]);
		}
	}
}

static void one_client_has_many_addresses_of_ipv6(void **state)
{
	const struct client_address a = address_of("2001:db8:1:2:3:4:5:6");
	const struct client_address b = address_of("2001:db8:1:2::9");
	const struct client_address c = address_of("2001:db8:1:3::9");
	const struct client_address d = address_of("192.0.2.1"), e = address_of("192.0.2.2");

	(void)state;
	assert_true(client_address_alike(&a, &b));
	assert_false(client_address_alike(&a, &c));
	assert_true(client_address_alike(&d, &d));
	assert_false(client_address_alike(&d, &e));
	assert_false(client_address_alike(&a, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read_and_written),
		cmocka_unit_test(ranges_contain_what_they_say),
		cmocka_unit_test(other_texts_are_no_ranges),
		cmocka_unit_test(one_client_has_many_addresses_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

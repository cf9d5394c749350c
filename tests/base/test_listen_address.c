/* SPDX-License-Identifier: MIT */
#include "base/client_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void addresses_have_a_family_a_host_and_a_port(void **state)
{
	static const struct {
		const char *text, *host;
		int family;
		unsigned port;
	} cases[] = {
		{ ":9189", "", LISTEN_ANY, 9189 },
		{ ":0", "", LISTEN_ANY, 0 },
		{ ":65535", "", LISTEN_ANY, 65535 },
		{ "127.0.0.1:9189", "127.0.0.1", LISTEN_IPV4, 9189 },
		{ "0.0.0.0:1", "0.0.0.0", LISTEN_IPV4, 1 },
		{ "localhost:9189", "127.0.0.1", LISTEN_IPV4, 9189 },
		{ "[::1]:9189", "::1", LISTEN_IPV6, 9189 },
		{ "[2001:DB8::7]:80", "2001:DB8::7", LISTEN_IPV6, 80 },
		{ "[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", LISTEN_IPV6, 80 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct listen_address address;

		print_message("  %s\n", cases[i].text);
		assert_true(listen_address_parse(cases[i].text, &address));
		assert_int_equal(address.family, cases[i].family);
		assert_string_equal(address.host, cases[i].host);
		assert_int_equal(address.port, cases[i].port);
	}
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"9189",
		":",
		":65536",
		":000001",
		":1e3",
		":+1",
		":9189 ",
		":9189,:9190",
		"foo:1",
		"example.org:9189",
		"Localhost:9189",
		"127.0.0:9189",
		"127.0.0.256:9189",
		"127.0.0.1.1:9189",
		"::1:9189",
		"[::1]",
		"[::1]9189",
		"[]:9189",
		"[::1]x:9189",
		"[127.0.0.1]:9189",
		"http://127.0.0.1:9189",
		"[0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:1]:9189",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct listen_address address = { .port = 7 };

		print_message("  %s\n", texts[i]);
		assert_false(listen_address_parse(texts[i], &address));
		assert_int_equal(address.port, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_a_family_a_host_and_a_port),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The primitive encodings of docs/etl-format.md section 14, written.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <etw/mirror.h>

#include "tests/support/assert_hex.h"

static void payload_fields_are_packed(void **state)
{
	struct etw_payload p;

	(void)state;
	etw_payload_init(&p, 8);
	etw_payload_u8(&p, 1);
	etw_payload_pointer(&p, 0x0102030405060708);
	etw_payload_port(&p, 443);
	etw_payload_wstring(&p, "a\xf0\x9f\x98\x80");
	etw_payload_astring(&p, "a");
	etw_payload_wchars(&p, "abcd", 3);
	etw_payload_wchars(&p, "a", 3);
	etw_payload_u16(&p, 4);
	etw_payload_utf16(&p, "ab", 2, 2);
	etw_payload_sid(&p, "S-1-5-21-4294967295");
	assert_hex(
		p.bytes, p.size,
		"01 0807060504030201 01bb 6100 3dd8 00de 0000 6100 6100 6200 0000 6100 0000 0000 0400 6100 6200"
		"01 02 000000000005 15000000 ffffffff");
	etw_payload_clear(&p);
	etw_payload_user_sid(&p, NULL);
	assert_hex(p.bytes, p.size, "00000000");
	assert_false(p.failed);
	etw_payload_sid(&p, "S-1-x");
	assert_true(p.failed);
	etw_payload_done(&p);

	etw_payload_init(&p, 4);
	etw_payload_pointer(&p, 0x0102030405060708);
	etw_payload_user_sid(&p, "S-1-5-18");
	assert_hex(p.bytes, p.size, "08070605 60903d5a 00000000 01 01 000000000005 12000000");
	etw_payload_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payload_fields_are_packed),
	};

	return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}

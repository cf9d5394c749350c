/* SPDX-License-Identifier: MIT */
/*
 * Pseudonyms: what stays, what changes, and which structure is left.
 */
#include "etwtool/relog/anonymise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"

static struct pseudonyms *pseudonyms;

static int open_key(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	pseudonyms = pseudonyms_new("key", 3, &err);
	return pseudonyms ? 0 : 1;
}

static int close_key(void **state)
{
	(void)state;
	pseudonyms_free(pseudonyms);
	return 0;
}

/* Four results at a time. */
static const char *of(const char *text)
{
	static struct etw_text results[4];
	static unsigned next;
	struct etw_text *result = &results[next++ % 4];

	text_clear(result);
	pseudonyms_text(pseudonyms, text, strlen(text), result);
	assert_false(result->failed);
	return result->data ? result->data : "";
}

static void what_every_windows_has_stays(void **state)
{
	static const char *const texts[] = {
		"",
		"C:\\Windows\\System32\\svchost.exe",
		"\\Device\\HarddiskVolume3\\Windows\\System32\\drivers\\ntfs.sys",
		"\\SystemRoot\\SYSTEM32\\NTDLL.DLL",
		"NT Kernel Logger",
		"NTFS",
		"D:",
		"127.0.0.1:443",
		"::1",
		"224.0.0.251",
		"443",
		"{00000000-0000-0000-0000-000000000000}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		assert_string_equal(of(texts[i]), texts[i]);
	}
}

static void numbers_that_may_name_something_change(void **state)
{
	static const char *const texts[] = {
		"4711",                /* a customer, a member of staff */
		"C:\\Users\\104\\x",   /* likewise */
		"4111 1111 1111 1111", /* a card: digits in groups are one number */
		"123-45-6789",
		"01 23 45 67 89",
		"+49 (89) 555-12",
		"203-0-113-25.example",
		"010.001.002.003", /* no form of an address that we read */
		"2026-01-31",
		"[65, 110, 110, 97]", /* a text as numbers of its characters */
		"2026:01:31 12:34",
		"1_2_3_4;5",
		"disk47114711", /* a well-known word and a serial number */
	};
	static const char *const same[] = { "12",         "1.2",    "v4.0.30319",
					    "harddisk12", "10.0",   "windows.log.002",
					    "12:34:56",   "1, 2, 3" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const char *result = of(texts[i]);
		const char *group = texts[i];
		size_t length;

		assert_string_not_equal(result, texts[i]);
		for (; *group != '\0'; group += length) { /* no long part of it is left */
			char part[32];

			group += strcspn(group, "0123456789");
			length = strspn(group, "0123456789");
			snprintf(part, sizeof part, "%.*s", (int)length, group);
			assert_true(length < 3 || strstr(result, part) == NULL);
		}
	}
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
		assert_string_equal(of(same[i]), same[i]);
	}
	assert_string_equal(of("4111-1111-1111-1112") + 15, of("4111 1111 1111 1112") + 15);
}

/* Counts the letters and digits of a that b has at the same place. */
static unsigned same_places(const char *a, const char *b)
{
	unsigned same = 0;

	for (size_t i = 0; a[i] != '\0' && b[i] != '\0'; i++) {
		same += a[i] == b[i] && strchr(" -:.%\\&#;,", a[i]) == NULL;
	}
	return same;
}

/* A program may write UTF-16 where the type of its field is a text of bytes. Every letter would be
 * a word of its own, and such words stay. */
static void letters_with_nuls_between_them_are_one_word(void **state)
{
	static const struct {
		const char *text, *same; /* both change to this; NULL: the text stays */
		size_t size;
	} cases[] = {
#define TEXT(text, same) { text, same, sizeof(text) - 1 }
		TEXT("P\0a\0i\0g\0e\0", "paige"),
		TEXT("P\0a\0i\0g\0e", "paige"),
		TEXT("4\0"
		     "7\0"
		     "1\0"
		     "1\0",
		     "4711"),
		TEXT("\xc3\xa9\0t\0\xc3\xa9\0",
		     "\xc3\xa9t\xc3\xa9"), /* UTF-32 in a text of UTF-16 */
		TEXT("n\0t\0f\0s\0", NULL),
		TEXT("a\0", NULL),
#undef TEXT
	};
	struct etw_text changed = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		text_clear(&changed);
		assert_int_equal(pseudonyms_text(pseudonyms, cases[i].text, cases[i].size,
						 &changed),
				 cases[i].same != NULL);
		assert_false(changed.failed);
		if (cases[i].same) {
			assert_string_equal(changed.data, of(cases[i].same));
		} else {
			assert_int_equal(changed.size, cases[i].size);
			assert_memory_equal(changed.data, cases[i].text, changed.size);
		}
	}
	/* The strings of a list have NULs between them, too. */
	text_clear(&changed);
	assert_true(pseudonyms_text(pseudonyms, "a\0paige\0", 8, &changed));
	assert_int_equal(changed.size, 13);
	assert_memory_equal(changed.data, "a", 2);
	assert_string_equal(changed.data + 2, of("paige"));
	text_free(&changed);
}

/*
 * In a text that is spelt in codes, every character would otherwise stay or have a pseudonym of its
 * own, and how often each occurs would say which it is.
 */
static void a_text_in_codes_changes_as_a_whole(void **state)
{
	static const struct {
		const char *text, *other; /* they differ in one character */
	} cases[] = {
		{ "%50%61%69%67%65", "%50%6c%69%67%65" },
		{ "%D0%90%D0%BD%D0%BD%D0%B0", "%D0%91%D0%BD%D0%BD%D0%B0" },
		{ "\\u0418\\u0432\\u0430\\u043D", "\\u0418\\u0433\\u0430\\u043D" },
		{ "&#1048;&#1074;&#1072;&#1085;", "&#1048;&#1075;&#1072;&#1085;" },
		{ "&#x418;&#x432;&#x430;&#x43D;", "&#x418;&#x433;&#x430;&#x43D;" },
		{ "50-61-69-67-65-6A-6B", "50-6c-69-67-65-6A-6B" },
		{ "50 61 69 67 65 6A 6B", "50 6c 69 67 65 6A 6B" },
		{ "50:61:69:6d:65:50:61:69:6d:65", "50:6c:69:6d:65:50:61:69:6d:65" },
		{ "b.a.9.8.7.6.5.0.8.b.d.0.1.0.0.2", "b.b.9.8.7.6.5.0.8.b.d.0.1.0.0.2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *result = of(cases[i].text);

		assert_true(same_places(result, cases[i].text) < strlen(cases[i].text) / 3);
		assert_true(same_places(result, of(cases[i].other)) < strlen(result) / 3);
	}
	assert_string_equal(of("%d0%bd"), of("%D0%BD"));
	assert_string_equal(of("1%20%"), "1%20%");
}

/* A list may be as long as a record. */
static void no_end_of_a_long_list_stays(void **state)
{
	static const char *const elements[] = { "5a ", "17," };
	char text[3 * 600 + 1], result[sizeof text];

	(void)state;
	for (unsigned i = 0; i < 2 * 600; i++) {
		const char *element = elements[i % 2];
		size_t size = (size_t)3 * (8 + i / 2);
		unsigned same = 0;

		if (size > sizeof text) {
			break;
		}
		for (size_t at = 0; at < size; at += 3) {
			memcpy(text + at, element, 3);
		}
		text[size - 1] = '\0';
		snprintf(result, sizeof result, "%s", of(text));
		assert_int_equal(strlen(result), size - 1);
		for (size_t at = size - 12; at < size; at += 3) {
			same += memcmp(result + at, element, 2) == 0;
		}
		assert_true(same < 3); /* one or two may be by chance */
	}
}

static void different_numbers_stay_different(void **state)
{
	bool seen[1000] = { false };

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char text[8];
		unsigned long result;

		snprintf(text, sizeof text, "%03u", i);
		result = strtoul(of(text), NULL, 10);
		assert_true(result < 1000 && !seen[result]);
		seen[result] = true;
	}
}

static void a_path_keeps_its_depth_and_its_extension(void **state)
{
	const char *path = of("C:\\Users\\Ann\\secret plan.docx");

	(void)state;
	assert_int_equal(strncmp(path, "C:\\Users\\", 9), 0);
	assert_non_null(strstr(path, ".docx"));
	assert_null(strstr(path, "Ann"));
	assert_null(strstr(path, "secret"));
	assert_ptr_equal(strrchr(path, '\\'), strchr(path + 9, '\\'));
}

static void one_name_has_one_pseudonym_wherever_it_stands(void **state)
{
	const char *word = of("Contoso");

	(void)state;
	assert_int_equal(strlen(word), 10);
	assert_string_equal(of("CONTOSO"), word);
	assert_string_not_equal(of("Contosa"), word);
	assert_non_null(strstr(of("\"C:\\x\\contoso.exe\" -k"), word));
	assert_string_equal(of("\xc3\x84rger"), of("\xc3\xa4rger"));
	assert_string_equal(of("\xd0\x98\xd0\xb2"), of("\xd0\xb8\xd0\xb2"));
}

/* Upper-case and lower-case letters of Latin, Greek and Cyrillic ("Unicode Character Database",
 * UnicodeData.txt): names that differ by them alone are one name for Windows. */
static void the_case_of_letters_of_other_languages_makes_no_difference(void **state)
{
	static const char *const pairs[][2] = {
		{ "\u00c5sa", "\u00e5sa" }, /* Å */
		{ "\u0100x", "\u0101x" },   /* Ā, the first of Latin Extended-A */
		{ "\u0136x", "\u0137x" },   /* Ķ */
		{ "\u0139x", "\u013ax" },   /* Ĺ: from here on, the odd ones are upper-case */
		{ "\u0141\u00f3d\u017a", "\u0142\u00d3D\u0179" }, /* Łódź */
		{ "\u0147x", "\u0148x" },                         /* Ň */
		{ "\u014ax", "\u014bx" },                         /* Ŋ: the even ones again */
		{ "\u0160koda", "\u0161koda" },                   /* Š */
		{ "\u0176x", "\u0177x" },                         /* Ŷ */
		{ "\u0178x", "\u00ffx" },                         /* Ÿ */
		{ "\u017di\u017eka", "\u017ei\u017dka" },         /* Ž */
		{ "\u0391\u03a9", "\u03b1\u03c9" },               /* Α Ω */
		{ "\u0401\u0416", "\u0451\u0436" },               /* Ё Ж */
		{ "\u0400\u040f", "\u0450\u045f" },               /* Ѐ Џ */
		{ "\u0410\u042f", "\u0430\u044f" },               /* А Я */
	};
	/* No pair of case: the multiplication sign and the division sign, dotless i, kra. */
	static const char *const others[][2] = { { "x\u00d7", "x\u00f7" },
						 { "\u0130x", "\u0131x" },
						 { "\u0138x", "\u0137x" },
						 { "\u0149x", "\u0148x" } };

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		assert_string_equal(of(pairs[i][0]), of(pairs[i][1]));
		assert_string_not_equal(of(pairs[i][0]), pairs[i][0]);
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		assert_string_not_equal(of(others[i][0]), of(others[i][1]));
	}
}

static void another_key_gives_other_pseudonyms_and_the_same_key_the_same(void **state)
{
	struct etw_error err = { 0 };
	struct pseudonyms *again = pseudonyms_new("key", 3, &err);
	struct pseudonyms *random = pseudonyms_new(NULL, 0, &err);
	struct etw_text a = { 0 }, b = { 0 };

	(void)state;
	assert_non_null(again);
	assert_non_null(random);
	assert_true(pseudonyms_text(again, "contoso", 7, &a));
	assert_true(pseudonyms_text(random, "contoso", 7, &b));
	assert_string_equal(a.data, of("contoso"));
	assert_string_not_equal(b.data, a.data);
	text_free(&a);
	text_free(&b);
	pseudonyms_free(again);
	pseudonyms_free(random);
}

static void long_numbers_and_identifiers_keep_their_form(void **state)
{
	static const struct {
		const char *text, *form; /* # a digit, x a hexadecimal one */
	} cases[] = {
		{ "123456789012345678901", "#####################" },
		{ "{12345678-1234-5678-9abc-def012345678}",
		  "{xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}" },
		{ "00-1A-2B-3C-4D-5E", "xx-xx-xx-xx-xx-xx" },
		{ "00:11:22:33:44:55", "xx:xx:xx:xx:xx:xx" },
		{ "8.b.d.0.1.0.0.2", "x.x.x.x.x.x.x.x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *result = of(cases[i].text);

		assert_string_not_equal(result, cases[i].text);
		assert_int_equal(strlen(result), strlen(cases[i].form));
		for (size_t j = 0; result[j] != '\0'; j++) {
			const char *digits = cases[i].form[j] == '#' ? "0123456789" :
					     cases[i].form[j] == 'x' ? "0123456789abcdef" :
								       NULL;

			assert_true(digits ? strchr(digits, result[j]) != NULL :
					     result[j] == cases[i].form[j]);
		}
	}
}

static unsigned common_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned i = 0;

	while (i < bits && ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) == 0) {
		i++;
	}
	return i;
}

static void addresses_keep_common_prefixes(void **state)
{
	static const uint8_t pairs[][2][4] = {
		{ { 93, 184, 216, 34 }, { 93, 184, 216, 35 } },
		{ { 93, 184, 216, 34 }, { 93, 184, 1, 1 } },
		{ { 8, 8, 8, 8 }, { 9, 9, 9, 9 } },
		{ { 10, 20, 7, 88 }, { 10, 20, 7, 89 } },
		{ { 192, 168, 1, 1 }, { 192, 168, 2, 1 } },
		{ { 172, 16, 0, 1 }, { 172, 31, 255, 254 } },
		{ { 172, 15, 0, 1 }, { 172, 32, 255, 254 } }, /* of no private network */
		{ { 169, 254, 1, 1 }, { 169, 254, 1, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		uint8_t a[4], b[4];

		memcpy(a, pairs[i][0], 4);
		memcpy(b, pairs[i][1], 4);
		assert_true(pseudonyms_ip4(pseudonyms, a));
		assert_true(pseudonyms_ip4(pseudonyms, b));
		assert_int_equal(common_bits(a, b, 32), common_bits(pairs[i][0], pairs[i][1], 32));
		assert_int_equal(a[0] == 10, pairs[i][0][0] == 10);
		assert_int_equal(a[0] == 192 && a[1] == 168, pairs[i][0][0] == 192);
		assert_int_equal(a[0] == 172 && a[1] / 16 == 1,
				 pairs[i][0][0] == 172 && pairs[i][0][1] == 16);
		assert_int_equal(a[0] == 169 && a[1] == 254, pairs[i][0][0] == 169);
	}
}

static void an_address_reads_the_same_in_a_text_and_in_bytes(void **state)
{
	uint8_t ip4[4] = { 93, 184, 216, 34 };
	uint8_t ip6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 7 };
	char text[64];

	(void)state;
	pseudonyms_ip4(pseudonyms, ip4);
	snprintf(text, sizeof text, "to %u.%u.%u.%u:443.", ip4[0], ip4[1], ip4[2], ip4[3]);
	assert_non_null(strstr(of("to 93.184.216.34:443."), strchr(text, ' ')));
	pseudonyms_ip6(pseudonyms, ip6);
	assert_int_equal(ip6[0] & 0xe0, 0x20);
	assert_string_not_equal(of("2001:db8::7"), "2001:db8::7");
	assert_int_equal(strspn(of("2001:db8::7"), "0123456789abcdef:"), strlen(of("2001:db8::7")));
}

/* How many bits of an address of IPv6 say what it is for, by RFC 4291 and RFC 4193; the next ones
 * change. */
static void an_address_of_ip6_keeps_what_it_is_for(void **state)
{
	static const struct {
		uint8_t address[16];
		unsigned bits;
	} cases[] = {
		{ { 0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3 }, 3 },
		{ { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6 }, 8 },
		{ { 0xfc, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6 }, 8 },
		{ { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x1a, 0x2b, 0xff, 0xfe, 0x3c, 0x4d, 0x5e },
		  64 },
	};
	uint8_t multicast[16] = { 0xff, 2, [15] = 1 };
	uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 93, 184, 216, 34 };
	uint8_t mapped_loopback[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
	uint8_t ip4[4] = { 93, 184, 216, 34 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t address[16];

		memcpy(address, cases[i].address, sizeof address);
		assert_true(pseudonyms_ip6(pseudonyms, address));
		assert_true(common_bits(address, cases[i].address, 128) >= cases[i].bits);
		assert_memory_not_equal(address + 8, cases[i].address + 8, 8);
	}
	assert_false(pseudonyms_ip6(pseudonyms, multicast));
	assert_false(pseudonyms_ip6(pseudonyms, mapped_loopback));
	/* An address of IPv4 in the form of IPv6 is the same one. */
	assert_true(pseudonyms_ip6(pseudonyms, mapped));
	assert_true(pseudonyms_ip4(pseudonyms, ip4));
	assert_memory_equal(mapped + 12, ip4, 4);
	assert_int_equal(mapped[10], 0xff);
	assert_int_equal(mapped[11], 0xff);
	assert_string_equal(of("::ffff:93.184.216.34") + 7, of("93.184.216.34"));
}

static void accounts_of_one_domain_stay_together(void **state)
{
	static const uint8_t system[12] = { 1, 1, 0, 0, 0, 0, 0, 5, 18 };
	uint8_t ann[28] = { 1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0,    1,
			    2, 3, 4, 5, 6, 7, 8, 9, 1,  2, 3, 0xe9, 3 };
	uint8_t administrator[28];
	uint8_t copy[12];

	(void)state;
	memcpy(administrator, ann, sizeof ann);
	administrator[24] = 0xf4; /* 500 */
	administrator[25] = 1;
	memcpy(copy, system, sizeof copy);
	assert_false(pseudonyms_sid(pseudonyms, copy, sizeof copy));
	assert_memory_equal(copy, system, sizeof copy);
	assert_true(pseudonyms_sid(pseudonyms, ann, sizeof ann));
	assert_true(pseudonyms_sid(pseudonyms, administrator, sizeof administrator));
	assert_memory_equal(ann, administrator, 24);
	assert_int_equal(etw_load_u32(ann + 8), 21);
	assert_int_not_equal(etw_load_u32(ann + 12), 0x04030201);
	assert_int_equal(etw_load_u32(administrator + 24), 500);
	assert_int_not_equal(etw_load_u32(ann + 24), 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_every_windows_has_stays),
		cmocka_unit_test(numbers_that_may_name_something_change),
		cmocka_unit_test(letters_with_nuls_between_them_are_one_word),
		cmocka_unit_test(a_text_in_codes_changes_as_a_whole),
		cmocka_unit_test(no_end_of_a_long_list_stays),
		cmocka_unit_test(different_numbers_stay_different),
		cmocka_unit_test(a_path_keeps_its_depth_and_its_extension),
		cmocka_unit_test(one_name_has_one_pseudonym_wherever_it_stands),
		cmocka_unit_test(the_case_of_letters_of_other_languages_makes_no_difference),
		cmocka_unit_test(another_key_gives_other_pseudonyms_and_the_same_key_the_same),
		cmocka_unit_test(long_numbers_and_identifiers_keep_their_form),
		cmocka_unit_test(addresses_keep_common_prefixes),
		cmocka_unit_test(an_address_reads_the_same_in_a_text_and_in_bytes),
		cmocka_unit_test(an_address_of_ip6_keeps_what_it_is_for),
		cmocka_unit_test(accounts_of_one_domain_stay_together),
	};

	return cmocka_run_group_tests_name("pseudonyms", tests, open_key, close_key);
}

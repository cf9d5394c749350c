/* SPDX-License-Identifier: MIT */
#include "selftest/kit_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct kit_mask *mask_with_names(void)
{
	struct kit_mask *mask = kit_mask_new();

	assert_non_null(mask);
	assert_true(kit_mask_name(mask, "PAYROLL-7", "machine"));
	assert_true(kit_mask_name(mask, "PAYROLL-7.corp.example", "machine-full"));
	assert_true(kit_mask_name(mask, "jdoe", "user1"));
	assert_true(kit_mask_name(mask, "x", "never")); /* too short to look for */
	return mask;
}

static void expect_masked(struct kit_mask *mask, const char *text, const char *expected)
{
	struct etw_text out = { 0 };

	kit_mask_add(mask, &out, text, strlen(text));
	assert_false(out.failed);
	assert_string_equal(out.size > 0 ? out.data : "", expected);
	text_free(&out);
}

static void names_parts_and_accounts_get_pseudonyms(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "etw_events_total{process=\"chrome\"} 12\n",
		  "etw_events_total{process=\"chrome\"} 12\n" },
		{ "on payroll-7, PAYROLL-7.corp.example and PAYROLL-70\n",
		  "on machine, machine-full and PAYROLL-70\n" },
		{ "C:\\Users\\jdoe\\Secret Deal.docx", "C:\\Users\\user1\\name1.docx" },
		{ "path=\"C:\\\\Users\\\\jdoe\\\\secret deal.DOCX\",process",
		  "path=\"C:\\\\Users\\\\user1\\\\name1.DOCX\",process" },
		{ "\\Device\\HarddiskVolume3\\Windows\\System32\\merger",
		  "\\Device\\HarddiskVolume3\\Windows\\System32\\name2" },
		{ "file=D:/data/merger level=info", "file=D:/name3/name2 level=info" },
		{ "\\\\nas\\merger\\a.txt: is gone", "\\\\name4\\name2\\name5.txt: is gone" },
		{ "CORP\\jdoe", "name6\\user1" },
		{ "S-1-5-21-1-2-3-500 S-1-5-18 S-1-5-21-1-2-3-500",
		  "S-1-5-21-account1 S-1-5-18 S-1-5-21-account1" },
		{ "S-1-12-1-1111-2222-3333-4444, S-1-12-1", "S-1-12-1-account2, S-1-12-1" },
		{ "http://127.0.0.1:9189/metrics", "http://127.0.0.1:9189/metrics" },
		{ "7 x 8", "7 x 8" },
		{ "\"D:\\\\a b, c;d\",x=\"y\" file='D:\\e', z=1\n",
		  "\"D:\\\\name7\",x=\"y\" file='D:\\name8', z=1\n" },
		{ "a \"line that ends\nfile=D:/e level=info",
		  "a \"line that ends\nfile=D:/name8 level=info" },
		{ "\"D:\\e\\\",7,\"e\"\n", "\"D:\\name8\\\",7,\"e\"\n" },
		{ "a=\"not \\\"D:\\\\e\\\", but \\\"D:\\\\e\\\\\\\"\" b=D:/e c=1\n",
		  "a=\"not \\\"D:\\\\name8\\\", but \\\"D:\\\\name8\\\\\\\"\" b=D:/name8 c=1\n" },
	};
	struct kit_mask *mask = mask_with_names();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		expect_masked(mask, cases[i].text, cases[i].expected);
	}
	kit_mask_free(mask);
}

/* No name comes through, wherever a text begins and ends. */
static void no_cut_discloses_a_name(void **state)
{
	static const char text[] =
		"a=\"\\Device\\HarddiskVolume1\\Users\\jdoe\\Hidden Plans\\Budget.xlsx\" PAYROLL-7";

	(void)state;
	for (size_t size = 0; size < sizeof text; size++) {
		struct kit_mask *mask = mask_with_names();
		struct etw_text out = { 0 };

		kit_mask_add(mask, &out, text, size);
		if (out.size > 0) {
			assert_null(strstr(out.data, "jdoe"));
			assert_null(strstr(out.data, "Hidden"));
			assert_null(strstr(out.data, "Plans"));
			assert_null(strstr(out.data, "Budget"));
			assert_null(strstr(out.data, "PAYROLL-7"));
		}
		text_free(&out);
		kit_mask_free(mask);
	}
}

/* What else a name of a file may have in it: signs that end a path elsewhere, and dots. */
static void no_sign_in_a_name_discloses_what_follows(void **state)
{
	static const char *const texts[] = {
		"\"C:\\Deals\\Sale of Acme, price to Initech.docx\"",
		"{\"a\":\"b\",\"c\":\"C:\\\\Deals\\\\Sale of {Acme}; price to Initech.docx\"}",
		"msg=\"cannot read \\\"C:\\\\Deals\\\\Acme, Initech.docx\\\"\"",
		"\"C:\\x\\bonus list=high.txt\"",
		"C:\\Deals\\Anna's salaries.etl",
		"D:\\Profiles\\anna.lee\\x",
		"D:/Profiles/anna.lee/x",
		/* without quotes */
		"summary: C:\\Deals\\Acme, Initech.docx: access is denied",
		"C:\\Deals\\Acme; Initech.docx",
		"D:/Deals/{Acme} Initech.docx",
		"CORP\\Acme,Initech",
		"C:\\x\\bonus list=high.txt",
		"C:\\Deals\\the staff' salaries.etl",
		/* a stream of a file */
		"\"C:\\Deals\\list.txt:salaries\"",
		/* in a table, where a backslash is written once: the quote behind it ends the value
		 */
		"\"C:\\dir\\\",1,\"--out=C:\\x\\bonus list=high.txt\"",
		"\"C:\\\",1,\"--out=C:\\x\\bonus list=high.txt\"",
		"\"\\\\nas\\dir\\\",1,\"--out=C:\\x\\bonus list=high.txt\"",
	};
	static const char *const secrets[] = { "Initech", "salaries", "high", "lee" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct kit_mask *mask = kit_mask_new();
		struct etw_text out = { 0 };

		assert_non_null(mask);
		kit_mask_add(mask, &out, texts[i], strlen(texts[i]));
		assert_false(out.failed);
		for (size_t j = 0; j < sizeof secrets / sizeof secrets[0]; j++) {
			if (strstr(out.data, secrets[j])) {
				fail_msg("%s is in %s", secrets[j], out.data);
			}
		}
		text_free(&out);
		kit_mask_free(mask);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_parts_and_accounts_get_pseudonyms),
		cmocka_unit_test(no_cut_discloses_a_name),
		cmocka_unit_test(no_sign_in_a_name_discloses_what_follows),
	};

	return cmocka_run_group_tests_name("kit_mask", tests, NULL, NULL);
}

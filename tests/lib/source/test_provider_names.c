/* SPDX-License-Identifier: MIT */
/* The providers that the program knows by GUID and name: those that it needs, and those of the
 * table. */
#include "lib/source/provider_names.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct etw_guid parse(const char *text)
{
	struct etw_guid guid;

	assert_true(etw_guid_parse(text, &guid));
	return guid;
}

static void well_known_providers_have_names(void **state)
{
	static const struct {
		const char *guid, *name;
	} rows[] = {
		{ "2f07e2ee-15db-40f1-90ef-9d7ba282188a", "Microsoft-Windows-TCPIP" },
		{ "0063715b-eeda-4007-9429-ad526f62696e", "Microsoft-Windows-Services" },
		{ "a0c1853b-5c40-4b15-8766-3cf1c58f985a", "Microsoft-Windows-PowerShell" },
		{ "a669021c-c450-4609-a035-5af59af4df18",
		  "Microsoft-Windows-DotNETRuntimeRundown" },
		{ "ffdb9886-80f3-4540-aa8b-b85192217ddf", "Microsoft-PerfTrack-MSHTML" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_guid guid = parse(rows[i].guid), found;

		assert_string_equal(etw_provider_name(&guid), rows[i].name);
		assert_true(etw_provider_guid(rows[i].name, &found));
		assert_true(etw_guid_equal(&guid, &found));
	}
}

static void every_row_is_found_both_ways(void **state)
{
	(void)state;
	assert_true(etw_well_known_provider_count > 200);
	for (size_t i = 0; i < etw_well_known_provider_count; i++) {
		const struct etw_known_provider_row *row = &etw_well_known_providers[i];
		char upper[128];
		struct etw_guid guid;
		size_t size = 0;

		for (; row->name[size]; size++) {
			assert_true(size + 1 < sizeof upper);
			upper[size] = (char)toupper((unsigned char)row->name[size]);
		}
		upper[size] = '\0';
		assert_true(etw_provider_name(&row->guid) == row->name);
		assert_true(etw_provider_guid(upper, &guid));
		assert_true(etw_guid_equal(&guid, &row->guid));
	}
}

/* Those that the program needs are not in the table, and no GUID and no name is there twice. */
static void rows_are_sorted_and_differ(void **state)
{
	char before[GUID_TEXT_SIZE] = "", text[GUID_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < etw_well_known_provider_count; i++) {
		guid_format(&etw_well_known_providers[i].guid, text);
		assert_true(strcmp(before, text) < 0);
		memcpy(before, text, sizeof before);
		for (size_t j = 0; j < ETW_KNOWN_PROVIDERS; j++) {
			assert_false(etw_guid_equal(&etw_well_known_providers[i].guid,
						    &etw_known_providers[j].guid));
		}
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	struct etw_guid none = { { 0 } }, all, guid = { { 1 } };

	(void)state;
	memset(&all, 0xff, sizeof all);
	assert_null(etw_provider_name(&none));
	assert_null(etw_provider_name(&all));
	assert_false(etw_provider_guid("", &guid));
	assert_false(etw_provider_guid("Microsoft-Windows-", &guid));
	assert_int_equal(guid.bytes[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_known_providers_have_names),
		cmocka_unit_test(every_row_is_found_both_ways),
		cmocka_unit_test(rows_are_sorted_and_differ),
		cmocka_unit_test(what_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * OpenMetrics 1.0: heads, units, created times, numbers of buckets, escapes, the end.
 *
 * Expected texts are from "OpenMetrics 1.0" (prometheus.io), sections "Text format" and "Canonical
 * Numbers". tests/e2e/formats.sh gives whole pages to parsers of others.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "metrics/exposition.h"

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

static bool is_under_test(void *context, const struct family *family)
{
	(void)context;
	return strncmp(family_name(family), "etw_exporter_", 13) != 0;
}

/* The page without the registry's own families; free with text_free(). */
static struct etw_text page_of(struct registry *registry, bool created)
{
	const struct exposition_options options = { .format = EXPOSITION_OPENMETRICS_1_0_0,
						    .created = created,
						    .requested = is_under_test };
	struct etw_text page = { 0 };

	assert_true(exposition_write(registry, &options, append, &page));
	assert_false(page.failed);
	return page;
}

static void expect_page(struct registry *registry, const char *expected)
{
	struct etw_text page = page_of(registry, false);

	assert_string_equal(page.data, expected);
	text_free(&page);
}

static int make(void **state)
{
	*state = registry_new(NULL, NULL);
	return *state ? 0 : -1;
}

static int done(void **state)
{
	registry_free(*state);
	return 0;
}

static struct family *declare(struct registry *registry, const struct family_options *options)
{
	struct family *family = registry_family(registry, options, NULL);

	assert_non_null(family);
	return family;
}

static uint32_t id_of(struct registry *registry, const char *text)
{
	return intern_string(registry_strings(registry), text);
}

static void a_page_without_families_ends_as_well(void **state)
{
	expect_page(*state, "# EOF\n");
}

static void the_head_of_a_counter_has_no_total(void **state)
{
	struct registry *registry = *state;
	struct shard *shard = registry_shard(registry, false, NULL);

	family_add(declare(registry, &(struct family_options){ .name = "a_seconds_total",
							       .help = "A \"b\" c\\d\ne.",
							       .type = FAMILY_COUNTER,
							       .decimals = 9,
							       .labels = { "x" },
							       .label_count = 1 }),
		   shard, (uint32_t[]){ id_of(registry, "q\"b\\n\n") }, 1500000000);
	family_add(declare(registry, &(struct family_options){ .name = "b_total",
							       .help = "B.",
							       .type = FAMILY_COUNTER }),
		   shard, NULL, 2);
	family_set(declare(registry, &(struct family_options){ .name = "c_bytes",
							       .help = "C.",
							       .type = FAMILY_GAUGE }),
		   shard, NULL, -3);
	family_set(declare(registry, &(struct family_options){ .name = "d_info",
							       .help = "D.",
							       .type = FAMILY_GAUGE }),
		   shard, NULL, 1);
	/* Not the name of a counter there. */
	family_add(declare(registry, &(struct family_options){ .name = "e",
							       .help = "E.",
							       .type = FAMILY_COUNTER }),
		   shard, NULL, 4);
	expect_page(registry, "# HELP a_seconds A \\\"b\\\" c\\\\d\\ne.\n"
			      "# TYPE a_seconds counter\n"
			      "# UNIT a_seconds seconds\n"
			      "a_seconds_total{x=\"q\\\"b\\\\n\\n\"} 1.5\n"
			      "# HELP b B.\n"
			      "# TYPE b counter\n"
			      "b_total 2\n"
			      "# HELP c_bytes C.\n"
			      "# TYPE c_bytes gauge\n"
			      "# UNIT c_bytes bytes\n"
			      "c_bytes -3\n"
			      "# HELP d_info D.\n"
			      "# TYPE d_info gauge\n"
			      "d_info 1\n"
			      "# HELP e E.\n"
			      "# TYPE e unknown\n"
			      "e 4\n"
			      "# EOF\n");
}

/* The rows are those of "Canonical Numbers", and what Go's %g makes of others. */
static void numbers_of_buckets_are_canonical(void **state)
{
	static const struct {
		uint64_t bound;
		unsigned decimals;
		const char *text;
	} cases[] = {
		{ 0, 9, "0.0" },
		{ 1000000, 9, "0.001" },
		{ 2000000, 9, "0.002" },
		{ 10000000, 9, "0.01" },
		{ 100000000, 9, "0.1" },
		{ 900000000, 9, "0.9" },
		{ 1000000000, 9, "1.0" },
		{ UINT64_C(10000000000), 9, "10.0" },
		{ 100000, 9, "0.0001" },
		{ 128000, 9, "0.000128" },
		{ 10000, 9, "1e-05" },
		{ 64000, 9, "6.4e-05" },
		{ 1, 9, "1e-09" },
		{ 1, 0, "1.0" },
		{ 100000, 0, "100000.0" },
		{ 999999, 0, "999999.0" },
		{ 1000000, 0, "1e+06" },
		{ 1048576, 0, "1.048576e+06" },
		{ UINT64_C(10000000000), 0, "1e+10" },
	};
	struct registry *registry = *state;
	struct shard *shard = registry_shard(registry, false, NULL);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char name[16], line[128];
		struct etw_text page;

		snprintf(name, sizeof name, "h%02zu", i);
		family_observe(declare(registry,
				       &(struct family_options){ .name = name,
								 .help = "H.",
								 .type = FAMILY_HISTOGRAM,
								 .decimals = cases[i].decimals,
								 .buckets = &cases[i].bound,
								 .bucket_count = 1 }),
			       shard, NULL, cases[i].bound);
		snprintf(line, sizeof line, "\n%s_bucket{le=\"%s\"} 1\n%s_bucket{le=\"+Inf\"} 1\n",
			 name, cases[i].text, name);
		page = page_of(registry, false);
		if (!strstr(page.data, line)) {
			fail_msg("no %s in:\n%s", line, page.data);
		}
		text_free(&page);
	}
}

/* The number after a series, in milliseconds. */
static uint64_t created_of(const struct etw_text *page, const char *series)
{
	const char *at = strstr(page->data, series);
	unsigned long long seconds;
	char fraction[4] = "";
	int fields;

	if (!at) {
		fail_msg("no %s in:\n%s", series, page->data);
		return 0;
	}
	fields = sscanf(at + strlen(series), " %llu.%3[0-9]", &seconds, fraction);
	assert_true(fields >= 1);
	while (strlen(fraction) < 3) {
		strcat(fraction, "0");
	}
	return seconds * 1000 + strtoull(fraction, NULL, 10);
}

static void counters_and_histograms_have_the_time_they_were_made(void **state)
{
	static const uint64_t bound = 5;
	struct registry *registry = *state;
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *counter = declare(registry, &(struct family_options){ .name = "a_total",
									     .help = "A.",
									     .type = FAMILY_COUNTER,
									     .labels = { "x" },
									     .label_count = 1 });
	struct family *histogram =
		declare(registry, &(struct family_options){ .name = "b_seconds",
							    .help = "B.",
							    .type = FAMILY_HISTOGRAM,
							    .labels = { "x" },
							    .label_count = 1,
							    .buckets = &bound,
							    .bucket_count = 1 });
	uint32_t first = id_of(registry, "1"), second = id_of(registry, "2");
	uint64_t before_ms = os_unix_time_ns() / 1000000, after_ms, one, two;
	struct etw_text page;

	family_add(counter, shard, &first, 7);
	after_ms = os_unix_time_ns() / 1000000;
	/* Times are rounded down to tenths of a second. */
	while (os_unix_time_ns() / 1000000 <= after_ms + 200) {
	}
	family_add(counter, shard, &first, 7);
	family_add(counter, shard, &second, 7);
	family_observe(histogram, shard, &first, 3);
	page = page_of(registry, true);
	one = created_of(&page, "a_total{x=\"1\"} 14\na_created{x=\"1\"}");
	two = created_of(&page, "a_total{x=\"2\"} 7\na_created{x=\"2\"}");
	assert_in_range(one, before_ms - 99, after_ms);
	assert_in_range(two, after_ms + 101, os_unix_time_ns() / 1000000);
	assert_in_range(created_of(&page, "b_seconds_sum{x=\"1\"} 3\nb_seconds_count{x=\"1\"} 1\n"
					  "b_seconds_created{x=\"1\"}"),
			two, os_unix_time_ns() / 1000000);
	text_free(&page);
	page = page_of(registry, false);
	assert_null(strstr(page.data, "_created"));
	text_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page_without_families_ends_as_well, make, done),
		cmocka_unit_test_setup_teardown(the_head_of_a_counter_has_no_total, make, done),
		cmocka_unit_test_setup_teardown(numbers_of_buckets_are_canonical, make, done),
		cmocka_unit_test_setup_teardown(
			counters_and_histograms_have_the_time_they_were_made, make, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The text format: numbers, escaping, histograms, order, chunks.
 */
#include "metrics/exposition.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/decimal.h"
#include "tests/support/page.h"
#include "tests/support/page_oracle.h"

struct fixture {
	struct registry *registry;
	struct shard *shard;
};

static int make(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct registry_limits limits = { .series_per_family = 100000 };

	assert_non_null(fixture);
	fixture->registry = registry_new(&limits, NULL);
	assert_non_null(fixture->registry);
	fixture->shard = registry_shard(fixture->registry, false, NULL);
	assert_non_null(fixture->shard);
	*state = fixture;
	return 0;
}

static int done(void **state)
{
	struct fixture *fixture = *state;

	registry_free(fixture->registry);
	free(fixture);
	return 0;
}

static struct family *declare(struct fixture *fixture, const struct family_options *options)
{
	struct etw_error err = { 0 };
	struct family *family = registry_family(fixture->registry, options, &err);

	if (!family) {
		fail_msg("%s", err.text);
	}
	return family;
}

static uint32_t id_of(struct fixture *fixture, const char *text)
{
	return intern_string(registry_strings(fixture->registry), text);
}

static void integers_are_printed_exactly(void **state)
{
	uint64_t value = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		char expected[32], got[DECIMAL_ROOM];
		uint64_t number = value >> (i % 64);

		snprintf(expected, sizeof expected, "%" PRIu64, number);
		*put_u64(got, number) = '\0';
		assert_string_equal(got, expected);
		value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	}
	for (uint64_t power = 1;; power *= 10) {
		for (uint64_t number = power - 1; number <= power + 1; number++) {
			char expected[32], got[DECIMAL_ROOM];

			snprintf(expected, sizeof expected, "%" PRIu64, number);
			*put_u64(got, number) = '\0';
			assert_string_equal(got, expected);
		}
		if (power == UINT64_C(10000000000000000000)) {
			break;
		}
	}
}

static void scaled_values_are_exact_and_short(void **state)
{
	static const struct {
		int64_t value;
		unsigned decimals;
		const char *text;
	} cases[] = {
		{ 0, 0, "0" },
		{ 0, 9, "0" },
		{ 1, 9, "0.000000001" },
		{ 1000000000, 9, "1" },
		{ 1500000000, 9, "1.5" },
		{ 128000, 9, "0.000128" },
		{ 123456789012345678, 9, "123456789.012345678" },
		{ INT64_MAX, 9, "9223372036.854775807" },
		{ INT64_MIN, 9, "-9223372036.854775808" },
		{ INT64_MIN, 0, "-9223372036854775808" },
		{ -1, 1, "-0.1" },
		{ 10, 1, "1" },
		{ 12, 1, "1.2" },
		{ 1050, 3, "1.05" },
		{ 99, 2, "0.99" },
		{ INT64_MAX, 1, "922337203685477580.7" },
		{ 123456789, 8, "1.23456789" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[DECIMAL_ROOM];

		*put_scaled_i64(text, cases[i].value, cases[i].decimals) = '\0';
		assert_string_equal(text, cases[i].text);
	}
}

static void families_are_sorted_by_name_and_samples_by_creation(void **state)
{
	struct fixture *fixture = *state;
	struct family_options options = {
		.help = "Help.", .type = FAMILY_COUNTER, .labels = { "a" }, .label_count = 1
	};
	struct family *second, *first;

	options.name = "zz_total";
	second = declare(fixture, &options);
	options.name = "aa_total";
	first = declare(fixture, &options);
	options.name = "empty_total";
	declare(fixture, &options);
	family_add(second, fixture->shard, (uint32_t[]){ id_of(fixture, "z") }, 1);
	family_add(second, fixture->shard, (uint32_t[]){ id_of(fixture, "a") }, 12345678901);
	family_add(first, fixture->shard, (uint32_t[]){ id_of(fixture, "") }, 0);
	page_expect_exactly(fixture->registry, "# HELP aa_total Help.\n"
					       "# TYPE aa_total counter\n"
					       "aa_total{a=\"\"} 0\n"
					       "# HELP zz_total Help.\n"
					       "# TYPE zz_total counter\n"
					       "zz_total{a=\"z\"} 1\n"
					       "zz_total{a=\"a\"} 12345678901\n");
}

static void label_values_and_help_are_escaped(void **state)
{
	struct fixture *fixture = *state;
	struct family *family = declare(
		fixture, &(struct family_options){ .name = "x_total",
						   .help = "A \"quoted\" back\\slash\nand \xff.",
						   .type = FAMILY_COUNTER,
						   .labels = { "a", "b" },
						   .label_count = 2 });

	family_add(family, fixture->shard,
		   (uint32_t[]){ id_of(fixture, "C:\\Program Files\\\"x\"\n"),
				 id_of(fixture, "\xed\xa0\x80\xc3\xa4\xf0\x9f\x98\x80}") },
		   7);
	page_expect_exactly(
		fixture->registry,
		"# HELP x_total A \"quoted\" back\\\\slash\\nand \xef\xbf\xbd.\n"
		"# TYPE x_total counter\n"
		"x_total{a=\"C:\\\\Program Files\\\\\\\"x\\\"\\n\","
		"b=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4\xf0\x9f\x98\x80}\"} 7\n");
}

static void gauges_are_signed_scaled_and_hidden(void **state)
{
	struct fixture *fixture = *state;
	struct family_options options = { .name = "g_seconds",
					  .help = "G.",
					  .type = FAMILY_GAUGE,
					  .decimals = 9,
					  .labels = { "a" },
					  .label_count = 1 };
	struct family *family = declare(fixture, &options);
	uint32_t x = id_of(fixture, "x"), y = id_of(fixture, "y");

	family_set(family, fixture->shard, &x, -1500000000);
	family_set(family, fixture->shard, &y, 3);
	page_expect_exactly(fixture->registry, "# HELP g_seconds G.\n# TYPE g_seconds gauge\n"
					       "g_seconds{a=\"x\"} -1.5\n"
					       "g_seconds{a=\"y\"} 0.000000003\n");
	family_hide(family, fixture->shard, &x);
	page_expect_exactly(fixture->registry, "# HELP g_seconds G.\n# TYPE g_seconds gauge\n"
					       "g_seconds{a=\"y\"} 0.000000003\n");
	family_hide(family, fixture->shard, &y);
	page_expect_exactly(fixture->registry, "");
	family_set(family, fixture->shard, &x, 0);
	page_expect_exactly(fixture->registry, "# HELP g_seconds G.\n# TYPE g_seconds gauge\n"
					       "g_seconds{a=\"x\"} 0\n");
}

static void a_histogram_is_cumulative_and_scaled(void **state)
{
	static const uint64_t bounds[] = { 128000, 1000000000, 2500000000 };
	static const uint64_t values[] = { 128000, 128001, 1000000000, 2000000000, 9000000000 };
	struct fixture *fixture = *state;
	struct shard *other = registry_shard(fixture->registry, true, NULL);
	struct family_options options = { .name = "d_seconds",
					  .help = "D.",
					  .type = FAMILY_HISTOGRAM,
					  .decimals = 9,
					  .labels = { "disk", "operation" },
					  .label_count = 2,
					  .buckets = bounds,
					  .bucket_count = 3 };
	struct family *family = declare(fixture, &options);
	uint32_t ids[2] = { id_of(fixture, "0"), id_of(fixture, "read") };

	for (size_t i = 0; i < 5; i++) {
		family_observe(family, i % 2 ? other : fixture->shard, ids, values[i]);
	}
	page_expect_exactly(fixture->registry,
			    "# HELP d_seconds D.\n"
			    "# TYPE d_seconds histogram\n"
			    "d_seconds_bucket{disk=\"0\",operation=\"read\",le=\"0.000128\"} 1\n"
			    "d_seconds_bucket{disk=\"0\",operation=\"read\",le=\"1\"} 3\n"
			    "d_seconds_bucket{disk=\"0\",operation=\"read\",le=\"2.5\"} 4\n"
			    "d_seconds_bucket{disk=\"0\",operation=\"read\",le=\"+Inf\"} 5\n"
			    "d_seconds_sum{disk=\"0\",operation=\"read\"} 12.000256001\n"
			    "d_seconds_count{disk=\"0\",operation=\"read\"} 5\n");
}

static void a_histogram_may_have_no_labels_and_no_buckets(void **state)
{
	struct fixture *fixture = *state;
	struct family *family = declare(
		fixture, &(struct family_options){
				 .name = "d_bytes", .help = "D.", .type = FAMILY_HISTOGRAM });

	family_observe(family, fixture->shard, NULL, 5);
	page_expect_exactly(fixture->registry, "# HELP d_bytes D.\n"
					       "# TYPE d_bytes histogram\n"
					       "d_bytes_bucket{le=\"+Inf\"} 1\n"
					       "d_bytes_sum 5\n"
					       "d_bytes_count 1\n");
}

static void the_registry_counts_itself(void **state)
{
	struct fixture *fixture = *state;
	struct etw_text page;

	declare(fixture,
		&(struct family_options){
			.name = "fixed_total", .help = "F.", .labels = { "a" }, .label_count = 1 });
	declare(fixture, &(struct family_options){ .name = "open_total",
						   .help = "O.",
						   .labels = { "a" },
						   .label_count = 1,
						   .dynamic_labels = 1 });
	page = page_of(fixture->registry);
	assert_string_equal(
		page.data,
		"# HELP etw_exporter_series Label sets in use, of all metric families together.\n"
		"# TYPE etw_exporter_series gauge\n"
		"etw_exporter_series 1\n");
	text_free(&page);
}

struct chunks {
	size_t count, smallest, largest, total, refuse_at;
	struct etw_text page;
};

static bool take_chunk(void *context, const char *bytes, size_t size)
{
	struct chunks *chunks = context;

	chunks->count++;
	chunks->total += size;
	chunks->largest = size > chunks->largest ? size : chunks->largest;
	text_add(&chunks->page, bytes, size);
	return chunks->count != chunks->refuse_at;
}

/* Long values too: prefixes that cross chunks of every size. */
static void fill(struct fixture *fixture, uint32_t count)
{
	struct family *family = declare(fixture, &(struct family_options){ .name = "many_total",
									   .help = "M.",
									   .labels = { "a" },
									   .label_count = 1 });

	for (uint32_t i = 0; i < count; i++) {
		char value[4000];
		uint32_t id;
		size_t size = i % 97 == 0 ? 3900 : 20 + i % 31;

		memset(value, 'v', sizeof value);
		snprintf(value, sizeof value, "%u", i);
		value[strlen(value)] = 'x';
		id = intern_add(registry_strings(fixture->registry), value, size);
		family_add(family, fixture->shard, &id, i);
	}
}

static void a_big_page_goes_out_in_chunks(void **state)
{
	enum { COUNT = 20000 };
	struct fixture *fixture = *state;
	struct chunks chunks = { 0 };
	const char *at, *end;

	fill(fixture, COUNT);
	assert_true(exposition_write(fixture->registry, NULL, take_chunk, &chunks));
	assert_true(chunks.count > 10);
	assert_true(chunks.largest < 80 * 1024);
	at = strstr(chunks.page.data, "\nmany_total{");
	end = chunks.page.data + chunks.page.size;
	for (uint32_t i = 0; i < COUNT; i++) {
		char expected[64];

		assert_non_null(at);
		snprintf(expected, sizeof expected, "\nmany_total{a=\"%ux", i);
		assert_memory_equal(at, expected, strlen(expected));
		at = memchr(at + 1, '\n', (size_t)(end - at) - 1);
		assert_non_null(at);
		snprintf(expected, sizeof expected, "\"} %u", i);
		assert_memory_equal(at - strlen(expected), expected, strlen(expected));
	}
	assert_string_equal(at, "\n");
	text_free(&chunks.page);
}

static void rendering_ends_when_the_client_is_gone(void **state)
{
	struct fixture *fixture = *state;
	struct chunks chunks = { .refuse_at = 2 };

	fill(fixture, 20000);
	assert_false(exposition_write(fixture->registry, NULL, take_chunk, &chunks));
	assert_int_equal(chunks.count, 2);
	text_free(&chunks.page);
}

static bool is_named_x(void *context, const struct family *family)
{
	(*(unsigned *)context)++;
	return strcmp(family_name(family), "x_total") == 0;
}

static void only_requested_families_are_rendered(void **state)
{
	struct fixture *fixture = *state;
	struct family_options options = { .name = "x_total", .help = "X.", .type = FAMILY_COUNTER };
	struct chunks chunks = { 0 };
	unsigned asked = 0;
	const struct exposition_options requested = { .requested = is_named_x, .context = &asked };

	/* No such family yet: an empty page, which is no failure. */
	assert_true(exposition_write(fixture->registry, &requested, take_chunk, &chunks));
	assert_int_equal(chunks.count, 0);
	assert_int_equal(asked, 3); /* the registry's own families */
	family_add(declare(fixture, &options), fixture->shard, NULL, 3);
	assert_true(exposition_write(fixture->registry, &requested, take_chunk, &chunks));
	assert_string_equal(chunks.page.data, "# HELP x_total X.\n# TYPE x_total counter\n"
					      "x_total 3\n");
	text_free(&chunks.page);
}

/* ---- in the order of labels ---- */

static struct etw_text sorted_page(struct fixture *fixture, enum exposition_format format)
{
	const struct exposition_options options = { .format = format, .sorted = true };
	struct chunks chunks = { 0 };

	assert_true(exposition_write(fixture->registry, &options, take_chunk, &chunks));
	return chunks.page;
}

/* The rest of the page, from a text on. */
static const char *page_from(const struct etw_text *page, const char *text)
{
	const char *at = strstr(page->data, text);

	assert_non_null(at);
	return at;
}

static void expect_start(const char *at, const char *text)
{
	if (strncmp(at, text, strlen(text)) != 0) {
		fail_msg("%s", at);
	}
}

static void sorted_samples_are_in_the_order_of_their_labels(void **state)
{
	static const char *const values[][2] = { { "b", "2" }, { "", "9" },  { "a", "10" },
						 { "b", "1" }, { "ab", "" }, { "a", "1" },
						 { "B", "" },  { "b", "" } };
	struct fixture *fixture = *state;
	struct family *family = declare(fixture, &(struct family_options){ .name = "x_total",
									   .help = "X.",
									   .type = FAMILY_COUNTER,
									   .labels = { "a", "b" },
									   .label_count = 2 });
	struct etw_text page;

	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		const uint32_t ids[] = { id_of(fixture, values[i][0]),
					 id_of(fixture, values[i][1]) };

		family_add(family, fixture->shard, ids, i);
	}
	page = sorted_page(fixture, EXPOSITION_TEXT_0_0_4);
	/* By the bytes of the line: a quote comes before any letter or digit. */
	expect_start(page_from(&page, "# HELP x_total"), "# HELP x_total X.\n"
							 "# TYPE x_total counter\n"
							 "x_total{a=\"\",b=\"9\"} 1\n"
							 "x_total{a=\"B\",b=\"\"} 6\n"
							 "x_total{a=\"a\",b=\"1\"} 5\n"
							 "x_total{a=\"a\",b=\"10\"} 2\n"
							 "x_total{a=\"ab\",b=\"\"} 4\n"
							 "x_total{a=\"b\",b=\"\"} 7\n"
							 "x_total{a=\"b\",b=\"1\"} 3\n"
							 "x_total{a=\"b\",b=\"2\"} 0\n");
	text_free(&page);
	/* Without the option they stay as they were made. */
	page_expect(fixture->registry, "x_total{a=\"b\",b=\"2\"} 0\n"
				       "x_total{a=\"\",b=\"9\"} 1\n");
}

static void sorted_gauges_and_histograms_are_whole(void **state)
{
	static const uint64_t bound = 10;
	struct fixture *fixture = *state;
	struct family *histogram =
		declare(fixture, &(struct family_options){ .name = "d_bytes",
							   .help = "D.",
							   .type = FAMILY_HISTOGRAM,
							   .labels = { "a" },
							   .label_count = 1,
							   .buckets = &bound,
							   .bucket_count = 1 });
	struct family *gauge = declare(fixture, &(struct family_options){ .name = "g",
									  .help = "G.",
									  .type = FAMILY_GAUGE,
									  .labels = { "a" },
									  .label_count = 1 });
	uint32_t ids[] = { id_of(fixture, "z"), id_of(fixture, "m"), id_of(fixture, "c") };
	struct etw_text page;

	for (uint64_t i = 0; i < 3; i++) {
		family_observe(histogram, fixture->shard, &ids[i], 5 + i * 10);
		family_set(gauge, fixture->shard, &ids[i], 7 - (int64_t)i);
	}
	family_hide(gauge, fixture->shard, &ids[1]);
	page = sorted_page(fixture, EXPOSITION_TEXT_0_0_4);
	expect_start(page_from(&page, "# TYPE d_bytes"), "# TYPE d_bytes histogram\n"
							 "d_bytes_bucket{a=\"c\",le=\"10\"} 0\n"
							 "d_bytes_bucket{a=\"c\",le=\"+Inf\"} 1\n"
							 "d_bytes_sum{a=\"c\"} 25\n"
							 "d_bytes_count{a=\"c\"} 1\n"
							 "d_bytes_bucket{a=\"m\",le=\"10\"} 0\n"
							 "d_bytes_bucket{a=\"m\",le=\"+Inf\"} 1\n"
							 "d_bytes_sum{a=\"m\"} 15\n"
							 "d_bytes_count{a=\"m\"} 1\n"
							 "d_bytes_bucket{a=\"z\",le=\"10\"} 1\n"
							 "d_bytes_bucket{a=\"z\",le=\"+Inf\"} 1\n"
							 "d_bytes_sum{a=\"z\"} 5\n"
							 "d_bytes_count{a=\"z\"} 1\n");
	expect_start(page_from(&page, "# TYPE g gauge"), "# TYPE g gauge\n"
							 "g{a=\"c\"} 5\n"
							 "g{a=\"z\"} 7\n");
	text_free(&page);
	family_hide(gauge, fixture->shard, &ids[0]);
	family_hide(gauge, fixture->shard, &ids[2]);
	page = sorted_page(fixture, EXPOSITION_TEXT_0_0_4);
	assert_null(strstr(page.data, "# TYPE g gauge")); /* no sample of it is shown */
	text_free(&page);
}

/* A family of each type, whose samples are in segments of all sizes, in two shards. */
static void fill_by_chance(struct fixture *fixture, uint32_t count)
{
	static const uint64_t bounds[] = { 10, 1000 };
	static const char *const names[] = { "c_total", "g", "h" };
	struct shard *other = registry_shard(fixture->registry, true, NULL);
	struct family *families[3];
	uint64_t random = 5;

	for (unsigned i = 0; i < 3; i++) {
		families[i] = declare(fixture,
				      &(struct family_options){ .name = names[i],
								.help = "H.",
								.type = (enum family_type)i,
								.labels = { "a", "b" },
								.label_count = 2,
								.buckets = i == 2 ? bounds : NULL,
								.bucket_count = i == 2 ? 2 : 0 });
	}
	for (uint32_t i = 0; i < count; i++) {
		struct shard *shard = i % 3 ? fixture->shard : other;
		char text[32];
		uint32_t ids[2];

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		snprintf(text, sizeof text, "%u", (unsigned)(random >> 40) % 1000);
		ids[0] = id_of(fixture, text);
		snprintf(text, sizeof text, "%x", (unsigned)(random >> 50));
		ids[1] = id_of(fixture, text);
		family_add(families[0], shard, ids, random >> 44);
		family_set(families[1], shard, ids, (int64_t)(random >> 33));
		family_observe(families[2], shard, ids, random >> 52);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Cuts a page into its lines, in its order. */
static size_t lines_of(struct etw_text *page, char ***lines)
{
	size_t count = 0, at = 0;

	for (size_t i = 0; i < page->size; i++) {
		count += page->data[i] == '\n';
	}
	*lines = calloc(count, sizeof **lines);
	assert_non_null(*lines);
	for (size_t i = 0, start = 0; i < page->size; i++) {
		if (page->data[i] == '\n') {
			page->data[i] = '\0';
			(*lines)[at++] = page->data + start;
			start = i + 1;
		}
	}
	return count;
}

/* Of all lines that begin so, each is above the one before, up to the value. */
static void assert_rising(char **lines, size_t count, const char *start)
{
	const char *last = "";

	for (size_t i = 0; i < count; i++) {
		if (strncmp(lines[i], start, strlen(start)) == 0) {
			assert_true(strncmp(last, lines[i], strcspn(lines[i], " ")) < 0);
			last = lines[i];
		}
	}
	assert_true(last[0] != '\0');
}

static void assert_same_lines(char **lines, char **others, size_t count)
{
	qsort((void *)lines, count, sizeof *lines, compare_lines);
	qsort((void *)others, count, sizeof *others, compare_lines);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(lines[i], others[i]);
	}
}

static void a_sorted_page_has_the_lines_of_one_that_is_not(void **state)
{
	static const enum exposition_format formats[] = { EXPOSITION_TEXT_0_0_4,
							  EXPOSITION_OPENMETRICS_1_0_0 };
	struct fixture *fixture = *state;

	fill_by_chance(fixture, 3000);
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		const struct exposition_options plain = { .format = formats[i] };
		struct etw_text sorted = sorted_page(fixture, formats[i]);
		struct chunks chunks = { 0 };
		char **lines, **plain_lines;
		const char *fault;
		size_t count;

		assert_true(exposition_write(fixture->registry, &plain, take_chunk, &chunks));
		assert_int_equal(sorted.size, chunks.page.size);
		assert_true(memcmp(sorted.data, chunks.page.data, sorted.size) != 0);
		if (i == 0) {
			assert_null(page_fault(sorted.data, sorted.size, &fault));
		}
		count = lines_of(&sorted, &lines);
		assert_int_equal(lines_of(&chunks.page, &plain_lines), count);
		assert_rising(lines, count, "c_total{");
		assert_rising(lines, count, "g{");
		assert_rising(lines, count, "h_count{");
		assert_same_lines(lines, plain_lines, count);
		free((void *)lines);
		free((void *)plain_lines);
		text_free(&sorted);
		text_free(&chunks.page);
	}
}

/* Two registries that count the same label sets, in opposite orders. */
static void a_sorted_page_does_not_depend_on_the_order_of_counting(void **state)
{
	enum { COUNT = 500 };
	struct fixture fixtures[2] = { { NULL } };
	struct etw_text pages[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct family *family;

		fixtures[i].registry = registry_new(NULL, NULL);
		assert_non_null(fixtures[i].registry);
		fixtures[i].shard = registry_shard(fixtures[i].registry, false, NULL);
		family = declare(&fixtures[i], &(struct family_options){ .name = "x_total",
									 .help = "X.",
									 .labels = { "a" },
									 .label_count = 1 });
		for (unsigned j = 0; j < COUNT; j++) {
			unsigned number = i == 0 ? j : COUNT - 1 - j;
			char text[16];
			uint32_t id;

			snprintf(text, sizeof text, "%u", number);
			id = id_of(&fixtures[i], text);
			family_add(family, fixtures[i].shard, &id, number);
		}
		pages[i] = sorted_page(&fixtures[i], EXPOSITION_TEXT_0_0_4);
	}
	assert_string_equal(pages[0].data, pages[1].data);
	for (unsigned i = 0; i < 2; i++) {
		text_free(&pages[i]);
		registry_free(fixtures[i].registry);
	}
}

static void sorted_rendering_ends_when_the_client_is_gone(void **state)
{
	const struct exposition_options options = { .sorted = true };
	struct fixture *fixture = *state;
	struct chunks chunks = { .refuse_at = 2 };

	fill(fixture, 20000);
	assert_int_equal(exposition_write(fixture->registry, &options, take_chunk, &chunks), 0);
	assert_int_equal(chunks.count, 2);
	text_free(&chunks.page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_printed_exactly),
		cmocka_unit_test(scaled_values_are_exact_and_short),
		cmocka_unit_test_setup_teardown(families_are_sorted_by_name_and_samples_by_creation,
						make, done),
		cmocka_unit_test_setup_teardown(label_values_and_help_are_escaped, make, done),
		cmocka_unit_test_setup_teardown(gauges_are_signed_scaled_and_hidden, make, done),
		cmocka_unit_test_setup_teardown(a_histogram_is_cumulative_and_scaled, make, done),
		cmocka_unit_test_setup_teardown(a_histogram_may_have_no_labels_and_no_buckets, make,
						done),
		cmocka_unit_test_setup_teardown(the_registry_counts_itself, make, done),
		cmocka_unit_test_setup_teardown(a_big_page_goes_out_in_chunks, make, done),
		cmocka_unit_test_setup_teardown(rendering_ends_when_the_client_is_gone, make, done),
		cmocka_unit_test_setup_teardown(only_requested_families_are_rendered, make, done),
		cmocka_unit_test_setup_teardown(sorted_samples_are_in_the_order_of_their_labels,
						make, done),
		cmocka_unit_test_setup_teardown(sorted_gauges_and_histograms_are_whole, make, done),
		cmocka_unit_test_setup_teardown(a_sorted_page_has_the_lines_of_one_that_is_not,
						make, done),
		cmocka_unit_test(a_sorted_page_does_not_depend_on_the_order_of_counting),
		cmocka_unit_test_setup_teardown(sorted_rendering_ends_when_the_client_is_gone, make,
						done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

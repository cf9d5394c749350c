/* SPDX-License-Identifier: MIT */
/*
 * The registry: declaring families, finding and making samples, limits.
 */
#include "metrics/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/page.h"

static struct family *declare(struct registry *registry, const struct family_options *options)
{
	struct etw_error err = { 0 };
	struct family *family = registry_family(registry, options, &err);

	if (!family) {
		fail_msg("%s", err.text);
	}
	return family;
}

static struct registry *registry_with(uint32_t series_per_family, uint32_t series)
{
	struct registry_limits limits = { .series_per_family = series_per_family,
					  .series = series };
	struct registry *registry = registry_new(&limits, NULL);

	assert_non_null(registry);
	return registry;
}

static uint32_t id_of(struct registry *registry, const char *text)
{
	return intern_string(registry_strings(registry), text);
}

static const struct family_options by_process = {
	.name = "etw_events_total",
	.help = "Events.",
	.type = FAMILY_COUNTER,
	.labels = { "process", "provider" },
	.label_count = 2,
	.dynamic_labels = 1,
};

static void names_and_labels_follow_the_data_model(void **state)
{
	static const uint64_t falling[] = { 5, 5 };
	static const struct {
		struct family_options options;
		const char *error;
	} cases[] = {
		{ { .name = "" }, "\"\" is not a metric name" },
		{ { .name = "1x" }, "\"1x\" is not a metric name" },
		{ { .name = "a-b" }, "\"a-b\" is not a metric name" },
		{ { .name = "a\xc3\xa4" }, "\"a\xc3\xa4\" is not a metric name" },
		{ { .name = "x", .labels = { "a:b" }, .label_count = 1 },
		  "x: \"a:b\" is not a label name" },
		{ { .name = "x", .labels = { "__name__" }, .label_count = 1 },
		  "x: \"__name__\" is not a label name" },
		{ { .name = "x", .labels = { "a", "b", "a" }, .label_count = 3 },
		  "x: label \"a\" appears twice" },
		{ { .name = "x", .label_count = 9 }, "x: 9 labels, at most 8 are possible" },
		{ { .name = "x", .labels = { "a" }, .label_count = 1, .dynamic_labels = 2 },
		  "x: an open label that does not exist" },
		{ { .name = "x", .decimals = 10 }, "x: 10 decimals, at most 9 are possible" },
		{ { .name = "x", .type = FAMILY_HISTOGRAM, .labels = { "le" }, .label_count = 1 },
		  "x: a histogram has a label \"le\" of its own" },
		{ { .name = "x", .type = FAMILY_HISTOGRAM, .buckets = falling, .bucket_count = 2 },
		  "x: bucket 1 is not greater than the one before" },
		{ { .name = "x", .type = FAMILY_HISTOGRAM, .buckets = falling, .bucket_count = 65 },
		  "x: 65 buckets, at most 64 are possible" },
		{ { .name = "x", .buckets = falling, .bucket_count = 1 },
		  "x: only a histogram has buckets" },
	};
	struct registry *registry = registry_with(0, 0);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct family_options options = cases[i].options;
		struct etw_error err = { 0 };

		options.help = "Help.";
		assert_null(registry_family(registry, &options, &err));
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
	declare(registry, &(struct family_options){ .name = "a:b_9", .help = "Help." });
	registry_free(registry);
}

static void a_family_is_declared_twice_only_if_it_is_the_same(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct family *family = declare(registry, &by_process);
	struct family_options other = by_process;

	(void)state;
	other.help = "Another help.";
	assert_ptr_equal(declare(registry, &other), family);
	assert_ptr_equal(registry_find_family(registry, "etw_events_total"), family);
	assert_null(registry_find_family(registry, "etw_events"));
	assert_string_equal(family_name(family), "etw_events_total");
	assert_int_equal(family_type(family), FAMILY_COUNTER);

	other.labels[1] = "disk";
	assert_null(registry_family(registry, &other, NULL));
	other = by_process;
	other.type = FAMILY_GAUGE;
	assert_null(registry_family(registry, &other, NULL));
	other = by_process;
	other.decimals = 9;
	assert_null(registry_family(registry, &other, NULL));
	other = by_process;
	other.dynamic_labels = 3;
	assert_null(registry_family(registry, &other, NULL));
	registry_free(registry);
}

static void a_histogram_is_the_same_only_with_the_same_buckets(void **state)
{
	static const uint64_t bounds[] = { 1, 5 }, same[] = { 1, 5 }, others[] = { 1, 6 };
	struct registry *registry = registry_with(0, 0);
	struct family_options histogram = { .name = "d",
					    .help = "D.",
					    .type = FAMILY_HISTOGRAM,
					    .buckets = bounds,
					    .bucket_count = 2 };
	struct family *family = declare(registry, &histogram);
	struct etw_error err = { 0 };

	(void)state;
	histogram.buckets = same;
	assert_ptr_equal(declare(registry, &histogram), family);
	histogram.buckets = others;
	assert_null(registry_family(registry, &histogram, &err));
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	histogram.buckets = bounds;
	histogram.bucket_count = 1;
	assert_null(registry_family(registry, &histogram, NULL));
	registry_free(registry);
}

static void a_budget_for_texts_has_room_for_the_reserved_ones(void **state)
{
	struct registry_limits limits = { .strings_bytes = 8 };
	struct etw_error err = { 0 };

	(void)state;
	assert_null(registry_new(&limits, &err));
	assert_string_equal(err.text, "a budget of 8 bytes for texts is too small");
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
}

static void a_histogram_takes_the_names_of_its_lines(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct family_options histogram = { .name = "d_seconds",
					    .help = "D.",
					    .type = FAMILY_HISTOGRAM };
	struct family_options counter = { .name = "d_seconds_sum", .help = "D." };
	struct etw_error err = { 0 };

	(void)state;
	declare(registry, &histogram);
	assert_null(registry_family(registry, &counter, &err));
	assert_string_equal(err.text, "d_seconds_sum: the name collides with the family d_seconds");
	counter.name = "e_seconds_bucket";
	declare(registry, &counter);
	histogram.name = "e_seconds";
	assert_null(registry_family(registry, &histogram, &err));
	assert_string_equal(err.text,
			    "e_seconds: the name collides with the family e_seconds_bucket");
	registry_free(registry);
}

static void each_label_set_has_cells_of_its_own(void **state)
{
	enum { COUNT = 5000 };
	struct registry *registry = registry_with(2 * COUNT, 0);
	struct shard *shard = registry_shard(registry, false, NULL);

	(void)state;
	for (size_t labels = 1; labels <= 4; labels++) {
		char name[16];
		struct family_options options = { .help = "X.",
						  .labels = { "a", "b", "c", "d" },
						  .label_count = labels };
		struct family *family;

		snprintf(name, sizeof name, "x%zu", labels);
		options.name = name;
		family = declare(registry, &options);
		for (uint32_t round = 0; round < 2; round++) {
			for (uint32_t i = 0; i < COUNT; i++) {
				char text[16];
				uint32_t ids[4], id;

				snprintf(text, sizeof text, "v%u", i);
				id = id_of(registry, text);
				for (size_t l = 0; l < 4; l++) {
					ids[l] = l == i % labels ? id : registry_none(registry);
				}
				family_add(family, shard, ids, i + round);
			}
		}
		assert_int_equal(family_series(family), COUNT);
		for (uint32_t i = 0; i < COUNT; i++) {
			char text[16];
			uint32_t ids[4];
			int64_t value;

			snprintf(text, sizeof text, "v%u", i);
			for (size_t l = 0; l < 4; l++) {
				ids[l] = l == i % labels ? id_of(registry, text) :
							   registry_none(registry);
			}
			assert_true(family_value(family, ids, &value));
			assert_int_equal(value, 2 * i + 1);
		}
	}
	registry_free(registry);
}

static void a_family_without_labels_has_one_sample(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family =
		declare(registry, &(struct family_options){ .name = "x", .help = "X." });
	int64_t value;

	(void)state;
	assert_false(family_value(family, NULL, &value));
	family_add(family, shard, NULL, 2);
	family_add(family, shard, NULL, 3);
	assert_true(family_value(family, NULL, &value));
	assert_int_equal(value, 5);
	assert_int_equal(family_series(family), 1);
	registry_free(registry);
}

static void a_sample_is_the_sum_over_its_writers(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shards[SHARDS_MAX];
	struct family *family = declare(registry, &by_process);
	struct etw_error err = { 0 };
	uint32_t ids[2] = { id_of(registry, "svchost"), id_of(registry, "Windows Kernel") };
	int64_t value;

	(void)state;
	for (size_t i = 0; i < SHARDS_MAX; i++) {
		shards[i] = registry_shard(registry, i % 2 == 1, &err);
		assert_non_null(shards[i]);
		family_add(family, shards[i], ids, i + 1);
	}
	assert_true(family_value(family, ids, &value));
	assert_int_equal(value, SHARDS_MAX * (SHARDS_MAX + 1) / 2);
	assert_null(registry_shard(registry, false, &err));
	assert_string_equal(err.text, "more than 72 threads that count");
	registry_free(registry);
}

static void gauges_go_up_and_down_and_hide(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &(struct family_options){ .name = "x",
									    .help = "X.",
									    .type = FAMILY_GAUGE });
	int64_t value;

	(void)state;
	cells_move(family_cells(family, shard, NULL, NULL), 1);
	cells_move(family_cells(family, shard, NULL, NULL), (uint64_t)-3);
	assert_true(family_value(family, NULL, &value));
	assert_int_equal(value, -2);
	cells_move(family_cells(family, shard, NULL, NULL), 5);
	assert_true(family_value(family, NULL, &value));
	assert_int_equal(value, 3);
	family_hide(family, shard, NULL);
	assert_false(family_value(family, NULL, &value));
	family_set(family, shard, NULL, -7);
	assert_true(family_value(family, NULL, &value));
	assert_int_equal(value, -7);
	registry_free(registry);
}

static void assert_gauge(struct family *family, int64_t expected)
{
	int64_t value = 0;

	assert_true(family_value(family, NULL, &value));
	assert_int_equal(value, expected);
}

/* Sums of one shard and of several beyond what 64 bits hold. */
static void a_gauge_that_passes_the_largest_number_comes_back(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shards[] = { registry_shard(registry, false, NULL),
				   registry_shard(registry, false, NULL) };
	struct family *family = declare(registry, &(struct family_options){ .name = "x",
									    .help = "X.",
									    .type = FAMILY_GAUGE });
	cell *first = family_cells(family, shards[0], NULL, NULL);
	cell *second = family_cells(family, shards[1], NULL, NULL);

	(void)state;
	cells_move(first, INT64_MAX);
	cells_move(second, INT64_MAX);
	assert_gauge(family, INT64_MAX);
	page_expect(registry, "x 9223372036854775807\n");
	cells_move(second, (uint64_t)-INT64_MAX);
	assert_gauge(family, INT64_MAX);
	for (int i = 0; i < 5; i++) {
		cells_move(first, INT64_MAX);
		cells_hold(first);
	}
	assert_gauge(family, INT64_MAX);
	page_expect(registry, "x 9223372036854775807\n");
	shard_hold_gauges(shards[0]);
	assert_gauge(family, INT64_MAX);
	shard_release_gauges(shards[0]);
	for (int i = 0; i < 6; i++) {
		cells_move(first, (uint64_t)-INT64_MAX);
	}
	for (int i = 0; i < 5; i++) {
		cells_release(first);
	}
	assert_gauge(family, 0);
	cells_replace(first, 0, (uint64_t)-INT64_MAX);
	cells_move(first, (uint64_t)-5);
	assert_gauge(family, -INT64_MAX);
	cells_replace(first, (uint64_t)-INT64_MAX, INT64_MAX);
	assert_gauge(family, INT64_MAX - 5);
	cells_move(first, INT64_MAX);
	family_restart(family, shards[0]);
	assert_gauge(family, 0);
	registry_free(registry);
}

/* A shard hides what it has shown, and nothing that another has. */
static void a_shard_hides_all_of_its_samples(void **state)
{
	enum { SAMPLES = 40 };
	struct registry *registry = registry_with(0, 0);
	struct shard *one = registry_shard(registry, false, NULL);
	struct shard *other = registry_shard(registry, false, NULL);
	struct shard *none = registry_shard(registry, false, NULL);
	const struct family_options options = { .name = "x",
						.help = "X.",
						.type = FAMILY_GAUGE,
						.labels = { "path" },
						.label_count = 1 };
	struct family *family = registry_family(registry, &options, NULL);
	int64_t value;
	uint32_t id;

	(void)state;
	for (unsigned i = 0; i < SAMPLES; i++) {
		char path[8];

		snprintf(path, sizeof path, "%u", i);
		id = intern_string(registry_strings(registry), path);
		family_set(family, i % 2 == 0 ? one : other, &id, 5);
	}
	family_hide_all(family, none);
	family_hide_all(family, one);
	for (unsigned i = 0; i < SAMPLES; i++) {
		char path[8];

		snprintf(path, sizeof path, "%u", i);
		id = intern_string(registry_strings(registry), path);
		assert_int_equal(family_value(family, &id, &value), i % 2 == 1);
	}
	id = intern_string(registry_strings(registry), "0");
	family_set(family, one, &id, 6);
	assert_true(family_value(family, &id, &value));
	assert_int_equal(value, 6);
	registry_free(registry);
}

/* While gauges are held, a page that showed a new label set with 0 would be wrong: an _info metric
 * is always 1. */
static void label_sets_that_are_new_while_gauges_are_held_are_not_shown(void **state)
{
	static const struct family_options options = {
		.name = "etw_disk_info",
		.help = "Disks.",
		.type = FAMILY_GAUGE,
		.labels = { "disk" },
		.label_count = 1,
		.dynamic_labels = 1,
	};
	struct registry *registry = registry_with(0, 0);
	struct family *family = declare(registry, &options);
	struct shard *shard = registry_shard(registry, false, NULL);
	char text[16], line[64];

	(void)state;
	for (unsigned pass = 0; pass < 3; pass++) {
		/* More than a segment of samples in each pass. */
		for (unsigned disk = 0; disk < 40; disk++) {
			uint32_t id;

			snprintf(text, sizeof text, "%u-%u", pass, disk);
			id = id_of(registry, text);
			family_set(family, shard, &id, 1);
			snprintf(line, sizeof line, "etw_disk_info{disk=\"%s\"} 1\n", text);
			if (pass == 0) {
				page_expect(registry, line);
			} else {
				page_expect_none(registry, text);
			}
		}
		page_expect_none(registry, "} 0\n");
		if (pass > 0) {
			shard_release_gauges(shard);
			page_expect(registry, line);
		}
		shard_hold_gauges(shard);
		page_expect(registry, line);
		family_hide_all(family, shard);
		page_expect(registry, line);
	}
	shard_release_gauges(shard);
	page_expect_none(registry, "etw_disk_info{");
	registry_free(registry);
}

static void an_observation_falls_into_one_bucket(void **state)
{
	static const uint64_t bounds[] = { 0, 10, 20, 30, 40, 50, 60 };
	static const struct {
		uint64_t value;
		size_t bucket;
	} cases[] = { { 0, 0 },  { 1, 1 },  { 10, 1 }, { 11, 2 }, { 20, 2 }, { 21, 3 },
		      { 30, 3 }, { 39, 4 }, { 50, 5 }, { 60, 6 }, { 61, 7 }, { UINT64_MAX, 7 } };

	(void)state;
	for (size_t count = 0; count <= sizeof bounds / sizeof bounds[0]; count++) {
		struct registry *registry = registry_with(0, 0);
		struct shard *shard = registry_shard(registry, false, NULL);
		struct family_options options = { .name = "x",
						  .help = "X.",
						  .type = FAMILY_HISTOGRAM,
						  .buckets = bounds,
						  .bucket_count = count };
		struct family *family = declare(registry, &options);
		cell *cells = family_cells(family, shard, NULL, NULL);
		uint64_t sum = 0;
		int64_t value;

		for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
			size_t bucket = cases[i].bucket < count ? cases[i].bucket : count;
			uint64_t before = atomic_load(&cells[bucket]);

			family_observe(family, shard, NULL, cases[i].value);
			assert_int_equal(atomic_load(&cells[bucket]), before + 1);
			assert_true(family_value(family, NULL, &value));
			sum += cases[i].value;
			assert_true((uint64_t)value == sum);
		}
		registry_free(registry);
	}
}

/* A counter that falls looks to Prometheus as if it began again, and a rate goes on. One that stays
 * at its end would be lost. */
static void a_counter_goes_on_behind_its_end(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shards[] = { registry_shard(registry, false, NULL),
				   registry_shard(registry, true, NULL) };
	struct family *family = declare(
		registry, &(struct family_options){
				  .name = "x_total", .help = "X.", .type = FAMILY_COUNTER });
	static const struct {
		size_t shard;
		uint64_t amount;
		const char *line;
	} steps[] = {
		{ 0, UINT64_MAX - 1, "\nx_total 18446744073709551614\n" },
		{ 1, 1, "\nx_total 18446744073709551615\n" },
		{ 0, 1, "\nx_total 0\n" },
		{ 0, 7, "\nx_total 7\n" },
		{ 1, UINT64_MAX, "\nx_total 6\n" },
		{ 1, 1, "\nx_total 7\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct etw_text page = { 0 };

		family_add(family, shards[steps[i].shard], NULL, steps[i].amount);
		page = page_of(registry);
		assert_non_null(strstr(page.data, steps[i].line));
		text_free(&page);
	}
	registry_free(registry);
}

static void a_sum_goes_on_behind_its_end(void **state)
{
	static const uint64_t bounds[] = { 10 };
	struct registry *registry = registry_with(0, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family =
		declare(registry, &(struct family_options){ .name = "sizes",
							    .help = "X.",
							    .type = FAMILY_HISTOGRAM,
							    .buckets = bounds,
							    .bucket_count = 1 });
	struct etw_text page;

	(void)state;
	family_observe(family, shard, NULL, UINT64_MAX);
	family_observe(family, shard, NULL, 5);
	page = page_of(registry);
	assert_non_null(strstr(page.data, "\nsizes_bucket{le=\"10\"} 1\n"));
	assert_non_null(strstr(page.data, "\nsizes_sum 4\n"));
	assert_non_null(strstr(page.data, "\nsizes_count 2\n"));
	text_free(&page);
	registry_free(registry);
}

static void past_the_limit_open_labels_read_other(void **state)
{
	struct registry *registry = registry_with(3, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &by_process);
	uint32_t kernel = id_of(registry, "kernel"), tcp = id_of(registry, "tcp");
	uint32_t other = registry_other(registry);
	int64_t value;
	bool overflowed;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		char text[16];
		uint32_t ids[2];

		snprintf(text, sizeof text, "p%u", i);
		ids[0] = id_of(registry, text);
		ids[1] = i < 8 ? kernel : tcp;
		family_add(family, shard, ids, 1);
		family_cells(family, shard, ids, &overflowed);
		assert_int_equal(overflowed, i >= 3);
	}
	assert_int_equal(family_series(family), 5);
	assert_true(family_value(family, (uint32_t[]){ id_of(registry, "p2"), kernel }, &value));
	assert_int_equal(value, 1);
	assert_true(family_value(family, (uint32_t[]){ other, kernel }, &value));
	assert_int_equal(value, 5);
	assert_true(family_value(family, (uint32_t[]){ other, tcp }, &value));
	assert_int_equal(value, 2);
	/* Those of the family, the overflow of the family, and this one. */
	page_expect(registry, "\netw_exporter_series 7\n");
	page_expect(registry,
		    "etw_exporter_series_overflow_total{metric=\"etw_events_total\"} 14\n");
	registry_free(registry);
}

static void a_family_has_a_limit_of_its_own(void **state)
{
	struct registry *registry = registry_with(100, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family_options options = by_process;
	struct family *family;

	(void)state;
	options.max_series = 2;
	family = declare(registry, &options);
	for (uint32_t i = 0; i < 10; i++) {
		char text[16];

		snprintf(text, sizeof text, "p%u", i);
		family_add(family, shard, (uint32_t[]){ id_of(registry, text), INTERN_NONE }, 1);
	}
	assert_int_equal(family_series(family), 3);
	registry_free(registry);
}

static void all_families_share_a_limit(void **state)
{
	struct registry *registry = registry_with(100, 5);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family_options options = by_process;
	struct family *first = declare(registry, &options), *second, *fixed;

	(void)state;
	options.name = "etw_more_total";
	second = declare(registry, &options);
	options.name = "etw_fixed_total";
	options.dynamic_labels = 0;
	fixed = declare(registry, &options);
	for (uint32_t i = 0; i < 4; i++) {
		char text[16];
		uint32_t ids[2] = { 0, INTERN_NONE };

		snprintf(text, sizeof text, "p%u", i);
		ids[0] = id_of(registry, text);
		family_add(fixed, shard, ids, 1);
		family_add(first, shard, ids, 1);
		family_add(second, shard, ids, 1);
	}
	assert_int_equal(family_series(first), 4); /* three, and _other */
	assert_int_equal(family_series(second), 3);
	assert_int_equal(family_series(fixed), 4);
	registry_free(registry);
}

static void too_many_overflow_series_become_one(void **state)
{
	struct registry *registry = registry_with(2, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &by_process);
	uint32_t other = registry_other(registry);
	int64_t value;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		char text[16];

		snprintf(text, sizeof text, "provider%u", i);
		family_add(family, shard,
			   (uint32_t[]){ registry_none(registry), id_of(registry, text) }, 1);
	}
	assert_int_equal(family_series(family), 5);
	assert_true(family_value(family, (uint32_t[]){ other, other }, &value));
	assert_int_equal(value, 6);
	registry_free(registry);
}

static void text_without_room_reads_other(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &by_process);
	uint32_t kernel = id_of(registry, "kernel"), other = registry_other(registry);
	char *longest = malloc(5000);
	uint32_t ids[2] = { INTERN_FULL, kernel };
	int64_t value;
	bool overflowed;

	(void)state;
	assert_non_null(family_cells(family, shard, ids, &overflowed));
	assert_true(overflowed);
	family_add(family, shard, ids, 4);
	ids[0] = other;
	assert_true(family_value(family, ids, &value));
	assert_int_equal(value, 4);
	family_cells(family, shard, ids, &overflowed);
	assert_false(overflowed); /* a value that really reads so is no overflow */

	memset(longest, 'x', 5000);
	ids[0] = intern_add(registry_strings(registry), longest, 5000);
	family_add(family, shard, ids, 4);
	ids[0] = other;
	assert_true(family_value(family, ids, &value));
	assert_int_equal(value, 8);
	page_expect(registry,
		    "etw_exporter_series_overflow_total{metric=\"etw_events_total\"} 3\n");
	free(longest);
	registry_free(registry);
}

/* Names of families are texts of the program: a full table of texts does not mix their overflow. */
static void overflow_names_its_families_when_texts_are_full(void **state)
{
	struct registry_limits limits = { .strings_bytes = 2000 };
	struct registry *registry = registry_new(&limits, NULL);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *events = declare(registry, &by_process);
	struct family_options options = by_process;
	struct family *starts;
	uint32_t ids[2] = { 0, registry_none(registry) };
	char text[16];

	(void)state;
	options.name = "etw_starts_total";
	starts = declare(registry, &options);
	for (unsigned i = 0; ids[0] != INTERN_FULL; i++) {
		snprintf(text, sizeof text, "process%u", i);
		ids[0] = id_of(registry, text);
	}
	for (unsigned i = 0; i < 5; i++) {
		family_add(i < 3 ? events : starts, shard, ids, 1);
	}
	for (unsigned i = 0; i < 2; i++) { /* a page does not add to the counts of the next */
		page_expect(registry,
			    "etw_exporter_series_overflow_total{metric=\"etw_events_total\"} 3\n"
			    "etw_exporter_series_overflow_total{metric=\"etw_starts_total\"} 2\n");
	}
	registry_free(registry);
}

static void prefixes_have_a_budget(void **state)
{
	struct registry *registry = registry_with(0, 10); /* 5120 bytes of prefixes */
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &by_process);
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof text);
	for (int i = 0; i < 5; i++) {
		text[0] = (char)('a' + i);
		family_add(family, shard,
			   (uint32_t[]){ intern_add(registry_strings(registry), text, sizeof text),
					 1 },
			   1);
	}
	assert_int_equal(family_series(family), 3); /* two, and _other */
	registry_free(registry);
}

static void what_is_not_utf8_counts_as_its_cleaned_text(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct shard *shard = registry_shard(registry, false, NULL);
	struct family *family = declare(registry, &by_process);
	uint32_t ids[2] = { id_of(registry, "a\xff"), id_of(registry, "\xc3\xa4") };
	int64_t value;

	(void)state;
	family_add(family, shard, ids, 1);
	ids[0] = id_of(registry, "a\xfe");
	family_add(family, shard, ids, 1);
	ids[0] = id_of(registry, "a\xef\xbf\xbd");
	family_add(family, shard, ids, 1);
	assert_int_equal(family_series(family), 1);
	assert_true(family_value(family, ids, &value));
	assert_int_equal(value, 3);
	page_expect(registry,
		    "etw_events_total{process=\"a\xef\xbf\xbd\",provider=\"\xc3\xa4\"} 3\n");
	page_expect_none(registry, "etw_exporter_series_overflow_total");
	registry_free(registry);
}

static void count_up(void *context)
{
	++*(int *)context;
}

static void scrape_hooks_are_bounded(void **state)
{
	struct registry *registry = registry_with(0, 0);
	struct etw_error err = { 0 };
	int runs = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		assert_true(registry_on_scrape(registry, count_up, &runs, &err));
	}
	assert_false(registry_on_scrape(registry, count_up, &runs, &err));
	assert_string_equal(err.text, "more than 16 scrape hooks");
	page_expect(registry, "etw_exporter_series");
	assert_int_equal(runs, 16);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_labels_follow_the_data_model),
		cmocka_unit_test(a_family_is_declared_twice_only_if_it_is_the_same),
		cmocka_unit_test(a_histogram_is_the_same_only_with_the_same_buckets),
		cmocka_unit_test(a_budget_for_texts_has_room_for_the_reserved_ones),
		cmocka_unit_test(a_histogram_takes_the_names_of_its_lines),
		cmocka_unit_test(each_label_set_has_cells_of_its_own),
		cmocka_unit_test(a_family_without_labels_has_one_sample),
		cmocka_unit_test(a_sample_is_the_sum_over_its_writers),
		cmocka_unit_test(gauges_go_up_and_down_and_hide),
		cmocka_unit_test(a_gauge_that_passes_the_largest_number_comes_back),
		cmocka_unit_test(a_shard_hides_all_of_its_samples),
		cmocka_unit_test(label_sets_that_are_new_while_gauges_are_held_are_not_shown),
		cmocka_unit_test(an_observation_falls_into_one_bucket),
		cmocka_unit_test(a_counter_goes_on_behind_its_end),
		cmocka_unit_test(a_sum_goes_on_behind_its_end),
		cmocka_unit_test(past_the_limit_open_labels_read_other),
		cmocka_unit_test(a_family_has_a_limit_of_its_own),
		cmocka_unit_test(all_families_share_a_limit),
		cmocka_unit_test(too_many_overflow_series_become_one),
		cmocka_unit_test(text_without_room_reads_other),
		cmocka_unit_test(overflow_names_its_families_when_texts_are_full),
		cmocka_unit_test(prefixes_have_a_budget),
		cmocka_unit_test(what_is_not_utf8_counts_as_its_cleaned_text),
		cmocka_unit_test(scrape_hooks_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Exchanging one set of families for another: what stays, what leaves the page, what returns, and
 * that no page has families of both. Also run by ThreadSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "metrics/exposition.h"
#include "tests/support/page.h"

static const uint64_t bounds[] = { 10, 20 };

static const struct family_options counter = { .name = "a_total",
					       .help = "A.",
					       .type = FAMILY_COUNTER,
					       .labels = { "process" },
					       .label_count = 1,
					       .dynamic_labels = 1 };
static const struct family_options other_counter = { .name = "a_total",
						     .help = "A.",
						     .type = FAMILY_COUNTER,
						     .labels = { "process", "volume" },
						     .label_count = 2,
						     .dynamic_labels = 3 };
static const struct family_options gauge = { .name = "b", .help = "B.", .type = FAMILY_GAUGE };
static const struct family_options histogram = {
	.name = "c", .help = "C.", .type = FAMILY_HISTOGRAM, .buckets = bounds, .bucket_count = 2
};
static const struct family_options taken = { .name = "c_count",
					     .help = "C.",
					     .type = FAMILY_COUNTER };

struct fixture {
	struct registry *registry;
	struct shard *shard;
};

static struct fixture open_registry(const struct registry_limits *limits)
{
	struct fixture fixture = { .registry = registry_new(limits, NULL) };

	assert_non_null(fixture.registry);
	fixture.shard = registry_shard(fixture.registry, false, NULL);
	assert_non_null(fixture.shard);
	return fixture;
}

static struct family *prepare(const struct fixture *fixture, const struct family_options *options)
{
	struct etw_error err = { 0 };
	struct family *family = registry_prepare(fixture->registry, options, &err);

	assert_string_equal(err.text, "");
	return family;
}

static void exchange(const struct fixture *fixture, struct family *former, struct family *next)
{
	struct etw_error err = { 0 };

	registry_exchange(fixture->registry, &former, former != NULL, &next, next != NULL, &err);
	assert_string_equal(err.text, "");
}

static uint32_t id(const struct fixture *fixture, const char *text)
{
	return intern_string(registry_strings(fixture->registry), text);
}

static void a_prepared_family_is_shown_by_the_exchange(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *family = prepare(&fixture, &counter);
	uint32_t process = id(&fixture, "x");

	(void)state;
	family_add(family, fixture.shard, &process, 1);
	page_expect_exactly(fixture.registry, "");
	assert_null(registry_find_family(fixture.registry, "a_total"));
	exchange(&fixture, NULL, family);
	page_expect_exactly(fixture.registry, "# HELP a_total A.\n# TYPE a_total counter\n"
					      "a_total{process=\"x\"} 1\n");
	assert_ptr_equal(registry_find_family(fixture.registry, "a_total"), family);
	registry_free(fixture.registry);
}

static void a_family_of_both_sets_goes_on(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *family = registry_family(fixture.registry, &counter, NULL);
	uint32_t process = id(&fixture, "x");

	(void)state;
	family_add(family, fixture.shard, &process, 5);
	assert_ptr_equal(prepare(&fixture, &counter), family);
	exchange(&fixture, family, family);
	family_add(family, fixture.shard, &process, 2);
	page_expect(fixture.registry, "a_total{process=\"x\"} 7\n");
	registry_free(fixture.registry);
}

/* A counter must not fall, and memory is not used twice. */
static void what_returns_goes_on_where_it_was(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *family = registry_family(fixture.registry, &counter, NULL);
	uint32_t process = id(&fixture, "x");

	(void)state;
	family_add(family, fixture.shard, &process, 5);
	for (int i = 0; i < 100; i++) {
		exchange(&fixture, family, NULL);
		page_expect_exactly(fixture.registry, "");
		assert_ptr_equal(prepare(&fixture, &counter), family);
		exchange(&fixture, NULL, family);
		page_expect(fixture.registry, "a_total{process=\"x\"} 5\n");
	}
	registry_free(fixture.registry);
}

static void another_declaration_of_a_name_is_another_family(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *former = registry_family(fixture.registry, &counter, NULL);
	struct family *next = prepare(&fixture, &other_counter);
	uint32_t ids[] = { id(&fixture, "x"), id(&fixture, "C:") };

	(void)state;
	assert_ptr_not_equal(former, next);
	family_add(former, fixture.shard, ids, 5);
	exchange(&fixture, former, next);
	family_add(next, fixture.shard, ids, 1);
	page_expect_exactly(fixture.registry, "# HELP a_total A.\n# TYPE a_total counter\n"
					      "a_total{process=\"x\",volume=\"C:\"} 1\n");
	exchange(&fixture, next, former);
	page_expect_exactly(fixture.registry, "# HELP a_total A.\n# TYPE a_total counter\n"
					      "a_total{process=\"x\"} 5\n");
	registry_free(fixture.registry);
}

static void names_that_collide_change_nothing(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *stays = registry_family(fixture.registry, &histogram, NULL);
	struct family *former = registry_family(fixture.registry, &gauge, NULL);
	struct family *next = prepare(&fixture, &taken);
	struct etw_error err = { 0 };

	(void)state;
	family_set(former, fixture.shard, NULL, 3);
	assert_false(registry_exchange(fixture.registry, &former, 1, &next, 1, &err));
	assert_string_equal(err.text, "c_count: the name collides with the family c");
	page_expect_exactly(fixture.registry, "# HELP b B.\n# TYPE b gauge\nb 3\n");
	/* With the histogram among those that leave it is free. */
	assert_true(registry_exchange(fixture.registry, &stays, 1, &next, 1, &err));
	registry_free(fixture.registry);
}

static void a_set_cannot_have_two_families_of_one_name(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *next[] = { prepare(&fixture, &counter), prepare(&fixture, &other_counter) };
	struct etw_error err = { 0 };

	(void)state;
	assert_false(registry_exchange(fixture.registry, NULL, 0, next, 2, &err));
	assert_string_equal(err.text, "a_total: the name collides with the family a_total");
	page_expect_exactly(fixture.registry, "");
	/* Each of them alone can be shown. */
	exchange(&fixture, NULL, next[1]);
	exchange(&fixture, next[1], next[0]);
	registry_free(fixture.registry);
}

static void a_gauge_starts_again_at_0(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct shard *other = registry_shard(fixture.registry, false, NULL);
	struct family *family = registry_family(fixture.registry, &gauge, NULL);

	(void)state;
	family_set(family, fixture.shard, NULL, 3);
	family_set(family, other, NULL, 4);
	family_restart(family, fixture.shard);
	page_expect(fixture.registry, "b 4\n");
	assert_true(family_has_cell(family, other, family_cells(family, other, NULL, NULL)));
	assert_false(
		family_has_cell(family, fixture.shard, family_cells(family, other, NULL, NULL)));
	registry_free(fixture.registry);
}

/* Series of families that are not shown do not count against the limit of all. */
static void limits_are_those_of_the_set_in_force(void **state)
{
	const struct registry_limits two = { .series_per_family = 2, .series = 2 };
	const struct registry_limits four = { .series_per_family = 4, .series = 4 };
	struct fixture fixture = open_registry(&two);
	struct family *former = registry_family(fixture.registry, &counter, NULL);
	struct family *next = prepare(&fixture, &other_counter);
	uint32_t ids[] = { 0, id(&fixture, "C:") };

	(void)state;
	for (int i = 0; i < 3; i++) {
		ids[0] = id(&fixture, (const char *[]){ "x", "y", "z" }[i]);
		family_add(former, fixture.shard, ids, 1);
	}
	page_expect(fixture.registry, "a_total{process=\"_other\"} 1\n");
	exchange(&fixture, former, next);
	for (int i = 0; i < 3; i++) {
		ids[0] = id(&fixture, (const char *[]){ "x", "y", "z" }[i]);
		family_add(next, fixture.shard, ids, 1);
	}
	page_expect(fixture.registry, "a_total{process=\"y\",volume=\"C:\"} 1\n");
	page_expect(fixture.registry, "a_total{process=\"_other\",volume=\"_other\"} 1\n");
	registry_set_limits(fixture.registry, &four);
	family_add(next, fixture.shard, ids, 1);
	page_expect(fixture.registry, "a_total{process=\"z\",volume=\"C:\"} 1\n");
	registry_free(fixture.registry);
}

static void add_names(const struct fixture *fixture, struct family *family, unsigned first,
		      unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		char name[16];
		uint32_t ids[2];

		snprintf(name, sizeof name, "n%u", i);
		ids[0] = ids[1] = id(fixture, name);
		family_add(family, fixture->shard, ids, 1);
	}
}

/* A consumer counts into the former set for a moment; then its families come back. */
static void series_made_while_a_family_is_not_shown_count_once(void **state)
{
	const struct registry_limits limits = { .series_per_family = 8, .series = 8 };
	struct fixture fixture = open_registry(&limits);
	struct family *first = registry_family(fixture.registry, &counter, NULL);
	struct family *second = prepare(&fixture, &other_counter);

	(void)state;
	add_names(&fixture, first, 0, 2);
	exchange(&fixture, first, second);
	add_names(&fixture, first, 2, 3);
	exchange(&fixture, second, first);
	exchange(&fixture, first, second);
	add_names(&fixture, second, 0, 8);
	page_expect(fixture.registry, "a_total{process=\"n7\",volume=\"n7\"} 1\n");
	page_expect_none(fixture.registry, "_other");
	registry_free(fixture.registry);
}

/* ---- pages meanwhile ---- */

enum { EXCHANGES = 2000 };

struct meanwhile {
	struct registry *registry;
	atomic_bool done;
	bool twice, torn;
};

static bool append(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

/* Each page has one of the two counters of that name, and the gauge with the first of them. */
static void scrape(void *context)
{
	struct meanwhile *meanwhile = context;

	while (!atomic_load(&meanwhile->done)) {
		struct etw_text page = { 0 };
		const char *first, *second;

		exposition_write(meanwhile->registry, NULL, append, &page);
		text_add(&page, "", 1);
		first = strstr(page.data, "# TYPE a_total ");
		second = first ? strstr(first + 1, "# TYPE a_total ") : NULL;
		meanwhile->twice |= !first || second;
		meanwhile->torn |= (strstr(page.data, "a_total{process=\"x\"} ") != NULL) !=
				   (strstr(page.data, "# TYPE b gauge") != NULL);
		text_free(&page);
	}
}

static void no_page_has_families_of_both_sets(void **state)
{
	struct fixture fixture = open_registry(NULL);
	struct family *first[] = { registry_family(fixture.registry, &counter, NULL),
				   registry_family(fixture.registry, &gauge, NULL) };
	struct family *second[] = { prepare(&fixture, &other_counter) };
	struct meanwhile meanwhile = { .registry = fixture.registry };
	uint32_t ids[] = { id(&fixture, "x"), id(&fixture, "C:") };
	struct os_thread thread;
	struct etw_error err = { 0 };

	(void)state;
	family_add(first[0], fixture.shard, ids, 1);
	family_set(first[1], fixture.shard, NULL, 1);
	family_add(second[0], fixture.shard, ids, 1);
	assert_true(os_thread_start(&thread, scrape, &meanwhile, &err));
	for (int i = 0; i < EXCHANGES; i++) {
		assert_true(registry_exchange(fixture.registry, first, 2, second, 1, &err));
		assert_true(registry_exchange(fixture.registry, second, 1, first, 2, &err));
	}
	atomic_store(&meanwhile.done, true);
	os_thread_join(&thread);
	assert_false(meanwhile.twice);
	assert_false(meanwhile.torn);
	registry_free(fixture.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prepared_family_is_shown_by_the_exchange),
		cmocka_unit_test(a_family_of_both_sets_goes_on),
		cmocka_unit_test(what_returns_goes_on_where_it_was),
		cmocka_unit_test(another_declaration_of_a_name_is_another_family),
		cmocka_unit_test(names_that_collide_change_nothing),
		cmocka_unit_test(a_set_cannot_have_two_families_of_one_name),
		cmocka_unit_test(a_gauge_starts_again_at_0),
		cmocka_unit_test(limits_are_those_of_the_set_in_force),
		cmocka_unit_test(series_made_while_a_family_is_not_shown_count_once),
		cmocka_unit_test(no_page_has_families_of_both_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

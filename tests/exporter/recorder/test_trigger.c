/* SPDX-License-Identifier: MIT */
/*
 * When rules of the flight recorder fire, at times of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/recorder/trigger.h"

#define SECOND UINT64_C(1000000000)

static void a_gauge_fires_after_its_time_above_the_limit(void **state)
{
	const struct config_recorder_rule rule = { .above = 10, .for_ms = 3000 };
	struct trigger_state now = { 0 };

	(void)state;
	assert_false(trigger_step(&now, &rule, 11, false, 1 * SECOND));
	assert_false(trigger_step(&now, &rule, 11, false, 3 * SECOND));
	assert_false(
		trigger_step(&now, &rule, 10, false, 4 * SECOND)); /* not above: from the start */
	assert_false(trigger_step(&now, &rule, 12, false, 5 * SECOND));
	assert_false(trigger_step(&now, &rule, 12, false, 7 * SECOND));
	assert_true(trigger_step(&now, &rule, 12, false, 8 * SECOND));
	assert_false(trigger_step(&now, &rule, 12, false, 20 * SECOND)); /* once */
	assert_false(trigger_step(&now, &rule, 1, false, 21 * SECOND));
	assert_false(trigger_step(&now, &rule, 11, false, 22 * SECOND));
	assert_true(trigger_step(&now, &rule, 11, false, 25 * SECOND)); /* and again */
}

static void a_counter_counts_by_its_increase_each_second(void **state)
{
	const struct config_recorder_rule rule = { .above = 100 };
	struct trigger_state now = { 0 };

	(void)state;
	assert_false(trigger_step(&now, &rule, 1000000, true, 1 * SECOND)); /* no value before */
	assert_false(trigger_step(&now, &rule, 1000200, true, 3 * SECOND)); /* 100 */
	assert_true(trigger_step(&now, &rule, 1000402, true, 5 * SECOND));  /* 101 */
	assert_false(trigger_step(&now, &rule, 5, true, 6 * SECOND)); /* series were evicted */
	assert_true(trigger_step(&now, &rule, 106, true, 7 * SECOND));
}

/* ---- the page ---- */

struct fixture {
	struct registry *registry;
	struct shard *shard;
	struct family *bytes, *level, *duration;
};

static struct family *make(struct fixture *fixture, const char *name, enum family_type type)
{
	static const uint64_t bounds[] = { 10, 20 };
	const struct family_options options = {
		.name = name,
		.help = "Help.",
		.type = type,
		.labels = { "process" },
		.label_count = 1,
		.dynamic_labels = 1,
		.buckets = type == FAMILY_HISTOGRAM ? bounds : NULL,
		.bucket_count = type == FAMILY_HISTOGRAM ? 2 : 0,
	};
	struct family *family = registry_family(fixture->registry, &options, NULL);

	assert_non_null(family);
	return family;
}

static uint32_t label(struct fixture *fixture, const char *text)
{
	return intern_string(registry_strings(fixture->registry), text);
}

static void rules_read_the_page(void **state)
{
	struct config_recorder_rule rules[] = {
		{ .series = "x_level{process=\"a\"}", .above = 4 },
		{ .series = "x_bytes_total{process!=\"b\"}", .above = 50 },
		{ .series = "x_seconds", .above = 1 },
		{ .series = "x_missing", .above = 1 },
	};
	const struct config_recorder recorder = { .rules = rules, .rule_count = 4 };
	struct fixture fixture = { .registry = registry_new(&(struct registry_limits){ 0 }, NULL) };
	struct triggers *triggers = triggers_new(&recorder, NULL);
	uint32_t a, b, c;

	(void)state;
	assert_non_null(triggers);
	fixture.shard = registry_shard(fixture.registry, false, NULL);
	fixture.bytes = make(&fixture, "x_bytes_total", FAMILY_COUNTER);
	fixture.level = make(&fixture, "x_level", FAMILY_GAUGE);
	fixture.duration = make(&fixture, "x_seconds", FAMILY_HISTOGRAM);
	a = label(&fixture, "a");
	b = label(&fixture, "b");
	c = label(&fixture, "c");

	assert_null(triggers_evaluate(triggers, fixture.registry, 1 * SECOND));
	/* 49 of a and c together, much of b. */
	family_add(fixture.bytes, fixture.shard, &a, 20);
	family_add(fixture.bytes, fixture.shard, &c, 29);
	family_add(fixture.bytes, fixture.shard, &b, 10000);
	family_set(fixture.level, fixture.shard, &b, 100);
	assert_null(triggers_evaluate(triggers, fixture.registry, 2 * SECOND));
	family_add(fixture.bytes, fixture.shard, &a, 30);
	family_add(fixture.bytes, fixture.shard, &c, 21);
	assert_string_equal(triggers_evaluate(triggers, fixture.registry, 3 * SECOND),
			    "x_bytes_total{process!=\"b\"}");
	family_set(fixture.level, fixture.shard, &a, 5);
	assert_string_equal(triggers_evaluate(triggers, fixture.registry, 4 * SECOND),
			    "x_level{process=\"a\"}");
	for (unsigned i = 0; i < 4; i++) {
		family_observe(fixture.duration, fixture.shard, i % 2 ? &a : &b, 1000);
	}
	assert_null(triggers_evaluate(triggers, fixture.registry, 8 * SECOND)); /* one a second */
	family_observe(fixture.duration, fixture.shard, &a, 1000);
	family_observe(fixture.duration, fixture.shard, &b, 1000);
	assert_string_equal(triggers_evaluate(triggers, fixture.registry, 9 * SECOND), "x_seconds");
	triggers_free(triggers);
	registry_free(fixture.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gauge_fires_after_its_time_above_the_limit),
		cmocka_unit_test(a_counter_counts_by_its_increase_each_second),
		cmocka_unit_test(rules_read_the_page),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}

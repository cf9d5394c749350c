/* SPDX-License-Identifier: MIT */
/*
 * The history that the chart of the landing page draws: rates of steps, who is busiest, and its
 * bounds.
 */
#include "exporter/landing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

struct fixture {
	struct registry *registry;
	struct shard *shard;
	struct family *family;
	struct history *history;
	uint64_t now_ns;
};

/* A family of processes and volumes, and a history that has read it once. */
static void start(struct fixture *fixture, const char *name, unsigned decimals)
{
	const struct family_options options = { .name = name,
						.help = "H.",
						.labels = { "process", "volume" },
						.label_count = 2,
						.decimals = decimals };

	*fixture = (struct fixture){ .registry = registry_new(NULL, NULL), .now_ns = SECOND };
	fixture->shard = registry_shard(fixture->registry, false, NULL);
	fixture->family = registry_family(fixture->registry, &options, NULL);
	fixture->history = history_new(fixture->registry, NULL);
	assert_non_null(fixture->family);
	assert_non_null(fixture->history);
	history_step(fixture->history, fixture->now_ns);
}

static void stop(struct fixture *fixture)
{
	history_free(fixture->history);
	registry_free(fixture->registry);
}

static void count(struct fixture *fixture, const char *process, const char *volume, uint64_t value)
{
	struct intern *strings = registry_strings(fixture->registry);
	const uint32_t ids[] = { intern_string(strings, process), intern_string(strings, volume) };

	family_add(fixture->family, fixture->shard, ids, value);
}

static void step(struct fixture *fixture, uint64_t seconds)
{
	fixture->now_ns += seconds * SECOND;
	history_step(fixture->history, fixture->now_ns);
}

static struct etw_text json_of(struct fixture *fixture)
{
	struct etw_text json = { 0 };

	history_add_json(fixture->history, &json);
	assert_false(json.failed);
	return json;
}

static void expect(struct fixture *fixture, const char *part)
{
	struct etw_text json = json_of(fixture);

	if (!strstr(json.data, part)) {
		fail_msg("%s is not in %s", part, json.data);
	}
	text_free(&json);
}

static void rates_are_those_of_each_step(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_file_written_bytes_total", 0);
	count(&fixture, "a", "C:", 1000);
	count(&fixture, "b", "C:", 30000);
	step(&fixture, 5);
	count(&fixture, "a", "C:", 3000);
	count(&fixture, "a", "D:", 37000);
	step(&fixture, 10);
	expect(&fixture, "{\"ages_ms\":[10000,0],\"measures\":[{\"id\":\"written\",");
	expect(&fixture,
	       "\"unit\":\"bytes\",\"decimals\":0,\"processes\":["
	       "{\"name\":\"a\",\"total\":41000,\"window\":41000,\"rates\":[200,4000]},"
	       "{\"name\":\"b\",\"total\":30000,\"window\":30000,\"rates\":[6000,0]}]}]}");
	stop(&fixture);
}

static void what_was_before_the_first_step_is_only_in_the_total(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_process_cpu_seconds_total", 9);
	count(&fixture, "a", "", 7 * SECOND);
	step(&fixture, 5);
	for (unsigned i = 0; i < HISTORY_STEPS; i++) {
		count(&fixture, "b", "", SECOND);
		step(&fixture, 5);
	}
	/* a had its share in a step that has left the window. */
	expect(&fixture, "\"decimals\":9,\"processes\":[{\"name\":\"b\",\"total\":60000000000,"
			 "\"window\":60000000000,\"rates\":[200000000,");
	count(&fixture, "a", "", SECOND);
	step(&fixture, 5);
	expect(&fixture, "{\"name\":\"a\",\"total\":8000000000,\"window\":1000000000,");
	stop(&fixture);
}

static void fail_hook(void *context)
{
	(void)context;
	fail_msg("a scrape hook runs");
}

static void a_step_is_no_scrape(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_file_written_bytes_total", 0);
	assert_true(registry_on_scrape(fixture.registry, fail_hook, NULL, NULL));
	step(&fixture, 5);
	stop(&fixture);
}

static void only_families_on_the_page_are_measures(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_other_total", 0);
	count(&fixture, "a", "C:", 1);
	step(&fixture, 5);
	expect(&fixture, "\"measures\":[]}");
	stop(&fixture);
}

/* A collector that a reload switches on again has the values that it had. */
static void a_family_that_comes_later_has_no_rate_at_first(void **state)
{
	static const struct family_options read = { .name = "etw_file_read_bytes_total",
						    .help = "H.",
						    .labels = { "process", "volume" },
						    .label_count = 2 };
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_file_written_bytes_total", 0);
	step(&fixture, 5);
	fixture.family = registry_family(fixture.registry, &read, NULL);
	count(&fixture, "a", "C:", 1000000);
	step(&fixture, 5);
	count(&fixture, "a", "C:", 10);
	step(&fixture, 5);
	expect(&fixture,
	       "{\"name\":\"a\",\"total\":1000010,\"window\":10,\"rates\":[null,null,2]}");
	stop(&fixture);
}

static void a_long_pause_leaves_only_the_newest_steps(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, "etw_file_written_bytes_total", 0);
	count(&fixture, "a", "C:", 5);
	step(&fixture, 5);
	count(&fixture, "a", "C:", 300);
	step(&fixture, 300);
	expect(&fixture, "\"ages_ms\":[0],");
	expect(&fixture, "\"total\":305,\"window\":300,\"rates\":[1]}");
	stop(&fixture);
}

static void many_processes_do_not_make_it_grow(void **state)
{
	struct fixture fixture;
	struct etw_text json;

	(void)state;
	start(&fixture, "etw_file_written_bytes_total", 0);
	for (unsigned s = 0; s < 2 * HISTORY_STEPS; s++) {
		for (unsigned i = 0; i < 1500; i++) {
			char name[16];

			/* The 513th name has no room, though it would be the busiest. */
			snprintf(name, sizeof name, "%s%u", i == 512 ? "late" : "p", i);
			count(&fixture, name, "C:", i == 512 ? 1000 : i % 400);
		}
		step(&fixture, 5);
	}
	/* The busiest ten of those for which there is room. */
	expect(&fixture, "\"processes\":[{\"name\":\"p399\",");
	json = json_of(&fixture);
	assert_true(json.size < 10000);
	assert_null(strstr(json.data, "late"));
	text_free(&json);
	stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_those_of_each_step),
		cmocka_unit_test(what_was_before_the_first_step_is_only_in_the_total),
		cmocka_unit_test(a_step_is_no_scrape),
		cmocka_unit_test(only_families_on_the_page_are_measures),
		cmocka_unit_test(a_family_that_comes_later_has_no_rate_at_first),
		cmocka_unit_test(a_long_pause_leaves_only_the_newest_steps),
		cmocka_unit_test(many_processes_do_not_make_it_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

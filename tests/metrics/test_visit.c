/* SPDX-License-Identifier: MIT */
/*
 * A visit of a registry has the samples and the values of its page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/decimal.h"
#include "metrics/registry.h"
#include "metrics/visit.h"
#include "tests/support/page.h"

struct fixture {
	struct registry *registry;
	struct shard *shards[2];
	struct family *bytes, *seconds, *level, *plain;
};

static struct family *declare(struct registry *registry, const char *name, enum family_type type,
			      unsigned decimals, size_t labels)
{
	static const uint64_t bounds[] = { 1000000, 1500000000 };
	const struct family_options options = {
		.name = name,
		.help = "Help.",
		.type = type,
		.decimals = decimals,
		.labels = { "process", "volume" },
		.label_count = labels,
		.dynamic_labels = (1u << labels) - 1,
		.buckets = type == FAMILY_HISTOGRAM ? bounds : NULL,
		.bucket_count = type == FAMILY_HISTOGRAM ? 2 : 0,
	};
	struct family *family = registry_family(registry, &options, NULL);

	assert_non_null(family);
	return family;
}

static struct fixture make(void)
{
	static const char *const names[] = { "a", "say \"b\\\"\n", "" };
	struct fixture fixture = { .registry = registry_new(&(struct registry_limits){ 0 }, NULL) };
	struct registry *registry = fixture.registry;

	fixture.bytes = declare(registry, "x_bytes_total", FAMILY_COUNTER, 0, 2);
	fixture.seconds = declare(registry, "x_seconds", FAMILY_HISTOGRAM, 9, 1);
	fixture.level = declare(registry, "x_level", FAMILY_GAUGE, 3, 1);
	fixture.plain = declare(registry, "x_plain", FAMILY_GAUGE, 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		fixture.shards[i] = registry_shard(registry, false, NULL);
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t ids[] = { intern_string(registry_strings(registry), names[i]),
				   intern_string(registry_strings(registry), "C:") };

		family_add(fixture.bytes, fixture.shards[0], ids, i == 0 ? UINT64_MAX : i);
		family_add(fixture.bytes, fixture.shards[1], ids, 1000);
		family_observe(fixture.seconds, fixture.shards[i % 2], ids, 1000000 + i);
		family_observe(fixture.seconds, fixture.shards[1], ids, 2000000000);
		family_set(fixture.level, fixture.shards[0], ids, -1234 * (int64_t)i);
		if (i == 1) {
			family_hide(fixture.level, fixture.shards[0], ids);
		}
	}
	family_set(fixture.plain, fixture.shards[0], NULL, 7);
	return fixture;
}

static void add_number(struct etw_text *lines, uint64_t value, unsigned decimals, bool negative)
{
	char number[DECIMAL_ROOM + 1];

	*(negative ? put_scaled_i64(number, (int64_t)value, decimals) :
		     put_scaled(number, value, decimals)) = '\0';
	text_add_string(lines, number);
}

/* `x_total{a="1"` */
static void add_name(struct etw_text *lines, const struct visited_sample *sample,
		     const char *ending)
{
	const char *label;

	text_add_format(lines, "%s%s", family_name(sample->family), ending);
	for (size_t i = 0; (label = family_label(sample->family, i)) != NULL; i++) {
		const char *value = sample_label(sample, label);

		text_add_format(lines, "%c%s=\"", i == 0 ? '{' : ',', label);
		text_add_label_value(lines, value, strlen(value));
		text_add_char(lines, '"');
	}
}

/* Writes a sample as a page has it. */
static void add_sample(void *context, const struct visited_sample *sample)
{
	struct etw_text *lines = context;
	unsigned decimals = family_decimals(sample->family);
	const uint64_t *bounds;
	size_t count = family_buckets(sample->family, &bounds);
	uint64_t so_far = 0;

	if (family_type(sample->family) != FAMILY_HISTOGRAM) {
		add_name(lines, sample, "");
		text_add_string(lines, family_label(sample->family, 0) ? "} " : " ");
		add_number(lines, sample->value, decimals,
			   family_type(sample->family) == FAMILY_GAUGE);
		text_add_char(lines, '\n');
		return;
	}
	for (size_t i = 0; i <= count; i++) {
		so_far += sample->buckets[i];
		add_name(lines, sample, "_bucket");
		text_add_string(lines, ",le=\"");
		if (i < count) {
			add_number(lines, bounds[i], decimals, false);
		} else {
			text_add_string(lines, "+Inf");
		}
		text_add_format(lines, "\"} %llu\n", (unsigned long long)so_far);
	}
	add_name(lines, sample, "_sum");
	text_add_string(lines, "} ");
	add_number(lines, sample->value, decimals, false);
	text_add_char(lines, '\n');
	add_name(lines, sample, "_count");
	text_add_format(lines, "} %llu\n", (unsigned long long)sample->count);
}

static void a_visit_has_every_line_of_the_page(void **state)
{
	struct fixture fixture = make();
	struct etw_text lines = { 0 }, page = page_of(fixture.registry), expected = { 0 };
	const struct registry_visitor visitor = { .on_sample = add_sample, .context = &lines };
	const char *end;

	(void)state;
	for (const char *line = page.data; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (line[0] != '#') {
			text_add(&expected, line, (size_t)(end + 1 - line));
		}
	}
	assert_true(registry_visit(fixture.registry, &visitor));
	assert_string_equal(lines.data, expected.data);
	assert_non_null(strstr(lines.data, "x_level{process=\"\"} -2.468\n"));
	assert_null(strstr(lines.data, "x_level{process=\"say"));
	text_free(&lines);
	text_free(&page);
	text_free(&expected);
	registry_free(fixture.registry);
}

struct choice {
	const struct family *family;
	size_t samples;
};

static bool wants(void *context, const struct family *family)
{
	const struct choice *choice = context;

	return family == choice->family;
}

static void count_sample(void *context, const struct visited_sample *sample)
{
	struct choice *choice = context;

	assert_ptr_equal(sample->family, choice->family);
	assert_string_equal(sample_label(sample, "volume"), "C:");
	assert_string_equal(sample_label(sample, "nothing"), "");
	choice->samples++;
}

static void only_chosen_families_are_visited(void **state)
{
	struct fixture fixture = make();
	struct choice choice = { .family = fixture.bytes };
	const struct registry_visitor visitor = { .wants = wants,
						  .on_sample = count_sample,
						  .context = &choice };

	(void)state;
	assert_true(registry_visit(fixture.registry, &visitor));
	assert_int_equal(choice.samples, 3);
	registry_free(fixture.registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_visit_has_every_line_of_the_page),
		cmocka_unit_test(only_chosen_families_are_visited),
	};

	return cmocka_run_group_tests_name("visit", tests, NULL, NULL);
}

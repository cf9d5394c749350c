/* SPDX-License-Identifier: MIT */
/*
 * The steps of a report of a recording, from counters that the test moves, and the tree of its
 * processes. Times by "date -u +%s": (seconds + 11644473600) * 10^7.
 */
#include "etwtool/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/source/event_record.h"

#define SECOND INT64_C(10000000)
#define START  INT64_C(133601436000000000) /* 2024-05-14T07:00:00Z */
#define YEAR   (365 * 86400 * SECOND)

/* ---- steps ---- */

struct bench {
	struct registry *registry;
	struct shard *shard;
	struct family *family;
	struct report_charted charted;
};

static struct bench *open_bench(enum family_type type, int64_t guess)
{
	static struct bench bench;
	const struct family_options options = { .name = "etw_events_total",
						.help = "Events.",
						.type = type,
						.labels = { "process", "provider" },
						.label_count = 2,
						.dynamic_labels = 3 };
	struct etw_error err;

	bench = (struct bench){ .registry = registry_new(&(struct registry_limits){ 0 }, &err),
				.charted.steps.guess = guess };
	assert_non_null(bench.registry);
	bench.shard = registry_shard(bench.registry, false, &err);
	bench.family = registry_family(bench.registry, &options, &err);
	assert_non_null(bench.family);
	return &bench;
}

static void close_bench(struct bench *bench)
{
	assert_false(bench->charted.failed);
	report_charted_done(&bench->charted);
	registry_free(bench->registry);
}

/* As the pipeline does: the time first, then the count. */
static void event(struct bench *bench, int64_t time, const char *process)
{
	struct intern *strings = registry_strings(bench->registry);
	const uint32_t ids[] = { intern_string(strings, process), intern_string(strings, "P") };

	report_sample(&bench->charted, bench->registry, time);
	family_add(bench->family, bench->shard, ids, 1);
}

/* The chart of events by process. */
static const struct report_series *finish(struct bench *bench)
{
	report_finish(&bench->charted, bench->registry);
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (strcmp(report_charts[i].sample, "etw_events_total") == 0 &&
		    strcmp(report_charts[i].label, "process") == 0) {
			return &bench->charted.series[i];
		}
	}
	return NULL;
}

/* An event at START + 0.3 s, 1.3 s and so on: each step has those whose time is in it. */
static void assert_each_second_has_one(const struct bench *bench,
				       const struct report_series *series, unsigned seconds)
{
	const struct report_steps *steps = &bench->charted.steps;

	assert_true(steps->current < REPORT_STEPS);
	assert_int_equal(series->count, 1);
	assert_int_equal(series->rows[0].total, seconds);
	for (unsigned k = 0; k <= steps->current; k++) {
		int64_t from = steps->origin + (int64_t)k * steps->step, to = from + steps->step;
		uint64_t expected = 0;

		for (unsigned i = 0; i < seconds; i++) {
			int64_t time = START + (int64_t)i * SECOND + SECOND * 3 / 10;

			expected += time >= from && time < to;
		}
		assert_int_equal(report_growth(&series->rows[0], k), expected);
	}
}

static void steps_have_the_events_of_their_time(void **state)
{
	/* What the header says: nothing, the truth, far too little, far too much, nonsense. */
	const int64_t guesses[] = {
		0,
		START + 1000 * SECOND,
		START + SECOND,
		START + 100000 * SECOND,
		START + YEAR,
		START - SECOND,
		INT64_MAX,
		INT64_MIN,
	};

	(void)state;
	for (size_t g = 0; g < sizeof guesses / sizeof guesses[0]; g++) {
		struct bench *bench = open_bench(FAMILY_COUNTER, guesses[g]);

		report_sample(&bench->charted, bench->registry, START); /* the header */
		for (unsigned i = 0; i < 1000; i++) {
			event(bench, START + (int64_t)i * SECOND + SECOND * 3 / 10, "a");
		}
		assert_each_second_has_one(bench, finish(bench), 1000);
		close_bench(bench);
	}
}

/* 60 s are 120 steps of 0.5 s, and more than 240 of 0.25 s. */
static void a_true_header_gives_a_length_that_people_count_in(void **state)
{
	struct bench *bench = open_bench(FAMILY_COUNTER, START + 60 * SECOND);

	(void)state;
	for (unsigned i = 0; i <= 600; i++) {
		event(bench, START + (int64_t)i * SECOND / 10, "a");
	}
	finish(bench);
	assert_true(bench->charted.steps.step == SECOND / 2);
	assert_true(bench->charted.steps.origin == START);
	close_bench(bench);
}

/* The first record is the header of the recording; a circular one may have lost what followed. */
static void steps_begin_with_the_second_record(void **state)
{
	struct bench *bench = open_bench(FAMILY_COUNTER, START + 20 * SECOND);

	(void)state;
	event(bench, START - YEAR, "header");
	for (unsigned i = 0; i < 20; i++) {
		event(bench, START + (int64_t)i * SECOND, "a");
	}
	finish(bench);
	assert_true(bench->charted.steps.first == START);
	assert_true(bench->charted.steps.step <= SECOND / 5);
	close_bench(bench);
}

static void years_and_impossible_times_are_bounded(void **state)
{
	struct bench *bench = open_bench(FAMILY_COUNTER, 0);
	const struct report_series *series;

	(void)state;
	event(bench, START, "a");
	event(bench, START + 1, "a");
	event(bench, ETW_RECORD_NO_TIME, "a");
	event(bench, 5, "a");
	event(bench, INT64_MAX, "a");
	event(bench, START + 900 * YEAR, "a");
	event(bench, START + 2, "a"); /* late */
	series = finish(bench);
	assert_int_equal(bench->charted.steps.outside, 3);
	assert_int_equal(series->rows[0].total, 7);
	assert_true(bench->charted.steps.current < REPORT_STEPS);
	assert_true(bench->charted.steps.last == START + 900 * YEAR);
	assert_int_equal(report_growth(&series->rows[0], 0), 5);
	close_bench(bench);
}

static void without_records_there_are_no_steps(void **state)
{
	struct bench *bench = open_bench(FAMILY_COUNTER, 0);

	(void)state;
	finish(bench);
	assert_true(bench->charted.steps.step == 0);
	close_bench(bench);
}

static void names_are_those_of_the_labels_without_escapes(void **state)
{
	struct bench *bench = open_bench(FAMILY_COUNTER, 0);
	const char *const names[] = { "a\"b\\c\nd", "x,process=\"y\"}", "" };
	const struct report_series *series;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned j = i; j < 3; j++) {
			event(bench, START + j, names[i]);
		}
	}
	series = finish(bench);
	assert_int_equal(series->count, 3);
	for (unsigned i = 0; i < 3; i++) { /* by their totals */
		assert_string_equal(series->rows[i].name, names[i]);
		assert_int_equal(series->rows[i].total, 3 - i);
	}
	close_bench(bench);
}

/* As when label sets are evicted: what was counted stays, and goes on. */
static void a_sum_that_falls_keeps_its_height(void **state)
{
	struct bench *bench = open_bench(FAMILY_GAUGE, 0);
	struct intern *strings = registry_strings(bench->registry);
	const uint32_t ids[] = { intern_string(strings, "a"), intern_string(strings, "P") };
	const int64_t values[] = { 10, 4, 6 };
	const struct report_series *series;

	(void)state;
	report_sample(&bench->charted, bench->registry, START); /* the header */
	for (unsigned i = 0; i < 3; i++) {
		report_sample(&bench->charted, bench->registry, START + (int64_t)i * SECOND);
		family_set(bench->family, bench->shard, ids, values[i]);
	}
	report_sample(&bench->charted, bench->registry, START + 3 * SECOND);
	series = finish(bench);
	assert_int_equal(series->rows[0].total, 12);
	close_bench(bench);
}

/* A counter whose label sets are gone in the next round, as when they are evicted. */
static void sample_round(struct bench *bench, unsigned round, unsigned names)
{
	const struct family_options options = { .name = "etw_events_total",
						.help = "Events.",
						.labels = { "process", "provider" },
						.label_count = 2,
						.dynamic_labels = 3 };
	const struct registry_limits limits = { 0 };
	struct etw_error err;
	struct registry *registry = registry_new(&limits, &err);
	struct shard *shard = registry_shard(registry, false, &err);
	struct family *family = registry_family(registry, &options, &err);
	struct intern *strings = registry_strings(registry);

	for (unsigned i = 0; i < names; i++) {
		char name[32];
		uint32_t ids[2];

		snprintf(name, sizeof name, "p%u", round * names + i);
		ids[0] = intern_string(strings, i == 7 ? "always" : name);
		ids[1] = intern_string(strings, "P");
		family_add(family, shard, ids, round == 0 && i == 9 ? 50 : 1);
	}
	report_sample(&bench->charted, registry, START + (int64_t)(round + 1) * SECOND);
	registry_free(registry);
}

/* As in a recording of a build server: a row for each would be 2 KB for each name and chart. */
static void names_that_come_and_go_take_bounded_memory(void **state)
{
	enum { ROUNDS = 40, NAMES = 500 };
	struct bench *bench = open_bench(FAMILY_COUNTER, START + ROUNDS * SECOND);
	const struct report_series *series;
	uint64_t sum = 0;
	bool has_largest = false, has_always = false, has_other = false;

	(void)state;
	report_sample(&bench->charted, bench->registry, START); /* the header */
	report_sample(&bench->charted, bench->registry, START);
	for (unsigned round = 0; round < ROUNDS; round++) {
		sample_round(bench, round, NAMES);
	}
	series = finish(bench);
	assert_true(series->count <= REPORT_GONE_MOST + NAMES + 1);
	/* The counter of "always" is 1 in each round: it has not grown after the first. */
	assert_int_equal(series->total, ROUNDS * (NAMES - 1) + 1 + 49);
	for (size_t i = 0; i < series->count; i++) {
		const struct report_row *row = &series->rows[i];
		uint64_t grown = 0;

		for (unsigned k = 0; k <= bench->charted.steps.current; k++) {
			grown += report_growth(row, k);
		}
		assert_int_equal(grown, row->total);
		sum += row->total;
		has_largest |= strcmp(row->name, "p9") == 0 && row->total == 50;
		has_other |= strcmp(row->name, "_other") == 0 && row->total > NAMES;
		has_always |= strcmp(row->name, "always") == 0 && row->total == 1;
	}
	assert_int_equal(sum, series->total);
	assert_true(has_largest && has_always && has_other);
	close_bench(bench);
}

/* ---- processes ---- */

/* The processes of the document, which are all listed and named by a letter each. */
static void add_tree(struct etw_text *out, struct report_process *processes, size_t count)
{
	const struct report_events events = { .processes = processes, .process_count = count };
	struct json json;

	json_init(&json, out, false);
	json_object_begin(&json);
	report_add_processes(&json, &events);
	json_object_end(&json);
	assert_false(out->failed);
}

static struct report_process process(char *name, uint32_t id, uint32_t parent, int64_t start,
				     int64_t end)
{
	static char none[] = "";

	return (struct report_process){ .name = name,
					.command = none,
					.process_id = id,
					.parent_id = parent,
					.start = start,
					.end = end };
}

/* How deep and in which place a process is listed. */
static void assert_listed(const char *document, const char *name, unsigned depth,
			  const char *before)
{
	struct etw_text row = { 0 };
	const char *at;

	text_add_format(&row, "{\"depth\":%u,\"name\":\"%s\"", depth, name);
	at = strstr(document, row.data);
	assert_non_null(at);
	assert_null(strstr(at + 1, row.data));
	text_clear(&row);
	text_add_format(&row, "\"name\":\"%s\"", before);
	assert_true(!before[0] || strstr(at, row.data));
	text_free(&row);
}

static void a_process_stands_below_the_one_that_ran_when_it_began(void **state)
{
	char a[] = "A", b[] = "B", c[] = "C", d[] = "D";
	struct etw_text out = { 0 };
	/* The id 8 meant B, and later C; D was started by C. */
	struct report_process processes[] = {
		process(d, 12, 8, START + 9 * SECOND, ETW_RECORD_NO_TIME),
		process(a, 4, 0, ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME),
		process(b, 8, 4, START, START + 2 * SECOND),
		process(c, 8, 4, START + 3 * SECOND, START + 20 * SECOND),
	};

	(void)state;
	add_tree(&out, processes, 4);
	assert_listed(out.data, "A", 0, "B");
	assert_listed(out.data, "B", 1, "C");
	assert_listed(out.data, "C", 1, "D");
	assert_listed(out.data, "D", 2, "");
	text_free(&out);
}

static void circles_and_long_lines_of_processes_end(void **state)
{
	enum { LINE = 900 };
	static struct report_process processes[LINE];
	char name[] = "x";
	struct etw_text out = { 0 };
	size_t rows = 0;

	(void)state;
	/* Each is the parent of the next, and the last of the first. */
	for (uint32_t i = 0; i < LINE; i++) {
		processes[i] = process(name, i + 1, i > 0 ? i : LINE, ETW_RECORD_NO_TIME, START);
		processes[i].exit_status = -1;
		processes[i].exit_known = true;
	}
	add_tree(&out, processes, LINE);
	for (const char *at = out.data; (at = strstr(at, "\"name\":\"x\"")) != NULL; at++) {
		rows++;
	}
	assert_int_equal(rows, LINE);
	text_free(&out);
	/* One that claims to be its own parent, and two each other's. */
	processes[0] = process(name, 1, 1, START, ETW_RECORD_NO_TIME);
	processes[1] = process(name, 2, 3, START, ETW_RECORD_NO_TIME);
	processes[2] = process(name, 3, 2, START, ETW_RECORD_NO_TIME);
	out = (struct etw_text){ 0 };
	add_tree(&out, processes, 3);
	assert_non_null(strstr(out.data, "\"depth\":1,"));
	assert_null(strstr(out.data, "\"depth\":2,"));
	text_free(&out);
}

/* A record may have a time that no calendar has. A process that ended is not one that runs. */
static void times_of_processes_are_those_of_a_calendar(void **state)
{
	static const struct {
		int64_t start, end;
		const char *times;
	} cases[] = {
		{ START, START + SECOND / 4,
		  "\"start\":\"2024-05-14T07:00:00.0000000Z\",\"end\":\"2024-05-14T07:00:00.2500000Z\"" },
		{ ETW_RECORD_NO_TIME, ETW_RECORD_NO_TIME, "\"start\":null,\"end\":null" },
		{ START, INT64_MAX, "\"end\":\"9999-12-31T23:59:59.9999999Z\"" },
		{ -5, START, "\"start\":\"1601-01-01T00:00:00.0000001Z\"" },
	};
	char name[] = "x";

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct report_process one = process(name, 1, 0, cases[i].start, cases[i].end);
		struct etw_text out = { 0 };

		add_tree(&out, &one, 1);
		if (!strstr(out.data, cases[i].times)) {
			fail_msg("case %zu: no %s in %s", i, cases[i].times, out.data);
		}
		text_free(&out);
	}
}

/* ---- findings ---- */

static void take_finding(void *context, const struct report_finding *finding)
{
	struct etw_text *texts = context;

	text_add_format(texts, "%s: %s\n", finding->type, finding->text);
}

/* The findings about disk reads with these buckets, not cumulated. */
static void find_reads(struct etw_text *texts, struct report_row *rows, size_t count)
{
	static struct report report;
	static const struct etw_header header;
	size_t chart = 0;

	while (!report_charts[chart].only || strcmp(report_charts[chart].only_value, "read") != 0) {
		chart++;
	}
	report = (struct report){ .header = &header };
	report.charted.series[chart] = (struct report_series){ .rows = rows, .count = count };
	for (size_t i = 0; i < count; i++) {
		report.charted.series[chart].total += rows[i].total;
	}
	text_clear(texts);
	assert_true(report_find(&report, take_finding, texts));
}

static void response_times_are_said_as_the_buckets_know_them(void **state)
{
	char ms[] = "0.001", s[] = "1.0", none[] = "+Inf";
	struct report_row rows[] = { { .name = ms, .total = 50 },
				     { .name = s, .total = 45 },
				     { .name = none, .total = 5 } };
	struct report_row unbounded = { .name = none, .total = 5 };
	struct etw_text texts = { 0 };

	(void)state;
	find_reads(&texts, rows, 3);
	assert_non_null(strstr(
		texts.data, "disk_times: Disk reads: half took up to 1.00 ms, 95 % up to 1.00 s, "
			    "the slowest more than 1.00 s (limits of histogram buckets).\n"));
	find_reads(&texts, rows, 1);
	assert_non_null(strstr(texts.data, "the slowest up to 1.00 ms"));
	find_reads(&texts, &unbounded, 1);
	assert_null(strstr(texts.data, "Disk reads"));
	text_free(&texts);
}

static void a_header_without_an_end_says_nothing_of_losses(void **state)
{
	static struct report report;
	struct etw_header header = { .end_time = 0 };
	struct etw_text texts = { 0 };

	(void)state;
	report = (struct report){ .header = &header };
	assert_true(report_find(&report, take_finding, &texts));
	assert_non_null(strstr(texts.data, "losses_unknown: Losses are not known.\n"));
	assert_non_null(strstr(texts.data, "not_closed: "));
	text_clear(&texts);
	header.end_time = START;
	assert_true(report_find(&report, take_finding, &texts));
	assert_string_equal(texts.data, "nothing_lost: No event was lost: neither when the "
					"recording was made nor in reading it.\n");
	text_free(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_the_events_of_their_time),
		cmocka_unit_test(a_true_header_gives_a_length_that_people_count_in),
		cmocka_unit_test(steps_begin_with_the_second_record),
		cmocka_unit_test(years_and_impossible_times_are_bounded),
		cmocka_unit_test(without_records_there_are_no_steps),
		cmocka_unit_test(names_are_those_of_the_labels_without_escapes),
		cmocka_unit_test(a_sum_that_falls_keeps_its_height),
		cmocka_unit_test(names_that_come_and_go_take_bounded_memory),
		cmocka_unit_test(a_process_stands_below_the_one_that_ran_when_it_began),
		cmocka_unit_test(circles_and_long_lines_of_processes_end),
		cmocka_unit_test(times_of_processes_are_those_of_a_calendar),
		cmocka_unit_test(response_times_are_said_as_the_buckets_know_them),
		cmocka_unit_test(a_header_without_an_end_says_nothing_of_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

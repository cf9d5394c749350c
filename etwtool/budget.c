/* SPDX-License-Identifier: MIT */
/*
 * Computes the budget of a configuration: for each family its series, samples, bytes, memory and
 * share of the processor.
 *
 * Samples and bytes are those of the exposition that a scrape would return after the recording. It
 * is read line by line, and a HELP line begins the next family. A histogram has a sample for each
 * bucket, one for the sum and one for the count. The memory of a family is what the registry has
 * allocated for it: cells, labels and rendered text.
 *
 * The processor time is that of the whole replay: reading, decoding and counting. It is divided by
 * the event time of the recording, so 100 % is one processor of this machine's speed on the host
 * that was recorded. A family's share depends on how many events its rules looked at; families that
 * are read from trackers have none. Families about the exporter itself are missing in the report,
 * because they need sessions and a web server.
 */
#include "etwtool/budget.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/collector.h"
#include "metrics/exposition.h"

enum { SCRAPE_INTERVAL_S = 15 };

struct cost {
	uint64_t series, samples, bytes, memory;
	uint64_t looked_at; /* events that the rules of the family looked at */
};

/* ---- one family ---- */

/* Counts the lines of a family, from its HELP line to that of the next. */
static void count_lines(struct cost *cost, const char *lines, const char *end)
{
	cost->bytes = (uint64_t)(end - lines);
	for (const char *line = lines; line < end; line = strchr(line, '\n') + 1) {
		cost->samples += *line != '#';
	}
}

static uint64_t looked_at(const struct dry_run *dry_run, const char *family)
{
	const struct dry_run_rule *result;
	uint64_t events = 0;

	for (size_t i = 0; (result = dry_run_at(dry_run, i)) != NULL; i++) {
		if (strcmp(result->rule->metric->name, family) == 0) {
			events += result->events;
		}
	}
	return events;
}

static void add_up(struct cost *sum, const struct cost *cost)
{
	sum->series += cost->series;
	sum->samples += cost->samples;
	sum->bytes += cost->bytes;
	sum->memory += cost->memory;
	sum->looked_at += cost->looked_at;
}

/* ---- the report ---- */

struct budget_report {
	const struct budget_input *input;
	struct etw_text *out;
	struct json *json; /* NULL: columns */
	struct cost total;
	size_t families;
};

static double samples_per_second(const struct budget_report *report, uint64_t samples)
{
	return (double)samples * (double)report->input->hosts / SCRAPE_INTERVAL_S;
}

/* Returns the percentage of one processor. */
static double cpu_percent(const struct budget_report *report, uint64_t events)
{
	const struct budget_input *input = report->input;
	double duration_ns = (double)input->duration_100ns * 100;

	if (duration_ns <= 0 || report->total.looked_at == 0) {
		return 0;
	}
	return 100 * (double)input->cpu_ns / duration_ns * (double)events /
	       (double)report->total.looked_at;
}

static void add_row(struct budget_report *report, const char *name, const char *type,
		    const struct cost *cost)
{
	double rate = samples_per_second(report, cost->samples);
	double cpu = cpu_percent(report, cost->looked_at);

	if (!report->json) {
		text_add_format(report->out,
				"%-52s %-9s %8" PRIu64 " %8" PRIu64 " %11.1f %9" PRIu64
				" %10" PRIu64 " %7.3f\n",
				name, type, cost->series, cost->samples, rate, cost->bytes,
				cost->memory, cpu);
		return;
	}
	if (type[0] != '\0') {
		json_object_begin(report->json);
		json_member_string(report->json, "family", name);
		json_member_string(report->json, "type", type);
	} else {
		json_member_object(report->json, name);
		json_member_u64(report->json, "families", report->families);
	}
	json_member_u64(report->json, "series", cost->series);
	json_member_u64(report->json, "samples_per_scrape", cost->samples);
	json_member_double(report->json, "samples_per_second", rate);
	json_member_u64(report->json, "bytes_per_scrape", cost->bytes);
	json_member_u64(report->json, "memory_bytes", cost->memory);
	json_member_double(report->json, "cpu_percent", cpu);
	json_object_end(report->json);
}

/*
 * Walks over the families of the exposition in order and adds them up. With show it also adds a row
 * for each.
 */
static void walk_families(struct budget_report *report, const char *page, bool show)
{
	const struct budget_input *input = report->input;
	static const char help[] = "\n# HELP ";

	while (page) {
		const char *next = strstr(page, help);
		const char *name = page + strlen("# HELP "), *end = strchr(name, ' ');
		struct cost cost = { 0 };
		struct etw_text copy = { 0 };
		struct family *family;

		text_add(&copy, name, (size_t)(end - name));
		text_add_char(&copy, '\0');
		family = copy.failed ? NULL : registry_find_family(input->registry, copy.data);
		if (family && strncmp(copy.data, "etw_exporter_", 13) != 0) {
			count_lines(&cost, page, next ? next + 1 : strchr(page, '\0'));
			cost.series = family_series(family);
			cost.memory = family_memory(family);
			cost.looked_at = looked_at(input->dry_run, copy.data);
			if (show) {
				add_row(report, copy.data, family_type_name(family_type(family)),
					&cost);
			} else {
				add_up(&report->total, &cost);
				report->families++;
			}
		}
		report->out->failed |= copy.failed;
		text_free(&copy);
		page = next ? next + 1 : NULL;
	}
}

static void add_columns(struct budget_report *report, const char *page)
{
	const struct budget_input *input = report->input;
	struct etw_text *out = report->out;

	text_add_shown(out, input->config);
	text_add_string(out, ": budget on ");
	text_add_shown(out, input->recording);
	text_add_format(out,
			": %" PRIu64 " records in %.1f s of event time\n"
			"samples/s: of %" PRIu64 " host%s with a scrape every %d s; bytes: of a "
			"scrape, uncompressed; memory: bytes on\n"
			"the host; cpu: percent of one processor on the host, by the events that "
			"rules looked at\n\n",
			input->records, (double)input->duration_100ns / 1e7, input->hosts,
			input->hosts == 1 ? "" : "s", SCRAPE_INTERVAL_S);
	text_add_format(out, "%-52s %-9s %8s %8s %11s %9s %10s %7s\n", "family", "type", "series",
			"samples", "samples/s", "bytes", "memory", "cpu");
	walk_families(report, page, true);
	add_row(report, "total", "", &report->total);
}

static void add_json(struct budget_report *report, const char *page)
{
	const struct budget_input *input = report->input;
	struct json json;

	json_init(&json, report->out, false);
	report->json = &json;
	json_object_begin(&json);
	json_member_string(&json, "config", input->config);
	json_member_string(&json, "recording", input->recording);
	json_member_u64(&json, "records", input->records);
	json_member_double(&json, "event_seconds", (double)input->duration_100ns / 1e7);
	json_member_u64(&json, "hosts", input->hosts);
	json_member_u64(&json, "scrape_interval_seconds", SCRAPE_INTERVAL_S);
	json_member_array(&json, "families");
	walk_families(report, page, true);
	json_array_end(&json);
	add_row(report, "total", "", &report->total);
	json_object_end(&json);
	text_add_char(report->out, '\n');
}

void add_budget(struct etw_text *out, const struct budget_input *input, bool as_json)
{
	struct budget_report report = { .input = input, .out = out };
	struct etw_text page = { 0 };

	text_add_exposition(&page, input->registry);
	text_add_char(&page, '\0');
	if (page.failed) {
		out->failed = true;
		text_free(&page);
		return;
	}
	walk_families(&report, page.data, false);
	if (as_json) {
		add_json(&report, page.data);
	} else {
		add_columns(&report, page.data);
	}
	text_free(&page);
}

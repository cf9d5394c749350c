/* SPDX-License-Identifier: MIT */
/*
 * etwtool metrics: lists every family that the exporter can show, as a page of Markdown. It writes
 * config/METRICS.md, and a test compares the two.
 *
 * The list repeats nothing that is defined elsewhere. The families are registered as in the
 * exporter, with every collector on, and read back from the registry with their types, labels and
 * help. Events and label values come from the rules that count them. A family that several
 * collectors add to is listed for each of them, with the events of that collector. Only state
 * gauges are listed by hand, because trackers declare them and no rule does. A family that no
 * collector declares is always there: it is about the sessions, the consumers or the program
 * itself.
 */
#include <string.h>

#include "etwtool/tool.h"
#include "exporter/health.h"
#include "exporter/rules/language/decoders.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/setup.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

static const struct state_gauge *find_state_gauge(const char *family)
{
	for (size_t i = 0; state_gauges[i].family; i++) {
		if (strcmp(state_gauges[i].family, family) == 0) {
			return &state_gauges[i];
		}
	}
	return NULL;
}

/* ---- registering ---- */

static bool declare_state_gauges(struct registry *registry, struct etw_error *err)
{
	static const struct etw_source_clock clock = { .frequency = 1 };
	static const char *globs[] = { "**" };
	static const struct config_path_group group = { .name = "all",
							.globs = globs,
							.glob_count = 1 };
	const struct tracker_options options = { .registry = registry,
						 .shard = registry_shard(registry, false, err),
						 .clock = &clock,
						 .process_gauges = true,
						 .process_memory = true,
						 .disk_info = true,
						 .image_info = true,
						 .process_info = true,
						 .top_paths = true,
						 .disk_cause = true,
						 .path_groups = &group,
						 .path_group_count = 1 };
	struct tracker *tracker = options.shard ? tracker_new(&options, err) : NULL;

	tracker_free(tracker);
	return tracker != NULL;
}

/* ---- writing ---- */

static const char *unit_of(const char *name)
{
	return metric_name_is_in(name, "bytes")   ? "bytes" :
	       metric_name_is_in(name, "seconds") ? "seconds" :
	       metric_name_is_in(name, "ratio")   ? "ratio" :
						    "";
}

/* Returns whether the rule belongs to the collector and adds to the family. */
static bool is_rule_of(const struct rule *rule, const char *collector, const char *family)
{
	return strcmp(rule->metric->name, family) == 0 &&
	       strcmp(rule->collector->name, collector) == 0;
}

/* Adds each event of a family once, if the collector counts it. */
static void add_events(struct etw_text *out, const struct rule_set *set, const char *collector,
		       const char *family)
{
	const char *between = "";

	for (size_t i = 0; i < set->rule_count; i++) {
		const char *event = set->rules[i].rule->event_at->text;
		bool seen = !is_rule_of(set->rules[i].rule, collector, family);

		for (size_t j = 0; !seen && j < i; j++) {
			const struct rule *before = set->rules[j].rule;

			seen = is_rule_of(before, collector, family) &&
			       strcmp(before->event_at->text, event) == 0;
		}
		if (!seen) {
			text_add_format(out, "%s%s", between, event);
			between = ", ";
		}
	}
}

static void add_row(struct etw_text *out, const struct rule_set *set, const char *collector,
		    const struct family *family)
{
	const char *name = family_name(family), *label, *help;
	const struct state_gauge *gauge = find_state_gauge(name);
	size_t help_size;

	text_add_format(out, "| `%s` | %s | ", name, family_type_name(family_type(family)));
	for (size_t i = 0; (label = family_label(family, i)) != NULL; i++) {
		text_add_format(out, "%s%s", i > 0 ? ", " : "", label);
	}
	text_add_format(out, " | %s | ", unit_of(name));
	if (gauge) {
		text_add_string(out, gauge->events);
	} else if (collector) {
		add_events(out, set, collector, name);
	}
	help = family_help(family, &help_size);
	text_add_format(out, " | %.*s |\n", (int)help_size, help);
}

/*
 * Returns whether the collector adds to the family; several can. collector NULL: whether no
 * collector does, so that the family is always there.
 */
static bool belongs_to(const struct rule_set *set, const char *collector, const char *family)
{
	const struct state_gauge *gauge = find_state_gauge(family);

	if (!collector) {
		return !gauge && !rule_set_find_family(set, family);
	}
	for (size_t i = 0; i < set->rule_count; i++) {
		if (is_rule_of(set->rules[i].rule, collector, family)) {
			return true;
		}
	}
	return gauge && strcmp(gauge->collector, collector) == 0;
}

/* ---- values of labels ---- */

enum { VALUES_MOST = 256, LINES_MOST = 64 };

/* The values of a label, if rules, decoders or derived fields list them. */
struct values {
	const char *list[VALUES_MOST];
	size_t count;
	bool any; /* events determine the values */
};

static void add_value(struct values *values, const char *value)
{
	for (size_t i = 0; i < values->count; i++) {
		if (strcmp(values->list[i], value) == 0) {
			return;
		}
	}
	if (values->count < VALUES_MOST) {
		values->list[values->count++] = value;
	}
}

static void add_words(struct values *values, const char *const *words)
{
	values->any |= !words;
	for (size_t i = 0; words && words[i]; i++) {
		add_value(values, words[i]);
	}
}

static void add_label_values(struct values *values, const struct label *label)
{
	const struct decoder *last =
		label->source == LABEL_DECODE ? label->steps[label->step_count - 1].decoder : NULL;
	const char *text;

	if (label->source == LABEL_FIELD) {
		add_words(values, label->field.derived ? label->field.derived->words : NULL);
	} else if (last && last->text_at) {
		for (size_t i = 0; (text = last->text_at(i)) != NULL; i++) {
			add_value(values, text);
		}
	} else if (last) {
		values->any = true;
	} else {
		for (size_t i = 0; i < label->entry_count; i++) {
			add_value(values, label->entries[i].to);
		}
		add_value(values, label->text);
	}
}

/* Adds the label values of the program's own families. */
static void add_own_values(struct values *values, const char *family, const char *label)
{
	values->any = strcmp(family, "etw_consumer_records_total") != 0 ||
		      strcmp(label, "outcome") != 0;
	for (unsigned i = 0; !values->any && i < OUTCOME_COUNT; i++) {
		add_value(values, record_outcome_name((enum record_outcome)i));
	}
}

static void find_values(struct values *values, const struct rule_set *set, const char *collector,
			const char *family, const char *label)
{
	*values = (struct values){ .count = 0 };
	if (!collector) {
		add_own_values(values, family, label);
		return;
	}
	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;

		for (size_t j = 0; is_rule_of(rule, collector, family) && j < rule->label_count;
		     j++) {
			if (strcmp(rule->labels[j].name, label) == 0) {
				add_label_values(values, &rule->labels[j]);
			}
		}
	}
}

/* Families whose label has the same values share a line. */
struct line {
	struct etw_text families, values;
};

static void add_to_lines(struct line *lines, size_t *count, const char *label, const char *family,
			 const struct values *values)
{
	struct etw_text text = { 0 };
	size_t i = 0;

	text_add_format(&text, "`%s`: ", label);
	for (size_t k = 0; k < values->count; k++) {
		text_add_format(&text, "%s%s", k > 0 ? ", " : "", values->list[k]);
	}
	if (text.failed) { /* this ends the command: base/memory.h */
		text_free(&text);
		return;
	}
	while (i < *count && strcmp(lines[i].values.data, text.data) != 0) {
		i++;
	}
	if (i == *count) {
		lines[(*count)++].values = text;
	} else {
		text_free(&text);
	}
	text_add_format(&lines[i].families, "%s`%s`", lines[i].families.size > 0 ? ", " : "",
			family);
}

/* Adds a line for each label of the collector whose values are known. */
static void add_values(struct etw_text *out, const struct rule_set *set, struct registry *registry,
		       const char *collector)
{
	struct line lines[LINES_MOST] = { { .families = { 0 } } };
	struct family *family = NULL;
	struct values values;
	const char *label;
	size_t count = 0;

	while ((family = registry_next_family(registry, family)) != NULL) {
		const char *name = family_name(family);

		for (size_t i = 0; belongs_to(set, collector, name) && count < LINES_MOST &&
				   (label = family_label(family, i)) != NULL;
		     i++) {
			find_values(&values, set, collector, name, label);
			if (!values.any && values.count > 0) {
				add_to_lines(lines, &count, label, name, &values);
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		text_add_format(out, "%s- %s (%s)\n", i == 0 ? "\n" : "", lines[i].values.data,
				lines[i].families.data);
		out->failed |= lines[i].values.failed || lines[i].families.failed;
		text_free(&lines[i].values);
		text_free(&lines[i].families);
	}
}

/* ---- the page ---- */

static void add_table(struct etw_text *out, const struct rule_set *set, struct registry *registry,
		      const char *collector)
{
	struct family *family = NULL;

	text_add_string(out, "| metric | type | labels | unit | from | what it says |\n"
			     "| --- | --- | --- | --- | --- | --- |\n");
	while ((family = registry_next_family(registry, family)) != NULL) {
		if (belongs_to(set, collector, family_name(family))) {
			add_row(out, set, collector, family);
		}
	}
	add_values(out, set, registry, collector);
}

static void add_page(struct etw_text *out, const struct rule_set *set, struct registry *registry)
{
	const struct collector_info *info;

	text_add_string(
		out,
		"# Metrics\n\n"
		"Every family, by the collector that switches it; written by `etwtool "
		"metrics`, not by hand. Events are named as rules\nname them "
		"([README](README.md)); `*` is every event. Below a table are the "
		"values of its labels where they are known beforehand,\nwith the families "
		"that have them. `_unknown`, `_none` and `_other` may stand beside them "
		"([docs/metrics.md](../docs/metrics.md#labels)).\nWhich of the four totals "
		"of events to use: [docs/metrics.md](../docs/metrics.md#four-totals-of-events).\n");
	for (size_t i = 0; (info = rule_set_collector(set, i)) != NULL; i++) {
		text_add_format(out, "\n## `%s`, %s by default\n%s\n\n", info->name,
				info->default_on ? "on" : "off", info->help);
		add_table(out, set, registry, info->name);
	}
	text_add_string(out, "\n## Always\nThe exporter about its sessions, its consumers and "
			     "itself.\n\n");
	add_table(out, set, registry, NULL);
}

static int run(struct tool_arguments *arguments)
{
	const struct setup_options options = { .every_collector = true };
	struct setup setup = { .config = NULL };
	struct etw_text out = { 0 };
	struct etw_error err;
	bool good = setup_open(&setup, config_default(&err), &options, &err) &&
		    declare_state_gauges(setup.registry, &err) &&
		    health_declare(setup.registry, &err);

	(void)arguments;
	if (good) {
		add_page(&out, setup.rules, setup.registry);
	}
	setup_close(&setup);
	return good ? tool_print("metrics", &out) :
		      tool_complain(TOOL_FAILED, "metrics", "%s", err.text);
}

const struct tool_command tool_metrics = {
	.name = "metrics",
	.synopsis = "",
	.about = "List every metric of the exporter, as Markdown",
	.too_many = "takes no arguments, not",
	.size = sizeof(struct tool_arguments),
	.run = run,
};

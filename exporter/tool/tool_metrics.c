/* SPDX-License-Identifier: MIT */
/*
 * etwtool metrics: every family that the exporter can show, as a page of Markdown. It writes
 * config/METRICS.md, and a test compares the two.
 *
 * Nothing is listed here that stands elsewhere already. The families are registered in the way of
 * the exporter, with every collector on, and read back from the registry with their types, labels
 * and help. Events come from the rules that count them. Only state gauges are listed by hand,
 * because trackers declare them and no rule does. A family that no collector switches is one that
 * the program always has, about its sessions, its consumers and itself.
 */
#include <string.h>

#include "health.h"
#include "live.h"
#include "metrics/registry.h"
#include "pipeline.h"
#include "rules/language/rule_set.h"
#include "setup.h"
#include "tool/tool.h"
#include "track/tracker.h"

/* Trackers declare state gauges, which belong to collectors (docs/rules.md, "State gauges"). */
static const struct state_gauge {
	const char *family, *collector, *events;
} state_gauges[] = {
	{ "etw_process_instances", "process", "Process/*, Microsoft-Windows-Kernel-Process" },
	{ "etw_process_threads", "process",
	  "Thread/Start, Thread/Stop, Thread/DCStart, Thread/DCStop" },
	{ "etw_process_image_info", "image",
	  "Process/Start, Process/DCStart, Image/Load, Image/DCStart" },
	{ "etw_file_top_written_bytes", "file_top", "FileIo/Write" },
	{ "etw_disk_info", "disk", "SystemConfig/PhyDisk" },
	{ "etw_disk_volume_info", "disk", "SystemConfig/LogDisk" },
};

enum { STATE_GAUGE_COUNT = sizeof state_gauges / sizeof state_gauges[0] };

static const struct state_gauge *find_state_gauge(const char *family)
{
	for (size_t i = 0; i < STATE_GAUGE_COUNT; i++) {
		if (strcmp(state_gauges[i].family, family) == 0) {
			return &state_gauges[i];
		}
	}
	return NULL;
}

/* ---- registering ---- */

static bool declare_state_gauges(struct registry *registry, struct error *err)
{
	static const struct source_clock clock = { .frequency = 1 };
	const struct tracker_options options = { .registry = registry,
						 .shard = registry_shard(registry, false, err),
						 .clock = &clock,
						 .process_gauges = true,
						 .disk_info = true,
						 .image_info = true,
						 .top_paths = true };
	struct tracker *tracker = options.shard ? tracker_new(&options, err) : NULL;

	tracker_free(tracker);
	return tracker != NULL;
}

static bool declare_program(struct registry *registry, struct error *err)
{
	struct family *pipeline[PIPELINE_FAMILIES];
	struct family *scrapes[SCRAPE_FAMILIES];

	return declare_state_gauges(registry, err) && health_declare(registry, err) &&
	       pipeline_families(registry, pipeline, err) &&
	       live_delay_family(registry, err) != NULL && scrape_families(registry, scrapes, err);
}

/* ---- writing ---- */

static const char *unit_of(const char *name)
{
	return metric_name_is_in(name, "bytes")   ? "bytes" :
	       metric_name_is_in(name, "seconds") ? "seconds" :
	       metric_name_is_in(name, "ratio")   ? "ratio" :
						    "";
}

/* Each event of a family once. */
static void add_events(struct text *out, const struct rule_set *set, const char *family)
{
	const char *between = "";

	for (size_t i = 0; i < set->rule_count; i++) {
		const char *event = set->rules[i].rule->event_at->text;
		bool seen = strcmp(set->rules[i].rule->metric->name, family) != 0;

		for (size_t j = 0; !seen && j < i; j++) {
			const struct rule *before = set->rules[j].rule;

			seen = strcmp(before->metric->name, family) == 0 &&
			       strcmp(before->event_at->text, event) == 0;
		}
		if (!seen) {
			text_add_format(out, "%s%s", between, event);
			between = ", ";
		}
	}
}

static void add_row(struct text *out, const struct rule_set *set, const struct family *family)
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
	} else {
		add_events(out, set, name);
	}
	help = family_help(family, &help_size);
	text_add_format(out, " | %.*s |\n", (int)help_size, help);
}

/* The collector that a family belongs to; NULL: it is always there. */
static const char *collector_of(const struct rule_set *set, const char *name)
{
	const struct declared_family *declared = rule_set_find_family(set, name);
	const struct state_gauge *gauge = find_state_gauge(name);

	return declared ? declared->collector->name : gauge ? gauge->collector : NULL;
}

static void add_table(struct text *out, const struct rule_set *set, struct registry *registry,
		      const char *collector)
{
	struct family *family = NULL;

	text_add_string(out, "| metric | type | labels | unit | from | what it says |\n"
			     "| --- | --- | --- | --- | --- | --- |\n");
	while ((family = registry_next_family(registry, family)) != NULL) {
		const char *owner = collector_of(set, family_name(family));

		if (owner && collector ? strcmp(owner, collector) == 0 : owner == collector) {
			add_row(out, set, family);
		}
	}
}

static void add_page(struct text *out, const struct rule_set *set, struct registry *registry)
{
	const struct collector_info *info;

	text_add_string(out, "# Metrics\n\n"
			     "Every family, by the collector that switches it; written by `etwtool "
			     "metrics`, not by hand. Events are named as rules\nname them "
			     "([README](README.md)); `*` is every event.\n");
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
	struct text out = { 0 };
	struct error err;
	bool good = setup_open(&setup, config_default(&err), &options, &err) &&
		    declare_program(setup.registry, &err);

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
	.about = "Every metric that the exporter can show, as Markdown",
	.too_many = "takes no words, not",
	.size = sizeof(struct tool_arguments),
	.run = run,
};

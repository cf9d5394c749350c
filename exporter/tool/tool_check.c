/* SPDX-License-Identifier: MIT */
/*
 * etwtool check config FILE: whether the exporter would start with it, and what it would count.
 */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "metrics/registry.h"
#include "rules/rule_set.h"
#include "tool/tool.h"

static const char *const type_names[] = {
	[FAMILY_COUNTER] = "counter",
	[FAMILY_GAUGE] = "gauge",
	[FAMILY_HISTOGRAM] = "histogram",
};

static void add_collectors(struct text *out, const struct rule_set *set, bool on)
{
	const struct collector_info *info;
	const char *between = " ";

	text_add_string(out, on ? "collectors on:" : "collectors off:");
	for (size_t i = 0; (info = rule_set_collector(set, i)) != NULL; i++) {
		if (info->on == on) {
			text_add_string(out, between);
			text_add_string(out, info->name);
			between = ", ";
		}
	}
	text_add_char(out, '\n');
}

static void add_family(struct text *out, const struct family_plan *family)
{
	text_add_format(out, "  %s %s", type_names[family->metric->type], family->metric->name);
	for (size_t i = 0; i < family->label_count; i++) {
		text_add_string(out, i == 0 ? "{" : ", ");
		text_add_string(out, family->labels[i]);
	}
	text_add_string(out, family->label_count > 0 ? "}\n" : "\n");
}

static bool describe(const char *path, struct text *out, struct error *err)
{
	static const struct registry_limits limits = { 0 };
	struct config *config = config_load(path, err);
	struct registry *registry = config ? registry_new(&limits, err) : NULL;
	struct rule_set_options options = { .config = config };
	struct rule_set *set = registry ? rule_set_new(&options, registry, err) : NULL;

	if (set) {
		text_add_format(out, "%s: good\n", path);
		add_collectors(out, set, true);
		add_collectors(out, set, false);
		text_add_string(out, "families of the collectors that are on:\n");
		for (size_t i = 0; i < set->family_count; i++) {
			if (set->families[i].family) {
				add_family(out, &set->families[i]);
			}
		}
	}
	rule_set_free(set);
	registry_free(registry);
	config_free(config);
	return set != NULL;
}

static int check(const char *path)
{
	struct text out = { 0 };
	struct error err;
	int status = TOOL_DONE;

	if (!describe(path, &out, &err)) {
		/* "file:line:column: sentence" and nothing before it, as editors read it. */
		fprintf(stderr, "%s\n", err.text);
		status = TOOL_BAD_USAGE;
	} else if (!tool_write("check", &out)) {
		status = TOOL_FAILED;
	}
	text_free(&out);
	return status;
}

static const struct tool_flag flags[] = { { NULL, NULL, NULL } };

static int run(struct tool_arguments *arguments)
{
	const char *words[2];
	const char *value;
	size_t count = 0;
	int next;

	while ((next = tool_next(arguments, &value)) != TOOL_END) {
		if (next == TOOL_STOP) {
			return arguments->status;
		}
		if (count < 2) {
			words[count] = value;
		}
		count++;
	}
	if (count != 2 || strcmp(words[0], "config") != 0) {
		return tool_complain(TOOL_BAD_USAGE, "check", "wants \"config\" and one file");
	}
	return check(words[1]);
}

const struct tool_command tool_check = {
	.name = "check",
	.synopsis = "config FILE",
	.about = "Whether a configuration and its collectors are well-formed",
	.flags = flags,
	.run = run,
};

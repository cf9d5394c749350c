/* SPDX-License-Identifier: MIT */
/*
 * etwtool check config FILE: whether the exporter would start with it, and what it would count;
 * with a recording, what it does count.
 */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "rules/language/rule_set.h"
#include "setup.h"
#include "tool/tool.h"
#include "tool/try_config.h"

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

static void add_family(struct text *out, const struct declared_family *family)
{
	text_add_format(out, "  %s %s", family_type_name(family->metric->type),
			family->metric->name);
	for (size_t i = 0; i < family->label_count; i++) {
		text_add_string(out, i == 0 ? "{" : ", ");
		text_add_string(out, family->labels[i]);
	}
	text_add_string(out, family->label_count > 0 ? "}\n" : "\n");
}

static bool describe(const char *path, struct configured_manifests *manifests, struct text *out,
		     struct error *err)
{
	const struct setup_options options = { .manifests = manifests };
	struct setup setup;
	const struct rule_set *set;

	if (!setup_open(&setup, config_load(path, err), &options, err)) {
		return false;
	}
	set = setup.rules;
	text_add_format(out, "%s: good\n", path);
	add_collectors(out, set, true);
	add_collectors(out, set, false);
	text_add_string(out, "families of the collectors that are on:\n");
	for (size_t i = 0; i < set->family_count; i++) {
		if (set->families[i].family) {
			add_family(out, &set->families[i]);
		}
	}
	setup_close(&setup);
	return true;
}

static int check(const char *path, struct configured_manifests *manifests, struct text *out)
{
	struct error err;

	if (!describe(path, manifests, out, &err)) {
		/* "file:line:column: sentence" and nothing before it, as editors read it. */
		fprintf(stderr, "%s\n", err.text);
		return TOOL_BAD_USAGE;
	}
	return tool_write("check", out) ? TOOL_DONE : TOOL_FAILED;
}

static int check_with(const struct try_options *options, struct text *out)
{
	struct error err;

	if (!try_config(options, out, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return err.code == ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
	}
	return tool_write("check", out) ? TOOL_DONE : TOOL_FAILED;
}

struct request {
	struct tool_arguments arguments;
	const char *recording; /* NULL: the configuration alone */
};

static const struct command_option option_rows[] = {
	{ "--with", "FILE", "try the configuration on a recording", OPTION_TEXT,
	  .offset = offsetof(struct request, recording) },
	{ NULL },
};

static int run(struct tool_arguments *arguments)
{
	const struct try_options options = {
		.config = arguments->words[1],
		.recording = ((struct request *)arguments)->recording,
		.pointer_size = arguments->pointer_size,
		.manifests = &arguments->manifests,
		.json = arguments->as_json != 0,
	};
	struct text out = { 0 };
	int status;

	if (arguments->word_count != 2 || strcmp(arguments->words[0], "config") != 0) {
		return tool_complain(TOOL_BAD_USAGE, "check", "takes \"config\" and one file");
	}
	if (options.json && !options.recording) {
		return tool_complain(TOOL_BAD_USAGE, "check", "--format is for --with");
	}
	status = options.recording ? check_with(&options, &out) :
				     check(options.config, options.manifests, &out);
	text_free(&out);
	return status;
}

const struct tool_command tool_check = {
	.name = "check",
	.synopsis = "config FILE",
	.about = "Whether a configuration and its collectors are well-formed",
	.more = "With a recording the report lists for each rule how many events it is about, how\n"
		"many of them it counted, and why it did not count the others.\n",
	.options = option_rows,
	.shared = TOOL_TEXT_OR_JSON | TOOL_SCHEMA | TOOL_POINTER_SIZE,
	.words_most = 2,
	.too_many = "takes \"config\" and one file, not also",
	.size = sizeof(struct request),
	.run = run,
};

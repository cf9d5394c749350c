/* SPDX-License-Identifier: MIT */
/*
 * The rules of process_names, compiled, and the ready-made lists.
 *
 * A list is rows of the table below, which are read like rules of the configuration. Their
 * expressions meet command lines of any program that calls itself java or python, so they skip the
 * program and its options without going back over them, and give up at an option that they do not
 * know or that has code behind it (python -c, node -e). Then no rule matches, and the process keeps
 * the name of its image. The program may contain spaces without being quoted: it ends with the
 * first word that ends like the program's name.
 *
 * Sources of the options: "java" and "python" command references; "Command-line API", nodejs.org;
 * "dotnet command", Microsoft Learn. w3wp, svchost and sqlservr as seen in process lists: "-ap" and
 * the name of the application pool in quotes; "-k" and the group, "-s" and the service; "-s" and
 * the instance without a space.
 */
#include "exporter/track/process_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/utf8.h"
#include "config/yaml.h"

struct compiled_name {
	const char *image, *parent, *path; /* borrowed; NULL: any */
	struct regex *command_line;        /* owned; NULL: any */
	const char *name;                  /* borrowed */
};

struct process_names {
	struct compiled_name *rules; /* owned */
	size_t count;
};

/* ---- the ready-made lists ---- */

/* The program at the start of a command line, whose name is `name`, perhaps with more behind it. */
#define PROGRAM(name) "^\\s*(?>\"[^\"]*\"|.*?" name "[^\\s\"\\\\/]*(?=\\s|$))"
/* A word, or a text in quotes. */
#define WORD "(?:\"[^\"]*\"|[^\\s\"]+)"
/* A path, of which the last component is captured; before is what precedes the component. */
#define FILE_OF(what) \
	"(?|\"(?!-)(?:[^\"]*[\\\\/])?(" what ")\"|(?!-)(?:[^\\s\"]*[\\\\/])?(" what "))(?=\\s|$)"

static const struct {
	const char *list;
	struct config_process_name rule;
} ready[] = {
	{ "iis", { .image = "w3wp", .command_line = "\\s-ap\\s+\"([^\"]+)\"", .name = "w3wp/$1" } },
	{ "iis",
	  { .image = "iisexpress",
	    .command_line = "\\s/site:\"?([^\\s\"]+)",
	    .name = "iisexpress/$1" } },
	{ "services",
	  { .image = "svchost", .command_line = "\\s-s\\s+\"?([^\\s\"]+)", .name = "svchost/$1" } },
	{ "services",
	  { .image = "svchost", .command_line = "\\s-k\\s+\"?([^\\s\"]+)", .name = "svchost/$1" } },
#define JAVA                                                                                       \
	PROGRAM("java")                                                                            \
	"(?:\\s+(?:(?:-cp|-classpath|--class-path|-p|--module-path|--upgrade-module-path|"         \
	"--add-(?:modules|exports|opens|reads)|--limit-modules|--patch-module)\\s+" WORD "|@" WORD \
	"|-(?!jar\\s|m\\s|-module\\s)(?:[^\\s\"]|\"[^\"]*\")+))*+\\s+"                             \
	"(?|-jar\\s+" FILE_OF("[^\\s\"\\\\/]+") "|(?:-m|--module)\\s+(?:[\\w.]+/)?([\\w.$]+)"      \
						"(?=\\s|$)|([\\w.$]+)(?=\\s|$))"
	{ "java", { .image = "java", .command_line = JAVA, .name = "java/$1" } },
	{ "java", { .image = "javaw", .command_line = JAVA, .name = "java/$1" } },
	{ "sqlserver",
	  { .image = "sqlservr",
	    .command_line = "\\s-s\\s*\"?([\\w$#]+)",
	    .name = "sqlservr/$1" } },
	{ "sqlserver",
	  { .image = "sqlagent",
	    .command_line = "\\s-i\\s*\"?([\\w$#]+)",
	    .name = "sqlagent/$1" } },
	{ "dotnet",
	  { .image = "dotnet",
	    .command_line = PROGRAM("dotnet") "(?:\\s+(?:exec(?=\\s)|--(?:depsfile|runtimeconfig|"
					      "additionalprobingpath|additional-deps|fx-version|"
					      "roll-forward)\\s+" WORD
					      "))*+\\s+" FILE_OF("[^\\s\"\\\\/]+\\.dll"),
	    .name = "dotnet/$1" } },
	{ "python",
	  { .image = "py*",
	    .command_line = PROGRAM(
		    "py") "(?:\\s+(?:-[WX]\\s*[^\\s\"]+|-[23][\\d.]*(?:-\\d+)?(?=\\s)|"
			  "-[bdeihoqsuv]+(?=\\s)))*+\\s+(?|-m\\s+([\\w.]+)(?=\\s|$)|" FILE_OF(
				  "[^\\s\"\\\\/]+\\.pyw?") ")",
	    .name = "python/$1" } },
	{ "node",
	  { .image = "node",
	    .command_line =
		    PROGRAM("node") "(?:\\s+(?:(?:-r|--require|--import|--loader|"
				    "--experimental-loader|--conditions|--env-file)\\s+" WORD
				    "|--(?!eval|print)[^\\s\"]+))*+\\s+" FILE_OF(
					    "[^\\s\"\\\\/]+\\.[cm]?[jt]s"),
	    .name = "node/$1" } },
#define BROWSER(image_name)                                                         \
	{                                                                           \
		"chrome",                                                           \
		{                                                                   \
			.image = image_name, .command_line = "\\s--type=([\\w-]+)", \
			.name = image_name "/$1"                                    \
		}                                                                   \
	}
	BROWSER("chrome"),
	BROWSER("msedge"),
	BROWSER("msedgewebview2"),
	BROWSER("brave"),
};

enum { READY = sizeof ready / sizeof ready[0] };

/* ---- compiling ---- */

static bool compile(const struct config *config, const struct config_process_name *rule,
		    struct compiled_name *to, struct etw_error *err)
{
	struct yaml_node at = { .line = rule->line, .column = rule->column };
	struct etw_error why = { 0 };

	*to = (struct compiled_name){
		.image = rule->image, .parent = rule->parent, .path = rule->path, .name = rule->name
	};
	if (!rule->command_line) {
		return true;
	}
	to->command_line = regex_new(rule->command_line, strlen(rule->command_line), &why);
	if (to->command_line && regex_check_replacement(to->command_line, rule->name, &why)) {
		return true;
	}
	return why.code == ETW_ERROR_CONFIG ?
		       yaml_error(config->tree, &at, err, "process_names: %s", why.text) :
		       error_set(err, why.code, "%s", why.text);
}

struct process_names *process_names_new(const struct config *config, struct etw_error *err)
{
	struct process_names *names = calloc(1, sizeof *names);
	bool good = true;

	if (names) {
		names->rules = calloc(config->process_name_count * READY + 1, sizeof *names->rules);
	}
	if (!names || !names->rules) {
		process_names_free(names);
		error_no_memory(err, "the names of processes");
		return NULL;
	}
	for (size_t i = 0; i < config->process_name_count; i++) {
		const struct config_process_name *entry = &config->process_names[i];

		for (size_t j = 0; entry->list && j < READY; j++) {
			if (strcmp(entry->list, ready[j].list) == 0) {
				good = compile(config, &ready[j].rule,
					       &names->rules[names->count++], err) &&
				       good;
			}
		}
		if (!entry->list && entry->name) { /* otherwise the configuration has errors */
			good = compile(config, entry, &names->rules[names->count++], err) && good;
		}
	}
	if (!good) {
		process_names_free(names);
		return NULL;
	}
	return names;
}

void process_names_free(struct process_names *names)
{
	if (names) {
		for (size_t i = 0; names->rules && i < names->count; i++) {
			regex_free(names->rules[i].command_line);
		}
		free(names->rules);
		free(names);
	}
}

/* ---- deciding ---- */

static bool name_matches(const char *pattern, const char *name)
{
	return !pattern || glob_matches_nocase(pattern, name);
}

/* Adds the name of the rule if the rule matches. */
static bool decide(const struct compiled_name *rule, struct regex_matcher *matcher,
		   const struct process_facts *facts, struct etw_text *name)
{
	if (!name_matches(rule->image, facts->image) ||
	    (rule->path && !path_glob_matches(rule->path, facts->path, strlen(facts->path))) ||
	    (rule->parent && !name_matches(rule->parent, facts->parent(facts->context)))) {
		return false;
	}
	if (!rule->command_line) {
		text_add_string(name, rule->name);
		return true;
	}
	return regex_expand(matcher, rule->command_line, rule->name, facts->command_line,
			    facts->command_line_size, name);
}

bool process_names_decide(const struct process_names *names, struct regex_matcher *matcher,
			  const struct process_facts *facts, struct etw_text *name)
{
	size_t start = name->size;

	for (size_t i = 0; names && i < names->count; i++) {
		if (decide(&names->rules[i], matcher, facts, name)) {
			return name->size > start;
		}
	}
	return false;
}

bool process_names_ask_for(const struct process_names *names, const char *image)
{
	for (size_t i = 0; names && i < names->count; i++) {
		if (names->rules[i].image && name_matches(names->rules[i].image, image)) {
			return true;
		}
	}
	return false;
}

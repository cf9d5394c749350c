/* SPDX-License-Identifier: MIT */
/*
 * Reads etw_exporter.yaml.
 *
 * The tables below are the keys of the configuration: what each takes, where it is stored, what its
 * value is when it is absent, and what config/schema.json says about it. A configuration without a
 * file is read by the tables from an empty one, so that a default is written in one place only.
 * Checks beyond shapes and bounds that need only the file are here as well, because line and column
 * are known here: whether a listen address has a port, whether a pattern of paths can match any
 * path. Names of collectors and events, and regular expressions, are checked by the code that uses
 * them, because this needs more than the file; each entry gives that code its line and column.
 *
 * Only one session may have kernel events, because they would be counted twice otherwise. It is the
 * first in the array; if the file has only user sessions, the default session is added before them.
 * sessions.c reads what one session may contain.
 */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

#include "base/client_address.h"
#include "base/files.h"
#include "base/glob.h"
#include "base/os.h"
#include "base/series.h"
#include "base/text.h"
#include "config/yaml_rows.h"

enum {
	SERIES_MOST = 100000000,
	TABLE_MOST = 100000000,
	TOP_PATHS_MOST = 1000,
	SHARES_MOST = 1000,
	GIVEN_NAMES_MOST = 100000,
};
#define STRINGS_LEAST (UINT64_C(64) << 10)
#define STRINGS_MOST  (UINT64_C(64) << 30)

/* ---- collectors, files ---- */

static bool read_switch(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, void *base)
{
	const struct yaml_row on = { .key = row->key,
				     .shape = &yaml_switch_shape,
				     YAML_TO(struct config_switch, on) };
	struct config_switch *to = base;

	to->line = node->key->line;
	to->column = node->key->column;
	to->collector = yaml_alloc(in->tree, node->key->size + 1, 1, in->err);
	if (!to->collector) {
		return false;
	}
	memcpy(to->collector, node->key->text, node->key->size);
	if (strcmp(to->collector, "enabled") == 0 && strchr(node->text, ',')) {
		return yaml_wrong(in, node,
				  "collectors: windows_exporter has a list below 'enabled'; here "
				  "each collector has a switch, such as { cpu: on, disk: off }");
	}
	return yaml_read(in, node, &on, base);
}

/*
 * Adds the files that an entry names to the list. A pattern may match no file, because the files
 * may come later; but most often it is a mistake, which nothing else would report, so there is a
 * warning.
 */
static bool add_files(struct yaml_reader *in, const struct yaml_node *node, const char *key,
		      struct file_list *files)
{
	const char *name = yaml_name(in->tree);
	size_t before = files->count;
	struct etw_text instead = { 0 };
	struct os_file *file;
	struct etw_error why;
	bool good;

	if (!file_list_add(files, name, node->text, &why)) {
		return why.code == ETW_ERROR_NO_MEMORY ?
			       error_no_memory(in->err, key) :
			       yaml_wrong(in, node, "%s: %s", key, why.text);
	}
	if (file_is_pattern(node->text)) {
		if (files->count == before) {
			missing_path_explain(name, node->text, &instead);
			yaml_warning(in->tree, node, "%s: '%s' matches no file%s", key, node->text,
				     instead.data ? instead.data : "");
			text_free(&instead);
		}
		return true;
	}
	file = os_file_open(files->paths[before], &why);
	good = file || file_is_folder(files->paths[before]);
	if (!good) {
		missing_path_explain(name, node->text, &instead);
		yaml_wrong(in, node, "%s: '%s' %s%s", key, node->text, why.text,
			   instead.data ? instead.data : "");
		text_free(&instead);
		free(files->paths[--files->count]);
	}
	os_file_close(file);
	return good;
}

static bool add_collector_files(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config *config = base;
	struct file_list *files = &config->collector_files;
	size_t first = files->count;
	bool good = add_files(in, node, "collector_files", files);

	for (size_t i = first; good && i < files->count; i++) {
		const char *path = files->paths[i];

		if (file_is_folder(path) && file_is_pattern(node->text)) {
			good = yaml_wrong(in, node,
					  "collector_files: '%s', which '%s' matches, is a folder",
					  path, node->text);
		} else if (file_is_folder(path)) {
			good = yaml_wrong(in, node,
					  "collector_files: '%s' is a folder; '%s/*.yaml' takes "
					  "its files",
					  path, node->text);
		} else if (!text_ends_nocase(path, strlen(path), ".yaml", 5)) {
			good = yaml_wrong(in, node, "collector_files: '%s' is not called NAME.yaml",
					  path);
		}
	}
	return good;
}

static bool add_schemas(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config *config = base;

	return add_files(in, node, "schemas", &config->schemas);
}

/* ---- filters ---- */

static bool place_pattern(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_pattern *pattern = base;

	(void)in;
	pattern->text = node->text;
	pattern->line = node->line;
	pattern->column = node->column;
	return true;
}

static const struct yaml_shape patterns_shape = {
	.type = SHAPE_LIST,
	.item = YAML_SHAPE(.type = SHAPE_TEXT, .check = place_pattern),
};

static const struct yaml_row process_filter_rows[] = {
	{ "include", &patterns_shape,
	  YAML_TO_LIST(struct config, include_processes, include_process_count),
	  .help = "Processes to keep. Absent or empty: every process." },
	{ "exclude", &patterns_shape,
	  YAML_TO_LIST(struct config, exclude_processes, exclude_process_count),
	  .help = "Processes to leave out, even if they are included." },
};

static bool place_event(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_event_filter *filter = base;

	(void)in;
	filter->line = node->line;
	filter->column = node->column;
	return true;
}

static const struct yaml_row event_filter_rows[] = {
	{ "event", YAML_SHAPE(.type = SHAPE_TEXT, CONFIG_EVENT_SCHEMA, .check = place_event),
	  .required = true, YAML_TO(struct config_event_filter, event) },
};

static const struct yaml_row filter_rows[] = {
	{ "processes", YAML_MAP_OF(process_filter_rows),
	  .help = "Filters by process name: regular expressions (PCRE2) that match anywhere in the name and ignore case." },
	{ "events", YAML_SHAPE(.type = SHAPE_LIST, .item = YAML_MAP_OF(event_filter_rows)),
	  YAML_TO_LIST(struct config, dropped_events, dropped_event_count),
	  .help = "Events to leave out." },
};

/* ---- path groups ---- */

static bool check_group_name(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_path_group *group = base;

	group->line = node->line;
	group->column = node->column;
	return node->text[0] != '_' ||
	       yaml_wrong(in, node,
			  "name: '%s' begins with _, which is reserved for words such as _unknown",
			  node->text);
}

/* A pattern must begin as a path does: with a drive or, on a volume without one, with a
 * backslash. */
static bool check_glob(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const char *glob = node->text;
	char first = ascii_lower(glob[0]);

	(void)base;
	return first == '\\' || first == '/' || first == '*' || first == '?' ||
	       (first >= 'a' && first <= 'z' &&
		(glob[1] == ':' || glob[1] == '*' || glob[1] == '?')) ||
	       yaml_wrong(in, node,
			  "match: '%s' can match no path: it begins with neither a drive (C:\\), a "
			  "backslash nor **\\",
			  glob);
}

static bool check_globs(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct config *config = in->owner;
	size_t globs = 0;

	(void)base;
	for (size_t i = 0; i < config->path_group_count; i++) {
		globs += config->path_groups[i].glob_count;
	}
	return globs <= PATH_GROUP_GLOBS_MAX ||
	       yaml_wrong(in, node, "match: more than %d patterns in all path groups",
			  PATH_GROUP_GLOBS_MAX);
}

static bool same_group(const void *a, const void *b)
{
	const struct config_path_group *x = a, *y = b;

	return strcmp(x->name, y->name) == 0;
}

static const struct yaml_row path_group_rows[] = {
	{ "name",
	  YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = PATH_GROUP_NAME_MAX,
		     .pattern = "^[^_]", .any_scalar = true, .check = check_group_name),
	  .required = true, YAML_TO(struct config_path_group, name),
	  .help = "Value of the label; it must not begin with _." },
	{ "match",
	  YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .most = PATH_GROUP_GLOBS_MAX,
		     .items = "patterns",
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = PATH_GLOB_SIZE_MAX,
					.pattern = "^([\\\\/*?]|[a-zA-Z][:*?])",
					.check = check_glob),
		     .check = check_globs),
	  .required = true, YAML_TO_LIST(struct config_path_group, globs, glob_count),
	  .help = "Patterns that match the whole path and ignore case (ASCII): * any text within a component, ? one character, ** any text, **\\ any number of components." },
};

/* ---- names of processes ---- */

static bool begin_process_name(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_process_name *rule = base;

	(void)in;
	rule->line = node->line;
	rule->column = node->column;
	return true;
}

static bool check_process_name(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct config_process_name *rule = base;

	if (!rule->image && !rule->parent && !rule->path && !rule->command_line) {
		return yaml_wrong(in, node,
				  "process_names: an entry needs image, parent, path or "
				  "command_line, because it would name every process");
	}
	if (rule->name[0] == '_') {
		return yaml_wrong(in, node,
				  "name: '%s' begins with _, which is reserved for words such as "
				  "_unknown",
				  rule->name);
	}
	return rule->command_line || !strchr(rule->name, '$') ||
	       yaml_wrong(in, node,
			  "name: '%s' refers to a group of command_line, which the entry lacks",
			  rule->name);
}

static const struct yaml_shape process_glob_shape = {
	.type = SHAPE_TEXT,
	.least = 1,
	.most = PROCESS_NAME_GLOB_MAX,
};

static const struct yaml_row process_name_rows[] = {
	{ "image", &process_glob_shape, YAML_TO(struct config_process_name, image),
	  .help = "Name of the program without .exe, which may contain * and ?. Absent: any." },
	{ "parent", &process_glob_shape, YAML_TO(struct config_process_name, parent),
	  .help = "Name of the parent's program without .exe, which may contain * and ?. Absent: any." },
	{ "path",
	  YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = PATH_GLOB_SIZE_MAX,
		     .pattern = "^([\\\\/*?]|[a-zA-Z][:*?])", .check = check_glob),
	  YAML_TO(struct config_process_name, path),
	  .help = "Pattern of the program's path, as in path_groups. The path is the one with which the command line begins, or that of Microsoft-Windows-Kernel-Process. Absent: any." },
	{ "command_line", YAML_SHAPE(.type = SHAPE_TEXT, .least = 1),
	  YAML_TO(struct config_process_name, command_line),
	  .help = "Regular expression (PCRE2) that matches anywhere in the command line and ignores case. Absent: any." },
	{ "name",
	  YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = PROCESS_NAME_GLOB_MAX,
		     .pattern = "^[^_]", .any_scalar = true),
	  .required = true, YAML_TO(struct config_process_name, name),
	  .help = "Name of the process; it must not begin with _. $1 is the first group of command_line. Nothing else of a command line is shown." },
};

static const char *const process_name_lists[] = { "iis",       "services", "java",
						  "sqlserver", "dotnet",   "python",
						  "node",      "chrome",   NULL };

static bool read_process_name_list(struct yaml_reader *in, const struct yaml_node *node,
				   const struct yaml_row *row, void *base)
{
	struct config_process_name *rule = base;
	unsigned word;

	if (!yaml_word(in, node, "list of names", row->shape, &word)) {
		return false;
	}
	rule->list = process_name_lists[word];
	return begin_process_name(in, node, base);
}

static const struct yaml_shape process_name_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(process_name_rows),
	.before = begin_process_name,
	.check = check_process_name,
	.other = YAML_SHAPE(.type = SHAPE_WORD, .words = process_name_lists,
			    .read = read_process_name_list),
	.name = "process_name",
	.json = "'anyOf': [{ 'required': ['image'] }, { 'required': ['parent'] }, "
		"{ 'required': ['path'] }, { 'required': ['command_line'] }]",
};

/* ---- limits, log, web ---- */

enum { IDLE_LEAST_MS = 60 * 1000 };
#define IDLE_MOST_MS (UINT64_C(8760) * 3600 * 1000)

static const struct yaml_shape limit_shape = {
	.type = SHAPE_NUMBER,
	.least = 1,
	.most = TABLE_MOST,
	.name = "limit",
};

#define LIMIT(member, number) \
#member, &limit_shape, YAML_TO(struct config_limits, member), .fallback = (number)

static const struct yaml_row limit_rows[] = {
	{ LIMIT(series_per_family, "2000"), .help = "Maximum number of label sets of one family." },
	{ LIMIT(series, "200000"),
	  .help = "Maximum number of label sets of all families together." },
	{ LIMIT(processes, "20000"), .help = "Maximum number of processes in the process table." },
	{ LIMIT(threads, "200000"), .help = "Maximum number of threads in the thread table." },
	{ LIMIT(files, "200000"), .help = "Maximum number of names in the file table." },
	{ "top_paths", YAML_NUMBER(1, TOP_PATHS_MOST), YAML_TO(struct config_limits, top_paths),
	  .fallback = "20", .help = "Maximum number of paths that the collector file_top lists." },
	{ "shares", YAML_NUMBER(0, SHARES_MOST), YAML_TO(struct config_limits, shares),
	  .fallback = "0",
	  .help = "Number of network shares with a value of their own in the label volume, \\\\server\\share; further ones read network. 0: files on the network are under their device, Mup." },
	{ "process_names", YAML_NUMBER(0, GIVEN_NAMES_MOST),
	  YAML_TO(struct config_limits, process_names), .fallback = "500",
	  .help = "Maximum number of names that process_names gives; further processes keep the name of their program." },
	{ "strings", YAML_SHAPE(.type = SHAPE_SIZE, .least = STRINGS_LEAST, .most = STRINGS_MOST),
	  YAML_TO(struct config_limits, strings_bytes), .fallback = "64MiB",
	  .help = "Memory for the text of labels, from 64KiB to 64GiB." },
	{ "idle", YAML_SHAPE(.type = SHAPE_DURATION, .least = IDLE_LEAST_MS, .most = IDLE_MOST_MS),
	  YAML_TO(struct config_limits, idle_ms),
	  .help = "How long a label set whose values come from events may stay unchanged before it is evicted, from 1m to 8760h. Without it, label sets are evicted only by a family that is nearly full." },
};

static const struct yaml_gone gone_limits[] = {
	{ "budget",
	  "limit the label sets of all families with 'series', and let 'idle' evict those that do not change" },
	{ NULL, NULL },
};

static const char *const added_labels[] = {
	[CONFIG_LABEL_OWNER] = "owner", [CONFIG_LABEL_TERMINAL_SESSION] = "terminal_session", NULL
};

static bool same_label(const void *a, const void *b)
{
	const enum config_label *x = a, *y = b;

	return *x == *y;
}

static const char *const process_cases[] = { "keep", "lower", NULL };
static const char *const log_levels[] = { "debug", "info", "warn", "warning", "error", NULL };
static const char *const log_formats[] = { "logfmt", "json", NULL };

static bool read_log_level(struct yaml_reader *in, const struct yaml_node *node,
			   const struct yaml_row *row, void *base)
{
	struct config *config = base;
	unsigned word;

	return yaml_word(in, node, row->key, YAML_WORDS(log_levels), &word) &&
	       log_level_parse(log_levels[word], &config->log_level);
}

static const struct yaml_row log_rows[] = {
	{ "level", YAML_SHAPE(.type = SHAPE_WORD, .words = log_levels, .read = read_log_level),
	  .fallback = "info" },
	{ "format", YAML_WORDS(log_formats), YAML_TO(struct config, log_format),
	  .fallback = "logfmt" },
};

static bool check_listen_address(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct listen_address address;

	(void)base;
	return listen_address_parse(node->text, &address) ||
	       yaml_wrong(in, node, "'%s' is not an address such as :9189 or [::1]:9189",
			  node->text);
}

static bool check_allowed(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct address_range range;

	(void)base;
	return address_range_parse(node->text, &range) ||
	       yaml_wrong(in, node,
			  "'%s' is not a range of addresses such as 10.0.0.0/8 or 2001:db8::/32",
			  node->text);
}

/* The characters that a path of a URL may have. Percent codes are left out, because paths are
 * compared as they arrive. */
static const char path_characters[] = WEB_LETTERS_DIGITS "/-._~!$&'()*+,;=:@";

bool web_path_is_valid(const char *path)
{
	if (path[0] != '/' || strspn(path, path_characters) != strlen(path) || strstr(path, "//")) {
		return false;
	}
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		size_t size = strcspn(at + 1, "/");

		if (at[1] == '.' && (size == 1 || (size == 2 && at[2] == '.'))) {
			return false;
		}
	}
	return true;
}

bool web_path_is_taken(const char *path)
{
	static const char *const pages[] = { "/style.css", "/script.js", "/icon.svg",
					     "/history.json", "/version" };

	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (strcmp(path, pages[i]) == 0) {
			return true;
		}
	}
	return strncmp(path, "/-/", 3) == 0;
}

static bool check_telemetry_path(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const char *path = node->text;

	(void)base;
	if (web_path_is_taken(path)) {
		return yaml_wrong(in, node, "'%s' is the path of another page", path);
	}
	return (path[1] != '\0' && web_path_is_valid(path)) ||
	       yaml_wrong(in, node, "'%s' is not a path such as /metrics", path);
}

/* A pattern of one number of an IPv4 address, for schema.json. */
#define BYTE "([01]?[0-9]{1,2}|2[0-4][0-9]|25[0-5])"

static const struct yaml_row web_rows[] = {
	{ "listen_addresses",
	  YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .most = CONFIG_LISTEN_ADDRESSES_MOST,
		     .items = "addresses",
		     .item = YAML_SHAPE(
				     .type = SHAPE_TEXT,
				     .pattern =
					     "^(localhost|(" BYTE "\\.){3}" BYTE
					     "|\\[([0-9a-fA-F.]+:|:[0-9a-fA-F:.])[0-9a-fA-F:.]*\\])?:"
					     "([0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|"
					     "655[0-2][0-9]|6553[0-5])$",
				     .check = check_listen_address)),
	  YAML_TO_LIST(struct config, listen_addresses, listen_address_count), .fallback = ":9189",
	  .help = "[host]:port; IPv6 addresses in brackets." },
	{ "allow",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_TEXT,
					.pattern = "^[0-9a-fA-F:.]+(/[0-9]{1,3})?$",
					.check = check_allowed)),
	  YAML_TO_LIST(struct config, allowed, allowed_count),
	  .help = "Ranges of addresses that may connect, e.g. 10.0.0.0/8. Absent or empty: all." },
	{ "telemetry_path",
	  YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = WEB_PATH_SIZE_MAX - 1,
		     .pattern =
			     "^(?!/-/)(?!/(style\\.css|script\\.js|icon\\.svg|history\\.json|version)$)"
			     "(?!.*//)(?!.*/\\.\\.?(/|$))/[-A-Za-z0-9/._~!$&'()*+,;=:@]+$",
		     .check = check_telemetry_path),
	  YAML_TO(struct config, telemetry_path), .fallback = "/metrics",
	  .help = "Path of the metrics page." },
};

/* ---- the flight recorder ---- */

enum { RECORDINGS_MOST = 10000, RECORDER_RULES_MOST = 64, INTERVAL_LEAST_MS = 1000 };
#define RECORDER_LEAST (UINT64_C(4) << 20)
#define RECORDER_MOST  (UINT64_C(64) << 30)

static bool place_recorder_rule(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_recorder_rule *rule = base;
	struct etw_error why = { 0 };
	struct series_selector *selector = series_selector_of(node->text, &why);

	rule->line = node->line;
	rule->column = node->column;
	if (!selector) {
		return yaml_wrong(in, node, "series: %s", why.text);
	}
	series_selector_free(selector);
	return true;
}

static const struct yaml_row recorder_rule_rows[] = {
	{ "series",
	  YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .most = 1000,
		     .pattern = "^[a-zA-Z_:][a-zA-Z0-9_:]*(\\{.*\\})?$",
		     .check = place_recorder_rule),
	  .required = true, YAML_TO(struct config_recorder_rule, series),
	  .help = "A family, and in braces the labels of the series that count, as in PromQL: etw_file_written_bytes_total{process=\"sqlservr\"}. A counter counts by its increase each second, a histogram by its observations each second; the values of all series are added up." },
	{ "above", YAML_SHAPE(.type = SHAPE_REAL), .required = true,
	  YAML_TO(struct config_recorder_rule, above),
	  .help = "The rule fires when the value is above this number." },
	{ "for", YAML_SHAPE(.type = SHAPE_DURATION, .most = UINT64_C(24) * 3600 * 1000),
	  YAML_TO(struct config_recorder_rule, for_ms), .fallback = "0s",
	  .help = "How long the value must stay above it." },
};

static const struct yaml_row recorder_rows[] = {
	{ "dir", YAML_SHAPE(.type = SHAPE_TEXT, .least = 1, .path = true),
	  YAML_TO(struct config_recorder, dir),
	  .help = "Folder of the recordings, which exists; a relative path starts at this file. Without it there is no flight recorder." },
	{ "memory", YAML_SHAPE(.type = SHAPE_SIZE, .least = RECORDER_LEAST, .most = RECORDER_MOST),
	  YAML_TO(struct config_recorder, memory_bytes), .fallback = "64MiB",
	  .help = "Memory for the last records, divided by the sessions, from 4MiB to 64GiB." },
	{ "keep", YAML_NUMBER(1, RECORDINGS_MOST), YAML_TO(struct config_recorder, keep),
	  .fallback = "10", .help = "Number of recordings that stay; older ones are removed." },
	{ "interval",
	  YAML_SHAPE(.type = SHAPE_DURATION, .least = INTERVAL_LEAST_MS,
		     .most = UINT64_C(24) * 3600 * 1000),
	  YAML_TO(struct config_recorder, interval_ms), .fallback = "1m",
	  .help = "Time between two recordings at least, from 1s to 24h." },
	{ "providers", YAML_SHAPE(.type = SHAPE_LIST, .item = YAML_SHAPE(.type = SHAPE_TEXT)),
	  YAML_TO_LIST(struct config_recorder, providers, provider_count),
	  .help = "Providers whose events are recorded, by name, which may contain * and ?, or {guid}; those of the kernel are 'Windows Kernel'. Absent or empty: all." },
	{ "processes", YAML_SHAPE(.type = SHAPE_LIST, .item = YAML_SHAPE(.type = SHAPE_TEXT)),
	  YAML_TO_LIST(struct config_recorder, processes, process_count),
	  .help = "Processes whose events are recorded, by name, which may contain * and ?. Absent or empty: all." },
	{ "on",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = RECORDER_RULES_MOST, .items = "rules",
		     .item = YAML_MAP_OF(recorder_rule_rows)),
	  YAML_TO_LIST(struct config_recorder, rules, rule_count),
	  .help = "When a recording is written without being asked for: any of these rules fires." },
};

/* ---- sessions ---- */

static const char default_session[] = "etw_exporter";

/* Moves the session that gets what the collectors need to the front: the one at the index, or a
 * new default session. */
static bool put_first(struct yaml_reader *in, struct config *config, size_t kernel)
{
	struct config_session first = { 0 }, *sessions = config->sessions;
	size_t before = kernel;

	if (kernel == config->session_count) {
		static const struct yaml_node name = { .type = YAML_TEXT,
						       .text = default_session,
						       .size = sizeof default_session - 1 };
		static const struct yaml_node node = { .type = YAML_MAP, .key = &name };
		const struct yaml_row row = { .shape = &session_shape };

		sessions = yaml_alloc(in->tree, kernel + 1, sizeof *sessions, in->err);
		if (!sessions || !yaml_read(in, &node, &row, &first)) {
			free(first.name);
			return false;
		}
		first.logger = config->kernel_events ? first.logger : LOGGER_USER;
		config->session_count++;
	} else {
		first = sessions[kernel];
	}
	if (before > 0) {
		memmove(&sessions[1], config->sessions, before * sizeof *sessions);
	}
	sessions[0] = first;
	config->sessions = sessions;
	return true;
}

static bool same_session(const void *session, const void *other)
{
	return session_has_name(session, ((const struct config_session *)other)->name);
}

/* Returns whether a session has the name of the one in which `kernel` finds what exists. */
static bool is_harvest(const char *name, const char *kernel)
{
	static const char suffix[] = ETW_HARVEST_SUFFIX;
	size_t size = strlen(kernel), whole = strlen(name);

	return whole == size + sizeof suffix - 1 && text_equal_nocase(name, size, kernel, size) &&
	       text_equal_nocase(name + size, sizeof suffix - 1, suffix, sizeof suffix - 1);
}

static bool check_harvest(struct yaml_reader *in, const struct yaml_node *node,
			  const struct config *config, const char *kernel)
{
	const struct yaml_node *entry = node->first;

	for (size_t i = 0; i < config->session_count; i++, entry = entry->next) {
		if (is_harvest(config->sessions[i].name, kernel)) {
			return yaml_wrong(in, entry->key,
					  "sessions: '%s' is the name of the session in which '%s' "
					  "finds what exists; a user session needs another name",
					  config->sessions[i].name, kernel);
		}
	}
	return true;
}

static bool check_sessions(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config *config = base;
	const struct config_session *sessions = config->sessions;
	size_t count = config->session_count, kernel = count;
	const struct yaml_node *entry = node->first, *taken = NULL;

	for (size_t i = 0; i < count; i++, entry = entry->next) {
		if (sessions[i].logger == LOGGER_USER) {
			/* Without kernel events the first session gets what the collectors need. */
			if (sessions[i].provider_count == 0 && (config->kernel_events || i > 0)) {
				return yaml_wrong(
					in, entry->key,
					"session '%s' has no provider: it would receive no event",
					sessions[i].name);
			}
			taken = session_has_name(&sessions[i], default_session) ? entry : taken;
			continue;
		}
		if (!config->kernel_events) {
			return yaml_wrong(in, entry->key,
					  "session '%s' would have kernel events, which "
					  "`kernel_events: off` leaves out; it must be `logger: "
					  "user`",
					  sessions[i].name);
		}
		if (kernel < count) {
			return yaml_wrong(
				in, entry->key,
				"session '%s' would count kernel events again, which '%s' "
				"counts; only one session may have them, others are "
				"`logger: user`",
				sessions[i].name, sessions[kernel].name);
		}
		kernel = i;
	}
	if (!config->kernel_events && count > 0) {
		return true;
	}
	if (kernel == count && taken) {
		return yaml_wrong(in, taken->key,
				  "'%s' is the session of the kernel events; a user session needs "
				  "another name",
				  default_session);
	}
	if (kernel == count && count == CONFIG_SESSIONS_MAX) {
		return yaml_wrong(
			in, node,
			"sessions: at most %d sessions, with the one of the kernel events",
			CONFIG_SESSIONS_MAX);
	}
	if ((kernel == count || sessions[kernel].logger != LOGGER_ATTACH) &&
	    !check_harvest(in, node, config,
			   kernel == count ? default_session : sessions[kernel].name)) {
		return false;
	}
	return put_first(in, config, kernel);
}

/* What a session of another program has no settings for. */
#define ATTACHED                                                                                  \
	"{ 'if': { 'required': ['logger'], 'properties': { 'logger': { 'const': 'attach' } } }, " \
	"'then': { 'properties': { 'on_conflict': false, 'buffers': false, 'flush': false, "      \
	"'rundown': false, 'kernel_stacks': false, 'providers': false } } }"

/* Events of the kernel are not in a user session. */
#define NO_KERNEL_EVENTS                                                                        \
	"{ 'if': { 'required': ['logger'], 'properties': { 'logger': { 'const': 'user' } } }, " \
	"'then': { 'properties': { 'kernel_stacks': { 'maxItems': 0 } } } }"

static const struct yaml_shape sessions_shape = {
	.type = SHAPE_NAMES,
	.most = CONFIG_SESSIONS_MAX,
	.items = "sessions",
	.item = &session_shape,
	.same = same_session,
	.twice = "two sessions have this name; upper and lower case are the same",
	.check = check_sessions,
	.help = "Live sessions (Windows) by name. Absent: one private session with what the collectors need. At most one session has another logger than user.",
	.json = "'propertyNames': { 'minLength': 1, 'maxLength': 1023 }, "
		"'patternProperties': { "
		"'^[nN][tT] [kK][eE][rR][nN][eE][lL] [lL][oO][gG][gG][eE][rR]$': { 'allOf': ["
		"{ '$ref': '#/$defs/session' }, "
		"{ 'required': ['logger'], 'properties': { 'logger': { 'enum': ['nt_kernel_logger', "
		"'attach'] }, 'providers': { 'maxItems': 0 } } }, " ATTACHED "] } }, "
		"'additionalProperties': { 'allOf': ["
		"{ '$ref': '#/$defs/session' }, "
		"{ 'properties': { 'logger': { 'not': { 'const': 'nt_kernel_logger' } } }, "
		"'not': { 'required': ['on_conflict'] } }, " ATTACHED ", " NO_KERNEL_EVENTS "] }",
};

/* ---- the file ---- */

static const struct yaml_row config_rows[] = {
	{ "collectors",
	  YAML_SHAPE(.type = SHAPE_NAMES,
		     .item = YAML_SHAPE(.type = SHAPE_SWITCH, .read = read_switch),
		     .json = "'propertyNames': { 'pattern': '^[a-z][a-z0-9_]*$' }"),
	  YAML_TO_LIST(struct config, switches, switch_count),
	  .help = "Collectors by name, on or off. The command line overrides this." },
	{ "collector_files",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .path = true,
					.pattern = "([*?][^/]*|\\.[yY][aA][mM][lL])$",
					.check = add_collector_files)),
	  .help = "Files of your own collectors, NAME.yaml; the file name may contain * and ?, and relative paths start at this file. A collector with the name of a shipped one replaces it." },
	{ "schemas",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .path = true, .check = add_schemas,
					.json = "'minLength': 1")),
	  .help = "Instrumentation manifests (.man or .xml) or folders of them; the last name may contain * and ?, and relative paths start at this file." },
	{ "filters", YAML_MAP_OF(filter_rows),
	  .help = "Events to remove before any rule counts them. They are counted as filtered." },
	{ "path_groups",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = PATH_GROUPS_MAX, .items = "groups",
		     .item = YAML_MAP_OF(path_group_rows), .same = same_group,
		     .twice = "two groups have this name"),
	  YAML_TO_LIST(struct config, path_groups, path_group_count),
	  .help = "Groups of files by path, for the field PathGroup. A file belongs to the first group that matches. At most 64 groups with 256 patterns in all." },
	{ "labels",
	  YAML_SHAPE(.type = SHAPE_LIST, .item = YAML_WORDS(added_labels), .same = same_label,
		     .twice = "this label is listed twice"),
	  YAML_TO_LIST(struct config, labels, label_count),
	  .help = "Labels that the collectors cpu, disk, file and network have in addition, where they have the label process: owner, the account that the process runs as; terminal_session, the number of its terminal session." },
	{ "process_names",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = PROCESS_NAMES_MAX, .items = "entries",
		     .item = &process_name_shape),
	  YAML_TO_LIST(struct config, process_names, process_name_count),
	  .help = "Names of processes by their command lines, parents or paths, for everything that shows or compares names of processes. The first entry that matches decides. An entry is a rule or the name of a ready-made list." },
	{ "limits", YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(limit_rows), .gone = gone_limits),
	  YAML_TO(struct config, limits),
	  .help = "Limits on memory. Beyond them, labels read _other and tables drop their oldest entries; both are counted." },
	{ "native_histograms", &yaml_switch_shape, YAML_TO(struct config, native_histograms),
	  .fallback = "off",
	  .help = "on: histograms are also counted by native buckets, for clients that scrape protobuf. It takes about 1 KiB of memory for each series of a histogram." },
	{ "process_case", YAML_WORDS(process_cases), YAML_TO(struct config, lower_case_processes),
	  .fallback = "keep",
	  .help = "keep: process names in their first spelling; lower: in lower case (ASCII)." },
	/* This row comes before that of the sessions, whose check reads it. */
	{ "kernel_events", &yaml_switch_shape, YAML_TO(struct config, kernel_events),
	  .fallback = "on",
	  .help = "off: live sessions have no kernel events, for accounts or machines that may not start such sessions. Collectors then use providers in their place where they can (Microsoft-Windows-Kernel-File for files), and all sessions must be logger: user." },
	{ "sessions", &sessions_shape, YAML_TO_LIST(struct config, sessions, session_count) },
	{ .key = "log", .shape = YAML_MAP_OF(log_rows) },
	{ .key = "web", .shape = YAML_MAP_OF(web_rows) },
	{ "recorder", YAML_MAP_OF(recorder_rows), YAML_TO(struct config, recorder),
	  .help = "The flight recorder: keeps the last events in memory, and writes them to a recording when a rule fires or a request comes." },
};

static bool check_config(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config *config = base;

	(void)node;
	return config->session_count > 0 || put_first(in, config, 0);
}

const struct yaml_shape config_shape = {
	.type = SHAPE_MAP,
	.name = "config",
	YAML_ROWS(config_rows),
	.check = check_config,
	.json = "'title': 'the configuration, etw_exporter.yaml', 'type': ['object', 'null']",
};

static bool is_collector(const struct yaml_tree *tree)
{
	return yaml_find(yaml_root(tree), "collector") && yaml_find(yaml_root(tree), "metrics");
}

/* Reads a tree into a configuration. It takes ownership of the tree, also on failure.
 * broken_too: a configuration with errors is returned as well, not NULL. */
static struct config *read_config(struct yaml_tree *tree, const char *path, bool broken_too,
				  struct etw_error *err)
{
	struct config *config = tree ? calloc(1, sizeof *config) : NULL;
	struct yaml_reader in = { .tree = tree, .err = err, .owner = config };

	if (!config) {
		if (tree) {
			error_no_memory(err, "the configuration");
		}
		yaml_close(tree);
		return NULL;
	}
	config->tree = tree;
	config->path = path;
	if (is_collector(tree)) {
		yaml_error(tree, yaml_root(tree), err,
			   "this is a collector; a configuration names it under collector_files");
		config_free(config);
		return NULL;
	}
	if (!yaml_read_root(&in, &config_shape, "the configuration", config)) {
		config->broken = true;
		if (!broken_too ||
		    yaml_problems(tree)->errors == 0) { /* no memory, or errors are not accepted */
			config_free(config);
			return NULL;
		}
	}
	return config;
}

struct config *config_default(struct etw_error *err)
{
	return read_config(yaml_open_text("the defaults", "", 0, NULL, err), "", false, err);
}

struct config *config_load(const char *path, struct problems *problems, struct etw_error *err)
{
	struct yaml_tree *tree = yaml_open_file(path, path, problems, err);

	return read_config(tree, tree ? yaml_name(tree) : NULL, problems != NULL, err);
}

/* Returns the tree of a configuration that switches on the collector in this file; NULL without
 * memory. name_size: size of the collector's name, with which the last part of the path begins. */
static struct yaml_tree *tree_of_collector(const char *path, size_t name_size,
					   struct problems *problems, struct etw_error *err)
{
	const char *file = os_path_name(path);
	struct etw_text text = { 0 };
	struct yaml_tree *tree = NULL;

	text_add_format(&text, "collectors: { %.*s: on }\ncollector_files: [%s]\n", (int)name_size,
			file, file);
	if (text.failed) {
		error_no_memory(err, "the configuration");
	} else {
		tree = yaml_open_text(path, text.data, text.size, problems, err);
	}
	text_free(&text);
	return tree;
}

struct config *config_load_or_collector(const char *path, struct problems *problems,
					struct etw_error *err)
{
	const char *file = os_path_name(path);
	size_t name_size = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");
	struct yaml_tree *tree = yaml_open_file(path, path, problems, err);

	if (tree && is_collector(tree) && strcmp(file + name_size, ".yaml") == 0) {
		yaml_close(tree);
		tree = tree_of_collector(path, name_size, problems, err);
	}
	return read_config(tree, tree ? yaml_name(tree) : NULL, problems != NULL, err);
}

void config_free(struct config *config)
{
	if (!config) {
		return;
	}
	for (size_t i = 0; i < config->session_count; i++) {
		session_done(&config->sessions[i]);
	}
	file_list_free(&config->collector_files);
	file_list_free(&config->schemas);
	yaml_close(config->tree);
	free(config);
}

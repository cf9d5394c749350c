/* SPDX-License-Identifier: MIT */
/*
 * Reads etw_exporter.yaml: one function for each section, each key with its bounds.
 */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/listen_address.h"
#include "base/text.h"
#include "config/files.h"
#include "config/path_groups.h"
#include "config/sessions.h"
#include "config/yaml.h"

enum { SERIES_MOST = 100000000, TABLE_MOST = 100000000, TOP_PATHS_MOST = 1000 };
#define STRINGS_LEAST (UINT64_C(64) << 10)
#define STRINGS_MOST  (UINT64_C(64) << 30)

/* A configuration being read. */
struct reader {
	struct yaml_tree *tree;
	struct config *config;
	const char *path;
};

static bool no_memory(struct error *err)
{
	return error_set(err, ERROR_NO_MEMORY, "no memory for the configuration");
}

static bool copy_string(char **to, const char *text, struct error *err)
{
	char *copy = text_duplicate(text, strlen(text));

	if (!copy) {
		return no_memory(err);
	}
	free(*to);
	*to = copy;
	return true;
}

static void free_strings(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(strings[i]);
	}
	free(strings);
}

static bool read_switches(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	struct config *config = reader->config;

	if (!yaml_is_map(reader->tree, node, "collectors", err)) {
		return false;
	}
	config->switches = calloc(node->size + 1, sizeof *config->switches);
	if (!config->switches) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct config_switch *to = &config->switches[config->switch_count];

		if (!yaml_switch(reader->tree, entry, entry->key->text, &to->on, err) ||
		    !copy_string(&to->collector, entry->key->text, err)) {
			return false;
		}
		to->line = entry->key->line;
		to->column = entry->key->column;
		config->switch_count++;
	}
	return true;
}

static bool read_paths(struct reader *reader, const struct yaml_node *node, char ***paths,
		       size_t *count, struct error *err)
{
	const char *key = node->key->text;
	struct file_list files = { 0 };
	bool good = yaml_is_list(reader->tree, node, key, err);

	for (const struct yaml_node *entry = node->first; good && entry; entry = entry->next) {
		good = yaml_is_text(reader->tree, entry, key, err);
		if (good && !file_list_add(&files, reader->path, entry->text, err)) {
			good = error_prefix(err, "%s:%u:%u", reader->path, (unsigned)entry->line,
					    (unsigned)entry->column);
		}
	}
	if (!good) {
		file_list_free(&files);
		return false;
	}
	*paths = files.paths;
	*count = files.count;
	return true;
}

static bool read_collector_files(struct reader *reader, const struct yaml_node *node,
				 struct error *err)
{
	return read_paths(reader, node, &reader->config->collector_files,
			  &reader->config->collector_file_count, err);
}

static bool read_schemas(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	return read_paths(reader, node, &reader->config->schemas, &reader->config->schema_count,
			  err);
}

static bool read_patterns(struct reader *reader, const struct yaml_node *node, const char *what,
			  struct config_pattern **patterns, size_t *count, struct error *err)
{
	if (!node) {
		return true;
	}
	if (!yaml_is_list(reader->tree, node, what, err)) {
		return false;
	}
	*patterns = calloc(node->size + 1, sizeof **patterns);
	if (!*patterns) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct config_pattern *to = &(*patterns)[*count];

		if (!yaml_is_text(reader->tree, entry, what, err) ||
		    !copy_string(&to->text, entry->text, err)) {
			return false;
		}
		to->line = entry->line;
		to->column = entry->column;
		++*count;
	}
	return true;
}

static bool read_process_filters(struct reader *reader, const struct yaml_node *node,
				 struct error *err)
{
	static const char *const keys[] = { "include", "exclude", NULL };
	struct config *config = reader->config;

	return yaml_is_map(reader->tree, node, "processes", err) &&
	       yaml_keys_are(reader->tree, node, keys, err) &&
	       read_patterns(reader, yaml_find(node, "include"), "include",
			     &config->include_processes, &config->include_process_count, err) &&
	       read_patterns(reader, yaml_find(node, "exclude"), "exclude",
			     &config->exclude_processes, &config->exclude_process_count, err);
}

static bool read_event_filters(struct reader *reader, const struct yaml_node *node,
			       struct error *err)
{
	static const char *const keys[] = { "event", NULL };
	struct config *config = reader->config;

	if (!yaml_is_list(reader->tree, node, "events", err)) {
		return false;
	}
	config->dropped_events = calloc(node->size + 1, sizeof *config->dropped_events);
	if (!config->dropped_events) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct config_event_filter *to =
			&config->dropped_events[config->dropped_event_count];
		const struct yaml_node *event;

		if (!yaml_is_map(reader->tree, entry, "events", err) ||
		    !yaml_keys_are(reader->tree, entry, keys, err)) {
			return false;
		}
		event = yaml_find(entry, "event");
		if (!event) {
			return yaml_error(reader->tree, entry, err, "events: 'event' is missing");
		}
		if (!yaml_is_text(reader->tree, event, "event", err) ||
		    !copy_string(&to->event, event->text, err)) {
			return false;
		}
		to->line = event->line;
		to->column = event->column;
		config->dropped_event_count++;
	}
	return true;
}

static bool read_filters(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	static const char *const keys[] = { "processes", "events", NULL };
	const struct yaml_node *processes, *events;

	if (!yaml_is_map(reader->tree, node, "filters", err) ||
	    !yaml_keys_are(reader->tree, node, keys, err)) {
		return false;
	}
	processes = yaml_find(node, "processes");
	events = yaml_find(node, "events");
	return (!processes || read_process_filters(reader, processes, err)) &&
	       (!events || read_event_filters(reader, events, err));
}

static bool read_count(struct reader *reader, const struct yaml_node *limits, const char *key,
		       uint64_t most, uint32_t *to, struct error *err)
{
	const struct yaml_node *node = yaml_find(limits, key);
	uint64_t value;

	if (!node) {
		return true;
	}
	if (!yaml_number(reader->tree, node, key, 1, most, &value, err)) {
		return false;
	}
	*to = (uint32_t)value;
	return true;
}

static bool read_limits(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	static const char *const keys[] = { "series_per_family", "series", "processes",
					    "threads",           "files",  "top_paths",
					    "strings",           NULL };
	struct config_limits *limits = &reader->config->limits;
	const struct yaml_node *strings;

	if (!yaml_is_map(reader->tree, node, "limits", err) ||
	    !yaml_keys_are(reader->tree, node, keys, err)) {
		return false;
	}
	strings = yaml_find(node, "strings");
	return read_count(reader, node, "series_per_family", SERIES_MOST,
			  &limits->series_per_family, err) &&
	       read_count(reader, node, "series", SERIES_MOST, &limits->series, err) &&
	       read_count(reader, node, "processes", TABLE_MOST, &limits->processes, err) &&
	       read_count(reader, node, "threads", TABLE_MOST, &limits->threads, err) &&
	       read_count(reader, node, "files", TABLE_MOST, &limits->files, err) &&
	       read_count(reader, node, "top_paths", TOP_PATHS_MOST, &limits->top_paths, err) &&
	       (!strings || yaml_size(reader->tree, strings, "strings", STRINGS_LEAST, STRINGS_MOST,
				      &limits->strings_bytes, err));
}

static bool read_process_case(struct reader *reader, const struct yaml_node *node,
			      struct error *err)
{
	static const char *const words[] = { "keep", "lower", NULL };
	unsigned word;

	if (!yaml_word(reader->tree, node, "process_case", words, &word, err)) {
		return false;
	}
	reader->config->lower_case_processes = word == 1;
	return true;
}

static bool read_log(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	static const char *const keys[] = { "level", "format", NULL };
	const struct yaml_node *level, *format;

	if (!yaml_is_map(reader->tree, node, "log", err) ||
	    !yaml_keys_are(reader->tree, node, keys, err)) {
		return false;
	}
	level = yaml_find(node, "level");
	format = yaml_find(node, "format");
	if (level && (!yaml_is_text(reader->tree, level, "level", err) ||
		      !log_level_parse(level->text, &reader->config->log_level))) {
		return yaml_error(reader->tree, level, err,
				  "level: expected debug, info, warning or error");
	}
	if (format && (!yaml_is_text(reader->tree, format, "format", err) ||
		       !log_format_parse(format->text, &reader->config->log_format))) {
		return yaml_error(reader->tree, format, err, "format: expected logfmt or json");
	}
	return true;
}

static bool read_listen_addresses(struct reader *reader, const struct yaml_node *node,
				  struct error *err)
{
	struct config *config = reader->config;
	char **addresses;
	size_t count = 0;

	if (!yaml_is_list(reader->tree, node, "listen_addresses", err)) {
		return false;
	}
	if (node->size == 0) {
		return yaml_error(reader->tree, node, err,
				  "listen_addresses: at least one is needed");
	}
	addresses = calloc(node->size, sizeof *addresses);
	if (!addresses) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct listen_address address;

		if (!yaml_is_text(reader->tree, entry, "listen_addresses", err)) {
			goto fail;
		}
		if (!listen_address_parse(entry->text, &address)) {
			yaml_error(reader->tree, entry, err,
				   "'%s' is not an address such as :9189 or [::1]:9189",
				   entry->text);
			goto fail;
		}
		if (!copy_string(&addresses[count], entry->text, err)) {
			goto fail;
		}
		count++;
	}
	free_strings(config->listen_addresses, config->listen_address_count);
	config->listen_addresses = addresses;
	config->listen_address_count = count;
	return true;

fail:
	free_strings(addresses, count);
	return false;
}

static bool read_web(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	static const char *const keys[] = { "listen_addresses", "telemetry_path", NULL };
	const struct yaml_node *addresses, *path;

	if (!yaml_is_map(reader->tree, node, "web", err) ||
	    !yaml_keys_are(reader->tree, node, keys, err)) {
		return false;
	}
	addresses = yaml_find(node, "listen_addresses");
	path = yaml_find(node, "telemetry_path");
	if (addresses && !read_listen_addresses(reader, addresses, err)) {
		return false;
	}
	if (!path) {
		return true;
	}
	if (!yaml_is_text(reader->tree, path, "telemetry_path", err)) {
		return false;
	}
	if (path->text[0] != '/' || path->size == 1 || strpbrk(path->text, "?# ") ||
	    strncmp(path->text, "/-/", 3) == 0) {
		return yaml_error(reader->tree, path, err, "'%s' is not a path such as /metrics",
				  path->text);
	}
	return copy_string(&reader->config->telemetry_path, path->text, err);
}

static bool read_path_groups(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	return path_groups_read(reader->tree, node, reader->config, err);
}

static bool read_sessions(struct reader *reader, const struct yaml_node *node, struct error *err)
{
	return sessions_read(reader->tree, node, reader->config, err);
}

static bool read_all(struct reader *reader, struct error *err)
{
	static const struct {
		const char *key;
		bool (*read)(struct reader *reader, const struct yaml_node *node,
			     struct error *err);
	} sections[] = {
		{ "collectors", read_switches },
		{ "collector_files", read_collector_files },
		{ "schemas", read_schemas },
		{ "filters", read_filters },
		{ "path_groups", read_path_groups },
		{ "limits", read_limits },
		{ "process_case", read_process_case },
		{ "sessions", read_sessions },
		{ "log", read_log },
		{ "web", read_web },
	};
	enum { SECTIONS = sizeof sections / sizeof sections[0] };
	const struct yaml_node *root = yaml_root(reader->tree);
	const char *keys[SECTIONS + 1] = { NULL };

	for (size_t i = 0; i < SECTIONS; i++) {
		keys[i] = sections[i].key;
	}
	if (!yaml_is_map(reader->tree, root, "the configuration", err) ||
	    !yaml_keys_are(reader->tree, root, keys, err)) {
		return false;
	}
	for (size_t i = 0; i < SECTIONS; i++) {
		const struct yaml_node *node = yaml_find(root, sections[i].key);

		if (node && !sections[i].read(reader, node, err)) {
			return false;
		}
	}
	return true;
}

struct config *config_default(struct error *err)
{
	struct config *config = calloc(1, sizeof *config);

	if (!config) {
		no_memory(err);
		return NULL;
	}
	config->limits = (struct config_limits){ .series_per_family = 2000,
						 .series = 200000,
						 .processes = 20000,
						 .threads = 200000,
						 .files = 200000,
						 .top_paths = 20,
						 .strings_bytes = UINT64_C(64) << 20 };
	config->log_level = LOG_INFO;
	config->log_format = LOG_LOGFMT;
	config->listen_addresses = calloc(1, sizeof *config->listen_addresses);
	if (!config->listen_addresses) {
		no_memory(err);
		goto fail;
	}
	if (!copy_string(&config->path, "", err) ||
	    !copy_string(&config->telemetry_path, "/metrics", err) ||
	    !copy_string(&config->listen_addresses[0], ":9189", err)) {
		goto fail;
	}
	config->listen_address_count = 1;
	if (!sessions_default(config, err)) {
		goto fail;
	}
	return config;

fail:
	config_free(config);
	return NULL;
}

struct config *config_load(const char *path, struct error *err)
{
	struct reader reader = { .path = path };

	reader.tree = yaml_open_file(path, path, err);
	reader.config = reader.tree ? config_default(err) : NULL;
	if (!reader.config || !copy_string(&reader.config->path, path, err) ||
	    !read_all(&reader, err)) {
		config_free(reader.config);
		reader.config = NULL;
	}
	yaml_close(reader.tree);
	return reader.config;
}

static void free_patterns(struct config_pattern *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(patterns[i].text);
	}
	free(patterns);
}

void config_free(struct config *config)
{
	if (!config) {
		return;
	}
	for (size_t i = 0; i < config->switch_count; i++) {
		free(config->switches[i].collector);
	}
	for (size_t i = 0; i < config->dropped_event_count; i++) {
		free(config->dropped_events[i].event);
	}
	sessions_free(config);
	path_groups_free(config);
	free(config->switches);
	free(config->dropped_events);
	free_strings(config->collector_files, config->collector_file_count);
	free_strings(config->schemas, config->schema_count);
	free_patterns(config->include_processes, config->include_process_count);
	free_patterns(config->exclude_processes, config->exclude_process_count);
	free_strings(config->listen_addresses, config->listen_address_count);
	free(config->telemetry_path);
	free(config->path);
	free(config);
}

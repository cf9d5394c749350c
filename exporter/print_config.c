/* SPDX-License-Identifier: MIT */
/*
 * The file is printed by the tables from which it is read (config/yaml_rows.h). This file only
 * says what counts in place of the configuration: the collectors, each by name, because their
 * defaults and the flags decide too; the session that is there without being configured; and the
 * flags that have a key. Such values are nodes in the memory of the configuration.
 */
#include "exporter/print_config.h"

#include <string.h>

#include "base/log.h"
#include "config/yaml.h"
#include "config/yaml_rows.h"

enum { OVERRIDES_MOST = 8 };

struct changes {
	struct yaml_tree *tree;
	struct yaml_override list[OVERRIDES_MOST];
	size_t count;
	bool failed; /* no memory */
};

/* Makes a node for one text. Returns NULL without memory. */
static struct yaml_node *text_node(struct changes *changes, const char *text)
{
	struct yaml_node *node = yaml_alloc(changes->tree, 1, sizeof *node, NULL);

	changes->failed |= !node;
	if (node) {
		*node = (struct yaml_node){ .type = YAML_TEXT, .text = text, .size = strlen(text) };
	}
	return node;
}

/* Adds an entry to the front of a list or map. */
static void put_first(struct yaml_node *list, struct yaml_node *entry, const struct yaml_node *key)
{
	if (entry) {
		entry->key = key;
		entry->next = list->first;
		list->first = entry;
		list->size++;
	}
}

static struct yaml_node * override(struct changes *changes, const char *path, enum yaml_type type)
{
	struct yaml_node *node = text_node(changes, "");

	if (node) {
		node->type = type;
		changes->list[changes->count++] =
			(struct yaml_override){ .path = path, .node = node };
	}
	return node;
}

static void override_text(struct changes *changes, const char *path, const char *text)
{
	struct yaml_node *node = override(changes, path, YAML_TEXT);

	if (node) {
		node->text = text;
		node->size = strlen(text);
	}
}

static void add_collectors(struct changes *changes, const struct rule_set *rules)
{
	struct yaml_node *map = override(changes, "collectors", YAML_MAP);
	const struct collector_info *collector;
	size_t count = 0;

	while (rule_set_collector(rules, count)) {
		count++;
	}
	while (map && count > 0) {
		collector = rule_set_collector(rules, --count);
		put_first(map, text_node(changes, collector->on ? "on" : "off"),
			  text_node(changes, collector->name));
	}
}

/* Adds the session of the kernel events, which exists even if the file names no session. Without
 * kernel events it would be a user session that has only the providers of the collectors, which a
 * file cannot express. */
static void add_session(struct changes *changes, const struct config *config)
{
	const struct yaml_node *sessions = yaml_find(yaml_root(config->tree), "sessions");
	size_t configured = sessions ? sessions->size : 0;
	struct yaml_node *map, *session;

	if (configured == config->session_count || !config->kernel_events) {
		return;
	}
	map = override(changes, "sessions", YAML_MAP);
	session = text_node(changes, "");
	if (map && session) {
		session->type = YAML_MAP;
		map->size = configured;
		map->first = sessions ? sessions->first : NULL;
		put_first(map, session, text_node(changes, config->sessions[0].name));
	}
}

/* Replaces the whole list at `path` by the values of a flag, if the flag was given. */
static void override_list(struct changes *changes, const char *path, const char *const *texts,
			  size_t count)
{
	struct yaml_node *list = count > 0 ? override(changes, path, YAML_LIST) : NULL;

	for (size_t i = count; list && i > 0; i--) {
		put_first(list, text_node(changes, texts[i - 1]), NULL);
	}
}

static void add_flags(struct changes *changes, const struct options *options)
{
	if (options->log_level_set) {
		override_text(changes, "log.level", log_level_name(options->log_level));
	}
	if (options->log_format_set) {
		override_text(changes, "log.format", log_format_name(options->log_format));
	}
	if (options->telemetry_path) {
		override_text(changes, "web.telemetry_path", options->telemetry_path);
	}
	override_list(changes, "web.listen_addresses", options->listen_addresses,
		      options->listen_address_count);
	override_list(changes, "web.allow", options->allowed, options->allowed_count);
}

void print_config(struct etw_text *out, const struct options *options, const struct setup *setup)
{
	struct changes changes = { .tree = setup->config->tree };
	struct yaml_overrides overrides;

	add_collectors(&changes, setup->rules);
	add_session(&changes, setup->config);
	add_flags(&changes, options);
	if (changes.failed) {
		out->failed = true;
		return;
	}
	overrides = (struct yaml_overrides){ .list = changes.list, .count = changes.count };
	yaml_print(out, &config_shape, setup->config->tree, &overrides);
}

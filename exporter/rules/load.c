/* SPDX-License-Identifier: MIT */
/*
 * Reads a collector: everything that can be said without knowing what events look like.
 */
#include "rules/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "source/kernel_flags.h"

/* Families that C code declares (docs/metrics.md); a collector that declared one would fight it. */
static const char *const own_prefixes[] = { "etw_session_", "etw_consumer_", "etw_exporter_",
					    "etw_replay_",  "etw_state_",    "etw_schema_",
					    "etw_decode_",  "process_",      NULL };
static const char *const own_names[] = { "etw_process_instances",
					 "etw_process_threads",
					 "etw_process_image_info",
					 "etw_disk_info",
					 "etw_disk_volume_info",
					 "etw_file_top_written_bytes",
					 NULL };

/* ---- needs ---- */

static bool load_provider(struct loader *loader, const struct yaml_node *node)
{
	struct collector *collector = loader->collector;
	struct error why;

	/* Counted first: what is half read is freed as well. */
	if (!provider_spec_parse(&collector->providers[collector->provider_count++], node->text,
				 &why)) {
		return yaml_error(loader->tree, node, loader->err, "providers: %s", why.text);
	}
	return true;
}

static bool load_kernel_needs(struct loader *loader, const struct yaml_node *kernel)
{
	const char *words[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1] = { NULL };

	memcpy(words, kernel_flag_names, KERNEL_FLAG_COUNT * sizeof words[0]);
	for (size_t i = 0; i < KERNEL_GROUP_COUNT; i++) {
		words[KERNEL_FLAG_COUNT + i] = kernel_groups[i].name;
	}
	if (!yaml_is_list(loader->tree, kernel, "kernel", loader->err)) {
		return false;
	}
	for (const struct yaml_node *entry = kernel->first; entry; entry = entry->next) {
		unsigned word;

		if (!yaml_word(loader->tree, entry, "kernel flag", words, &word, loader->err)) {
			return false;
		}
		if (word < KERNEL_FLAG_COUNT) {
			loader->collector->kernel_flags |= kernel_flag_values[word];
		} else {
			loader->collector->kernel_groups |= 1U << (word - KERNEL_FLAG_COUNT);
		}
	}
	return true;
}

static bool load_needs(struct loader *loader, const struct yaml_node *node)
{
	static const char *const keys[] = { "kernel", "providers", NULL };
	const struct yaml_node *kernel, *providers;

	if (!yaml_is_map(loader->tree, node, "needs", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	kernel = yaml_find(node, "kernel");
	providers = yaml_find(node, "providers");
	if (kernel && !load_kernel_needs(loader, kernel)) {
		return false;
	}
	if (providers && !yaml_is_list(loader->tree, providers, "providers", loader->err)) {
		return false;
	}
	if (!providers) {
		return true;
	}
	loader->collector->providers = yaml_alloc(
		loader->tree, providers->size, sizeof *loader->collector->providers, loader->err);
	if (!loader->collector->providers) {
		return false;
	}
	for (const struct yaml_node *entry = providers->first; entry; entry = entry->next) {
		if (!yaml_is_text(loader->tree, entry, "providers", loader->err) ||
		    !load_provider(loader, entry)) {
			return false;
		}
	}
	return true;
}

/* ---- metrics ---- */

bool metric_name_is_in(const char *name, const char *unit)
{
	size_t size = strlen(name);

	if (text_ends_nocase(name, size, "_total", 6)) {
		size -= 6;
	}
	return size > strlen(unit) && name[size - strlen(unit) - 1] == '_' &&
	       text_ends_nocase(name, size, unit, strlen(unit));
}

static bool ends_in(const char *name, const char *end)
{
	return text_ends_nocase(name, strlen(name), end, strlen(end));
}

static bool is_own_name(const char *name)
{
	for (const char *const *prefix = own_prefixes; *prefix; prefix++) {
		if (strncmp(name, *prefix, strlen(*prefix)) == 0) {
			return true;
		}
	}
	for (const char *const *own = own_names; *own; own++) {
		if (strcmp(name, *own) == 0) {
			return true;
		}
	}
	return false;
}

static bool load_name(struct loader *loader, const struct yaml_node *node, struct metric *metric)
{
	bool counter = metric->type == FAMILY_COUNTER;

	if (!yaml_is_text(loader->tree, node, "name", loader->err)) {
		return false;
	}
	metric->name = node->text;
	metric->name_at = node;
	if (!load_is_name(node->text, false)) {
		return yaml_error(loader->tree, node, loader->err,
				  "'%s' is not the name of a metric: lower case with underscores",
				  node->text);
	}
	if (counter != ends_in(node->text, "_total")) {
		return yaml_error(loader->tree, node, loader->err,
				  "'%s': counters end in _total, and nothing else does",
				  node->text);
	}
	if (ends_in(node->text, "_count") || ends_in(node->text, "_sum") ||
	    ends_in(node->text, "_bucket")) {
		return yaml_error(loader->tree, node, loader->err,
				  "'%s': the lines of histograms end so", node->text);
	}
	if (is_own_name(node->text)) {
		return yaml_error(loader->tree, node, loader->err,
				  "'%s' is a name of the program's own", node->text);
	}
	metric->seconds = metric_name_is_in(node->text, "seconds");
	metric->bytes = metric_name_is_in(node->text, "bytes");
	return true;
}

static bool load_type(struct loader *loader, const struct yaml_node *node, struct metric *metric)
{
	static const char *const types[] = { "counter", "gauge", "histogram", NULL };
	static const enum family_type values[] = { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM };
	unsigned type;

	if (!yaml_word(loader->tree, node, "type", types, &type, loader->err)) {
		return false;
	}
	metric->type = values[type];
	return true;
}

static bool load_help(struct loader *loader, const struct yaml_node *node, const char **help)
{
	if (!yaml_is_text(loader->tree, node, "help", loader->err)) {
		return false;
	}
	if (node->size == 0) {
		return yaml_error(loader->tree, node, loader->err, "help: it says nothing");
	}
	*help = node->text;
	return true;
}

static bool load_events(struct loader *loader, const struct yaml_node *node, struct for_all *all,
			struct metric *metric)
{
	if (!yaml_is_list(loader->tree, node, "events", loader->err)) {
		return false;
	}
	if (node->size == 0) {
		return yaml_error(loader->tree, node, loader->err, "events: an empty list");
	}
	metric->rules = yaml_alloc(loader->tree, node->size, sizeof *metric->rules, loader->err);
	if (!metric->rules) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!load_rule(loader, entry, metric, all, &metric->rules[metric->rule_count])) {
			return false;
		}
		metric->rule_count++;
	}
	return true;
}

static bool load_metric(struct loader *loader, const struct yaml_node *node, struct metric *metric)
{
	static const char *const keys[] = { "name",       "type",   "help", "labels", "buckets",
					    "max_series", "events", "op",   "pair",   NULL };
	const struct yaml_node *name, *type, *help, *buckets, *max_series, *events, *op, *pair;
	struct for_all all = { .labels = yaml_find(node, "labels") };
	uint64_t series = 0;

	if (!yaml_is_map(loader->tree, node, "metrics", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	metric->at = node;
	name = yaml_find(node, "name");
	type = yaml_find(node, "type");
	help = yaml_find(node, "help");
	buckets = yaml_find(node, "buckets");
	max_series = yaml_find(node, "max_series");
	events = yaml_find(node, "events");
	op = yaml_find(node, "op");
	pair = yaml_find(node, "pair");
	if (!name || !type || !help || !events) {
		return load_missing(loader, node, "metrics",
				    !name ? "name" :
				    !type ? "type" :
				    !help ? "help" :
					    "events");
	}
	if (!load_type(loader, type, metric) || !load_name(loader, name, metric) ||
	    !load_help(loader, help, &metric->help)) {
		return false;
	}
	if ((buckets != NULL) != (metric->type == FAMILY_HISTOGRAM)) {
		return buckets ? yaml_error(loader->tree, buckets->key, loader->err,
					    "'buckets' are for histograms") :
				 load_missing(loader, node, "histogram", "buckets");
	}
	if (op && metric->type != FAMILY_GAUGE) {
		return yaml_error(loader->tree, op->key, loader->err, "'op' is for gauges");
	}
	if ((buckets && !load_buckets(loader, buckets, metric)) ||
	    (op && !load_op(loader, op, &all.op)) ||
	    (pair && !load_pair(loader, pair, &all.pair)) ||
	    (max_series && !yaml_number(loader->tree, max_series, "max_series", 1, UINT32_MAX / 2,
					&series, loader->err))) {
		return false;
	}
	metric->max_series = (uint32_t)series;
	if (!load_events(loader, events, &all, metric)) {
		return false;
	}
	return !all.pair || all.pair_used ||
	       yaml_error(loader->tree, all.pair->stop.event_at, loader->err,
			  "pair: 'stop' is no event of '%s'", metric->name);
}

/* ---- the file ---- */

static bool load_head(struct loader *loader, const struct yaml_node *root, const char *file_name)
{
	static const char *const keys[] = {
		"collector", "help", "default", "needs", "metrics", NULL
	};
	struct collector *collector = loader->collector;
	const struct yaml_node *name, *help, *on, *needs;

	if (!yaml_is_map(loader->tree, root, "a collector", loader->err) ||
	    !yaml_keys_are(loader->tree, root, keys, loader->err)) {
		return false;
	}
	name = yaml_find(root, "collector");
	help = yaml_find(root, "help");
	on = yaml_find(root, "default");
	needs = yaml_find(root, "needs");
	if (!name || !help || !on) {
		return load_missing(loader, root, "collector",
				    !name ? "collector" :
				    !help ? "help" :
					    "default");
	}
	if (!yaml_is_text(loader->tree, name, "collector", loader->err)) {
		return false;
	}
	if (!load_is_name(name->text, false)) {
		return yaml_error(
			loader->tree, name, loader->err,
			"'%s' is not the name of a collector: lower case with underscores",
			name->text);
	}
	if (strcmp(name->text, file_name) != 0) {
		return yaml_error(loader->tree, name, loader->err,
				  "collector '%s' in a file called '%s'", name->text, file_name);
	}
	collector->name = name->text;
	collector->at = name;
	return load_help(loader, help, &collector->help) &&
	       yaml_switch(loader->tree, on, "default", &collector->default_on, loader->err) &&
	       (!needs || load_needs(loader, needs));
}

static bool load_metrics(struct loader *loader, const struct yaml_node *node)
{
	struct collector *collector = loader->collector;

	if (!yaml_is_list(loader->tree, node, "metrics", loader->err)) {
		return false;
	}
	collector->metrics =
		yaml_alloc(loader->tree, node->size, sizeof *collector->metrics, loader->err);
	if (!collector->metrics) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!load_metric(loader, entry, &collector->metrics[collector->metric_count])) {
			return false;
		}
		collector->metric_count++;
	}
	return true;
}

struct collector *collector_load(struct yaml_tree *tree, const char *name, struct error *err)
{
	struct collector *collector = calloc(1, sizeof *collector);
	struct loader loader = { .tree = tree, .collector = collector, .err = err };
	const struct yaml_node *metrics;

	if (!collector) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a collector");
		yaml_close(tree);
		return NULL;
	}
	collector->tree = tree;
	if (!load_head(&loader, yaml_root(tree), name)) {
		goto fail;
	}
	metrics = yaml_find(yaml_root(tree), "metrics");
	if (metrics && !load_metrics(&loader, metrics)) {
		goto fail;
	}
	return collector;

fail:
	collector_free(collector);
	return NULL;
}

void collector_free(struct collector *collector)
{
	if (!collector) {
		return;
	}
	for (size_t i = 0; i < collector->regex_count; i++) {
		regex_free(collector->regexes[i]);
	}
	free(collector->regexes);
	for (size_t i = 0; i < collector->provider_count; i++) {
		provider_spec_done(&collector->providers[i]);
	}
	yaml_close(collector->tree);
	free(collector);
}

/* SPDX-License-Identifier: MIT */
/*
 * Reads a rule: one event of a metric.
 */
#include <string.h>

#include "rules/load.h"

bool load_missing(struct loader *loader, const struct yaml_node *at, const char *what,
		  const char *key)
{
	return yaml_error(loader->tree, at, loader->err, "%s: '%s' is missing", what, key);
}

static bool load_versions(struct loader *loader, const struct yaml_node *node, struct rule *rule)
{
	uint64_t version = 0;

	if (node->type == YAML_TEXT && strncmp(node->text, ">=", 2) == 0) {
		const char *text = node->text + 2 + strspn(node->text + 2, " ");

		if (!parse_u64(text, strlen(text), &version) || version > UINT8_MAX) {
			return yaml_error(loader->tree, node, loader->err,
					  "version: '%s' is not a version", node->text);
		}
		for (; version <= UINT8_MAX; version++) {
			rule->versions[version / 64] |= UINT64_C(1) << version % 64;
		}
		return true;
	}
	if (node->type != YAML_LIST || node->size == 0) {
		return yaml_error(loader->tree, node, loader->err,
				  "version: a list such as [2, 3], or '>=2'");
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!yaml_number(loader->tree, entry, "version", 0, UINT8_MAX, &version,
				 loader->err)) {
			return false;
		}
		rule->versions[version / 64] |= UINT64_C(1) << version % 64;
	}
	return true;
}

static bool load_unit(struct loader *loader, const struct yaml_node *node, struct rule *rule)
{
	static const char *const units[] = { "KB", "ticks", "ns", "100ns", "us", "ms", "s", NULL };
	unsigned unit;

	if (!yaml_word(loader->tree, node, "unit", units, &unit, loader->err)) {
		return false;
	}
	rule->unit = (enum value_unit)(UNIT_KB + unit);
	rule->unit_at = node;
	return true;
}

bool load_op(struct loader *loader, const struct yaml_node *node, enum gauge_op *op)
{
	static const char *const ops[] = { "set", "inc", "dec", NULL };
	unsigned word;

	if (!yaml_word(loader->tree, node, "op", ops, &word, loader->err)) {
		return false;
	}
	*op = (enum gauge_op)(GAUGE_SET + word);
	return true;
}

static bool load_value(struct loader *loader, const struct yaml_node *node, struct rule *rule)
{
	const struct yaml_node *value = yaml_find(node, "value"), *since = yaml_find(node, "since");
	const struct yaml_node *unit = yaml_find(node, "unit");

	if (value && since) {
		return yaml_error(loader->tree, since->key, loader->err,
				  "'value' or 'since', not both");
	}
	if (unit && !value) {
		return yaml_error(loader->tree, unit->key, loader->err,
				  "'unit' is that of a 'value'");
	}
	return (!value || load_field(loader, value, "value", &rule->value)) &&
	       (!since || load_field(loader, since, "since", &rule->since)) &&
	       (!unit || load_unit(loader, unit, rule));
}

/* The pair of an event is its own, or that of the metric whose stop it is. */
static bool set_pair(struct loader *loader, const struct yaml_node *own, struct for_all *all,
		     struct rule *rule)
{
	const char *event = rule->event_at->text;

	if (own) {
		if (!load_pair(loader, own, &rule->pair)) {
			return false;
		}
		if (strcmp(rule->pair->stop.event_at->text, event) != 0) {
			return yaml_error(loader->tree, rule->pair->stop.event_at, loader->err,
					  "pair: 'stop' is not the event '%s'", event);
		}
	} else if (all->pair && strcmp(all->pair->stop.event_at->text, event) == 0) {
		rule->pair = all->pair;
		all->pair_used = true;
	}
	return true;
}

bool load_rule(struct loader *loader, const struct yaml_node *node, const struct metric *metric,
	       struct for_all *all, struct rule *rule)
{
	static const char *const keys[] = { "event", "version", "value",  "since", "unit",
					    "op",    "where",   "labels", "pair",  NULL };
	const struct yaml_node *event, *version, *op, *where, *labels, *pair;

	if (!yaml_is_map(loader->tree, node, "events", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	event = yaml_find(node, "event");
	version = yaml_find(node, "version");
	op = yaml_find(node, "op");
	where = yaml_find(node, "where");
	labels = yaml_find(node, "labels");
	pair = yaml_find(node, "pair");
	if (!event) {
		return load_missing(loader, node, "events", "event");
	}
	rule->collector = loader->collector;
	rule->metric = metric;
	rule->at = node;
	rule->every_version = !version;
	rule->op = all->op;
	rule->event_at = event;
	if (op && metric->type != FAMILY_GAUGE) {
		return yaml_error(loader->tree, op->key, loader->err, "'op' is for gauges");
	}
	if (!load_event_pattern(loader, event, &rule->event) ||
	    !set_pair(loader, pair, all, rule) ||
	    (version && !load_versions(loader, version, rule)) || !load_value(loader, node, rule) ||
	    (op && !load_op(loader, op, &rule->op)) ||
	    (where && !load_conditions(loader, where, rule)) ||
	    (all->labels && !load_labels(loader, all->labels, rule)) ||
	    (labels && !load_labels(loader, labels, rule))) {
		return false;
	}
	if (metric->type == FAMILY_GAUGE && rule->op == GAUGE_NONE) {
		return load_missing(loader, node, "gauge", "op");
	}
	return true;
}

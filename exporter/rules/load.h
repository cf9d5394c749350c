/* SPDX-License-Identifier: MIT */
/*
 * The parts of reading a collector, of which load.c is the top: conditions and labels in
 * load_parts.c, rules in load_rule.c, buckets in load_buckets.c, pairs in load_pair.c.
 */
#ifndef RULES_LOAD_H
#define RULES_LOAD_H

#include "rules/collector.h"

struct loader {
	struct yaml_tree *tree;
	struct collector *collector;
	struct error *err;
};

/* What a metric says for all its events. */
struct for_all {
	const struct yaml_node *labels;
	const struct pair *pair;
	enum gauge_op op;
	bool pair_used;
};

/* A rule of the metric, whose event is one of those that `all` is for. */
bool load_rule(struct loader *loader, const struct yaml_node *node, const struct metric *metric,
	       struct for_all *all, struct rule *rule);

bool load_op(struct loader *loader, const struct yaml_node *node, enum gauge_op *op);

/* An error: what lacks a key. */
bool load_missing(struct loader *loader, const struct yaml_node *at, const char *what,
		  const char *key);

bool load_field(struct loader *loader, const struct yaml_node *node, const char *what,
		struct field_ref *field);
bool load_conditions(struct loader *loader, const struct yaml_node *node, struct rule *rule);

/* Adds the labels of a map to a rule; one of the same name that is there already is an error. */
bool load_labels(struct loader *loader, const struct yaml_node *node, struct rule *rule);

bool load_event_pattern(struct loader *loader, const struct yaml_node *node,
			struct event_pattern *pattern);
bool load_pair(struct loader *loader, const struct yaml_node *node, const struct pair **pair);

/* Upper bounds in nanoseconds for a family in seconds, else as written. */
bool load_buckets(struct loader *loader, const struct yaml_node *node, struct metric *metric);

/* A regular expression that the collector owns from then on; NULL with err set. */
const struct regex *load_regex(struct loader *loader, const struct yaml_node *node);

/* [a-z][a-z0-9_]* and the like. */
bool load_is_name(const char *text, bool upper_case);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The inside of a rule_set: collectors, families, what is switched on. Immutable once made.
 */
#ifndef RULES_RULE_SET_H
#define RULES_RULE_SET_H

#include "exporter/rules/language/collector.h"
#include "exporter/rules/rules.h"

/* A family, as the collectors together declare it. */
struct declared_family {
	const struct collector *collector; /* that declared it first */
	const struct metric *metric;
	const char *labels[FAMILY_LABELS_MAX]; /* the order of every rule's labels */
	size_t label_count;
	uint32_t dynamic_labels;
	bool has_provider;     /* a label names the source */
	struct family *family; /* NULL: no collector that is on has it */
};

enum { NO_SPAN = UINT16_MAX };

struct active_rule {
	const struct rule *rule;
	const struct declared_family *declared;
	uint16_t span; /* of the set's spans, or NO_SPAN */
};

struct rule_set {
	struct collector **collectors; /* owned; in the order of their names */
	struct collector_info *infos;  /* owned; one for each */
	size_t collector_count;
	/* A collector of the configuration could not be read: names that are unknown may be its. */
	bool incomplete;
	struct declared_family *families; /* owned */
	size_t family_count;
	struct active_rule *rules; /* owned; of the collectors that are on */
	size_t rule_count;
	/* Of the rules, each once: spans with the same start, key and time-out are one. */
	const struct span **spans; /* owned, not what they point to */
	size_t span_count;
	struct regex **include, **exclude; /* owned; of process names */
	size_t include_count, exclude_count;
	struct event_pattern *dropped; /* owned */
	size_t dropped_count;
	char **dropped_texts; /* owned; what the patterns point into */
	bool prepare;         /* see struct rule_set_options */
	struct family *decode_errors;
	struct family *unmatched;
	struct family *invalid_durations;
	uint32_t features; /* of the tracker that the rules need; enum tracker_feature */
};

/* Takes the tree; name as for collector_load(). Two collectors of one name are an error, but one of
 * the configuration replaces a built-in one. */
bool rule_set_add(struct rule_set *set, struct yaml_tree *tree, const char *name, bool builtin,
		  struct etw_error *err);

/* Once all are added: checks them together, switches, registers families. err has the first error;
 * the problems of the trees have all. */
bool rule_set_finish(struct rule_set *set, const struct rule_set_options *options,
		     struct registry *registry, struct etw_error *err);

/* Checks families over all collectors and brings every rule's labels into the family's order
 * (families.c). Errors are those of the trees; err has the last. */
bool rule_set_declare_families(struct rule_set *set, struct etw_error *err);

/* Whether two spans are one: their starts, keys, captured labels and time-outs are the same
 * (families.c). */
bool span_equal(const struct span *a, const struct span *b);

/* Whether the set has the family, in a collector that is on (families.c). */
bool rule_set_has_family(const struct rule_set *set, const struct family *family);

/* The features of a tracker that the fields of a rule need (families.c). */
uint32_t rule_features(const struct rule *rule);

/* The kernel flags that one collector needs of a live session, on or off (rule_set_kernel_flags()).
 */
uint32_t collector_kernel_flags(const struct collector *collector);

/* Registers the families of the collectors that are on (families.c). */
bool rule_set_register(struct rule_set *set, struct registry *registry, struct etw_error *err);

/* What the configuration takes out before any counter: whether it filters processes at all, whether
 * it keeps the process with this name, and whether it drops the events of a class. */
bool filters_look_at_processes(const struct rule_set *set);
bool filters_keep_process(const struct rule_set *set, struct regex_matcher *matcher,
			  const char *name, size_t size);
bool filters_drop_event(const struct rule_set *set, const struct etw_event_class *class);

struct declared_family *rule_set_find_family(const struct rule_set *set, const char *name);

#endif

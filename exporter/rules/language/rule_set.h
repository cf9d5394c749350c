/* SPDX-License-Identifier: MIT */
/* The inside of a rule_set: its collectors, families and enabled rules. Immutable once made. */
#ifndef RULES_RULE_SET_H
#define RULES_RULE_SET_H

#include "base/map.h"
#include "exporter/rules/language/collector.h"
#include "exporter/rules/rules.h"

/* A family, as all collectors together declare it. */
struct declared_family {
	const struct collector *collector; /* the collector that declared it first */
	const struct metric *metric;
	const char *labels[FAMILY_LABELS_MAX]; /* in the order into which every rule's labels are
						  brought */
	size_t label_count;
	uint32_t dynamic_labels;
	bool has_provider;     /* a label distinguishes the providers */
	struct family *family; /* NULL: no enabled collector has it */
};

enum { NO_SPAN = UINT16_MAX };

/* The most different labels, fields and spans of a set's enabled rules. */
enum { RULE_LABELS_MOST = 16384, RULE_FIELDS_MOST = 16384, RULE_SPANS_MOST = 4096 };

struct active_rule {
	const struct rule *rule;
	const struct declared_family *declared;
	uint16_t span; /* index in the set's spans, or NO_SPAN */
};

struct rule_set {
	struct collector **collectors; /* owned; in the order of their names */
	struct collector_info *infos;  /* owned; one for each collector */
	size_t collector_count;
	/* A collector of the configuration could not be read, so unknown names may be its own. */
	bool incomplete;
	struct declared_family *families; /* owned */
	size_t family_count;
	struct map family_by_name; /* hash of a name -> index; see rule_set_find_family() */
	struct active_rule *rules; /* owned; rules of the enabled collectors */
	size_t rule_count;
	/* The spans of the rules, each once: spans with the same start, keys, captured labels
	 * and time-out are one. */
	const struct span **spans; /* the array is owned, the spans are not */
	size_t span_count;
	struct regex **include, **exclude; /* owned; patterns of process names */
	size_t include_count, exclude_count;
	struct event_pattern *dropped; /* owned */
	size_t dropped_count;
	char **dropped_texts; /* owned; texts that the patterns point into */
	bool prepare;         /* see struct rule_set_options */
	struct family *decode_errors;
	struct family *unmatched;
	struct family *invalid_durations;
	uint32_t features; /* set of enum tracker_feature that the rules need */
};

/* Reads a collector from a tree and adds it; it takes ownership of the tree. name: as for
 * collector_load(). Two collectors of one name are an error, except that one of the
 * configuration replaces a built-in one. */
bool rule_set_add(struct rule_set *set, struct yaml_tree *tree, const char *name, bool builtin,
		  struct etw_error *err);

/* Finishes the set when all collectors are added: checks them together, applies switches,
 * registers families. err is set to the first error; the problems of the trees get all. */
bool rule_set_finish(struct rule_set *set, const struct rule_set_options *options,
		     struct registry *registry, struct etw_error *err);

/* Adds the labels that the configuration asks for to the rules, before they are checked
 * (families.c). */
void rule_set_add_labels(struct rule_set *set, const struct config *config);

/* Checks families across all collectors and brings every rule's labels into the family's order
 * (families.c). Errors are added to the problems of the trees; err is set to the last. */
bool rule_set_declare_families(struct rule_set *set, struct etw_error *err);

/* Returns whether two spans are one: they have the same start, keys, captured labels and time-out
 * (families.c). */
bool span_equal(const struct span *a, const struct span *b);

/* Returns whether two labels make the same texts of a field: their maps or decoders are the same
 * (families.c). Names of decoders may stand for different ones, in two collectors or after a
 * reload. */
bool labels_decode_equally(const struct label *a, const struct label *b);

/* Returns whether an enabled collector of the set has the family (families.c). */
bool rule_set_has_family(const struct rule_set *set, const struct family *family);

/* Returns the tracker features that the fields of a rule need (families.c). */
uint32_t rule_features(const struct rule *rule);

/* Returns the kernel flags that one collector needs of a live session, on or off (see
 * rule_set_kernel_flags()). */
uint32_t collector_kernel_flags(const struct collector *collector);

/* Registers the families of the enabled collectors (families.c). */
bool rule_set_register(struct rule_set *set, struct registry *registry, struct etw_error *err);

/* The filters of the configuration, which apply before any counter: whether any filter is about
 * processes, whether the process with this name is kept, and whether events of a class are
 * dropped. */
bool filters_look_at_processes(const struct rule_set *set);
bool filters_keep_process(const struct rule_set *set, struct regex_matcher *matcher,
			  const char *name, size_t size);
bool filters_drop_event(const struct rule_set *set, const struct etw_event_class *class);

struct declared_family *rule_set_find_family(const struct rule_set *set, const char *name);

#endif

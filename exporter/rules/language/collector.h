/* SPDX-License-Identifier: MIT */
/*
 * A collector as it is written: load.c reads it from YAML, check.c checks it against layouts, and
 * compile.c turns its rules into what is done for an event class.
 *
 * Everything here lives in the memory of the collector's YAML tree, texts included; regular
 * expressions are the collector's.
 */
#ifndef RULES_COLLECTOR_H
#define RULES_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/provider.h>

#include "base/error.h"
#include "base/regex.h"
#include "config/yaml_rows.h"
#include "exporter/rules/language/event_pattern.h"
#include "exporter/track/derived_fields.h"
#include "metrics/registry.h"

/* A field as a rule names it. */
struct field_ref {
	const char *name; /* NULL: none */
	const struct yaml_node *at;
	const struct derived_field *derived; /* the one of this name; NULL: none */
	enum value_type type;                /* by check.c, for this event */
	bool layout;                         /* some layout of the event has it, by check.c */
};

static inline bool field_has_role(const struct field_ref *field, enum derived_role role)
{
	return field->derived && field->derived->role == role;
}

/* What a value is compared with or mapped from. */
struct literal {
	const char *text;
	size_t size;
	bool integer;  /* text reads as one */
	bool negative; /* then number is in two's complement */
	uint64_t number;
};

enum comparison {
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE,
	COMPARE_IN,
	COMPARE_HAS,
	COMPARE_LACKS,
	COMPARE_STARTS,
	COMPARE_ENDS,
	COMPARE_MATCHES,
};

/* Comparisons of numbers only, and of texts only. The others are for both. */
static inline bool compares_numbers(enum comparison comparison)
{
	return (comparison >= COMPARE_LT && comparison <= COMPARE_GE) ||
	       comparison == COMPARE_HAS || comparison == COMPARE_LACKS;
}

static inline bool compares_texts(enum comparison comparison)
{
	return comparison >= COMPARE_STARTS;
}

struct condition {
	struct field_ref field;
	enum comparison comparison;
	const struct yaml_node *at; /* of the literal */
	struct literal *literals;   /* more than one for COMPARE_IN only */
	size_t literal_count;
	const struct regex *regex; /* COMPARE_MATCHES */
};

struct map_entry {
	struct literal from;
	const struct yaml_node *at;
	const char *to;
};

struct decoder; /* exporter/rules/language/decoders.h */

struct decode_step {
	const struct decoder *decoder;
	const struct yaml_node *at;
	const struct regex *regex; /* of "regex" */
	const char *replacement;
	struct map_entry *bits; /* of "bits"; NULL: their numbers serve */
	size_t bit_count;
};

enum label_source {
	LABEL_FIELD,
	LABEL_TEXT,
	LABEL_MAP,
	LABEL_DECODE,
};

struct label {
	const char *name;
	const struct yaml_node *at;
	enum label_source source;
	struct field_ref field; /* except for LABEL_TEXT */
	const char *text;       /* LABEL_TEXT; LABEL_MAP: for what is not in the map */
	struct map_entry *entries;
	size_t entry_count;
	struct decode_step *steps;
	size_t step_count;
};

enum value_unit {
	UNIT_NONE,
	UNIT_KB,
	UNIT_TICKS,
	UNIT_NS,
	UNIT_100NS,
	UNIT_US,
	UNIT_MS,
	UNIT_S,
};

enum gauge_op { GAUGE_NONE, GAUGE_SET, GAUGE_INC, GAUGE_DEC };

struct metric;

enum { SPAN_KEYS_MAX = 8, SPAN_CAPTURED_MAX = 4 };

/* An event of a span, and the fields whose values identify the span. */
struct span_event {
	struct event_pattern event;
	const struct yaml_node *event_at;
	struct field_ref *keys; /* key_count of the span */
};

/*
 * A span has two events that belong together (`pair` in the language); the time between is the
 * Duration of the stop. Captured labels are those of the start, or of an event in between
 * (`carry`), which the stop has as fields Pair.NAME.
 */
struct span {
	const struct yaml_node *at, *key_at;
	struct span_event start, stop;
	struct span_event middle; /* keys NULL: none */
	size_t key_count;
	uint64_t timeout_ms;
	const struct yaml_node *captured_at; /* NULL: nothing */
	struct label *captured;
	size_t captured_count;
};

/* One event of a metric. */
struct rule {
	const struct collector *collector;
	const struct metric *metric;
	const struct yaml_node *at;
	struct event_pattern event;
	const struct yaml_node *event_at;
	bool every_version;
	uint64_t versions[4];   /* bit v % 64 of word v / 64: version v */
	struct field_ref value; /* name NULL: 1 */
	struct field_ref since;
	enum value_unit unit;
	const struct yaml_node *unit_at;
	enum gauge_op op;
	const struct span *span; /* NULL: none */
	struct condition *conditions;
	size_t condition_count;
	struct label labels[FAMILY_LABELS_MAX]; /* the metric's and the event's own */
	size_t label_count;
};

struct metric {
	const char *name;
	const struct yaml_node *at, *name_at;
	const char *help;
	enum family_type type;
	bool typed;          /* type is known */
	bool seconds, bytes; /* by the name */
	uint64_t *buckets;   /* in nanoseconds, or as written */
	size_t bucket_count;
	uint32_t max_series;
	/* For all its events, which may say otherwise. */
	const struct yaml_node *labels_at;
	enum gauge_op op;
	const struct span *span; /* of the events that are its stop */
	bool span_used;
	struct rule *rules;
	size_t rule_count;
};

struct collector {
	struct yaml_tree *tree; /* owned */
	const char *name;
	const struct yaml_node *at; /* of the name */
	const char *help;
	bool default_on;
	bool builtin;                        /* not of the configuration */
	uint32_t kernel_flags;               /* EVENT_TRACE_FLAG_*, of needs and of its events */
	uint32_t kernel_groups;              /* likewise, a set of the etw_kernel_groups[] */
	struct etw_provider_spec *providers; /* needs; their texts are owned */
	size_t provider_count;
	/* needs: in place of the kernel flags, where no session has kernel events; likewise */
	struct etw_provider_spec *substitutes;
	size_t substitute_count;
	struct metric *metrics;
	size_t metric_count;
	struct regex **regexes; /* owned */
	size_t regex_count, regex_capacity;
};

/*
 * Reads the text of NAME.yaml. name: what the file is called without folder and ".yaml". Takes the
 * tree, also on failure. All errors are in the tree's problems; err has the first.
 */
struct collector *collector_load(struct yaml_tree *tree, const char *name, struct etw_error *err);
void collector_free(struct collector *collector);

/* What such a file may hold (config/yaml_rows.h). */
struct yaml_shape;
extern const struct yaml_shape collector_shape;

/* What can be said about one collector alone: events, fields, types, units. Fills the types of its
 * fields. All errors are in the tree's problems; err has the first. */
bool collector_check(struct collector *collector, const struct etw_configured_manifests *manifests,
		     struct etw_error *err);

/* Adds the kernel flags and groups that enable the events of its rules (needs.c). */
void collector_add_event_flags(struct collector *collector);

/* "seconds" and "bytes" of a metric name, "_total" of counters left out of account. */
bool metric_name_is_in(const char *name, const char *unit);

/* Whether the name has one of the prefixes of families about the program and its sessions, which no
 * collector may use. */
bool metric_name_is_own(const char *name);

#define SPAN_PREFIX "Pair."

/* The number of the captured label that a field is ("Pair.NAME"); captured_count: it is none. */
size_t span_find_captured(const struct span *span, const char *field);

/* "eq", …; for sentences. */
const char *comparison_name(enum comparison comparison);

/* The comparison of a name or another spelling: "eq", "=", "==". False: there is none. */
bool comparison_find(const char *word, enum comparison *comparison);

/* A text that reads as an integer, or not. */
struct literal literal_of(const char *text, size_t size);

/* What load.c (collectors, metrics, rules) and load_parts.c (the rest) share. */
extern const struct yaml_shape load_field_shape;      /* a struct field_ref */
extern const struct yaml_shape load_event_shape;      /* a struct event_pattern */
extern const struct yaml_shape load_conditions_shape; /* an array of struct condition */
extern const struct yaml_shape load_label_shape;      /* a struct label */

/* [a-z][a-z0-9_]*, or also capitals and a leading underscore. */
bool load_is_name(const char *text, bool upper_case);

#endif

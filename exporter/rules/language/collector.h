/* SPDX-License-Identifier: MIT */
/*
 * A collector as it is written: load.c reads it from YAML, check.c checks it against layouts, and
 * compile.c compiles its rules for an event class.
 *
 * Everything here, including texts, is in the memory of the collector's YAML tree; the collector
 * owns only the regular expressions and the texts of providers.
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
	const struct derived_field *derived; /* the derived field with this name; NULL: none */
	enum value_type type;                /* set by check.c, for the events of this rule */
	bool layout; /* set by check.c: some layout of the event has the field */
};

static inline bool field_has_role(const struct field_ref *field, enum derived_role role)
{
	return field->derived && field->derived->role == role;
}

/* A text that a value is compared with or mapped from. */
struct literal {
	const char *text;
	size_t size;
	bool integer;  /* the text is an integer */
	bool negative; /* the integer is below 0; number is then in two's complement */
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
	COMPARE_EXISTS, /* with the field, not with its value; the literal is 0 or 1 */
};

/* Returns whether a comparison is only for numbers, or only for texts; the others are for both. */
static inline bool compares_numbers(enum comparison comparison)
{
	return (comparison >= COMPARE_LT && comparison <= COMPARE_GE) ||
	       comparison == COMPARE_HAS || comparison == COMPARE_LACKS;
}

static inline bool compares_texts(enum comparison comparison)
{
	return comparison >= COMPARE_STARTS && comparison <= COMPARE_MATCHES;
}

struct condition {
	struct field_ref field;
	enum comparison comparison;
	const struct yaml_node *at; /* node of the literal */
	struct literal *literals;   /* only COMPARE_IN has more than one */
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
	const struct named_decoder *named; /* only while the list is read: its steps replace this */
	const struct yaml_node *at;        /* in the list of the label: perhaps a name */
	const struct yaml_node *itself;    /* the word or the map */
	const struct regex *regex;         /* of "regex" */
	const char *replacement;
	struct map_entry *bits; /* of "bits"; NULL: bits are shown by their numbers */
	size_t bit_count;
};

/* A list of decoders with a name (`decoders` in the language), for the labels of its collector. */
struct named_decoder {
	const char *name;
	struct decode_step *steps;
	size_t step_count; /* 0: its list has errors, which are reported */
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
	struct field_ref field; /* not used by LABEL_TEXT */
	const char
		*text; /* LABEL_TEXT: the text; LABEL_MAP: the text for values that the map lacks */
	struct map_entry *entries;
	size_t entry_count;
	struct decode_step *steps;
	size_t step_count;
};

enum value_unit {
	UNIT_NONE,
	UNIT_KB,
	UNIT_MB,
	UNIT_PERCENT,
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

/* An event of a span, and the fields that identify the span. */
struct span_event {
	struct event_pattern event;
	const struct yaml_node *event_at; /* NULL: not given */
	struct field_ref *keys;           /* as many as the span's key_count */
};

/*
 * A span is two events that belong together (`pair` in the language); the time between them is the
 * Duration of the stop. Captured labels are read from the start, or from an event in between
 * (`carry`); the stop has them as fields Pair.NAME.
 */
struct span {
	const struct yaml_node *at, *key_at;
	struct span_event start, stop;
	struct span_event middle; /* its keys are NULL if there is none */
	size_t key_count;
	uint64_t timeout_ms;
	bool keep; /* a start serves any number of stops; they have no Duration */
	const struct yaml_node *captured_at; /* NULL: no labels are captured */
	struct label *captured;
	size_t captured_count;
};

/* A span with a name (`pairs` in the language), for the rules of its collector. */
struct named_span {
	const char *name;
	const struct span *span; /* NULL: it has errors, which are reported */
};

/* What one event adds to a metric. */
struct rule {
	const struct collector *collector;
	const struct metric *metric;
	const struct yaml_node *at;
	struct event_pattern event;
	const struct yaml_node *event_at;
	bool every_version;
	uint64_t versions[4];   /* bit v % 64 of word v / 64 is set for version v */
	struct field_ref value; /* the field that is added; name NULL: add 1 */
	struct field_ref since;
	enum value_unit unit;
	const struct yaml_node *unit_at;
	enum gauge_op op;
	const struct span *span; /* NULL: none */
	struct condition *conditions;
	size_t condition_count;
	struct label
		labels[FAMILY_LABELS_MAX]; /* first the metric's labels, then the event's own */
	size_t label_count;
};

static inline bool rule_has_version(const struct rule *rule, uint8_t version)
{
	return rule->every_version || (rule->versions[version / 64] >> version % 64 & 1) != 0;
}

struct metric {
	const char *name;
	const struct yaml_node *at, *name_at;
	const char *help;
	enum family_type type;
	bool typed;          /* type is known */
	bool seconds, bytes; /* the file gives a type that is valid */
	bool ratio;          /* a gauge */
	uint32_t decimals;   /* of a gauge; 0: those of its unit */
	uint64_t *buckets;   /* by the suffix of the name */
	size_t bucket_count;
	uint32_t max_series;
	/* Defaults of all its events, which each may replace. */
	const struct yaml_node *labels_at;
	enum gauge_op op;
	const struct span *span; /* the span whose stop the events are */
	bool span_used;
	struct rule *rules;
	size_t rule_count;
};

struct collector {
	struct yaml_tree *tree; /* owned */
	const char *name;
	const struct yaml_node *at; /* node of the name */
	const char *help;
	bool default_on;
	bool builtin;           /* built in, not from the configuration */
	uint32_t kernel_flags;  /* EVENT_TRACE_FLAG_*, from `needs` and from its events */
	uint32_t kernel_groups; /* set of the etw_kernel_groups[], from `needs` and from its events
				 */
	struct etw_provider_spec *providers; /* from `needs`; their texts are owned */
	size_t provider_count;
	/* From `needs`: providers that replace the kernel flags if no session has kernel events;
	 * their texts are owned. */
	struct etw_provider_spec *substitutes;
	size_t substitute_count;
	struct named_decoder *decoders;
	size_t decoder_count;
	struct named_span *spans;
	size_t span_count;
	struct metric *metrics;
	size_t metric_count;
	struct regex **regexes; /* owned */
	size_t regex_count, regex_capacity;
};

/* Returns the rule after this one in the metrics of the collector; for NULL the first one. NULL
 * after the last. */
static inline const struct rule *collector_next_rule(const struct collector *collector,
						     const struct rule *rule)
{
	size_t at = rule ? (size_t)(rule->metric - collector->metrics) + 1 : 0;

	if (rule && rule + 1 < rule->metric->rules + rule->metric->rule_count) {
		return rule + 1;
	}
	while (at < collector->metric_count && collector->metrics[at].rule_count == 0) {
		at++;
	}
	return at < collector->metric_count ? collector->metrics[at].rules : NULL;
}

/*
 * Reads a collector from the tree of NAME.yaml. name: the file's name without folder and ".yaml".
 * It takes ownership of the tree, also on failure. All errors are added to the tree's problems; err
 * is set to the first. Returns NULL on failure.
 */
struct collector *collector_load(struct yaml_tree *tree, const char *name, struct etw_error *err);
void collector_free(struct collector *collector);

/* The keys that a collector file may have (config/yaml_rows.h). */
struct yaml_shape;
extern const struct yaml_shape collector_shape;

/* Checks what one collector alone decides: events, fields, types, units. Sets the types of its
 * fields. All errors are added to the tree's problems; err is set to the first. */
bool collector_check(struct collector *collector, const struct etw_configured_manifests *manifests,
		     struct etw_error *err);

/* Adds the kernel flags and groups that enable the events of its rules (needs.c). */
void collector_add_event_flags(struct collector *collector);

/* Returns whether a metric name ends in the unit, "seconds" or "bytes", before the `_total` of
 * counters. */
bool metric_name_is_in(const char *name, const char *unit);
/* Returns how many digits of a fraction the integers of the family have. */
unsigned metric_decimals(const struct metric *metric);

/* Returns whether the name is one of the families about the program and its sessions, or has their
 * prefix; collectors may not use it. */
bool metric_name_is_own(const char *name);

#define SPAN_PREFIX "Pair."

/* Returns the index of the captured label that a field names ("Pair.NAME"); captured_count if it
 * names none. */
size_t span_find_captured(const struct span *span, const char *field);

/* Returns the name of a comparison, such as "eq", for messages. */
const char *comparison_name(enum comparison comparison);

/* Finds a comparison by its name or another spelling: "eq", "=", "==". Returns false if there is
 * none. */
bool comparison_find(const char *word, enum comparison *comparison);

/* Makes a literal of a text, which is borrowed, and of its integer value if it has one. */
struct literal literal_of(const char *text, size_t size);

/* Shapes that load.c (collectors, metrics, rules) and load_parts.c (the rest) share. */
extern const struct yaml_shape load_field_shape;      /* a struct field_ref */
extern const struct yaml_shape load_event_shape;      /* a struct event_pattern */
extern const struct yaml_shape load_conditions_shape; /* an array of struct condition */
extern const struct yaml_shape load_label_shape;      /* a struct label */
extern const struct yaml_shape load_decoders_shape; /* the collector's struct named_decoder array */

/* Returns whether a text is a name: [a-z][a-z0-9_]*; upper_case also allows capitals and a leading
 * underscore. */
bool load_is_name(const char *text, bool upper_case);

#endif

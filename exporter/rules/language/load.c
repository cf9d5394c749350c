/* SPDX-License-Identifier: MIT */
/*
 * Reads a collector: everything that can be said without knowing what events look like.
 *
 * A collector is a tree of maps: the file holds metrics, a metric holds rules (its events), a rule
 * holds conditions, labels and perhaps a span (`pair`). Each map is a table below, read as
 * config/yaml_rows.h says; the leaves are in load_parts.c. The tables are also what
 * config/schema.json is written from, with rules that need several keys at once as JSON beside the
 * table whose C code checks the same.
 *
 * A metric is read before its rules, because they depend on its type and inherit its labels, its op
 * and its span. The metric's labels are read again for each rule, because a field is resolved for
 * each event separately. The rule that is being read belongs to the last metric of the collector.
 *
 * All memory is that of the YAML tree except for regular expressions and the texts of providers,
 * which the collector frees.
 */
#include <etw/kernel.h>

#include "exporter/rules/language/collector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/nearest.h"
#include "base/text.h"
#include "config/config.h"

enum { TIMEOUT_LEAST_MS = 1, TIMEOUT_MOST_MS = 24 * 3600 * 1000, NAMED_MAX = 64 };

/* The largest bound. Doubles hold integers exactly up to here: 104 days in nanoseconds. */
#define BOUND_MOST 9007199254740992.0

/*
 * Families that C code declares (docs/metrics.md), by their prefixes and by their names; a
 * collector must not declare them again. Both are alternatives of a regular expression, for the
 * schema.
 */
#define OWN_PREFIXES \
	"etw_session|etw_consumer|etw_exporter|etw_replay|etw_state|etw_schema|etw_decode|process"
#define OWN_NAMES                                                                         \
	"etw_process_instances|etw_process_threads|etw_process_image_info|etw_disk_info|" \
	"etw_process_working_set_bytes|etw_process_private_working_set_bytes|"            \
	"etw_process_commit_bytes|etw_process_handles|etw_process_info|"                  \
	"etw_disk_volume_info|etw_disk_caused_read_bytes_total|"                          \
	"etw_disk_caused_written_bytes_total|etw_file_top_written_bytes"

/* The labels of a rule or a metric, as in the schema. */
#define LABELS                                                             \
	.type = SHAPE_NAMES, .most = FAMILY_LABELS_MAX, .items = "labels", \
	.item = &load_label_shape, .name = "labels",                       \
	.help = "Label names and the sources of their values.",            \
	.json = "'propertyNames': { 'pattern': "                           \
		"'^(?!__)(?!(le|quantile)$)[a-zA-Z_][a-zA-Z0-9_]*$' }"

/* ---- buckets ---- */

/* Adds one bound, which must be above the one before. */
static bool add_bound(struct yaml_reader *in, const struct yaml_node *at, struct metric *metric,
		      double bound)
{
	double scaled = metric->seconds ? bound * 1e9 : bound;
	double whole = nearbyint(scaled);

	if (!(whole >= 1) || whole > BOUND_MOST) {
		return yaml_wrong(in, at, "buckets: bound %g is out of range", bound);
	}
	if (!metric->seconds && fabs(whole - scaled) > 1e-6) {
		return yaml_wrong(in, at, "buckets: bound %g is not a whole number", bound);
	}
	if (metric->bucket_count > 0 &&
	    (uint64_t)whole <= metric->buckets[metric->bucket_count - 1]) {
		return yaml_wrong(in, at, "buckets: bound %g is not greater than the one before",
				  bound);
	}
	metric->buckets[metric->bucket_count++] = (uint64_t)whole;
	return true;
}

struct series {
	double start, factor, width;
	uint32_t count;
};

static const struct yaml_row series_rows[] = {
	{ "start", YAML_SHAPE(.type = SHAPE_REAL, .json = "'exclusiveMinimum': 0"),
	  YAML_TO(struct series, start), .help = "The first bound." },
	{ "factor", YAML_SHAPE(.type = SHAPE_REAL, .json = "'exclusiveMinimum': 1"),
	  YAML_TO(struct series, factor),
	  .help = "Each bound is the one before multiplied by this factor." },
	{ "width", YAML_SHAPE(.type = SHAPE_REAL, .json = "'exclusiveMinimum': 0"),
	  YAML_TO(struct series, width), .help = "Each bound is the one before plus this width." },
	{ "count", YAML_NUMBER(1, FAMILY_BUCKETS_MAX), YAML_TO(struct series, count),
	  .help = "Number of bounds." },
};

static bool begin_series(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	(void)base;
	return (yaml_find(node, "start") && yaml_find(node, "count") &&
		!yaml_find(node, "factor") != !yaml_find(node, "width")) ||
	       yaml_wrong(in, node,
			  "buckets: expected {start, factor, count} or {start, width, count}");
}

static bool read_series(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, struct metric *metric)
{
	const struct yaml_node *factor = yaml_find(node, "factor");
	struct yaml_row within = { .key = row->key, .shape = row->shape };
	struct series series = { 0 };

	if (!yaml_read_map(in, node, &within, &series)) {
		return false;
	}
	if (factor ? series.factor <= 1 : series.width <= 0) {
		return yaml_wrong(in, factor ? factor : yaml_find(node, "width"),
				  "buckets: the bounds must increase");
	}
	for (uint32_t i = 0; i < series.count; i++) {
		if (!add_bound(in, node, metric,
			       factor ? series.start * pow(series.factor, i) :
					series.start + series.width * i)) {
			return false;
		}
	}
	return true;
}

static bool read_bound(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base)
{
	static const struct yaml_shape real = { .type = SHAPE_REAL };
	const struct yaml_row value = { .key = row->key, .shape = &real };
	double bound = 0;

	return yaml_read(in, node, &value, &bound) && add_bound(in, node, base, bound);
}

static const struct yaml_shape bounds_shape = {
	.type = SHAPE_LIST,
	.least = 1,
	.most = FAMILY_BUCKETS_MAX,
	.items = "bounds",
	.item = YAML_SHAPE(.type = SHAPE_REAL, .read = read_bound, .json = "'exclusiveMinimum': 0"),
};

static bool read_buckets(struct yaml_reader *in, const struct yaml_node *node,
			 const struct yaml_row *row, void *base)
{
	const struct yaml_row bounds = { .key = row->key, .shape = &bounds_shape };
	struct metric *metric = base;

	metric->buckets =
		yaml_alloc(in->tree, FAMILY_BUCKETS_MAX, sizeof *metric->buckets, in->err);
	if (!metric->buckets) {
		return false;
	}
	return node->type == YAML_MAP ? read_series(in, node, row, metric) :
					yaml_read(in, node, &bounds, metric);
}

static const struct yaml_shape buckets_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(series_rows),
	.before = begin_series,
	.whole = true,
	.read = read_buckets,
	.other = &bounds_shape,
	.name = "buckets",
	.help = "Upper bounds in the unit of the family's name: {start, factor, count}, {start, width, count} or an increasing list, at most 64. +Inf is added automatically.",
	.json = "'required': ['start', 'count'], "
		"'oneOf': [{ 'required': ['factor'] }, { 'required': ['width'] }]",
};

/* ---- spans ---- */

size_t span_find_captured(const struct span *span, const char *field)
{
	const size_t prefix_size = strlen(SPAN_PREFIX);
	size_t i = 0;

	if (strncmp(field, SPAN_PREFIX, prefix_size) != 0) {
		return span->captured_count;
	}
	while (i < span->captured_count &&
	       strcmp(span->captured[i].name, field + prefix_size) != 0) {
		i++;
	}
	return i;
}

#define SPAN_EVENT(end)                                     \
	&load_event_shape, YAML_TO(struct span, end.event), \
		.at = offsetof(struct span, end.event_at), .json = "'not': { 'const': '*' }"

static const struct yaml_row span_rows[] = {
	{ "start", SPAN_EVENT(start), .required = true },
	{ "stop", SPAN_EVENT(stop), .help = "Absent: the event of the rule." },
	{ "key",
	  YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .most = SPAN_KEYS_MAX, .items = "fields",
		     .item = &load_field_shape),
	  .required = true, YAML_TO_LIST(struct span, start.keys, key_count),
	  .at = offsetof(struct span, key_at),
	  .help = "Fields of both events. A start and a stop belong together if these fields have the same values." },
	{ "timeout",
	  YAML_SHAPE(.type = SHAPE_DURATION, .least = TIMEOUT_LEAST_MS, .most = TIMEOUT_MOST_MS),
	  YAML_TO(struct span, timeout_ms), .fallback = "30s",
	  .help = "Longest time between start and stop. A start without a stop in this time is dropped. Default 30s, at most 24h." },
	{ "keep", &yaml_switch_shape, YAML_TO(struct span, keep), .needs = "carry",
	  .help = "on: a start serves all stops with its key, each of which begins the timeout anew. They have no Duration." },
	{ "carry",
	  YAML_SHAPE(.type = SHAPE_NAMES, .least = 1, .most = SPAN_CAPTURED_MAX, .items = "labels",
		     .item = &load_label_shape, .json = "'$ref': '#/$defs/labels'"),
	  YAML_TO_LIST(struct span, captured, captured_count),
	  .at = offsetof(struct span, captured_at),
	  .help = "Values of the start event, which the stop event can use as fields Pair.NAME; at most 4." },
	{ "carried_by", SPAN_EVENT(middle), .needs = "carry",
	  .help = "An event between start and stop with the same key. 'carry' takes its values from this event instead of the start." },
};

/* Completes another event of the span: unless it has keys of its own, it has those of the start. */
static bool finish_span_event(struct yaml_reader *in, const struct span *span,
			      struct span_event *end)
{
	if (end->event.scope == EVENTS_ALL) {
		return yaml_wrong(in, end->event_at,
				  "pair: '*' means every event; a pair needs a single one");
	}
	if (!end->keys) {
		end->keys = yaml_alloc(in->tree, span->key_count, sizeof *end->keys, in->err);
		if (!end->keys) {
			return false;
		}
		memcpy(end->keys, span->start.keys, span->key_count * sizeof *end->keys);
	}
	return true;
}

static bool read_span(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	const struct yaml_row within = { .key = row->key, .shape = row->shape };
	const struct span **to = yaml_member(base, row);
	struct span *span = yaml_alloc(in->tree, 1, sizeof *span, in->err);

	if (!span || !yaml_read_map(in, node, &within, span) ||
	    !finish_span_event(in, span, &span->start) ||
	    (span->stop.event_at && !finish_span_event(in, span, &span->stop)) ||
	    (span->middle.event_at && !finish_span_event(in, span, &span->middle))) {
		return false;
	}
	span->at = node;
	*to = span;
	return true;
}

#define SPAN                                                     \
	.type = SHAPE_MAP, YAML_ROWS(span_rows), .name = "pair", \
	.help = "Connects a stop event with its start event. The field Duration of the stop is the time between them."

static const struct yaml_shape span_shape = { SPAN, .read = read_span };

static bool read_named_span(struct yaml_reader *in, const struct yaml_node *node,
			    const struct yaml_row *row, void *base)
{
	const struct yaml_row span = { .key = row->key,
				       .shape = &span_shape,
				       .offset = offsetof(struct named_span, span) };
	struct named_span *named = base;

	if (!load_is_name(node->key->text, false)) {
		return yaml_wrong(in, node->key,
				  "'%s' is not the name of a pair: lower case with underscores",
				  node->key->text);
	}
	named->name = node->key->text;
	return yaml_read(in, node, &span, named);
}

static const struct yaml_shape named_spans_shape = {
	.type = SHAPE_NAMES,
	.least = 1,
	.most = NAMED_MAX,
	.items = "pairs",
	.item = YAML_SHAPE(SPAN, .read = read_named_span),
	.help = "Pairs with names of your own, which 'pair' of metrics and events can name.",
	.json = "'propertyNames': { 'pattern': '^[a-z][a-z0-9_]*$' }",
};

/* Reads the name of one of the collector's `pairs`. */
static bool read_span_name(struct yaml_reader *in, const struct yaml_node *node,
			   const struct span **span)
{
	const struct collector *collector = in->owner;
	struct nearest nearest = { .word = node->text, .size = node->size };

	for (size_t i = 0; i < collector->span_count; i++) {
		const struct named_span *named = &collector->spans[i];

		if (named->name && strcmp(named->name, node->text) == 0) {
			*span = named->span;
			return *span != NULL;
		}
		if (named->name) {
			nearest_offer(&nearest, named->name);
		}
	}
	if (nearest.best) {
		return yaml_wrong(in, node, "unknown pair '%s'; did you mean '%s'?", node->text,
				  nearest.best);
	}
	return yaml_wrong(in, node, "unknown pair '%s': 'pairs' has no such name", node->text);
}

static bool read_used_span(struct yaml_reader *in, const struct yaml_node *node,
			   const struct yaml_row *row, void *base)
{
	struct yaml_row span = *row;

	span.shape = &span_shape;
	return node->type == YAML_TEXT && node->size > 0 ?
		       read_span_name(in, node, yaml_member(base, row)) :
		       yaml_read(in, node, &span, base);
}

static const struct yaml_shape used_span_shape = {
	.type = SHAPE_OTHER,
	.read = read_used_span,
	.name = "used_pair",
	.help = "A pair whose stop is this event, or the name of one of 'pairs'. On a metric it applies to those of its events that are the stop.",
	.json = "'if': { 'type': 'object' }, 'then': { '$ref': '#/$defs/pair' }, "
		"'else': { 'type': 'string', 'pattern': '^[a-z][a-z0-9_]*$' }",
};

/* ---- rules ---- */

static bool add_version(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, void *base)
{
	static const struct yaml_shape number = { .type = SHAPE_NUMBER, .most = UINT8_MAX };
	struct yaml_row value = { .key = row->key, .shape = &number, .size = sizeof(uint8_t) };
	struct rule *rule = base;
	uint8_t version = 0;

	if (!yaml_read(in, node, &value, &version)) {
		return false;
	}
	rule->versions[version / 64] |= UINT64_C(1) << version % 64;
	return true;
}

/* Reads versions, written as ">=2" or [2, 3]. */
static bool read_versions(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row, void *base)
{
	struct rule *rule = base;
	uint64_t version = 0;

	rule->every_version = false;
	if (node->type == YAML_TEXT && strncmp(node->text, ">=", 2) == 0) {
		const char *text = node->text + 2 + strspn(node->text + 2, " ");

		if (!parse_u64(text, strlen(text), &version) || version > UINT8_MAX) {
			return yaml_wrong(in, node, "version: '%s' is not a version", node->text);
		}
		for (; version <= UINT8_MAX; version++) {
			rule->versions[version / 64] |= UINT64_C(1) << version % 64;
		}
		return true;
	}
	if (node->type != YAML_LIST || node->size == 0) {
		return yaml_wrong(in, node, "version: expected a list such as [2, 3], or '>=2'");
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!add_version(in, entry, row, base)) {
			return false;
		}
	}
	return true;
}

/* Words of enum value_unit from UNIT_KB on, and of enum gauge_op from GAUGE_SET on. */
static const char *const units[] = { "KB",    "MB", "percent", "ticks", "ns",
				     "100ns", "us", "ms",      "s",     NULL };
static const char *const ops[] = { "set", "inc", "dec", NULL };

static const struct yaml_shape op_shape = {
	.type = SHAPE_WORD,
	.words = ops,
	.least = GAUGE_SET,
	.name = "op",
	.help = "Effect of an event on a gauge. set keeps one value for each running process and shows their sum; when a process exits, its value is removed.",
};

/* Checks that no label appears twice. The metric's labels come first, so the error is at one of
 * the event's. */
static bool check_labels(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct rule *rule = base;

	(void)node;
	for (size_t i = 0; i < rule->label_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(rule->labels[i].name, rule->labels[j].name) == 0) {
				return yaml_wrong(in, rule->labels[i].at,
						  "label '%s' is already a label of the metric",
						  rule->labels[i].name);
			}
		}
	}
	return true;
}

enum { RULE_LABELS = 7 };

static const struct yaml_row rule_rows[] = {
	{ "event", &load_event_shape, .required = true, YAML_TO(struct rule, event),
	  .at = offsetof(struct rule, event_at) },
	{ "version",
	  YAML_SHAPE(.type = SHAPE_OTHER, .read = read_versions,
		     .pattern = "^>= *(0*([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])|"
				"0[xX]0*[0-9a-fA-F]{1,2})$",
		     .json = "'type': ['array', 'string'], 'minItems': 1, 'items': { 'type': 'integer', "
			     "'minimum': 0, 'maximum': 255 }"),
	  .help = "Versions of the event: a list, or '>=N'. Absent: all versions." },
	{ "value", &load_field_shape, YAML_TO(struct rule, value),
	  .help = "Field with the number to add. Absent: each event adds 1." },
	{ "since", &load_field_shape, YAML_TO(struct rule, since),
	  .help = "Field with a time of the session's clock. The value is the time of the event minus this time. Only for families in seconds." },
	{ "unit", YAML_SHAPE(.type = SHAPE_WORD, .words = units, .least = UNIT_KB),
	  YAML_TO(struct rule, unit), .at = offsetof(struct rule, unit_at), .needs = "value",
	  .help = "Unit of value. Absent for counts and bytes; KB (1024 bytes) and MB (1,000,000 bytes, as .NET counters have it) for families in bytes; percent for gauges whose names end in _ratio; ticks (of the session's clock), ns, 100ns, us, ms or s for families in seconds. Duration, OnCpu and Ready have a unit already." },
	{ "op", &op_shape, YAML_TO(struct rule, op) },
	{ "where", &load_conditions_shape, YAML_TO_LIST(struct rule, conditions, condition_count),
	  .help = "Conditions; all must hold." },
	[RULE_LABELS] = { "labels", YAML_SHAPE(LABELS, .check = check_labels), .in_place = true,
			  YAML_TO_LIST(struct rule, labels, label_count),
			  .help = "Labels of this event, in addition to those of the family." },
	{ "pair", &used_span_shape, YAML_TO(struct rule, span) },
};

static bool begin_rule(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct collector *collector = in->owner;
	const struct metric *metric = &collector->metrics[collector->metric_count - 1];
	const struct yaml_node *since = yaml_find(node, "since"), *op = yaml_find(node, "op");
	struct rule *rule = base;

	rule->collector = collector;
	rule->metric = metric;
	rule->at = node;
	rule->every_version = true;
	rule->op = metric->op;
	if (op && metric->typed && metric->type != FAMILY_GAUGE) {
		return yaml_wrong(in, op->key, "'op' is only for gauges");
	}
	if (since && yaml_find(node, "value")) {
		return yaml_wrong(in, since->key, "either 'value' or 'since', not both");
	}
	return !metric->labels_at ||
	       yaml_read(in, metric->labels_at, &rule_rows[RULE_LABELS], rule);
}

/* Returns whether the event can be the stop of the span. */
static bool is_stop(const struct span *span, const char *event)
{
	return !span->stop.event_at || strcmp(span->stop.event_at->text, event) == 0;
}

/* Makes the event of the rule the stop of its span, which does not say what its stop is. */
static bool add_stop(struct yaml_reader *in, struct rule *rule)
{
	struct span *span = yaml_alloc(in->tree, 1, sizeof *span, in->err);

	if (!span) {
		return false;
	}
	*span = *rule->span;
	span->stop.event = rule->event;
	span->stop.event_at = rule->event_at;
	rule->span = span;
	return finish_span_event(in, span, &span->stop);
}

/* Checks a rule. Its span is its own, or that of the metric if the event is the span's stop. */
static bool check_rule(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct collector *collector = in->owner;
	struct metric *metric = &collector->metrics[collector->metric_count - 1];
	struct rule *rule = base;
	const char *event = rule->event_at->text;

	if (rule->span && !is_stop(rule->span, event)) {
		return yaml_wrong(in, rule->span->stop.event_at,
				  "pair: 'stop' is not the event '%s'", event);
	}
	if (!rule->span && metric->span && is_stop(metric->span, event)) {
		rule->span = metric->span;
		metric->span_used = true;
	}
	if (rule->span && !rule->span->stop.event_at && !add_stop(in, rule)) {
		return false;
	}
	return metric->type != FAMILY_GAUGE || rule->op != GAUGE_NONE ||
	       yaml_find(metric->at, "op") || yaml_missing(in, node, "gauge", "op");
}

static const struct yaml_shape rule_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(rule_rows),
	.before = begin_rule,
	.check = check_rule,
	.name = "rule",
	.help = "A rule: which event adds which value under which labels.",
	.json = "'not': { 'required': ['value', 'since'] }",
};

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

unsigned metric_decimals(const struct metric *metric)
{
	enum { OF_SECONDS = 9, OF_RATIO = 6 };

	if (metric->seconds) {
		return OF_SECONDS;
	}
	return metric->ratio ? OF_RATIO : metric->decimals;
}

static bool ends_in(const char *name, const char *end)
{
	return text_ends_nocase(name, strlen(name), end, strlen(end));
}

/* Returns whether the name is one of the alternatives; with end '_', whether it begins with one and
 * '_'. */
static bool is_among(const char *alternatives, const char *name, char end)
{
	for (const char *at = alternatives;; at++) {
		size_t size = strcspn(at, "|");

		if (strncmp(name, at, size) == 0 && name[size] == end) {
			return true;
		}
		at += size;
		if (*at == '\0') {
			return false;
		}
	}
}

bool metric_name_is_own(const char *name)
{
	return is_among(OWN_PREFIXES, name, '_');
}

static bool check_metric_name(struct yaml_reader *in, const struct metric *metric)
{
	const char *name = metric->name;

	if (!load_is_name(name, false)) {
		return yaml_wrong(in, metric->name_at,
				  "'%s' is not the name of a metric: lower case with underscores",
				  name);
	}
	if ((metric->type == FAMILY_COUNTER) != ends_in(name, "_total")) {
		return yaml_wrong(in, metric->name_at,
				  "'%s': only names of counters end in _total, and all of them do",
				  name);
	}
	if (ends_in(name, "_count") || ends_in(name, "_sum") || ends_in(name, "_bucket")) {
		return yaml_wrong(
			in, metric->name_at,
			"'%s': the suffixes _count, _sum and _bucket are reserved for histograms",
			name);
	}
	if (metric_name_is_own(name) || is_among(OWN_NAMES, name, '\0')) {
		return yaml_wrong(in, metric->name_at,
				  "'%s' is reserved for the metrics of the program itself", name);
	}
	return true;
}

/* Checks the name, which is read before the type, and the keys that depend on the type. */
static bool check_type(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct metric *metric = base;
	const struct yaml_node *buckets = yaml_find(metric->at, "buckets");
	const struct yaml_node *op = yaml_find(metric->at, "op");
	const struct yaml_node *decimals = yaml_find(metric->at, "decimals");

	(void)node;
	metric->typed = true;
	if (!metric->name) {
		return true; /* the error of the type has been reported */
	}
	if (!check_metric_name(in, metric)) {
		return false;
	}
	metric->seconds = metric_name_is_in(metric->name, "seconds");
	metric->bytes = metric_name_is_in(metric->name, "bytes");
	metric->ratio = metric->type == FAMILY_GAUGE && metric_name_is_in(metric->name, "ratio");
	if (!buckets && metric->type == FAMILY_HISTOGRAM) {
		return yaml_missing(in, metric->at, "histogram", "buckets");
	}
	if (buckets && metric->type != FAMILY_HISTOGRAM) {
		return yaml_wrong(in, buckets->key, "'buckets' are only for histograms");
	}
	if (op && metric->type != FAMILY_GAUGE) {
		return yaml_wrong(in, op->key, "'op' is only for gauges");
	}
	return !decimals || (metric->type == FAMILY_GAUGE && !metric->seconds && !metric->ratio) ||
	       yaml_wrong(in, decimals->key,
			  "'decimals' is only for gauges that are not in seconds and no ratio");
}

/* Words in the order of enum family_type. */
static const char *const types[] = { "counter", "gauge", "histogram", NULL };

static const struct yaml_shape help_shape = { .type = SHAPE_TEXT, .least = 1 };

static const struct yaml_row metric_rows[] = {
	{ "name",
	  YAML_SHAPE(.type = SHAPE_TEXT, .pattern = "^(?!(" OWN_PREFIXES ")_)(?!(" OWN_NAMES ")$)"
						    "(?!.*_(count|sum|bucket)$)[a-z][a-z0-9_]*$"),
	  .required = true, YAML_TO(struct metric, name), .at = offsetof(struct metric, name_at),
	  .help = "Lower case with underscores; counters end in _total. \xe2\x80\xa6_seconds and "
		  "\xe2\x80\xa6_bytes (before _total) say the unit. Names of the program's own are "
		  "refused." },
	{ "type", YAML_SHAPE(.type = SHAPE_WORD, .words = types, .check = check_type),
	  .required = true, YAML_TO(struct metric, type),
	  .help = "counter: only increases; gauge: is set, or goes up and down; histogram: counts values by size." },
	{ "help", &help_shape, .required = true, YAML_TO(struct metric, help),
	  .help = "The HELP text of the family: one or two sentences." },
	{ "labels", YAML_SHAPE(LABELS), .later = true, .at = offsetof(struct metric, labels_at),
	  .help = "Labels of all events of the family. Together with the labels of an event, each event must have the same label names; at most 8." },
	{ .key = "buckets", .shape = &buckets_shape, .relies = true },
	{ "max_series", YAML_NUMBER(1, UINT32_MAX / 2), YAML_TO(struct metric, max_series),
	  .help = "Limit on the label sets of this family, in place of limits.series_per_family." },
	{ "op", &op_shape, YAML_TO(struct metric, op) },
	{ "decimals", YAML_NUMBER(1, DECIMALS_MAX), YAML_TO(struct metric, decimals),
	  .help = "Digits of the fraction that a gauge keeps, if its name does not end in _seconds, which has nine, or _ratio, which has six. Absent: none." },
	{ "pair", &used_span_shape, YAML_TO(struct metric, span) },
	{ "events", YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .item = &rule_shape),
	  .required = true, YAML_TO_LIST(struct metric, rules, rule_count),
	  .help = "The events that the family counts, each with its value and labels." },
};

static bool begin_metric(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct metric *metric = base;

	(void)in;
	metric->at = node;
	return true;
}

static bool check_metric(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct metric *metric = base;

	if (!metric->span || metric->span_used) {
		return true;
	}
	return metric->span->stop.event_at ?
		       yaml_wrong(in, metric->span->stop.event_at,
				  "pair: 'stop' is not an event of '%s'", metric->name) :
		       yaml_wrong(in, yaml_find(node, "pair"),
				  "pair: each event of '%s' has a pair of its own", metric->name);
}

/* For the schema: keys that depend on each other, as check_type() and begin_rule() check them,
 * and units as check.c does. */
#define WHEN(key, value, then, otherwise)                          \
	"{ 'if': { 'properties': { '" key "': { " value " } } }, " \
	"'then': { " then " }, 'else': { " otherwise " } }"
#define KEYS(properties) "'properties': { " properties " }"
#define EVENTS(rule)     "'events': { 'items': { " rule " } }"
#define UNIT_IS(unit)    KEYS("'unit': { " unit " }")
#define NOT_SIZE         UNIT_IS("'not': { 'enum': ['KB', 'MB'] }")
#define NOT_PERCENT      UNIT_IS("'not': { 'const': 'percent' }")
#define COUNTER_RULE                                                                 \
	WHEN("type", "'const': 'counter'", KEYS("'name': { 'pattern': '_total$' }"), \
	     KEYS("'name': { 'not': { 'pattern': '_total$' } }"))
#define HISTOGRAM_RULE                                                  \
	WHEN("type", "'const': 'histogram'", "'required': ['buckets']", \
	     "'not': { 'required': ['buckets'] }")
#define GAUGE_RULE                                                                                \
	WHEN("type", "'const': 'gauge'",                                                          \
	     "'anyOf': [{ 'required': ['op'] }, { " KEYS(EVENTS("'required': ['op']")) " }]",     \
	     "'not': { 'anyOf': [{ 'required': ['op'] }, { 'required': ['decimals'] }] }, " KEYS( \
		     EVENTS("'not': { 'required': ['op'] }")))
#define SINCE_OR_VALUE "'anyOf': [{ 'required': ['since'] }, { 'required': ['value'] }], "
#define NO_SINCE       "'not': { 'required': ['since'] }, "
#define WHOLE_BUCKETS                                           \
	", 'buckets': { 'items': { 'type': 'integer' }, " KEYS( \
		"'start': { 'type': 'integer' }") " }"
#define SECONDS_RULE                                                                           \
	WHEN("name", "'pattern': '_seconds(_total)?$'", KEYS(EVENTS(SINCE_OR_VALUE NOT_SIZE)), \
	     KEYS(EVENTS(NO_SINCE UNIT_IS("'enum': ['KB', 'MB', 'percent']")) WHOLE_BUCKETS))
#define BYTES_RULE                                                                           \
	WHEN("name", "'pattern': '_bytes(_total)?$'", KEYS(EVENTS("'required': ['value']")), \
	     KEYS(EVENTS(NOT_SIZE)))
#define RATIO_RULE                                                                                         \
	"{ 'if': { 'properties': { 'type': { 'const': 'gauge' }, "                                         \
	"'name': { 'pattern': '_ratio$' } } }, 'else': { " KEYS(EVENTS(                                    \
		NOT_PERCENT)) " } }, "                                                                     \
			      "{ 'not': { 'required': ['decimals'], 'properties': { 'name': { 'pattern': " \
			      "'_(ratio|seconds)$' } } } }"

static const struct yaml_shape metric_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(metric_rows),
	.before = begin_metric,
	.check = check_metric,
	.name = "metric",
	.help = "A metric family.",
	.json = "'allOf': [" COUNTER_RULE ", " HISTOGRAM_RULE ", " GAUGE_RULE ", " SECONDS_RULE
		", " BYTES_RULE ", " RATIO_RULE "]",
};

/* ---- the file ---- */

static bool read_kernel_flag(struct yaml_reader *in, const struct yaml_node *node,
			     const struct yaml_row *row, void *base)
{
	struct collector *collector = base;
	unsigned word;

	if (!yaml_word(in, node, row->key, YAML_WORDS(etw_kernel_flag_names), &word)) {
		return false;
	}
	if (word < ETW_KERNEL_FLAG_COUNT) {
		collector->kernel_flags |= etw_kernel_flag_values[word];
	} else {
		collector->kernel_groups |= 1U << (word - ETW_KERNEL_FLAG_COUNT);
	}
	return true;
}

static const struct yaml_row need_rows[] = {
	{ "kernel",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_WORD, .what = "kernel flag",
					.words = etw_kernel_flag_names, .read = read_kernel_flag)),
	  .help = "Kernel flags: EVENT_TRACE_FLAG_* without the prefix." },
	{ "providers", YAML_SHAPE(.type = SHAPE_LIST, .item = &provider_need_shape),
	  YAML_TO_LIST(struct collector, providers, provider_count),
	  .help = "Providers to enable." },
	{ "without_kernel", YAML_SHAPE(.type = SHAPE_LIST, .item = &provider_text_shape),
	  YAML_TO_LIST(struct collector, substitutes, substitute_count),
	  .help = "Providers to enable in place of the kernel flags when the configuration says kernel_events: off." },
};

/* Before this check, the name of the collector is that of the file. */
static bool check_name(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct collector *collector = base;

	if (!load_is_name(node->text, false)) {
		return yaml_wrong(
			in, node,
			"'%s' is not the name of a collector: lower case with underscores",
			node->text);
	}
	if (strcmp(node->text, collector->name) != 0) {
		return yaml_wrong(in, node, "collector '%s' is in a file of another name, '%s'",
				  node->text, collector->name);
	}
	collector->name = node->text;
	collector->at = node;
	return true;
}

static const struct yaml_row collector_rows[] = {
	{ "collector",
	  YAML_SHAPE(.type = SHAPE_TEXT, .pattern = "^[a-z][a-z0-9_]*$", .check = check_name),
	  .required = true,
	  .help = "Name of the collector, the same as the file's name without .yaml. Flags: --collector.NAME and --no-collector.NAME." },
	{ "help", &help_shape, .required = true, YAML_TO(struct collector, help),
	  .help = "What the collector counts, in one sentence." },
	{ "default", &yaml_switch_shape, .required = true, YAML_TO(struct collector, default_on),
	  .help = "Whether the collector is on by default." },
	{ "needs", YAML_MAP_OF(need_rows),
	  .help = "What a live session must deliver. A replay uses what is in the recording." },
	{ "decoders", &load_decoders_shape,
	  YAML_TO_LIST(struct collector, decoders, decoder_count) },
	{ "pairs", &named_spans_shape, YAML_TO_LIST(struct collector, spans, span_count) },
	{ "metrics", YAML_SHAPE(.type = SHAPE_LIST, .item = &metric_shape),
	  YAML_TO_LIST(struct collector, metrics, metric_count),
	  .help = "The families of the collector. Several collectors may declare the same family if type, help and labels agree." },
};

const struct yaml_shape collector_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(collector_rows),
	.what = "collector",
	.name = "collector",
	.json = "'title': 'a collector, NAME.yaml'",
};

struct collector *collector_load(struct yaml_tree *tree, const char *name, struct etw_error *err)
{
	struct collector *collector = calloc(1, sizeof *collector);
	struct yaml_reader in = { .tree = tree, .err = err, .owner = collector };

	if (!collector) {
		error_no_memory(err, "a collector");
		yaml_close(tree);
		return NULL;
	}
	collector->tree = tree;
	collector->name = name;
	if (!yaml_find(yaml_root(tree), "collector") &&
	    (yaml_find(yaml_root(tree), "collector_files") ||
	     yaml_find(yaml_root(tree), "collectors"))) {
		yaml_error(tree, yaml_root(tree), err, "this is a configuration, not a collector");
		collector_free(collector);
		return NULL;
	}
	if (!yaml_read_root(&in, &collector_shape, "a collector", collector)) {
		collector_free(collector);
		return NULL;
	}
	collector_add_event_flags(collector);
	return collector;
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
		etw_provider_spec_done(&collector->providers[i]);
	}
	for (size_t i = 0; i < collector->substitute_count; i++) {
		etw_provider_spec_done(&collector->substitutes[i]);
	}
	yaml_close(collector->tree);
	free(collector);
}

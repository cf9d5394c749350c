/* SPDX-License-Identifier: MIT */
/*
 * Checks the rules of a collector against what is known of their events: types of fields, units,
 * comparisons, decoders, spans.
 *
 * A mistake that only shows when events arrive costs an operator a deployment, so everything that
 * the kernel's layouts and the known manifests decide is checked when the rules are read. Every
 * part of a rule is checked, also after a mistake in another part that it does not depend on;
 * errors name file, line and column. Checking stores what it finds (the types, whether a derived
 * field applies), and the rule engine relies on it.
 *
 * Kernel events have fixed layouts for each opcode and version. A provider has its manifest, if the
 * configuration gives one or one is built in; the others are unknown until their events arrive. A
 * rule is checked against every layout that its event pattern fits (event_pattern.c). A field
 * is known when some layout has it, or when it is a derived one that such events can have. Its type
 * is TYPE_UNKNOWN where versions differ or no layout is known: such a field passes every check, and
 * the rule engine decides when an event arrives. A name that is wrong for certain is refused, with
 * the nearest right one. A span is checked as if a rule were about each of its events.
 *
 * A manifest of the configuration is taken to be complete, so an event that it lacks is refused.
 * The built-in manifests leave events out: an unknown event of theirs is refused only if it is
 * within two letters of a known one.
 */
#include <stdlib.h>
#include <string.h>

#include <etw/schema.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "exporter/rules/language/collector.h"
#include "exporter/rules/language/decoders.h"
#include "exporter/rules/language/event_pattern.h"

struct checker {
	const struct collector *collector;
	const struct etw_configured_manifests *manifests;
	struct etw_error *err;
};

/* Arguments for "%s%s%s" after a sentence: the question about the nearest known name, or
 * nothing. */
#define MEANT(nearest) \
	(nearest) ? "; did you mean '" : "", (nearest) ? (nearest) : "", (nearest) ? "'?" : ""

/* ---- fields ---- */

/* Reports a field Pair.NAME that names no captured label of the span. Returns false. */
static bool unknown_captured(struct checker *checker, const struct span *span,
			     const struct field_ref *field)
{
	const char *name = field->name + strlen(SPAN_PREFIX);
	struct nearest nearest = { .word = name, .size = strlen(name) };

	for (size_t i = 0; i < span->captured_count; i++) {
		nearest_offer(&nearest, span->captured[i].name);
	}
	return yaml_error(checker->collector->tree, field->at, checker->err,
			  "the pair has no '%s' in its 'carry'%s%s%s", name, MEANT(nearest.best));
}

/* Returns whether a layout of the kernel events of the pattern has the field. */
static bool layout_has(const struct event_pattern *pattern, const char *name)
{
	struct known_events known;
	bool has = false;

	known_events_find(&known, pattern, NULL);
	for (size_t i = 0; i < known.count && !has; i++) {
		has = etw_schema_find_field(known.events[i].schema, name) >= 0;
	}
	known_events_done(&known);
	return has;
}

static bool is_listed(const struct derived_events *events, const struct event_pattern *pattern)
{
	for (; events->kernel_class != ETW_KERNEL_NONE || events->provider; events++) {
		if (events->provider ?
			    event_pattern_is_provider(pattern, events->provider->name,
						      &events->provider->guid) &&
				    (events->id == 0 ||
				     (!pattern->every &&
				      (!pattern->by_id || pattern->id == events->id))) :
			    event_pattern_is_class(pattern, events->kernel_class) &&
				    (events->opcode == EVERY_OPCODE ||
				     (!pattern->every && pattern->opcode == events->opcode))) {
			return true;
		}
	}
	return false;
}

/* Returns whether events of the pattern can have the derived field. */
static bool derived_fits(const struct derived_field *derived, const struct event_pattern *pattern)
{
	if (derived->events && !is_listed(derived->events, pattern)) {
		return false;
	}
	if (derived->origin && pattern->scope == EVENTS_KERNEL) {
		return layout_has(pattern, derived->origin) ||
		       (derived->or_origin && layout_has(pattern, derived->or_origin));
	}
	return !derived->origin || derived->events;
}

static bool unknown_field(struct checker *checker, const struct rule *rule,
			  const struct field_ref *field, const struct known_events *known)
{
	struct nearest nearest = { .word = field->name, .size = strlen(field->name) };
	const struct derived_field *derived;

	if (rule->span && rule->span->captured_count > 0 &&
	    strncmp(field->name, SPAN_PREFIX, strlen(SPAN_PREFIX)) == 0) {
		return unknown_captured(checker, rule->span, field);
	}
	if (memory_has_losses()) { /* the layout that has the field may be missing for lack of
				      memory */
		return error_no_memory(checker->err, "the layouts of events");
	}

	for (size_t i = 0; i < known->count; i++) {
		for (unsigned k = 0; k < known->events[i].schema->field_count; k++) {
			nearest_offer(&nearest, known->events[i].schema->fields[k].name);
		}
	}
	for (unsigned i = 0; (derived = derived_at(i)) != NULL; i++) {
		if (derived_fits(derived, &rule->event)) {
			nearest_offer(&nearest, derived->name);
		}
	}
	return yaml_error(checker->collector->tree, field->at, checker->err,
			  "event '%s' has no field '%s'%s%s%s", rule->event_at->text, field->name,
			  MEANT(nearest.best));
}

static enum value_type type_of(const struct etw_field *field)
{
	if (etw_field_is_integer(field)) {
		return TYPE_INTEGER;
	}
	return etw_field_is_real(field) ? TYPE_REAL : TYPE_TEXT;
}

/* Finds a field in the known layouts. *type is TYPE_UNKNOWN if versions of the event differ. */
static bool find_in_layouts(const struct known_events *known, const char *name,
			    enum value_type *type)
{
	bool found = false;

	for (size_t i = 0; i < known->count; i++) {
		struct etw_field_path path;
		enum value_type own;

		if (!etw_field_path_find(known->events[i].schema, name, &path)) {
			continue;
		}
		own = type_of(&path.value);
		*type = found && *type != own ? TYPE_UNKNOWN : own;
		found = true;
	}
	return found;
}

/* Returns whether the events may have a field that no known layout has. */
static bool may_arrive(const struct rule *rule, const struct known_events *known)
{
	return rule->event.scope == EVENTS_PROVIDER &&
	       (known->count == 0 || (rule->event.every && !known->complete));
}

static bool check_in_layouts(struct checker *checker, const struct rule *rule,
			     struct field_ref *field, const struct derived_field *derived)
{
	struct known_events known;
	bool good = true;

	known_events_find(&known, &rule->event, checker->manifests);
	if (known.failed) {
		good = error_no_memory(checker->err, "the check of a rule");
	} else if (find_in_layouts(&known, field->name, &field->type)) {
		field->layout = true;
	} else if (derived) {
		field->type = derived->type;
	} else if (may_arrive(rule, &known)) {
		field->layout = true;
		field->type = TYPE_UNKNOWN;
	} else {
		good = unknown_field(checker, rule, field, &known);
	}
	known_events_done(&known);
	return good;
}

/* Finds what a field is for the events of a rule, and sets its type. It is an error if the
 * events have no such field. */
static bool check_field(struct checker *checker, const struct rule *rule, struct field_ref *field)
{
	const struct derived_field *derived =
		field->derived && derived_fits(field->derived, &rule->event) ? field->derived :
									       NULL;

	if (rule->span && rule->span->keep && field_has_role(field, ROLE_DURATION)) {
		return yaml_error(checker->collector->tree, field->at, checker->err,
				  "a pair with 'keep' has no Duration");
	}
	if (rule->span && field_has_role(field, ROLE_DURATION)) {
		field->type = TYPE_DURATION;
		return true;
	}
	if (rule->span &&
	    span_find_captured(rule->span, field->name) < rule->span->captured_count) {
		field->type = TYPE_TEXT;
		return true;
	}
	field->derived = derived;
	if (derived && derived->before_layout) {
		field->type = derived->type;
		return true;
	}
	return check_in_layouts(checker, rule, field, derived);
}

/* ---- events and literals ---- */

/* Checks that the event of a rule can exist. */
static bool check_event(struct checker *checker, const struct rule *rule)
{
	enum { NEAR_MISS = 2 };
	const struct event_pattern *pattern = &rule->event;
	struct known_events known;
	struct etw_text nearest = { 0 };
	unsigned distance = 0;
	bool good = true;

	if (pattern->scope != EVENTS_PROVIDER || pattern->every) {
		return true;
	}
	known_events_find(&known, pattern, checker->manifests);
	if (known.failed) {
		good = error_no_memory(checker->err, "the check of a rule");
	} else if (known.count == 0 && (known.complete || !pattern->by_id)) {
		known_events_nearest(pattern, checker->manifests, &nearest, &distance);
		good = !known.complete && (nearest.size == 0 || distance > NEAR_MISS);
		if (!good) {
			yaml_error(checker->collector->tree, rule->event_at, checker->err,
				   "unknown event '%s'%s%s%s", rule->event_at->text,
				   MEANT(nearest.data));
		}
	}
	text_free(&nearest);
	known_events_done(&known);
	return good;
}

/* Checks that the literal is a number, or the name of a value of the field in some layout. */
static bool check_literal(struct checker *checker, const struct rule *rule,
			  const struct field_ref *field, const struct literal *literal)
{
	struct known_events known;
	bool found = literal->integer;

	known_events_find(&known, &rule->event, checker->manifests);
	for (size_t i = 0; i < known.count && !found; i++) {
		struct etw_field_path path;
		uint32_t value;

		found = etw_field_path_find(known.events[i].schema, field->name, &path) &&
			path.value.map &&
			etw_value_map_value(path.value.map, literal->text, literal->size, &value);
	}
	known_events_done(&known);
	return found;
}

/* ---- the parts of a rule ---- */

static bool is_number(enum value_type type)
{
	return type == TYPE_INTEGER || type == TYPE_DURATION;
}

static const char *type_name(enum value_type type)
{
	return is_number(type) ? "a number" : "text";
}

static bool check_value(struct checker *checker, const struct rule *rule, struct field_ref *field)
{
	if (!check_field(checker, rule, field)) {
		return false;
	}
	if (field->type == TYPE_TEXT) {
		return yaml_error(checker->collector->tree, field->at, checker->err,
				  "field '%s' is text, not a number", field->name);
	}
	return true;
}

static bool check_unit(struct checker *checker, const struct rule *rule)
{
	const struct metric *metric = rule->metric;
	const struct yaml_tree *tree = checker->collector->tree;
	bool derived = rule->value.name && rule->value.type == TYPE_DURATION;
	bool duration = rule->since.name || derived || rule->unit >= UNIT_TICKS;

	if (derived && rule->unit != UNIT_NONE) {
		return yaml_error(tree, rule->unit_at, checker->err,
				  "field '%s' already has a unit", rule->value.name);
	}
	if (metric->seconds && !duration) {
		return yaml_error(tree, rule->at, checker->err,
				  "'%s' needs a duration: 'since', or a 'value' with its 'unit'",
				  metric->name);
	}
	if (!metric->seconds && duration) {
		return yaml_error(tree, rule->at, checker->err,
				  "'%s' is not in seconds, so it takes no duration", metric->name);
	}
	if (metric->bytes && !rule->value.name) {
		return yaml_error(tree, rule->at, checker->err, "'%s' needs a 'value' in bytes",
				  metric->name);
	}
	if (!metric->bytes && (rule->unit == UNIT_KB || rule->unit == UNIT_MB)) {
		return yaml_error(tree, rule->unit_at, checker->err, "'%s' is not in bytes",
				  metric->name);
	}
	if (rule->unit == UNIT_PERCENT && !metric->ratio) {
		return yaml_error(tree, rule->unit_at, checker->err,
				  "percent is for gauges whose names end in _ratio, unlike '%s'",
				  metric->name);
	}
	return true;
}

static bool not_a_number(struct checker *checker, const struct yaml_node *at,
			 const struct field_ref *field)
{
	return yaml_error(checker->collector->tree, at, checker->err,
			  "'%s' is not a number, as field '%s' is", at->text, field->name);
}

static bool check_condition(struct checker *checker, const struct rule *rule,
			    struct condition *condition)
{
	const struct yaml_tree *tree = checker->collector->tree;
	enum comparison comparison = condition->comparison;
	const struct yaml_node *at = comparison == COMPARE_IN ? condition->at->first :
								condition->at;
	bool numbers = compares_numbers(comparison);
	enum value_type type;

	if (!check_field(checker, rule, &condition->field)) {
		return false;
	}
	if (comparison == COMPARE_EXISTS) {
		return true;
	}
	type = condition->field.type;
	if ((numbers && (type == TYPE_TEXT || type == TYPE_REAL)) ||
	    (compares_texts(comparison) && is_number(type))) {
		return yaml_error(tree, condition->at->key, checker->err,
				  "'%s' cannot compare field '%s', which is %s",
				  condition->at->key->text, condition->field.name, type_name(type));
	}
	for (size_t i = 0; i < condition->literal_count; i++, at = at->next) {
		const struct literal *literal = &condition->literals[i];

		if (numbers ? !literal->integer :
			      is_number(type) &&
				      !check_literal(checker, rule, &condition->field, literal)) {
			return not_a_number(checker, at, &condition->field);
		}
	}
	return true;
}

static bool check_map(struct checker *checker, const struct rule *rule, const struct label *label)
{
	for (size_t i = 0; i < label->entry_count && is_number(label->field.type); i++) {
		const struct map_entry *entry = &label->entries[i];

		if (!check_literal(checker, rule, &label->field, &entry->from)) {
			return not_a_number(checker, entry->at, &label->field);
		}
	}
	return true;
}

/* Returns whether a decoder reads values of the type. */
static bool decodes(const struct decoder *decoder, enum value_type type)
{
	return decoder->reads == READS_ALL || (decoder->reads == READS_NUMBERS) == is_number(type);
}

static bool check_steps(struct checker *checker, const struct label *label)
{
	enum value_type type = label->field.type;

	for (size_t i = 0; i < label->step_count; i++) {
		const struct decode_step *step = &label->steps[i];

		if (type != TYPE_UNKNOWN && !decodes(step->decoder, type)) {
			return yaml_error(checker->collector->tree, step->at, checker->err,
					  "decoder '%s' cannot read %s", step->decoder->name,
					  type_name(type));
		}
		type = TYPE_TEXT;
	}
	return true;
}

static bool check_label(struct checker *checker, const struct rule *rule, struct label *label)
{
	if (label->source == LABEL_TEXT) {
		return true;
	}
	if (!check_field(checker, rule, &label->field)) {
		return false;
	}
	if (label->field.type == TYPE_DURATION) {
		return yaml_error(checker->collector->tree, label->field.at, checker->err,
				  "field '%s' is a duration and cannot be a label",
				  label->field.name);
	}
	return check_map(checker, rule, label) && check_steps(checker, label);
}

/* Returns a rule on one event of a span, so that its fields are checked like any others. */
static struct rule rule_on(const struct rule *rule, const struct span_event *end)
{
	return (struct rule){ .collector = rule->collector,
			      .metric = rule->metric,
			      .event = end->event,
			      .event_at = end->event_at };
}

static bool check_span_event(struct checker *checker, const struct rule *rule,
			     const struct span_event *end)
{
	struct rule other = rule_on(rule, end);

	if (!check_event(checker, &other)) {
		return false;
	}
	for (size_t i = 0; i < rule->span->key_count; i++) {
		if (!check_field(checker, &other, &end->keys[i])) {
			return false;
		}
		if (end->keys[i].type == TYPE_DURATION) {
			return yaml_error(checker->collector->tree, end->keys[i].at, checker->err,
					  "field '%s' is a duration and cannot be a key",
					  end->keys[i].name);
		}
	}
	return true;
}

/* Checks that keys have the types of the start's keys; otherwise they would never be equal. */
static bool check_keys(struct checker *checker, const struct span *span,
		       const struct span_event *end, const char *where)
{
	for (size_t i = 0; i < span->key_count; i++) {
		enum value_type a = span->start.keys[i].type, b = end->keys[i].type;

		if (a != TYPE_UNKNOWN && b != TYPE_UNKNOWN && is_number(a) != is_number(b)) {
			return yaml_error(checker->collector->tree, end->keys[i].at, checker->err,
					  "key '%s' is %s at the start, %s %s", end->keys[i].name,
					  type_name(a), type_name(b), where);
		}
	}
	return true;
}

static bool check_span(struct checker *checker, const struct rule *rule)
{
	const struct span *span = rule->span;
	const struct span_event *source = span->middle.keys ? &span->middle : &span->start;
	struct rule other = rule_on(rule, source);

	if (!check_span_event(checker, rule, &span->start) ||
	    !check_span_event(checker, rule, &span->stop) ||
	    !check_keys(checker, span, &span->stop, "at the stop")) {
		return false;
	}
	if (span->middle.keys && (!check_span_event(checker, rule, &span->middle) ||
				  !check_keys(checker, span, &span->middle, "in between"))) {
		return false;
	}
	for (size_t i = 0; i < span->captured_count; i++) {
		if (!check_label(checker, &other, &span->captured[i])) {
			return false;
		}
	}
	return true;
}

/* Checks what a rule adds: its value or time, and their unit. */
static bool check_sum(struct checker *checker, struct rule *rule)
{
	if ((rule->value.name && !check_value(checker, rule, &rule->value)) ||
	    (rule->since.name && !check_value(checker, rule, &rule->since)) ||
	    !check_unit(checker, rule)) {
		return false;
	}
	if (rule->since.name &&
	    (rule->since.type == TYPE_DURATION || rule->since.type == TYPE_REAL)) {
		return yaml_error(checker->collector->tree, rule->since.at, checker->err,
				  "field '%s' is a %s, not a time", rule->since.name,
				  rule->since.type == TYPE_REAL ? "fraction" : "duration");
	}
	return true;
}

/* Returns whether to go on after an error in one part: not without memory. */
static bool can_go_on(const struct checker *checker)
{
	return checker->err->code == ETW_ERROR_CONFIG;
}

/* Checks a rule. Fields depend on event and span; the parts that name them do not depend on each
 * other. */
static bool check_rule(struct checker *checker, struct rule *rule)
{
	bool good = check_event(checker, rule) && (!rule->span || check_span(checker, rule));

	if (!good) {
		return false;
	}
	good = check_sum(checker, rule);
	for (size_t i = 0; i < rule->condition_count && (good || can_go_on(checker)); i++) {
		good = check_condition(checker, rule, &rule->conditions[i]) && good;
	}
	for (size_t i = 0; i < rule->label_count && (good || can_go_on(checker)); i++) {
		good = check_label(checker, rule, &rule->labels[i]) && good;
	}
	return good;
}

bool collector_check(struct collector *collector, const struct etw_configured_manifests *manifests,
		     struct etw_error *err)
{
	struct etw_error why = { 0 };
	struct checker checker = { .collector = collector, .manifests = manifests, .err = &why };
	bool good = true;

	for (size_t i = 0; i < collector->metric_count; i++) {
		struct metric *metric = &collector->metrics[i];

		for (size_t j = 0; j < metric->rule_count && (good || can_go_on(&checker)); j++) {
			good = check_rule(&checker, &metric->rules[j]) && good;
		}
	}
	if (!good && can_go_on(&checker)) {
		problems_first_error(yaml_problems(collector->tree), &why);
	}
	if (!good && err) {
		*err = why;
	}
	return good;
}

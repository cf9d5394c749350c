/* SPDX-License-Identifier: MIT */
/*
 * Holds a collector against what events look like, as far as the kernel's layouts and manifests
 * tell: fields and their types, units, comparisons.
 *
 * A field is known when some version of the event's layout has it, or when it is a derived one that
 * such events can have. What other events look like is only known when they arrive, so their fields
 * pass with TYPE_UNKNOWN.
 */
#include <string.h>

#include "config/nearest.h"
#include "decode/field_path.h"
#include "rules/collector.h"
#include "rules/known_events.h"

struct checker {
	const struct collector *collector;
	const struct given_manifests *manifests;
	struct error *err;
};

static bool no_memory(struct checker *checker)
{
	return error_set(checker->err, ERROR_NO_MEMORY, "no memory to check a rule");
}

/* A field of a pair that carries something, but not that. */
static bool not_carried(struct checker *checker, const struct pair *pair,
			const struct field_ref *field)
{
	const char *name = field->name + strlen(PAIR_PREFIX);
	struct nearest nearest = { .word = name, .size = strlen(name) };

	for (size_t i = 0; i < pair->carry_count; i++) {
		nearest_offer(&nearest, pair->carry[i].name);
	}
	if (nearest.best) {
		return yaml_error(checker->collector->tree, field->at, checker->err,
				  "the pair carries no '%s'; did you mean '%s'?", name,
				  nearest.best);
	}
	return yaml_error(checker->collector->tree, field->at, checker->err,
			  "the pair carries no '%s'", name);
}

static bool unknown_field(struct checker *checker, const struct rule *rule,
			  const struct field_ref *field, const struct known_events *known)
{
	struct nearest nearest = { .word = field->name, .size = strlen(field->name) };

	if (rule->pair && rule->pair->carry_count > 0 &&
	    strncmp(field->name, PAIR_PREFIX, strlen(PAIR_PREFIX)) == 0) {
		return not_carried(checker, rule->pair, field);
	}

	for (size_t i = 0; i < known->count; i++) {
		for (unsigned k = 0; k < known->schemas[i]->field_count; k++) {
			nearest_offer(&nearest, known->schemas[i]->fields[k].name);
		}
	}
	for (unsigned i = DERIVED_NONE + 1; i < DERIVED_COUNT; i++) {
		if (derived_fits((enum derived)i, &rule->event)) {
			nearest_offer(&nearest, derived_field((enum derived)i)->name);
		}
	}
	if (nearest.best) {
		return yaml_error(checker->collector->tree, field->at, checker->err,
				  "event '%s' has no field '%s'; did you mean '%s'?",
				  rule->event_at->text, field->name, nearest.best);
	}
	return yaml_error(checker->collector->tree, field->at, checker->err,
			  "event '%s' has no field '%s'", rule->event_at->text, field->name);
}

static enum value_type type_of(const struct field *field)
{
	if (field_is_integer(field)) {
		return TYPE_INTEGER;
	}
	return field_is_real(field) ? TYPE_REAL : TYPE_TEXT;
}

/* TYPE_UNKNOWN where versions of the event differ. */
static bool find_in_layouts(const struct known_events *known, const char *name,
			    enum value_type *type)
{
	bool found = false;

	for (size_t i = 0; i < known->count; i++) {
		struct field_path path;
		enum value_type own;

		if (!field_path_find(known->schemas[i], name, &path)) {
			continue;
		}
		own = type_of(&path.value);
		*type = found && *type != own ? TYPE_UNKNOWN : own;
		found = true;
	}
	return found;
}

/* Whether a field that no known layout has can still be one. */
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
		good = no_memory(checker);
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

/* Finds out what a field is for the events of a rule. */
static bool check_field(struct checker *checker, const struct rule *rule, struct field_ref *field)
{
	const struct derived_field *derived =
		field->derived != DERIVED_NONE && derived_fits(field->derived, &rule->event) ?
			derived_field(field->derived) :
			NULL;

	if (rule->pair && field->derived == DERIVED_DURATION) {
		field->type = TYPE_DURATION;
		return true;
	}
	if (rule->pair && pair_find_carried(rule->pair, field->name) < rule->pair->carry_count) {
		field->type = TYPE_TEXT;
		return true;
	}
	if (!derived) {
		field->derived = DERIVED_NONE;
	}
	if (derived && derived->before_layout) {
		field->type = derived->type;
		return true;
	}
	return check_in_layouts(checker, rule, field, derived);
}

/*
 * An event that no manifest has is none where a manifest of the configuration describes its
 * provider. The built-in manifests leave events out, so there it must be a near miss.
 */
static bool check_event(struct checker *checker, const struct rule *rule)
{
	enum { NEAR_MISS = 2 };
	const struct event_pattern *pattern = &rule->event;
	struct known_events known;
	struct text nearest = { 0 };
	unsigned distance = 0;
	bool good = true;

	if (pattern->scope != EVENTS_PROVIDER || pattern->every) {
		return true;
	}
	known_events_find(&known, pattern, checker->manifests);
	if (known.failed) {
		good = no_memory(checker);
	} else if (known.count == 0 && (known.complete || !pattern->by_id)) {
		known_events_nearest(pattern, checker->manifests, &nearest, &distance);
		if (nearest.size > 0 && (known.complete || distance <= NEAR_MISS)) {
			good = yaml_error(checker->collector->tree, rule->event_at, checker->err,
					  "unknown event '%s'; did you mean '%s'?",
					  rule->event_at->text, nearest.data);
		} else if (known.complete) {
			good = yaml_error(checker->collector->tree, rule->event_at, checker->err,
					  "unknown event '%s'", rule->event_at->text);
		}
	}
	text_free(&nearest);
	known_events_done(&known);
	return good;
}

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
				  "field '%s' has its unit already", rule->value.name);
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
	if (!metric->bytes && rule->unit == UNIT_KB) {
		return yaml_error(tree, rule->unit_at, checker->err, "'%s' is not in bytes",
				  metric->name);
	}
	return true;
}

static bool compares_numbers(enum comparison comparison)
{
	return comparison >= COMPARE_LT && comparison <= COMPARE_GE;
}

/* Whether the literal is a number, or else the name of a value of the field in some layout. */
static bool is_value(struct checker *checker, const struct rule *rule,
		     const struct field_ref *field, const struct literal *literal)
{
	struct known_events known;
	bool found = literal->integer;

	known_events_find(&known, &rule->event, checker->manifests);
	for (size_t i = 0; i < known.count && !found; i++) {
		struct field_path path;
		uint32_t value;

		found = field_path_find(known.schemas[i], field->name, &path) && path.value.map &&
			value_map_value(path.value.map, literal->text, literal->size, &value);
	}
	known_events_done(&known);
	return found;
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
	bool numbers = compares_numbers(comparison) || comparison == COMPARE_HAS ||
		       comparison == COMPARE_LACKS;
	bool texts = comparison >= COMPARE_STARTS;
	enum value_type type;

	if (!check_field(checker, rule, &condition->field)) {
		return false;
	}
	type = condition->field.type;
	if ((numbers && (type == TYPE_TEXT || type == TYPE_REAL)) || (texts && is_number(type))) {
		return yaml_error(tree, condition->at->key, checker->err,
				  "'%s' is not for field '%s', which is %s",
				  comparison_name(comparison), condition->field.name,
				  type_name(type));
	}
	for (size_t i = 0; i < condition->literal_count; i++, at = at->next) {
		const struct literal *literal = &condition->literals[i];

		if (numbers ? !literal->integer :
			      is_number(type) &&
				      !is_value(checker, rule, &condition->field, literal)) {
			return not_a_number(checker, at, &condition->field);
		}
	}
	return true;
}

static bool check_map(struct checker *checker, const struct rule *rule, const struct label *label)
{
	for (size_t i = 0; i < label->entry_count && is_number(label->field.type); i++) {
		const struct map_entry *entry = &label->entries[i];

		if (!is_value(checker, rule, &label->field, &entry->from)) {
			return not_a_number(checker, entry->at, &label->field);
		}
	}
	return true;
}

/* Whether a decoder reads values of the type. */
static bool decodes(enum decoder decoder, enum value_type type)
{
	switch (decoder) {
	case DECODE_IP:
	case DECODE_PORT:
		return true;
	case DECODE_HEX:
	case DECODE_NTSTATUS:
	case DECODE_WIN32_ERROR:
	case DECODE_BITS:
	case DECODE_HRESULT:
		return is_number(type);
	default:
		return !is_number(type);
	}
}

static bool check_steps(struct checker *checker, const struct label *label)
{
	enum value_type type = label->field.type;

	for (size_t i = 0; i < label->step_count; i++) {
		const struct decode_step *step = &label->steps[i];

		if (type != TYPE_UNKNOWN && !decodes(step->decoder, type)) {
			return yaml_error(checker->collector->tree, step->at, checker->err,
					  "decoder '%s' is not for %s", decoder_name(step->decoder),
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
				  "field '%s' is a duration, not a label", label->field.name);
	}
	return check_map(checker, rule, label) && check_steps(checker, label);
}

/* An event of a pair as if a rule were about it: its fields are like any other. */
static struct rule rule_on(const struct rule *rule, const struct pair_end *end)
{
	return (struct rule){ .collector = rule->collector,
			      .metric = rule->metric,
			      .event = end->event,
			      .event_at = end->event_at };
}

static bool check_end(struct checker *checker, const struct rule *rule, const struct pair_end *end)
{
	struct rule other = rule_on(rule, end);

	if (!check_event(checker, &other)) {
		return false;
	}
	for (size_t i = 0; i < rule->pair->key_count; i++) {
		if (!check_field(checker, &other, &end->keys[i])) {
			return false;
		}
		if (end->keys[i].type == TYPE_DURATION) {
			return yaml_error(checker->collector->tree, end->keys[i].at, checker->err,
					  "field '%s' is a duration, not a key", end->keys[i].name);
		}
	}
	return true;
}

/* Keys of another type than at the start meet none. */
static bool check_keys(struct checker *checker, const struct pair *pair, const struct pair_end *end,
		       const char *where)
{
	for (size_t i = 0; i < pair->key_count; i++) {
		enum value_type a = pair->start.keys[i].type, b = end->keys[i].type;

		if (a != TYPE_UNKNOWN && b != TYPE_UNKNOWN && is_number(a) != is_number(b)) {
			return yaml_error(checker->collector->tree, end->keys[i].at, checker->err,
					  "key '%s' is %s at the start, %s %s", end->keys[i].name,
					  type_name(a), type_name(b), where);
		}
	}
	return true;
}

static bool check_pair(struct checker *checker, const struct rule *rule)
{
	const struct pair *pair = rule->pair;
	const struct pair_end *carrier = pair->middle.keys ? &pair->middle : &pair->start;
	struct rule other = rule_on(rule, carrier);

	if (!check_end(checker, rule, &pair->start) || !check_end(checker, rule, &pair->stop) ||
	    !check_keys(checker, pair, &pair->stop, "at the stop")) {
		return false;
	}
	if (pair->middle.keys && (!check_end(checker, rule, &pair->middle) ||
				  !check_keys(checker, pair, &pair->middle, "in between"))) {
		return false;
	}
	for (size_t i = 0; i < pair->carry_count; i++) {
		if (!check_label(checker, &other, &pair->carry[i])) {
			return false;
		}
	}
	return true;
}

static bool check_rule(struct checker *checker, struct rule *rule)
{
	if (!check_event(checker, rule) || (rule->pair && !check_pair(checker, rule))) {
		return false;
	}
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
	for (size_t i = 0; i < rule->condition_count; i++) {
		if (!check_condition(checker, rule, &rule->conditions[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < rule->label_count; i++) {
		if (!check_label(checker, rule, &rule->labels[i])) {
			return false;
		}
	}
	return true;
}

bool collector_check(struct collector *collector, const struct given_manifests *manifests,
		     struct error *err)
{
	struct checker checker = { .collector = collector, .manifests = manifests, .err = err };

	for (size_t i = 0; i < collector->metric_count; i++) {
		struct metric *metric = &collector->metrics[i];

		for (size_t j = 0; j < metric->rule_count; j++) {
			if (!check_rule(&checker, &metric->rules[j])) {
				return false;
			}
		}
	}
	return true;
}

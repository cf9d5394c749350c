/* SPDX-License-Identifier: MIT */
/*
 * Checks the rules of a collector against what is known of their events: types of fields, units,
 * comparisons, decoders, spans.
 *
 * A mistake that only shows when events arrive costs an operator a deployment, so everything that
 * can be decided from the kernel's layouts and the manifests at hand is decided when the rules are
 * read. The functions here go through a rule in the order of its parts and stop at the first
 * mistake; the error names file, line and column.
 *
 * check_fields.c finds a field and its type for the events of a rule. A type may be unknown, for
 * events without a layout at hand; such a field passes every check, and the rule engine decides
 * when an event arrives. A span is checked as if a rule were about each of its events. Checking
 * fills in what it finds (the types, whether a derived field applies), and the rule engine relies
 * on it.
 */
#include "rules/language/checker.h"

#include "rules/language/decoders.h"

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
	type = condition->field.type;
	if ((numbers && (type == TYPE_TEXT || type == TYPE_REAL)) ||
	    (compares_texts(comparison) && is_number(type))) {
		return yaml_error(tree, condition->at->key, checker->err,
				  "'%s' is not for field '%s', which is %s",
				  comparison_name(comparison), condition->field.name,
				  type_name(type));
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

/* Whether a decoder reads values of the type. */
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
					  "decoder '%s' is not for %s", step->decoder->name,
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

/* An event of a span as if a rule were about it: its fields are like any other. */
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
					  "field '%s' is a duration, not a key", end->keys[i].name);
		}
	}
	return true;
}

/* Keys of another type than at the start meet none. */
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

static bool check_rule(struct checker *checker, struct rule *rule)
{
	if (!check_event(checker, rule) || (rule->span && !check_span(checker, rule))) {
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

bool collector_check(struct collector *collector, const struct configured_manifests *manifests,
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

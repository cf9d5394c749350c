/* SPDX-License-Identifier: MIT */
/*
 * Finds the fields and events that rules name: in layouts, among the derived fields, in pairs.
 *
 * A field is known when some version of the event's layout has it, or when it is a derived one that
 * such events can have. What other events look like is only known when they arrive, so their fields
 * pass with TYPE_UNKNOWN.
 */
#include "rules/checker.h"

#include <string.h>

#include "config/nearest.h"
#include "decode/field_path.h"
#include "rules/known_events.h"

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

/* Whether some layout of the kernel events has the field. */
static bool layout_has(const struct event_pattern *pattern, const char *name)
{
	struct known_events known;
	bool has = false;

	known_events_find(&known, pattern, NULL);
	for (size_t i = 0; i < known.count && !has; i++) {
		has = schema_find_field(known.schemas[i], name) >= 0;
	}
	known_events_done(&known);
	return has;
}

static bool is_listed(const struct derived_events *events, const struct event_pattern *pattern)
{
	for (; events->kernel_class != KERNEL_NONE || events->provider; events++) {
		if (events->provider ?
			    event_pattern_is_provider(pattern, events->provider->name,
						      &events->provider->guid) :
			    event_pattern_is_class(pattern, events->kernel_class) &&
				    (events->opcode == EVERY_OPCODE ||
				     (!pattern->every && pattern->opcode == events->opcode))) {
			return true;
		}
	}
	return false;
}

/* Whether events of the pattern can have the derived field. */
static bool derived_fits(const struct derived_field *derived, const struct event_pattern *pattern)
{
	if (derived->events && !is_listed(derived->events, pattern)) {
		return false;
	}
	if (derived->origin && pattern->scope == EVENTS_KERNEL) {
		return layout_has(pattern, derived->origin);
	}
	return !derived->origin || derived->events;
}

static bool unknown_field(struct checker *checker, const struct rule *rule,
			  const struct field_ref *field, const struct known_events *known)
{
	struct nearest nearest = { .word = field->name, .size = strlen(field->name) };
	const struct derived_field *derived;

	if (rule->pair && rule->pair->carry_count > 0 &&
	    strncmp(field->name, PAIR_PREFIX, strlen(PAIR_PREFIX)) == 0) {
		return not_carried(checker, rule->pair, field);
	}

	for (size_t i = 0; i < known->count; i++) {
		for (unsigned k = 0; k < known->schemas[i]->field_count; k++) {
			nearest_offer(&nearest, known->schemas[i]->fields[k].name);
		}
	}
	for (unsigned i = 0; (derived = derived_at(i)) != NULL; i++) {
		if (derived_fits(derived, &rule->event)) {
			nearest_offer(&nearest, derived->name);
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

bool check_field(struct checker *checker, const struct rule *rule, struct field_ref *field)
{
	const struct derived_field *derived =
		field->derived && derived_fits(field->derived, &rule->event) ? field->derived :
									       NULL;

	if (rule->pair && field_has_role(field, ROLE_DURATION)) {
		field->type = TYPE_DURATION;
		return true;
	}
	if (rule->pair && pair_find_carried(rule->pair, field->name) < rule->pair->carry_count) {
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

/*
 * An event that no manifest has is none where a manifest of the configuration describes its
 * provider. The built-in manifests leave events out, so there it must be a near miss.
 */
bool check_event(struct checker *checker, const struct rule *rule)
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

/* SPDX-License-Identifier: MIT */
/*
 * Rules that cannot count anything, whatever comes.
 *
 * Said only where it is certain: numbers of 32 bits and more can be negative in a signed field
 * (0xC0000005), so they are not held against an order, and regular expressions are not looked into.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/event_schema.h"
#include "decode/field_path.h"
#include "rules/collector.h"
#include "rules/trial.h"

/* ---- conditions against each other ---- */

static bool same_field(const struct condition *a, const struct condition *b)
{
	return strcmp(a->field.name, b->field.name) == 0;
}

static bool is_sure(const struct literal *literal)
{
	return literal->integer && (literal->negative || literal->number <= INT32_MAX);
}

/* Below 0, 0 or above 0; of sure ones. */
static int compare(const struct literal *a, const struct literal *b)
{
	int64_t x = (int64_t)a->number, y = (int64_t)b->number;

	return (x > y) - (x < y);
}

static bool is_order(enum comparison comparison)
{
	return comparison >= COMPARE_LT && comparison <= COMPARE_GE;
}

static bool equal(const struct literal *a, const struct literal *b)
{
	return a->integer && b->integer ? a->number == b->number :
					  text_equal_nocase(a->text, a->size, b->text, b->size);
}

/* A number and the name of a value, which may be the same, or not. */
static bool differ_in_type(const struct literal *a, const struct literal *b)
{
	return a->integer != b->integer;
}

/* Whether a value that is this literal can fulfil the condition. */
static bool can_be(const struct literal *value, const struct condition *condition)
{
	const struct literal *literal = condition->literals;

	if (is_order(condition->comparison)) {
		int order = is_sure(value) && is_sure(literal) ? compare(value, literal) : 0;
		bool known = is_sure(value) && is_sure(literal);

		return !known || (condition->comparison == COMPARE_LT && order < 0) ||
		       (condition->comparison == COMPARE_LE && order <= 0) ||
		       (condition->comparison == COMPARE_GT && order > 0) ||
		       (condition->comparison == COMPARE_GE && order >= 0);
	}
	switch (condition->comparison) {
	case COMPARE_EQ:
		return differ_in_type(value, literal) || equal(value, literal);
	case COMPARE_NE:
		return differ_in_type(value, literal) || !equal(value, literal);
	case COMPARE_IN:
		for (size_t i = 0; i < condition->literal_count; i++) {
			if (differ_in_type(value, &condition->literals[i]) ||
			    equal(value, &condition->literals[i])) {
				return true;
			}
		}
		return false;
	case COMPARE_HAS:
		return !value->integer || (value->number & literal->number) == literal->number;
	case COMPARE_LACKS:
		return !value->integer || (value->number & literal->number) == 0;
	case COMPARE_STARTS:
		return text_starts_nocase(value->text, value->size, literal->text, literal->size);
	case COMPARE_ENDS:
		return text_ends_nocase(value->text, value->size, literal->text, literal->size);
	default:
		return true;
	}
}

/* The values that an eq or in names: whether none of them passes all conditions on the field. */
static bool excludes_all(const struct rule *rule, const struct condition *named)
{
	for (size_t i = 0; i < named->literal_count; i++) {
		bool passes = true;

		for (size_t j = 0; j < rule->condition_count && passes; j++) {
			passes = !same_field(named, &rule->conditions[j]) ||
				 can_be(&named->literals[i], &rule->conditions[j]);
		}
		if (passes) {
			return false;
		}
	}
	return true;
}

/* Whether a begins or ends with b, or b with a: else no text does with both. */
static bool fit(const struct literal *a, const struct literal *b,
		bool (*with)(const char *text, size_t size, const char *part, size_t part_size))
{
	return with(a->text, a->size, b->text, b->size) || with(b->text, b->size, a->text, a->size);
}

/* Two conditions of which neither names its values. */
static bool exclude_each_other(const struct condition *a, const struct condition *b)
{
	const struct literal *x = a->literals, *y = b->literals;
	bool up = a->comparison == COMPARE_GT || a->comparison == COMPARE_GE;
	bool down = b->comparison == COMPARE_LT || b->comparison == COMPARE_LE;

	if (up && down && is_sure(x) && is_sure(y)) {
		int64_t low = (int64_t)x->number + (a->comparison == COMPARE_GT);
		int64_t high = (int64_t)y->number - (b->comparison == COMPARE_LT);

		return low > high;
	}
	if (a->comparison == COMPARE_HAS && b->comparison == COMPARE_LACKS) {
		return (x->number & y->number) != 0;
	}
	if (a->comparison == COMPARE_STARTS && b->comparison == COMPARE_STARTS) {
		return !fit(x, y, text_starts_nocase);
	}
	return a->comparison == COMPARE_ENDS && b->comparison == COMPARE_ENDS &&
	       !fit(x, y, text_ends_nocase);
}

static bool contradicts(const struct rule *rule, struct text *why)
{
	for (size_t i = 0; i < rule->condition_count; i++) {
		const struct condition *a = &rule->conditions[i];
		bool names = a->comparison == COMPARE_EQ || a->comparison == COMPARE_IN;
		bool never = names && excludes_all(rule, a);

		for (size_t j = 0; j < rule->condition_count && !never; j++) {
			const struct condition *b = &rule->conditions[j];

			never = same_field(a, b) && exclude_each_other(a, b);
		}
		if (never) {
			text_add_format(why, "its conditions on '%s' contradict each other",
					a->field.name);
			return true;
		}
	}
	return false;
}

/* ---- what the provider's manifest knows ---- */

/* What the events of a manifest that a rule is about come to. */
struct known {
	bool provider; /* some manifest is the provider's */
	size_t events; /* of the rule */
	size_t having; /* of these, the field looked for */
};

static bool has_field(const struct schema *schema, const char *name)
{
	struct field_path path;

	return schema && name && field_path_find(schema, name, &path);
}

static bool has_version(const struct rule *rule, uint8_t version)
{
	return rule->every_version || (rule->versions[version / 64] >> version % 64 & 1) != 0;
}

static void look_at(const struct manifest_set_provider *provider, const struct rule *rule,
		    const char *field, struct known *known)
{
	struct manifest_event event;
	struct text name = { 0 };
	struct event_class class = {
		.provider = *provider->guid,
		.provider_name = manifest_provider_name(provider->manifest, provider->index),
	};

	if (!event_pattern_names(&rule->event, &class)) {
		return;
	}
	known->provider = true;
	for (size_t i = 0; manifest_event(provider->manifest, provider->index, i, &event); i++) {
		text_clear(&name);
		event_schema_name(event.schema, &name);
		class.schema = event.schema;
		class.event_name = name.data ? name.data : "";
		class.id = event.id;
		class.version = event.version;
		class.opcode = event.opcode;
		if (event_pattern_matches(&rule->event, &class) &&
		    has_version(rule, event.version)) {
			known->events++;
			known->having += has_field(event.schema, field);
		}
	}
	text_free(&name);
}

static struct known look(const struct manifest_set *const *manifests, size_t count,
			 const struct rule *rule, const char *field)
{
	struct manifest_set_provider provider;
	struct known known = { 0 };

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; manifest_set_provider(manifests[i], j, &provider); j++) {
			look_at(&provider, rule, field, &known);
		}
	}
	return known;
}

/* A field that the rule cannot do without, by number; NULL behind the last. */
static const struct field_ref *needed_field(const struct rule *rule, size_t number)
{
	if (number < rule->condition_count) {
		return &rule->conditions[number].field;
	}
	return number == rule->condition_count     ? &rule->value :
	       number == rule->condition_count + 1 ? &rule->since :
						     NULL;
}

/* What another event brings is in no layout of this one. */
static bool is_carried(const struct rule *rule, const struct field_ref *field)
{
	return rule->pair && pair_find_carried(rule->pair, field->name) < rule->pair->carry_count;
}

bool rule_trial_never(const struct trial_rule *tried, const struct manifest_set *const *manifests,
		      size_t manifest_count, struct text *why)
{
	const struct rule *rule = tried->rule;
	const struct field_ref *field;
	struct known known;

	if (tried->counted > 0) {
		return false;
	}
	if (contradicts(rule, why)) {
		return true;
	}
	if (rule->event.scope != EVENTS_PROVIDER || tried->events > 0) {
		return false; /* the kernel's are held against their layouts when they are read */
	}
	known = look(manifests, manifest_count, rule, NULL);
	if (!known.provider) {
		return false;
	}
	if (known.events == 0) {
		text_add_format(why, "the manifest of its provider has no event '%s'%s",
				rule->event_at->text,
				rule->every_version ? "" : " of such a version");
		return true;
	}
	for (size_t i = 0; (field = needed_field(rule, i)) != NULL; i++) {
		if (field->name && field->derived == DERIVED_NONE && !is_carried(rule, field) &&
		    look(manifests, manifest_count, rule, field->name).having == 0) {
			text_add_format(why, "event '%s' has no field '%s'", rule->event_at->text,
					field->name);
			return true;
		}
	}
	return false;
}

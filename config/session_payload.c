/* SPDX-License-Identifier: MIT */
/*
 * Reads `payload:`. Windows takes values as text and converts them to the type of the field, so
 * whether a field exists and takes the operator shows only when its manifest is asked, at the start
 * of the session; what no manifest could take is refused here.
 *
 * Source: "PAYLOAD_FILTER_PREDICATE structure", "TdhCreatePayloadFilter function", Microsoft Learn.
 */
#include "config/session_payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { FILTERS_MOST = 64 };

enum value_type_ { VALUE_NUMBER, VALUE_RANGE, VALUE_TEXT };

/* Behind "field"; the last has no key. */
static const struct operator_word {
	const char *key;
	enum payload_operator op;
	enum value_type_ type;
} operators[] = {
	{ "eq", PAYLOAD_EQ, VALUE_NUMBER },
	{ "ne", PAYLOAD_NE, VALUE_NUMBER },
	{ "lt", PAYLOAD_LT, VALUE_NUMBER },
	{ "le", PAYLOAD_LE, VALUE_NUMBER },
	{ "gt", PAYLOAD_GT, VALUE_NUMBER },
	{ "ge", PAYLOAD_GE, VALUE_NUMBER },
	{ "between", PAYLOAD_BETWEEN, VALUE_RANGE },
	{ "not_between", PAYLOAD_NOT_BETWEEN, VALUE_RANGE },
	{ "modulo", PAYLOAD_MODULO, VALUE_NUMBER },
	{ "contains", PAYLOAD_CONTAINS, VALUE_TEXT },
	{ "not_contains", PAYLOAD_CONTAINS_NOT, VALUE_TEXT },
	{ "is", PAYLOAD_IS, VALUE_TEXT },
	{ "is_not", PAYLOAD_IS_NOT, VALUE_TEXT },
	{ NULL, PAYLOAD_EQ, VALUE_TEXT },
};

/* ---- values ---- */

static bool add_number(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		       struct text *value, struct error *err)
{
	int64_t negative;
	uint64_t number;

	if (node->type == YAML_TEXT && node->text[0] == '-' &&
	    parse_i64(node->text, node->size, &negative)) {
		text_add_i64(value, negative);
		return true;
	}
	if (!yaml_number(tree, node, what, 0, UINT64_MAX, &number, err)) {
		return false;
	}
	text_add_u64(value, number);
	return true;
}

static bool add_range(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		      struct text *value, struct error *err)
{
	if (!yaml_is_list(tree, node, what, err)) {
		return false;
	}
	if (node->size != 2) {
		return yaml_error(tree, node, err, "%s: expected two numbers", what);
	}
	if (!add_number(tree, node->first, what, value, err)) {
		return false;
	}
	text_add_char(value, ',');
	return add_number(tree, node->first->next, what, value, err);
}

static bool add_text(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		     struct text *value, struct error *err)
{
	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	if (node->size == 0) {
		return yaml_error(tree, node, err, "%s: expected a text", what);
	}
	text_add(value, node->text, node->size);
	return true;
}

static bool read_value(const struct yaml_tree *tree, const struct yaml_node *node,
		       const struct operator_word *word, char **value, struct error *err)
{
	static bool (*const add[])(const struct yaml_tree *tree, const struct yaml_node *node,
				   const char *what, struct text *value, struct error *err) = {
		[VALUE_NUMBER] = add_number, [VALUE_RANGE] = add_range, [VALUE_TEXT] = add_text
	};
	struct text text = { 0 };
	bool good = add[word->type](tree, node, word->key, &text, err);

	if (good && text.failed) {
		good = error_set(err, ERROR_NO_MEMORY, "no memory for payload filters");
	}
	if (!good) {
		text_free(&text);
		return false;
	}
	*value = text.data;
	return true;
}

/* ---- conditions ---- */

/* { field: QueryStatus, ne: 0 } */
static bool read_condition(const struct yaml_tree *tree, const struct yaml_node *node,
			   struct payload_condition *condition, struct error *err)
{
	const char *keys[sizeof operators / sizeof operators[0] + 1] = { "field" };
	const struct operator_word *word = operators;
	const struct yaml_node *field;

	for (size_t i = 0; operators[i].key; i++) {
		keys[i + 1] = operators[i].key;
	}
	if (!yaml_is_map(tree, node, "condition", err) || !yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	field = yaml_find(node, "field");
	if (!field || node->size != 2) {
		return yaml_error(tree, node, err,
				  "condition: expected a field and one operator, such as "
				  "{ field: Status, ne: 0 }");
	}
	if (!yaml_is_text(tree, field, "field", err)) {
		return false;
	}
	if (field->size == 0) {
		return yaml_error(tree, field, err, "field: expected a name");
	}
	while (!yaml_find(node, word->key)) {
		word++; /* one of the two keys is an operator */
	}
	condition->op = word->op;
	condition->field = text_duplicate(field->text, field->size);
	if (!condition->field) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for payload filters");
	}
	return read_value(tree, yaml_find(node, word->key), word, &condition->value, err);
}

/* { event: 3008, all: [...] } or { event: 3008, any: [...] } */
static bool read_filter(const struct yaml_tree *tree, const struct yaml_node *node,
			struct payload_filter *filter, struct error *err)
{
	static const char *const keys[] = { "event", "all", "any", NULL };
	const struct yaml_node *event, *conditions;
	uint64_t id;

	if (!yaml_is_map(tree, node, "payload", err) || !yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	event = yaml_find(node, "event");
	conditions = yaml_find(node, "any");
	filter->any = conditions != NULL;
	conditions = conditions ? conditions : yaml_find(node, "all");
	if (!event || !conditions || node->size != 2) {
		return yaml_error(tree, node, err,
				  "payload: expected event, and either all or any with conditions");
	}
	if (!yaml_number(tree, event, "event", 0, UINT16_MAX, &id, err) ||
	    !yaml_is_list(tree, conditions, conditions->key->text, err)) {
		return false;
	}
	filter->event = (uint16_t)id;
	if (conditions->size == 0 || conditions->size > PAYLOAD_CONDITIONS_MAX) {
		return yaml_error(tree, conditions, err, "%s: expected 1 to %d conditions",
				  conditions->key->text, PAYLOAD_CONDITIONS_MAX);
	}
	for (const struct yaml_node *entry = conditions->first; entry; entry = entry->next) {
		if (!read_condition(tree, entry, &filter->conditions[filter->condition_count++],
				    err)) {
			return false;
		}
	}
	return true;
}

bool session_payload_read(const struct yaml_tree *tree, const struct yaml_node *node,
			  struct provider_spec *spec, struct error *err)
{
	if (!yaml_is_list(tree, node, "payload", err)) {
		return false;
	}
	if (node->size > FILTERS_MOST) {
		return yaml_error(tree, node, err, "payload: at most %d events", FILTERS_MOST);
	}
	spec->payload = calloc(node->size + 1, sizeof *spec->payload);
	if (!spec->payload) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for payload filters");
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct payload_filter *filter = &spec->payload[spec->payload_count++];

		if (!read_filter(tree, entry, filter, err)) {
			return false;
		}
		for (size_t i = 0; i + 1 < spec->payload_count; i++) {
			if (spec->payload[i].event == filter->event) {
				return yaml_error(tree, entry, err,
						  "payload: event %u stands here twice; put its "
						  "conditions together",
						  filter->event);
			}
		}
	}
	return true;
}

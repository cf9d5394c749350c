/* SPDX-License-Identifier: MIT */
/*
 * Reads conditions that are given as text, as `etwtool dump --where` has them.
 *
 * A probe is a rule on every event of which only the conditions are used, so the rule engine
 * compiles and checks it like any other. Each condition is one text: field, comparison, literal,
 * separated by blanks. The text is copied and cut into words in place, and the literals point into
 * the copy. Unlike a rule of a collector, a probe is not checked against layouts: it applies to the
 * events of every class, and a class that lacks the field does not fulfil it.
 */
#include "exporter/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "exporter/rules/language/rule_set.h"

/* A condition with the memory that it points to. */
struct owned_condition {
	char *text;               /* owned; cut into words by NULs */
	struct literal *literals; /* owned; they point into text */
	struct regex *regex;
};

struct probe {
	struct rule rule; /* a rule on every event, with the conditions */
	struct condition conditions[PROBE_CONDITIONS_MOST];
	struct owned_condition owned[PROBE_CONDITIONS_MOST];
};

struct probe *probe_new(struct etw_error *err)
{
	struct probe *probe = calloc(1, sizeof *probe);

	if (!probe) {
		error_no_memory(err, "conditions");
		return NULL;
	}
	probe->rule.event.scope = EVENTS_ALL;
	probe->rule.conditions = probe->conditions;
	return probe;
}

static void free_condition(struct owned_condition *owned)
{
	free(owned->text);
	free(owned->literals);
	regex_free(owned->regex);
}

void probe_free(struct probe *probe)
{
	if (!probe) {
		return;
	}
	for (size_t i = 0; i < probe->rule.condition_count; i++) {
		free_condition(&probe->owned[i]);
	}
	free(probe);
}

#define BLANKS " \t"
#define SIGNS  "<>=!~"

enum { OPERATOR_SIZE_MAX = 16 };

/*
 * Cuts "FIELD OPERATOR LITERAL" into its parts. Blanks may be left out beside an operator that
 * consists of signs: "IoSize>4096". Returns false if a part is missing, or if the operator is too
 * long.
 */
static bool cut(char *text, char **field, char operator[OPERATOR_SIZE_MAX], char **literal)
{
	char *at = text + strspn(text, BLANKS), *end;
	size_t size;

	*field = at;
	end = at + strcspn(at, BLANKS SIGNS);
	at = end + strspn(end, BLANKS);
	size = strspn(at, SIGNS);
	if (size == 0) {
		size = at > end ? strcspn(at, BLANKS) : 0;
	}
	if (end == *field || size == 0 || size >= OPERATOR_SIZE_MAX) {
		return false;
	}
	memcpy(operator, at, size);
	operator[size] = '\0';
	at += size;
	*literal = at + strspn(at, BLANKS);
	*end = '\0';
	return **literal != '\0';
}

static bool find_comparison(const char *word, enum comparison *comparison, struct etw_error *err)
{
	struct nearest nearest = { .word = word, .size = strlen(word) };

	if (comparison_find(word, comparison)) {
		return true;
	}
	for (unsigned i = 0; i <= COMPARE_MATCHES; i++) {
		nearest_offer(&nearest, comparison_name((enum comparison)i));
	}
	return error_set(err, ETW_ERROR_CONFIG, "unknown comparison '%s'; %s%s%s", word,
			 nearest.best ? "did you mean '" : "there are eq ne lt le gt ge in has ",
			 nearest.best ? nearest.best : "lacks starts ends matches",
			 nearest.best ? "'?" : "");
}

/* Reads one literal, or those of a list; each text ends with a NUL. */
static bool read_literals(char *text, struct condition *condition, struct owned_condition *owned,
			  struct etw_error *err)
{
	bool list = condition->comparison == COMPARE_IN;
	size_t count = 1;

	for (const char *at = text; list && *at; at++) {
		count += *at == ',';
	}
	owned->literals = calloc(count, sizeof *owned->literals);
	if (!owned->literals) {
		return error_no_memory(err, "a condition");
	}
	for (size_t i = 0; i < count; i++) {
		char *end = list ? strchr(text, ',') : NULL;

		if (end) {
			*end = '\0';
		}
		owned->literals[i] = literal_of(text, strlen(text));
		text += owned->literals[i].size + 1;
		text += list && end ? strspn(text, " \t") : 0;
	}
	condition->literals = owned->literals;
	condition->literal_count = count;
	return true;
}

static bool read_condition(struct condition *condition, struct owned_condition *owned,
			   struct etw_error *err)
{
	char comparison[OPERATOR_SIZE_MAX];
	char *field, *at;

	if (!cut(owned->text, &field, comparison, &at)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096");
	}
	condition->field = (struct field_ref){ .name = field, .derived = derived_find(field) };
	if (!find_comparison(comparison, &condition->comparison, err) ||
	    !read_literals(at, condition, owned, err)) {
		return false;
	}
	if (compares_numbers(condition->comparison) && !condition->literals->integer) {
		return error_set(err, ETW_ERROR_CONFIG, "'%s' wants a number, not '%s'", comparison,
				 condition->literals->text);
	}
	if (condition->comparison == COMPARE_MATCHES) {
		owned->regex = regex_new(at, strlen(at), err);
		condition->regex = owned->regex;
		return owned->regex != NULL;
	}
	return true;
}

bool probe_add(struct probe *probe, const char *text, struct etw_error *err)
{
	size_t count = probe->rule.condition_count;
	struct owned_condition *owned = &probe->owned[count];

	if (count == PROBE_CONDITIONS_MOST) {
		return error_set(err, ETW_ERROR_LIMIT, "more than %d conditions",
				 PROBE_CONDITIONS_MOST);
	}
	owned->text = text_duplicate(text, strlen(text));
	if (!owned->text) {
		return error_no_memory(err, "a condition");
	}
	if (!read_condition(&probe->conditions[count], owned, err)) {
		free_condition(owned);
		*owned = (struct owned_condition){ .text = NULL };
		return error_prefix(err, "'%s'", text);
	}
	probe->rule.condition_count++;
	return true;
}

const char *probe_field(const struct probe *probe, size_t index)
{
	return index < probe->rule.condition_count ? probe->rule.conditions[index].field.name :
						     NULL;
}

uint32_t probe_features(const struct probe *probe)
{
	return rule_features(&probe->rule);
}

const struct rule *probe_rule(const struct probe *probe)
{
	return &probe->rule;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reads conditions that are given as text, as `etwtool dump --where` has them.
 *
 * A probe is a rule on every event of which only the conditions count, so the rule engine compiles
 * and checks it like any other. Each condition is one text: field, comparison, literal, separated
 * by blanks. The text is copied and cut into words in place, and the literals point into the copy.
 * Unlike a rule of a collector a probe is not checked against layouts: it is for the events of
 * every class, so a class that lacks the field does not fulfil it.
 */
#include "rules/language/probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "rules/language/rule_set.h"

/* A condition with what it points to. */
struct owned_condition {
	char *text;               /* cut into words by NULs */
	struct literal *literals; /* into text */
	struct regex *regex;
};

struct probe {
	struct rule rule; /* on every event, with the conditions */
	struct condition conditions[PROBE_CONDITIONS_MOST];
	struct owned_condition owned[PROBE_CONDITIONS_MOST];
};

struct probe *probe_new(struct error *err)
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

/* Cuts the next word off, at the blanks behind it; NULL when there is none. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");
	size_t size = strcspn(word, " \t");

	*at = word + size;
	if (size > 0 && **at != '\0') {
		*(*at)++ = '\0';
	}
	return size > 0 ? word : NULL;
}

static bool find_comparison(const char *word, enum comparison *comparison, struct error *err)
{
	struct nearest nearest = { .word = word, .size = strlen(word) };

	for (unsigned i = 0; i <= COMPARE_MATCHES; i++) {
		if (strcmp(comparison_name((enum comparison)i), word) == 0) {
			*comparison = (enum comparison)i;
			return true;
		}
		nearest_offer(&nearest, comparison_name((enum comparison)i));
	}
	return error_set(err, ERROR_CONFIG, "unknown comparison '%s'; %s%s%s", word,
			 nearest.best ? "did you mean '" : "there are eq ne lt le gt ge in has ",
			 nearest.best ? nearest.best : "lacks starts ends matches",
			 nearest.best ? "'?" : "");
}

/* One literal, or those of a list; their texts end in NULs. */
static bool read_literals(char *text, struct condition *condition, struct owned_condition *owned,
			  struct error *err)
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
			   struct error *err)
{
	char *at = owned->text;
	char *field = next_word(&at);
	char *comparison = next_word(&at);

	at += strspn(at, " \t");
	if (!comparison || *at == '\0') {
		return error_set(err, ERROR_CONFIG,
				 "wants FIELD OPERATOR LITERAL, such as TransferSize gt 4096");
	}
	condition->field = (struct field_ref){ .name = field, .derived = derived_find(field) };
	if (!find_comparison(comparison, &condition->comparison, err) ||
	    !read_literals(at, condition, owned, err)) {
		return false;
	}
	if (compares_numbers(condition->comparison) && !condition->literals->integer) {
		return error_set(err, ERROR_CONFIG, "'%s' wants a number, not '%s'", comparison,
				 condition->literals->text);
	}
	if (condition->comparison == COMPARE_MATCHES) {
		owned->regex = regex_new(at, strlen(at), err);
		condition->regex = owned->regex;
		return owned->regex != NULL;
	}
	return true;
}

bool probe_add(struct probe *probe, const char *text, struct error *err)
{
	size_t count = probe->rule.condition_count;
	struct owned_condition *owned = &probe->owned[count];

	if (count == PROBE_CONDITIONS_MOST) {
		return error_set(err, ERROR_LIMIT, "more than %d conditions",
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

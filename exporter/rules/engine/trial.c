/* SPDX-License-Identifier: MIT */
#include "rules/engine/trial.h"

#include <stdlib.h>
#include <string.h>

#include "rules/engine/engine.h"

struct rule_trial {
	struct trial_rule *rules; /* owned; of the set's rules */
	size_t count;
};

struct rule_trial *rule_trial_new(const struct rule_set *set, struct error *err)
{
	struct rule_trial *trial = calloc(1, sizeof *trial);

	if (trial) {
		trial->rules = calloc(set->rule_count + 1, sizeof *trial->rules);
	}
	if (!trial || !trial->rules) {
		error_set(err, ERROR_NO_MEMORY, "no memory to try rules");
		rule_trial_free(trial);
		return NULL;
	}
	trial->count = set->rule_count;
	for (size_t i = 0; i < trial->count; i++) {
		trial->rules[i].rule = set->rules[i].rule;
	}
	return trial;
}

void rule_trial_free(struct rule_trial *trial)
{
	if (trial) {
		free(trial->rules);
		free(trial);
	}
}

const struct trial_rule *rule_trial_at(const struct rule_trial *trial, size_t index)
{
	return index < trial->count ? &trial->rules[index] : NULL;
}

static void miss(struct trial_rule *rule, const char *field)
{
	for (size_t i = 0; i < rule->missing_count; i++) {
		if (strcmp(rule->missing[i].field, field) == 0) {
			rule->missing[i].events++;
			return;
		}
	}
	if (rule->missing_count < TRIAL_MISSING_MAX) {
		rule->missing[rule->missing_count].field = field;
		rule->missing[rule->missing_count++].events = 1;
	}
}

void trial_event(struct rule_trial *trial, const struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->note_count; i++) {
		const struct dry_run_note *note = &compiled->notes[i];
		struct trial_rule *rule = &trial->rules[note->number];

		if (note->missing) {
			miss(rule, note->missing);
			continue;
		}
		rule->events++;
		rule->left_out += note->left_out;
		rule->wrong_type += note->wrong_type;
	}
}

/* Whether the event at hand lacks the value that others have. */
static bool lacks(const struct compiled_rules *compiled, const struct value *value)
{
	return value->type != VALUE_CONSTANT && value->generation == compiled->generation &&
	       value->state == VALUE_UNKNOWN;
}

void trial_result(struct rule_trial *trial, const struct compiled_rules *compiled,
		  const struct compiled_rule *rule, enum event_result result)
{
	struct trial_rule *counts = &trial->rules[rule->number];
	bool missing = false;

	if (result == CUT_SHORT) {
		counts->cut++;
		return;
	}
	for (unsigned i = 0; i < rule->condition_count; i++) {
		if (lacks(compiled, rule->conditions[i].value)) {
			miss(counts, rule->conditions[i].condition->field.name);
			missing = true;
		}
	}
	if (!missing && rule->value && lacks(compiled, rule->value)) {
		miss(counts, counts->rule->since.name ? counts->rule->since.name :
							counts->rule->value.name);
		missing = true;
	}
	if (result == NOT_APPLIED) {
		counts->left_out += !missing;
		return;
	}
	counts->counted++;
	for (unsigned i = 0; i < rule->labels.varying_count; i++) {
		const struct compiled_label *label =
			&compiled->labels[rule->labels.varying[i].label];

		if (lacks(compiled, label->value)) {
			miss(counts, label->label->field.name);
		}
	}
}

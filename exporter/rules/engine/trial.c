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

void trial_event(struct rule_trial *trial, const struct plan *plan)
{
	for (size_t i = 0; i < plan->tried_count; i++) {
		const struct plan_tried *tried = &plan->tried[i];
		struct trial_rule *rule = &trial->rules[tried->number];

		if (tried->missing) {
			miss(rule, tried->missing);
			continue;
		}
		rule->events++;
		rule->left_out += tried->left_out;
		rule->wrong_type += tried->wrong_type;
	}
}

/* Whether the event at hand lacks the value that others have. */
static bool lacks(const struct plan *plan, const struct value *value)
{
	return value->type != VALUE_CONSTANT && value->generation == plan->generation &&
	       value->state == VALUE_UNKNOWN;
}

void trial_applied(struct rule_trial *trial, const struct plan *plan, const struct plan_rule *rule,
		   enum applied applied)
{
	struct trial_rule *tried = &trial->rules[rule->number];
	bool missing = false;

	if (applied == CUT_SHORT) {
		tried->cut++;
		return;
	}
	for (unsigned i = 0; i < rule->condition_count; i++) {
		if (lacks(plan, rule->conditions[i].value)) {
			miss(tried, rule->conditions[i].condition->field.name);
			missing = true;
		}
	}
	if (!missing && rule->value && lacks(plan, rule->value)) {
		miss(tried,
		     tried->rule->since.name ? tried->rule->since.name : tried->rule->value.name);
		missing = true;
	}
	if (applied == NOT_APPLIED) {
		tried->left_out += !missing;
		return;
	}
	tried->counted++;
	for (unsigned i = 0; i < rule->labels.varying_count; i++) {
		const struct plan_label *label = &plan->labels[rule->labels.varying[i].label];

		if (lacks(plan, label->value)) {
			miss(tried, label->label->field.name);
		}
	}
}

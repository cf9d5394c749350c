/* SPDX-License-Identifier: MIT */
#include "exporter/rules/engine/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "exporter/rules/engine/engine.h"

struct dry_run {
	size_t count;
	struct dry_run_rule rules[]; /* in the order of the set's rules */
};

struct dry_run *dry_run_new(const struct rule_set *set, struct etw_error *err)
{
	struct dry_run *dry_run =
		calloc(1, sizeof *dry_run + set->rule_count * sizeof dry_run->rules[0]);

	if (!dry_run) {
		error_no_memory(err, "a dry run of rules");
		return NULL;
	}
	dry_run->count = set->rule_count;
	for (size_t i = 0; i < dry_run->count; i++) {
		dry_run->rules[i].rule = set->rules[i].rule;
	}
	return dry_run;
}

void dry_run_free(struct dry_run *dry_run)
{
	free(dry_run);
}

const struct dry_run_rule *dry_run_at(const struct dry_run *dry_run, size_t index)
{
	return index < dry_run->count ? &dry_run->rules[index] : NULL;
}

static void miss(struct dry_run_rule *rule, const char *field)
{
	for (size_t i = 0; i < rule->missing_count; i++) {
		if (strcmp(rule->missing[i].field, field) == 0) {
			rule->missing[i].events++;
			return;
		}
	}
	if (rule->missing_count < DRY_RUN_MISSING_MAX) {
		rule->missing[rule->missing_count].field = field;
		rule->missing[rule->missing_count++].events = 1;
	}
}

void dry_run_event(struct dry_run *dry_run, const struct compiled_rules *compiled)
{
	for (size_t i = 0; i < compiled->note_count; i++) {
		const struct dry_run_note *note = &compiled->notes[i];
		struct dry_run_rule *rule = &dry_run->rules[note->number];

		if (note->missing) {
			miss(rule, note->missing);
			continue;
		}
		rule->events++;
		rule->left_out += note->left_out;
		rule->wrong_type += note->wrong_type;
	}
}

/* Whether the value is missing in the current event although other events have it. */
static bool lacks(const struct compiled_rules *compiled, const struct value *value)
{
	return value->type != VALUE_CONSTANT && value->generation == compiled->generation &&
	       value->state == VALUE_UNKNOWN;
}

void dry_run_result(struct dry_run *dry_run, const struct compiled_rules *compiled,
		    const struct compiled_rule *rule, enum event_result result)
{
	struct dry_run_rule *counts = &dry_run->rules[rule->number];
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

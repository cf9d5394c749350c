/* SPDX-License-Identifier: MIT */
/*
 * Labels of a plan: the ones that all events of the kind share are ids at once, the others are made
 * once for an event however many rules show them.
 */
#include <stdlib.h>
#include <string.h>

#include "rules/plan.h"
#include "rules/trial_parts.h"

void plan_free_label(struct plan_label *label)
{
	free(label->numbers);
	free(label->memo);
}

/* A label that another rule has made of the same value already. */
static bool find_label(const struct plan *plan, const struct plan_label *label, uint16_t *index)
{
	for (size_t i = 0; i < plan->label_count; i++) {
		if (plan->labels[i].slot_index == label->slot_index &&
		    (plan->labels[i].label == label->label ||
		     (plan->labels[i].label->source == LABEL_FIELD &&
		      label->label->source == LABEL_FIELD))) {
			*index = (uint16_t)i;
			return true;
		}
	}
	return false;
}

/* Takes what the label owns. */
static enum fate add_label(struct builder *builder, struct plan_label *label, uint8_t position,
			   struct plan_label_set *set)
{
	struct plan *plan = builder->plan;
	struct plan_label *labels;
	uint16_t index;

	if (find_label(plan, label, &index)) {
		plan_free_label(label);
	} else {
		labels = plan->label_count < LABELS_MAX ?
				 realloc(plan->labels, (plan->label_count + 1) * sizeof *labels) :
				 NULL;
		if (!labels) {
			plan_free_label(label);
			return RULE_FAILED;
		}
		plan->labels = labels;
		label->owner = ++builder->engine->owners;
		index = (uint16_t)plan->label_count++;
		labels[index] = *label;
	}
	set->varying[set->varying_count].position = position;
	set->varying[set->varying_count].label = index;
	set->varying_count++;
	return RULE_APPLIES;
}

/* The literals of a map, as numbers of the slot. */
static enum fate map_numbers(struct builder *builder, const struct slot *slot,
			     struct plan_label *label)
{
	size_t count = label->label->entry_count;

	if (slot->form != FORM_NUMBER || count == 0) {
		return RULE_APPLIES;
	}
	label->numbers = calloc(count, sizeof *label->numbers);
	if (!label->numbers) {
		return RULE_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		if (!literal_for(&label->label->entries[i].from, slot, &label->numbers[i])) {
			return plan_wrong_type(builder);
		}
	}
	return RULE_APPLIES;
}

static enum fate plan_label(struct builder *builder, const struct label *label, uint8_t position,
			    struct plan_label_set *set)
{
	struct plan_label planned = { .label = label };
	const struct slot *slot;
	enum fate fate;

	if (label->source == LABEL_TEXT) {
		set->ids[position] = intern_string(builder->engine->strings, label->text);
		return RULE_APPLIES;
	}
	planned.slot_index = plan_find_slot(builder, &label->field);
	if (planned.slot_index == NO_SLOT) {
		if (builder->failed) {
			return RULE_FAILED;
		}
		/* An old layout without the field is no mistake; a new one without it may be, of
		 * the rule. */
		trial_plan_missing(builder, &label->field);
		builder->problem_rule |= builder->plan->schema && !builder->kernel;
		builder->plan->lacks_schema |= !builder->plan->schema;
		set->ids[position] = builder->engine->unknown;
		return RULE_APPLIES;
	}
	slot = &builder->plan->slots[planned.slot_index];
	planned.plain = slot->form == FORM_ID && label->source == LABEL_FIELD;
	fate = map_numbers(builder, slot, &planned);
	if (fate == RULE_APPLIES && slot->type == SLOT_CONSTANT) {
		set->ids[position] = planned.plain ? (uint32_t)slot->read.number :
						     label_compute(builder->engine, &planned, slot);
	} else if (fate == RULE_APPLIES) {
		if (!planned.plain && slot->form != FORM_TEXT) {
			planned.memo = memo_new();
			if (!planned.memo) {
				plan_free_label(&planned);
				return RULE_FAILED;
			}
		}
		return add_label(builder, &planned, position, set);
	}
	plan_free_label(&planned);
	return fate;
}

/* Puts the rule into the group of its labels. */
static enum fate join_group(struct builder *builder, struct plan_rule *rule)
{
	struct plan *plan = builder->plan;
	struct plan_group group = { 0 };
	struct plan_group *groups;
	size_t index;

	for (unsigned label = 0; label < plan->label_count; label++) {
		for (unsigned i = 0; i < rule->labels.varying_count; i++) {
			if (rule->labels.varying[i].label == label) {
				group.label_indexes[group.label_count++] = (uint16_t)label;
				break;
			}
		}
	}
	for (index = 0; index < plan->group_count; index++) {
		if (plan->groups[index].label_count == group.label_count &&
		    memcmp(plan->groups[index].label_indexes, group.label_indexes,
			   sizeof group.label_indexes) == 0) {
			break;
		}
	}
	if (index == plan->group_count) {
		groups = realloc(plan->groups, (plan->group_count + 1) * sizeof *groups);
		if (!groups) {
			return RULE_FAILED;
		}
		plan->groups = groups;
		groups[plan->group_count++] = group;
	}
	rule->group_index = (uint16_t)index;
	rule->index = plan->groups[index].rule_count++;
	return RULE_APPLIES;
}

enum fate plan_label_set(struct builder *builder, const struct label *labels, size_t count,
			 struct plan_label_set *set)
{
	for (size_t i = 0; i < count; i++) {
		enum fate fate = plan_label(builder, &labels[i], (uint8_t)i, set);

		if (fate != RULE_APPLIES) {
			return fate;
		}
	}
	return builder->failed ? RULE_FAILED : RULE_APPLIES;
}

enum fate plan_labels(struct builder *builder, const struct rule *from, struct plan_rule *rule)
{
	enum fate fate = plan_label_set(builder, from->labels, from->label_count, &rule->labels);

	return fate == RULE_APPLIES ? join_group(builder, rule) : fate;
}

/* SPDX-License-Identifier: MIT */
/*
 * The making of a plan, in parts: slots in plan_slots.c, labels in plan_labels.c, pairs in
 * plan_pairs.c, conditions, values and the whole in plan.c.
 */
#ifndef RULES_PLAN_H
#define RULES_PLAN_H

#include "rules/engine.h"

enum { NO_SLOT = UINT16_MAX, SLOTS_MAX = 4096, LABELS_MAX = 4096 };

/* A plan under construction. */
struct builder {
	struct rule_engine *engine;
	const struct event_class *class;
	struct plan *plan;
	const struct active_rule *rule; /* NULL: none of the set's */
	bool failed;                    /* no memory */
	bool kernel;       /* its rules were held against its layouts when they were read */
	bool lacks;        /* the rule at hand cannot apply for want of a field */
	bool wrong_type;   /* … of a field of the right type */
	bool problem_rule; /* a rule asks for what the layout lacks */
	bool problem_type; /* a rule asks for another type */
};

/* What became of a rule for this kind. */
enum fate { RULE_APPLIES, RULE_NEVER, RULE_FAILED };

/* A rule cannot apply, because a field that it asks for is not there. */
enum fate plan_lacks_field(struct builder *builder, const struct field_ref *field);

/* Finds out which pairs the kind begins and ends; before the rules. False without memory. */
bool plan_pairs(struct builder *builder);

/* Index in plan.stops; NO_SLOT: the kind does not end the pair. */
uint16_t plan_find_stop(const struct plan *plan, size_t pair);

/* The slot of a field. NO_SLOT: this kind has no such field, or builder->failed. */
uint16_t plan_find_slot(struct builder *builder, const struct field_ref *field);

/* Label values that are constant go into the rule's ids, the others into plan.labels; the rule
 * joins its group. */
enum fate plan_labels(struct builder *builder, const struct rule *from, struct plan_rule *rule);

/* The same of labels that belong to no rule. */
enum fate plan_label_set(struct builder *builder, const struct label *labels, size_t count,
			 struct plan_label_set *set);
void plan_free_label(struct plan_label *label);

/* A rule asks for a type that its field is not of. */
static inline enum fate plan_wrong_type(struct builder *builder)
{
	builder->problem_type = true;
	builder->wrong_type = true;
	return RULE_NEVER;
}

#endif

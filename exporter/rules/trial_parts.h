/* SPDX-License-Identifier: MIT */
/*
 * What an engine tells a trial.
 */
#ifndef RULES_TRIAL_PARTS_H
#define RULES_TRIAL_PARTS_H

#include "rules/plan.h"
#include "rules/trial.h"

/* A kind is planned: what became of the rule at `number` of the set. */
void trial_plan_rule(struct builder *builder, size_t number, enum fate fate);

/* A field that the layout of the kind lacks, of the rule being planned. */
void trial_plan_missing(struct builder *builder, const struct field_ref *field);

/* An event of the kind comes; what a rule did with it. */
void trial_event(struct rule_trial *trial, const struct plan *plan);
void trial_applied(struct rule_trial *trial, const struct plan *plan, const struct plan_rule *rule,
		   enum applied applied);

#endif

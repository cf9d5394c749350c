/* SPDX-License-Identifier: MIT */
/*
 * A compiled event class under construction, and the values in it; compile.c makes the whole.
 */
#ifndef RULES_COMPILE_VALUES_H
#define RULES_COMPILE_VALUES_H

#include "rules/engine/engine.h"

enum { NO_VALUE = UINT16_MAX };

#define NO_NUMBERS UINT32_MAX

struct builder {
	struct rule_engine *engine;
	const struct event_class *class;
	struct compiled_rules *compiled; /* of the engine's draft */
	const struct active_rule *rule;  /* NULL: none of the set's */
	bool failed;                     /* no memory */
	bool kernel;       /* its rules were held against its layouts when they were read */
	bool lacks;        /* the rule at hand cannot apply for want of a field */
	bool wrong_type;   /* … of a field of the right type */
	bool problem_rule; /* a rule needs what the layout lacks */
	bool problem_type; /* a rule needs another type */
};

/* What became of a rule for this class. */
enum rule_result { RULE_APPLIES, RULE_NEVER, RULE_FAILED };

/* A rule cannot apply, because its value or a condition needs a field that the layout lacks. */
enum rule_result compile_lacks_field(struct builder *builder, const struct field_ref *field);

/* A rule needs another type than that of its field. */
enum rule_result compile_wrong_type(struct builder *builder);

/* Notes something for the dry run, if there is one. */
void compile_add_note(struct builder *builder, const struct dry_run_note *note);

/* Finds out which spans the class starts and stops; before the rules. False without memory. */
bool compile_spans(struct builder *builder);

/* The index of a field's value. NO_VALUE: this class has no such field, or builder->failed. */
uint16_t compile_find_value(struct builder *builder, const struct field_ref *field);

/* Lets values point to the parts that they are, after parts were moved. */
void compile_link_parts(struct compiled_rules *compiled);

/* The index of room for the numbers of count literals; NO_NUMBERS without memory. */
uint32_t compile_add_numbers(struct builder *builder, size_t count);

/* Label values that are constant go into the rule's ids, the others into compiled.labels; the
 * rule gets the cache of its label sets. */
enum rule_result compile_labels(struct builder *builder, const struct rule *from,
				struct compiled_rule *rule);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The checking of a collector, in parts: events and fields in check_fields.c, the rest in check.c.
 */
#ifndef RULES_CHECKER_H
#define RULES_CHECKER_H

#include "rules/language/collector.h"

struct checker {
	const struct collector *collector;
	const struct configured_manifests *manifests;
	struct error *err;
};

/* Finds out what a field is for the events of a rule: fills its type. An error when it is none. */
bool check_field(struct checker *checker, const struct rule *rule, struct field_ref *field);

/* Whether the event of a rule can be one. */
bool check_event(struct checker *checker, const struct rule *rule);

/* Whether the literal is a number, or else the name of a value of the field in some layout. */
bool check_literal(struct checker *checker, const struct rule *rule, const struct field_ref *field,
		   const struct literal *literal);

#endif

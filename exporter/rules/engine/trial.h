/* SPDX-License-Identifier: MIT */
/*
 * A dry run: what each rule of a set does with the events of a recording, to help the author of a
 * collector.
 */
#ifndef RULES_TRIAL_H
#define RULES_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rule_set;
struct rule_trial; /* opaque; of one consumer, read when it has ended */

enum { TRIAL_MISSING_MAX = 16 };

struct trial_rule {
	const struct rule *rule;
	uint64_t events;     /* that it is about */
	uint64_t counted;    /* of these */
	uint64_t left_out;   /* a condition did not hold */
	uint64_t cut;        /* the payload ends before a field */
	uint64_t wrong_type; /* a field is of another type than the rule asks for */
	struct {
		const char *field;
		uint64_t events;
	} missing[TRIAL_MISSING_MAX]; /* fields that events did not have; of the rest no list */
	size_t missing_count;
};

/* The set is borrowed, and its rules are those of the collectors that are on. */
struct rule_trial *rule_trial_new(const struct rule_set *set, struct error *err);
void rule_trial_free(struct rule_trial *trial);

/* In the order of collectors and their files; NULL behind the last. */
const struct trial_rule *rule_trial_at(const struct rule_trial *trial, size_t index);

#endif

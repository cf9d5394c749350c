/* SPDX-License-Identifier: MIT */
/*
 * A dry run: what each rule of a set does with the events of a recording, to help the author of a
 * collector.
 */
#ifndef RULES_DRY_RUN_H
#define RULES_DRY_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rule_set;
struct dry_run; /* opaque; of one consumer, read when it has ended */

enum { DRY_RUN_MISSING_MAX = 16 };

struct dry_run_rule {
	const struct rule *rule;
	uint64_t events;     /* that it is about */
	uint64_t counted;    /* of these */
	uint64_t left_out;   /* a condition did not hold */
	uint64_t cut;        /* the payload ends before a field */
	uint64_t wrong_type; /* a field is of another type than the rule needs */
	struct {
		const char *field;
		uint64_t events;
	} missing[DRY_RUN_MISSING_MAX]; /* fields that events did not have; of the rest no list */
	size_t missing_count;
};

/* The set is borrowed, and its rules are those of the collectors that are on. */
struct dry_run *dry_run_new(const struct rule_set *set, struct etw_error *err);
void dry_run_free(struct dry_run *dry_run);

/* In the order of collectors and their files; NULL behind the last. */
const struct dry_run_rule *dry_run_at(const struct dry_run *dry_run, size_t index);

#endif

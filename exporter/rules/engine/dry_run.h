/* SPDX-License-Identifier: MIT */
/*
 * A dry run: notes what each rule of a set does with the events of a recording, to help the author
 * of a collector.
 */
#ifndef RULES_DRY_RUN_H
#define RULES_DRY_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rule_set;
struct dry_run; /* opaque; one consumer's, read after its end */

enum { DRY_RUN_MISSING_MAX = 16 };

struct dry_run_rule {
	const struct rule *rule;
	uint64_t events;     /* events that the rule is about */
	uint64_t counted;    /* events of these that it counted */
	uint64_t left_out;   /* events for which a condition did not hold */
	uint64_t cut;        /* events whose payload ends before a field */
	uint64_t wrong_type; /* events in which a field is of another type than the rule needs */
	struct {
		const char *field;
		uint64_t events;
	} missing[DRY_RUN_MISSING_MAX]; /* fields that events lacked; those beyond the maximum are
					   not listed */
	size_t missing_count;
};

/* The set is borrowed. The dry run covers the rules of the collectors that are on. */
struct dry_run *dry_run_new(const struct rule_set *set, struct etw_error *err);
void dry_run_free(struct dry_run *dry_run);

/* Returns the results of a rule, in the order of collectors and their files; NULL after the
 * last. */
const struct dry_run_rule *dry_run_at(const struct dry_run *dry_run, size_t index);

#endif

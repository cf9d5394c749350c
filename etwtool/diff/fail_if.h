/* SPDX-License-Identifier: MIT */
/*
 * Conditions on the comparison of two recordings: `etwtool diff --fail-if`.
 *
 *     etw_file_written_bytes_total{process="sqlservr",volume!="D:"} > +20 %
 *     sum(etw_process_exits_total{result=~"crash|error"}) >= 1
 *
 * A condition begins with a selector (base/series.h). With sum(…) all selected series are added
 * first. Without it each series is judged by itself, and the condition holds if it holds for one of
 * them. A comparison follows: > >= < <= == !=, and a number or a percentage. A number is compared
 * with the value in B, a percentage with the change from A to B.
 */
#ifndef ETWTOOL_DIFF_FAIL_IF_H
#define ETWTOOL_DIFF_FAIL_IF_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "etwtool/page_series.h"

struct fail_if; /* opaque */

/*
 * Parses a condition, which the caller frees. Returns NULL if the text is wrong; err says what and
 * where.
 */
struct fail_if *fail_if_parse(const char *text, struct etw_error *err);
void fail_if_free(struct fail_if *condition); /* NULL is allowed */

const char *fail_if_text(const struct fail_if *condition);
bool fail_if_sums(const struct fail_if *condition);
/*
 * The first returns the metric name that the selector requires. The second returns the label name
 * of its matcher at the index; NULL after the last.
 */
const char *fail_if_metric(const struct fail_if *condition);
const char *fail_if_label(const struct fail_if *condition, size_t index);

/* Returns whether the condition selects a series with this name and these labels. */
bool fail_if_selects(const struct fail_if *condition, const char *name,
		     const struct series *series);

/*
 * Returns whether the comparison holds for the values in A and B. NaN means that a value does not
 * exist; no comparison with it holds.
 */
bool fail_if_holds(const struct fail_if *condition, double a, double b);

/* Returns the change from a to b in percent: 0 if both are 0, infinite if only a is 0. */
double percent_change(double a, double b);

#endif

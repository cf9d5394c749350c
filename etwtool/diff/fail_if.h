/* SPDX-License-Identifier: MIT */
/*
 * Conditions on the comparison of two recordings: `etwtool diff --fail-if`.
 *
 *     etw_file_written_bytes_total{process="sqlservr",volume!="D:"} > +20 %
 *     sum(etw_process_exits_total{result=~"crash|error"}) >= 1
 *
 * First a selector (base/series.h). In sum(…) all selected series are added up first; otherwise
 * each is judged by itself, and the condition holds if it holds for one. Then a comparison, > >= <
 * <= == !=, with a number, which is about the value in B, or with a percentage, which is about the
 * change from A.
 */
#ifndef ETWTOOL_DIFF_FAIL_IF_H
#define ETWTOOL_DIFF_FAIL_IF_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "etwtool/page_series.h"

struct fail_if; /* opaque */

/* NULL with a sentence that names what is wrong and where. */
struct fail_if *fail_if_parse(const char *text, struct etw_error *err);
void fail_if_free(struct fail_if *condition); /* NULL is allowed */

const char *fail_if_text(const struct fail_if *condition);
bool fail_if_sums(const struct fail_if *condition);
/* The name that it selects; and of its matchers the label at an index, NULL behind the last. */
const char *fail_if_metric(const struct fail_if *condition);
const char *fail_if_label(const struct fail_if *condition, size_t index);

/* Whether it selects a series of this name with these labels. */
bool fail_if_selects(const struct fail_if *condition, const char *name,
		     const struct series *series);

/* Whether the comparison holds for these values; a value that does not exist is NaN, and no
 * comparison with it holds. */
bool fail_if_holds(const struct fail_if *condition, double a, double b);

/* The change from a to b in percent; infinite when a is 0 and b is not, 0 when both are. */
double percent_change(double a, double b);

#endif

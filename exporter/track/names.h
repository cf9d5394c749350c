/* SPDX-License-Identifier: MIT */
/*
 * The spellings of process names. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md ("process").
 */
#ifndef TRACK_NAMES_H
#define TRACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "metrics/registry.h"

/*
 * Names of processes as label values, with one spelling for each name: "Svchost.EXE" and
 * "svchost.exe" are one process name. Several trackers may use it one after another, so that passes
 * or recordings count into the same series. The number of remembered names is bounded; when it is
 * reached, all are forgotten, and a name may get another spelling.
 *
 * Names that rules give (exporter/track/process_names.h) are counted by themselves: command lines
 * decide how many there are, so a limit of its own keeps the number of series small.
 */
struct names; /* opaque */

/* registry: borrowed. most: the most names that are remembered. lower_case: labels are in lower
 * case. */
struct names *names_new(struct registry *registry, size_t most, bool lower_case,
			struct etw_error *err);
void names_free(struct names *names);
void names_set_limit(struct names *names,
		     size_t most); /* takes effect when the next new name is added */

/*
 * Returns the label id of an image name (UTF-8, as in the event): the name without a trailing
 * ".exe" in any case. INTERN_NONE for an empty name; "_unknown" if the name is only ".exe".
 */
uint32_t names_label(struct names *names, const char *image, size_t size);

/*
 * Returns the label id of an image name that may be cut at 14 characters, as in the stop events of
 * Microsoft-Windows-Kernel-Process (docs/etl-format.md section 17, 17b): the label of the only
 * known name that begins so. A name that ends within ".exe" lacks only the rest of that, unless a
 * longer name is known. INTERN_NONE if several known names begin so, or none does; but if none does
 * and all_known is set, the name is used as it is.
 */
uint32_t names_complete(struct names *names, const char *image, size_t size, bool all_known);

/* Whether the image name (UTF-8) in a stop event may lack its end. */
bool names_may_be_cut(const char *image, size_t size);

/* Whether a cut name can be the beginning of a whole image name. Only ASCII is compared, because
 * the cut name is in an unknown code page. */
bool names_begins_so(const char *whole, size_t whole_size, const char *image, size_t size);

/* Returns the text of a label that is the name of a program; NULL if it is `_unknown` or the
 * like. */
const char *names_text(const struct names *names, uint32_t label);

/*
 * Returns the label id of a name that a rule gives. If the limit of given names is reached and this
 * one is new, it is counted as refused, and the function returns `otherwise`.
 */
uint32_t names_give(struct names *names, const char *name, size_t size, uint32_t otherwise);

void names_set_given_limit(struct names *names, size_t most);
/* Forgets which names were given: the rules have changed. */
void names_restart_giving(struct names *names);

uint64_t names_refused(const struct names *names); /* names that the limit refused, for health */

#endif

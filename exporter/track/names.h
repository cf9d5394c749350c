/* SPDX-License-Identifier: MIT */
/*
 * Names of processes as label values, with one spelling for each name.
 *
 * Events write the same name in different cases: "Svchost.EXE" and "svchost.exe" are one process
 * name. The spelling that is seen first is kept, because a series keeps its labels. The number of
 * names is bounded; a new name beyond it becomes "_other".
 */
#ifndef TRACK_NAMES_H
#define TRACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "metrics/registry.h"

struct names; /* opaque; one consumer's */

/* most: the limit of names. lower_case: labels are in lower case. */
struct names *names_new(struct registry *registry, size_t most, bool lower_case, struct error *err);
void names_free(struct names *names);

/*
 * The label value of an image name (UTF-8, as in the event): the name without a trailing ".exe" in
 * any case. INTERN_NONE for an empty name; "_unknown" if nothing else than ".exe" is there.
 */
uint32_t names_label(struct names *names, const char *image, size_t size);

#endif

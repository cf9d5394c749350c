/* SPDX-License-Identifier: MIT */
/*
 * Names of processes as label values: one spelling for each name, whatever case its events write it
 * in.
 *
 * "Svchost.EXE" and "svchost.exe" are one process name; the spelling seen first stays, because a
 * series keeps its labels. Bounded: past a number of names a new one reads "_other".
 */
#ifndef TRACK_NAMES_H
#define TRACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "metrics/registry.h"

struct names; /* opaque; one consumer's */

/* most: names. */
struct names *names_new(struct registry *registry, size_t most, bool lower_case, struct error *err);
void names_free(struct names *names);

/*
 * The label value of an image name in UTF-8 as events write it: without a trailing ".exe" of either
 * case. INTERN_NONE for an empty name (it says nothing), "_unknown" when nothing is left.
 */
uint32_t names_label(struct names *names, const char *image, size_t size);

#endif

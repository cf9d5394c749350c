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

#include "base/map.h"
#include "metrics/registry.h"

struct names {
	struct registry *registry; /* borrowed */
	struct map
		by_hash; /* hash of the folded text, or one of the numbers after it -> label id */
	size_t most;
	bool lower_case;
	uint64_t refused; /* names that read "_other" */
};

/* most: names. */
void names_init(struct names *names, struct registry *registry, size_t most, bool lower_case);
void names_done(struct names *names);

/*
 * The label value of an image name in UTF-8 as events write it: without a trailing ".exe" of either
 * case. INTERN_NONE for an empty name (it says nothing), "_unknown" when nothing is left.
 */
uint32_t names_label(struct names *names, const char *image, size_t size);

#endif

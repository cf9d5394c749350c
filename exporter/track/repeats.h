/* SPDX-License-Identifier: MIT */
/*
 * Records that several files have which are parts of one recording.
 *
 * Each part that etwtool relog wrote (--split, or two filters) has the records that describe its
 * others, also those of another time (exporter/track/describing.h), and call stacks
 * (lib/decode/stack_walk.h). Of the whole they are to be
 * read, or written again, once: the n-th record with the same contents in a file is a repetition if
 * a file before had n of them. So what a file repeats by itself stays repeated.
 */
#ifndef TRACK_REPEATS_H
#define TRACK_REPEATS_H

#include <stdbool.h>

#include <etw/record.h>
#include <etw/source.h>

#include "base/map.h"

/* A bounded table of the records of one recording's files; beyond it nothing is a repetition.
 * Zero-initialise it. */
struct repeats {
	struct map earlier; /* hash of a record -> how often a file before had it */
	struct map present; /* likewise, this file so far */
};

/* Counts a record of the present file that describes others, or a stack. Whether a file before has
 * it, too. */
bool repeats_add(struct repeats *repeats, const struct etw_record *record);
void repeats_next_file(struct repeats *repeats);
void repeats_done(struct repeats *repeats);

/* For etw_file_find_repeats(); on any thread, one finder each. */
extern const struct etw_repeat_finder repeat_finder;

#endif

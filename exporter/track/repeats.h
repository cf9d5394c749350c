/* SPDX-License-Identifier: MIT */
/*
 * Finds records that several files of one recording repeat.
 *
 * Each file that etwtool relog wrote (--split, or two filters) repeats the records that describe
 * the others, even if they are outside of its time (exporter/track/describing.h), and call stacks
 * (include/etw/stack_walk.h). A reader of all the files must read such a record once. The n-th
 * record with the same contents in a file is a repetition if an earlier file had n of them; so
 * records that one file has several times are all kept.
 */
#ifndef TRACK_REPEATS_H
#define TRACK_REPEATS_H

#include <stdbool.h>

#include <etw/record.h>
#include <etw/source.h>

#include "base/map.h"

/* A bounded table of hashes of records; what no longer fits is never a repetition.
 * Zero-initialise it. */
struct repeats {
	struct map earlier; /* hash of a record -> the most times that one earlier file had it */
	struct map present; /* hash of a record -> how many times this file had it so far */
};

/* Counts a record of the present file, which must be a describing record or a stack. Returns
 * whether it is a repetition. */
bool repeats_add(struct repeats *repeats, const struct etw_record *record);
/* Ends the present file; the next record is from the next file. */
void repeats_next_file(struct repeats *repeats);
void repeats_done(struct repeats *repeats);

/* For etw_file_find_repeats(). Any thread may use it; each finder belongs to one thread. */
extern const struct etw_repeat_finder repeat_finder;

#endif

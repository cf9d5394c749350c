/* SPDX-License-Identifier: MIT */
/*
 * Finds records that several files of one recording repeat.
 *
 * Each file that etwtool relog wrote (--split, or two filters) repeats the records that describe
 * the others, even if they are outside of its time (is_describing() below), and call stacks
 * (include/etw/stack_walk.h). A reader of all the files must read such a record once. The n-th
 * record with the same contents in a file is a repetition if an earlier file had n of them; so
 * records that one file has several times are all kept.
 */
#ifndef TRACK_REPEATS_H
#define TRACK_REPEATS_H

#include <stdbool.h>

#include <etw/kernel.h>
#include <etw/record.h>
#include <etw/source.h>

#include "base/map.h"

/* ---- records that describe others ---- */

/*
 * Recognises the records of a recording that others cannot be understood without: those that
 * describe the session, the machine or the layout of events, or say what an id means.
 */

struct describing {
	struct etw_kernel_choice names; /* the kernel records with names and lifetimes */
	struct map providers; /* hash of a provider's GUID -> 1: an event with the provider's name
				 came already */
};

/* Call it at the start of each recording. */
void describing_init(struct describing *describing);
void describing_done(struct describing *describing);

/*
 * Returns whether the record is the logfile header or another of EventTrace, describes events
 * (EventInfo, a manifest) or the machine (SystemConfig, SysConfig, ImageID), reports a loss,
 * announces processes, threads, images, files or services by starts, ends and rundown, or is the
 * first event that has the name of its provider (traits). Call it once for each record, in file
 * order.
 */
bool is_describing(struct describing *describing, const struct etw_record *record);

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

/* SPDX-License-Identifier: MIT */
/*
 * Records that several files of one recording have.
 *
 * Each file that etwtool relog --split wrote has the records that describe its others, also those
 * of another time (track/describing.h). Of the whole they are to be read once: the n-th record with
 * the same contents in a file is a repetition if a file before had n of them. So what a file
 * repeats by itself stays repeated.
 */
#ifndef TRACK_REPEATS_H
#define TRACK_REPEATS_H

#include "source/repeat_finder.h"

/* For etl_file_find_repeats(); on any thread, one finder each. */
extern const struct repeat_finder repeat_finder;

#endif

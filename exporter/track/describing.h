/* SPDX-License-Identifier: MIT */
/*
 * Recognises the records of a recording that others cannot be understood without: those that
 * describe the session, the machine or the layout of events, or say what an id means.
 */
#ifndef TRACK_DESCRIBING_H
#define TRACK_DESCRIBING_H

#include <stdbool.h>

#include <etw/kernel.h>
#include <etw/record.h>

#include "base/map.h"

struct describing {
	struct etw_kernel_choice names; /* the kernel records with names and lifetimes */
	struct map providers; /* hash of a provider's GUID -> 1: an event with the provider's name
				 came already */
};

/* Call it at the start of each recording. */
void describing_init(struct describing *describing);
void describing_done(struct describing *describing);

/*
 * Whether the record is the logfile header or another of EventTrace, describes events (EventInfo, a
 * manifest) or the machine (SystemConfig, SysConfig, ImageID), reports a loss, announces processes,
 * threads, images, files or services by starts, ends and rundown, or is the first event that has
 * the name of its provider (traits). Call it once for each record, in file order.
 */
bool is_describing(struct describing *describing, const struct etw_record *record);

/* Whether a describing record is FileIo/Create: it says what a file object means. */
bool is_file_open(const struct etw_record *record);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Records of a recording that others cannot be understood without: they describe the session, the
 * machine, the layout of events, or say what an id means.
 */
#ifndef TOOL_DESCRIBING_H
#define TOOL_DESCRIBING_H

#include <stdbool.h>

#include "source/event_record.h"
#include "source/kernel_group.h"

struct describing {
	struct kernel_choice names; /* kernel records with names and lifetimes */
};

void describing_init(struct describing *describing);

/*
 * Whether the record is the logfile header or another of EventTrace, describes events (EventInfo, a
 * manifest) or the machine (SystemConfig, SysConfig, ImageID), reports a loss, or announces
 * processes, threads, images, files or services by starts, ends and rundown.
 */
bool is_describing(const struct describing *describing, const struct event_record *record);

#endif

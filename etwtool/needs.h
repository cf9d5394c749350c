/* SPDX-License-Identifier: MIT */
/*
 * Finds what a live session must enable to receive the events of one name, from the events of a
 * recording.
 */
#ifndef ETWTOOL_NEEDS_H
#define ETWTOOL_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/kernel.h>
#include <etw/manifest.h>

#include "base/text.h"
#include "etwtool/class_rows.h"

/* What the recorded events had. Zero-initialise it. */
struct seen {
	uint8_t level;     /* highest level of any event */
	uint64_t keywords; /* keywords of all events, combined with OR */
	bool registered;   /* Windows knows the provider by its name */
};

/* Call the first for each event class of the events, the second for each of their records. */
void seen_class(struct seen *seen, const struct etw_configured_manifests *manifests,
		const struct etw_event_class *class);
void seen_record(struct seen *seen, const struct etw_record *record);

/*
 * Returns the kernel flags that enable the events of a row; none if they are not kernel events
 * (etw_kernel_event_flags()).
 */
struct etw_kernel_event_flags class_row_kernel_flags(const struct class_row *row);

/*
 * Adds the lines `needs` of a collector. Adds nothing for a kernel event that no flag or group of
 * `needs` enables.
 */
void text_add_needs(struct etw_text *out, const struct class_row *row, const struct seen *seen);

#endif

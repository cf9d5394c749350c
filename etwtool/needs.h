/* SPDX-License-Identifier: MIT */
/*
 * What a live session must enable to get the events of one name, as a recording shows it.
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

/* What the events had. Zero-initialise it. */
struct seen {
	uint8_t level;     /* the highest */
	uint64_t keywords; /* of all events, or-ed */
	bool registered;   /* Windows knows the provider by its name */
};

/* For each class of the events, and each of their records. */
void seen_class(struct seen *seen, const struct etw_configured_manifests *manifests,
		const struct etw_event_class *class);
void seen_record(struct seen *seen, const struct etw_record *record);

/* What enables the events of a row, if they are the kernel's (etw_kernel_event_flags()). */
struct etw_kernel_event_flags class_row_kernel_flags(const struct class_row *row);

/* Adds the lines of a collector that begin with `needs`; of a kernel event
 * that no flag or group of `needs` brings, none. */
void text_add_needs(struct etw_text *out, const struct class_row *row, const struct seen *seen);

#endif

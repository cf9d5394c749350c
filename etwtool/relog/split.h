/* SPDX-License-Identifier: MIT */
/* Splits a recording by time into parts that can each be read alone. */
#ifndef ETWTOOL_RELOG_SPLIT_H
#define ETWTOOL_RELOG_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/mirror.h>
#include <etw/recording.h>

#include "base/error.h"

/* Exactly one of the two is above 0. */
struct split_by {
	uint64_t size_bytes; /* most bytes of a part; a part has at least one buffer */
	uint64_t duration_ms;
};

/* An option_read: reads a struct split_by from "100MB", "64MiB", "30s" or "1m". */
bool split_by_read(void *by, const char *text, struct etw_error *err);

struct split_request {
	struct split_by by;
	const char *output; /* "out.etl" gives out_000001.etl and so on */
	struct etw_mirror_form form;
	/*
	 * Upper bound, at least 2, of the notes about positions and times of buffers. With more
	 * buffers one note covers several.
	 */
	size_t notes_most;
	void *context;
	/* Called after each buffer, with the bytes of the input that this pass has read. */
	void (*on_buffer)(void *context, uint64_t bytes_read);
	/* Returns whether a part may be written to the path. A file of that name is replaced. */
	bool (*may_write)(void *context, const char *path, struct etw_error *err);
	/* Called when a part is complete. */
	void (*on_part)(void *context, const char *path, const struct etw_mirror_counts *counts);
};

/*
 * Writes the parts. Each has the records of its time span, and from all other times the records
 * that describe others (exporter/track/describing.h). A time span without records has no part.
 * Damage of the input is counted once.
 */
bool split_recording(struct etw_file *input, const struct split_request *request,
		     struct etw_damage *damage, struct etw_error *err);

#endif

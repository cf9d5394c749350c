/* SPDX-License-Identifier: MIT */
/*
 * Splits a recording by time into parts of which each is readable on its own.
 */
#ifndef ETWTOOL_RELOG_SPLIT_H
#define ETWTOOL_RELOG_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/mirror.h>
#include <etw/recording.h>

#include "base/error.h"

/* One of both is above 0. */
struct split_by {
	uint64_t size_bytes; /* of a part, at most; a buffer is the least */
	uint64_t duration_ms;
};

/* Reads a struct split_by: "100MB", "64MiB", "30s", "1m". An option_read. */
bool split_by_read(void *by, const char *text, struct etw_error *err);

struct split_request {
	struct split_by by;
	const char *output; /* "out.etl" gives out_000001.etl and so on */
	struct etw_mirror_form form;
	/* So many places and times of buffers are noted, at least 2; with more buffers a note is
	 * about several. */
	size_t notes_most;
	void *context;
	void (*on_buffer)(void *context, uint64_t bytes_read); /* of the input, in a pass over it */
	/* Whether a part may be written there; a file that has the name is replaced. */
	bool (*may_write)(void *context, const char *path, struct etw_error *err);
	/* A part is there. */
	void (*on_part)(void *context, const char *path, const struct etw_mirror_counts *counts);
};

/*
 * Writes the parts. Each has the records of its time, and of all other times those that describe
 * others (exporter/track/describing.h); a time without any record has no part. Damage of the input
 * is counted once.
 */
bool split_recording(struct etw_file *input, const struct split_request *request,
		     struct etw_damage *damage, struct etw_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The paths that programs wrote most to in the last window of one minute:
 * etw_file_top_written_bytes. One consumer's: no lock.
 *
 * Windows are measured in event time. At the end of a window the list is made from a sketch of it
 * (top_sketch.h). A path that is already in the list is only replaced by a path with twice as many
 * bytes, so that two paths with about the same number do not alternate. A value is a lower bound
 * of the bytes written.
 */
#ifndef TRACK_TOP_PATHS_H
#define TRACK_TOP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics/registry.h"
#include "track/files.h"
#include "track/top_sketch.h"

enum {
	TOP_PATHS = 20,          /* default length of the list */
	TOP_PATH_SIZE_MAX = 1024 /* bytes of a path in a label; the rest is cut off */
};

#define TOP_PATHS_WINDOW (INT64_C(60) * 10000000) /* 100 ns */

struct top_path;   /* private */
struct top_ranked; /* private */

struct top_paths {
	struct registry *registry; /* borrowed, like all pointers that are not marked as owned */
	struct shard *shard;
	const struct files *files;
	struct family *family;    /* NULL: not enabled */
	uint32_t provider;        /* label id */
	struct top_sketch sketch; /* of the window */
	struct top_ranked *order; /* owned; used while a list is made */
	struct top_path
		*listed; /* owned; 2 * places: the list, and the next one while it is made */
	uint32_t count, places;
	int64_t start; /* of the window; RECORD_NO_TIME: no window yet */
};

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct error *err);
void top_paths_done(struct top_paths *top); /* a zeroed struct is fine */

/* Hides all samples. The next time starts a new window. */
void top_paths_clear(struct top_paths *top);

/* To call for every event, before top_paths_add(). time: 100 ns since 1601 UTC, or RECORD_NO_TIME.
 */
void top_paths_time(struct top_paths *top, int64_t time);

/* file: number in files; process: label id. */
void top_paths_add(struct top_paths *top, uint32_t file, uint32_t process, uint64_t bytes);

/* No event follows: shows the present window. */
void top_paths_end(struct top_paths *top);

#endif

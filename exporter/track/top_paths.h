/* SPDX-License-Identifier: MIT */
/*
 * The paths that programs wrote most to in the last window of a minute: etw_file_top_written_bytes.
 *
 * Windows are of event time. When one ends, the list is made of what its sketch holds: a path that
 * is listed gives its place up only to one with twice its bytes, so that two of about the same
 * weight do not take turns. A value is what has been written for sure, never more.
 */
#ifndef TRACK_TOP_PATHS_H
#define TRACK_TOP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics/registry.h"
#include "track/files.h"
#include "track/top_sketch.h"

enum {
	TOP_PATHS = 20,          /* places, unless configured */
	TOP_PATH_SIZE_MAX = 1024 /* bytes of a path as a label; the rest is cut off */
};

#define TOP_PATHS_WINDOW (INT64_C(60) * 10000000) /* 100 ns */

struct top_path;   /* private */
struct top_ranked; /* private */

struct top_paths {
	struct registry *registry; /* borrowed, as are all here but where said */
	struct shard *shard;
	const struct files *files;
	struct family *family;    /* NULL: nobody asks */
	uint32_t provider;        /* label id */
	struct top_sketch sketch; /* of the window */
	struct top_ranked *order; /* owned; for a list being made */
	struct top_path *listed;  /* owned; 2 * places: the list, and the one being made */
	uint32_t count, places;
	int64_t start; /* of the window; RECORD_NO_TIME: none has begun */
};

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct error *err);
void top_paths_done(struct top_paths *top); /* zeros are fine */

/* Hides all, and begins anew with the next time. */
void top_paths_clear(struct top_paths *top);

/* Of every event, before what it writes is added: 100 ns since 1601 UTC, or RECORD_NO_TIME. */
void top_paths_time(struct top_paths *top, int64_t time);

/* file: number in files; process: label id. */
void top_paths_add(struct top_paths *top, uint32_t file, uint32_t process, uint64_t bytes);

/* No event follows: what the window holds is shown. */
void top_paths_end(struct top_paths *top);

#endif

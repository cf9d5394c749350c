/* SPDX-License-Identifier: MIT */
/*
 * The paths that programs wrote most to in the last minute: etw_file_top_written_bytes. One
 * consumer's: no lock.
 *
 * The minute is measured in event time and slides: the list is made anew every ten seconds, from
 * sketches (top_sketch.h) of the last six slices of ten seconds. A path that is already in the list
 * is only replaced by a path with twice as many bytes, so that two paths with about the same number
 * do not alternate. A value is a lower bound of the bytes written.
 */
#ifndef TRACK_TOP_PATHS_H
#define TRACK_TOP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/track/files.h"
#include "exporter/track/top_sketch.h"
#include "metrics/registry.h"

enum {
	TOP_PATHS = 20,          /* default length of the list */
	TOP_PATHS_SLICES = 6,    /* in a minute */
	TOP_PATH_SIZE_MAX = 1024 /* bytes of a path in a label; the rest is cut off */
};

#define TOP_PATHS_SLICE  (INT64_C(10) * 10000000) /* 100 ns */
#define TOP_PATHS_MINUTE (TOP_PATHS_SLICES * TOP_PATHS_SLICE)

struct top_path;   /* private */
struct top_ranked; /* private */

struct top_paths {
	struct registry *registry; /* borrowed, like all pointers that are not marked as owned */
	struct shard *shard;
	const struct files *files;
	struct family *family;                      /* NULL: not enabled */
	uint32_t providers[2];                      /* label ids; [1]: of the second source */
	struct top_sketch slices[TOP_PATHS_SLICES]; /* a ring */
	unsigned present;                           /* the slice under way, the last of the ring */
	struct top_ranked *order;                   /* owned; used while a list is made */
	/* Owned; 2 * places: the list, in the order of keys, and the next one while it is made. */
	struct top_path *listed;
	uint32_t count, places;
	int64_t start; /* of the slice under way; ETW_RECORD_NO_TIME: no slice yet */
};

extern const struct family_options top_paths_family;

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct etw_error *err);
void top_paths_done(struct top_paths *top); /* a zeroed struct is fine */

/* Forgets the minute; the next time starts a new one. The list stays shown until a slice of the new
 * minute ends, or top_paths_end(). */
void top_paths_clear(struct top_paths *top);

/* To call for every event, before top_paths_add(). time: 100 ns since 1601 UTC, or
 * ETW_RECORD_NO_TIME.
 */
void top_paths_time(struct top_paths *top, int64_t time);

struct top_write {
	uint32_t file;      /* number in files */
	uint32_t process;   /* label id */
	bool second_source; /* Microsoft-Windows-Kernel-File reports it, not the kernel's FileIo */
	uint64_t bytes;
};

void top_paths_add(struct top_paths *top, const struct top_write *write);

/* No event follows: shows the minute up to now. */
void top_paths_end(struct top_paths *top);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The paths that programs wrote most to in the last minute: etw_file_top_written_bytes. Only one
 * consumer uses it, so it has no lock.
 *
 * The minute is measured in event time and slides: every ten seconds the list is made again from
 * sketches (top_sketch.h) of the last six slices of ten seconds. A new path replaces one of the
 * list only if it has twice as many bytes, so that two paths with nearly the same bytes do not
 * alternate. A value is a lower bound of the bytes written.
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
	uint32_t providers[2];                      /* label ids; [1] is the second source */
	struct top_sketch slices[TOP_PATHS_SLICES]; /* a ring */
	unsigned present;                           /* index of the current slice in the ring */
	struct top_ranked *order;                   /* owned; used while a list is made */
	/* Owned, 2 * places entries: the list in the order of keys, then the next list while it
	 * is made. */
	struct top_path *listed;
	uint32_t count, places;
	int64_t start; /* start of the current slice; ETW_RECORD_NO_TIME: no slice yet */
};

extern const struct family_options top_paths_family;

bool top_paths_init(struct top_paths *top, struct registry *registry, struct shard *shard,
		    const struct files *files, uint32_t places, struct etw_error *err);
void top_paths_done(struct top_paths *top); /* frees what it owns; a zeroed struct is allowed */

/* Forgets the minute; the next call of top_paths_time() begins a new one. The list stays shown
 * until a slice of the new minute ends, or until top_paths_end(). */
void top_paths_clear(struct top_paths *top);

/* Call it for every event, before top_paths_add(). time: 100 ns since 1601 UTC, or
 * ETW_RECORD_NO_TIME. */
void top_paths_time(struct top_paths *top, int64_t time);

struct top_write {
	uint32_t file;      /* number of the file in files */
	uint32_t process;   /* label id */
	bool second_source; /* reported by Microsoft-Windows-Kernel-File, not by the kernel's FileIo
			     */
	uint64_t bytes;
};

/* Adds bytes that a program wrote to a file to the current slice. */
void top_paths_add(struct top_paths *top, const struct top_write *write);

/* Shows the minute up to now. Call it after the last event. */
void top_paths_end(struct top_paths *top);

#endif

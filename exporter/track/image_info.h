/* SPDX-License-Identifier: MIT */
/*
 * Which program file a running process was started from: etw_process_image_info.
 *
 * Of the images a process loads it is the one that the process is named after. Several instances
 * can share a program file; it is shown while one of them runs.
 *
 * Source: docs/metrics.md.
 */
#ifndef TRACK_IMAGE_INFO_H
#define TRACK_IMAGE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "metrics/registry.h"

struct shown_image; /* private */

struct image_info {
	struct registry *registry; /* borrowed */
	struct shard *shard;       /* borrowed */
	struct family *family;     /* NULL: not asked for */
	uint32_t provider;         /* label id */
	struct map by_process;     /* process id -> number in shown */
	struct map users;          /* hash of what is shown -> processes that share it */
	struct shown_image *shown; /* owned */
	uint32_t count;            /* slots in use or on the free list */
	uint32_t capacity;
	uint32_t free;
	uint32_t limit;   /* processes */
	uint64_t refused; /* not shown: past the limit */
};

bool image_info_init(struct image_info *info, struct registry *registry, struct shard *shard,
		     uint32_t limit, struct error *err);
void image_info_done(struct image_info *info);
void image_info_clear(struct image_info *info);

/* A process, called `label` now, has loaded an image. path: UTF-8, as recorded. */
void image_info_announce(struct image_info *info, uint32_t process_id, uint32_t label,
			 const char *path, size_t size, uint32_t checksum);

/* The process has ended, or its id begins anew. */
void image_info_forget(struct image_info *info, uint32_t process_id);

#endif

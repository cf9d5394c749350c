/* SPDX-License-Identifier: MIT */
/*
 * Volumes: the drive or device that a native path lies on, as a label value.
 *
 * Source: docs/etl-format.md section 16.3, "Volume of a name".
 */
#ifndef TRACK_VOLUMES_H
#define TRACK_VOLUMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/registry.h"

struct text;           /* base/text.h */
struct volume_mapping; /* private */

struct volumes {
	struct registry *registry;       /* borrowed */
	struct volume_mapping *mappings; /* owned; longest native path first */
	size_t count;
};

static inline void volumes_init(struct volumes *volumes, struct registry *registry)
{
	*volumes = (struct volumes){ .registry = registry };
}

void volumes_done(struct volumes *volumes);

/*
 * A mapping, both paths in UTF-8; of two for one native path the later one holds. Mappings to
 * anything but a drive do not count. True when something changed: labels found before may be wrong
 * now.
 */
bool volumes_map(struct volumes *volumes, const char *nt_path, size_t nt_size, const char *dos_path,
		 size_t dos_size);

/* The label value of a path's volume: "C:", "HarddiskVolume3", "_unknown". */
uint32_t volumes_label(const struct volumes *volumes, const char *path, size_t size);

/*
 * The path as users write it: with the drive in place of the device ("D:\logs\a"). A path on a
 * volume without one is left as it is. Appended to out.
 */
void volumes_dos_path(const struct volumes *volumes, const char *path, size_t size,
		      struct text *out);

/* How much of a path decides its volume, when no mapping reaches deeper: without what follows the
 * device or drive. */
size_t volumes_prefix(const char *path, size_t size);

#endif

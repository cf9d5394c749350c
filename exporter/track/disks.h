/* SPDX-License-Identifier: MIT */
/*
 * Disks and their volumes, as SystemConfig records describe them or a live session finds them:
 * etw_disk_info and etw_disk_volume_info. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md; "SystemConfig_PhyDisk class" and "SystemConfig_LogDisk class", Microsoft
 * Learn.
 */
#ifndef TRACK_DISKS_H
#define TRACK_DISKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/registry.h"

enum { DISKS = 256, PARTITIONS = 1024 };

struct disks {
	struct registry *registry; /* borrowed */
	struct shard *shard;       /* borrowed */
	struct family *disk_info;  /* NULL: not enabled */
	struct family *volume_info;
	uint64_t named[DISKS / 64]; /* bit n: a record describes disk n */
	uint64_t found[DISKS / 64]; /* bit n: a live session has found disk n */
	/* Label ids of the samples on the page, in the order of the families' labels. */
	uint32_t shown_disks[DISKS][3]; /* index: disk number */
	uint32_t shown_volumes[PARTITIONS][4];
	bool found_volumes[PARTITIONS]; /* a live session has found the volume */
	uint32_t volume_count;
};

enum { DISKS_FAMILIES = 2 };
extern const struct family_options disks_families[DISKS_FAMILIES];

/* Registers the families. Disks that are only zeroed are valid too: they count nothing and only
 * note which disks are described. */
bool disks_init(struct disks *disks, struct registry *registry, struct shard *shard,
		struct etw_error *err);

/* Hides the samples and forgets all disks. It frees nothing, as disks own no memory. */
void disks_clear(struct disks *disks);

/* Notes that a record of the trace describes this disk (also in the first pass). */
void disks_name(struct disks *disks, uint32_t disk);

static inline bool disks_named(const struct disks *disks, uint32_t disk)
{
	return disk < DISKS && (disks->named[disk / 64] >> (disk % 64) & 1);
}

/* Returns whether any disk is described. */
static inline bool disks_known(const struct disks *disks)
{
	uint64_t named = 0;

	for (unsigned i = 0; i < DISKS / 64; i++) {
		named |= disks->named[i];
	}
	return named != 0;
}

/*
 * A record describes a disk or the volume on a partition; texts are UTF-8, as recorded. A later
 * description replaces the earlier one, except for what it leaves empty.
 */
void disks_show(struct disks *disks, uint32_t disk, const char *model, size_t model_size,
		uint32_t bytes_per_sector);
void disks_show_volume(struct disks *disks, uint32_t disk, uint32_t partition, const char *drive,
		       size_t drive_size, const char *file_system, size_t file_system_size);

/*
 * A live session found a disk or volume; see tracker_find_disk(). The first time, it only fills in
 * what records left empty. When the same disk or volume is found again, it has changed and its
 * description is replaced.
 */
void disks_find(struct disks *disks, uint32_t disk, const char *model, uint32_t bytes_per_sector);
void disks_find_volume(struct disks *disks, uint32_t disk, uint32_t partition, const char *volume,
		       const char *file_system);

#endif

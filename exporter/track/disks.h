/* SPDX-License-Identifier: MIT */
/*
 * Disks and their volumes, as SystemConfig records describe them: etw_disk_info and
 * etw_disk_volume_info. One consumer's: no lock.
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
	uint64_t named[DISKS / 64]; /* bit n: a record has described disk n */
	/* The samples that are shown: label ids in the order of the labels of the families. */
	uint32_t shown_disks[DISKS][3]; /* by disk number */
	uint32_t shown_volumes[PARTITIONS][4];
	uint32_t volume_count;
};

/* Registers the families. Zeroed disks are fine; they only note which disks are described. */
bool disks_init(struct disks *disks, struct registry *registry, struct shard *shard,
		struct error *err);

/* Hides the samples and drops all disks. Without it there is nothing to free. */
void disks_clear(struct disks *disks);

/* Notes that a record of the trace describes this disk (also in the first pass). */
void disks_name(struct disks *disks, uint32_t disk);

static inline bool disks_named(const struct disks *disks, uint32_t disk)
{
	return disk < DISKS && (disks->named[disk / 64] >> (disk % 64) & 1);
}

/* Texts are UTF-8, as recorded. A later description replaces the earlier one. */
void disks_show(struct disks *disks, uint32_t disk, const char *model, size_t model_size,
		uint32_t bytes_per_sector);
void disks_show_volume(struct disks *disks, uint32_t disk, uint32_t partition, const char *drive,
		       size_t drive_size, const char *file_system, size_t file_system_size);

#endif

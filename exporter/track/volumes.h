/* SPDX-License-Identifier: MIT */
/*
 * Volumes: the label value of what a path leads to. That is a volume, named by its drive or its
 * device, or a medium that is no volume: a pipe, a mail slot, a file on the network. Only one
 * consumer may use it: it has no lock. Paths are UTF-8.
 *
 * Source: docs/etl-format.md section 16.3, "Volume of a name".
 */
#ifndef TRACK_VOLUMES_H
#define TRACK_VOLUMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "metrics/registry.h"

enum medium {
	MEDIUM_VOLUME, /* a volume, or not known */
	MEDIUM_PIPE,
	MEDIUM_MAILSLOT,
	MEDIUM_NETWORK,
};

/* Returns the medium that a path leads to. Sets *rest, if not NULL, to the offset in bytes
 * of what follows the name of the device. */
enum medium path_medium(const char *path, size_t size, size_t *rest);

struct volume_mapping; /* private */

struct volumes {
	struct registry *registry;       /* borrowed */
	struct volume_mapping *mappings; /* owned; longest native path first */
	size_t count;
	size_t capacity;
	struct map shares;       /* hash of "\\server\share" -> label id */
	uint32_t share_limit;    /* the most shares; 0: files on the network have the label of their
				    device */
	uint64_t refused_shares; /* look-ups of a share beyond the limit */
};

static inline void volumes_init(struct volumes *volumes, struct registry *registry)
{
	*volumes = (struct volumes){ .registry = registry };
}

/* Forgets mappings and shares. */
void volumes_done(struct volumes *volumes);

/*
 * Maps a native path to a drive; both paths are UTF-8. A later mapping of the same native path
 * replaces the earlier one. Mappings to something other than a drive are ignored. folders: the
 * label is the whole DOS path, which may be that of a mount folder ("D:\data"); otherwise the label
 * is its drive. Returns true if something changed; labels that were found before may then be wrong.
 */
bool volumes_map(struct volumes *volumes, const char *nt_path, size_t nt_size, const char *dos_path,
		 size_t dos_size, bool folders);
/* Removes the mapping of a native path; returns false if there was none. */
bool volumes_unmap(struct volumes *volumes, const char *nt_path, size_t nt_size);

/*
 * Returns the label id of a path: "C:", "HarddiskVolume3", "_unknown". All shadow copies have one
 * label, "HarddiskVolumeShadowCopy", because each backup makes a new one. Named pipes are "pipe",
 * mail slots "mailslot". A file on the network has its share as label, "\\server\share" in lower
 * case (ASCII), or "network" beyond the limit; with a limit of 0 it has its device ("Mup").
 */
uint32_t volumes_label(struct volumes *volumes, const char *path, size_t size);

/*
 * Appends the path to out as users write it, with the drive in place of the device ("D:\logs\a").
 * A path on a volume without a drive stays as it is.
 */
void volumes_dos_path(const struct volumes *volumes, const char *path, size_t size,
		      struct etw_text *out);

/* Appends the path of a file on the network as users write it, with server and share in front
 * ("\\server\share\a"). Returns false, and appends nothing, if the path is not on the network or
 * does not name both. */
bool volumes_unc_path(const char *path, size_t size, struct etw_text *out);

/* Returns the size of the part of a path that determines its volume: the device or drive at its
 * start and, if `shares`, server and share too. It ignores mappings of deeper folders. */
size_t volumes_prefix(const char *path, size_t size, bool shares);

#endif

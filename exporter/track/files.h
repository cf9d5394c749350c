/* SPDX-License-Identifier: MIT */
/*
 * Files: which path a file key or a file object meant at a time, and on which volume that is.
 *
 * Reads and writes carry no name. Name records name the key (one a file), creates name the object
 * (one an open); both are reused. The key is asked first.
 *
 * Source: docs/etl-format.md section 16.3.
 */
#ifndef TRACK_FILES_H
#define TRACK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/text.h"
#include "metrics/registry.h"
#include "track/file_groups.h"
#include "track/lifetimes.h"

/* ---- volumes ---- */

/*
 * Volumes: the drive or device that a native path lies on, as a label value.
 *
 * Source: docs/etl-format.md section 16.3, "Volume of a name".
 */
struct volume_mapping; /* private */

struct volumes {
	struct registry *registry;       /* borrowed */
	struct volume_mapping *mappings; /* owned; longest native path first */
	size_t count;
	size_t capacity;
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

/* ---- files ---- */

enum { FILE_UNKNOWN = 0 }; /* no instance names it */

/* What was worked out about paths, by text id; INTERN_NONE where nobody has asked yet. */
struct path_labels {
	uint32_t *ids; /* owned */
	size_t count;
};

struct files {
	struct timeline keys;    /* file key -> path */
	struct timeline objects; /* FileObject -> path */
	struct volumes volumes;
	bool mapped;             /* a look-ahead has found all mappings */
	struct intern *texts;    /* paths; borrowed */
	struct intern *prefixes; /* of paths for which texts has no room; owned */
	struct path_labels volume_labels;
	struct path_labels group_labels;
	const struct file_groups *groups; /* borrowed; NULL: there are none */
	struct text scratch;              /* owned */
};

/* limit: instances of keys, and of objects. */
bool files_init(struct files *files, struct registry *registry, struct intern *texts,
		uint32_t limit, struct error *err);
void files_done(struct files *files);
void files_clear(struct files *files);
void files_begin_first_pass(struct files *files);
void files_build(struct files *files);

/* path: UTF-8, as recorded. */
void files_name_key(struct files *files, enum lifetime_change change, uint64_t key, int64_t time,
		    const char *path, size_t size);
void files_name_object(struct files *files, uint64_t object, int64_t time, const char *path,
		       size_t size);
void files_map_volume(struct files *files, const char *nt_path, size_t nt_size,
		      const char *dos_path, size_t dos_size);

/* The file that a key and an object (NULL: the record has none) mean; FILE_UNKNOWN. */
uint32_t files_find(struct files *files, const uint64_t *key, const uint64_t *object, int64_t time);

/* NULL: not known, or there was no room to keep it. */
const char *files_path(const struct files *files, uint32_t file, size_t *size);
uint32_t files_volume(struct files *files, uint32_t file);

/* The path as users write it, with the drive; appended to out. Of a file that files_path() knows.
 */
void files_dos_path(const struct files *files, uint32_t file, struct text *out);

/* The label of the path group, worked out once for each path; `_none`: of no group, `_unknown`:
 * there are groups, but the path is not known. */
uint32_t files_group(struct files *files, uint32_t file);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Files: which path a file key or a file object meant at a time, and on which volume it is.
 *
 * Read and write events have no name. Name records name the file key (one for each file), create
 * events name the file object (one for each open file); Windows reuses both. The key is looked up
 * first.
 *
 * Source: docs/etl-format.md section 16.3.
 */
#ifndef TRACK_FILES_H
#define TRACK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/track/lifetimes.h"
#include "exporter/track/volumes.h"
#include "metrics/registry.h"

struct group_glob; /* private */

enum { FILE_UNKNOWN = 0 }; /* the number of a file without a known path */

/* A cache from the text id of a path to a label id; INTERN_NONE: not resolved yet. */
struct path_labels {
	uint32_t *ids; /* owned */
	size_t count;
};

/* Why the path groups were not searched for a path. */
enum ungrouped_reason {
	UNGROUPED_LONG, /* the path is too long */
	UNGROUPED_WORK, /* the budget of comparison steps for this second is used up */
	UNGROUPED_COUNT
};

struct files {
	struct timeline keys;    /* file key -> path */
	struct timeline objects; /* FileObject -> path */
	struct volumes volumes;
	struct intern *texts;    /* paths; borrowed */
	struct intern *prefixes; /* owned; prefixes of paths that no longer fit into texts */
	struct path_labels volume_labels;
	struct path_labels group_labels;
	bool grouped;             /* path groups are configured */
	struct group_glob *globs; /* owned; the patterns of all path groups, in their order */
	size_t glob_count;
	uint64_t steps_left;  /* comparison steps that are left in this second of event time */
	int64_t steps_second; /* the second that steps_left is for */
	cell *ungrouped[UNGROUPED_COUNT]; /* borrowed; NULL: not counted */
	struct etw_text scratch;          /* owned */
};

/* limit: the most instances of file keys, and the most of file objects. */
bool files_init(struct files *files, struct registry *registry, struct intern *texts,
		uint32_t limit, struct etw_error *err);
/* Replaces the path groups. The configuration is not used after the call. */
bool files_set_groups(struct files *files, const struct config_path_group *groups, size_t count,
		      struct etw_error *err);
void files_done(struct files *files);
void files_clear(struct files *files);

/* path: UTF-8, as recorded. */
void files_name_key(struct files *files, enum lifetime_change change, uint64_t key, int64_t time,
		    const char *path, size_t size);
/*
 * A harvest found that a key meant a path at `time`. All records up to `known_until` have been
 * seen, but perhaps not all up to `time`. If an open file has the key under another path and no
 * record that is still to come can end it, it ends here.
 */
void files_found_key(struct files *files, uint64_t key, int64_t time, int64_t known_until,
		     const char *path, size_t size);
/* A record says that a file object means a path from `time` on. path: UTF-8, as recorded. */
void files_name_object(struct files *files, uint64_t object, int64_t time, const char *path,
		       size_t size);
/* A record maps the device of a volume to a drive; both paths are UTF-8. */
void files_map_volume(struct files *files, const char *nt_path, size_t nt_size,
		      const char *dos_path, size_t dos_size);

/* A live session found that the device has this drive letter or mount folder; dos_path NULL: it
 * has none now. */
void files_find_volume(struct files *files, const char *nt_path, const char *dos_path);

/* Sets how many network shares get a label of their own; see volumes_label(). */
void files_set_shares(struct files *files, uint32_t limit);

/* Returns the number of the file that a key, or an object, meant at a raw time. FILE_UNKNOWN if
 * no path is known. */
static inline uint32_t files_of_key(struct files *files, uint64_t key, int64_t time)
{
	const struct lifetime *instance = lifetimes_at(&files->keys.table, key, time);

	return instance ? instance->value : FILE_UNKNOWN;
}

static inline uint32_t files_of_object(struct files *files, uint64_t object, int64_t time)
{
	const struct lifetime *instance = lifetimes_at(&files->objects.table, object, time);

	return instance ? instance->value : FILE_UNKNOWN;
}

/* Returns the recorded path; NULL if it is not known or did not fit into the budget of path
 * text. */
const char *files_path(const struct files *files, uint32_t file, size_t *size);
/* Resolves the label id of the file's volume and caches it. */
uint32_t files_resolve_volume(struct files *files, uint32_t file);

/* Returns the label id of the file's volume; `_unknown` for a file without a known path. */
static inline uint32_t files_volume(struct files *files, uint32_t file)
{
	const struct path_labels *labels = &files->volume_labels;
	uint32_t label = file < labels->count ? labels->ids[file] : INTERN_NONE;

	return label != INTERN_NONE ? label : files_resolve_volume(files, file);
}

/* Appends the path to out as users write it, with the drive. files_path() of the file must not
 * be NULL. */
void files_dos_path(const struct files *files, uint32_t file, struct etw_text *out);

/*
 * Returns the label id of the path group, resolved once for each path. `_none`: the path is in no
 * group. `_unknown`: groups are configured, but the path is not known, or too long, or the budget
 * of comparison steps is used up; the last two are counted in files->ungrouped. second: the current
 * second of event time, counted from any origin; INT64_MIN if it is not known.
 */
uint32_t files_group(struct files *files, uint32_t file, int64_t second);

/* Makes the counters of files->ungrouped, which the thread of the shard adds to. */
bool files_count_ungrouped(struct files *files, struct shard *shard, struct etw_error *err);

/* ---- views of files ---- */

/*
 * Which processes have a file mapped into their memory: the views of files, by file and by process.
 * Each process has an id and a label id here. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/etl-format.md section 16.4.
 */

enum {
	VIEW_LISTS = 2,
	VIEW_WALK_MOST = 64, /* at most this many views of a file are examined, the newest first */
};

struct file_view; /* private */

struct file_views {
	struct file_view *views; /* owned; index 0 is not used */
	size_t count;            /* entries in use, index 0 included */
	size_t capacity;
	uint32_t limit;               /* the most views */
	uint32_t unused;              /* first entry of the free list */
	uint32_t next_out;            /* index of the view to drop next for lack of room */
	struct map by_place;          /* process id and address -> index in views */
	struct map lists[VIEW_LISTS]; /* file key, or process id -> index of its newest view */
	uint64_t evictions;           /* views that were dropped for lack of room */
};

/* Returns whether stores into a view change the file. misc_info: MiscInfo of FileIo/MapFile. */
bool file_view_is_writable(uint64_t misc_info);

/* Makes an empty table of at most `limit` views. It allocates nothing before the first view. */
void file_views_init(struct file_views *views, uint32_t limit);
void file_views_clear(struct file_views *views); /* forgets all views, frees all memory */

/* Adds the view of a file that a process has mapped at an address, in place of an earlier view
 * there. process: label id. */
void file_views_add(struct file_views *views, uint64_t file, uint32_t process_id, uint64_t address,
		    uint32_t process);
/* Forgets the view at an address. Returns its file key and sets *process to its process label
 * id; returns 0 if there is no such view. */
uint64_t file_views_remove(struct file_views *views, uint32_t process_id, uint64_t address,
			   uint32_t *process);
/* Forgets any one view of the process; otherwise as file_views_remove(). */
uint64_t file_views_remove_one(struct file_views *views, uint32_t process_id, uint32_t *process);
/* Forgets the views of a file, because its key now means another file. */
void file_views_forget_file(struct file_views *views, uint64_t file);

/* Writes the label ids of the different processes that have the file mapped, at most `most` of
 * them. Returns their number. */
size_t file_views_of(const struct file_views *views, uint64_t file, uint32_t *processes,
		     size_t most);

#endif

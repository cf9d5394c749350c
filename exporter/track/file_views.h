/* SPDX-License-Identifier: MIT */
/*
 * Which processes have a file mapped into their memory: the views of files, by file and by process.
 * One consumer's: no lock. Processes are label ids beside their ids.
 *
 * Source: docs/etl-format.md section 16.4.
 */
#ifndef TRACK_FILE_VIEWS_H
#define TRACK_FILE_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum {
	VIEW_LISTS = 2,
	VIEW_WALK_MOST = 64, /* views of a file that are looked at: the newest */
};

struct file_view; /* private */

struct file_views {
	struct file_view *views; /* owned; the first is not used */
	size_t count;            /* used, the first included */
	size_t capacity;
	uint32_t limit;               /* of views */
	uint32_t unused;              /* the first of the views that were forgotten */
	uint32_t next_out;            /* the view to drop next for lack of room */
	struct map by_place;          /* process and address -> number in views */
	struct map lists[VIEW_LISTS]; /* file key, or process id -> the newest of its views */
	uint64_t evictions;           /* views that were dropped for lack of room */
};

/* Whether stores into a view change the file, by MiscInfo of FileIo/MapFile. */
bool file_view_is_writable(uint64_t misc_info);

/* No views. Nothing is allocated before the first view. */
void file_views_init(struct file_views *views, uint32_t limit);
void file_views_clear(struct file_views *views); /* forgets all views, frees all memory */

/* A process has a file mapped at an address. It takes the place of a view there. */
void file_views_add(struct file_views *views, uint64_t file, uint32_t process_id, uint64_t address,
		    uint32_t process);
/* Forgets the view at an address. Returns its file, and in *process its process; 0: there is none.
 */
uint64_t file_views_remove(struct file_views *views, uint32_t process_id, uint64_t address,
			   uint32_t *process);
/* The same for a view of the process, whichever. */
uint64_t file_views_remove_one(struct file_views *views, uint32_t process_id, uint32_t *process);
/* The key no longer means the file. */
void file_views_forget_file(struct file_views *views, uint64_t file);

/* The different processes that have the file mapped, at most so many; returns their number. */
size_t file_views_of(const struct file_views *views, uint64_t file, uint32_t *processes,
		     size_t most);

#endif

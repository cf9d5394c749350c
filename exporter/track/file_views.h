/* SPDX-License-Identifier: MIT */
/*
 * Which processes have a file mapped into their memory: the views of files, by file and by process.
 * Each process has an id and a label id here. Only one consumer uses it, so it has no lock.
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

/* Whether stores into a view change the file. misc_info: MiscInfo of FileIo/MapFile. */
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

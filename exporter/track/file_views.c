/* SPDX-License-Identifier: MIT */
/*
 * The views of files.
 *
 * A view is identified by its process and its address, because FileIo/UnmapFile names these, and
 * because a rundown may report a view that FileIo/MapFile has reported too. It is looked up by its
 * file when pages of the file are written, and by its process when that ends. So each view is in
 * two lists, which begin in two maps; the newest view is first. All views are in one array; index 0
 * means none.
 *
 * The number of views is bounded. When there is no room, the views are dropped in the order of the
 * array, which is roughly the order of their age. So a process whose unmap events were lost cannot
 * fill the table for ever.
 */
#include "exporter/track/file_views.h"

#include <stdlib.h>

#include "base/array.h"

enum { OF_FILE, OF_PROCESS };

struct file_view {
	uint64_t place;
	uint64_t keys[VIEW_LISTS]; /* the file key, the process id */
	uint32_t older[VIEW_LISTS], newer[VIEW_LISTS];
	uint32_t process; /* label id */
};

/* Bit fields of MiscInfo. */
enum { PROTECTION_SHIFT = 48, PROTECTION_MASK = 7, SECTION_SHIFT = 54, SECTION_MASK = 3 };
enum { PROTECTION_READ_WRITE = 4, PROTECTION_EXECUTE_READ_WRITE = 6 };
enum { SECTION_DATA = 0 }; /* the section is neither a program nor memory without a file */

bool file_view_is_writable(uint64_t misc_info)
{
	unsigned protection = (unsigned)(misc_info >> PROTECTION_SHIFT) & PROTECTION_MASK;

	return ((misc_info >> SECTION_SHIFT) & SECTION_MASK) == SECTION_DATA &&
	       (protection == PROTECTION_READ_WRITE || protection == PROTECTION_EXECUTE_READ_WRITE);
}

void file_views_init(struct file_views *views, uint32_t limit)
{
	*views = (struct file_views){ .limit = limit };
}

void file_views_clear(struct file_views *views)
{
	free(views->views);
	map_done(&views->by_place);
	for (unsigned list = 0; list < VIEW_LISTS; list++) {
		map_done(&views->lists[list]);
	}
	*views = (struct file_views){ .limit = views->limit, .evictions = views->evictions };
}

/* Two views of a hostile event stream may have the same key; the later one then replaces the
 * other. */
static uint64_t place_of(uint32_t process_id, uint64_t address)
{
	return address ^ hash_u64(process_id);
}

/* ---- lists ---- */

static bool link_view(struct file_views *views, uint32_t at, unsigned list)
{
	struct file_view *view = &views->views[at];
	uint64_t *newest = map_put(&views->lists[list], view->keys[list], NULL);

	if (!newest) {
		return false;
	}
	view->older[list] = (uint32_t)*newest;
	view->newer[list] = 0;
	if (view->older[list] > 0) {
		views->views[view->older[list]].newer[list] = at;
	}
	*newest = at;
	return true;
}

static void unlink_view(struct file_views *views, uint32_t at, unsigned list)
{
	const struct file_view *view = &views->views[at];
	uint32_t older = view->older[list], newer = view->newer[list];

	if (older > 0) {
		views->views[older].newer[list] = newer;
	}
	if (newer > 0) {
		views->views[newer].older[list] = older;
	} else if (older > 0) {
		*map_find(&views->lists[list], view->keys[list]) = older;
	} else {
		map_remove(&views->lists[list], view->keys[list]);
	}
}

/* Returns the index of the newest view of a file or of a process; 0 if there is none. */
static uint32_t newest_of(const struct file_views *views, unsigned list, uint64_t key)
{
	const uint64_t *newest = map_find(&views->lists[list], key);

	return newest ? (uint32_t)*newest : 0;
}

/* ---- places in the array ---- */

static void free_place(struct file_views *views, uint32_t at)
{
	views->views[at].newer[OF_FILE] = views->unused;
	views->unused = at;
}

/* Removes the view from the lists. Returns its file key and sets *process to its process label
 * id. */
static uint64_t forget(struct file_views *views, uint32_t at, uint32_t *process)
{
	const struct file_view *view = &views->views[at];
	uint64_t file = view->keys[OF_FILE];

	*process = view->process;
	unlink_view(views, at, OF_FILE);
	unlink_view(views, at, OF_PROCESS);
	map_remove(&views->by_place, view->place);
	free_place(views, at);
	return file;
}

/* Returns a free index of the array; 0 without memory. */
static uint32_t take_place(struct file_views *views)
{
	uint32_t at = views->unused, process;
	struct file_view *grown;
	size_t count = views->count > 0 ? views->count : 1;

	if (at == 0 && views->by_place.count >= views->limit && views->limit > 0) {
		at = 1 + views->next_out++ % views->limit; /* the table is full, so all indices up
							      to the limit are in use */
		forget(views, at, &process);
		views->evictions++;
	}
	if (at > 0) {
		views->unused = views->views[at].newer[OF_FILE];
		return at;
	}
	grown = array_grow(views->views, &views->capacity, count, sizeof *grown);
	if (!grown) {
		return 0;
	}
	views->views = grown;
	views->count = count + 1;
	return (uint32_t)count;
}

/* ---- views ---- */

void file_views_add(struct file_views *views, uint64_t file, uint32_t process_id, uint64_t address,
		    uint32_t process)
{
	uint64_t place = place_of(process_id, address);
	const uint64_t *known = map_find(&views->by_place, place);
	uint32_t at, before;
	uint64_t *number;

	if (known) {
		forget(views, (uint32_t)*known, &before);
	}
	at = file != 0 ? take_place(views) : 0;
	if (at == 0) {
		return;
	}
	views->views[at] = (struct file_view){ .place = place,
					       .keys = { file, process_id },
					       .process = process };
	number = map_put(&views->by_place, place, NULL);
	if (!number) {
		free_place(views, at);
		return;
	}
	*number = at;
	if (!link_view(views, at, OF_FILE)) {
		map_remove(&views->by_place, place);
		free_place(views, at);
	} else if (!link_view(views, at, OF_PROCESS)) {
		unlink_view(views, at, OF_FILE);
		map_remove(&views->by_place, place);
		free_place(views, at);
	}
}

uint64_t file_views_remove(struct file_views *views, uint32_t process_id, uint64_t address,
			   uint32_t *process)
{
	const uint64_t *at = map_find(&views->by_place, place_of(process_id, address));

	return at ? forget(views, (uint32_t)*at, process) : 0;
}

uint64_t file_views_remove_one(struct file_views *views, uint32_t process_id, uint32_t *process)
{
	uint32_t at = newest_of(views, OF_PROCESS, process_id);

	return at > 0 ? forget(views, at, process) : 0;
}

void file_views_forget_file(struct file_views *views, uint64_t file)
{
	uint32_t at, process;

	while ((at = newest_of(views, OF_FILE, file)) > 0) {
		forget(views, at, &process);
	}
}

size_t file_views_of(const struct file_views *views, uint64_t file, uint32_t *processes,
		     size_t most)
{
	uint32_t at = newest_of(views, OF_FILE, file);
	size_t count = 0;

	for (unsigned seen = 0; at > 0 && seen < VIEW_WALK_MOST && count < most; seen++) {
		uint32_t process = views->views[at].process;
		size_t i = 0;

		while (i < count && processes[i] != process) {
			i++;
		}
		if (i == count) {
			processes[count++] = process;
		}
		at = views->views[at].older[OF_FILE];
	}
	return count;
}

/* SPDX-License-Identifier: MIT */
/*
 * Files, their paths and their path groups.
 *
 * The kernel identifies a file by a file key and an open file by a file object, and reuses both.
 * Two timelines therefore map keys and objects to paths by time. A path is stored once, as an
 * interned text; its id is the number of the file for all other modules. The budget for paths is
 * bounded. When it is used up, only the prefix that determines the volume is stored, in a second,
 * small table: a long session meets more paths than it can store, but only few volumes. The top bit
 * of a file number marks such a prefix.
 *
 * The labels of volume and path group are cached by path. A new mapping can change them, so it
 * empties the caches. A path is in the first path group of the configuration that has a matching
 * pattern. Programs choose paths, and must not be able to slow the consumer down: a path of more
 * than a kilobyte is not matched, and the number of comparison steps in each second of event time
 * is limited; beyond it a new path has an unknown group. After the first pass of a recording all
 * mappings are known, and the second pass ignores them.
 */
#include <etw/record.h>

#include "exporter/track/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/text.h"

enum {
	PREFIXES_BYTES = 1 << 20,
	PREFIXES_WITH_SHARE = 4000, /* the rest of the room is for prefixes of volumes */
	/* Longer paths are not matched with path groups: programs choose paths, and so the cost. */
	GROUPED_PATH_SIZE_MAX = 1024,
	/*
	 * Characters that may be compared in a second of event time; about 2 % of a processor. Ten
	 * patterns such as `**\logs\**\*.log` take 10,000 for a path of 1,000 bytes that they
	 * match, and a few hundred for one that they do not match.
	 */
	STEPS_PER_SECOND = 4 * 1000 * 1000,
};

struct group_glob {
	char *glob; /* owned */
	size_t end_size;
	uint32_t label;
};

#define PREFIX UINT32_C(0x80000000) /* flag of a file number; the rest is an id of prefixes */

bool files_init(struct files *files, struct registry *registry, struct intern *texts,
		uint32_t limit, struct etw_error *err)
{
	*files = (struct files){ .texts = texts,
				 .steps_second = INT64_MIN,
				 .steps_left = STEPS_PER_SECOND };
	timeline_init(&files->keys, limit);
	timeline_init(&files->objects, limit);
	volumes_init(&files->volumes, registry);
	files->prefixes = intern_new(PREFIXES_BYTES, err);
	return files->prefixes != NULL;
}

static void forget(struct path_labels *labels)
{
	if (labels->ids) {
		memset(labels->ids, 0, labels->count * sizeof *labels->ids);
	}
}

static void free_groups(struct files *files)
{
	for (size_t i = 0; i < files->glob_count; i++) {
		free(files->globs[i].glob);
	}
	free(files->globs);
	files->globs = NULL;
	files->glob_count = 0;
}

bool files_set_groups(struct files *files, const struct config_path_group *groups, size_t count,
		      struct etw_error *err)
{
	size_t globs = 0;

	for (size_t i = 0; i < count; i++) {
		globs += groups[i].glob_count;
	}
	free_groups(files);
	forget(&files->group_labels);
	files->grouped = count > 0;
	files->globs = calloc(globs + 1, sizeof *files->globs);
	if (!files->globs) {
		return error_no_memory(err, "path groups");
	}
	for (size_t i = 0; i < count; i++) {
		struct registry *registry = files->volumes.registry;
		uint32_t label = intern_own(registry_strings(registry), groups[i].name);

		for (size_t j = 0; j < groups[i].glob_count; j++) {
			const char *glob = groups[i].globs[j];
			struct group_glob *to = &files->globs[files->glob_count];

			label = label == INTERN_FULL ? registry_other(registry) : label;
			*to = (struct group_glob){ text_duplicate(glob, strlen(glob)),
						   path_glob_end_size(glob), label };
			if (!to->glob) {
				return error_no_memory(err, "path groups");
			}
			files->glob_count++;
		}
	}
	return true;
}

static void forget_labels(struct files *files)
{
	forget(&files->volume_labels);
	forget(&files->group_labels);
}

void files_clear(struct files *files)
{
	timeline_clear(&files->keys);
	timeline_clear(&files->objects);
	volumes_done(&files->volumes);
	forget_labels(files);
	files->steps_second = INT64_MIN;
	files->steps_left = STEPS_PER_SECOND;
}

void files_done(struct files *files)
{
	files_clear(files);
	intern_free(files->prefixes);
	free(files->volume_labels.ids);
	free(files->group_labels.ids);
	text_free(&files->scratch);
	free_groups(files);
	*files = (struct files){ .texts = NULL };
}

static uint32_t keep_path(struct files *files, const char *path, size_t size)
{
	uint32_t id = intern_add(files->texts, path, size);

	if (id == INTERN_FULL || (id & PREFIX)) {
		bool shares = files->volumes.share_limit > 0 &&
			      intern_count(files->prefixes) < PREFIXES_WITH_SHARE;

		id = intern_add(files->prefixes, path, volumes_prefix(path, size, shares));
		return id == INTERN_FULL ? FILE_UNKNOWN : id | PREFIX;
	}
	return id;
}

void files_name_key(struct files *files, enum lifetime_change change, uint64_t key, int64_t time,
		    const char *path, size_t size)
{
	timeline_announce(&files->keys, change, key, time, keep_path(files, path, size));
}

void files_found_key(struct files *files, uint64_t key, int64_t time, int64_t known_until,
		     const char *path, size_t size)
{
	uint32_t file = keep_path(files, path, size);
	const struct lifetime *known = lifetimes_at(&files->keys.table, key, time);
	bool reused = known && known->end == LIFETIME_OPEN && known->start < time &&
		      known->value != FILE_UNKNOWN && known->value != file && known_until >= time;

	timeline_announce(&files->keys, reused ? LIFETIME_START : LIFETIME_EXISTS, key, time, file);
}

void files_name_object(struct files *files, uint64_t object, int64_t time, const char *path,
		       size_t size)
{
	timeline_announce(&files->objects, LIFETIME_START, object, time,
			  keep_path(files, path, size));
}

void files_map_volume(struct files *files, const char *nt_path, size_t nt_size,
		      const char *dos_path, size_t dos_size)
{
	/* Mappings apply to the whole trace, so the second pass adds none. */
	if (!files->keys.table.frozen &&
	    volumes_map(&files->volumes, nt_path, nt_size, dos_path, dos_size, false)) {
		forget_labels(files);
	}
}

void files_find_volume(struct files *files, const char *nt_path, const char *dos_path)
{
	size_t nt_size = strlen(nt_path);

	if (dos_path ? volumes_map(&files->volumes, nt_path, nt_size, dos_path, strlen(dos_path),
				   true) :
		       volumes_unmap(&files->volumes, nt_path, nt_size)) {
		forget_labels(files);
	}
}

void files_set_shares(struct files *files, uint32_t limit)
{
	if (files->volumes.share_limit != limit) {
		files->volumes.share_limit = limit;
		forget(&files->volume_labels);
	}
}

const char *files_path(const struct files *files, uint32_t file, size_t *size)
{
	if (file == FILE_UNKNOWN || (file & PREFIX)) {
		return NULL;
	}
	return intern_text(files->texts, file, size);
}

/* Returns the place of a path in a cache of labels; NULL without memory. */
static uint32_t *label_place(const struct files *files, struct path_labels *labels, uint32_t file)
{
	uint32_t *ids;
	size_t count;

	if (file < labels->count) {
		return &labels->ids[file];
	}
	count = intern_count(files->texts);
	count += count / 2;
	ids = realloc(labels->ids, count * sizeof *ids);
	if (!ids) {
		memory_note_loss();
		return NULL;
	}
	memset(ids + labels->count, 0, (count - labels->count) * sizeof *ids);
	labels->ids = ids;
	labels->count = count;
	return &ids[file];
}

uint32_t files_resolve_volume(struct files *files, uint32_t file)
{
	const char *path;
	uint32_t *label;
	size_t size;

	if (file & PREFIX) {
		path = intern_text(files->prefixes, file & ~PREFIX, &size);
		return volumes_label(&files->volumes, path, size);
	}
	label = file != FILE_UNKNOWN ? label_place(files, &files->volume_labels, file) : NULL;
	if (!label) {
		return registry_unknown(files->volumes.registry);
	}
	if (*label == INTERN_NONE) {
		path = intern_text(files->texts, file, &size);
		*label = volumes_label(&files->volumes, path, size);
	}
	return *label;
}

void files_dos_path(const struct files *files, uint32_t file, struct etw_text *out)
{
	size_t size;
	const char *path = intern_text(files->texts, file, &size);

	volumes_dos_path(&files->volumes, path, size, out);
}

/* Returns the label id of the group of a path as users write it ("D:\\logs\\a"). INTERN_NONE:
 * the comparison steps are used up. */
static uint32_t group_label(struct files *files, const char *path, size_t size)
{
	uint64_t *steps = &files->steps_left;

	for (size_t i = 0; i < files->glob_count; i++) {
		const struct group_glob *group = &files->globs[i];

		*steps -= *steps > 0;
		if (!path_glob_ends(group->glob, group->end_size, path, size)) {
			continue;
		}
		switch (path_glob_match(group->glob, path, size, steps)) {
		case PATH_GLOB_DIFFERS:
			break;
		case PATH_GLOB_MATCHES:
			return group->label;
		case PATH_GLOB_NOT_DONE:
			return INTERN_NONE;
		}
	}
	return registry_none(files->volumes.registry);
}

/* Returns the group of a file on the network, by its path "\\server\share\a"; `otherwise` for
 * other files. */
static uint32_t unc_group_label(struct files *files, uint32_t file, uint32_t otherwise)
{
	size_t size;
	const char *path = intern_text(files->texts, file, &size);

	text_clear(&files->scratch);
	return volumes_unc_path(path, size, &files->scratch) && !files->scratch.failed ?
		       group_label(files, files->scratch.data, files->scratch.size) :
		       otherwise;
}

/* Renews the comparison steps for each second of event time. A time more than a minute earlier
 * means that the clock was set back. */
static void allow_steps(struct files *files, int64_t second)
{
	bool back = second < files->steps_second &&
		    etw_time_between(second, files->steps_second) > 60;

	if (second > files->steps_second || (back && second != INT64_MIN)) {
		files->steps_second = second;
		files->steps_left = STEPS_PER_SECOND;
	}
}

static void count_ungrouped(const struct files *files, enum ungrouped_reason reason)
{
	if (files->ungrouped[reason]) {
		cell_add(files->ungrouped[reason], 1);
	}
}

bool files_count_ungrouped(struct files *files, struct shard *shard, struct etw_error *err)
{
	static const struct family_options options = {
		.name = "etw_consumer_ungrouped_paths_total",
		.help = "Times that the group of a path was not looked for, by reason: the path is too long, or there were too many new paths in a second of event time.",
		.type = FAMILY_COUNTER,
		.labels = { "reason" },
		.label_count = 1,
	};
	static const char *const reasons[UNGROUPED_COUNT] = { "long", "work" };
	struct registry *registry = files->volumes.registry;
	struct family *family = registry_family(registry, &options, err);

	for (unsigned i = 0; family && i < UNGROUPED_COUNT; i++) {
		uint32_t id = intern_own(registry_strings(registry), reasons[i]);

		files->ungrouped[i] = family_cells(family, shard, &id, NULL);
	}
	return family != NULL;
}

uint32_t files_group(struct files *files, uint32_t file, int64_t second)
{
	uint32_t *label = NULL;

	if (!files->grouped) {
		return registry_none(files->volumes.registry);
	}
	if (file != FILE_UNKNOWN && !(file & PREFIX)) {
		label = label_place(files, &files->group_labels, file);
	}
	if (!label) {
		return registry_unknown(files->volumes.registry);
	}
	if (*label == INTERN_NONE) {
		uint32_t unknown = registry_unknown(files->volumes.registry);

		text_clear(&files->scratch);
		files_dos_path(files, file, &files->scratch);
		if (files->scratch.size > GROUPED_PATH_SIZE_MAX) {
			count_ungrouped(files, UNGROUPED_LONG);
			*label = unknown;
			return unknown;
		}
		allow_steps(files, second);
		*label = group_label(files, files->scratch.data, files->scratch.size);
		if (*label == registry_none(files->volumes.registry)) {
			*label = unc_group_label(files, file, *label);
		}
		if (*label == INTERN_NONE) { /* INTERN_NONE is not cached, so the next event of the
						file tries again */
			count_ungrouped(files, UNGROUPED_WORK);
			return unknown;
		}
	}
	return *label;
}

/* ---- views of files ---- */

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
static uint64_t forget_view(struct file_views *views, uint32_t at, uint32_t *process)
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
static uint32_t find_free_view(struct file_views *views)
{
	uint32_t at = views->unused, process;
	struct file_view *grown;
	size_t count = views->count > 0 ? views->count : 1;

	if (at == 0 && views->by_place.count >= views->limit && views->limit > 0) {
		at = 1 + views->next_out++ % views->limit; /* the table is full, so all indices up
							      to the limit are in use */
		forget_view(views, at, &process);
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
		forget_view(views, (uint32_t)*known, &before);
	}
	at = file != 0 ? find_free_view(views) : 0;
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

	return at ? forget_view(views, (uint32_t)*at, process) : 0;
}

uint64_t file_views_remove_one(struct file_views *views, uint32_t process_id, uint32_t *process)
{
	uint32_t at = newest_of(views, OF_PROCESS, process_id);

	return at > 0 ? forget_view(views, at, process) : 0;
}

void file_views_forget_file(struct file_views *views, uint64_t file)
{
	uint32_t at, process;

	while ((at = newest_of(views, OF_FILE, file)) > 0) {
		forget_view(views, at, &process);
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

/* SPDX-License-Identifier: MIT */
/*
 * Files, their paths and volumes.
 *
 * A path is kept once, as an id. When the budget for paths is spent, what decides the volume is
 * still kept: a long session meets more paths than it can remember, but few volumes.
 */
#include "track/files.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIXES_BYTES = 1 << 20 };

#define PREFIX UINT32_C(0x80000000) /* in a file's number: an id of prefixes */

bool files_init(struct files *files, struct registry *registry, struct intern *texts,
		uint32_t limit, struct error *err)
{
	*files = (struct files){ .texts = texts };
	timeline_init(&files->keys, limit);
	timeline_init(&files->objects, limit);
	volumes_init(&files->volumes, registry);
	files->prefixes = intern_new(PREFIXES_BYTES, err);
	return files->prefixes != NULL;
}

void files_done(struct files *files)
{
	timeline_done(&files->keys);
	timeline_done(&files->objects);
	volumes_done(&files->volumes);
	intern_free(files->prefixes);
	free(files->labels);
	files->prefixes = NULL;
	files->labels = NULL;
	files->label_count = 0;
}

static void forget_labels(struct files *files)
{
	if (files->labels) {
		memset(files->labels, 0, files->label_count * sizeof *files->labels);
	}
}

void files_clear(struct files *files)
{
	timeline_clear(&files->keys);
	timeline_clear(&files->objects);
	volumes_done(&files->volumes);
	files->mapped = false;
	forget_labels(files);
}

void files_look_ahead(struct files *files)
{
	timeline_look_ahead(&files->keys);
	timeline_look_ahead(&files->objects);
}

void files_build(struct files *files)
{
	timeline_sort(&files->keys);
	timeline_build(&files->keys);
	timeline_sort(&files->objects);
	timeline_build(&files->objects);
	files->mapped = true;
}

static uint32_t keep_path(struct files *files, const char *path, size_t size)
{
	uint32_t id = intern_add(files->texts, path, size);

	if (id == INTERN_FULL || (id & PREFIX)) {
		id = intern_add(files->prefixes, path, volumes_prefix(path, size));
		return id == INTERN_FULL ? FILE_UNKNOWN : id | PREFIX;
	}
	return id;
}

void files_name_key(struct files *files, enum lifetime_change change, uint64_t key, int64_t time,
		    const char *path, size_t size)
{
	timeline_tell(&files->keys, change, key, time, keep_path(files, path, size));
}

void files_name_object(struct files *files, uint64_t object, int64_t time, const char *path,
		       size_t size)
{
	timeline_tell(&files->objects, LIFETIME_START, object, time, keep_path(files, path, size));
}

void files_map_volume(struct files *files, const char *nt_path, size_t nt_size,
		      const char *dos_path, size_t dos_size)
{
	/* Mappings hold for the whole trace: the second pass has nothing to add. */
	if (!files->mapped && volumes_map(&files->volumes, nt_path, nt_size, dos_path, dos_size)) {
		forget_labels(files);
	}
}

uint32_t files_find(struct files *files, const uint64_t *key, const uint64_t *object, int64_t time)
{
	const struct lifetime *instance = key ? lifetimes_at(&files->keys.table, *key, time) : NULL;

	if (instance && instance->value != FILE_UNKNOWN) {
		return instance->value;
	}
	instance = object ? lifetimes_at(&files->objects.table, *object, time) : NULL;
	return instance ? instance->value : FILE_UNKNOWN;
}

const char *files_path(const struct files *files, uint32_t file, size_t *size)
{
	if (file == FILE_UNKNOWN || (file & PREFIX)) {
		return NULL;
	}
	return intern_text(files->texts, file, size);
}

static bool reserve_label(struct files *files, uint32_t file)
{
	size_t count = intern_count(files->texts);
	uint32_t *labels;

	if (file < files->label_count) {
		return true;
	}
	count += count / 2;
	labels = realloc(files->labels, count * sizeof *labels);
	if (!labels) {
		return false;
	}
	memset(labels + files->label_count, 0, (count - files->label_count) * sizeof *labels);
	files->labels = labels;
	files->label_count = count;
	return true;
}

uint32_t files_volume(struct files *files, uint32_t file)
{
	const char *path;
	size_t size;

	if (file & PREFIX) {
		path = intern_text(files->prefixes, file & ~PREFIX, &size);
		return volumes_label(&files->volumes, path, size);
	}
	if (file == FILE_UNKNOWN || !reserve_label(files, file)) {
		return registry_unknown(files->volumes.registry);
	}
	if (files->labels[file] == INTERN_NONE) {
		path = intern_text(files->texts, file, &size);
		files->labels[file] = volumes_label(&files->volumes, path, size);
	}
	return files->labels[file];
}

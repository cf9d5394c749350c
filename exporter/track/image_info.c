/* SPDX-License-Identifier: MIT */
/*
 * Program files of running processes.
 */
#include "track/image_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

enum {
	LABELS = 4,
	CUT_SIZE = 14, /* older systems cut ImageFileName to 14 or 15 bytes (docs/etl-format.md
			  section 15) */
	NO_SLOT = UINT32_MAX,
};

struct shown_image {
	uint32_t ids[LABELS]; /* process, provider, path, checksum */
	uint32_t next;        /* of the free list */
};

bool image_info_init(struct image_info *info, struct registry *registry, struct shard *shard,
		     uint32_t limit, struct error *err)
{
	static const struct family_options options = {
		.name = "etw_process_image_info",
		.help = "Program files of running processes; always 1.",
		.type = FAMILY_GAUGE,
		.labels = { "process", "provider", "path", "checksum" },
		.label_count = LABELS,
		.dynamic_labels = 0xd, /* all but the provider */
	};

	*info = (struct image_info){
		.registry = registry, .shard = shard, .limit = limit, .free = NO_SLOT
	};
	info->family = registry_family(registry, &options, err);
	info->provider = intern_string(registry_strings(registry), "Windows Kernel");
	return info->family != NULL;
}

void image_info_done(struct image_info *info)
{
	map_done(&info->by_process);
	map_done(&info->users);
	free(info->shown);
	info->shown = NULL;
	info->count = info->capacity = 0;
	info->free = NO_SLOT;
}

static uint64_t hash_of(const uint32_t *ids)
{
	return hash_u64(hash_u64((uint64_t)ids[0] << 32 | ids[2]) + ids[3]);
}

void image_info_forget(struct image_info *info, uint32_t process_id)
{
	const uint64_t *number = info->family ? map_find(&info->by_process, process_id) : NULL;
	struct shown_image *shown;
	uint64_t *users;

	if (!number) {
		return;
	}
	shown = &info->shown[*number];
	shown->next = info->free;
	info->free = (uint32_t)*number;
	map_remove(&info->by_process, process_id);
	users = map_find(&info->users, hash_of(shown->ids));
	if (users && --*users == 0) {
		map_remove(&info->users, hash_of(shown->ids));
		family_hide(info->family, info->shard, shown->ids);
	}
}

void image_info_clear(struct image_info *info)
{
	size_t at = 0;
	const struct map_slot *entry;

	while ((entry = map_next(&info->by_process, &at))) {
		family_hide(info->family, info->shard, info->shown[entry->value].ids);
	}
	image_info_done(info);
}

/* Whether a process with this label may be named after the image. */
static bool names_process(const struct image_info *info, uint32_t label, const char *name,
			  size_t size)
{
	size_t label_size;
	const char *text = intern_text(registry_strings(info->registry), label, &label_size);
	size_t stem = text_ends_nocase(name, size, ".exe", 4) ? size - 4 : size;

	return text_equal_nocase(name, stem, text, label_size) ||
	       (label_size >= CUT_SIZE && text_starts_nocase(name, size, text, label_size));
}

static bool take_slot(struct image_info *info, uint32_t *slot)
{
	*slot = info->free;
	if (*slot != NO_SLOT) {
		info->free = info->shown[*slot].next;
		return true;
	}
	if (info->count == info->capacity) {
		uint32_t capacity = info->capacity ? 2 * info->capacity : 64;
		struct shown_image *shown = realloc(info->shown, capacity * sizeof *shown);

		if (!shown) {
			return false;
		}
		info->shown = shown;
		info->capacity = capacity;
	}
	*slot = info->count++;
	return true;
}

static void show(struct image_info *info, uint32_t process_id, const struct shown_image *image)
{
	uint64_t *number, *users;
	uint32_t slot;

	if (info->by_process.count >= info->limit || !take_slot(info, &slot)) {
		info->refused++;
		return;
	}
	info->shown[slot] = *image;
	number = map_put(&info->by_process, process_id, NULL);
	users = number ? map_put(&info->users, hash_of(image->ids), NULL) : NULL;
	if (!users) {
		if (number) {
			map_remove(&info->by_process, process_id);
		}
		info->shown[slot].next = info->free;
		info->free = slot;
		return;
	}
	*number = slot;
	if ((*users)++ == 0) {
		family_set(info->family, info->shard, image->ids, 1);
	}
}

void image_info_announce(struct image_info *info, uint32_t process_id, uint32_t label,
			 const char *path, size_t size, uint32_t checksum)
{
	struct intern *strings = registry_strings(info->registry);
	struct shown_image image = { .ids = { label, info->provider, 0, 0 } };
	size_t name = size;
	char text[16];
	int length;

	while (name > 0 && path[name - 1] != '\\') {
		name--;
	}
	if (size == 0 || map_find(&info->by_process, process_id) ||
	    !names_process(info, label, path + name, size - name)) {
		return;
	}
	length = snprintf(text, sizeof text, "0x%08x", (unsigned)checksum);
	image.ids[2] = intern_add(strings, path, size);
	image.ids[3] = intern_add(strings, text, (size_t)length);
	show(info, process_id, &image);
}

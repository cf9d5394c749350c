/* SPDX-License-Identifier: MIT */
#include "exporter/track/process_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct shown_process {
	uint32_t ids[PROCESS_INFO_LABELS];
	cell *cells; /* of the sample with these labels, or of the overflow series */
};

const struct family_options process_info_family = {
	.name = "etw_process_info",
	.help = "Accounts and terminal sessions of running processes, by process name; always 1.",
	.type = FAMILY_GAUGE,
	.labels = { "process", "owner", "terminal_session" },
	.label_count = PROCESS_INFO_LABELS,
	.dynamic_labels = 0x7,
};

bool process_info_init(struct process_info *info, struct registry *registry, struct shard *shard,
		       uint32_t limit, struct etw_error *err)
{
	*info = (struct process_info){ .shard = shard, .limit = limit };
	info->family = registry_family(registry, &process_info_family, err);
	return info->family != NULL;
}

static struct shown_process *shown_at(uint64_t value)
{
	return (struct shown_process *)(uintptr_t)value;
}

void process_info_done(struct process_info *info)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&info->by_process, &at))) {
		free(shown_at(slot->value));
	}
	map_done(&info->by_process);
	map_done(&info->users);
}

void process_info_clear(struct process_info *info)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&info->by_process, &at))) {
		cells_hide(info->family, shown_at(slot->value)->cells);
	}
	process_info_done(info);
}

/* The last process of a sample takes it with it. */
static void remove_user(struct process_info *info, cell *cells)
{
	uint64_t *users = map_find(&info->users, (uintptr_t)cells);

	if (users && --*users == 0) {
		map_remove(&info->users, (uintptr_t)cells);
		cells_hide(info->family, cells);
	}
}

/* Returns the cells of the sample that shows the labels; NULL without memory. */
static cell *add_user(struct process_info *info, const uint32_t *ids)
{
	cell *cells = family_cells(info->family, info->shard, ids, NULL);
	uint64_t *users = cells ? map_put(&info->users, (uintptr_t)cells, NULL) : NULL;

	if (!users) {
		return NULL;
	}
	if ((*users)++ == 0) {
		cells_show(cells, 1);
	}
	return cells;
}

static void move(struct process_info *info, struct shown_process *shown, const uint32_t *ids)
{
	cell *cells = NULL;

	if (memcmp(shown->ids, ids, sizeof shown->ids) != 0) {
		cells = add_user(info, ids);
	}
	if (cells) {
		remove_user(info, shown->cells);
		memcpy(shown->ids, ids, sizeof shown->ids);
		shown->cells = cells;
	}
}

void process_info_set(struct process_info *info, uint32_t process_id,
		      const uint32_t ids[PROCESS_INFO_LABELS])
{
	const uint64_t *known = map_find(&info->by_process, process_id);
	struct shown_process *shown = NULL;
	uint64_t *place;

	if (known) {
		move(info, shown_at(*known), ids);
		return;
	}
	if (info->by_process.count < info->limit) {
		shown = malloc(sizeof *shown);
		if (!shown) {
			memory_note_loss();
		}
	}
	place = shown ? map_put(&info->by_process, process_id, NULL) : NULL;
	if (place) {
		shown->cells = add_user(info, ids);
	}
	if (!place || !shown->cells) {
		info->refused++;
		map_remove(&info->by_process, process_id);
		free(shown);
		return;
	}
	memcpy(shown->ids, ids, sizeof shown->ids);
	*place = (uintptr_t)shown;
}

void process_info_forget(struct process_info *info, uint32_t process_id)
{
	const uint64_t *known = map_find(&info->by_process, process_id);
	struct shown_process *shown = known ? shown_at(*known) : NULL;

	if (shown) {
		map_remove(&info->by_process, process_id);
		remove_user(info, shown->cells);
		free(shown);
	}
}

void process_info_refresh(struct process_info *info,
			  bool (*labels_of)(void *context, uint32_t process_id,
					    uint32_t ids[PROCESS_INFO_LABELS]),
			  void *context)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&info->by_process, &at))) {
		uint32_t ids[PROCESS_INFO_LABELS];

		if (labels_of(context, (uint32_t)slot->key, ids)) {
			move(info, shown_at(slot->value), ids);
		}
	}
}

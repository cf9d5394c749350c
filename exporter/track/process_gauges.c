/* SPDX-License-Identifier: MIT */
/*
 * The state gauges of processes.
 *
 * Each gauge is a sum over running processes, grouped by process name, so it only changes when a
 * process or thread starts or stops, or when a process gets another name. Each process keeps the
 * cells of the family to which it was added. The same cells are later decremented, even if the
 * family has since replaced the label set by the overflow series. Threads are stored with the id of
 * their owner. A process stays in the table while it runs or still owns threads.
 *
 * The program file is not a sum: a sample with the value 1 exists while at least one process uses
 * the file. The number of users is counted by a hash of the labels that are shown.
 *
 * Both tables are bounded. Processes and threads that do not fit are counted as refused, and the
 * gauges lack them.
 */
#include <etw/provider.h>

#include "exporter/track/process_gauges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "base/text.h"

/* Frees a map whose values are allocated structs, with them. */
static void free_processes(struct map *processes)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(processes, &at))) {
		free((void *)(uintptr_t)slot->value);
	}
	map_done(processes);
}

/* ---- instances and threads ---- */

/* A process id that means a running process or owns threads. */
struct gauge_process {
	uint32_t process_id;
	uint32_t label;
	uint32_t provider; /* label id of the one that named it first */
	uint32_t threads;
	bool alive;
	cell *instance_cell; /* the cell that counts the process; valid while it is alive */
	cell *thread_cell;   /* the cell that counts its threads; valid while it has any */
};

const struct family_options process_gauges_families[PROCESS_GAUGES] = {
	{
		.name = "etw_process_instances",
		.help = "Running instances by process name.",
		.type = FAMILY_GAUGE,
		.labels = { "process", "provider" },
		.label_count = 2,
		.dynamic_labels = 1U << 0,
	},
	{
		.name = "etw_process_threads",
		.help = "Threads of running processes, by process name.",
		.type = FAMILY_GAUGE,
		.labels = { "process", "provider" },
		.label_count = 2,
		.dynamic_labels = 1U << 0,
	},
};

bool process_gauges_init(struct process_gauges *gauges, struct registry *registry,
			 struct shard *shard, uint32_t process_limit, uint32_t thread_limit,
			 struct etw_error *err)
{
	*gauges = (struct process_gauges){
		.shard = shard,
		.process_limit = process_limit,
		.thread_limit = thread_limit,
	};
	gauges->instances = registry_family(registry, &process_gauges_families[0], err);
	gauges->threads = registry_family(registry, &process_gauges_families[1], err);
	gauges->provider = intern_own(registry_strings(registry), "Windows Kernel");
	gauges->second_provider = intern_own(registry_strings(registry),
					     etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].name);
	return gauges->instances && gauges->threads;
}

static void add(cell *at, int64_t amount)
{
	if (at) {
		cells_move(at, (uint64_t)amount);
	}
}

static cell *cell_of(struct process_gauges *gauges, struct family *family, uint32_t label,
		     uint32_t provider)
{
	const uint32_t ids[] = { label, provider };

	return family_cells(family, gauges->shard, ids, NULL);
}

/* Moves the process and its threads to the cells of another name. */
static void rename_process(struct process_gauges *gauges, struct gauge_process *process,
			   uint32_t label)
{
	if (process->label == label) {
		return;
	}
	process->label = label;
	if (process->alive) {
		add(process->instance_cell, -1);
		process->instance_cell =
			cell_of(gauges, gauges->instances, label, process->provider);
		add(process->instance_cell, 1);
	}
	if (process->threads > 0) {
		add(process->thread_cell, -(int64_t)process->threads);
		process->thread_cell = cell_of(gauges, gauges->threads, label, gauges->provider);
		add(process->thread_cell, process->threads);
	}
}

static void set_alive(struct process_gauges *gauges, struct gauge_process *process, bool alive)
{
	if (process->alive == alive) {
		return;
	}
	process->alive = alive;
	if (alive) {
		process->instance_cell =
			cell_of(gauges, gauges->instances, process->label, process->provider);
	}
	add(process->instance_cell, alive ? 1 : -1);
}

static struct gauge_process *find(const struct process_gauges *gauges, uint32_t process_id)
{
	const uint64_t *process = map_find(&gauges->by_id, process_id);

	return process ? (struct gauge_process *)(uintptr_t)*process : NULL;
}

static struct gauge_process *find_or_add(struct process_gauges *gauges, uint32_t process_id,
					 uint32_t label, uint32_t provider)
{
	struct gauge_process *process = find(gauges, process_id);
	uint64_t *place;

	if (process || gauges->by_id.count >= gauges->process_limit) {
		return process;
	}
	process = calloc(1, sizeof *process);
	if (!process) {
		memory_note_loss();
	}
	place = process ? map_put(&gauges->by_id, process_id, NULL) : NULL;
	if (!place) {
		free(process);
		return NULL;
	}
	process->process_id = process_id;
	process->label = label;
	process->provider = provider;
	*place = (uintptr_t)process;
	return process;
}

static void remove_if_unused(struct process_gauges *gauges, struct gauge_process *process)
{
	if (!process->alive && process->threads == 0) {
		map_remove(&gauges->by_id, process->process_id);
		free(process);
	}
}

void process_gauges_process(struct process_gauges *gauges, enum lifetime_change change,
			    uint32_t process_id, uint32_t label, uint32_t provider)
{
	struct gauge_process *process;

	if (change == LIFETIME_STOP) {
		process = find(gauges, process_id);
		if (process) {
			set_alive(gauges, process, false);
			rename_process(gauges, process, label);
			remove_if_unused(gauges, process);
		}
		return;
	}
	process = find_or_add(gauges, process_id, label, provider);
	if (!process) {
		gauges->refused_processes++;
		return;
	}
	rename_process(gauges, process, label);
	set_alive(gauges, process, true);
}

void process_gauges_rename(struct process_gauges *gauges,
			   uint32_t (*label_of)(void *context, uint32_t process_id), void *context)
{
	const struct map_slot *entry;
	size_t at = 0;

	while ((entry = map_next(&gauges->by_id, &at))) {
		uint32_t label = label_of(context, (uint32_t)entry->key);

		if (label != INTERN_NONE) {
			rename_process(gauges, (struct gauge_process *)(uintptr_t)entry->value,
				       label);
		}
	}
}

static void remove_thread(struct process_gauges *gauges, uint32_t thread_id)
{
	const uint64_t *owner = map_find(&gauges->owners, thread_id);
	struct gauge_process *process = owner ? find(gauges, (uint32_t)*owner) : NULL;

	if (!owner) {
		return;
	}
	map_remove(&gauges->owners, thread_id);
	if (process) {
		process->threads--;
		add(process->thread_cell, -1);
		remove_if_unused(gauges, process);
	}
}

static bool add_thread(struct process_gauges *gauges, uint32_t thread_id, uint32_t process_id,
		       uint32_t label)
{
	struct gauge_process *process;
	uint64_t *owner;

	if (gauges->owners.count >= gauges->thread_limit) {
		return false;
	}
	owner = map_put(&gauges->owners, thread_id, NULL);
	process = owner ? find_or_add(gauges, process_id, label, gauges->provider) : NULL;
	if (!process) {
		if (owner) {
			map_remove(&gauges->owners, thread_id);
		}
		return false;
	}
	*owner = process_id;
	rename_process(gauges, process, label);
	if (process->threads++ == 0) {
		process->thread_cell = cell_of(gauges, gauges->threads, label, gauges->provider);
	}
	add(process->thread_cell, 1);
	return true;
}

void process_gauges_thread(struct process_gauges *gauges, enum lifetime_change change,
			   uint32_t thread_id, uint32_t process_id, uint32_t label)
{
	if (change == LIFETIME_EXISTS && map_find(&gauges->owners, thread_id)) {
		return;
	}
	remove_thread(gauges, thread_id);
	if (change != LIFETIME_STOP && !add_thread(gauges, thread_id, process_id, label)) {
		gauges->refused_threads++;
	}
}

void process_gauges_done(struct process_gauges *gauges)
{
	free_processes(&gauges->by_id);
	map_done(&gauges->owners);
}

void process_gauges_clear(struct process_gauges *gauges)
{
	size_t at = 0;
	const struct map_slot *entry;

	while ((entry = map_next(&gauges->by_id, &at))) {
		struct gauge_process *process = (struct gauge_process *)(uintptr_t)entry->value;

		set_alive(gauges, process, false);
		if (process->threads > 0) {
			add(process->thread_cell, -(int64_t)process->threads);
		}
	}
	process_gauges_done(gauges);
}

/* ---- samples that several processes share ---- */

/* One process fewer has the sample; the last one takes it with it. */
static void remove_user(struct map *users, struct family *family, cell *cells)
{
	uint64_t *count = map_find(users, (uintptr_t)cells);

	if (count && --*count == 0) {
		map_remove(users, (uintptr_t)cells);
		cells_hide(family, cells);
	}
}

/* Returns the cells of the sample that shows the labels; NULL without memory. */
static cell *add_user(struct map *users, struct family *family, struct shard *shard,
		      const uint32_t *ids)
{
	cell *cells = family_cells(family, shard, ids, NULL);
	uint64_t *count = cells ? map_put(users, (uintptr_t)cells, NULL) : NULL;

	if (!count) {
		return NULL;
	}
	if ((*count)++ == 0) {
		cells_show(cells, 1);
	}
	return cells;
}

/* ---- program files ---- */

enum {
	IMAGE_LABELS = 4,
	/* Older systems cut ImageFileName to 14 or 15 bytes (docs/etl-format.md section 15). */
	CUT_SIZE = 14,
};

struct shown_image {
	uint32_t ids[IMAGE_LABELS]; /* process, provider, path, checksum */
	cell *cells;                /* of the sample with these labels, or of an overflow series */
	int64_t time;
};

const struct family_options image_info_family = {
	.name = "etw_process_image_info",
	.help = "Program files of running processes, with their checksum; always 1.",
	.type = FAMILY_GAUGE,
	.labels = { "process", "provider", "path", "checksum" },
	.label_count = IMAGE_LABELS,
	.dynamic_labels = 0xd, /* every label except the provider */
};

bool image_info_init(struct image_info *info, struct registry *registry, struct shard *shard,
		     uint32_t limit, struct etw_error *err)
{
	*info = (struct image_info){ .registry = registry, .shard = shard, .limit = limit };
	info->family = registry_family(registry, &image_info_family, err);
	info->provider = intern_own(registry_strings(registry), "Windows Kernel");
	return info->family != NULL;
}

void image_info_done(struct image_info *info)
{
	free_processes(&info->by_process);
	map_done(&info->users);
}

void image_info_forget(struct image_info *info, uint32_t process_id, int64_t time)
{
	const uint64_t *place = info->family ? map_find(&info->by_process, process_id) : NULL;
	struct shown_image *shown;

	if (!place) {
		return;
	}
	shown = (struct shown_image *)(uintptr_t)*place;
	if (shown->time >= time) {
		return;
	}
	map_remove(&info->by_process, process_id);
	remove_user(&info->users, info->family, shown->cells);
	free(shown);
}

void image_info_rename(struct image_info *info,
		       uint32_t (*label_of)(void *context, uint32_t process_id), void *context)
{
	const struct map_slot *entry;
	size_t at = 0;

	while ((entry = map_next(&info->by_process, &at))) {
		struct shown_image *shown = (struct shown_image *)(uintptr_t)entry->value;
		uint32_t label = label_of(context, (uint32_t)entry->key), former = shown->ids[0];
		cell *cells;

		if (label == INTERN_NONE || former == label) {
			continue;
		}
		shown->ids[0] = label;
		cells = add_user(&info->users, info->family, info->shard, shown->ids);
		if (cells) {
			remove_user(&info->users, info->family, shown->cells);
			shown->cells = cells;
		} else {
			shown->ids[0] = former;
		}
	}
}

void image_info_clear(struct image_info *info)
{
	size_t at = 0;
	const struct map_slot *entry;

	while ((entry = map_next(&info->by_process, &at))) {
		const struct shown_image *shown = (struct shown_image *)(uintptr_t)entry->value;

		cells_hide(info->family, shown->cells);
	}
	image_info_done(info);
}

/* Whether a program with this label has the name of the image: the names are equal, or the label is
 * a name that an older system cut. */
static bool is_program(const struct image_info *info, uint32_t program, const char *name,
		       size_t size)
{
	size_t label_size;
	const char *text = intern_text(registry_strings(info->registry), program, &label_size);
	size_t stem = text_ends_nocase(name, size, ".exe", 4) ? size - 4 : size;

	return text_equal_nocase(name, stem, text, label_size) ||
	       (label_size >= CUT_SIZE && text_starts_nocase(name, size, text, label_size));
}

static void show_image(struct image_info *info, uint32_t process_id,
		       const struct shown_image *image)
{
	struct shown_image *shown = NULL;
	uint64_t *place;

	if (info->by_process.count < info->limit) {
		shown = malloc(sizeof *shown);
		if (!shown) {
			memory_note_loss();
		}
	}
	place = shown ? map_put(&info->by_process, process_id, NULL) : NULL;
	if (place) {
		*shown = *image;
		shown->cells = add_user(&info->users, info->family, info->shard, image->ids);
	}
	if (!place || !shown->cells) {
		info->refused++;
		map_remove(&info->by_process, process_id);
		free(shown);
		return;
	}
	*place = (uintptr_t)shown;
}

void image_info_announce(struct image_info *info, uint32_t process_id, uint32_t label,
			 uint32_t program, const char *path, size_t size, uint32_t checksum,
			 int64_t time)
{
	struct intern *strings = registry_strings(info->registry);
	struct shown_image image = { .ids = { label, info->provider, 0, 0 }, .time = time };
	size_t name = size;
	char text[16];
	int length;

	while (name > 0 && path[name - 1] != '\\') {
		name--;
	}
	if (size == 0 || map_find(&info->by_process, process_id) || program == INTERN_NONE ||
	    program == INTERN_FULL || !is_program(info, program, path + name, size - name)) {
		return;
	}
	length = snprintf(text, sizeof text, "0x%08x", (unsigned)checksum);
	image.ids[2] = intern_add(strings, path, size);
	image.ids[3] = intern_add(strings, text, (size_t)length);
	show_image(info, process_id, &image);
}

/* ---- etw_process_info ---- */

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
	free_processes(&info->by_process);
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

static void move(struct process_info *info, struct shown_process *shown, const uint32_t *ids)
{
	cell *cells = NULL;

	if (memcmp(shown->ids, ids, sizeof shown->ids) != 0) {
		cells = add_user(&info->users, info->family, info->shard, ids);
	}
	if (cells) {
		remove_user(&info->users, info->family, shown->cells);
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
		shown->cells = add_user(&info->users, info->family, info->shard, ids);
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
		remove_user(&info->users, info->family, shown->cells);
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

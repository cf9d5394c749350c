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
 * Info metrics are no sums: a sample with the value 1 exists while at least one process has its
 * labels. The processes of a sample are counted by the address of its cells, because beyond a limit
 * on series those with different labels share one.
 *
 * All tables are bounded. Processes and threads that do not fit are counted as refused, and the
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

static void add_to_cell(cell *at, int64_t amount)
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
		add_to_cell(process->instance_cell, -1);
		process->instance_cell =
			cell_of(gauges, gauges->instances, label, process->provider);
		add_to_cell(process->instance_cell, 1);
	}
	if (process->threads > 0) {
		add_to_cell(process->thread_cell, -(int64_t)process->threads);
		process->thread_cell = cell_of(gauges, gauges->threads, label, gauges->provider);
		add_to_cell(process->thread_cell, process->threads);
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
	add_to_cell(process->instance_cell, alive ? 1 : -1);
}

static struct gauge_process *find_process(const struct process_gauges *gauges, uint32_t process_id)
{
	const uint64_t *process = map_find(&gauges->by_id, process_id);

	return process ? (struct gauge_process *)(uintptr_t)*process : NULL;
}

static struct gauge_process *find_or_add_process(struct process_gauges *gauges, uint32_t process_id,
						 uint32_t label, uint32_t provider)
{
	struct gauge_process *process = find_process(gauges, process_id);
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
		process = find_process(gauges, process_id);
		if (process) {
			set_alive(gauges, process, false);
			rename_process(gauges, process, label);
			remove_if_unused(gauges, process);
		}
		return;
	}
	process = find_or_add_process(gauges, process_id, label, provider);
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
	struct gauge_process *process = owner ? find_process(gauges, (uint32_t)*owner) : NULL;

	if (!owner) {
		return;
	}
	map_remove(&gauges->owners, thread_id);
	if (process) {
		process->threads--;
		add_to_cell(process->thread_cell, -1);
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
	process = owner ? find_or_add_process(gauges, process_id, label, gauges->provider) : NULL;
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
	add_to_cell(process->thread_cell, 1);
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
			add_to_cell(process->thread_cell, -(int64_t)process->threads);
		}
	}
	process_gauges_done(gauges);
}

/* ---- info metrics ---- */

struct info_row {
	uint32_t ids[INFO_LABELS_MAX];
	cell *cells; /* of the sample with these labels, or of an overflow series */
	int64_t since;
};

bool info_metric_init(struct info_metric *info, const struct family_options *declaration,
		      struct registry *registry, struct shard *shard, uint32_t limit,
		      struct etw_error *err)
{
	*info = (struct info_metric){
		.registry = registry,
		.shard = shard,
		.label_count = declaration->label_count,
		.limit = limit,
	};
	info->family = registry_family(registry, declaration, err);
	return info->family != NULL;
}

void info_metric_done(struct info_metric *info)
{
	free_processes(&info->by_process);
	map_done(&info->users);
}

static struct info_row *row_at(uint64_t value)
{
	return (struct info_row *)(uintptr_t)value;
}

void info_metric_clear(struct info_metric *info)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&info->by_process, &at))) {
		cells_hide(info->family, row_at(slot->value)->cells);
	}
	info_metric_done(info);
}

/* One process fewer has the sample; the last one takes it with it. */
static void remove_user(struct info_metric *info, cell *cells)
{
	uint64_t *count = map_find(&info->users, (uintptr_t)cells);

	if (count && --*count == 0) {
		map_remove(&info->users, (uintptr_t)cells);
		cells_hide(info->family, cells);
	}
}

/* Returns the cells of the sample that shows the labels; NULL without memory. */
static cell *add_user(struct info_metric *info, const uint32_t *ids)
{
	cell *cells = family_cells(info->family, info->shard, ids, NULL);
	uint64_t *count = cells ? map_put(&info->users, (uintptr_t)cells, NULL) : NULL;

	if (!count) {
		return NULL;
	}
	if ((*count)++ == 0) {
		cells_show(cells, 1);
	}
	return cells;
}

/* Moves a process to the sample of its present labels. Without memory it stays where it is. */
static void move_row(struct info_metric *info, struct info_row *row, const uint32_t *ids)
{
	size_t size = info->label_count * sizeof *ids;
	cell *cells = memcmp(row->ids, ids, size) != 0 ? add_user(info, ids) : NULL;

	if (cells) {
		remove_user(info, row->cells);
		memcpy(row->ids, ids, size);
		row->cells = cells;
	}
}

void info_metric_set(struct info_metric *info, uint32_t process_id, const uint32_t *ids,
		     int64_t since)
{
	const uint64_t *known = map_find(&info->by_process, process_id);
	struct info_row *row = NULL;
	uint64_t *place;

	if (known) {
		move_row(info, row_at(*known), ids);
		return;
	}
	if (info->by_process.count < info->limit) {
		row = malloc(sizeof *row);
		if (!row) {
			memory_note_loss();
		}
	}
	place = row ? map_put(&info->by_process, process_id, NULL) : NULL;
	if (place) {
		row->cells = add_user(info, ids);
	}
	if (!place || !row->cells) {
		info->refused++;
		map_remove(&info->by_process, process_id);
		free(row);
		return;
	}
	memcpy(row->ids, ids, info->label_count * sizeof *ids);
	row->since = since;
	*place = (uintptr_t)row;
}

void info_metric_forget(struct info_metric *info, uint32_t process_id, int64_t time)
{
	const uint64_t *known = map_find(&info->by_process, process_id);
	struct info_row *row = known ? row_at(*known) : NULL;

	if (row && row->since < time) {
		map_remove(&info->by_process, process_id);
		remove_user(info, row->cells);
		free(row);
	}
}

void info_metric_refresh(struct info_metric *info, info_labels_function *labels_of, void *context)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&info->by_process, &at))) {
		struct info_row *row = row_at(slot->value);
		uint32_t ids[INFO_LABELS_MAX];

		memcpy(ids, row->ids, sizeof ids);
		if (labels_of(context, (uint32_t)slot->key, ids)) {
			move_row(info, row, ids);
		}
	}
}

const struct family_options process_info_family = {
	.name = "etw_process_info",
	.help = "Accounts and terminal sessions of running processes, by process name; always 1.",
	.type = FAMILY_GAUGE,
	.labels = { "process", "owner", "terminal_session" },
	.label_count = 3,
	.dynamic_labels = 0x7,
};

/* ---- program files ---- */

/* Older systems cut ImageFileName to 14 or 15 bytes (docs/etl-format.md section 15). */
enum { CUT_SIZE = 14 };

const struct family_options image_info_family = {
	.name = "etw_process_image_info",
	.help = "Program files of running processes, with their checksum; always 1.",
	.type = FAMILY_GAUGE,
	.labels = { "process", "provider", "path", "checksum" },
	.label_count = 4,
	.dynamic_labels = 0xd, /* every label except the provider */
};

/* Returns whether a program with this label has the name of the image: the names are equal, or the
 * label is a name that an older system cut. */
static bool is_program(const struct info_metric *info, uint32_t program, const char *name,
		       size_t size)
{
	size_t label_size;
	const char *text = intern_text(registry_strings(info->registry), program, &label_size);
	size_t stem = text_ends_nocase(name, size, ".exe", 4) ? size - 4 : size;

	return text_equal_nocase(name, stem, text, label_size) ||
	       (label_size >= CUT_SIZE && text_starts_nocase(name, size, text, label_size));
}

void image_info_announce(struct info_metric *info, uint32_t process_id, uint32_t label,
			 uint32_t program, const char *path, size_t size, uint32_t checksum,
			 int64_t time)
{
	struct intern *strings = registry_strings(info->registry);
	uint32_t ids[INFO_LABELS_MAX];
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
	ids[0] = label;
	ids[1] = intern_own(strings, "Windows Kernel");
	ids[2] = intern_add(strings, path, size);
	ids[3] = intern_add(strings, text, (size_t)length);
	info_metric_set(info, process_id, ids, time);
}

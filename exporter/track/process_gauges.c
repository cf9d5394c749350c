/* SPDX-License-Identifier: MIT */
/*
 * The state gauges of processes.
 *
 * What was added is remembered by its cell, so that exactly that is taken back, whatever became of
 * the label set since.
 */
#include "track/process_gauges.h"

#include <stdlib.h>

#include "base/intern.h"

/* A process id that is alive or owns threads. */
struct gauge_process {
	uint32_t process_id;
	uint32_t label;
	uint32_t threads;
	bool alive;
	uint32_t next;       /* of the free list */
	cell *instance_cell; /* where it is counted, if it is alive */
	cell *thread_cell;   /* where its threads are counted */
};

enum { NO_SLOT = UINT32_MAX };

bool process_gauges_init(struct process_gauges *gauges, struct registry *registry,
			 struct shard *shard, uint32_t process_limit, uint32_t thread_limit,
			 struct error *err)
{
	static const struct family_options instances = {
		.name = "etw_process_instances",
		.help = "Running instances behind one process name.",
		.type = FAMILY_GAUGE,
		.labels = { "process", "provider" },
		.label_count = 2,
		.dynamic_labels = 1U << 0,
	};
	static const struct family_options threads = {
		.name = "etw_process_threads",
		.help = "Threads of the running processes behind one name.",
		.type = FAMILY_GAUGE,
		.labels = { "process", "provider" },
		.label_count = 2,
		.dynamic_labels = 1U << 0,
	};

	*gauges = (struct process_gauges){
		.shard = shard,
		.free = NO_SLOT,
		.process_limit = process_limit,
		.thread_limit = thread_limit,
	};
	gauges->instances = registry_family(registry, &instances, err);
	gauges->threads = registry_family(registry, &threads, err);
	gauges->provider = intern_string(registry_strings(registry), "Windows Kernel");
	return gauges->instances && gauges->threads;
}

static void add(cell *at, int64_t amount)
{
	if (at) {
		cell_add(at, (uint64_t)amount);
	}
}

static cell *cell_of(struct process_gauges *gauges, struct family *family, uint32_t label)
{
	const uint32_t ids[] = { label, gauges->provider };

	return family_cells(family, gauges->shard, ids, NULL);
}

/* Puts what a process id stands for under another name. */
static void rename_process(struct process_gauges *gauges, struct gauge_process *process,
			   uint32_t label)
{
	if (process->label == label) {
		return;
	}
	process->label = label;
	if (process->alive) {
		add(process->instance_cell, -1);
		process->instance_cell = cell_of(gauges, gauges->instances, label);
		add(process->instance_cell, 1);
	}
	if (process->threads > 0) {
		add(process->thread_cell, -(int64_t)process->threads);
		process->thread_cell = cell_of(gauges, gauges->threads, label);
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
		process->instance_cell = cell_of(gauges, gauges->instances, process->label);
	}
	add(process->instance_cell, alive ? 1 : -1);
}

static struct gauge_process *find(const struct process_gauges *gauges, uint32_t process_id)
{
	const uint64_t *number = map_find(&gauges->by_id, process_id);

	return number ? &gauges->processes[*number] : NULL;
}

static uint32_t take_slot(struct process_gauges *gauges)
{
	uint32_t slot = gauges->free;

	if (slot != NO_SLOT && gauges->processes) {
		gauges->free = gauges->processes[slot].next;
		return slot;
	}
	if (gauges->count == gauges->capacity) {
		uint32_t capacity = gauges->capacity ? 2 * gauges->capacity : 64;
		struct gauge_process *processes =
			realloc(gauges->processes, capacity * sizeof *processes);

		if (!processes) {
			return NO_SLOT;
		}
		gauges->processes = processes;
		gauges->capacity = capacity;
	}
	return gauges->count++;
}

static void give_back(struct process_gauges *gauges, uint32_t slot)
{
	gauges->processes[slot].next = gauges->free;
	gauges->free = slot;
}

static struct gauge_process *find_or_add(struct process_gauges *gauges, uint32_t process_id,
					 uint32_t label)
{
	struct gauge_process *process = find(gauges, process_id);
	uint64_t *number;
	uint32_t slot;

	if (process) {
		return process;
	}
	slot = gauges->by_id.count < gauges->process_limit ? take_slot(gauges) : NO_SLOT;
	if (slot == NO_SLOT) {
		return NULL;
	}
	number = map_put(&gauges->by_id, process_id, NULL);
	if (!number) {
		give_back(gauges, slot);
		return NULL;
	}
	*number = slot;
	process = &gauges->processes[slot];
	*process = (struct gauge_process){ .process_id = process_id, .label = label };
	return process;
}

static void forget_if_gone(struct process_gauges *gauges, struct gauge_process *process)
{
	if (!process->alive && process->threads == 0) {
		map_remove(&gauges->by_id, process->process_id);
		give_back(gauges, (uint32_t)(process - gauges->processes));
	}
}

void process_gauges_process(struct process_gauges *gauges, enum lifetime_change change,
			    uint32_t process_id, uint32_t label)
{
	struct gauge_process *process;

	if (change == LIFETIME_STOP) {
		process = find(gauges, process_id);
		if (process) {
			set_alive(gauges, process, false);
			rename_process(gauges, process, label);
			forget_if_gone(gauges, process);
		}
		return;
	}
	process = find_or_add(gauges, process_id, label);
	if (!process) {
		gauges->refused_processes++;
		return;
	}
	rename_process(gauges, process, label);
	set_alive(gauges, process, true);
}

static void forget_thread(struct process_gauges *gauges, uint32_t thread_id)
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
		forget_if_gone(gauges, process);
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
	process = owner ? find_or_add(gauges, process_id, label) : NULL;
	if (!process) {
		if (owner) {
			map_remove(&gauges->owners, thread_id);
		}
		return false;
	}
	*owner = process_id;
	rename_process(gauges, process, label);
	if (process->threads++ == 0) {
		process->thread_cell = cell_of(gauges, gauges->threads, label);
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
	forget_thread(gauges, thread_id);
	if (change != LIFETIME_STOP && !add_thread(gauges, thread_id, process_id, label)) {
		gauges->refused_threads++;
	}
}

void process_gauges_clear(struct process_gauges *gauges)
{
	size_t at = 0;
	const struct map_slot *entry;

	while ((entry = map_next(&gauges->by_id, &at))) {
		struct gauge_process *process = &gauges->processes[entry->value];

		set_alive(gauges, process, false);
		add(process->thread_cell, -(int64_t)process->threads);
	}
	map_done(&gauges->by_id);
	map_done(&gauges->owners);
	gauges->count = 0;
	gauges->free = NO_SLOT;
}

void process_gauges_done(struct process_gauges *gauges)
{
	map_done(&gauges->by_id);
	map_done(&gauges->owners);
	free(gauges->processes);
	gauges->processes = NULL;
}

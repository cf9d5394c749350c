/* SPDX-License-Identifier: MIT */
#include "exporter/track/process_memory.h"

#include <stdlib.h>

#include <etw/provider.h>

#include "base/cursor.h"
#include "base/intern.h"
#include "base/memory.h"

/* 128 TiB: user space of 64-bit Windows. */
#define ADDRESS_SPACE_PAGES (UINT64_C(1) << 35)

enum measure { WORKING_SET, PRIVATE_WORKING_SET, COMMIT, HANDLES };

enum {
	PAGE_BYTES = 4096, /* of all processors that Windows 8 and newer run on */
	/* A provider and the kernel write an event every half second, and a list is read every
	 * ten seconds at most: without an event between two lists there are none any more. */
	LISTS_WITHOUT_EVENT = 2,
};

struct memory_row {
	uint32_t label;
	bool seen; /* the present reading has a process of this name */
	uint64_t next[PROCESS_MEMORY_FAMILIES];
	uint64_t shown[PROCESS_MEMORY_FAMILIES];
	cell *cells[PROCESS_MEMORY_FAMILIES]; /* held while the row exists; NULL: no value */
};

#define FAMILY(the_name, the_help)                                                                \
	{                                                                                         \
		.name = the_name, .help = the_help, .type = FAMILY_GAUGE,                         \
		.labels = { "process", "provider" }, .label_count = 2, .dynamic_labels = 1U << 0, \
	}

const struct family_options process_memory_families[PROCESS_MEMORY_FAMILIES] = {
	[WORKING_SET] = FAMILY("etw_process_working_set_bytes",
			       "Memory of processes that is in RAM (working set), by process name. "
			       "Counts memory that several processes share once for each of them."),
	[PRIVATE_WORKING_SET] =
		FAMILY("etw_process_private_working_set_bytes",
		       "Memory in RAM that only one process uses, by process name."),
	[COMMIT] =
		FAMILY("etw_process_commit_bytes",
		       "Memory that Windows has promised to processes (commit charge), in RAM or "
		       "in a page file, by process name."),
	[HANDLES] = FAMILY("etw_process_handles",
			   "Open handles of processes, by process name. Live sessions only."),
};

bool process_memory_init(struct process_memory *memory, struct registry *registry,
			 struct shard *shard, uint32_t limit, struct etw_error *err)
{
	struct intern *strings = registry_strings(registry);

	*memory = (struct process_memory){ .shard = shard, .limit = limit };
	for (unsigned i = 0; i < PROCESS_MEMORY_FAMILIES; i++) {
		memory->families[i] = registry_family(registry, &process_memory_families[i], err);
		if (!memory->families[i]) {
			return false;
		}
	}
	memory->providers[MEMORY_OF_LIST] = intern_own(strings, "Windows Kernel");
	memory->providers[MEMORY_OF_KERNEL] = memory->providers[MEMORY_OF_LIST];
	memory->providers[MEMORY_OF_PROVIDER] =
		intern_own(strings, etw_known_providers[ETW_PROVIDER_KERNEL_MEMORY].name);
	return true;
}

/* Subtracts what a row has added, and frees it. */
static void free_row(struct memory_row *row)
{
	for (unsigned i = 0; i < PROCESS_MEMORY_FAMILIES; i++) {
		if (row->cells[i]) {
			cells_move(row->cells[i], 0 - row->shown[i]);
			cells_release(row->cells[i]);
		}
	}
	free(row);
}

static struct memory_row *row_at(const struct map_slot *slot)
{
	return (struct memory_row *)(uintptr_t)slot->value;
}

void process_memory_clear(struct process_memory *memory)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&memory->by_name, &at))) {
		free_row(row_at(slot));
	}
	map_done(&memory->by_name);
	memory->reader = MEMORY_OF_NOBODY;
	memory->lists = 0;
}

void process_memory_done(struct process_memory *memory)
{
	size_t at = 0;
	const struct map_slot *slot;

	while ((slot = map_next(&memory->by_name, &at))) {
		free(row_at(slot));
	}
	map_done(&memory->by_name);
}

/* Returns whether a reading is shown. If it is of another reader than those before, these go. */
static bool begin_reading(struct process_memory *memory, enum memory_reader reader)
{
	size_t at = 0;
	const struct map_slot *slot;

	if (!memory->families[0]) {
		return false;
	}
	memory->lists = reader == MEMORY_OF_LIST ? memory->lists + 1 : 0;
	if (reader < memory->reader &&
	    !(reader == MEMORY_OF_LIST && memory->lists > LISTS_WITHOUT_EVENT)) {
		return false;
	}
	if (memory->reader != reader) {
		process_memory_clear(memory);
		memory->reader = reader;
	}
	while ((slot = map_next(&memory->by_name, &at))) {
		struct memory_row *row = row_at(slot);

		row->seen = false;
		for (unsigned i = 0; i < PROCESS_MEMORY_FAMILIES; i++) {
			row->next[i] = 0;
		}
	}
	return true;
}

/* Makes the series of a new row, in the order of the reading: that of the map differs from run to
 * run. */
static void make_cells(const struct process_memory *memory, struct memory_row *row)
{
	const uint32_t ids[] = { row->label, memory->providers[memory->reader] };

	for (unsigned i = 0; i < PROCESS_MEMORY_FAMILIES; i++) {
		if (i == HANDLES && memory->reader != MEMORY_OF_LIST) {
			continue;
		}
		row->cells[i] = family_cells(memory->families[i], memory->shard, ids, NULL);
		if (row->cells[i]) {
			cells_hold(row->cells[i]);
		}
	}
}

static struct memory_row *find_or_add(struct process_memory *memory, uint32_t label)
{
	const uint64_t *place = map_find(&memory->by_name, label);
	struct memory_row *row;
	uint64_t *added;

	if (place) {
		return (struct memory_row *)(uintptr_t)*place;
	}
	if (memory->by_name.count >= memory->limit) {
		memory->refused++;
		return NULL;
	}
	row = calloc(1, sizeof *row);
	added = row ? map_put(&memory->by_name, label, NULL) : NULL;
	if (!added) {
		memory_note_loss();
		free(row);
		return NULL;
	}
	row->label = label;
	*added = (uintptr_t)row;
	make_cells(memory, row);
	return row;
}

static void add_process(struct process_memory *memory, uint32_t label,
			const struct etw_process_memory *process)
{
	struct memory_row *row = find_or_add(memory, label);

	if (row) {
		row->seen = true;
		row->next[WORKING_SET] += process->working_set_bytes;
		row->next[PRIVATE_WORKING_SET] += process->private_working_set_bytes;
		row->next[COMMIT] += process->commit_bytes;
		row->next[HANDLES] += process->handles;
	}
}

/* Moves the gauges of a row to the values of the reading. */
static void show_row(struct memory_row *row)
{
	for (unsigned i = 0; i < PROCESS_MEMORY_FAMILIES; i++) {
		if (row->cells[i]) {
			cells_replace(row->cells[i], row->shown[i], row->next[i]);
			row->shown[i] = row->next[i];
		}
	}
}

static void end_reading(struct process_memory *memory)
{
	size_t at = 0;
	const struct map_slot *slot;
	struct memory_row *gone[64];
	size_t count;

	while ((slot = map_next(&memory->by_name, &at))) {
		if (row_at(slot)->seen) {
			show_row(row_at(slot));
		}
	}
	do { /* a map must not change while it is walked through */
		count = 0;
		at = 0;
		while (count < sizeof gone / sizeof gone[0] &&
		       (slot = map_next(&memory->by_name, &at))) {
			if (!row_at(slot)->seen) {
				gone[count++] = row_at(slot);
			}
		}
		for (size_t i = 0; i < count; i++) {
			map_remove(&memory->by_name, gone[i]->label);
			free_row(gone[i]);
		}
	} while (count > 0);
}

static uint64_t read_pages(struct cursor *cursor, uint8_t pointer_size)
{
	uint64_t pages = pointer_size == 4 ? cursor_u32(cursor) : cursor_u64(cursor);

	/* More than the address space of a process is damage, and sums must not overflow. */
	return pages <= ADDRESS_SPACE_PAGES ? pages * PAGE_BYTES : 0;
}

void process_memory_read_event(struct process_memory *memory, enum memory_reader reader,
			       const struct etw_record *record, memory_label_function *label,
			       void *context)
{
	enum { OTHERS = 4 }; /* since version 2: two numbers of stores, two of commit */
	struct cursor cursor = cursor_over(record->payload, record->payload_size);
	uint32_t count = cursor_u32(&cursor);

	if (!begin_reading(memory, reader)) {
		return;
	}
	for (uint32_t i = 0; i < count && !cursor.overrun; i++) {
		struct etw_process_memory process = { .process_id = cursor_u32(&cursor) };

		process.working_set_bytes = read_pages(&cursor, record->pointer_size);
		process.commit_bytes = read_pages(&cursor, record->pointer_size);
		read_pages(&cursor, record->pointer_size); /* virtual size */
		process.private_working_set_bytes = read_pages(&cursor, record->pointer_size);
		for (unsigned k = 0; record->version >= 2 && k < OTHERS; k++) {
			read_pages(&cursor, record->pointer_size);
		}
		if (!cursor.overrun) {
			add_process(memory, label(context, process.process_id), &process);
		}
	}
	end_reading(memory);
}

void process_memory_read_list(struct process_memory *memory, const struct etw_process_memory *list,
			      size_t count, memory_label_function *label, void *context)
{
	if (!begin_reading(memory, MEMORY_OF_LIST)) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		add_process(memory, label(context, list[i].process_id), &list[i]);
	}
	end_reading(memory);
}

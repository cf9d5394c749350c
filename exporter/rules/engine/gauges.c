/* SPDX-License-Identifier: MIT */
/*
 * Values of `set` gauges: one for each running process; the sample shows their sum.
 *
 * A rule with `op: set` sets a value for one process. The sample of its labels may add up many
 * processes, so the value of each is kept here, and setting it adds the difference to the sample.
 * When a process ends, its values are subtracted from their samples.
 *
 * Entries are in a ring in the order in which they were made. One map finds the entry of an
 * instance and a sample, another the first of the instance's entries, which form a list. A new
 * entry takes the next place of the ring; if that is in use, the old value is subtracted from its
 * sample and the eviction is counted. Two instances with equal hashes cannot both be kept, so the
 * older one is dropped; its next value adds it again.
 */
#include "exporter/rules/engine/gauges.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"

enum { NO_ENTRY = UINT32_MAX };

struct entry {
	uint64_t instance;
	cell *cells; /* NULL: the entry is free */
	uint64_t value;
	int64_t time;            /* when it was set */
	uint32_t next, previous; /* list of the instance's entries */
};

struct gauges {
	struct map places;     /* hash of instance and sample -> index of its entry */
	struct map first;      /* instance -> index of its first entry */
	struct entry *entries; /* owned; GAUGES_MAX entries, allocated with the first value */
	uint32_t at;           /* index of the next entry to use */
	uint64_t count, evictions;
};

struct gauges *gauges_new(struct etw_error *err)
{
	struct gauges *gauges = calloc(1, sizeof *gauges);

	if (!gauges) {
		error_no_memory(err, "gauges");
	}
	return gauges;
}

void gauges_free(struct gauges *gauges)
{
	if (gauges) {
		map_done(&gauges->places);
		map_done(&gauges->first);
		free(gauges->entries);
		free(gauges);
	}
}

static uint64_t place_of(uint64_t instance, const cell *cells)
{
	return hash_u64(instance) * UINT64_C(0xd6e8feb86659fd93) ^ (uint64_t)(uintptr_t)cells;
}

static void take_out(struct gauges *gauges, uint32_t index)
{
	struct entry *entry = &gauges->entries[index];

	cell_move(entry->cells, 0 - entry->value);
	if (entry->next != NO_ENTRY) {
		gauges->entries[entry->next].previous = entry->previous;
	}
	if (entry->previous != NO_ENTRY) {
		gauges->entries[entry->previous].next = entry->next;
	} else if (entry->next != NO_ENTRY) {
		*map_find(&gauges->first, entry->instance) = entry->next;
	} else {
		map_remove(&gauges->first, entry->instance);
	}
	map_remove(&gauges->places, place_of(entry->instance, entry->cells));
	cells_release(entry->cells);
	entry->cells = NULL;
	gauges->count--;
}

static void put_in(struct gauges *gauges, uint32_t index, uint64_t instance, cell *cells,
		   uint64_t value, int64_t time)
{
	struct entry *entry = &gauges->entries[index];
	uint64_t *place = map_put(&gauges->places, place_of(instance, cells), NULL);
	uint64_t *first;
	bool added;

	if (!place) {
		return;
	}
	*place = index;
	first = map_put(&gauges->first, instance, &added);
	if (!first) {
		map_remove(&gauges->places, place_of(instance, cells));
		return;
	}
	*entry = (struct entry){ .instance = instance,
				 .cells = cells,
				 .value = value,
				 .time = time,
				 .next = added ? NO_ENTRY : (uint32_t)*first,
				 .previous = NO_ENTRY };
	if (!added) {
		gauges->entries[*first].previous = index;
	}
	*first = index;
	gauges->count++;
	cells_hold(cells);
	cell_move(cells, value);
}

void gauges_set(struct gauges *gauges, uint64_t instance, cell *cells, uint64_t value, int64_t time)
{
	uint64_t *place;
	struct entry *entry;

	if (!gauges->entries) {
		gauges->entries = calloc(GAUGES_MAX, sizeof *gauges->entries);
		if (!gauges->entries) {
			memory_note_loss();
			return;
		}
	}
	place = map_find(&gauges->places, place_of(instance, cells));
	if (place) {
		entry = &gauges->entries[*place];
		if (entry->instance == instance && entry->cells == cells) {
			if (time >= entry->time) {
				cell_move(cells, value - entry->value);
				entry->value = value;
				entry->time = time;
			}
			return;
		}
		/* Two pairs of instance and sample have one hash: only one of them can be kept. */
		take_out(gauges, (uint32_t)*place);
	}
	if (gauges->entries[gauges->at].cells) {
		take_out(gauges, gauges->at);
		gauges->evictions++;
	}
	put_in(gauges, gauges->at, instance, cells, value, time);
	gauges->at = (gauges->at + 1) % GAUGES_MAX;
}

void gauges_end_instance(struct gauges *gauges, uint64_t instance, int64_t until)
{
	const uint64_t *first = map_find(&gauges->first, instance);
	uint32_t index = first ? (uint32_t)*first : NO_ENTRY;

	while (index != NO_ENTRY) {
		uint32_t next = gauges->entries[index].next;

		if (gauges->entries[index].time <= until) {
			take_out(gauges, index);
		}
		index = next;
	}
}

void gauges_leave(struct gauges *gauges, bool (*has)(void *context, const cell *at), void *context)
{
	for (uint32_t i = 0; gauges->entries && i < GAUGES_MAX; i++) {
		if (gauges->entries[i].cells && has(context, gauges->entries[i].cells)) {
			take_out(gauges, i);
		}
	}
}

void gauges_reset(struct gauges *gauges)
{
	for (uint32_t i = 0; gauges->entries && i < GAUGES_MAX; i++) {
		if (gauges->entries[i].cells) {
			take_out(gauges, i);
		}
	}
	gauges->at = 0;
}

uint64_t gauges_count(const struct gauges *gauges)
{
	return gauges->count;
}

uint64_t gauges_evictions(const struct gauges *gauges)
{
	return gauges->evictions;
}

/* SPDX-License-Identifier: MIT */
#include "tool/event_counts.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const struct event_record *record)
{
	uint64_t rest = (uint64_t)record->id << 24 | (uint64_t)record->version << 16 |
			(uint64_t)record->opcode << 8 | record->level;

	return guid_hash(record->provider, hash_seed()) ^ hash_u64(rest + 1);
}

static bool same_event(const struct event_count *row, const struct event_record *record)
{
	return row->id == record->id && row->version == record->version &&
	       row->opcode == record->opcode && row->level == record->level &&
	       guid_equal(&row->provider, record->provider);
}

static struct event_count *new_row(struct event_counts *counts)
{
	if (counts->count == EVENT_COUNTS_MAX) {
		return NULL;
	}
	if (counts->count == counts->capacity) {
		size_t capacity = counts->capacity ? counts->capacity * 2 : 256;
		struct event_count *rows = realloc(counts->rows, capacity * sizeof *rows);

		if (!rows) {
			return NULL;
		}
		counts->rows = rows;
		counts->capacity = capacity;
	}
	return &counts->rows[counts->count++];
}

void event_counts_add(struct event_counts *counts, const struct event_record *record)
{
	uint64_t key = hash(record);
	uint64_t *first = map_find(&counts->by_hash, key);
	struct event_count *row;

	for (uint64_t at = first ? *first : 0; at != 0; at = counts->rows[at - 1].next) {
		if (same_event(&counts->rows[at - 1], record)) {
			counts->rows[at - 1].records++;
			return;
		}
	}
	row = new_row(counts);
	if (row) {
		first = map_put(&counts->by_hash, key, NULL);
	}
	if (!row || !first) {
		counts->count -= row != NULL;
		counts->refused++;
		return;
	}
	*row = (struct event_count){
		.provider = *record->provider,
		.id = record->id,
		.version = record->version,
		.opcode = record->opcode,
		.level = record->level,
		.next = (uint32_t)*first,
		.records = 1,
	};
	*first = counts->count;
}

/* As the GUIDs' texts compare: the first three fields are written from their high byte down. */
static int compare_guids(const struct guid *a, const struct guid *b)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	for (size_t i = 0; i < sizeof order; i++) {
		if (a->bytes[order[i]] != b->bytes[order[i]]) {
			return a->bytes[order[i]] < b->bytes[order[i]] ? -1 : 1;
		}
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct event_count *x = a;
	const struct event_count *y = b;
	int result = compare_guids(&x->provider, &y->provider);

	if (result == 0) {
		result = x->id - y->id;
	}
	if (result == 0) {
		result = x->version - y->version;
	}
	if (result == 0) {
		result = x->opcode - y->opcode;
	}
	return result ? result : x->level - y->level;
}

void event_counts_sort(struct event_counts *counts)
{
	if (counts->count > 0) {
		qsort(counts->rows, counts->count, sizeof *counts->rows, compare_rows);
	}
	map_done(&counts->by_hash);
}

void event_counts_done(struct event_counts *counts)
{
	free(counts->rows);
	map_done(&counts->by_hash);
	*counts = (struct event_counts){ 0 };
}

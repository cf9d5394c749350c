/* SPDX-License-Identifier: MIT */
/*
 * A heap of open buffers by the time of their next record, ties by their place in the file; the
 * earliest is entries[0].
 */
#ifndef ETL_HEAP_H
#define ETL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etl_open; /* an open buffer; see order.c */

struct etl_key {
	int64_t time;    /* raw, of the next record */
	uint64_t offset; /* of the buffer in the file */
};

struct etl_heap_entry {
	struct etl_key key;
	struct etl_open *open; /* borrowed */
};

/* Zero-initialise it. */
struct etl_heap {
	struct etl_heap_entry *entries; /* owned */
	size_t count;
	size_t capacity;
};

static inline bool etl_key_before(const struct etl_key *a, const struct etl_key *b)
{
	return a->time < b->time || (a->time == b->time && a->offset < b->offset);
}

/* false: no memory */
bool etl_heap_push(struct etl_heap *heap, struct etl_key key, struct etl_open *open);
void etl_heap_pop(struct etl_heap *heap);
void etl_heap_top_changed(struct etl_heap *heap); /* after entries[0].key grew */
/* The key that comes after the top's; NULL when the top is alone. */
const struct etl_key *etl_heap_second(const struct etl_heap *heap);
void etl_heap_done(struct etl_heap *heap);

#endif

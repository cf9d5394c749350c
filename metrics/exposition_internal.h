/* SPDX-License-Identifier: MIT */
/*
 * What the writers of all formats and visit.c share: the current page, and the walk over the
 * prefixes and cells of a family. Only these files may use it.
 */
#ifndef METRICS_EXPOSITION_INTERNAL_H
#define METRICS_EXPOSITION_INTERNAL_H

#include <string.h>

#include "metrics/exposition.h"
#include "metrics/registry_internal.h"

enum {
	CHUNK_SIZE = 64 * 1024, /* approximate size of a chunk */
	LINE_SIZE_MAX = NAME_SIZE_MAX + PREFIX_SIZE_MAX + 128,
};

struct page {
	char *start; /* owned; the bytes from here to `at` have not been sent yet */
	char *at;
	size_t capacity; /* at least CHUNK_SIZE + LINE_SIZE_MAX */
	const struct exposition_options *options;
	exposition_sink *sink;
	void *context;
	bool refused; /* the sink returned false, or there was no memory */
};

/* One segment of a family: its prefixes, and its cells in the shards that have any. */
struct columns {
	const _Atomic(struct prefix *) *prefixes;
	cell *cells[SHARD_SLOTS];
	unsigned count;
};

/* A memcpy for sizes of about 100 bytes: it copies blocks of constant size; the last block
 * overlaps the one before. Returns the end of the copy. */
static inline char *copy(char *to, const char *from, size_t size)
{
	if (size < COPY_BLOCK_SIZE) {
		memcpy(to, from, size);
		return to + size;
	}
	for (size_t i = 0; i + COPY_BLOCK_SIZE < size; i += COPY_BLOCK_SIZE) {
		memcpy(to + i, from + i, COPY_BLOCK_SIZE);
	}
	memcpy(to + size - COPY_BLOCK_SIZE, from + size - COPY_BLOCK_SIZE, COPY_BLOCK_SIZE);
	return to + size;
}

/* Copies whole blocks, although `size` may end inside the last one. */
static inline char *copy_blocks(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i += COPY_BLOCK_SIZE) {
		memcpy(to + i, from + i, COPY_BLOCK_SIZE);
	}
	return to + size;
}

static inline struct columns columns_of(const struct family *family, unsigned segment)
{
	struct columns columns = { .prefixes = family->prefixes[segment] };

	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		cell *cells = shown_cells(family, w, segment);

		if (cells) {
			columns.cells[columns.count++] = cells;
		}
	}
	return columns;
}

static inline uint64_t sum_at(const struct columns *columns, size_t index)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < columns->count; i++) {
		sum += atomic_load_explicit(&columns->cells[i][index], memory_order_relaxed);
	}
	return sum;
}

/* Sums the cells of a gauge. Returns false if the gauge is hidden. */
static inline bool gauge_at(const struct columns *columns, size_t index, int64_t *value)
{
	struct gauge_sum sum = { 0 };

	for (unsigned i = 0; i < columns->count; i++) {
		if (!gauge_sum_add(&sum, &columns->cells[i][index * GAUGE_CELLS])) {
			return false;
		}
	}
	*value = gauge_sum_value(&sum);
	return true;
}

/* The position of a walk over the samples of a family: one segment, or in a sorted walk one
 * sample. See rows_of() and next_rows(). */
struct rows {
	const struct family *family;
	uint32_t left; /* samples that come after these */
	/* In a walk in the order of labels: the samples that are left, the next one last; owned.
	 * NULL: samples come in the order in which they were made. */
	struct row_key *order;

	unsigned segment;
	uint32_t count;
	struct columns columns;
	const _Atomic(uint32_t) *created; /* NULL: the times are unknown, or must not be shown */
};

/* Begins a walk, which rows_done() must end. page NULL: samples come in the order in which they
 * were made. Without memory the page is refused, and there are no rows. */
struct rows rows_of(struct page *page, const struct family *family);
bool next_rows(struct rows *rows); /* moves to the next rows; false after the last */
void rows_done(struct rows *rows);

/* Returns the prefix of a sample, which follows the family's common text; NULL if the sample was
 * evicted. */
static inline const char *row_prefix(const struct rows *rows, uint32_t index, size_t *size)
{
	/* Pairs with the release in begin_sample(), so the cells are those of this prefix. */
	const struct prefix *prefix =
		atomic_load_explicit(&rows->columns.prefixes[index], memory_order_acquire);

	if (!prefix) {
		return NULL;
	}
	*size = prefix->size;
	return prefix->text;
}

/* Returns when a sample was made: milliseconds since 1970. */
static inline uint64_t created_ms(const struct rows *rows, uint32_t index)
{
	return rows->family->registry->made_ms +
	       UINT64_C(100) * atomic_load_explicit(&rows->created[index], memory_order_relaxed);
}

/* Returns the size of a family's name without the `_total` of a counter. */
size_t family_base_size(const struct family *family);

/* Returns the unit at the end of a family's name, such as "seconds"; NULL if it has none. */
const char *family_unit(const struct family *family);

/* visit.c: runs the scrape hooks and calls visit for the families that are shown, in the order
 * of their names. visit may read their prefixes and cells. Returns false without memory. */
bool registry_walk(struct registry *registry, void (*visit)(void *context, const struct family *),
		   void *context);

/* protobuf.c: renders a family to a page in the protobuf format. */
void protobuf_family(struct page *page, const struct family *family);

#endif

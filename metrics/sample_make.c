/* SPDX-License-Identifier: MIT */
/*
 * The making of samples, and what happens at a limit.
 *
 * Runs when family_cells() does not find a label set. It takes the registry's mutex, looks again
 * and makes the sample: a slot of the table, a row of ids, a rendered prefix. Past a limit the open
 * labels read "_other", and should there be too many of those label sets as well, all labels do:
 * the last one always fits, so the events of a family are complete whatever its labels are.
 */
#include "metrics/exposition.h"
#include "metrics/registry_internal.h"

#include <string.h>

#include "base/text.h"
#include "metrics/sample_table.h"

enum {
	SLOTS_MIN = 16,
	SLOTS_SPARSE = 65536, /* up to here at most half full, for speed; then four fifths */
	PREFIX_CHUNK_MIN = 512,
	PREFIX_CHUNK_MAX = 64 * 1024,
	CELLS_ALIGN = 64, /* cells of two writers never share a cache line */
};

/* How much of a label set gives way. */
enum overflow { OVERFLOW_NONE, OVERFLOW_DYNAMIC, OVERFLOW_ALL };

/*
 * With the mutex: makes sure that one more slot leaves some of the table free. The table before
 * stays for who walks it.
 */
static bool reserve_slot(struct family *family, uint32_t sample_count)
{
	struct sample_table *table = atomic_load_explicit(&family->table, memory_order_relaxed);
	size_t slots = table ? 2 * (table->mask + 1) : 0;
	size_t most = slots <= SLOTS_SPARSE ? slots / 2 : slots / 5 * 4;
	size_t buckets = table ? 2 * (table->mask + 1) : SLOTS_MIN / 2;
	struct sample_table *grown;

	if (sample_count < most) {
		return true;
	}
	grown = arena_alloc(&family->registry->arena,
			    sizeof *grown + buckets * sizeof grown->buckets[0], CELLS_ALIGN);
	if (!grown) {
		return false;
	}
	grown->mask = buckets - 1;
	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + sample_count; sample++) {
		const uint32_t *ids = sample_ids(family, sample, family->label_count);

		sample_put(grown, sample_hash(ids, family->label_count), sample);
	}
	/* Pairs with the acquire in sample_find(). */
	atomic_store_explicit(&family->table, grown, memory_order_release);
	return true;
}

bool family_make_table(struct family *family)
{
	return reserve_slot(family, 0);
}

/* With the mutex: the row of ids of a new sample; NULL without memory. */
static uint32_t *reserve_ids(struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	size_t row_size = family->label_count * sizeof(uint32_t);
	uint32_t *rows;

	if (!family->ids[segment]) {
		/* At least one byte, so that a family without labels has rows as well. */
		rows = arena_alloc(&family->registry->arena, ((size_t)1 << segment) * row_size + 1,
				   sizeof(uint64_t));
		if (!rows) {
			return NULL;
		}
		family->ids[segment] = rows;
	}
	return family->ids[segment] + (size_t)index * family->label_count;
}

/* The prefix of a sample, see struct prefix_chunk. */
static void render_prefix(const struct family *family, const uint32_t *ids, struct text *text)
{
	bool histogram = family->type == FAMILY_HISTOGRAM;

	if (!histogram) {
		text_add(text, family->name, family->name_size);
	}
	for (uint32_t i = 0; i < family->label_count; i++) {
		size_t size;
		const char *value = intern_text(family->registry->strings, ids[i], &size);

		text_add_char(text, i == 0 ? '{' : ',');
		text_add_string(text, family->label_names[i]);
		text_add_string(text, "=\"");
		text_add_label_value(text, value, size);
		text_add_char(text, '"');
	}
	if (histogram) {
		text_add_char(text, family->label_count > 0 ? ',' : '{');
	} else {
		text_add_string(text, family->label_count > 0 ? "} " : " ");
	}
}

/* With the mutex: room for a prefix in the newest chunk, or in a new one. */
static char *reserve_prefix(struct family *family, size_t size)
{
	size_t needed = sizeof(uint16_t) + size;
	struct prefix_chunk *chunk;
	size_t chunk_size = family->prefix_chunk_size;

	/* A size of 0 behind it must fit as well. */
	if (needed + sizeof(uint16_t) <= family->prefix_left) {
		return family->prefix_at;
	}
	if (family->label_count == 0) {
		chunk_size = 0; /* there is but one sample */
	} else if (chunk_size == 0) {
		chunk_size = PREFIX_CHUNK_MIN;
	} else if (chunk_size < PREFIX_CHUNK_MAX) {
		chunk_size *= 2;
	}
	family->prefix_chunk_size = chunk_size;
	chunk_size = chunk_size > sizeof *chunk ? chunk_size - sizeof *chunk : 0;
	if (chunk_size < needed + sizeof(uint16_t)) {
		chunk_size = needed + sizeof(uint16_t);
	}
	chunk = arena_alloc(&family->registry->arena, sizeof *chunk + chunk_size, sizeof(void *));
	if (!chunk) {
		return NULL;
	}
	if (family->prefix_chunk) {
		/* What is behind the last prefix is zero: size 0, go on with the next chunk. */
		family->prefix_chunk->next = chunk;
	} else {
		family->prefixes = chunk;
	}
	family->prefix_chunk = chunk;
	family->prefix_at = chunk->bytes;
	family->prefix_left = chunk_size;
	return family->prefix_at;
}

/*
 * With the mutex: makes the sample. NO_SAMPLE without memory, or when its text is too long or
 * (limited) over the budget.
 */
static uint32_t add_sample(struct family *family, const uint32_t *ids, bool limited)
{
	struct registry *registry = family->registry;
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);
	uint32_t sample = SAMPLE_FIRST + count, *row;
	uint16_t size;
	struct text prefix = { 0 };
	char *at;

	if (sample >= SAMPLE_END) {
		return NO_SAMPLE;
	}
	render_prefix(family, ids, &prefix);
	size = (uint16_t)prefix.size;
	if (prefix.failed || prefix.size > PREFIX_SIZE_MAX ||
	    (limited && prefix.size > registry->prefix_bytes_left) ||
	    !reserve_slot(family, count)) {
		goto fail;
	}
	row = reserve_ids(family, sample);
	at = reserve_prefix(family, prefix.size);
	if (!row || !at) {
		goto fail;
	}
	memcpy(at, &size, sizeof size);
	memcpy(at + sizeof size, prefix.data, size);
	text_free(&prefix);
	family->prefix_at += sizeof size + size;
	family->prefix_left -= sizeof size + size;
	if (limited) {
		registry->prefix_bytes_left -= size;
	}
	if (family->label_count > 0) {
		memcpy(row, ids, family->label_count * sizeof *ids);
	}
	sample_put(atomic_load_explicit(&family->table, memory_order_relaxed),
		   sample_hash(ids, family->label_count), sample);
	/* Pairs with the acquire in exposition.c and family_series(): ids and prefix are there. */
	atomic_store_explicit(&family->sample_count, count + 1, memory_order_release);
	return sample;

fail:
	text_free(&prefix);
	return NO_SAMPLE;
}

static bool at_limit(const struct family *family, enum overflow overflow)
{
	const struct registry *registry = family->registry;

	if (family->dynamic_labels == 0 || overflow == OVERFLOW_ALL) {
		return false;
	}
	if (overflow == OVERFLOW_DYNAMIC) {
		return atomic_load_explicit(&family->overflow_count, memory_order_relaxed) >=
		       family->max_series;
	}
	return atomic_load_explicit(&family->limited_count, memory_order_relaxed) >=
		       family->max_series ||
	       atomic_load_explicit(&registry->series, memory_order_relaxed) >=
		       registry->limits.series;
}

static void count_up(_Atomic(uint32_t) *count)
{
	atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static uint32_t find_or_add(struct family *family, const uint32_t *ids, enum overflow overflow)
{
	struct registry *registry = family->registry;
	bool limited = overflow == OVERFLOW_NONE && family->dynamic_labels != 0;
	uint32_t sample = sample_find(family, ids, family->label_count);

	/* At a limit a flood of new label sets does not queue for the mutex. */
	if (sample != NO_SAMPLE || at_limit(family, overflow)) {
		return sample;
	}
	os_mutex_lock(&registry->mutex);
	sample = sample_find(family, ids, family->label_count);
	if (sample == NO_SAMPLE && !at_limit(family, overflow)) {
		sample = add_sample(family, ids, limited);
		if (sample != NO_SAMPLE && limited) {
			count_up(&family->limited_count);
			count_up(&registry->series);
		} else if (sample != NO_SAMPLE && family->dynamic_labels != 0) {
			count_up(&family->overflow_count);
		}
	}
	os_mutex_unlock(&registry->mutex);
	return sample;
}

static bool is_ascii(const char *text, size_t size)
{
	unsigned char seen = 0;

	for (size_t i = 0; i < size; i++) {
		seen |= (unsigned char)text[i];
	}
	return seen < 0x80;
}

/* The id of the same text with everything replaced that is not UTF-8: two label sets must not read
 * the same. */
static uint32_t clean_id(const struct registry *registry, uint32_t id)
{
	struct text clean = { 0 };
	size_t size;
	const char *value;

	if (id == INTERN_FULL) {
		return registry->other;
	}
	value = intern_text(registry->strings, id, &size);
	if (is_ascii(value, size)) {
		return id;
	}
	text_add_utf8_clean(&clean, value, size);
	if (clean.failed) {
		id = registry->other;
	} else if (clean.size != size || memcmp(clean.data, value, size) != 0) {
		id = intern_add(registry->strings, clean.data, clean.size);
		id = id == INTERN_FULL ? registry->other : id;
	}
	text_free(&clean);
	return id;
}

uint32_t family_make_sample(struct family *family, const uint32_t *ids, bool *overflowed)
{
	const struct registry *registry = family->registry;
	uint32_t clean[FAMILY_LABELS_MAX] = { 0 }, sample = NO_SAMPLE;

	*overflowed = false;
	for (uint32_t i = 0; i < family->label_count; i++) {
		clean[i] = clean_id(registry, ids[i]);
		*overflowed |= clean[i] == registry->other && ids[i] != registry->other;
	}
	for (int overflow = OVERFLOW_NONE; overflow <= OVERFLOW_ALL && sample == NO_SAMPLE;
	     overflow++) {
		for (uint32_t i = 0; i < family->label_count && overflow != OVERFLOW_NONE; i++) {
			if (overflow == OVERFLOW_ALL || (family->dynamic_labels >> i & 1) != 0) {
				clean[i] = registry->other;
			}
		}
		*overflowed |= overflow != OVERFLOW_NONE;
		sample = find_or_add(family, clean, (enum overflow)overflow);
	}
	return sample;
}

struct family_shard family_no_cells;

cell *family_make_cells(struct family *family, const struct shard *shard, unsigned segment)
{
	struct registry *registry = family->registry;
	struct family_shard *cells;
	cell *made = NULL;

	os_mutex_lock(&registry->mutex);
	cells = atomic_load_explicit(&family->shards[shard->index], memory_order_relaxed);
	if (cells == &family_no_cells) {
		cells = arena_alloc(&registry->arena, sizeof *cells, CELLS_ALIGN);
		if (!cells) {
			goto done;
		}
		/* Pairs with the acquire in family_segment(). */
		atomic_store_explicit(&family->shards[shard->index], cells, memory_order_release);
	}
	made = atomic_load_explicit(&cells->segments[segment], memory_order_relaxed);
	if (!made) {
		size_t samples = family->label_count > 0 ? (size_t)1 << segment : 1;

		made = arena_alloc(&registry->arena,
				   samples * family->cells_per_sample * sizeof *made, CELLS_ALIGN);
		/* Pairs with the acquire in family_segment(). */
		atomic_store_explicit(&cells->segments[segment], made, memory_order_release);
	}
done:
	os_mutex_unlock(&registry->mutex);
	return made;
}

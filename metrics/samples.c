/* SPDX-License-Identifier: MIT */
/*
 * Samples: finding the cells of a label set, counting in them, making new samples, and the limits.
 *
 * The per-event path takes no lock: the table uses open addressing, its slots are never removed,
 * and cells are in segments that never move. registry_internal.h explains the order of stores. Ids,
 * factors and tags are arranged so that a look-up of two labels is straight code without a call;
 * measure before a change (etw_bench).
 *
 * A label set that is not in the table takes the slow path, out of line. It takes the mutex of the
 * registry, searches again and makes the sample: a slot of the table, a row of ids, a rendered
 * prefix. Beyond a limit, the dynamic labels read "_other". If there are too many of these label
 * sets as well, all labels read "_other"; this overflow series always fits, so no event of a family
 * is lost. At a limit only the counts are read, so that many new label sets do not wait for the
 * mutex.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "metrics/exposition.h"
#include "metrics/registry_internal.h"

/* ---- the table ---- */

/*
 * The low bits of the hash choose the bucket, the highest eight are stored in the slot.
 *
 * Ids are read one by one, here and below: the caller has just written them one by one, and a wider
 * read would have to wait until these writes have left the store buffer of the processor.
 */
static inline uint64_t sample_hash(const uint32_t *ids, uint32_t count)
{
	static const uint64_t factors[FAMILY_LABELS_MAX] = {
		UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9),
		UINT64_C(0x94d049bb133111eb), UINT64_C(0xd6e8feb86659fd93),
		UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db),
		UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3),
	};
	uint64_t hash = 0;

	for (uint32_t i = 0; i < count; i++) {
		hash += ids[i] * factors[i];
	}
	return hash ^ (hash >> 32);
}

static inline bool ids_equal(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (a[i] != b[i]) {
			return false;
		}
	}
	return true;
}

static inline const uint32_t *sample_ids(const struct family *family, uint32_t sample,
					 uint32_t count)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return family->ids[segment] + (size_t)index * count;
}

static inline uint32_t sample_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~(uint32_t)(SAMPLE_END - 1);
}

/* Whether a slot without its tag is the number of a sample: neither free nor with another tag. */
static inline bool slot_matches(uint32_t slot)
{
	return slot - SAMPLE_FIRST < SAMPLE_END - SAMPLE_FIRST;
}

static inline bool sample_has_ids(const struct family *family, uint32_t sample, const uint32_t *ids,
				  uint32_t count)
{
	return ids_equal(sample_ids(family, sample, count), ids, count);
}

/*
 * The number of the sample with these ids; NO_SAMPLE if it does not exist (yet). count is the
 * label_count of the family; if it is a constant, the compiler makes straight code from it.
 */
static inline uint32_t sample_find(const struct family *family, const uint32_t *ids, uint32_t count)
{
	/* Pairs with the release in reserve_slot(). */
	const struct sample_table *table =
		atomic_load_explicit(&family->table, memory_order_acquire);
	uint64_t hash = sample_hash(ids, count);
	uint32_t tag = sample_tag(hash);

	for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
		/* Pairs with the release in sample_put(), so the ids are visible. */
		uint64_t bucket = atomic_load_explicit(&table->buckets[i], memory_order_acquire);
		uint32_t first = (uint32_t)bucket ^ tag, second = (uint32_t)(bucket >> 32) ^ tag;
		/* Chooses one of the two without a branch, which would be mispredicted too often.
		 */
		uint32_t sample = second ^ ((first ^ second) & -(uint32_t)slot_matches(first));

		if (slot_matches(sample) && sample_has_ids(family, sample, ids, count)) {
			return sample;
		}
		if (sample == first && slot_matches(second) &&
		    sample_has_ids(family, second, ids, count)) {
			return second;
		}
		if (bucket >> 32 == 0) {
			return NO_SAMPLE;
		}
	}
}

static inline void sample_put(struct sample_table *table, uint64_t hash, uint32_t sample)
{
	uint64_t slot = sample_tag(hash) | sample, bucket;
	size_t i = hash & table->mask;

	for (;;) {
		bucket = atomic_load_explicit(&table->buckets[i], memory_order_relaxed);
		if (bucket >> 32 == 0) {
			break;
		}
		i = (i + 1) & table->mask;
	}
	bucket = bucket == 0 ? slot : bucket | slot << 32;
	/* Pairs with the acquire in sample_find(). */
	atomic_store_explicit(&table->buckets[i], bucket, memory_order_release);
}

/* ---- making ---- */

enum {
	SLOTS_MIN = 16,
	SLOTS_SPARSE = 65536, /* up to here at most half full, for speed; beyond, four fifths */
	PREFIX_CHUNK_MIN = 512,
	PREFIX_CHUNK_MAX = 64 * 1024,
	CELLS_ALIGN = 64, /* cells of two shards never share a cache line */
};

/* Which labels of a label set are replaced. */
enum overflow { OVERFLOW_NONE, OVERFLOW_DYNAMIC, OVERFLOW_ALL };

/*
 * With the mutex: makes sure that the table has free slots after one more. The old table stays
 * valid for its readers.
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

	/* A size of 0 after it must fit as well. */
	if (needed + sizeof(uint16_t) <= family->prefix_left) {
		return family->prefix_at;
	}
	if (family->label_count == 0) {
		chunk_size = 0; /* there is only one sample */
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
		/* The bytes after the last prefix are zero: size 0 means the next chunk. */
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
	/* Pairs with the acquire in exposition.c and family_series(): ids and prefix are visible.
	 */
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

	/* At a limit, many new label sets must not wait for the mutex. */
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

/* The id of the text with invalid UTF-8 replaced, so that two samples never have the same rendered
 * labels. */
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

/*
 * The sample for a label set that is not in the table: a new one, the overflow series, or one with
 * cleaned labels. NO_SAMPLE without memory. Sets *overflowed.
 */
static uint32_t make_sample(struct family *family, const uint32_t *ids, bool *overflowed)
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

/* Makes the cells of a segment that the shard uses for the first time. NULL without memory. */
static cell *make_segment(struct family *family, const struct shard *shard, unsigned segment)
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

/* ---- the per-event path ---- */

/* The cells of a sample; NULL if the shard uses its segment for the first time. */
static inline cell *cells_of(const struct family *family, const struct shard *shard,
			     uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	cell *cells = family_segment(family, shard->index, segment);

	return cells ? cells + (size_t)index * family->cells_per_sample : NULL;
}

static inline cell *find_cells(const struct family *family, const struct shard *shard,
			       const uint32_t *ids, uint32_t count)
{
	uint32_t sample = sample_find(family, ids, count);

	assert(shard->registry == family->registry);
	return sample == NO_SAMPLE ? NULL : cells_of(family, shard, sample);
}

/* For a sample that is new, of the overflow series, or new to the shard. */
static RARE cell *make_cells(struct family *family, const struct shard *shard, const uint32_t *ids,
			     bool *overflowed)
{
	uint32_t sample = sample_find(family, ids, family->label_count), index;
	cell *cells = NULL;

	*overflowed = false;
	if (sample == NO_SAMPLE) {
		sample = make_sample(family, ids, overflowed);
	}
	if (sample != NO_SAMPLE) {
		cells = cells_of(family, shard, sample);
		if (!cells && make_segment(family, shard, segment_of(sample, &index))) {
			cells = cells_of(family, shard, sample);
		}
	}
	if (*overflowed || !cells) {
		atomic_fetch_add_explicit(&family->overflow, 1, memory_order_relaxed);
	}
	return cells;
}

static inline cell *find_cells_any(const struct family *family, const struct shard *shard,
				   const uint32_t *ids)
{
	switch (family->label_count) {
	case 1:
		return find_cells(family, shard, ids, 1);
	case 2:
		return find_cells(family, shard, ids, 2);
	case 3:
		return find_cells(family, shard, ids, 3);
	case 4:
		return find_cells(family, shard, ids, 4);
	default:
		return find_cells(family, shard, ids, family->label_count);
	}
}

cell *family_cells(struct family *family, struct shard *shard, const uint32_t *ids,
		   bool *overflowed)
{
	cell *cells = find_cells_any(family, shard, ids);
	bool is_overflowed = false;

	if (!cells) {
		cells = make_cells(family, shard, ids, &is_overflowed);
	}
	if (overflowed) {
		*overflowed = is_overflowed;
	}
	return cells;
}

static inline void add(const struct shard *shard, cell *at, uint64_t amount)
{
	if (shard->shared) {
		atomic_fetch_add_explicit(at, amount, memory_order_relaxed);
	} else {
		cell_add(at, amount);
	}
}

static NOINLINE void add_any(struct family *family, struct shard *shard, const uint32_t *ids,
			     uint64_t amount)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	if (cells) {
		add(shard, cells, amount);
	}
}

void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount)
{
	assert(family->type != FAMILY_HISTOGRAM);
	/* Two labels are so frequent that they have a path without a stack frame and a call. */
	if (family->label_count == 2) {
		cell *cells = find_cells(family, shard, ids, 2);

		if (cells) {
			add(shard, cells, amount);
			return;
		}
	}
	add_any(family, shard, ids, amount);
}

void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value)
{
	/* Finds the first bucket whose bound is not below value, by halves without branches. */
	const uint64_t *bound = family->buckets;
	size_t count = family->bucket_count;

	while (count > 1) {
		size_t half = count / 2;

		bound = bound[half - 1] < value ? bound + half : bound;
		count -= half;
	}
	if (count == 1 && *bound < value) {
		bound++;
	}
	add(shard, cells + (bound - family->buckets), 1);
	add(shard, cells + family->bucket_count + 1, value);
}

void family_observe(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t value)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	assert(family->type == FAMILY_HISTOGRAM);
	if (cells) {
		cells_observe(family, shard, cells, value);
	}
}

static void set(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t value)
{
	cell *cells = family_cells(family, shard, ids, NULL);

	assert(family->type != FAMILY_HISTOGRAM);
	if (cells) {
		atomic_store_explicit(cells, value, memory_order_relaxed);
	}
}

void family_set(struct family *family, struct shard *shard, const uint32_t *ids, int64_t value)
{
	set(family, shard, ids, (uint64_t)value);
}

void family_hide(struct family *family, struct shard *shard, const uint32_t *ids)
{
	assert(family->type == FAMILY_GAUGE);
	set(family, shard, ids, CELL_HIDDEN);
}

void family_hide_all(struct family *family, const struct shard *shard)
{
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_acquire);

	assert(family->type == FAMILY_GAUGE);
	for (unsigned segment = SEGMENT_FIRST; left > 0; segment++) {
		cell *cells = family_segment(family, shard->index, segment);
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		for (uint32_t i = 0; cells && i < here; i++) {
			/* A sample that only other shards have set has 0 here, and stays shown. */
			if (atomic_load_explicit(&cells[i], memory_order_relaxed) != 0) {
				atomic_store_explicit(&cells[i], CELL_HIDDEN, memory_order_relaxed);
			}
		}
	}
}

bool family_value(struct family *family, const uint32_t *ids, int64_t *value)
{
	uint32_t sample = sample_find(family, ids, family->label_count), index;
	size_t offset = family->type == FAMILY_HISTOGRAM ? family->bucket_count + 1 : 0;
	uint64_t sum = 0;
	unsigned segment;

	if (sample == NO_SAMPLE) {
		return false;
	}
	segment = segment_of(sample, &index);
	offset += (size_t)index * family->cells_per_sample;
	for (unsigned w = 0; w < SHARD_SLOTS; w++) {
		cell *cells = family_segment(family, w, segment);

		if (cells) {
			uint64_t one = atomic_load_explicit(cells + offset, memory_order_relaxed);

			if (one == CELL_HIDDEN && family->type == FAMILY_GAUGE) {
				return false;
			}
			sum = family->type == FAMILY_GAUGE ? sum + one : count_sum(sum, one);
		}
	}
	*value = (int64_t)sum;
	return true;
}

size_t family_series(const struct family *family)
{
	return atomic_load_explicit(&family->sample_count, memory_order_acquire);
}

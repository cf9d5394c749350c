/* SPDX-License-Identifier: MIT */
/*
 * Samples: finds the cells of a label set, counts in them, makes new samples, and enforces the
 * limits.
 *
 * The per-event path takes no lock: the table uses open addressing, its slots are never removed,
 * and cells are in segments that never move. registry_internal.h explains the order of stores. Ids,
 * factors and tags are arranged so that a look-up of two labels is straight code without a call;
 * measure before a change (etw_bench).
 *
 * A label set that is not in the table takes the slow path, in functions that are not inlined. It
 * takes the mutex of the registry, searches again and makes the sample: a slot of the table, a row
 * of ids, a rendered prefix. Beyond a limit, the dynamic labels read "_other". If there are too
 * many of these label sets as well, all labels read "_other"; this overflow series always fits, so
 * no event of a family is lost. At a limit only the counts are read, so that many new label sets do
 * not wait for the mutex.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "metrics/registry.h"
#include "metrics/registry_internal.h"

/* ---- the table ---- */

/*
 * The low bits of the hash select the bucket, the highest eight are stored in the slot.
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

/* Returns whether a slot, XORed with a tag, is the number of a sample: the slot is not free and has
 * this tag. */
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
 * Returns the number of the sample with these ids; NO_SAMPLE if it does not exist (yet). count is
 * the label_count of the family; if it is a constant, the compiler unrolls the loops.
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
		/* Selects one of the two without a branch, which would be mispredicted too
		 * often. */
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
	SLOTS_SPARSE = 16384,    /* tables up to this size are at most half full, for speed; larger
				    ones four fifths */
	TABLE_PAGES_MIN = 32768, /* size of the smallest table that goes back to the system when it
				    is freed; bytes */
	CELLS_ALIGN = 64, /* alignment, so that cells of two shards never share a cache line */
};

/* Which labels of a label set are replaced by "_other". */
enum overflow { OVERFLOW_NONE, OVERFLOW_DYNAMIC, OVERFLOW_ALL };

/* Call it with the mutex: puts the samples into an empty table, which then replaces the present
 * one. Retired samples have no slot, but room for one, so that they can be put back. */
static void fill_table(struct family *family, struct sample_table *table)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);

	family->slots_used = 0;
	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + count; sample++) {
		enum life_state state = sample_state(family, sample);

		if (state != LIFE_RETIRED && state != LIFE_FREE) {
			const uint32_t *ids = sample_ids(family, sample, family->label_count);

			sample_put(table, sample_hash(ids, family->label_count), sample);
		}
		family->slots_used += state != LIFE_FREE;
	}
	/* Pairs with the acquire in sample_find(). */
	atomic_store_explicit(&family->table, table, memory_order_release);
}

static size_t table_size(size_t buckets)
{
	const struct sample_table *table = NULL;

	return sizeof *table + buckets * sizeof table->buckets[0];
}

static struct sample_table *new_table(size_t buckets)
{
	size_t size = table_size(buckets);
	struct sample_table *table = size >= TABLE_PAGES_MIN ? os_pages_alloc(size) :
							       calloc(1, size);

	if (!table) {
		memory_note_loss();
		return NULL;
	}
	table->mask = buckets - 1;
	return table;
}

/*
 * Call it with the mutex: makes sure that the table still has free slots after one more sample.
 * Returns false without memory. Readers may still use the old table.
 */
static bool reserve_slot(struct family *family)
{
	struct sample_table *table = atomic_load_explicit(&family->table, memory_order_relaxed);
	size_t slots = table ? 2 * (table->mask + 1) : 0;
	size_t most = slots <= SLOTS_SPARSE ? slots / 2 : slots / 5 * 4;
	size_t buckets = table ? 2 * (table->mask + 1) : SLOTS_MIN / 2;
	struct sample_table *grown;

	if (family->slots_used < most) {
		return true;
	}
	grown = new_table(buckets);
	if (!grown) {
		return false;
	}
	grown->older = table;
	fill_table(family, grown);
	return true;
}

struct sample_table *family_shrink_table(struct family *family)
{
	struct sample_table *table = atomic_load_explicit(&family->table, memory_order_relaxed);
	struct sample_table *replacement = new_table(table->mask + 1);

	if (replacement) {
		fill_table(family, replacement);
	}
	return replacement ? table : NULL;
}

void family_free_tables(struct sample_table *table)
{
	while (table) {
		struct sample_table *older = table->older;
		size_t size = table_size(table->mask + 1);

		if (size >= TABLE_PAGES_MIN) {
			os_pages_free(table, size);
		} else {
			free(table);
		}
		table = older;
	}
}

bool family_make_table(struct family *family)
{
	return reserve_slot(family);
}

/* Call it with the mutex: makes the rows for ids, prefix and state of a new sample. Returns
 * false without memory. */
static bool reserve_rows(struct family *family, uint32_t sample)
{
	struct arena *arena = &family->registry->arena;
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	size_t row_size = family->label_count * sizeof(uint32_t);
	size_t count = family->label_count > 0 ? (size_t)1 << segment : 1;

	if (!family->ids[segment]) {
		/* At least one byte, so that a family without labels has rows as well. */
		family->ids[segment] = arena_alloc(arena, count * row_size + 1, sizeof(uint64_t));
	}
	if (!family->prefixes[segment]) {
		family->prefixes[segment] = arena_alloc(
			arena, count * sizeof *family->prefixes[segment], sizeof(void *));
	}
	if (!family->lives[segment] && family->dynamic_labels != 0) {
		family->lives[segment] = arena_alloc(arena, count * sizeof *family->lives[segment],
						     sizeof(uint32_t));
	}
	if (!family->states[segment] && family->dynamic_labels != 0) {
		family->states[segment] =
			arena_alloc(arena, count * sizeof *family->states[segment], 1);
	}
	if (!family->created[segment] && family->type != FAMILY_GAUGE) {
		family->created[segment] = arena_alloc(
			arena, count * sizeof *family->created[segment], sizeof(uint32_t));
	}
	return family->ids[segment] && family->prefixes[segment] &&
	       (family->created[segment] || family->type == FAMILY_GAUGE) &&
	       ((family->lives[segment] && family->states[segment]) || family->dynamic_labels == 0);
}

static void put_in_table(struct family *family, uint32_t sample)
{
	const uint32_t *ids = sample_ids(family, sample, family->label_count);

	sample_put(atomic_load_explicit(&family->table, memory_order_relaxed),
		   sample_hash(ids, family->label_count), sample);
}

/* Renders the rest of a sample's text, after the family's common text; see struct prefix. */
static void render_prefix(const struct family *family, const uint32_t *ids, struct etw_text *text)
{
	for (uint32_t i = 0; i < family->label_count; i++) {
		size_t size;
		const char *value = intern_text(family->registry->strings, ids[i], &size);

		if (i > 0) {
			text_add_char(text, ',');
			text_add_string(text, family->label_names[i]);
			text_add_string(text, "=\"");
		}
		text_add_label_value(text, value, size);
		text_add_char(text, '"');
	}
	if (family->label_count > 0) {
		text_add_string(text, family->type == FAMILY_HISTOGRAM ? "," : "} ");
	}
}

/* Call it with the mutex: returns the prefix of a sample, on the heap; NULL without memory or if
 * it is too long. */
static struct prefix *make_prefix(const struct family *family, const uint32_t *ids)
{
	struct etw_text text = { 0 };
	struct prefix *prefix = NULL;

	render_prefix(family, ids, &text);
	if (!text.failed && family->common_size + text.size <= PREFIX_SIZE_MAX) {
		prefix = malloc(sizeof *prefix + text.size);
		if (prefix) {
			prefix->size = (uint16_t)text.size;
			if (text.size > 0) { /* a sample without labels has no further text */
				memcpy(prefix->text, text.data, text.size);
			}
		} else {
			memory_note_loss();
		}
	}
	text_free(&text);
	return prefix;
}

/* Call it with the mutex: returns the number of a new sample, that of an evicted one or the
 * next. NO_SAMPLE without memory. */
static uint32_t reserve_sample(struct family *family)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);
	uint32_t sample = family->free_sample;

	if (!reserve_slot(family)) {
		return NO_SAMPLE;
	}
	if (sample != NO_SAMPLE) {
		return sample;
	}
	sample = SAMPLE_FIRST + count;
	return sample < SAMPLE_END && reserve_rows(family, sample) ? sample : NO_SAMPLE;
}

/* Returns the tenths of a second since the registry was made, by wall time; the most that fit,
 * which is 13 years, after that. */
static uint32_t tenths_since_start(const struct registry *registry)
{
	uint64_t now = os_unix_time_ns() / 1000000, made = registry->made_ms;
	uint64_t tenths = now > made ? (now - made) / 100 : 0;

	return tenths < UINT32_MAX ? (uint32_t)tenths : UINT32_MAX;
}

/*
 * Call it with the mutex: begins a sample, under a new number or that of an evicted sample. Only
 * this function sets the parts of a sample other than its cells; its cells are zero. It takes
 * ownership of prefix.
 */
static void begin_sample(struct family *family, uint32_t sample, const uint32_t *ids,
			 struct prefix *prefix, bool limited)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	if (family->dynamic_labels != 0) {
		struct sample_life *life = &family->lives[segment][index];

		if (sample == family->free_sample) {
			family->free_sample = life->sum;
		}
		*life = (struct sample_life){ .changed = CHANGE_UNKNOWN };
		sample_set_state(family, sample, limited ? LIFE_COUNTED : LIFE_KEPT);
	}
	if (family->label_count > 0) {
		memcpy(family->ids[segment] + (size_t)index * family->label_count, ids,
		       family->label_count * sizeof *ids);
	}
	if (family->type != FAMILY_GAUGE) {
		atomic_store_explicit(&family->created[segment][index],
				      tenths_since_start(family->registry), memory_order_relaxed);
	}
	/* Pairs with the acquire in sample_prefix(). */
	atomic_store_explicit(&family->prefixes[segment][index], prefix, memory_order_release);
	put_in_table(family, sample);
	family->slots_used++;
	atomic_fetch_add_explicit(&family->live_count, 1, memory_order_relaxed);
	if (sample == SAMPLE_FIRST + count) {
		/* Pairs with the acquire in exposition.c: the rows are visible. */
		atomic_store_explicit(&family->sample_count, count + 1, memory_order_release);
	}
}

/* Call it with the mutex before a new sample of the shard is on pages: while the gauges of the
 * shard are held (shard_hold_gauges()), pages leave the sample out. */
static void hold_new_sample(struct family *family, const struct shard *shard, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);
	cell *cells = NULL;

	/* Pages find the cells that are held by way of those of the shard. */
	if (family->type == FAMILY_GAUGE &&
	    atomic_load_explicit(&shard->is_holding, memory_order_relaxed) &&
	    family_make_segment(family, shard, segment)) {
		cells = family_make_segment(family, shard->held, segment);
	}
	if (cells) {
		atomic_store_explicit(&cells[(size_t)index * GAUGE_CELLS], CELL_HIDDEN,
				      memory_order_relaxed);
	}
}

/*
 * Call it with the mutex: makes the sample, for the shard or (NULL) for none yet. Returns NO_SAMPLE
 * without memory, if its text is too long, or if it is limited and its text exceeds the budget.
 */
static uint32_t add_sample(struct family *family, const struct shard *shard, const uint32_t *ids,
			   bool limited)
{
	struct registry *registry = family->registry;
	struct prefix *prefix = make_prefix(family, ids);
	size_t left = atomic_load_explicit(&registry->prefix_bytes_left, memory_order_relaxed);
	uint32_t sample = NO_SAMPLE;

	if (prefix && !(limited && prefix->size > left)) {
		sample = reserve_sample(family);
	}
	if (sample == NO_SAMPLE) {
		free(prefix);
		return NO_SAMPLE;
	}
	if (limited) {
		atomic_fetch_sub_explicit(&registry->prefix_bytes_left, prefix->size,
					  memory_order_relaxed);
	}
	if (shard) {
		hold_new_sample(family, shard, sample);
	}
	begin_sample(family, sample, ids, prefix, limited);
	return sample;
}

/* Returns which overflow series has these labels, if one does. A label value of an event may be
 * "_other", too. */
static enum overflow overflow_of(const struct family *family, const uint32_t *ids)
{
	bool dynamic = true, all = true;

	for (uint32_t i = 0; i < family->label_count; i++) {
		bool is_other = ids[i] == family->registry->other;

		all = all && is_other;
		dynamic = dynamic && (is_other || (family->dynamic_labels >> i & 1) == 0);
	}
	return all ? OVERFLOW_ALL : dynamic ? OVERFLOW_DYNAMIC : OVERFLOW_NONE;
}

static bool at_limit(const struct family *family, const uint32_t *ids)
{
	const struct registry *registry = family->registry;
	enum overflow overflow = overflow_of(family, ids);

	if (family->dynamic_labels == 0 || overflow == OVERFLOW_ALL) {
		return false;
	}
	if (overflow == OVERFLOW_DYNAMIC) {
		return atomic_load_explicit(&family->overflow_count, memory_order_relaxed) >=
		       atomic_load_explicit(&family->max_series, memory_order_relaxed);
	}
	return atomic_load_explicit(&family->limited_count, memory_order_relaxed) >=
		       atomic_load_explicit(&family->max_series, memory_order_relaxed) ||
	       atomic_load_explicit(&registry->series, memory_order_relaxed) >=
		       atomic_load_explicit(&registry->series_limit, memory_order_relaxed);
}

void family_put_back(struct family *family, uint32_t sample)
{
	sample_set_state(family, sample, LIFE_COUNTED);
	put_in_table(family, sample);
	family_count_limited(family, true);
}

/*
 * Call it with the mutex: returns the number of a retired sample with these label ids, which is put
 * into the table again and stays (eviction.c); NO_SAMPLE if there is none.
 */
static uint32_t revive(struct family *family, const uint32_t *ids)
{
	struct eviction *eviction = &family->registry->eviction;
	size_t size = family->label_count * sizeof *ids;

	for (size_t i = 0; eviction->stage == BATCH_RETIRED && i < eviction->batch_count; i++) {
		const struct retired_sample *retired = &eviction->batch[i];
		uint32_t index;
		unsigned segment = segment_of(retired->sample, &index);

		if (retired->family == family &&
		    memcmp(family->ids[segment] + (size_t)index * family->label_count, ids, size) ==
			    0) {
			uint32_t sample = retired->sample;

			family_put_back(family, sample);
			eviction->batch[i] = eviction->batch[--eviction->batch_count];
			return sample;
		}
	}
	return NO_SAMPLE;
}

/* Call it with the mutex: returns the sample with these ids, which is made, for the shard or for
 * none yet, if no limit forbids it. */
static uint32_t add_with_mutex(struct family *family, const struct shard *shard,
			       const uint32_t *ids)
{
	bool limited = family->dynamic_labels != 0 && overflow_of(family, ids) == OVERFLOW_NONE;
	uint32_t sample = sample_find(family, ids, family->label_count);

	if (sample == NO_SAMPLE) {
		sample = revive(family, ids);
	}
	if (sample == NO_SAMPLE && !at_limit(family, ids)) {
		sample = add_sample(family, shard, ids, limited);
		if (sample != NO_SAMPLE && limited) {
			family_count_limited(family, true);
		} else if (sample != NO_SAMPLE && family->dynamic_labels != 0) {
			atomic_fetch_add_explicit(&family->overflow_count, 1, memory_order_relaxed);
		}
	}
	return sample;
}

static uint32_t find_or_add(struct family *family, const struct shard *shard, const uint32_t *ids)
{
	struct registry *registry = family->registry;
	uint32_t sample = sample_find(family, ids, family->label_count);

	/* At a limit, many new label sets must not wait for the mutex. */
	if (sample != NO_SAMPLE || at_limit(family, ids)) {
		return sample;
	}
	os_mutex_lock(&registry->mutex);
	sample = add_with_mutex(family, shard, ids);
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

/* Returns the id of the text with invalid UTF-8 replaced, so that two samples never have the
 * same rendered labels. */
static uint32_t clean_id(const struct registry *registry, uint32_t id)
{
	struct etw_text clean = { 0 };
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

/* Replaces the labels that an overflow series does not have by "_other". */
static void replace_labels(const struct family *family, uint32_t *ids, enum overflow overflow)
{
	for (uint32_t i = 0; i < family->label_count && overflow != OVERFLOW_NONE; i++) {
		if (overflow == OVERFLOW_ALL || (family->dynamic_labels >> i & 1) != 0) {
			ids[i] = family->registry->other;
		}
	}
}

/*
 * Returns the sample for a label set that is not in the table: a new one, the overflow series, or
 * one with cleaned labels. NO_SAMPLE without memory. Sets *overflowed.
 */
static uint32_t make_sample(struct family *family, const struct shard *shard, const uint32_t *ids,
			    bool *overflowed)
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
		replace_labels(family, clean, (enum overflow)overflow);
		*overflowed |= overflow != OVERFLOW_NONE;
		sample = find_or_add(family, shard, clean);
	}
	return sample;
}

struct family_shard family_no_cells;

cell *family_make_segment(struct family *family, const struct shard *shard, unsigned segment)
{
	struct registry *registry = family->registry;
	struct family_shard *cells =
		atomic_load_explicit(&family->shards[shard->index], memory_order_relaxed);
	size_t samples = family->label_count > 0 ? (size_t)1 << segment : 1;
	cell *made;

	if (cells == &family_no_cells) {
		cells = arena_alloc(&registry->arena, sizeof *cells, CELLS_ALIGN);
		if (!cells) {
			return NULL;
		}
		/* Pairs with the acquire in family_segment(). */
		atomic_store_explicit(&family->shards[shard->index], cells, memory_order_release);
	}
	made = atomic_load_explicit(&cells->segments[segment], memory_order_relaxed);
	if (!made) {
		made = arena_alloc(&registry->arena,
				   samples * family->cells_per_sample * sizeof *made, CELLS_ALIGN);
		/* Pairs with the acquire in family_segment(). */
		atomic_store_explicit(&cells->segments[segment], made, memory_order_release);
	}
	return made;
}

/* ---- the per-event path ---- */

/* Returns the cells of a sample; NULL if the shard uses its segment for the first time. */
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

/* Finds or makes the cells of a sample that is new, belongs to the overflow series, or is new to
 * the shard. */
static RARE cell *make_cells(struct family *family, const struct shard *shard, const uint32_t *ids,
			     bool *overflowed)
{
	uint32_t sample = sample_find(family, ids, family->label_count), index;
	cell *cells = NULL;

	*overflowed = false;
	if (sample == NO_SAMPLE) {
		sample = make_sample(family, shard, ids, overflowed);
	}
	if (sample != NO_SAMPLE) {
		cells = cells_of(family, shard, sample);
		if (!cells) {
			os_mutex_lock(&family->registry->mutex);
			family_make_segment(family, shard, segment_of(sample, &index));
			os_mutex_unlock(&family->registry->mutex);
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

static inline void add_to_cell(const struct shard *shard, cell *at, uint64_t amount)
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
		add_to_cell(shard, cells, amount);
	}
}

void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount)
{
	assert(family->type != FAMILY_HISTOGRAM);
	/* Two labels are so frequent that they get a path without a stack frame and a call. */
	if (family->label_count == 2) {
		cell *cells = find_cells(family, shard, ids, 2);

		if (cells) {
			add_to_cell(shard, cells, amount);
			return;
		}
	}
	add_any(family, shard, ids, amount);
}

static inline void observe_native(const struct family *family, const struct shard *shard, cell *at,
				  uint64_t value)
{
	unsigned position = native_position(family->native, value);
	cell *native = native_cell(at, position);

	if (!native) {
		native = native_make(shard->registry, at, position);
	}
	if (native) {
		add_to_cell(shard, native, 1);
	}
}

void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value)
{
	/* Finds the first bucket whose bound is not below value, by a binary search without
	 * branches. */
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
	add_to_cell(shard, cells + (bound - family->buckets), 1);
	add_to_cell(shard, cells + family->bucket_count + 1, value);
	if (family->native) {
		observe_native(family, shard, cells + family->bucket_count + 2, value);
	}
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
	atomic_store_explicit(&family->hides, true, memory_order_relaxed);
}

void cells_show(cell *cells, int64_t value)
{
	atomic_store_explicit(cells, (uint64_t)value, memory_order_relaxed);
}

void cells_hide(struct family *family, cell *cells)
{
	assert(family->type == FAMILY_GAUGE);
	atomic_store_explicit(cells, CELL_HIDDEN, memory_order_relaxed);
	atomic_store_explicit(&family->hides, true, memory_order_relaxed);
}

void family_hide_all(struct family *family, const struct shard *shard)
{
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_acquire);

	assert(family->type == FAMILY_GAUGE);
	atomic_store_explicit(&family->hides, true, memory_order_relaxed);
	for (unsigned segment = SEGMENT_FIRST; left > 0; segment++) {
		cell *cells = family_segment(family, shard->index, segment);
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		for (uint32_t i = 0; cells && i < here; i++) {
			cell *at = &cells[i * GAUGE_CELLS];

			/* The value is 0 if only other shards have set the sample, which then
			 * stays shown. */
			if (atomic_load_explicit(at, memory_order_relaxed) != 0) {
				atomic_store_explicit(at, CELL_HIDDEN, memory_order_relaxed);
			}
		}
	}
}

static bool value_of(const struct family *family, uint32_t sample, int64_t *value)
{
	size_t offset = family->type == FAMILY_HISTOGRAM ? family->bucket_count + 1 : 0;
	bool gauge = family->type == FAMILY_GAUGE;
	struct gauge_sum sum = { 0 };
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	offset += (size_t)index * family->cells_per_sample;
	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		cell *cells = shown_cells(family, w, segment);

		if (cells && gauge && !gauge_sum_add(&sum, cells + offset)) {
			return false;
		}
		if (cells && !gauge) {
			sum.value += atomic_load_explicit(cells + offset, memory_order_relaxed);
		}
	}
	*value = gauge_sum_value(&sum);
	return true;
}

bool family_value(struct family *family, const uint32_t *ids, int64_t *value)
{
	uint32_t sample;
	bool found;

	/* The mutex prevents the sample from being evicted meanwhile. */
	os_mutex_lock(&family->registry->mutex);
	sample = sample_find(family, ids, family->label_count);
	found = sample != NO_SAMPLE && value_of(family, sample, value);
	os_mutex_unlock(&family->registry->mutex);
	return found;
}

size_t family_series(const struct family *family)
{
	return atomic_load_explicit(&family->live_count, memory_order_relaxed);
}

void family_keep(struct family *family, const uint32_t *ids)
{
	uint32_t clean[FAMILY_LABELS_MAX] = { 0 }, sample;

	for (uint32_t i = 0; i < family->label_count; i++) {
		clean[i] = clean_id(family->registry, ids[i]);
	}
	/* A thread that is no consumer must not search the table without the mutex: eviction.c
	 * would not wait for it. */
	os_mutex_lock(&family->registry->mutex);
	sample = add_with_mutex(family, NULL, clean);
	if (sample != NO_SAMPLE && family->dynamic_labels != 0) {
		sample_set_state(family, sample, LIFE_KEPT);
	}
	os_mutex_unlock(&family->registry->mutex);
}

/* Call it with the mutex: returns the bytes of a segment, without the texts of its samples. */
static size_t segment_memory(const struct family *family, unsigned segment)
{
	size_t samples = family->label_count > 0 ? (size_t)1 << segment : 1, bytes = 0;

	if (!family->prefixes[segment]) {
		return 0;
	}
	bytes += samples *
		 (family->label_count * sizeof(uint32_t) + sizeof *family->prefixes[segment]);
	if (family->lives[segment]) {
		bytes += samples *
			 (sizeof *family->lives[segment] + sizeof *family->states[segment]);
	}
	if (family->created[segment]) {
		bytes += samples * sizeof *family->created[segment];
	}
	for (unsigned w = 0; w < registry_shards(family->registry); w++) {
		if (family_segment(family, w, segment)) {
			bytes += samples * family->cells_per_sample * sizeof(cell);
		}
	}
	return bytes;
}

size_t family_memory(struct family *family)
{
	size_t bytes = sizeof *family + family->head_size;
	uint32_t count;

	os_mutex_lock(&family->registry->mutex);
	count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);
	for (unsigned segment = SEGMENT_FIRST; segment < SEGMENT_COUNT; segment++) {
		bytes += segment_memory(family, segment);
	}
	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + count; sample++) {
		const struct prefix *prefix = sample_prefix(family, sample);

		bytes += prefix ? sizeof *prefix + prefix->size : 0;
	}
	for (const struct sample_table *table =
		     atomic_load_explicit(&family->table, memory_order_relaxed);
	     table; table = table->older) {
		bytes += table_size(table->mask + 1);
	}
	os_mutex_unlock(&family->registry->mutex);
	return bytes;
}

void family_free(struct family *family)
{
	uint32_t count = atomic_load_explicit(&family->sample_count, memory_order_relaxed);

	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + count; sample++) {
		uint32_t index;
		unsigned segment = segment_of(sample, &index);

		free(atomic_load_explicit(&family->prefixes[segment][index], memory_order_relaxed));
	}
	family_free_tables(atomic_load_explicit(&family->table, memory_order_relaxed));
}

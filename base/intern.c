/* SPDX-License-Identifier: MIT */
/*
 * Interned strings.
 *
 * Every event compares label values, on several threads at once, so a look-up must not take a lock.
 * This works because nothing is moved or freed before intern_free(): texts are in arenas, entries
 * are in chunks, and a hash table that became too small stays allocated after a larger one has
 * replaced it, since readers may still use it. Adding takes the mutex.
 *
 * Only the order of stores matters. A writer stores in the following order, each step with release;
 * a reader loads in the opposite order, with acquire:
 *
 *   1. the text and its entry (and the chunk of the entry), then the slot with the id;
 *   2. all slots of a larger table, then the pointer to the table.
 *
 * A reader that sees an old table can miss a new text, but it never finds a wrong one. If it finds
 * nothing, it takes the mutex and searches again before it adds the text.
 *
 * Ids are consecutive numbers from 0. Chunk n contains twice as many entries as chunk n - 1, so an
 * id leads to its entry with a few bit operations. The budget is charged for each text with its
 * bytes and the worst-case share of tables and chunks. Texts come from recordings, so hashes have a
 * seed.
 */
#include "base/intern.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

enum {
	CHUNK_FIRST_BITS = 8, /* chunk 0 holds 256 entries, each next one twice as many */
	CHUNK_COUNT = 32 - CHUNK_FIRST_BITS,
	TABLE_SLOTS_MIN = 512,
	ARENA_SIZE = 64 * 1024,
	/* The memory of a text besides its bytes, in the worst case: 32 bytes for its entry, in a
	 * chunk that was just allocated; 24 for its slot, in a table that just grew and is a third
	 * full; and 24 for the tables before it. The unused rest of arenas is small. */
	TEXT_OVERHEAD_SIZE = 80,
};

struct text_entry {
	const char *text; /* in an arena, NUL-terminated */
	uint32_t size;
	_Atomic(int64_t) note;
};

/* A slot is hash << 32 | id. 0 marks a free slot: id 0, the empty text, is never in the table. */
struct table {
	struct table *older; /* owned */
	size_t mask;
	_Atomic uint64_t slots[];
};

struct arena {
	struct arena *older; /* owned */
	char bytes[];
};

struct intern {
	/* Stored with release after the chunk was allocated; read with acquire. */
	_Atomic(struct text_entry *) chunks[CHUNK_COUNT];
	_Atomic(struct table *) table;
	uint64_t seed;
	size_t budget_bytes;
	atomic_size_t spent_bytes;   /* written under mutex; elsewhere read as a hint */
	atomic_uint_least32_t count; /* number of ids, with that of the empty text; written under
					mutex, elsewhere read as a hint */
	atomic_uint_least64_t refused;

	struct os_mutex mutex; /* guards adding and the following members */
	struct arena *arenas;  /* owned; the newest one is filled */
	char *arena_at;        /* in the newest arena, or NULL */
	size_t arena_left;
};

static unsigned top_bit(uint64_t value)
{
	return 63u - (unsigned)__builtin_clzll(value);
}

/* Returns the chunk of an id and its index in the chunk. After the size of chunk 0 is added to the
 * id, the top bit gives the number of the chunk. */
static unsigned chunk_of(uint32_t id, size_t *index)
{
	uint64_t shifted = (uint64_t)id + (UINT64_C(1) << CHUNK_FIRST_BITS);
	unsigned top = top_bit(shifted);

	*index = (size_t)(shifted - (UINT64_C(1) << top));
	return top - CHUNK_FIRST_BITS;
}

static struct text_entry *entry_of(const struct intern *intern, uint32_t id)
{
	size_t index;
	unsigned chunk = chunk_of(id, &index);

	return &atomic_load_explicit(&intern->chunks[chunk], memory_order_acquire)[index];
}

static uint32_t hash_of(const struct intern *intern, const char *text, size_t size)
{
	return (uint32_t)(text_hash(text, size, intern->seed) >> 32);
}

/* Returns the id of a text that is not empty; INTERN_NONE if the text is not in the table, or not
 * yet visible to this thread. */
static uint32_t find(const struct intern *intern, const char *text, size_t size, uint32_t hash)
{
	/* Pairs with the release in reserve_slot(). */
	struct table *table = atomic_load_explicit(&intern->table, memory_order_acquire);

	for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
		/* Pairs with the release in put(), so the entry and its text are visible. */
		uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);

		if (slot == 0) {
			return INTERN_NONE;
		}
		if ((uint32_t)(slot >> 32) == hash) {
			const struct text_entry *entry = entry_of(intern, (uint32_t)slot);

			if (entry->size == size && memcmp(entry->text, text, size) == 0) {
				return (uint32_t)slot;
			}
		}
	}
}

static void put(struct table *table, uint64_t slot)
{
	size_t i = (size_t)(slot >> 32) & table->mask;

	while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0) {
		i = (i + 1) & table->mask;
	}
	/* Pairs with the acquire in find(). */
	atomic_store_explicit(&table->slots[i], slot, memory_order_release);
}

static struct table *table_new(size_t slot_count)
{
	struct table *table;

	if (slot_count > (SIZE_MAX - sizeof *table) / sizeof table->slots[0]) {
		return NULL;
	}
	table = calloc(1, sizeof *table + slot_count * sizeof table->slots[0]);
	if (table) {
		table->mask = slot_count - 1;
	} else {
		memory_note_loss();
	}
	return table;
}

/* Grows the table if one more slot would leave less than a third of it free. Call it with the mutex
 * held. */
static bool reserve_slot(struct intern *intern, uint32_t count)
{
	struct table *table = atomic_load_explicit(&intern->table, memory_order_relaxed);
	struct table *grown;

	if (count < (table->mask + 1) / 3 * 2) {
		return true;
	}
	grown = table_new(2 * (table->mask + 1));
	if (!grown) {
		return false;
	}
	for (size_t i = 0; i <= table->mask; i++) {
		uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);

		if (slot != 0) {
			put(grown, slot);
		}
	}
	grown->older = table;
	/* Pairs with the acquire in find(). */
	atomic_store_explicit(&intern->table, grown, memory_order_release);
	return true;
}

/* Returns the entry for a new id; NULL when memory runs out. Call it with the mutex held. */
static struct text_entry *reserve_entry(struct intern *intern, uint32_t id)
{
	size_t index;
	unsigned chunk = chunk_of(id, &index);
	struct text_entry *entries;

	if (chunk >= CHUNK_COUNT) {
		return NULL;
	}
	entries = atomic_load_explicit(&intern->chunks[chunk], memory_order_relaxed);
	if (!entries) {
		entries = calloc((size_t)1 << (chunk + CHUNK_FIRST_BITS), sizeof *entries);
		if (!entries) {
			memory_note_loss();
			return NULL;
		}
		/* Pairs with the acquire in entry_of(). */
		atomic_store_explicit(&intern->chunks[chunk], entries, memory_order_release);
	}
	return &entries[index];
}

static struct arena *arena_new(struct intern *intern, size_t size)
{
	struct arena *arena = malloc(sizeof *arena + size);

	if (arena) {
		arena->older = intern->arenas;
		intern->arenas = arena;
	} else {
		memory_note_loss();
	}
	return arena;
}

/* Makes a permanent, NUL-terminated copy; NULL when memory runs out. Call it with the mutex held.
 */
static const char *keep_text(struct intern *intern, const char *text, size_t size)
{
	char *copy;

	if (size >= ARENA_SIZE / 8) {
		/* A large text gets its own block; the arena that is being filled stays in use. */
		struct arena *arena = arena_new(intern, size + 1);

		if (!arena) {
			return NULL;
		}
		copy = arena->bytes;
	} else {
		if (size >= intern->arena_left) {
			struct arena *arena = arena_new(intern, ARENA_SIZE);

			if (!arena) {
				return NULL;
			}
			intern->arena_at = arena->bytes;
			intern->arena_left = ARENA_SIZE;
		}
		copy = intern->arena_at;
		intern->arena_at += size + 1;
		intern->arena_left -= size + 1;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

static bool affordable(const struct intern *intern, size_t size)
{
	size_t spent = atomic_load_explicit(&intern->spent_bytes, memory_order_relaxed);
	size_t left = spent < intern->budget_bytes ? intern->budget_bytes - spent : 0;

	return size < UINT32_MAX && left >= TEXT_OVERHEAD_SIZE && size < left - TEXT_OVERHEAD_SIZE;
}

/* Adds a text that is not in the table. Call it with the mutex held. */
static uint32_t add_new(struct intern *intern, const char *text, size_t size, uint32_t hash)
{
	uint32_t id = (uint32_t)atomic_load_explicit(&intern->count, memory_order_relaxed);
	struct text_entry *entry;
	const char *copy;

	if (id == INTERN_FULL || size >= UINT32_MAX) {
		return INTERN_FULL;
	}
	entry = reserve_entry(intern, id);
	if (!entry || !reserve_slot(intern, id)) {
		return INTERN_FULL;
	}
	copy = keep_text(intern, text, size);
	if (!copy) {
		return INTERN_FULL;
	}
	entry->text = copy;
	entry->size = (uint32_t)size;
	atomic_init(&entry->note, INT64_MIN);
	put(atomic_load_explicit(&intern->table, memory_order_relaxed), (uint64_t)hash << 32 | id);
	atomic_store_explicit(&intern->count, id + 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&intern->spent_bytes, size + 1 + TEXT_OVERHEAD_SIZE,
				  memory_order_relaxed);
	return id;
}

struct intern *intern_new(size_t budget_bytes, struct etw_error *err)
{
	struct intern *intern = calloc(1, sizeof *intern);
	struct table *table = table_new(TABLE_SLOTS_MIN);
	struct text_entry *empty;

	if (!intern || !table) {
		goto fail;
	}
	os_mutex_init(&intern->mutex);
	atomic_init(&intern->table, table);
	/* Texts come from recordings, whose authors must not know which texts collide. */
	intern->seed = hash_seed();
	intern->budget_bytes = budget_bytes;
	empty = reserve_entry(intern, INTERN_NONE);
	if (!empty) {
		error_no_memory(err, "a table of texts");
		intern_free(intern);
		return NULL;
	}
	empty->text = "";
	atomic_init(&intern->count, 1);
	return intern;

fail:
	error_no_memory(err, "a table of texts");
	free(table);
	free(intern);
	return NULL;
}

void intern_free(struct intern *intern)
{
	struct table *table;

	if (!intern) {
		return;
	}
	table = atomic_load_explicit(&intern->table, memory_order_relaxed);
	while (table) {
		struct table *older = table->older;

		free(table);
		table = older;
	}
	while (intern->arenas) {
		struct arena *older = intern->arenas->older;

		free(intern->arenas);
		intern->arenas = older;
	}
	for (size_t i = 0; i < CHUNK_COUNT; i++) {
		free(atomic_load_explicit(&intern->chunks[i], memory_order_relaxed));
	}
	os_mutex_done(&intern->mutex);
	free(intern);
}

/* own: adds the text also if the budget is used up. */
static uint32_t find_or_add(struct intern *intern, const char *text, size_t size, bool own)
{
	uint32_t hash, id;

	if (size == 0) {
		return INTERN_NONE;
	}
	hash = hash_of(intern, text, size);
	id = find(intern, text, size, hash);
	if (id != INTERN_NONE) {
		return id;
	}
	if (!own && !affordable(intern, size)) {
		/* add_new() checks this again; checking it here keeps a flood of new texts from
		 * waiting for the mutex. */
		id = INTERN_FULL;
	} else {
		os_mutex_lock(&intern->mutex);
		id = find(intern, text, size, hash);
		if (id == INTERN_NONE) {
			id = own || affordable(intern, size) ? add_new(intern, text, size, hash) :
							       INTERN_FULL;
		}
		os_mutex_unlock(&intern->mutex);
	}
	if (id == INTERN_FULL) {
		intern_refuse(intern);
	}
	return id;
}

uint32_t intern_add(struct intern *intern, const char *text, size_t size)
{
	return find_or_add(intern, text, size, false);
}

uint32_t intern_string(struct intern *intern, const char *string)
{
	return intern_add(intern, string, strlen(string));
}

uint32_t intern_own(struct intern *intern, const char *string)
{
	return find_or_add(intern, string, strlen(string), true);
}

const char *intern_text(const struct intern *intern, uint32_t id, size_t *size)
{
	const struct text_entry *entry;

	assert(id < atomic_load_explicit(&intern->count, memory_order_relaxed));
	entry = entry_of(intern, id);
	if (size) {
		*size = entry->size;
	}
	return entry->text;
}

int64_t intern_note(const struct intern *intern, uint32_t id)
{
	return atomic_load_explicit(&entry_of(intern, id)->note, memory_order_relaxed);
}

void intern_set_note(struct intern *intern, uint32_t id, int64_t note)
{
	atomic_store_explicit(&entry_of(intern, id)->note, note, memory_order_relaxed);
}

size_t intern_spent(const struct intern *intern)
{
	return atomic_load_explicit(&intern->spent_bytes, memory_order_relaxed);
}

size_t intern_count(const struct intern *intern)
{
	return atomic_load_explicit(&intern->count, memory_order_relaxed);
}

uint64_t intern_refused(const struct intern *intern)
{
	return atomic_load_explicit(&intern->refused, memory_order_relaxed);
}

void intern_refuse(struct intern *intern)
{
	atomic_fetch_add_explicit(&intern->refused, 1, memory_order_relaxed);
}

/* SPDX-License-Identifier: MIT */
/*
 * Two tables: the texts that were told, and who told which last.
 *
 * The second one is a cache of sets, like a processor's: a process that comes and goes needs no
 * clearing up, its entry is what a set gives up first.
 */
#include "decode/told_schemas.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "decode/event_source.h"
#include "decode/manifest_xml.h"

enum { SETS = 1024, WAYS = 4 };

/* A text, and what was made of it. */
struct slot {
	uint32_t teller; /* 0: free; its low bits are the index of the slot */
	struct guid provider;
	struct text xml;           /* owned */
	struct manifest *manifest; /* owned; NULL: the text makes no sense */
	size_t bytes;
	uint32_t process_id; /* who told it first … */
	int64_t time;        /* … and when, 100 ns since 1601 UTC */
	bool shared;         /* others told it too: the first one cannot have it replaced */
	uint64_t used;
};

/* Who told which text last. */
struct telling {
	struct guid provider;
	uint32_t process_id;
	uint32_t teller; /* 0: free; its slot may be somebody else's by now */
	uint64_t used;
};

struct told_schemas {
	void (*on_forget)(void *context, uint32_t teller);
	void *context;
	struct manifest_assembly assembly;
	struct slot slots[TOLD_MOST];
	struct telling (*sets)[WAYS]; /* owned; NULL until somebody tells something */
	size_t bytes;                 /* of all slots */
	uint32_t serial;
	uint64_t clock; /* of the `used` members: counts */
	uint64_t seed;
	_Atomic(uint64_t) entries;
	_Atomic(uint64_t) dropped;
};

_Static_assert((TOLD_MOST & (TOLD_MOST - 1)) == 0, "tellers are slots and a serial number");

struct told_schemas *told_schemas_new(void (*on_forget)(void *context, uint32_t teller),
				      void *context, struct error *err)
{
	struct told_schemas *told = calloc(1, sizeof *told);

	if (!told) {
		error_set(err, ERROR_NO_MEMORY, "no memory for schemas that events tell");
		return NULL;
	}
	told->on_forget = on_forget;
	told->context = context;
	told->assembly.size_most = TOLD_SIZE_MOST;
	told->seed = hash_seed();
	return told;
}

static void empty(struct slot *slot)
{
	text_free(&slot->xml);
	manifest_free(slot->manifest);
	*slot = (struct slot){ .teller = 0 };
}

void told_schemas_free(struct told_schemas *told)
{
	if (!told) {
		return;
	}
	for (size_t i = 0; i < TOLD_MOST; i++) {
		empty(&told->slots[i]);
	}
	manifest_assembly_done(&told->assembly);
	free(told->sets);
	free(told);
}

/* Written by the consumer alone. */
static void count(_Atomic(uint64_t) *counter, uint64_t delta)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + delta,
			      memory_order_relaxed);
}

static void forget(struct told_schemas *told, struct slot *slot)
{
	if (told->on_forget) {
		told->on_forget(told->context, slot->teller);
	}
	told->bytes -= slot->bytes;
	empty(slot);
	count(&told->entries, (uint64_t)-1);
	count(&told->dropped, 1);
}

/* ---- who told which ---- */

static struct telling *set_of(const struct told_schemas *told, const struct event_record *record)
{
	uint64_t hash = hash_seeded(guid_hash(record->provider, told->seed) ^ record->process_id,
				    told->seed);

	return told->sets[hash % SETS];
}

static struct telling *find_telling(const struct told_schemas *told,
				    const struct event_record *record)
{
	struct telling *set;

	if (!told->sets) {
		return NULL;
	}
	set = set_of(told, record);
	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].teller != 0 && set[i].process_id == record->process_id &&
		    guid_equal(&set[i].provider, record->provider)) {
			return &set[i];
		}
	}
	return NULL;
}

/* The telling of the record's process, or a place for it. */
static struct telling *need_telling(struct told_schemas *told, const struct event_record *record)
{
	struct telling *telling = find_telling(told, record);
	struct telling *set = set_of(told, record);

	for (unsigned i = 0; !telling && i < WAYS; i++) {
		telling = set[i].teller == 0 ? &set[i] : NULL;
	}
	if (!telling) {
		telling = &set[0];
		for (unsigned i = 1; i < WAYS; i++) {
			telling = set[i].used < telling->used ? &set[i] : telling;
		}
	}
	return telling;
}

/* ---- texts ---- */

static struct slot *find_text(struct told_schemas *told, const struct guid *provider,
			      const struct text *xml)
{
	for (size_t i = 0; i < TOLD_MOST; i++) {
		struct slot *slot = &told->slots[i];

		if (slot->teller != 0 && slot->xml.size == xml->size &&
		    guid_equal(&slot->provider, provider) &&
		    memcmp(slot->xml.data, xml->data, xml->size) == 0) {
			return slot;
		}
	}
	return NULL;
}

/* Makes room among what the process told itself. False: it has to wait. */
static bool make_own_room(struct told_schemas *told, const struct event_record *record)
{
	struct slot *oldest = NULL;
	unsigned own = 0;

	for (size_t i = 0; i < TOLD_MOST; i++) {
		struct slot *slot = &told->slots[i];

		if (slot->teller == 0 || slot->process_id != record->process_id) {
			continue;
		}
		own++;
		if (!slot->shared && (!oldest || slot->used < oldest->used)) {
			oldest = slot;
		}
	}
	if (own < TOLD_MOST_OF_PROCESS) {
		return true;
	}
	if (!oldest || record->time < oldest->time ||
	    (uint64_t)record->time - (uint64_t)oldest->time < TOLD_KEPT_100NS) {
		return false;
	}
	forget(told, oldest);
	return true;
}

/* A free slot, with room for that many bytes; what was used longest ago goes. */
static struct slot *make_room(struct told_schemas *told, size_t bytes)
{
	struct slot *free_slot = NULL;

	while (!free_slot || told->bytes > TOLD_BYTES_MOST - bytes) {
		struct slot *oldest = NULL;

		for (size_t i = 0; i < TOLD_MOST; i++) {
			struct slot *slot = &told->slots[i];

			if (slot->teller == 0) {
				free_slot = slot;
			} else if (!oldest || slot->used < oldest->used) {
				oldest = slot;
			}
		}
		if (!free_slot || told->bytes > TOLD_BYTES_MOST - bytes) {
			forget(told, oldest);
		}
	}
	return free_slot;
}

/* A text that was not there. Takes over *xml when it returns a slot; NULL: no room. */
static struct slot *keep_text(struct told_schemas *told, const struct event_record *record,
			      struct text *xml)
{
	struct manifest *manifest;
	struct slot *slot;
	size_t bytes;

	if (!make_own_room(told, record)) {
		return NULL;
	}
	manifest = manifest_read(xml->data, xml->size, NULL);
	if (manifest && manifest_bytes(manifest) > TOLD_SIZE_MOST) {
		manifest_free(manifest);
		manifest = NULL;
	}
	bytes = xml->size + (manifest ? manifest_bytes(manifest) : 0);
	slot = make_room(told, bytes);
	do {
		told->serial++;
		slot->teller = told->serial * TOLD_MOST + (uint32_t)(slot - told->slots);
	} while (slot->teller == 0);
	slot->provider = *record->provider;
	slot->xml = *xml;
	slot->manifest = manifest;
	slot->bytes = bytes;
	slot->process_id = record->process_id;
	slot->time = record->time;
	told->bytes += bytes;
	count(&told->entries, 1);
	*xml = (struct text){ 0 };
	return slot;
}

static bool make_sets(struct told_schemas *told)
{
	if (!told->sets) {
		told->sets = calloc(SETS, sizeof *told->sets);
	}
	return told->sets != NULL;
}

const char *told_schemas_look(struct told_schemas *told, const struct event_record *record)
{
	struct text xml = { 0 };
	struct manifest_chunk chunk;
	struct slot *slot;

	if (record->id != MANIFEST_EVENT_ID || !manifest_chunk_read(record, &chunk) ||
	    !manifest_assembly_add(&told->assembly, record, &chunk, &xml)) {
		return NULL;
	}
	slot = xml.size > 0 && make_sets(told) ? find_text(told, record->provider, &xml) : NULL;
	if (!slot && xml.size > 0 && told->sets) {
		slot = keep_text(told, record, &xml);
		if (!slot) {
			count(&told->dropped, 1);
		}
	}
	text_free(&xml);
	if (!slot) {
		return NULL;
	}
	slot->shared |= slot->process_id != record->process_id;
	slot->used = ++told->clock;
	*need_telling(told, record) = (struct telling){ .provider = *record->provider,
							.process_id = record->process_id,
							.teller = slot->teller,
							.used = told->clock };
	return slot->manifest ? manifest_provider_name(slot->manifest, 0) : NULL;
}

bool told_schemas_any(const struct told_schemas *told)
{
	return told->sets != NULL;
}

const struct schema *told_schemas_find(struct told_schemas *told, const struct event_record *record,
				       uint32_t *teller)
{
	struct telling *telling = find_telling(told, record);
	struct slot *slot;

	if (!telling) {
		return NULL;
	}
	slot = &told->slots[telling->teller % TOLD_MOST];
	if (slot->teller != telling->teller || !slot->manifest) {
		return NULL;
	}
	telling->used = slot->used = ++told->clock;
	*teller = slot->teller;
	return manifest_schema(slot->manifest, 0, record->id, record->version);
}

void told_schemas_statistics(const struct told_schemas *told, struct told_statistics *statistics)
{
	statistics->entries = atomic_load_explicit(&told->entries, memory_order_relaxed);
	statistics->dropped = atomic_load_explicit(&told->dropped, memory_order_relaxed);
}

/* SPDX-License-Identifier: MIT */
/*
 * Two tables: the texts of manifests, and which text each process announced last for a provider.
 *
 * Texts are compared whole, so that processes with the same text share one slot and one parsed
 * manifest. A slot has a manifest id, made of its index and a serial number, so that an id never
 * identifies two manifests, and a stale reference to a reused slot is recognised. When room is
 * needed, the text that was used longest ago is dropped. A single process can replace only its own
 * texts, and not before INBAND_KEPT_100NS. Before a manifest is freed, on_forget() is called, so
 * that no schema of it stays in use.
 *
 * The second table is set-associative, like the cache of a processor. Entries of processes that
 * have ended need no removal, because a full set replaces the entry that was used longest ago.
 */
#include "decode/inband_manifests.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "decode/event_source.h"
#include "decode/manifest/manifest.h"

enum { SETS = 1024, WAYS = 4 };

/* The text of a manifest, and the manifest that was parsed from it. */
struct slot {
	uint32_t manifest_id; /* 0: free; its low bits are the index of the slot */
	struct guid provider;
	struct text xml;           /* owned */
	struct manifest *manifest; /* owned; NULL: the text is no valid manifest */
	size_t bytes;
	uint32_t process_id; /* of the process that announced it first … */
	int64_t time;        /* … and when, 100 ns since 1601 UTC */
	bool shared;         /* others announced it too: the first process cannot replace it */
	uint64_t used;
};

/* Which text a process announced last for a provider. */
struct announcement {
	struct guid provider;
	uint32_t process_id;
	uint32_t manifest_id; /* 0: free; its slot may be reused by now */
	uint64_t used;
};

struct inband_manifests {
	void (*on_forget)(void *context, uint32_t manifest_id);
	void *context;
	struct manifest_assembly assembly;
	struct slot slots[INBAND_MOST];
	struct announcement (*sets)[WAYS]; /* owned; NULL until the first announcement */
	size_t bytes;                      /* of all slots */
	uint32_t serial;
	uint64_t clock; /* of the `used` members: counts */
	uint64_t seed;
	_Atomic(uint64_t) entries;
	_Atomic(uint64_t) dropped;
};

_Static_assert((INBAND_MOST & (INBAND_MOST - 1)) == 0,
	       "a manifest id is a serial number and the index of a slot");

struct inband_manifests *inband_manifests_new(void (*on_forget)(void *context,
								uint32_t manifest_id),
					      void *context, struct error *err)
{
	struct inband_manifests *inband = calloc(1, sizeof *inband);

	if (!inband) {
		error_no_memory(err, "schemas from events");
		return NULL;
	}
	inband->on_forget = on_forget;
	inband->context = context;
	inband->assembly.size_most = INBAND_SIZE_MOST;
	inband->seed = hash_seed();
	return inband;
}

static void empty(struct slot *slot)
{
	text_free(&slot->xml);
	manifest_free(slot->manifest);
	*slot = (struct slot){ .manifest_id = 0 };
}

void inband_manifests_free(struct inband_manifests *inband)
{
	if (!inband) {
		return;
	}
	for (size_t i = 0; i < INBAND_MOST; i++) {
		empty(&inband->slots[i]);
	}
	manifest_assembly_done(&inband->assembly);
	free(inband->sets);
	free(inband);
}

/* Only the consumer writes the counters. */
static void count(_Atomic(uint64_t) *counter, uint64_t delta)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + delta,
			      memory_order_relaxed);
}

static void forget(struct inband_manifests *inband, struct slot *slot)
{
	if (inband->on_forget) {
		inband->on_forget(inband->context, slot->manifest_id);
	}
	inband->bytes -= slot->bytes;
	empty(slot);
	count(&inband->entries, (uint64_t)-1);
	count(&inband->dropped, 1);
}

/* ---- announcements ---- */

static struct announcement *set_of(const struct inband_manifests *inband,
				   const struct event_record *record)
{
	uint64_t hash = hash_seeded(guid_hash(record->provider, inband->seed) ^ record->process_id,
				    inband->seed);

	return inband->sets[hash % SETS];
}

static struct announcement *find_announcement(const struct inband_manifests *inband,
					      const struct event_record *record)
{
	struct announcement *set;

	if (!inband->sets) {
		return NULL;
	}
	set = set_of(inband, record);
	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].manifest_id != 0 && set[i].process_id == record->process_id &&
		    guid_equal(&set[i].provider, record->provider)) {
			return &set[i];
		}
	}
	return NULL;
}

/* The announcement of the record's process, or a place for it. */
static struct announcement *need_announcement(struct inband_manifests *inband,
					      const struct event_record *record)
{
	struct announcement *announcement = find_announcement(inband, record);
	struct announcement *set = set_of(inband, record);

	for (unsigned i = 0; !announcement && i < WAYS; i++) {
		announcement = set[i].manifest_id == 0 ? &set[i] : NULL;
	}
	if (!announcement) {
		announcement = &set[0];
		for (unsigned i = 1; i < WAYS; i++) {
			announcement = set[i].used < announcement->used ? &set[i] : announcement;
		}
	}
	return announcement;
}

/* ---- texts ---- */

static struct slot *find_text(struct inband_manifests *inband, const struct guid *provider,
			      const struct text *xml)
{
	for (size_t i = 0; i < INBAND_MOST; i++) {
		struct slot *slot = &inband->slots[i];

		if (slot->manifest_id != 0 && slot->xml.size == xml->size &&
		    guid_equal(&slot->provider, provider) &&
		    memcmp(slot->xml.data, xml->data, xml->size) == 0) {
			return slot;
		}
	}
	return NULL;
}

/* Makes room among the texts that the process announced. Returns false if it has to wait. */
static bool make_own_room(struct inband_manifests *inband, const struct event_record *record)
{
	struct slot *oldest = NULL;
	unsigned own = 0;

	for (size_t i = 0; i < INBAND_MOST; i++) {
		struct slot *slot = &inband->slots[i];

		if (slot->manifest_id == 0 || slot->process_id != record->process_id) {
			continue;
		}
		own++;
		if (!slot->shared && (!oldest || slot->used < oldest->used)) {
			oldest = slot;
		}
	}
	if (own < INBAND_MOST_OF_PROCESS) {
		return true;
	}
	if (!oldest || record->time < oldest->time ||
	    (uint64_t)record->time - (uint64_t)oldest->time < INBAND_KEPT_100NS) {
		return false;
	}
	forget(inband, oldest);
	return true;
}

/* Returns a free slot, with room for that many bytes; drops what was used longest ago. */
static struct slot *make_room(struct inband_manifests *inband, size_t bytes)
{
	struct slot *free_slot = NULL;

	while (!free_slot || inband->bytes > INBAND_BYTES_MOST - bytes) {
		struct slot *oldest = NULL;

		for (size_t i = 0; i < INBAND_MOST; i++) {
			struct slot *slot = &inband->slots[i];

			if (slot->manifest_id == 0) {
				free_slot = slot;
			} else if (!oldest || slot->used < oldest->used) {
				oldest = slot;
			}
		}
		if (!free_slot || inband->bytes > INBAND_BYTES_MOST - bytes) {
			forget(inband, oldest);
		}
	}
	return free_slot;
}

/* Keeps a new text and takes over *xml. Returns NULL without room; *xml is then unchanged. */
static struct slot *keep_text(struct inband_manifests *inband, const struct event_record *record,
			      struct text *xml)
{
	struct manifest *manifest;
	struct slot *slot;
	size_t bytes;

	if (!make_own_room(inband, record)) {
		return NULL;
	}
	manifest = manifest_read(xml->data, xml->size, NULL);
	if (manifest && manifest_bytes(manifest) > INBAND_SIZE_MOST) {
		manifest_free(manifest);
		manifest = NULL;
	}
	bytes = xml->size + (manifest ? manifest_bytes(manifest) : 0);
	slot = make_room(inband, bytes);
	do {
		inband->serial++;
		slot->manifest_id = inband->serial * INBAND_MOST + (uint32_t)(slot - inband->slots);
	} while (slot->manifest_id == 0);
	slot->provider = *record->provider;
	slot->xml = *xml;
	slot->manifest = manifest;
	slot->bytes = bytes;
	slot->process_id = record->process_id;
	slot->time = record->time;
	inband->bytes += bytes;
	count(&inband->entries, 1);
	*xml = (struct text){ 0 };
	return slot;
}

static bool make_sets(struct inband_manifests *inband)
{
	if (!inband->sets) {
		inband->sets = calloc(SETS, sizeof *inband->sets);
	}
	return inband->sets != NULL;
}

const char *inband_manifests_add(struct inband_manifests *inband, const struct event_record *record)
{
	struct text xml = { 0 };
	struct manifest_chunk chunk;
	struct slot *slot;

	if (record->id != MANIFEST_EVENT_ID || !manifest_chunk_read(record, &chunk) ||
	    !manifest_assembly_add(&inband->assembly, record, &chunk, &xml)) {
		return NULL;
	}
	slot = xml.size > 0 && make_sets(inband) ? find_text(inband, record->provider, &xml) : NULL;
	if (!slot && xml.size > 0 && inband->sets) {
		slot = keep_text(inband, record, &xml);
		if (!slot) {
			count(&inband->dropped, 1);
		}
	}
	text_free(&xml);
	if (!slot) {
		return NULL;
	}
	slot->shared |= slot->process_id != record->process_id;
	slot->used = ++inband->clock;
	*need_announcement(inband, record) =
		(struct announcement){ .provider = *record->provider,
				       .process_id = record->process_id,
				       .manifest_id = slot->manifest_id,
				       .used = inband->clock };
	return slot->manifest ? manifest_provider_name(slot->manifest, 0) : NULL;
}

bool inband_manifests_any(const struct inband_manifests *inband)
{
	return inband->sets != NULL;
}

const struct schema *inband_manifests_find(struct inband_manifests *inband,
					   const struct event_record *record, uint32_t *manifest_id)
{
	struct announcement *announcement = find_announcement(inband, record);
	struct slot *slot;

	if (!announcement) {
		return NULL;
	}
	slot = &inband->slots[announcement->manifest_id % INBAND_MOST];
	if (slot->manifest_id != announcement->manifest_id || !slot->manifest) {
		return NULL;
	}
	announcement->used = slot->used = ++inband->clock;
	*manifest_id = slot->manifest_id;
	return manifest_schema(slot->manifest, 0, record->id, record->version);
}

void inband_manifests_statistics(const struct inband_manifests *inband,
				 struct inband_statistics *statistics)
{
	statistics->entries = atomic_load_explicit(&inband->entries, memory_order_relaxed);
	statistics->dropped = atomic_load_explicit(&inband->dropped, memory_order_relaxed);
}

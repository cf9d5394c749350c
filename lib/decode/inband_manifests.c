/* SPDX-License-Identifier: MIT */
/*
 * Keeps the manifests that arrive as events, once their chunks are together (manifest_chunks.c), in
 * two tables: the texts themselves, and which text each process announced last for a provider.
 *
 * Texts are compared whole, so that processes with the same text share one slot and one parsed
 * manifest. A slot has a manifest id, made of its index and a serial number, so that an id never
 * identifies two manifests, and a stale reference to a reused slot is recognised. When room is
 * needed, the text that was used longest ago is dropped. A single process can replace only its own
 * texts, and not before INBAND_KEPT_100NS. Before a manifest is freed, on_forget() is called, so
 * that no schema of it stays in use.
 *
 * In the second table an announcement can take any entry, so none is lost while an entry is free.
 * This matters because an EventSource does not repeat its manifest while it emits events. The start
 * or end of a process removes the entries of its id. In a session without these events, a full
 * table replaces the entry that was used longest ago.
 *
 * The texts of a provider form a list; the one that was announced last comes first. Only trusted
 * records (those of a recording) are decoded by the text of another process.
 */
#include "lib/decode/inband_manifests.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/guid.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/manifest_holds.h"
#include "lib/decode/trace_manifests.h"

/* ---- the tables ---- */

/* The text of a manifest, and the manifest that was parsed from it. */
struct slot {
	/* The low bits are the index of the slot; 0 means that the slot is free. The ids are above
	 * those of trace_manifests.h, so that one event table can have both. */
	uint32_t manifest_id;
	struct etw_guid provider;
	struct etw_text xml;           /* owned */
	struct etw_manifest *manifest; /* owned; NULL: the text is no valid manifest */
	size_t bytes;
	uint32_t process_id; /* the process that announced it first … */
	int64_t time;        /* … and when, 100 ns since 1601 UTC */
	bool shared;         /* others announced it too: the first cannot replace it */
	uint64_t used;
	/* Index + 1 of the provider's text that was announced before this one; 0: none. */
	uint32_t older;
};

/* An announcement: the text that a process announced last for a provider. */
struct announcement {
	uint64_t key; /* key in `by_key` */
	struct etw_guid provider;
	uint32_t process_id;
	uint32_t manifest_id; /* id of the text; its slot may have been reused */
	int64_t time;         /* time of the last chunk, 100 ns since 1601 UTC */
	uint64_t used;
};

struct etw_inband_manifests {
	void (*on_forget)(void *context, uint32_t manifest_id);
	void *context;
	struct etw_manifest_assembly assembly;
	struct slot slots[INBAND_MOST];
	struct map newest; /* hash of a provider -> index + 1 of the slot announced last */
	/* INBAND_ANNOUNCED_MOST entries; owned; NULL before the first announcement. */
	struct announcement *announcements;
	size_t announced;
	struct map by_key; /* announcement_key() -> index in `announcements` */
	size_t bytes;      /* bytes of all slots */
	uint32_t serial;
	uint64_t clock; /* a counter; `used` members are its values */
	uint64_t seed;
	_Atomic(uint64_t) entries;
	_Atomic(uint64_t) dropped;
};

_Static_assert((INBAND_MOST & (INBAND_MOST - 1)) == 0,
	       "a manifest id is a serial number and the index of a slot");

struct etw_inband_manifests *etw_inband_manifests_new(void (*on_forget)(void *context,
									uint32_t manifest_id),
						      void *context, struct etw_error *err)
{
	struct etw_inband_manifests *inband = calloc(1, sizeof *inband);

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
	etw_manifest_free(slot->manifest);
	*slot = (struct slot){ .manifest_id = 0 };
}

void etw_inband_manifests_free(struct etw_inband_manifests *inband)
{
	if (!inband) {
		return;
	}
	for (size_t i = 0; i < INBAND_MOST; i++) {
		empty(&inband->slots[i]);
	}
	etw_manifest_assembly_done(&inband->assembly);
	map_done(&inband->by_key);
	map_done(&inband->newest);
	free(inband->announcements);
	free(inband);
}

/* Only the consumer writes the counters. */
static void count(_Atomic(uint64_t) *counter, uint64_t delta)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + delta,
			      memory_order_relaxed);
}

/* ---- the texts of a provider ---- */

static uint64_t provider_key(const struct etw_inband_manifests *inband,
			     const struct etw_guid *provider)
{
	return guid_hash(provider, inband->seed);
}

/* Returns the slot with this number in a list: index + 1. 0 gives NULL. */
static struct slot *slot_at(struct etw_inband_manifests *inband, uint64_t number)
{
	return number > 0 ? &inband->slots[number - 1] : NULL;
}

static void remove_from_list(struct etw_inband_manifests *inband, const struct slot *slot)
{
	uint64_t key = provider_key(inband, &slot->provider);
	uint64_t *newest = map_find(&inband->newest, key);
	struct slot *at = slot_at(inband, newest ? *newest : 0);

	if (at == slot && slot->older == 0) {
		map_remove(&inband->newest, key);
	} else if (at == slot && newest) {
		*newest = slot->older;
	}
	for (; at; at = slot_at(inband, at->older)) {
		if (slot_at(inband, at->older) == slot) {
			at->older = slot->older;
		}
	}
}

static void put_first(struct etw_inband_manifests *inband, struct slot *slot)
{
	uint64_t *newest;

	remove_from_list(inband, slot);
	slot->older = 0;
	newest = map_put(&inband->newest, provider_key(inband, &slot->provider), NULL);
	if (newest) {
		slot->older = (uint32_t)*newest;
		*newest = (uint64_t)(slot - inband->slots) + 1;
	}
}

static void forget(struct etw_inband_manifests *inband, struct slot *slot)
{
	if (inband->on_forget) {
		inband->on_forget(inband->context, slot->manifest_id);
	}
	inband->bytes -= slot->bytes;
	remove_from_list(inband, slot);
	empty(slot);
	count(&inband->entries, (uint64_t)-1);
	count(&inband->dropped, 1);
}

/* ---- announcements ---- */

/* Computes the key of an announcement. Keys of different processes for one provider differ, because
 * every step of the computation is reversible. */
static uint64_t announcement_key(const struct etw_inband_manifests *inband,
				 const struct etw_record *record)
{
	return hash_seeded(guid_hash(record->provider, inband->seed) ^ record->process_id,
			   inband->seed);
}

static struct announcement *find_announcement(const struct etw_inband_manifests *inband,
					      const struct etw_record *record)
{
	const uint64_t *index = map_find(&inband->by_key, announcement_key(inband, record));
	struct announcement *announcement = index ? &inband->announcements[*index] : NULL;

	return announcement && announcement->process_id == record->process_id &&
			       etw_guid_equal(&announcement->provider, record->provider) ?
		       announcement :
		       NULL;
}

/* Returns the index of a free entry. If there is none, it removes the announcement that was used
 * longest ago and returns the index of that. */
static size_t need_place(struct etw_inband_manifests *inband)
{
	size_t oldest = 0;

	if (inband->announced < INBAND_ANNOUNCED_MOST) {
		return inband->announced++;
	}
	for (size_t i = 1; i < INBAND_ANNOUNCED_MOST; i++) {
		if (inband->announcements[i].used < inband->announcements[oldest].used) {
			oldest = i;
		}
	}
	map_remove(&inband->by_key, inband->announcements[oldest].key);
	count(&inband->dropped, 1);
	return oldest;
}

/* Notes that the process of the record announced the text of the slot. */
static void note_announcement(struct etw_inband_manifests *inband, const struct etw_record *record,
			      const struct slot *slot)
{
	uint64_t key = announcement_key(inband, record);
	bool added;
	uint64_t *index = map_put(&inband->by_key, key, &added);

	if (!index) {
		return;
	}
	if (added) {
		size_t place = need_place(inband);

		index = map_find(&inband->by_key, key); /* a removal moves entries */
		*index = place;
	}
	inband->announcements[*index] = (struct announcement){ .key = key,
							       .provider = *record->provider,
							       .process_id = record->process_id,
							       .manifest_id = slot->manifest_id,
							       .time = record->time,
							       .used = inband->clock };
}

/* ---- texts ---- */

static struct slot *find_text(struct etw_inband_manifests *inband, const struct etw_guid *provider,
			      const struct etw_text *xml)
{
	for (size_t i = 0; i < INBAND_MOST; i++) {
		struct slot *slot = &inband->slots[i];

		if (slot->manifest_id != 0 && slot->xml.size == xml->size &&
		    etw_guid_equal(&slot->provider, provider) &&
		    memcmp(slot->xml.data, xml->data, xml->size) == 0) {
			return slot;
		}
	}
	return NULL;
}

/* Makes room among the texts that the process announced first. Returns false if the process has to
 * wait before it may replace one. */
static bool make_own_room(struct etw_inband_manifests *inband, const struct etw_record *record)
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

/* Returns a free slot, with room for this number of bytes. Drops the texts used longest ago for
 * that. */
static struct slot *make_room(struct etw_inband_manifests *inband, size_t bytes)
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

/* Keeps a new text and takes ownership of *xml. Returns NULL and leaves *xml unchanged if there is
 * no room. */
static struct slot *keep_text(struct etw_inband_manifests *inband, const struct etw_record *record,
			      struct etw_text *xml)
{
	struct etw_manifest *manifest;
	struct slot *slot;
	size_t bytes;

	if (!make_own_room(inband, record)) {
		return NULL;
	}
	manifest = etw_manifest_read(xml->data, xml->size, NULL);
	if (manifest && etw_manifest_bytes(manifest) > INBAND_SIZE_MOST) {
		etw_manifest_free(manifest);
		manifest = NULL;
	}
	bytes = xml->size + (manifest ? etw_manifest_bytes(manifest) : 0);
	slot = make_room(inband, bytes);
	do {
		inband->serial++;
		slot->manifest_id = inband->serial * INBAND_MOST + (uint32_t)(slot - inband->slots);
	} while (slot->manifest_id <= TRACE_MANIFESTS_MOST);
	slot->provider = *record->provider;
	slot->xml = *xml;
	slot->manifest = manifest;
	slot->bytes = bytes;
	slot->process_id = record->process_id;
	slot->time = record->time;
	inband->bytes += bytes;
	count(&inband->entries, 1);
	*xml = (struct etw_text){ 0 };
	return slot;
}

static bool make_announcements(struct etw_inband_manifests *inband)
{
	if (!inband->announcements) {
		inband->announcements =
			calloc(INBAND_ANNOUNCED_MOST, sizeof *inband->announcements);
		if (!inband->announcements) {
			memory_note_loss();
		}
	}
	return inband->announcements != NULL;
}

const char *inband_manifests_add(struct etw_inband_manifests *inband,
				 const struct etw_record *record)
{
	uint64_t incomplete = inband->assembly.dropped;
	struct etw_text xml = { 0 };
	struct slot *slot;
	bool whole;

	if (record->id != ETW_MANIFEST_EVENT_ID) {
		return NULL;
	}
	whole = etw_manifest_assembly_add(&inband->assembly, record, &xml);
	count(&inband->dropped, inband->assembly.dropped - incomplete);
	if (!whole) {
		return NULL;
	}
	slot = xml.size > 0 && make_announcements(inband) ?
		       find_text(inband, record->provider, &xml) :
		       NULL;
	if (!slot && xml.size > 0 && inband->announcements) {
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
	put_first(inband, slot);
	note_announcement(inband, record, slot);
	return slot->manifest ? etw_manifest_provider_name(slot->manifest, 0) : NULL;
}

bool inband_manifests_any(const struct etw_inband_manifests *inband)
{
	return inband->announcements != NULL;
}

/* Removes an announcement; the last announcement moves into its entry. */
static void remove_announcement(struct etw_inband_manifests *inband, size_t index)
{
	struct announcement *announcement = &inband->announcements[index];
	const struct announcement *last = &inband->announcements[--inband->announced];

	map_remove(&inband->by_key, announcement->key);
	if (announcement != last) {
		uint64_t *moved = map_find(&inband->by_key, last->key);

		*announcement = *last;
		if (moved) {
			*moved = index;
		}
	}
}

void inband_manifests_look(struct etw_inband_manifests *inband, const struct etw_record *record,
			   bool trusted)
{
	uint32_t process_id;
	int64_t time;

	if (inband->announced == 0 || (!trusted && !record->classic) ||
	    !process_change_read(record, &process_id, &time)) {
		return;
	}
	for (size_t i = inband->announced; i-- > 0;) {
		const struct announcement *announcement = &inband->announcements[i];

		if (announcement->process_id == process_id && announcement->time < time) {
			remove_announcement(inband, i);
		}
	}
}

/* Returns the text that the event's process announced; NULL if there is none that is a valid
 * manifest. */
static struct slot *find_own(struct etw_inband_manifests *inband, const struct etw_record *record)
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
	announcement->used = ++inband->clock;
	return slot;
}

static const struct etw_schema *find_exact(const struct slot *slot, const struct etw_record *record,
					   uint8_t version)
{
	return slot && slot->manifest ? manifest_schema_exact(slot->manifest, 0, record->id,
							      version, record->opcode) :
					NULL;
}

/* Looks for the schema in *slot if that is not NULL, then in the list of the provider. Sets *slot
 * to the slot that has the schema. */
static const struct etw_schema *find_newest(struct etw_inband_manifests *inband,
					    const struct etw_record *record, uint8_t version,
					    uint64_t newest, struct slot **slot)
{
	const struct etw_schema *schema = find_exact(*slot, record, version);

	for (struct slot *at = slot_at(inband, newest); at && !schema;
	     at = slot_at(inband, at->older)) {
		schema = etw_guid_equal(&at->provider, record->provider) ?
				 find_exact(at, record, version) :
				 NULL;
		*slot = schema ? at : *slot;
	}
	return schema;
}

const struct etw_schema *inband_manifests_find(struct etw_inband_manifests *inband,
					       const struct etw_record *record, bool trusted,
					       uint32_t *manifest_id)
{
	const uint64_t *newest = map_find(&inband->newest, provider_key(inband, record->provider));
	const struct etw_schema *schema = NULL;
	struct slot *slot;

	if (!newest) {
		return NULL; /* no process has announced this provider */
	}
	slot = find_own(inband, record);
	if (trusted) {
		schema = find_newest(inband, record, record->version, *newest, &slot);
		if (!schema && record->version != 0) {
			schema = find_newest(inband, record, 0, *newest, &slot);
		}
	} else if (slot) {
		schema = manifest_schema(slot->manifest, 0, record->id, record->version,
					 record->opcode);
	}
	if (slot) {
		slot->used = ++inband->clock;
		*manifest_id = slot->manifest_id;
	}
	return schema;
}

void etw_inband_manifests_statistics(const struct etw_inband_manifests *inband,
				     struct etw_inband_statistics *statistics)
{
	statistics->entries = atomic_load_explicit(&inband->entries, memory_order_relaxed);
	statistics->dropped = atomic_load_explicit(&inband->dropped, memory_order_relaxed);
}

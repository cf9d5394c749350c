/* SPDX-License-Identifier: MIT */
/*
 * Manifests in events: first their chunks are assembled, then the complete texts are kept.
 *
 * An EventSource writes its manifest as events of one id, each with a part of the XML and the
 * number of parts. The parts of one manifest arrive in the order of their numbers, but parts of
 * other processes and providers may be between them. So there is a stream for each process and
 * provider. If a part is missing, the stream is dropped and starts again with the next part 0.
 *
 * A recording can contain any number of incomplete manifests, so streams are bounded in number and
 * bytes. If a process has too many streams, one of its own is dropped; if there are too many in
 * total, the oldest one is.
 *
 * The texts are kept in two tables: the texts themselves, and which text each process announced
 * last for a provider.
 *
 * Texts are compared whole, so that processes with the same text share one slot and one parsed
 * manifest. A slot has a manifest id, made of its index and a serial number, so that an id never
 * identifies two manifests, and a stale reference to a reused slot is recognised. When room is
 * needed, the text that was used longest ago is dropped. A single process can replace only its own
 * texts, and not before INBAND_KEPT_100NS. Before a manifest is freed, on_forget() is called, so
 * that no schema of it stays in use.
 *
 * In the second table an announcement can have any place, so none is lost while a place is free.
 * This matters because an EventSource does not repeat its manifest while its events flow. Entries
 * of processes that have ended need no removal, because a full table replaces the entry that was
 * used longest ago.
 */
#include "decode/inband_manifests.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/guid.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "decode/manifest/manifest.h"

/* ---- assembling chunks ---- */

enum {
	CHUNK_FORMAT = 1,
	CHUNK_MAGIC = 0x5b,
	STREAMS_MOST = 256,
	STREAMS_MOST_OF_PROCESS = 32,
	MANIFEST_SIZE_MOST = 16 << 20, /* docs/etl-format.md section 18 */
	ASSEMBLY_SIZE_MOST = 64 << 20,
};

struct manifest_stream {
	struct guid provider;
	uint32_t process_id;
	uint16_t total; /* 0: free, or waiting for a chunk 0 */
	uint16_t next;
	struct text xml;
};

bool manifest_chunk_read(const struct event_record *record, struct manifest_chunk *chunk)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);
	struct manifest_chunk read = { 0 };
	struct extended_item item;

	if (record->type != RECORD_EVENT || record->classic || record->id != MANIFEST_EVENT_ID ||
	    record_find_extended(record, EXTENDED_TRACELOGGING, &item)) {
		return false;
	}
	read.format = cursor_u8(&c);
	read.major = cursor_u8(&c);
	read.minor = cursor_u8(&c);
	read.magic = cursor_u8(&c);
	read.total = cursor_u16(&c);
	read.number = cursor_u16(&c);
	if (c.overrun || read.format != CHUNK_FORMAT || read.magic != CHUNK_MAGIC ||
	    read.number >= read.total) {
		return false;
	}
	read.xml = c.at;
	read.xml_size = (uint32_t)cursor_left(&c);
	*chunk = read;
	return true;
}

static struct manifest_stream *find_stream(struct manifest_assembly *assembly,
					   const struct event_record *record)
{
	for (size_t i = 0; i < assembly->count; i++) {
		struct manifest_stream *stream = &assembly->streams[i];

		if (stream->total != 0 && stream->process_id == record->process_id &&
		    guid_equal(&stream->provider, record->provider)) {
			return stream;
		}
	}
	return NULL;
}

static void give_up(struct manifest_assembly *assembly, struct manifest_stream *stream)
{
	assembly->bytes -= stream->xml.size;
	text_free(&stream->xml);
	*stream = (struct manifest_stream){ .total = 0 };
}

static void give_up_oldest(struct manifest_assembly *assembly)
{
	give_up(assembly, &assembly->streams[assembly->oldest]);
	assembly->oldest = (assembly->oldest + 1) % assembly->count;
}

/* A stream of the process to drop if the process has too many; else NULL. */
static struct manifest_stream *stream_too_many(struct manifest_assembly *assembly,
					       uint32_t process_id)
{
	struct manifest_stream *own = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < assembly->count; i++) {
		struct manifest_stream *stream = &assembly->streams[i];

		if (stream->total != 0 && stream->process_id == process_id) {
			own = stream;
			count++;
		}
	}
	return count < STREAMS_MOST_OF_PROCESS ? NULL : own;
}

/* Returns a free stream; drops one if needed. NULL without memory. */
static struct manifest_stream *new_stream(struct manifest_assembly *assembly, uint32_t process_id)
{
	struct manifest_stream *stream;

	if (!assembly->streams) {
		assembly->streams = calloc(STREAMS_MOST, sizeof *assembly->streams);
		if (!assembly->streams) {
			memory_note_loss();
			return NULL;
		}
	}
	stream = stream_too_many(assembly, process_id);
	if (stream) {
		give_up(assembly, stream);
		return stream;
	}
	for (size_t i = 0; i < assembly->count; i++) {
		if (assembly->streams[i].total == 0) {
			return &assembly->streams[i];
		}
	}
	if (assembly->count < STREAMS_MOST) {
		return &assembly->streams[assembly->count++];
	}
	stream = &assembly->streams[assembly->oldest];
	give_up_oldest(assembly);
	return stream;
}

bool manifest_assembly_add(struct manifest_assembly *assembly, const struct event_record *record,
			   struct text *xml)
{
	struct manifest_stream *stream;
	size_t most = assembly->size_most ? assembly->size_most : MANIFEST_SIZE_MOST;
	struct manifest_chunk chunk;

	if (!manifest_chunk_read(record, &chunk)) {
		return false;
	}
	stream = find_stream(assembly, record);
	if (stream && (chunk.number != stream->next || chunk.total != stream->total ||
		       chunk.xml_size > most - stream->xml.size)) {
		give_up(assembly, stream);
		stream = NULL;
	}
	if (!stream) {
		if (chunk.number != 0 || chunk.xml_size > most) {
			return false;
		}
		stream = new_stream(assembly, record->process_id);
		if (!stream) {
			return false;
		}
		stream->provider = *record->provider;
		stream->process_id = record->process_id;
		stream->total = chunk.total;
	}
	text_add(&stream->xml, (const char *)chunk.xml, chunk.xml_size);
	assembly->bytes += chunk.xml_size;
	stream->next++;
	if (stream->xml.failed) {
		assembly->bytes -= chunk.xml_size;
		give_up(assembly, stream);
		return false;
	}
	if (stream->next == stream->total) {
		*xml = stream->xml;
		assembly->bytes -= stream->xml.size;
		*stream = (struct manifest_stream){ .total = 0 };
		return true;
	}
	while (assembly->bytes > ASSEMBLY_SIZE_MOST) {
		give_up_oldest(assembly);
	}
	return false;
}

void manifest_assembly_done(struct manifest_assembly *assembly)
{
	for (size_t i = 0; i < assembly->count; i++) {
		text_free(&assembly->streams[i].xml);
	}
	free(assembly->streams);
	*assembly = (struct manifest_assembly){ .size_most = assembly->size_most };
}

/* ---- the tables ---- */

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
	uint64_t key; /* of `by_key` */
	struct guid provider;
	uint32_t process_id;
	uint32_t manifest_id; /* its slot may be reused by now */
	uint64_t used;
};

struct inband_manifests {
	void (*on_forget)(void *context, uint32_t manifest_id);
	void *context;
	struct manifest_assembly assembly;
	struct slot slots[INBAND_MOST];
	/* INBAND_ANNOUNCED_MOST of them; owned; NULL until the first one. */
	struct announcement *announcements;
	size_t announced;
	struct map by_key; /* announcement_key() -> index in `announcements` */
	size_t bytes;      /* of all slots */
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
	map_done(&inband->by_key);
	free(inband->announcements);
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

/* Different processes have different keys for one provider, because every step can be reversed. */
static uint64_t announcement_key(const struct inband_manifests *inband,
				 const struct event_record *record)
{
	return hash_seeded(guid_hash(record->provider, inband->seed) ^ record->process_id,
			   inband->seed);
}

static struct announcement *find_announcement(const struct inband_manifests *inband,
					      const struct event_record *record)
{
	const uint64_t *index = map_find(&inband->by_key, announcement_key(inband, record));
	struct announcement *announcement = index ? &inband->announcements[*index] : NULL;

	return announcement && announcement->process_id == record->process_id &&
			       guid_equal(&announcement->provider, record->provider) ?
		       announcement :
		       NULL;
}

/* The index of a free place; if there is none, that of the announcement that was used longest ago,
 * which is then no longer found. */
static size_t need_place(struct inband_manifests *inband)
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
	return oldest;
}

/* The process of the record announced the text of the slot. */
static void note_announcement(struct inband_manifests *inband, const struct event_record *record,
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
							       .used = inband->clock };
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

static bool make_announcements(struct inband_manifests *inband)
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

const char *inband_manifests_add(struct inband_manifests *inband, const struct event_record *record)
{
	struct text xml = { 0 };
	struct slot *slot;

	if (record->id != MANIFEST_EVENT_ID ||
	    !manifest_assembly_add(&inband->assembly, record, &xml)) {
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
	note_announcement(inband, record, slot);
	return slot->manifest ? manifest_provider_name(slot->manifest, 0) : NULL;
}

bool inband_manifests_any(const struct inband_manifests *inband)
{
	return inband->announcements != NULL;
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

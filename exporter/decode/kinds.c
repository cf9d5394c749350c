/* SPDX-License-Identifier: MIT */
/*
 * The table of event kinds: open addressing over (provider, id, version, opcode, pointer size,
 * family of header, metadata of TraceLogging events, which often share an id, and who told the
 * schema).
 *
 * The look-up is on the path of every event, so a slot holds the key's hash beside the pointer and
 * a kind is only touched when the hash agrees. Most records are the kernel's and carry a group and
 * an opcode instead of a GUID: those two lead to the kind of the last such record at once. Others
 * without extended items are first looked for where a cheap hash of the whole key leads.
 */
#include "decode/kinds.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "decode/event_schema.h"
#include "decode/kind_describe.h"

struct slot {
	uint64_t hash;
	struct event_kind *kind; /* owned; NULL: free */
};

enum { GROUPS = 32, OPCODES = 256, USUAL_BITS = 8, USUAL = 1 << USUAL_BITS };

struct kinds {
	struct slot *slots; /* owned */
	/* By kernel group and opcode: the kind met last; owned. */
	struct event_kind *(*recent)[OPCODES];
	/* Of records without extended items: the kind met last at that place, never one that
	 * somebody told. */
	struct event_kind *usual[USUAL];
	size_t mask; /* slots - 1 */
	size_t count;
	size_t most;
	uint64_t seed;
	struct schema_origins origins;
	struct tracelogging_cache *tracelogging; /* owned */
	size_t hand;   /* the slot that was last looked at for a kind to give up */
	uint64_t hits; /* the consumer's own; published now and then */
	_Atomic(uint64_t) shown_entries;
	_Atomic(uint64_t) shown_hits;
	_Atomic(uint64_t) shown_misses;
	_Atomic(uint64_t) shown_evictions;
};

enum {
	FIRST_SLOTS = 256,
	PUBLISH_EVERY = 4096,
	LOOKED_AT_MOST = 64, /* kinds in use, for one to give up */
};

/* What tells kinds of one provider apart, in one word. */
static uint64_t kind_word(const struct event_record *record)
{
	return (uint64_t)record->id | (uint64_t)record->version << 16 |
	       (uint64_t)record->opcode << 24 | (uint64_t)record->pointer_size << 32 |
	       (uint64_t)record->classic << 40 | (uint64_t)(record->kind == RECORD_MESSAGE) << 41 |
	       (uint64_t)(record->kind >= RECORD_TIMED) << 42;
}

/* The hash of the slot has agreed, so a hash of metadata needs no look. */
static bool kind_is(const struct event_kind *kind, const struct event_record *record)
{
	return kind->id == record->id && kind->opcode == record->opcode &&
	       kind->version == record->version && kind->pointer_size == record->pointer_size &&
	       kind->classic == record->classic &&
	       (kind->record_kind == RECORD_MESSAGE) == (record->kind == RECORD_MESSAGE) &&
	       (kind->record_kind >= RECORD_TIMED) == (record->kind >= RECORD_TIMED) &&
	       guid_equal(&kind->provider, record->provider);
}

/* Kinds by who told their schema have places of their own. */
static uint64_t told_hash(uint64_t hash, uint32_t teller)
{
	return teller != 0 ? hash ^ hash_u64(teller) : hash;
}

static void place(struct slot *slots, size_t mask, const struct slot *slot)
{
	size_t at = slot->hash & mask;

	while (slots[at].kind) {
		at = (at + 1) & mask;
	}
	slots[at] = *slot;
}

static bool grow(struct kinds *kinds)
{
	size_t size = (kinds->mask + 1) * 2;
	struct slot *slots = calloc(size, sizeof *slots);

	if (!slots) {
		return false;
	}
	for (size_t i = 0; i <= kinds->mask; i++) {
		if (kinds->slots[i].kind) {
			place(slots, size - 1, &kinds->slots[i]);
		}
	}
	free(kinds->slots);
	kinds->slots = slots;
	kinds->mask = size - 1;
	return true;
}

static void publish(struct kinds *kinds)
{
	atomic_store_explicit(&kinds->shown_entries, kinds->count, memory_order_relaxed);
	atomic_store_explicit(&kinds->shown_hits, kinds->hits, memory_order_relaxed);
}

static void count_hit(struct kinds *kinds, struct event_kind *kind)
{
	kind->used = true;
	if (++kinds->hits % PUBLISH_EVERY == 0) {
		publish(kinds);
	}
}

static inline struct event_kind *probe(const struct kinds *kinds, const struct event_record *record,
				       uint64_t hash, uint32_t teller)
{
	for (size_t at = hash & kinds->mask; kinds->slots[at].kind; at = (at + 1) & kinds->mask) {
		struct event_kind *kind = kinds->slots[at].kind;

		if (kinds->slots[at].hash == hash && kind->teller == teller &&
		    kind_is(kind, record)) {
			return kind;
		}
	}
	return NULL;
}

/* ---- kinds that are new, or no longer what they were ---- */

/* Later entries move back, so that no search ends too soon. */
static void remove_slot(struct kinds *kinds, size_t hole)
{
	size_t mask = kinds->mask;

	for (size_t at = (hole + 1) & mask; kinds->slots[at].kind; at = (at + 1) & mask) {
		size_t home = kinds->slots[at].hash & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			kinds->slots[hole] = kinds->slots[at];
			hole = at;
		}
	}
	kinds->slots[hole].kind = NULL;
	kinds->count--;
}

/*
 * A place whose kind may serve another: one that no event has had since the hand came by last. What
 * one process makes up and does not use goes before what others use, whoever came first.
 */
static size_t pick(struct kinds *kinds)
{
	for (unsigned looked = 0;;) {
		struct event_kind *kind;

		kinds->hand = (kinds->hand + 1) & kinds->mask;
		kind = kinds->slots[kinds->hand].kind;
		if (!kind) {
			continue;
		}
		if (!kind->used || ++looked == LOOKED_AT_MOST) {
			return kinds->hand;
		}
		kind->used = false;
	}
}

static void take_out(struct kinds *kinds, size_t at)
{
	const struct event_kind *kind = kinds->slots[at].kind;

	for (unsigned group = 0; group < GROUPS; group++) {
		if (kinds->recent[group][kind->opcode] == kind) {
			kinds->recent[group][kind->opcode] = NULL;
		}
	}
	for (size_t i = 0; i < USUAL; i++) {
		if (kinds->usual[i] == kind) {
			kinds->usual[i] = NULL;
		}
	}
	remove_slot(kinds, at);
}

/* A kind to describe, with a place in the table; NULL without memory. */
static struct event_kind *place_kind(struct kinds *kinds, uint64_t hash)
{
	struct slot slot = { .hash = hash };

	if (kinds->count >= kinds->most) {
		size_t at = pick(kinds);

		slot.kind = kinds->slots[at].kind;
		take_out(kinds, at);
		atomic_fetch_add_explicit(&kinds->shown_evictions, 1, memory_order_relaxed);
	} else if ((kinds->count + 1) * 2 <= kinds->mask + 1 || grow(kinds)) {
		slot.kind = calloc(1, sizeof *slot.kind);
	}
	if (slot.kind) {
		place(kinds->slots, kinds->mask, &slot);
		kinds->count++;
	}
	return slot.kind;
}

/*
 * Room for more metadata: that of TraceLogging events all goes, and comes again with its events. In
 * a recording it stays: tools look at schemas to the end.
 */
static void make_room_for_metadata(struct kinds *kinds)
{
	uint64_t gone = 0;

	if (!kinds->origins.live || !tracelogging_cache_full(kinds->tracelogging)) {
		return;
	}
	for (size_t i = 0; i <= kinds->mask; i++) {
		struct event_kind *kind = kinds->slots[i].kind;

		if (kind && kind->schema && kind->schema->origin == SCHEMA_TRACELOGGING) {
			kind->schema = NULL;
			kind->again |= AGAIN_SCHEMA;
			gone++;
		}
	}
	tracelogging_cache_clear(kinds->tracelogging);
	atomic_fetch_add_explicit(&kinds->shown_evictions, gone, memory_order_relaxed);
}

/* The kind of the record as it is to be from now on: a new one, or the one that there is. */
static __attribute__((noinline, cold)) struct event_kind *
work_out(struct kinds *kinds, const struct event_record *record, uint64_t hash)
{
	struct event_kind fresh, *kind;

	if (record->extended) {
		make_room_for_metadata(kinds);
	}
	if (!kind_describe(&kinds->origins, kinds->tracelogging, record, &fresh)) {
		return NULL;
	}
	hash = told_hash(hash, fresh.teller);
	kind = probe(kinds, record, hash, fresh.teller);
	if (!kind) {
		kind = place_kind(kinds, hash);
	}
	if (!kind) {
		kind_forget_names(&fresh);
		return NULL;
	}
	fresh.attribution = kind->attribution;
	fresh.plan = kind->plan;
	kind_forget_names(kind);
	*kind = fresh;
	atomic_fetch_add_explicit(&kinds->shown_misses, 1, memory_order_relaxed);
	publish(kinds);
	return kind;
}

/* ---- finding ---- */

/* The teller of the schema that the event's process told; 0: it did not. */
static uint32_t teller_of(const struct kinds *kinds, const struct event_record *record)
{
	uint32_t teller = 0;

	if (!kinds->origins.told || !told_schemas_any(kinds->origins.told) ||
	    !event_schema_open(&kinds->origins, record, NULL) ||
	    !told_schemas_find(kinds->origins.told, record, &teller)) {
		return 0;
	}
	return teller;
}

static struct event_kind *find(struct kinds *kinds, const struct event_record *record, bool *added)
{
	uint64_t hash = hash_seeded(guid_hash(record->provider, kinds->seed) ^ kind_word(record),
				    kinds->seed);
	struct event_kind *kind;

	if (record->extended) {
		hash ^= tracelogging_hash(record, kinds->seed);
	}
	kind = probe(kinds, record, hash, 0);
	if (!kind || kind->open) {
		uint32_t teller = teller_of(kinds, record);

		if (teller != 0) {
			kind = probe(kinds, record, told_hash(hash, teller), teller);
		}
	}
	if (kind && (kind->again == 0 ||
		     !kind_has_news(&kinds->origins, kinds->tracelogging, record, kind))) {
		*added = false;
		count_hit(kinds, kind);
		return kind;
	}
	*added = true;
	return work_out(kinds, record, hash);
}

/* Without a seed: whoever makes keys collide makes the table above be asked, no more. */
static inline struct event_kind **usual_place(struct kinds *kinds,
					      const struct event_record *record)
{
	uint64_t low = load_u64(record->provider->bytes);
	uint64_t high = load_u64(record->provider->bytes + 8);
	uint64_t key = (low ^ high ^ kind_word(record)) * UINT64_C(0x9e3779b97f4a7c15);

	return &kinds->usual[key >> (64 - USUAL_BITS)];
}

static struct event_kind *find_usual(struct kinds *kinds, const struct event_record *record,
				     bool *added)
{
	struct event_kind **usual = usual_place(kinds, record);
	struct event_kind *kind = *usual;

	if (kind && kind_is(kind, record) && kind->again == 0 &&
	    (!kind->open || !told_schemas_any(kinds->origins.told))) {
		*added = false;
		count_hit(kinds, kind);
		return kind;
	}
	kind = find(kinds, record, added);
	if (kind && kind->teller == 0) {
		*usual = kind;
	}
	return kind;
}

struct event_kind *kinds_find(struct kinds *kinds, const struct event_record *record, bool *added)
{
	struct event_kind **recent;
	struct event_kind *kind;

	if (record->kernel_group >= GROUPS) {
		return record->extended ? find(kinds, record, added) :
					  find_usual(kinds, record, added);
	}
	recent = &kinds->recent[record->kernel_group][record->opcode];
	kind = *recent;
	/* Group and opcode stand for the provider. */
	if (kind && kind->version == record->version &&
	    kind->pointer_size == record->pointer_size && kind->again == 0) {
		*added = false;
		count_hit(kinds, kind);
		return kind;
	}
	kind = find(kinds, record, added);
	*recent = kind;
	return kind;
}

struct kinds *kinds_new(size_t most, const struct schema_origins *origins, struct error *err)
{
	struct kinds *kinds = calloc(1, sizeof *kinds);

	if (kinds) {
		kinds->slots = calloc(FIRST_SLOTS, sizeof *kinds->slots);
		kinds->recent = calloc(GROUPS, sizeof *kinds->recent);
		kinds->tracelogging = tracelogging_cache_new(NULL);
	}
	if (!kinds || !kinds->slots || !kinds->recent || !kinds->tracelogging) {
		if (kinds) {
			tracelogging_cache_free(kinds->tracelogging);
			free(kinds->slots);
			free(kinds->recent);
		}
		free(kinds);
		error_set(err, ERROR_NO_MEMORY, "no memory for the table of event kinds");
		return NULL;
	}
	kinds->mask = FIRST_SLOTS - 1;
	kinds->seed = hash_seed();
	kinds->most = most > 0 ? most : 1;
	if (origins) {
		kinds->origins = *origins;
	}
	return kinds;
}

void kinds_each(struct kinds *kinds, void (*visit)(void *context, struct event_kind *kind),
		void *context)
{
	for (size_t i = 0; i <= kinds->mask; i++) {
		if (kinds->slots[i].kind) {
			visit(context, kinds->slots[i].kind);
		}
	}
}

static void free_kind(void *context, struct event_kind *kind)
{
	(void)context;
	kind_forget_names(kind);
	free(kind);
}

void kinds_forget(struct kinds *kinds, uint32_t teller,
		  void (*release)(void *context, struct event_kind *kind), void *context)
{
	for (size_t i = 0; i <= kinds->mask;) {
		struct event_kind *kind = kinds->slots[i].kind;

		if (!kind || kind->teller != teller) {
			i++;
			continue;
		}
		take_out(kinds, i); /* and look at what has moved here */
		release(context, kind);
		free_kind(NULL, kind);
	}
	publish(kinds);
}

void kinds_free(struct kinds *kinds)
{
	if (!kinds) {
		return;
	}
	kinds_each(kinds, free_kind, NULL);
	tracelogging_cache_free(kinds->tracelogging);
	free(kinds->slots);
	free(kinds->recent);
	free(kinds);
}

void kinds_settle(struct kinds *kinds)
{
	publish(kinds);
}

void kinds_statistics(const struct kinds *kinds, struct kinds_statistics *statistics)
{
	statistics->entries = atomic_load_explicit(&kinds->shown_entries, memory_order_relaxed);
	statistics->hits = atomic_load_explicit(&kinds->shown_hits, memory_order_relaxed);
	statistics->misses = atomic_load_explicit(&kinds->shown_misses, memory_order_relaxed);
	statistics->evictions = atomic_load_explicit(&kinds->shown_evictions, memory_order_relaxed);
}

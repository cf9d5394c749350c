/* SPDX-License-Identifier: MIT */
/*
 * The table of event kinds: open addressing over (provider, id, version, opcode, pointer size,
 * family of header, metadata of TraceLogging events, which often share an id, and who told the
 * schema).
 *
 * The look-up is on the path of every event, so a slot holds the key's hash beside the pointer and
 * a kind is only touched when the hash agrees. Most records are the kernel's and carry a group and
 * an opcode instead of a GUID: those two lead to the kind of the last such record at once.
 */
#include "decode/kinds.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "decode/event_schema.h"

struct slot {
	uint64_t hash;
	struct event_kind *kind; /* owned; NULL: free */
};

enum { GROUPS = 32, OPCODES = 256 };

struct kinds {
	struct slot *slots; /* owned */
	/* By kernel group and opcode: the kind met last, never the spare one; owned. */
	struct event_kind *(*recent)[OPCODES];
	size_t mask; /* slots - 1 */
	size_t count;
	size_t most;
	uint64_t seed;
	struct schema_origins origins;
	struct tracelogging_cache *tracelogging; /* owned */
	struct event_kind *spare; /* for what no longer fits; owned, NULL until needed */
	uint64_t hits;            /* the consumer's own; published now and then */
	_Atomic(uint64_t) shown_entries;
	_Atomic(uint64_t) shown_hits;
	_Atomic(uint64_t) shown_misses;
};

enum { FIRST_SLOTS = 256, PUBLISH_EVERY = 4096 };

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

static char *provider_name(const struct kinds *kinds, const struct guid *provider)
{
	char text[GUID_TEXT_SIZE];
	const char *name = NULL;

	if (kernel_class_is_kernel(provider)) {
		name = "Windows Kernel";
	} else {
		name = event_provider_name(&kinds->origins, provider);
	}
	if (!name) {
		guid_format(provider, text);
		name = text;
	}
	return text_duplicate(name, strlen(name));
}

static char *event_name(const struct event_record *record, const struct schema *schema)
{
	const char *class = record->classic ? kernel_class_name(record->provider) : NULL;
	const char *event = class ? kernel_event_name(record->provider, record->opcode) : NULL;
	char text[160];

	if (schema && schema->origin != SCHEMA_KERNEL && schema->event[0]) {
		struct text name = { 0 };

		event_schema_name(schema, &name);
		if (name.failed) {
			text_free(&name);
		}
		return name.data;
	}
	if (event) {
		snprintf(text, sizeof text, "%s/%s", class, event);
	} else if (class) {
		snprintf(text, sizeof text, "%s/%u", class, record->opcode);
	} else {
		/* Classic events have no id: their opcode is what the class's documentation numbers
		 * them by. */
		snprintf(text, sizeof text, "%u", record->classic ? record->opcode : record->id);
	}
	return text_duplicate(text, strlen(text));
}

static bool describe(const struct kinds *kinds, const struct event_record *record,
		     struct event_kind *kind)
{
	uint32_t teller;
	const struct schema *schema =
		event_schema(&kinds->origins, kinds->tracelogging, record, &teller);
	char *provider = provider_name(kinds, record->provider);
	char *event = event_name(record, schema);

	if (!provider || !event) {
		free(provider);
		free(event);
		return false;
	}
	kind->provider = *record->provider;
	kind->id = record->id;
	kind->version = record->version;
	kind->opcode = record->opcode;
	kind->pointer_size = record->pointer_size;
	kind->classic = record->classic;
	kind->record_kind = record->kind;
	kind->class = KERNEL_NONE;
	if (record->classic && record->kind < RECORD_MESSAGE) {
		kind->class = (uint8_t)kernel_class_of(record->provider);
	}
	kind->open = teller == 0 && event_schema_open(&kinds->origins, record, schema);
	kind->teller = teller;
	kind->schema = schema;
	kind->provider_name = provider;
	kind->event_name = event;
	kind->records = NULL;
	kind->lost = NULL;
	return true;
}

static void forget_names(struct event_kind *kind)
{
	/* Owned by us; const only for the readers of the struct. */
	free((void *)(uintptr_t)kind->provider_name);
	free((void *)(uintptr_t)kind->event_name);
	kind->provider_name = NULL;
	kind->event_name = NULL;
}

static struct event_kind *refill_spare(struct kinds *kinds, const struct event_record *record)
{
	struct event_kind fresh = { 0 };

	if (!kinds->spare) {
		kinds->spare = calloc(1, sizeof *kinds->spare);
	}
	if (!kinds->spare || !describe(kinds, record, &fresh)) {
		return NULL;
	}
	fresh.attribution = kinds->spare->attribution;
	fresh.plan = kinds->spare->plan;
	forget_names(kinds->spare);
	*kinds->spare = fresh;
	return kinds->spare;
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

static __attribute__((noinline, cold)) struct event_kind *
add(struct kinds *kinds, const struct event_record *record, uint64_t hash)
{
	struct event_kind *kind;

	atomic_fetch_add_explicit(&kinds->shown_misses, 1, memory_order_relaxed);
	publish(kinds);
	if (kinds->count >= kinds->most) {
		return refill_spare(kinds, record);
	}
	if ((kinds->count + 1) * 2 > kinds->mask + 1 && !grow(kinds)) {
		return NULL;
	}
	kind = calloc(1, sizeof *kind);
	if (!kind || !describe(kinds, record, kind)) {
		free(kind);
		return NULL;
	}
	place(kinds->slots, kinds->mask,
	      &(struct slot){ .hash = told_hash(hash, kind->teller), .kind = kind });
	kinds->count++;
	publish(kinds);
	return kind;
}

static void count_hit(struct kinds *kinds)
{
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

/* The teller of the schema that the event's process told; 0: it did not. */
static uint32_t teller_of(const struct kinds *kinds, const struct event_record *record)
{
	uint32_t teller = 0;

	if (!kinds->origins.told || !event_schema_open(&kinds->origins, record, NULL) ||
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
	*added = !kind;
	if (kind) {
		count_hit(kinds);
		return kind;
	}
	return add(kinds, record, hash);
}

struct event_kind *kinds_find(struct kinds *kinds, const struct event_record *record, bool *added)
{
	struct event_kind **recent;
	struct event_kind *kind;

	if (record->kernel_group >= GROUPS) {
		return find(kinds, record, added);
	}
	recent = &kinds->recent[record->kernel_group][record->opcode];
	kind = *recent;
	/* Group and opcode stand for the provider. */
	if (kind && kind->version == record->version &&
	    kind->pointer_size == record->pointer_size) {
		*added = false;
		count_hit(kinds);
		return kind;
	}
	kind = find(kinds, record, added);
	if (kind != kinds->spare) {
		*recent = kind;
	}
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
	kinds->most = most;
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
	if (kinds->spare) {
		visit(context, kinds->spare);
	}
}

static void free_kind(void *context, struct event_kind *kind)
{
	(void)context;
	forget_names(kind);
	free(kind);
}

static void forget_spare(struct kinds *kinds, uint32_t teller,
			 void (*release)(void *context, struct event_kind *kind), void *context)
{
	if (kinds->spare && kinds->spare->teller == teller) {
		release(context, kinds->spare);
		free_kind(NULL, kinds->spare);
		kinds->spare = NULL;
	}
}

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

void kinds_forget(struct kinds *kinds, uint32_t teller,
		  void (*release)(void *context, struct event_kind *kind), void *context)
{
	forget_spare(kinds, teller, release, context);
	for (size_t i = 0; i <= kinds->mask;) {
		struct event_kind *kind = kinds->slots[i].kind;

		if (!kind || kind->teller != teller) {
			i++;
			continue;
		}
		release(context, kind);
		free_kind(NULL, kind);
		remove_slot(kinds, i); /* and look at what has moved here */
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
}

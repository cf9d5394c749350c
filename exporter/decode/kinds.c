/* SPDX-License-Identifier: MIT */
/*
 * The table of event kinds: open addressing over (provider, id, version, opcode, pointer size,
 * family of header, metadata of TraceLogging events, which often share an id).
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
	const struct trace_schemas *schemas;
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
	} else if (kinds->schemas) {
		name = trace_schemas_provider_name(kinds->schemas, provider);
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
	const struct schema *schema = event_schema(kinds->schemas, kinds->tracelogging, record);
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

static bool grow(struct kinds *kinds)
{
	size_t size = (kinds->mask + 1) * 2;
	struct slot *slots = calloc(size, sizeof *slots);

	if (!slots) {
		return false;
	}
	for (size_t i = 0; i <= kinds->mask; i++) {
		size_t at = kinds->slots[i].hash & (size - 1);

		if (!kinds->slots[i].kind) {
			continue;
		}
		while (slots[at].kind) {
			at = (at + 1) & (size - 1);
		}
		slots[at] = kinds->slots[i];
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
add(struct kinds *kinds, const struct event_record *record, uint64_t hash, size_t at)
{
	struct event_kind *kind;

	atomic_fetch_add_explicit(&kinds->shown_misses, 1, memory_order_relaxed);
	publish(kinds);
	if (kinds->count >= kinds->most) {
		return refill_spare(kinds, record);
	}
	if ((kinds->count + 1) * 2 > kinds->mask + 1) {
		if (!grow(kinds)) {
			return NULL;
		}
		at = hash & kinds->mask;
		while (kinds->slots[at].kind) {
			at = (at + 1) & kinds->mask;
		}
	}
	kind = calloc(1, sizeof *kind);
	if (!kind || !describe(kinds, record, kind)) {
		free(kind);
		return NULL;
	}
	kinds->slots[at] = (struct slot){ .hash = hash, .kind = kind };
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

static struct event_kind *find(struct kinds *kinds, const struct event_record *record, bool *added)
{
	uint64_t hash = hash_seeded(guid_hash(record->provider, kinds->seed) ^ kind_word(record),
				    kinds->seed);
	size_t at;

	if (record->extended) {
		hash ^= tracelogging_hash(record, kinds->seed);
	}
	at = hash & kinds->mask;
	for (; kinds->slots[at].kind; at = (at + 1) & kinds->mask) {
		if (kinds->slots[at].hash == hash && kind_is(kinds->slots[at].kind, record)) {
			*added = false;
			count_hit(kinds);
			return kinds->slots[at].kind;
		}
	}
	*added = true;
	return add(kinds, record, hash, at);
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

struct kinds *kinds_new(size_t most, const struct trace_schemas *schemas, struct error *err)
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
	kinds->schemas = schemas;
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

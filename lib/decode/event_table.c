/* SPDX-License-Identifier: MIT */
/*
 * The event table is a hash table with open addressing. Its key is the provider, id, version,
 * opcode, pointer size and header family of a record, the metadata of a TraceLogging event (many of
 * which share an id), and the in-band manifest of the schema, if other processes may have another
 * one.
 *
 * Every event causes one look-up, so the common cases are short. A slot holds the hash of the key
 * beside the pointer, and a class is read only if the hashes are equal. Records without extended
 * items, which are most, first try `usual` (etw_event_table_usual()), where nearly all of them are
 * found without a call. It holds pointers to classes of the table, so remove_class() removes a
 * class from the table and from there.
 *
 * A class is resolved again when it has become stale: its provider got a name, a postponed query of
 * the operating system is possible again, or its schema was freed. The struct of the class stays
 * the same then, so the layers above replace their parts in place.
 *
 * When the table is full the CLOCK algorithm chooses the class to evict: each use of a class sets
 * its `used` flag, and a hand that moves over the slots clears the flags until it meets a class
 * that was not used since it last passed. A process that invents classes therefore evicts its own
 * before those of others.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>
#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"
#include "base/text.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/trace_schemas.h"
#include "lib/source/event_record.h"

/* Bits: why a resolved class may have to be resolved again. */
enum event_class_stale {
	STALE_NAME = 1,   /* the provider had no name yet; a later event may announce one */
	STALE_SYSTEM = 2, /* the operating system was not queried yet; queries are limited */
	STALE_SCHEMA = 4, /* the schema was freed */
};

/* Says when etw_event_table_usual() may find the records of a class. */
enum event_class_usual {
	NEVER_USUAL,
	/* Only while there is no in-band manifest, because one may override the schema. */
	USUAL_UNTIL_INBAND,
	ALWAYS_USUAL,
};

struct slot {
	uint64_t hash;
	struct etw_event_class *class; /* owned; NULL: free */
};

struct etw_event_table {
	struct slot *slots; /* owned */
	/* Has no class with a manifest id, because the look-up does not compare the process. */
	struct etw_usual_classes usual;
	size_t mask; /* slots - 1 */
	size_t count;
	size_t most;
	uint64_t seed;
	struct etw_schema_origins origins;
	struct etw_tracelogging_cache *tracelogging; /* owned */
	size_t hand; /* slot at which the last search for an eviction ended */
	_Atomic(uint64_t) shown_entries;
	_Atomic(uint64_t) shown_misses;
	_Atomic(uint64_t) shown_evictions;
};

enum {
	FIRST_SLOTS = 256,
	LOOKED_AT_MOST = 64, /* used classes that an eviction skips at most */
};

/* Returns the key without the provider as one 64-bit word. */
static inline uint64_t class_word(const struct etw_record *record)
{
	return (uint64_t)record->id | (uint64_t)record->version << 16 |
	       (uint64_t)record->opcode << 24 | (uint64_t)record->pointer_size << 32 |
	       (uint64_t)record->classic << 40 |
	       (uint64_t)(record->type == ETW_RECORD_MESSAGE) << 41 |
	       (uint64_t)(record->type >= ETW_RECORD_TIMED) << 42 |
	       (uint64_t)(record->type == ETW_RECORD_STRING) << 43;
}

/* Compares the key. The metadata of TraceLogging events are not compared: their hash is part of the
 * slot's hash, which has agreed already. */
static inline bool class_is(const struct etw_event_class *class, const struct etw_record *record,
			    uint64_t word)
{
	return class->word == word && etw_guid_equal(&class->provider, record->provider) &&
	       (class->kernel_form == 0 || class->kernel_form == etw_kernel_form(record));
}

/* Classes with different manifest ids have different hashes. */
static uint64_t inband_hash(uint64_t hash, uint32_t manifest_id)
{
	return manifest_id != 0 ? hash ^ hash_u64(manifest_id) : hash;
}

/* Classes whose layout depends on the payload size have different hashes, too. */
static uint64_t hash_of_form(uint8_t form)
{
	return form != 0 ? hash_u64(form) : 0;
}

static void place(struct slot *slots, size_t mask, const struct slot *slot)
{
	size_t at = slot->hash & mask;

	while (slots[at].class) {
		at = (at + 1) & mask;
	}
	slots[at] = *slot;
}

static bool grow(struct etw_event_table *table)
{
	size_t size = (table->mask + 1) * 2;
	struct slot *slots = calloc(size, sizeof *slots);

	if (!slots) {
		return false;
	}
	for (size_t i = 0; i <= table->mask; i++) {
		if (table->slots[i].class) {
			place(slots, size - 1, &table->slots[i]);
		}
	}
	free(table->slots);
	table->slots = slots;
	table->mask = size - 1;
	return true;
}

static void publish(struct etw_event_table *table)
{
	atomic_store_explicit(&table->shown_entries, table->count, memory_order_relaxed);
}

/* Notes that the class was found, and returns it. */
static inline struct etw_event_class *hit(struct etw_event_table *table,
					  struct etw_event_class *class, bool *added)
{
	*added = false;
	etw_usual_hit(&table->usual, class);
	return class;
}

static inline struct etw_event_class *probe(const struct etw_event_table *table,
					    const struct etw_record *record, uint64_t hash,
					    uint32_t manifest_id)
{
	uint64_t word = class_word(record);

	for (size_t at = hash & table->mask; table->slots[at].class; at = (at + 1) & table->mask) {
		struct etw_event_class *class = table->slots[at].class;

		if (table->slots[at].hash == hash && class->manifest_id == manifest_id &&
		    class_is(class, record, word)) {
			return class;
		}
	}
	return NULL;
}

/* ---- the contents of a class ---- */

/* Returns "Windows Kernel", or the provider's name from any origin; NULL if no name is known. */
static const char *known_name(const struct etw_schema_origins *origins,
			      const struct etw_guid *provider)
{
	return etw_kernel_class_is_kernel(provider) ? "Windows Kernel" :
						      etw_event_provider_name(origins, provider);
}

/* Returns a number that changes when a provider gets a name. */
static uint64_t name_count(const struct etw_schema_origins *origins)
{
	return origins->trace ? trace_schemas_name_count(origins->trace) : 0;
}

static char *event_name(const struct etw_record *record, const struct etw_schema *schema)
{
	const char *kernel_class = record->classic ? etw_kernel_class_name(record->provider) : NULL;
	const char *event = kernel_class ? etw_kernel_event_name(record->provider, record->opcode) :
					   NULL;
	char text[160];

	if (schema && schema->origin != ETW_SCHEMA_KERNEL && schema->event[0]) {
		struct etw_text name = { 0 };

		etw_event_schema_name(schema, &name);
		if (name.failed) {
			text_free(&name);
		}
		return name.data;
	}
	if (event) {
		snprintf(text, sizeof text, "%s/%s", kernel_class, event);
	} else if (kernel_class) {
		snprintf(text, sizeof text, "%s/%u", kernel_class, record->opcode);
	} else {
		/* Classic events have no id; the documentation of a class numbers its events by
		 * opcode. */
		snprintf(text, sizeof text, "%u",
			 (unsigned)(record->classic ? record->opcode : record->id));
	}
	return text_duplicate(text, strlen(text));
}

/* Fills in everything except the parts of the layers above. If there is no memory, it returns false
 * and leaves *class unchanged. */
static bool fill_class(const struct etw_event_table *table, const struct etw_record *record,
		       struct etw_event_class *class)
{
	const struct etw_schema_origins *origins = &table->origins;
	struct etw_schema_terms terms;
	const struct etw_schema *schema =
		etw_event_schema(origins, table->tracelogging, record, &terms);
	const char *known = known_name(origins, record->provider);
	char guid[GUID_TEXT_SIZE], *provider, *event;

	guid_format(record->provider, guid);
	provider = text_duplicate(known ? known : guid, strlen(known ? known : guid));
	event = event_name(record, etw_event_schema_naming(origins, record, schema));
	if (!provider || !event) {
		free(provider);
		free(event);
		return false;
	}
	*class = (struct etw_event_class){
		.provider = *record->provider,
		.word = class_word(record),
		.id = record->id,
		.version = record->version,
		.opcode = record->opcode,
		.pointer_size = record->pointer_size,
		.classic = record->classic,
		.record_type = record->type,
		.kernel_class = ETW_KERNEL_NONE,
		.overridable = terms.manifest_id == 0 &&
			       event_schema_overridable(origins, record, schema),
		.stale = (uint8_t)((known ? 0 : STALE_NAME) | (terms.later ? STALE_SYSTEM : 0)),
		.names = name_count(origins),
		.manifest_id = terms.manifest_id,
		.schema = schema,
		.provider_name = provider,
		.event_name = event,
	};
	class->kernel_form = etw_kernel_form(record);
	if (record->classic && record->type < ETW_RECORD_MESSAGE) {
		class->kernel_class = (uint8_t)etw_kernel_class_of(record->provider);
	}
	if (class->stale == 0 && class->kernel_form == 0 && record->id != ETW_MANIFEST_EVENT_ID &&
	    !etw_process_change_possible(record)) {
		class->usual = class->overridable ? USUAL_UNTIL_INBAND : ALWAYS_USUAL;
	}
	return true;
}

/*
 * Returns whether fill_class() would give another result for a class whose `stale` is not 0. If
 * not, the class remembers for which number of names this was found.
 */
static bool class_changed(const struct etw_event_table *table, const struct etw_record *record,
			  struct etw_event_class *class)
{
	const struct etw_schema_origins *origins = &table->origins;
	struct etw_schema_terms terms;

	if (class->stale & STALE_SCHEMA) {
		return true;
	}
	if (class->stale & STALE_SYSTEM) {
		etw_event_schema(origins, table->tracelogging, record, &terms);
		if (!terms.later) {
			return true;
		}
	}
	if ((class->stale & STALE_NAME) == 0 || class->names == name_count(origins)) {
		return false;
	}
	class->names = name_count(origins);
	return known_name(origins, &class->provider) != NULL;
}

static void free_names(struct etw_event_class *class)
{
	/* The names are owned; they are const only for the readers of the struct. */
	free((void *)(uintptr_t) class->provider_name);
	free((void *)(uintptr_t) class->event_name);
	class->provider_name = NULL;
	class->event_name = NULL;
}

/* ---- adding, evicting and resolving ---- */

/* Moves later entries of the probe sequence back, so that no search stops at the hole. */
static void remove_slot(struct etw_event_table *table, size_t hole)
{
	size_t mask = table->mask;

	for (size_t at = (hole + 1) & mask; table->slots[at].class; at = (at + 1) & mask) {
		size_t home = table->slots[at].hash & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	}
	table->slots[hole].class = NULL;
	table->count--;
}

/* CLOCK eviction: the slot of a class that was not used since the hand last passed it. */
static size_t pick_eviction(struct etw_event_table *table)
{
	for (unsigned looked = 0;;) {
		struct etw_event_class *class;

		table->hand = (table->hand + 1) & table->mask;
		class = table->slots[table->hand].class;
		if (!class) {
			continue;
		}
		if (!class->used || ++looked == LOOKED_AT_MOST) {
			return table->hand;
		}
		class->used = false;
	}
}

static void remove_class(struct etw_event_table *table, size_t at)
{
	const struct etw_event_class *class = table->slots[at].class;

	for (unsigned group = 0; group < ETW_KERNEL_GROUPS; group++) {
		if (table->usual.kernel[group][class->opcode] == class) {
			table->usual.kernel[group][class->opcode] = NULL;
		}
	}
	for (size_t i = 0; i < ETW_USUAL_PLACES; i++) {
		if (table->usual.places[i].found == class) {
			table->usual.places[i] = (struct etw_usual_class){ .found = NULL };
		}
	}
	remove_slot(table, at);
}

/* Returns a new class, or an evicted one, in the slot for the hash; the caller replaces its
 * contents. Returns NULL if there is no memory. */
static struct etw_event_class *place_class(struct etw_event_table *table, uint64_t hash)
{
	struct slot slot = { .hash = hash };

	if (table->count >= table->most) {
		size_t at = pick_eviction(table);

		slot.class = table->slots[at].class;
		remove_class(table, at);
		atomic_fetch_add_explicit(&table->shown_evictions, 1, memory_order_relaxed);
	} else if ((table->count + 1) * 2 <= table->mask + 1 || grow(table)) {
		slot.class = calloc(1, sizeof *slot.class);
	}
	if (slot.class) {
		place(table->slots, table->mask, &slot);
		table->count++;
	}
	return slot.class;
}

/* Drops the schema, which is about to be freed: the class is resolved again when its next record
 * comes. */
static void let_schema_go(struct etw_event_class *class)
{
	class->schema = NULL;
	class->stale |= STALE_SCHEMA;
	class->usual = NEVER_USUAL;
}

/*
 * Frees the cached metadata of all TraceLogging events when the cache is full; each class reads its
 * metadata again from its next event. Only for live sessions: tools read the schemas of a recording
 * when it has ended.
 */
static void make_room_for_metadata(struct etw_event_table *table)
{
	uint64_t gone = 0;

	if (!table->origins.live || !etw_tracelogging_cache_full(table->tracelogging)) {
		return;
	}
	for (size_t i = 0; i <= table->mask; i++) {
		struct etw_event_class *class = table->slots[i].class;

		if (class && class->schema && class->schema->origin == ETW_SCHEMA_TRACELOGGING) {
			let_schema_go(class);
			gone++;
		}
	}
	etw_tracelogging_cache_clear(table->tracelogging);
	atomic_fetch_add_explicit(&table->shown_evictions, gone, memory_order_relaxed);
}

/* Resolves the class of the record: a new class, or the existing one again. */
static RARE struct etw_event_class *resolve(struct etw_event_table *table,
					    const struct etw_record *record, uint64_t hash)
{
	struct etw_event_class fresh, *class;

	if (record->extended) {
		make_room_for_metadata(table);
	}
	if (!fill_class(table, record, &fresh)) {
		return NULL;
	}
	hash = inband_hash(hash, fresh.manifest_id);
	class = probe(table, record, hash, fresh.manifest_id);
	fresh.again = class != NULL;
	if (!class) {
		class = place_class(table, hash);
	}
	if (!class) {
		free_names(&fresh);
		return NULL;
	}
	fresh.attribution = class->attribution;
	fresh.compiled = class->compiled;
	fresh.tap = class->tap;
	free_names(class);
	*class = fresh;
	atomic_fetch_add_explicit(&table->shown_misses, 1, memory_order_relaxed);
	publish(table);
	return class;
}

/* ---- finding ---- */

static NOINLINE struct etw_event_class *find(struct etw_event_table *table,
					     const struct etw_record *record, bool *added)
{
	uint64_t hash = hash_seeded(guid_hash(record->provider, table->seed) ^ class_word(record),
				    table->seed);
	struct etw_event_class *class;

	if (record->extended) {
		hash ^= tracelogging_hash(record, table->seed);
	}
	hash ^= hash_of_form(etw_kernel_form(record));
	class = probe(table, record, hash, 0);
	/* If a class without a manifest id exists, the manifests of a recording agree on its
	 * layout. */
	if (!class || (class->overridable && inband_manifests_any(table->origins.inband))) {
		uint32_t manifest_id = event_schema_manifest_id(&table->origins, record);

		if (manifest_id != 0) {
			class = probe(table, record, inband_hash(hash, manifest_id), manifest_id);
		}
	}
	if (class && (class->stale == 0 || !class_changed(table, record, class))) {
		return hit(table, class, added);
	}
	*added = true;
	return resolve(table, record, hash);
}

static struct etw_event_class *find_unusual(struct etw_event_table *table,
					    const struct etw_record *record, bool *added,
					    struct etw_usual_class *place)
{
	struct etw_event_class *class = find(table, record, added);

	if (class && class->manifest_id == 0) {
		class->payload_size = record->payload_size;
		*place =
			(struct etw_usual_class){ .low = etw_load_u64(record->provider->bytes),
						  .high = etw_load_u64(record->provider->bytes + 8),
						  .class_key = record->class_key,
						  .found = class };
	}
	return class;
}

/* Finds the class of a record without extended items, whose process may have announced a
 * manifest. */
static struct etw_event_class *find_usual(struct etw_event_table *table,
					  const struct etw_record *record, bool *added)
{
	struct etw_usual_class *place = etw_usual_place(&table->usual, record);
	const struct etw_event_class *class = place->found;

	if (!etw_usual_place_is(place, record) || class->stale != 0 ||
	    (class->kernel_form != 0 && class->payload_size != record->payload_size) ||
	    (class->overridable && inband_manifests_any(table->origins.inband))) {
		return find_unusual(table, record, added, place);
	}
	return hit(table, place->found, added);
}

static NOINLINE struct etw_event_class *find_kernel(struct etw_event_table *table,
						    const struct etw_record *record, bool *added)
{
	struct etw_event_class *class = etw_usual_kernel_class(&table->usual, record);

	if (class && class->stale == 0) {
		return hit(table, class, added);
	}
	class = find(table, record, added);
	table->usual.kernel[record->kernel_group][record->opcode] =
		class && class->kernel_form == 0 ? class : NULL;
	return class;
}

struct etw_event_class *etw_event_table_find(struct etw_event_table *table,
					     const struct etw_record *record, bool *added)
{
	/* Records of manifests also come here, so the flag is set before the next record. */
	if (table->origins.inband && inband_manifests_any(table->origins.inband)) {
		table->usual.unusual = USUAL_UNTIL_INBAND;
	}
	if (record->kernel_group < ETW_KERNEL_GROUPS) {
		return find_kernel(table, record, added);
	}
	return record->extended ? find(table, record, added) : find_usual(table, record, added);
}

struct etw_event_table *etw_event_table_new(size_t most, const struct etw_schema_origins *origins,
					    struct etw_error *err)
{
	struct etw_event_table *table = calloc(1, sizeof *table);

	if (table) {
		table->slots = calloc(FIRST_SLOTS, sizeof *table->slots);
		table->tracelogging = etw_tracelogging_cache_new(NULL);
	}
	if (!table || !table->slots || !table->tracelogging) {
		if (table) {
			etw_tracelogging_cache_free(table->tracelogging);
			free(table->slots);
		}
		free(table);
		error_no_memory(err, "the event table");
		return NULL;
	}
	table->mask = FIRST_SLOTS - 1;
	table->seed = hash_seed();
	table->most = most > 0 ? most : 1;
	if (origins) {
		table->origins = *origins;
	}
	return table;
}

void etw_event_table_each(struct etw_event_table *table,
			  void (*visit)(void *context, struct etw_event_class *class),
			  void *context)
{
	for (size_t i = 0; i <= table->mask; i++) {
		if (table->slots[i].class) {
			visit(context, table->slots[i].class);
		}
	}
}

static void free_class(void *context, struct etw_event_class *class)
{
	(void)context;
	free_names(class);
	free(class);
}

void etw_event_table_renew(struct etw_event_table *table, const struct etw_schema_origins *origins)
{
	if (origins) {
		table->origins = *origins;
	}
	for (size_t i = 0; i <= table->mask; i++) {
		if (table->slots[i].class) {
			let_schema_go(table->slots[i].class);
		}
	}
}

void etw_event_table_drop(struct etw_event_table *table, uint32_t manifest_id,
			  void (*release)(void *context, struct etw_event_class *class),
			  void *context)
{
	for (size_t i = 0; i <= table->mask;) {
		struct etw_event_class *class = table->slots[i].class;

		if (!class || class->manifest_id != manifest_id) {
			i++;
			continue;
		}
		remove_class(table, i); /* another entry may have moved here: check it again */
		release(context, class);
		free_class(NULL, class);
	}
	publish(table);
}

void etw_event_table_free(struct etw_event_table *table)
{
	if (!table) {
		return;
	}
	etw_event_table_each(table, free_class, NULL);
	etw_tracelogging_cache_free(table->tracelogging);
	free(table->slots);
	free(table);
}

struct etw_usual_classes *etw_event_table_usual_classes(struct etw_event_table *table)
{
	return &table->usual;
}

void etw_event_table_statistics(const struct etw_event_table *table,
				struct etw_event_table_statistics *statistics)
{
	statistics->entries = atomic_load_explicit(&table->shown_entries, memory_order_relaxed);
	statistics->hits = atomic_load_explicit(&table->usual.hits, memory_order_relaxed);
	statistics->misses = atomic_load_explicit(&table->shown_misses, memory_order_relaxed);
	statistics->evictions = atomic_load_explicit(&table->shown_evictions, memory_order_relaxed);
}

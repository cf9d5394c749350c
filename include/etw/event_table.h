/* SPDX-License-Identifier: MIT */
/*
 * The event table: all event classes that one consumer has met.
 *
 * One look-up per event leads to everything that is known about it. The table is bounded, because a
 * hostile process can invent any number of classes: when it is full, a new class evicts one that
 * had no event for some time, and the evicted class is resolved again when its events return.
 *
 * Events that an in-band manifest of their process decodes form one class for each such manifest.
 * In a recording they form one class for each different layout.
 */
#ifndef ETW_EVENT_TABLE_H
#define ETW_EVENT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/record.h>
#include <etw/schema.h>
#include <etw/types.h>

/* These are opaque. */
struct attribution;
struct compiled_rules;
struct etw_event_table;
struct tap_class;

/*
 * The class of all events of one provider with the same id, version, opcode, pointer size and
 * header type. A few kernel events have one class for each size of the payload.
 *
 * It is resolved once, from the first record of the class and from the schemas that are known by
 * then, and serves every later event: the layout of the payload, the values of the labels
 * `provider` and `event`, and what the layers above derive from these (attribution, rules).
 */
struct etw_event_class {
	struct etw_guid provider;
	uint64_t word; /* the key without the provider; for event_table.c alone */
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint8_t pointer_size;
	bool classic;
	uint8_t record_type; /* enum etw_record_type of the first record; ETW_RECORD_TIMED and above
				are never decoded */
	uint8_t kernel_class; /* enum etw_kernel_class; ETW_KERNEL_NONE for others */
	uint8_t kernel_form;  /* etw_kernel_form() of its records */
	bool overridable; /* an in-band manifest of the emitting process may override this schema;
			     such events get an entry of their own */
	bool used;        /* an event used the entry since the eviction hand passed it; for
			     event_table.c alone */
	uint8_t usual;    /* enum event_class_usual */
	uint8_t stale;    /* bits of enum event_class_stale */
	bool again; /* resolved again: the parts of the layers above belong to this class, not to an
		       evicted one */
	uint32_t payload_size; /* payload size of the record; matters only if there is a kernel_form
				*/
	uint64_t names;        /* number of provider names that were known when it was resolved */
	uint32_t manifest_id; /* in-band manifest of the schema, if it depends on the process of the
				 event (struct etw_schema_terms); else 0 */
	uint64_t serial; /* number of the class, which the layer above assigns; 0 after resolving */
	const struct etw_schema *schema; /* NULL: no layout known */
	const char *provider_name; /* label value: "Windows Kernel", a provider's name, or the GUID;
				      owned */
	const char *event_name; /* label value: "DiskIo/Read", "DiskIo/99", the name in the schema,
				   or the id in decimal; owned */

	/* The layers above fill these in for a new class, and free them through
	 * etw_event_table_each(). */
	struct attribution *attribution;
	struct compiled_rules *compiled;
	struct tap_class *tap; /* NULL without a flight recorder */
	/* counts the events of the provider; NULL until resolved */
	_Atomic(uint64_t) *records;
	_Atomic(uint64_t) *lost; /* counts notifications of loss; NULL for other events */
};

/*
 * The classes of the last records, for etw_event_table_usual(). Those of kernel records are found
 * by group and opcode, which determine the provider.
 *
 * The others are in a direct-mapped cache. It compares the provider and the class key of a record
 * as they are, so that records of one class may have several places. It has more places than a
 * machine usually has classes in use, because two classes that share a place evict each other again
 * and again.
 */
enum { ETW_USUAL_BITS = 10, ETW_USUAL_PLACES = 1 << ETW_USUAL_BITS, ETW_KERNEL_OPCODES = 256 };

struct etw_usual_class {
	uint64_t low, high;            /* the provider */
	uint64_t class_key;            /* class_key of the record; 0: the place is free */
	struct etw_event_class *found; /* of the table */
};

struct etw_usual_classes {
	struct etw_usual_class places[ETW_USUAL_PLACES];
	struct etw_event_class *kernel[ETW_KERNEL_GROUPS][ETW_KERNEL_OPCODES]; /* NULL: none yet */
	uint8_t unusual; /* enum event_class_usual: classes with `usual` up to this are not found
			    here */
	/* Look-ups that found a class at once, here or in the table. The consumer's thread writes,
	 * any thread reads. */
	_Atomic(uint64_t) hits;
};

/*
 * Makes a table for at most `most` classes (at least 1). origins: where schemas and provider names
 * come from; NULL for none. The struct is copied; what it points to is borrowed until
 * etw_event_table_free(). The schemas of a recording (origins->trace) must be complete before the
 * first look-up. Returns NULL when memory runs out.
 */
struct etw_event_table *etw_event_table_new(size_t most, const struct etw_schema_origins *origins,
					    struct etw_error *err);
void etw_event_table_free(struct etw_event_table *table);

/* Returns the cache inside the table; valid until etw_event_table_free(). */
struct etw_usual_classes *etw_event_table_usual_classes(struct etw_event_table *table);

/* Returns the place in the cache for a record. The hash has no seed, because colliding keys only
 * cost a look-up in the table. */
static inline struct etw_usual_class *etw_usual_place(struct etw_usual_classes *classes,
						      const struct etw_record *record)
{
	uint64_t key = etw_load_u64(record->provider->bytes) ^
		       etw_load_u64(record->provider->bytes + 8) ^ record->class_key;

	return &classes->places[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ETW_USUAL_BITS)];
}

static inline bool etw_usual_place_is(const struct etw_usual_class *place,
				      const struct etw_record *record)
{
	return place->low == etw_load_u64(record->provider->bytes) &&
	       place->high == etw_load_u64(record->provider->bytes + 8) &&
	       place->class_key == record->class_key;
}

static inline void etw_usual_hit(struct etw_usual_classes *classes, struct etw_event_class *found)
{
	found->used = true;
	atomic_store_explicit(&classes->hits,
			      atomic_load_explicit(&classes->hits, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Returns the class of a kernel record if the last record of this group and opcode had the same
 * class; else NULL. */
static inline struct etw_event_class *
etw_usual_kernel_class(const struct etw_usual_classes *classes, const struct etw_record *record)
{
	struct etw_event_class *found = classes->kernel[record->kernel_group][record->opcode];

	return found && found->version == record->version &&
			       found->pointer_size == record->pointer_size ?
		       found :
		       NULL;
}

/*
 * Returns the class of a record as etw_event_table_find() does, if it is in the cache; else NULL.
 * Nearly all records without extended items are found here. Records that may change the classes of
 * others (manifests, starts and ends of processes, by their ids or opcodes) are never found, so
 * that etw_event_table_find() sees each of them before the next record.
 */
static inline struct etw_event_class *etw_event_table_usual(struct etw_usual_classes *classes,
							    const struct etw_record *record)
{
	struct etw_event_class *found;

	if (record->kernel_group < ETW_KERNEL_GROUPS) {
		found = etw_usual_kernel_class(classes, record);
		if (!found || found->usual <= classes->unusual) {
			return NULL;
		}
	} else {
		const struct etw_usual_class *place = etw_usual_place(classes, record);

		found = place->found;
		if (record->extended || !etw_usual_place_is(place, record) ||
		    found->usual <= classes->unusual) {
			return NULL;
		}
	}
	etw_usual_hit(classes, found);
	return found;
}

/*
 * The class of a record; valid until the next call. *added is set to true if this call resolved the
 * class: then the layers above must fill in or replace their parts, which may still be those of the
 * class's earlier state or of the class that was evicted for it. Returns NULL when memory runs out.
 * Only the consumer's thread may call it.
 */
struct etw_event_class *etw_event_table_find(struct etw_event_table *table,
					     const struct etw_record *record, bool *added);

/*
 * Removes all classes whose schema belongs to an in-band manifest that is about to be freed.
 * release() frees the parts of the layers above.
 */
void etw_event_table_drop(struct etw_event_table *table, uint32_t manifest_id,
			  void (*release)(void *context, struct etw_event_class *found),
			  void *context);

/*
 * Replaces the origins of schemas (NULL keeps them) and makes all classes stale. No schema of the
 * former origins is used afterwards. Each class stays, with the parts of the layers above, and is
 * resolved again when its next record comes.
 */
void etw_event_table_renew(struct etw_event_table *table, const struct etw_schema_origins *origins);

void etw_event_table_each(struct etw_event_table *table,
			  void (*visit)(void *context, struct etw_event_class *found),
			  void *context);

/* For etw_schema_cache_*. The consumer's thread writes, any thread reads. */
struct etw_event_table_statistics {
	uint64_t entries;
	uint64_t hits;
	uint64_t misses;
	uint64_t evictions; /* classes that were removed to make room */
};
void etw_event_table_statistics(const struct etw_event_table *table,
				struct etw_event_table_statistics *statistics);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Finds the schema of an event and the name of its provider, from the layouts that events bring,
 * the manifests in a recording, configured and built-in manifests, and the operating system.
 *
 * docs/architecture/event.md lists these origins in order of precedence.
 */
#ifndef ETW_DESCRIBE_H
#define ETW_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/record.h>
#include <etw/schema.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_inband_manifests;
struct etw_json_value;
struct etw_manifest_set;
struct etw_manifest_writer;
struct etw_payload;
struct etw_system_answer;
struct etw_tdh;
struct etw_trace_schemas;
struct etw_tracelogging_cache;

/*
 * Makes an empty set of in-band manifests. on_forget is called before the schemas of a manifest are
 * freed; the callee must drop its pointers to them. It may be NULL if no pointers are kept.
 */
struct etw_inband_manifests *etw_inband_manifests_new(void (*on_forget)(void *context,
									uint32_t manifest_id),
						      void *context, struct etw_error *err);
void etw_inband_manifests_free(struct etw_inband_manifests *inband); /* without on_forget */

/* Any thread. */
struct etw_inband_statistics {
	uint64_t entries; /* manifests that are kept */
	/* Manifests and announcements that were replaced, or for which there was no room. */
	uint64_t dropped;
};
void etw_inband_manifests_statistics(const struct etw_inband_manifests *inband,
				     struct etw_inband_statistics *statistics);

struct etw_trace_schemas_counts {
	uint64_t manifests;   /* completed manifests; one that arrives again counts again */
	uint64_t event_infos; /* distinct descriptions */
	uint64_t maps;        /* distinct maps */
};

struct etw_trace_schemas *etw_trace_schemas_new(struct etw_error *err);
void etw_trace_schemas_free(struct etw_trace_schemas *schemas);

void etw_trace_schemas_look(struct etw_trace_schemas *schemas, const struct etw_record *record);

/* Adds the ids of the events without extended items that etw_trace_schemas_look() needs. It also
 * needs all classic events, which have no such ids. */
void etw_trace_schemas_choose_ids(struct etw_id_choice *ids);

/* Completes the schemas. Call it after the last record. */
void etw_trace_schemas_finish(struct etw_trace_schemas *schemas);

void etw_trace_schemas_count(const struct etw_trace_schemas *schemas,
			     struct etw_trace_schemas_counts *counts);

/* Counts what was not kept because a limit was reached. Any thread may read it. */
struct etw_trace_schemas_statistics {
	/* Manifests in chunks, their announcements, and starts and ends of processes. */
	uint64_t dropped_manifests;
	/* Descriptions of events and maps, and names of providers; one that comes again counts
	 * again. */
	uint64_t dropped_descriptions;
};
void etw_trace_schemas_statistics(const struct etw_trace_schemas *schemas,
				  struct etw_trace_schemas_statistics *statistics);

/* Finds the metadata of a TraceLogging event. Returns false if it is another event. */
bool etw_tracelogging_metadata(const struct etw_record *record, struct etw_extended_item *metadata);

struct etw_tracelogging_cache *etw_tracelogging_cache_new(struct etw_error *err);
void etw_tracelogging_cache_free(struct etw_tracelogging_cache *cache);

/* Frees all schemas. The caller must no longer use any of them. */
void etw_tracelogging_cache_clear(struct etw_tracelogging_cache *cache);

/* Returns whether the cache is full, so that new metadata gets no schema. */
bool etw_tracelogging_cache_full(const struct etw_tracelogging_cache *cache);

/*
 * The schema of events with this metadata, valid until the cache is cleared or freed. Returns NULL
 * if the metadata is invalid, the cache is full, or memory runs out.
 */
const struct etw_schema *etw_tracelogging_schema(struct etw_tracelogging_cache *cache,
						 const struct etw_extended_item *metadata);

/*
 * Adds the metadata of an event with this name whose fields have the types that the values suggest.
 * Returns false, with a sentence that names the field, for values that no type can represent: lists
 * of lists, more than 127 members of one structure, more than ETW_SCHEMA_FIELDS_MOST fields, names
 * with a NUL.
 */
bool etw_tracelogging_build(const struct etw_json_value *event, const struct etw_json_value *fields,
			    struct etw_payload *metadata, struct etw_error *err);

/* Queries of the operating system; all members are NULL if it has none. */
struct etw_schema_system {
	void *context;
	/*
	 * The schema of an event that is neither TraceLogging nor of a kernel class; NULL: unknown.
	 * The schema and what *answer points to are valid as long as the context. Called on the
	 * consumer thread, once for each event class; while *answer says `later`, again for each
	 * event of the class.
	 */
	const struct etw_schema *(*schema)(void *context, const struct etw_record *record,
					   struct etw_system_answer *answer);
	/* Returns the name of a provider that was registered when the context was made; NULL if
	 * there is none. The name is valid as long as the context. */
	const char *(*provider_name)(void *context, const struct etw_guid *provider);
	/*
	 * Hands what the system knows about the event to take(), in the form in which recordings
	 * have it (lib/decode/event_info.h): the payload of an EventInfo record, and those of the
	 * EventMapInfo records that it refers to. It queries the system each time.
	 */
	void (*describe)(void *context, const struct etw_record *record,
			 void (*take)(void *context, uint8_t opcode, const void *bytes,
				      size_t size),
			 void *take_context);
};

/* The origins of schemas. All pointers are borrowed; NULL: this origin is not used. If all members
 * are zero, only layouts in the events and the kernel's classes are used. */
struct etw_schema_origins {
	bool live;
	struct etw_trace_schemas *trace; /* from the first pass of a recording; of a live session
					    only names, also those that the system returns */
	struct etw_inband_manifests *inband; /* manifests that arrive while events are decoded */
	const struct etw_manifest_set *configured;
	const struct etw_manifest_set *builtin;
	bool builtin_names; /* use the built-in names of well-known providers; false when a
			       recording is shown */
	struct etw_schema_system system; /* live only */
};

struct etw_schema_terms {
	/* The in-band manifest that the schema belongs to; events of other processes may have
	 * another schema. 0: none. An id above TRACE_MANIFESTS_MOST is valid as long as
	 * inband_manifests_find() returns it. */
	uint32_t manifest_id;
	bool later; /* the system was not queried; a later event may get a schema */
	bool older; /* the schema is that of an earlier version of the event */
};

/*
 * Finds the schema of a record; NULL if no layout is known. The schema is valid as long as its
 * origin. origins may be NULL; terms may be NULL if there are neither in-band manifests nor queries
 * of the system.
 */
const struct etw_schema *etw_event_schema(const struct etw_schema_origins *origins,
					  struct etw_tracelogging_cache *tracelogging,
					  const struct etw_record *record,
					  struct etw_schema_terms *terms);

/*
 * Returns the name of a provider that is not a kernel class; NULL if it is unknown. Call it after
 * etw_event_schema() for an event of the provider, because that call may find the name. A name does
 * not change afterwards, unless etw_trace_schemas_look() adds one.
 */
const char *etw_event_provider_name(const struct etw_schema_origins *origins,
				    const struct etw_guid *provider);

/*
 * Returns the schema that gives an event its name. That is `schema`, the event's own, which may be
 * NULL; but an event whose payload is one text takes the name from a manifest that describes its
 * id, if there is one.
 */
const struct etw_schema *etw_event_schema_naming(const struct etw_schema_origins *origins,
						 const struct etw_record *record,
						 const struct etw_schema *schema);

/*
 * Appends the event name that rules and labels use for a schema that is not of the kernel: the name
 * of a TraceLogging event; otherwise "Task/Opcode" or the symbol in the manifest, without "win:"
 * and without the opcode "win:Info", which has no meaning.
 */
void etw_event_schema_name(const struct etw_schema *schema, struct etw_text *out);

struct etw_tdh *etw_tdh_new(struct etw_error *err);
void etw_tdh_free(struct etw_tdh *tdh); /* none of its schemas may be in use */

/* Returns the callbacks for etw_schema_origins.system; they are valid until etw_tdh_free(). */
struct etw_schema_system etw_tdh_system(struct etw_tdh *tdh);

enum etw_tdh_events {
	ETW_TDH_EVENTS_ADDED,
	ETW_TDH_EVENTS_NONE,   /* Windows finds no manifest, or no event in it; err says why */
	ETW_TDH_EVENTS_FAILED, /* another failure; err says why */
};

/*
 * Adds the keywords and events of a provider. Events that Windows lists but does not describe are
 * left out and added to *undescribed.
 */
enum etw_tdh_events etw_tdh_add_events(struct etw_manifest_writer *writer,
				       const struct etw_guid *provider, size_t *undescribed,
				       struct etw_error *err);

/* Returns whether etw_event_schema_learn() may have anything to do. */
static inline bool etw_event_schema_may_learn(const struct etw_record *record)
{
	return record->extended || record->id == ETW_MANIFEST_EVENT_ID ||
	       etw_process_change_possible(record);
}

/* Stores what the record announces about its provider. Without a first pass, call it for every
 * record before that is decoded. */
void etw_event_schema_learn(const struct etw_schema_origins *origins,
			    const struct etw_record *record);

#endif

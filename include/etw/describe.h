/* SPDX-License-Identifier: MIT */
/*
 * Finds the schema of an event and the name of its provider, from the layouts that events bring,
 * the manifests in a recording, configured and built-in manifests, and the operating system.
 *
 * docs/architecture/event.md has the order in which these origins are asked.
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
 * on_forget: called before the schemas of this manifest are freed; the callee must drop its
 * pointers to them. NULL if no pointers are kept.
 */
struct etw_inband_manifests *etw_inband_manifests_new(void (*on_forget)(void *context,
									uint32_t manifest_id),
						      void *context, struct etw_error *err);
void etw_inband_manifests_free(struct etw_inband_manifests *inband); /* without on_forget */

/*
 * Passes a record, which may be a chunk of a manifest. If it completes a manifest, returns the name
 * that the manifest has for the record's provider, valid until the next call; else NULL.
 */
const char *etw_inband_manifests_add(struct etw_inband_manifests *inband,
				     const struct etw_record *record);

/*
 * Passes a record, which may be the start or the end of a process: a manifest that the former
 * process with its id emitted does not describe the events of the next one. trusted: it is of a
 * recording. In a live session only the kernel's records count, because any process can write the
 * events of Microsoft-Windows-Kernel-Process.
 */
void etw_inband_manifests_look(struct etw_inband_manifests *inband, const struct etw_record *record,
			       bool trusted);

/* Any thread. */
struct etw_inband_statistics {
	uint64_t entries; /* manifests that are kept */
	/* Manifests and announcements that were replaced, or for which there was no room. */
	uint64_t dropped;
};
void etw_inband_manifests_statistics(const struct etw_inband_manifests *inband,
				     struct etw_inband_statistics *statistics);

struct etw_trace_schemas_counts {
	uint64_t manifests;   /* completed; one that arrives again counts again */
	uint64_t event_infos; /* distinct descriptions */
	uint64_t maps;        /* distinct maps */
};

struct etw_trace_schemas *etw_trace_schemas_new(struct etw_error *err);
void etw_trace_schemas_free(struct etw_trace_schemas *schemas);

void etw_trace_schemas_look(struct etw_trace_schemas *schemas, const struct etw_record *record);

/* Adds the ids of the events without extended items that etw_trace_schemas_look() needs, except
 * classic ones: it needs all of these. */
void etw_trace_schemas_choose_ids(struct etw_id_choice *ids);

/*
 * For records that can be read only once, before they are decoded: takes only the name of the
 * provider from its traits; the first name is kept. Schemas are not changed.
 */
void etw_trace_schemas_look_at_name(struct etw_trace_schemas *schemas,
				    const struct etw_record *record);

/* An event or the operating system claims a name for a provider: the first name is kept. */
void etw_trace_schemas_claim_name(struct etw_trace_schemas *schemas,
				  const struct etw_guid *provider, const char *name);

/* Call it after the last record. */
void etw_trace_schemas_finish(struct etw_trace_schemas *schemas);

void etw_trace_schemas_count(const struct etw_trace_schemas *schemas,
			     struct etw_trace_schemas_counts *counts);

/* What is not kept because of the bounds. Any thread. */
struct etw_trace_schemas_statistics {
	/* Manifests in chunks, announcements of them, starts and ends of processes. */
	uint64_t dropped_manifests;
	/* Descriptions of events, of maps and names of providers, each time that they come. */
	uint64_t dropped_descriptions;
};
void etw_trace_schemas_statistics(const struct etw_trace_schemas *schemas,
				  struct etw_trace_schemas_statistics *statistics);

/* Finds the metadata of the event; false: not a TraceLogging event. */
bool etw_tracelogging_metadata(const struct etw_record *record, struct etw_extended_item *metadata);

struct etw_tracelogging_cache *etw_tracelogging_cache_new(struct etw_error *err);
void etw_tracelogging_cache_free(struct etw_tracelogging_cache *cache);

/* Frees all schemas. The caller must no longer use any of them. */
void etw_tracelogging_cache_clear(struct etw_tracelogging_cache *cache);

/* Whether new metadata would get no schema. */
bool etw_tracelogging_cache_full(const struct etw_tracelogging_cache *cache);

/*
 * The schema of events with this metadata, valid until the cache is cleared or freed. NULL if the
 * metadata is invalid, the cache is full, or there is no memory.
 */
const struct etw_schema *etw_tracelogging_schema(struct etw_tracelogging_cache *cache,
						 const struct etw_extended_item *metadata);

/*
 * Adds the metadata of an event with this name whose fields have the types that the values suggest.
 * False, with a sentence that names the field, for values that no type has: lists of lists, more
 * than 127 members of one structure, more than ETW_SCHEMA_FIELDS_MOST fields, names with a NUL.
 */
bool etw_tracelogging_build(const struct etw_json_value *event, const struct etw_json_value *fields,
			    struct etw_payload *metadata, struct etw_error *err);

/* Queries of the operating system; all NULL where there is none. */
struct etw_schema_system {
	void *context;
	/*
	 * The schema of an event that is neither TraceLogging nor of a kernel class; NULL: unknown.
	 * It and what *answer points to are valid as long as the context. Called on the consumer
	 * thread, once for each event class, and again for each event of it while *answer says
	 * `later`.
	 */
	const struct etw_schema *(*schema)(void *context, const struct etw_record *record,
					   struct etw_system_answer *answer);
	/* The name of a provider that was registered at the start; NULL: none. Valid as long. */
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

/* Everything is borrowed; NULL: the origin does not exist. Zero-initialised, only the layouts in
 * events and the kernel's classes are used. */
struct etw_schema_origins {
	bool live;
	struct etw_trace_schemas *trace; /* of the records before any event is decoded; live: names
					only, also those in answers of the system */
	struct etw_inband_manifests *inband; /* that arrive while other events are decoded */
	const struct etw_manifest_set *configured;
	const struct etw_manifest_set *builtin;
	bool builtin_names; /* use names of well-known providers; not to show a recording */
	struct etw_schema_system system; /* live only */
};

struct etw_schema_terms {
	/* Not 0: events of other processes may have another schema. One that is above
	 * TRACE_MANIFESTS_MOST is valid as long as inband_manifests_find() says. */
	uint32_t manifest_id;
	bool later; /* the system was not queried; a later event may get a schema */
	bool older; /* it is that of an earlier version of the event */
};

/*
 * Returns NULL if no layout is known. The schema is valid as long as its origin. origins may be
 * NULL; terms may be NULL if there are neither in-band manifests nor queries of the system.
 */
const struct etw_schema *etw_event_schema(const struct etw_schema_origins *origins,
					  struct etw_tracelogging_cache *tracelogging,
					  const struct etw_record *record,
					  struct etw_schema_terms *terms);

/*
 * The name of a provider, kernel classes aside; NULL: unknown. Call it after etw_event_schema() for
 * an event of the provider, which may have given the name. A name does not change afterwards,
 * unless etw_trace_schemas_look() adds one.
 */
const char *etw_event_provider_name(const struct etw_schema_origins *origins,
				    const struct etw_guid *provider);

/*
 * The schema that an event has its name from: its own, which may be NULL; of an event whose payload
 * is a text that of a manifest, if there is one with its id.
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
void etw_tdh_free(struct etw_tdh *tdh); /* its schemas must no longer be in use */

/* For schema_origins.system; valid until etw_tdh_free(). */
struct etw_schema_system etw_tdh_system(struct etw_tdh *tdh);

enum etw_tdh_events {
	ETW_TDH_EVENTS_ADDED,
	ETW_TDH_EVENTS_NONE,   /* Windows finds no manifest, or no event in it; err says why */
	ETW_TDH_EVENTS_FAILED, /* err likewise */
};

/*
 * Adds the keywords and events of a provider. Events that Windows lists but does not describe are
 * left out and added to *undescribed.
 */
enum etw_tdh_events etw_tdh_add_events(struct etw_manifest_writer *writer,
				       const struct etw_guid *provider, size_t *undescribed,
				       struct etw_error *err);

/* Whether etw_event_schema_learn() has anything to do. */
static inline bool etw_event_schema_may_learn(const struct etw_record *record)
{
	return record->extended || record->id == ETW_MANIFEST_EVENT_ID ||
	       etw_process_change_possible(record);
}

/* Takes over what the record announces about its provider. For every record, before it is decoded,
 * where there is no first pass. */
void etw_event_schema_learn(const struct etw_schema_origins *origins,
			    const struct etw_record *record);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Instrumentation manifests: reading them, sets of them, writing one, and the pieces in which an
 * EventSource sends its own.
 */
#ifndef ETW_MANIFEST_H
#define ETW_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/record.h>
#include <etw/schema.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_manifest;
struct etw_manifest_set;
struct etw_manifest_stream;
struct etw_manifest_writer;

/*
 * Reads an in-band manifest and uses the parts that are valid: a template ends before the first
 * field that is not understood, and invalid elements are left out. Returns NULL if the text is not
 * XML or has no provider; errors read "line:column: sentence". The encoding is UTF-8 or UTF-16.
 *
 * The XML may come from any process. A document type, and with it entities, is refused. Nesting,
 * events, templates and fields are limited; what exceeds a limit is left out. The caller limits the
 * size.
 */
struct etw_manifest *etw_manifest_read(const char *xml, size_t size, struct etw_error *err);

/* Gets each warning as "line:column: warning: sentence". If warn is NULL, warnings are dropped. */
struct etw_manifest_warnings {
	void (*warn)(void *context, const char *sentence);
	void *context;
};

void etw_manifest_free(struct etw_manifest *manifest);

/* Returns the provider name as written; it can be "". index is below the number of providers. */
const char *etw_manifest_provider_name(const struct etw_manifest *manifest, size_t index);

struct etw_manifest_event {
	const struct etw_schema *schema;     /* belongs to the manifest, like the names */
	const char *task_name, *opcode_name; /* as written; NULL if there is none */
	uint64_t keywords;
	uint16_t id;
	uint16_t task; /* the number; 0 if the manifest does not define the task */
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
};

/* Lists the events of a provider by number from 0, sorted by id and version. Returns false after
 * the last. */
bool etw_manifest_event(const struct etw_manifest *manifest, size_t index, size_t number,
			struct etw_manifest_event *event);

/* Returns about how many bytes of memory the manifest takes. */
size_t etw_manifest_bytes(const struct etw_manifest *manifest);

/*
 * Finds the schema of an event by id, version and opcode; with `older`, that of the latest version
 * before this one. If several events have this id and version, the first one with the opcode is
 * taken, or else the first one. Returns NULL if there is none. The set owns the schema.
 */
const struct etw_schema *etw_manifest_set_schema(const struct etw_manifest_set *set,
						 const struct etw_guid *provider, uint16_t id,
						 uint8_t version, uint8_t opcode, bool older);

/* A provider of the set. One that is in several manifests is listed once for each. */
struct etw_manifest_set_provider {
	const struct etw_guid *guid;
	const char *name; /* as etw_manifest_provider_name() returns it */
};

/* Lists the providers by number from 0. Returns false after the last. set may be NULL. */
bool etw_manifest_set_provider(const struct etw_manifest_set *set, size_t number,
			       struct etw_manifest_set_provider *provider);

/* Returns how many providers etw_manifest_set_provider() lists. set may be NULL. */
size_t etw_manifest_set_provider_count(const struct etw_manifest_set *set);

/* Returns the manifest of provider `number` and sets *index to the provider's index in it; NULL
 * when memory runs out. */
const struct etw_manifest *etw_manifest_set_manifest(const struct etw_manifest_set *set,
						     size_t number, size_t *index);

/* Returns the name of the provider in the first manifest that describes it; NULL if the name is ""
 * or no manifest does. */
const char *etw_manifest_set_provider_name(const struct etw_manifest_set *set,
					   const struct etw_guid *provider);

/* The manifests that users name and the built-in ones; in-band manifests are not among them.
 * Zero-initialise it. */
struct etw_configured_manifests {
	struct etw_manifest_set *configured;   /* NULL: none */
	struct etw_manifest_set *builtin;      /* NULL: none */
	struct etw_manifest_warnings warnings; /* "path:line:column: warning: sentence" */
};

/*
 * Adds a manifest, or all manifests in a folder (*.man and *.xml, in the order of names). Errors
 * read "path:line:column: sentence" (ETW_ERROR_CONFIG). A file of a folder that cannot be read is
 * left out with a warning. `several` says that a pattern found the path; then a file at the path
 * itself that cannot be read is also left out with a warning.
 */
bool etw_configured_manifests_add(struct etw_configured_manifests *configured, const char *path,
				  bool several, struct etw_error *err);

bool etw_configured_manifests_add_builtin(struct etw_configured_manifests *configured,
					  struct etw_error *err);

void etw_configured_manifests_done(struct etw_configured_manifests *configured);

/* Every written manifest begins with this. */
#define ETW_MANIFEST_WRITER_START \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Written by etwtool. -->\n"

struct etw_manifest_writer_counts {
	size_t events;
	size_t cut; /* events whose last fields are missing, because no manifest can describe them
		     */
};

struct etw_manifest_writer *etw_manifest_writer_new(const struct etw_guid *provider,
						    const char *name, struct etw_error *err);
void etw_manifest_writer_free(struct etw_manifest_writer *writer);

/* Adds all keywords and events of a provider. */
void etw_manifest_writer_provider(struct etw_manifest_writer *writer,
				  const struct etw_manifest *manifest, size_t index);

/* Finds the value map whose name is at offset `name` of the description; NULL if there is none. */
typedef const struct etw_value_map *
etw_manifest_writer_find_map(void *context, const struct etw_event_info *info, uint32_t name);

/* Adds the event of a description. Returns false if the source of the description is not
 * ETW_EVENT_INFO_MANIFEST. */
bool etw_manifest_writer_info(struct etw_manifest_writer *writer, const struct etw_event_info *info,
			      etw_manifest_writer_find_map *find, void *context);

void etw_manifest_writer_count(const struct etw_manifest_writer *writer,
			       struct etw_manifest_writer_counts *counts);

/*
 * Adds the manifest to an empty text. Returns false if it is larger than MANIFEST_FILE_SIZE_MOST,
 * the limit for configured manifests, or if reading it back does not give all of its events.
 */
bool etw_manifest_writer_finish(struct etw_manifest_writer *writer, struct etw_text *xml,
				struct etw_error *err);

enum { ETW_MANIFEST_EVENT_ID = 0xfffe };

/* One chunk of a manifest, as a record contains it. */
struct etw_manifest_chunk {
	uint8_t format;
	uint8_t major;
	uint8_t minor;
	uint8_t magic;
	uint16_t total;     /* chunks of the manifest, at least 1 */
	uint16_t number;    /* below total */
	const uint8_t *xml; /* borrowed */
	uint32_t xml_size;
};

/* Reads a chunk. Returns false if the record is not a chunk or its header is not valid. */
bool etw_manifest_chunk_read(const struct etw_record *record, struct etw_manifest_chunk *chunk);

/*
 * Assembles chunks to manifests, separately for each provider and process. Chunks may arrive in any
 * order, and those of several manifests may be mixed. The number and size of incomplete manifests
 * are limited. When a limit is reached, one is dropped: one of the same provider and process if
 * these have too many, else one of the same process, else the oldest of all. Zero-initialise it.
 */
struct etw_manifest_assembly {
	size_t size_most; /* limit for one manifest, in bytes; 0: as in docs/etl-format.md section
			     18 */
	struct etw_manifest_stream *streams; /* owned */
	size_t count;
	size_t bytes;     /* of all of them */
	uint64_t started; /* streams so far */
	int64_t began;    /* time of chunk 0 of the manifest that was completed last */
	uint64_t dropped; /* incomplete manifests that were dropped */
};

/*
 * Adds the chunk in a record; other records are ignored. Returns true if the chunk completes a
 * manifest; then *xml is the whole manifest, and the caller frees it with text_free().
 */
bool etw_manifest_assembly_add(struct etw_manifest_assembly *assembly,
			       const struct etw_record *record, struct etw_text *xml);
void etw_manifest_assembly_done(struct etw_manifest_assembly *assembly); /* `dropped` stays */

/* Returns whether the record may report the start or the end of a process: its id or opcode is one
 * of theirs. It is cheap enough for every record and rules out most of them. */
static inline bool etw_process_change_possible(const struct etw_record *record)
{
	unsigned number = record->classic ? record->opcode : record->id;

	return number == ETW_KERNEL_OPCODE_START || number == ETW_KERNEL_OPCODE_STOP;
}

#endif

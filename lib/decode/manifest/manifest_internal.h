/* SPDX-License-Identifier: MIT */
/*
 * The structure of a manifest, and the state of its reader.
 *
 * xml.c drives expat and checks the places of elements, elements.c stores the content of each
 * element, manifest.c resolves the names by which elements refer to each other, and has the look-up
 * functions.
 */
#ifndef LIB_DECODE_MANIFEST_MANIFEST_INTERNAL_H
#define LIB_DECODE_MANIFEST_MANIFEST_INTERNAL_H

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "lib/decode/schema.h"

enum {
	MANIFEST_DEPTH_MOST = 64,
	MANIFEST_PROVIDERS_MOST = 1 << 10,
	MANIFEST_ROWS_MOST = 1 << 16, /* limit for each other type of element */
	MANIFEST_TEXTS_SIZE_MOST = 64 << 20,
	MANIFEST_WARNINGS_MOST = 10, /* warnings with a sentence; more are only counted */
	NO_TEXT = UINT32_MAX,
};

/* Where an element begins: its offset in bytes from the start of the document. A negative offset
 * means the document as a whole. Line and column are computed only for an error or a warning. */
struct manifest_at {
	int64_t offset;
};

/* Elements with a name and a number. */
enum manifest_word { WORD_TASK, WORD_OPCODE, WORD_LEVEL, WORD_KEYWORD };

struct manifest_named {
	uint64_t value; /* the mask if this is a keyword */
	uint32_t provider;
	uint32_t name; /* texts are offsets in manifest.texts; NO_TEXT: none */
	/* Name of the task to which an opcode belongs; NO_TEXT: it is valid for all tasks. */
	uint32_t task;
	uint8_t word; /* enum manifest_word */
};

struct manifest_event_row {
	struct etw_schema schema;
	uint64_t keywords;
	uint32_t provider; /* index */
	/* Position in the manifest: if two rows describe one event, the first is used. */
	uint32_t order;
	uint32_t name, symbol, template;
	uint32_t task_name, opcode_name, level_name, keyword_names; /* as written */
	struct manifest_at at;
	uint16_t id;
	uint16_t task;
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
};

struct manifest_provider {
	uint32_t name;
	struct etw_guid guid;
	bool has_guid;
	size_t first_event; /* index in `events`, once they are sorted */
	size_t event_count;
};

struct manifest_map {
	struct etw_value_map map; /* its names are a part of value_names */
	size_t first;
	uint32_t name;
};

struct manifest_map_entry {
	uint32_t value;
	uint32_t message;
};

#define MANIFEST_ROWS(type, name)      \
	struct type *name; /* owned */ \
	size_t name##_count, name##_capacity

struct etw_manifest {
	MANIFEST_ROWS(manifest_provider, providers);
	MANIFEST_ROWS(manifest_event_row, events);
	MANIFEST_ROWS(built_fields, templates); /* owned, as are the fields */
	MANIFEST_ROWS(manifest_named, named);
	MANIFEST_ROWS(manifest_map, maps);
	struct etw_value_name *value_names; /* owned; the names of all maps */
	size_t value_name_count;
	struct etw_text texts;
	size_t field_bytes;
	bool checked; /* read by manifest_read_checked(): mistakes were errors */
};

/* A field that uses a value map. */
struct manifest_map_use {
	uint32_t name;     /* of the map */
	uint32_t template; /* index */
	struct manifest_at at;
	uint16_t provider;
	uint16_t field; /* index */
};

struct manifest_warning {
	struct manifest_at at;
	char sentence[160];
};

struct manifest_reader {
	struct etw_manifest *manifest;
	/* Mistakes are errors; otherwise the faulty elements are left out. */
	bool checked;
	struct schema_builder builder; /* fields of the open template */
	uint32_t template_id;
	struct manifest_at template_at;
	uint32_t task;          /* name of the open task */
	bool preferred_strings; /* the next strings replace earlier ones */
	/* Hashes of names, and the elements with these names. */
	struct map known_templates; /* -> index + 1 */
	struct map known_maps;      /* -> index in maps + 1 */
	struct map known_strings;   /* -> offset in texts + 1 */
	struct map known_named;     /* -> index + 1 */
	MANIFEST_ROWS(manifest_map_entry, map_entries);
	MANIFEST_ROWS(manifest_map_use, map_uses);
	size_t template_uses; /* count of map_uses when the template was opened */
	uint64_t seed;
	struct manifest_at at; /* the current element */
	bool failed;           /* no memory */
	bool refused;          /* `why` is set, still without line and column */
	struct etw_error why;
	struct manifest_at why_at;
	struct manifest_warning warnings[MANIFEST_WARNINGS_MOST];
	size_t warning_count; /* all warnings, also those without a sentence */
};

/* The attributes of an element. NULL: the element lacks the attribute. */
struct manifest_attributes {
	const char *name, *guid;
	const char *value, *version, *symbol, *task, *opcode, *level, *keywords, *template;
	const char *tid;
	const char *in_type, *out_type, *count, *length, *map;
	const char *message, *mask;
	const char *id, *culture;
};

/* Returns the text at an offset, or NULL for NO_TEXT. The pointer is valid until the next text is
 * stored. */
static inline const char *manifest_text(const struct etw_manifest *manifest, uint32_t offset)
{
	return offset != NO_TEXT ? manifest->texts.data + offset : NULL;
}

/* Stops the reader with an error. At the end of reading, "line:column: " is put in front of the
 * error. */
void manifest_refuse(struct manifest_reader *reader, const struct manifest_at *at,
		     const char *format, ...) ETW_PRINTF_LIKE(3, 4);

/* Returns whether an allocation has failed. Then reading fails, even if the manifest is correct. */
static inline bool manifest_lacks_memory(const struct manifest_reader *reader)
{
	return reader->failed || reader->builder.failed || reader->builder.names.failed;
}

/* Calls manifest_refuse() for a checked manifest. For an in-band manifest it does nothing, and the
 * reader continues. */
#define MANIFEST_FAULT(reader, at, ...)                               \
	do {                                                          \
		if ((reader)->checked) {                              \
			manifest_refuse((reader), (at), __VA_ARGS__); \
		}                                                     \
	} while (0)

/* Adds a warning about a checked manifest; reading continues. */
void manifest_warn(struct manifest_reader *reader, const struct manifest_at *at, const char *format,
		   ...) ETW_PRINTF_LIKE(3, 4);

/* Returns the hash of a name within a provider. `type` keeps the names of different types of
 * elements apart. */
uint64_t manifest_key(const struct manifest_reader *reader, uint64_t provider, uint64_t type,
		      const char *name);

/* ---- elements.c: elements as they begin and end ---- */

void manifest_read_provider(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_read_event(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_read_named(struct manifest_reader *reader, const struct manifest_attributes *a,
			 enum manifest_word word);
void manifest_read_map(struct manifest_reader *reader, const struct manifest_attributes *a,
		       bool bits);
void manifest_read_map_entry(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_read_string(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_open_template(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_read_data(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_open_struct(struct manifest_reader *reader, const struct manifest_attributes *a);
void manifest_close_template(struct manifest_reader *reader);

/* ---- manifest.c ---- */

/* Sets *value to that of a name that is predefined in every manifest ("win:Start"). Returns false
 * for other names. */
bool manifest_standard_value(enum manifest_word word, const char *name, uint64_t *value);
/* Returns the predefined name of a value; NULL if a manifest must define a name for it. */
const char *manifest_standard_name(enum manifest_word word, uint64_t value);

/* Call it after the last element. Returns false if the reader failed or refused. */
bool manifest_resolve(struct manifest_reader *reader);

#endif

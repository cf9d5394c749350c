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
	MANIFEST_ROWS_MOST = 1 << 16, /* of each other type of element */
	MANIFEST_TEXTS_SIZE_MOST = 64 << 20,
	MANIFEST_WARNINGS_MOST = 10, /* with a sentence; the others are counted */
	NO_TEXT = UINT32_MAX,
};

/* Where an element begins: so many bytes into the document; below 0: the document as a whole. Its
 * line and column are only looked for when there is something to say about it. */
struct manifest_at {
	int64_t offset;
};

/* Elements with a name and a number. */
enum manifest_word { WORD_TASK, WORD_OPCODE, WORD_LEVEL, WORD_KEYWORD };

struct manifest_named {
	uint64_t value; /* of a keyword its mask */
	uint32_t provider;
	uint32_t name; /* texts are offsets in manifest.texts; NO_TEXT: none */
	uint32_t task; /* name of the task that an opcode is of; NO_TEXT: of any */
	uint8_t word;  /* enum manifest_word */
};

struct manifest_event_row {
	struct etw_schema schema;
	uint64_t keywords;
	uint32_t provider; /* index */
	uint32_t order;    /* in the manifest: of two descriptions of one event the first is used */
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
	size_t first_event; /* in events, once they are sorted */
	size_t event_count;
};

struct manifest_map {
	struct etw_value_map map; /* its names are among value_names */
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
	struct etw_value_name *value_names; /* owned; of all maps */
	size_t value_name_count;
	struct etw_text texts;
	size_t field_bytes;
	bool checked; /* mistakes were errors */
};

/* A field whose values a map names. */
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
	bool checked;                  /* mistakes are errors; else they are left out */
	struct schema_builder builder; /* of the template that is open */
	uint32_t template_id;
	struct manifest_at template_at;
	uint32_t task;          /* name of the task that is open */
	bool preferred_strings; /* the strings that follow replace others */
	/* Hashes of names, and the elements with these names. */
	struct map known_templates; /* -> index + 1 */
	struct map known_maps;      /* likewise, in maps */
	struct map known_strings;   /* -> offset in texts + 1 */
	struct map known_named;     /* -> index + 1 */
	MANIFEST_ROWS(manifest_map_entry, map_entries);
	MANIFEST_ROWS(manifest_map_use, map_uses);
	size_t template_uses; /* map_uses before the template that is open */
	uint64_t seed;
	struct manifest_at at; /* the current element */
	bool failed;           /* no memory */
	bool refused;          /* `why` is set, without the place */
	struct etw_error why;
	struct manifest_at why_at;
	struct manifest_warning warnings[MANIFEST_WARNINGS_MOST];
	size_t warning_count; /* of all */
};

/* The attributes of an element; NULL: the element does not have it. */
struct manifest_attributes {
	const char *name, *guid;
	const char *value, *version, *symbol, *task, *opcode, *level, *keywords, *template;
	const char *tid;
	const char *in_type, *out_type, *count, *length, *map;
	const char *message, *mask;
	const char *id, *culture;
};

/* NULL for NO_TEXT. The text may move when the next one is stored. */
static inline const char *manifest_text(const struct etw_manifest *manifest, uint32_t offset)
{
	return offset != NO_TEXT ? manifest->texts.data + offset : NULL;
}

/* Stops the reader with an error, which gets its "line:column: " in front at the end. */
void manifest_refuse(struct manifest_reader *reader, const struct manifest_at *at,
		     const char *format, ...) ETW_PRINTF_LIKE(3, 4);

/* Whether an allocation has failed; then there is no result, also of a text that is right. */
static inline bool manifest_lacks_memory(const struct manifest_reader *reader)
{
	return reader->failed || reader->builder.failed || reader->builder.names.failed;
}

/* manifest_refuse() for a checked manifest; the reader of an in-band manifest continues. */
#define MANIFEST_FAULT(reader, at, ...)                               \
	do {                                                          \
		if ((reader)->checked) {                              \
			manifest_refuse((reader), (at), __VA_ARGS__); \
		}                                                     \
	} while (0)

/* Notes what is wrong in a checked manifest, which is read nevertheless. */
void manifest_warn(struct manifest_reader *reader, const struct manifest_at *at, const char *format,
		   ...) ETW_PRINTF_LIKE(3, 4);

/* The hash of a name in a provider; type separates the names of different elements. */
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

/* The value of a name that every manifest has ("win:Start"); false: it is none of them. */
bool manifest_standard_value(enum manifest_word word, const char *name, uint64_t *value);
/* The opposite; NULL: every manifest must define such a value itself. */
const char *manifest_standard_name(enum manifest_word word, uint64_t value);

/* Call it after the last element. Returns false if the reader failed or refused. */
bool manifest_resolve(struct manifest_reader *reader);

#endif

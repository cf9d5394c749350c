/* SPDX-License-Identifier: MIT */
/*
 * The layout of one event class: named, typed fields in payload order. Schemas have many origins,
 * but one representation and one decoder.
 *
 * The fields before the first one of variable length have constant offsets, one for each pointer
 * size, which are computed when the schema is made. The others are found by walking from there. A
 * schema does not change after it was made.
 */
#ifndef LIB_DECODE_SCHEMA_H
#define LIB_DECODE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/schema.h>

#include "base/cursor.h"
#include "base/json.h"
#include "base/text.h"
#include "lib/source/event_record.h"

/*
 * Names of the values of an integer field: one name for each value, or one name for each bit.
 *
 * Sources: "valueMap", "bitMap", "EVENT_MAP_INFO structure", Microsoft Learn; docs/etl-format.md
 * section 12.2.
 */
struct etw_value_name {
	uint32_t value;   /* in a bit map: one or more bits */
	uint32_t order;   /* private to value_map_sort() */
	const char *name; /* UTF-8; borrowed */
};

/*
 * Sorts the names for value_map_text(). Of several names for one value, only the first is kept. All
 * overlapping bit masks are kept.
 */
void value_map_sort(struct etw_value_map *map);

/*
 * Adds the name of a value. A bit map gives "name|name", and the bits without a name follow in
 * hexadecimal: "Read|Write|0x40". Returns false and adds nothing if the map has no name for it.
 */
bool value_map_text(const struct etw_value_map *map, uint64_t value, struct etw_text *out);

/*
 * Computes sizes and offsets, and returns schema.first_variable. The spans must be correct. A count
 * or length that refers to another field must refer to an earlier integer field. If it does not,
 * the field becomes a single value, or a value that ends as its type says, so that a hostile schema
 * cannot cause reads of other data.
 */
uint16_t fields_place(struct etw_field *fields, uint16_t count);

/*
 * Returns the end (an index) of the top-level fields that are whole; a structure is whole if all
 * its members are. `whole`: the first field that is not whole, as etw_fields_walk() returns it.
 */
unsigned schema_end_of_whole(const struct etw_schema *schema, unsigned whole);

/* Returns whether length_type says where the field ends. */
bool field_has_length(const struct etw_field *field);

/* Returns the size of one element in bytes; 0 if it varies or the element is empty. wide: 1 if
 * pointers have 8 bytes, 0 if they have 4. */
uint32_t field_element_size(const struct etw_field *field, unsigned wide);

/* Returns the size in bytes of the count before the data of each element; 0 if the type has no
 * count. */
uint32_t field_prefix_size(unsigned type);

/* ---- building the fields of a schema from data outside the program ---- */

/* Fields and copies of their names in one block of memory. Their number is bounded and their spans
 * are correct. */
struct built_fields {
	struct etw_field *fields; /* owned: free(); NULL if there are none */
	uint16_t count;
	uint16_t first_variable; /* as in struct etw_schema */
	size_t bytes;            /* memory in bytes */
};

/* Zero-initialise the struct; schema_build_done() frees it. */
struct schema_builder {
	struct etw_field *fields; /* owned; their names are set at the end */
	uint32_t *name_offsets;   /* owned; offsets in `names` */
	size_t count;
	size_t capacity;                      /* of fields */
	size_t offset_capacity;               /* of name_offsets */
	struct etw_text names;                /* all names, each with its NUL */
	uint16_t open[ETW_SCHEMA_DEPTH_MOST]; /* the structures that contain the next field */
	unsigned depth;
	bool stopped; /* further fields could not be located */
	bool failed;  /* no memory */
};

/*
 * Adds a copy of *field. The name is copied up to its first NUL, at most name_size bytes, and
 * converted to valid UTF-8. An ETW_FIELD_STRUCT stays open: it contains all fields that are added
 * before schema_build_close().
 *
 * Returns the index of the field, or -1 if it was not added; then no later field is added either.
 */
int schema_build_add(struct schema_builder *builder, const struct etw_field *field,
		     const char *name, size_t name_size);
void schema_build_close(struct schema_builder *builder);

/* Returns the index of the latest field with this name, also inside structures; -1 if there is
 * none. */
int schema_build_find(const struct schema_builder *builder, const char *name);

/*
 * Ends the schema, because the next part of the payload is not understood and nothing after it can
 * be located. This also removes an open array of structures: its second element could not be
 * located.
 */
void schema_build_stop(struct schema_builder *builder);

/*
 * Computes the offsets of the fields, moves them to *fields and empties the builder. If fields of
 * one structure have the same name, "_2" is appended to the second, "_3" to the third, and so on.
 * Returns false if there is no memory.
 */
bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields);
void schema_build_done(struct schema_builder *builder);

/* ---- values ---- */

/* Returns whether a located element of the field already has this value in the form that dumps
 * show. */
bool encode_is_same(const struct etw_field *field, const struct etw_field_slice *element,
		    const struct etw_json_value *value);

/* ---- values as text (text_forms.c) ---- */

/* Returns the number of units (of two bytes) before the first NUL, at most `units`. */
size_t utf16_length(const uint8_t *at, size_t units);

/* Adds UTF-16LE units, at any alignment, as UTF-8, NULs included. Each unpaired surrogate becomes
 * U+FFFD. */
void text_add_utf16(struct etw_text *text, const uint8_t *at, size_t units);

/*
 * Finds the SID in a field of the Process class of the kernel ("WBEM SID"). The field has two words
 * of pointer size and then the SID, or four zero bytes if there is no SID. Some writers leave the
 * words zero and still append a SID.
 *
 * Returns the size of the field and sets *sid (NULL: no SID). Returns 0 if the payload ends inside
 * the field or contains no valid SID there.
 *
 * Source: "SID structure", Microsoft Learn; docs/etl-format.md section 14.
 */
size_t kernel_sid_size(const uint8_t *at, size_t size, uint8_t pointer_size, const uint8_t **sid);

#endif

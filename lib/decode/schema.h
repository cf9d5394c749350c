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
 * Sorts the names for value_map_text(). Duplicate values: the first name wins. Overlapping bit
 * masks are all kept.
 */
void value_map_sort(struct etw_value_map *map);

/*
 * Adds the name of a value. A bit map gives "name|name", and the bits without a name follow in
 * hexadecimal: "Read|Write|0x40". Returns false and adds nothing if the map has no name for it.
 */
bool value_map_text(const struct etw_value_map *map, uint64_t value, struct etw_text *out);

/*
 * Computes sizes and offsets. Returns schema.first_variable. Spans must be right. A reference to
 * the field of a count or of a length must lead to an integer field before it. Otherwise the field
 * becomes a single value, or a value that ends in the way of its type, so that a schema from
 * outside cannot cause reads of other data.
 */
uint16_t fields_place(struct etw_field *fields, uint16_t count);

/* Whether length_type says where it ends. */
bool field_has_length(const struct etw_field *field);

/* The size of one element in bytes; 0 if it varies or the element is empty. wide: pointers have 8
 * bytes. */
uint32_t field_element_size(const struct etw_field *field, unsigned wide);

/* The size of the count before the data of each element; 0 if the type has no count. */
uint32_t field_prefix_size(unsigned type);

/* ---- reading one integer field of an event class from many payloads ---- */

/* ---- building the fields of a schema from data outside the program ---- */

/* Fields with copies of their names, in one block; bounded, with correct spans. */
struct built_fields {
	struct etw_field *fields; /* owned: free(); NULL if there are none */
	uint16_t count;
	uint16_t first_variable; /* as in struct etw_schema */
	size_t bytes;            /* of memory */
};

/* Zero-initialise it. */
struct schema_builder {
	struct etw_field *fields; /* owned; their names are set at the end */
	uint32_t *name_offsets;   /* owned; in names */
	size_t count;
	size_t capacity;                      /* of fields */
	size_t offset_capacity;               /* of name_offsets */
	struct etw_text names;                /* each with its NUL */
	uint16_t open[ETW_SCHEMA_DEPTH_MOST]; /* the structures that contain the next field */
	unsigned depth;
	bool stopped; /* further fields could not be located */
	bool failed;  /* no memory */
};

/*
 * Adds a copy of *field. Its name is copied from name, converted to valid UTF-8, and ends at a NUL.
 * A ETW_FIELD_STRUCT stays open: it contains all fields that are added before schema_build_close().
 *
 * Returns the index of the field; -1 if it was not added, and then no later field will be.
 */
int schema_build_add(struct schema_builder *builder, const struct etw_field *field,
		     const char *name, size_t name_size);
void schema_build_close(struct schema_builder *builder);

/* The latest field with this name, also inside structures; -1 if there is none. */
int schema_build_find(const struct schema_builder *builder, const char *name);

/*
 * Ends the schema, because the next part of the payload is not understood and nothing after it can
 * be located. This also removes an open array of structures: its second element could not be
 * located.
 */
void schema_build_stop(struct schema_builder *builder);

/*
 * Computes the offsets of the fields and empties the builder. Of fields of one structure with the
 * same name, the second gets "_2" behind it, the third "_3". False without memory.
 */
bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields);
void schema_build_done(struct schema_builder *builder);

#endif

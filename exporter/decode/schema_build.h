/* SPDX-License-Identifier: MIT */
/*
 * Builds the fields of a schema from data outside the program: bounded, with correct spans and with
 * copies of the names.
 */
#ifndef DECODE_SCHEMA_BUILD_H
#define DECODE_SCHEMA_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "decode/schema.h"

/* Fields with their names, in one block. */
struct built_fields {
	struct field *fields; /* owned: free(); NULL if there are none */
	uint16_t count;
	uint16_t first_variable; /* as in struct schema */
	size_t bytes;            /* of memory */
};

/* Zero-initialise it. */
struct schema_builder {
	struct field *fields;   /* owned; their names are set at the end */
	uint32_t *name_offsets; /* owned; in names */
	size_t count;
	size_t capacity;                  /* of fields */
	size_t offset_capacity;           /* of name_offsets */
	struct text names;                /* each with its NUL */
	uint16_t open[SCHEMA_DEPTH_MOST]; /* the structures that contain the next field */
	unsigned depth;
	bool stopped; /* further fields could not be located */
	bool failed;  /* no memory */
};

/*
 * Adds a copy of *field. Its name is copied from name, converted to valid UTF-8, and ends at a NUL.
 * A FIELD_STRUCT stays open: it contains all fields that are added before schema_build_close().
 *
 * Returns the index of the field; -1 if it was not added, and then no later field will be.
 */
int schema_build_add(struct schema_builder *builder, const struct field *field, const char *name,
		     size_t name_size);
void schema_build_close(struct schema_builder *builder);

/* The latest field with this name, also inside structures; -1 if there is none. */
int schema_build_find(const struct schema_builder *builder, const char *name);

/*
 * Ends the schema, because the next part of the payload is not understood and nothing after it can
 * be located. This also removes an open array of structures: its second element could not be
 * located.
 */
void schema_build_stop(struct schema_builder *builder);

/* Computes the offsets of the fields and empties the builder. False without memory. */
bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields);
void schema_build_done(struct schema_builder *builder);

#endif

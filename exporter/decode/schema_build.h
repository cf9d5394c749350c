/* SPDX-License-Identifier: MIT */
/*
 * Makes the fields of a schema from what somebody outside says: bounded, spans right, names copied.
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
	struct field *fields; /* owned: free(); NULL when there are none */
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
	uint16_t open[SCHEMA_DEPTH_MOST]; /* the structures that the next field is in */
	unsigned depth;
	bool stopped; /* what comes now cannot be located */
	bool failed;  /* no memory */
};

/*
 * Adds a field of the kind that `field` says; its name is copied from name, made UTF-8, and ends at
 * a NUL. A FIELD_STRUCT is open then: what is added up to schema_build_close() is in it.
 *
 * Returns its index; -1 when it was not added, and nothing will be any more.
 */
int schema_build_add(struct schema_builder *builder, const struct field *field, const char *name,
		     size_t name_size);
void schema_build_close(struct schema_builder *builder);

/* The latest field with this name, the ones of structures included; -1 when there is none. */
int schema_build_find(const struct schema_builder *builder, const char *name);

/*
 * What comes next in the payload is not understood, so nothing behind it can be located: neither
 * later fields, nor an array of structures that is open, whose second element would be such.
 */
void schema_build_stop(struct schema_builder *builder);

/* Places the fields and empties the builder. False without memory. */
bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields);
void schema_build_done(struct schema_builder *builder);

#endif

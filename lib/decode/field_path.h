/* SPDX-License-Identifier: MIT */
/*
 * Paths to values inside the fields of a schema, as in rules: "a" for a field, "a.b" for a member
 * of a structure, "a[2]" for an element of an array, "a[1].b[0].c" for arrays of structures,
 * "a.count" for the number of elements of an array, "[3]" for the fourth field, which needs no
 * name.
 */
#ifndef LIB_DECODE_FIELD_PATH_H
#define LIB_DECODE_FIELD_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/decode/schema.h"

struct etw_field_path {
	/* The type of the value: for an element that of a scalar, for a count an integer. Its
	 * offsets are not used. */
	struct etw_field value;
	uint16_t top;   /* the field that etw_fields_walk() must reach */
	uint16_t field; /* the last field of the path */
	bool is_count;
	uint8_t step_count;
	struct {
		uint16_t array; /* field: an array of structures; in the last step also of values */
		uint32_t element;
	} steps[ETW_SCHEMA_DEPTH_MOST + 1];
};

/*
 * Resolves a path; false if the schema has no such value. It also finds each plain scalar that
 * etw_schema_find_field() finds. Names take precedence: a member can be called "count", and the
 * name of a field can contain brackets.
 */
bool etw_field_path_find(const struct etw_schema *schema, const char *name,
			 struct etw_field_path *path);

enum etw_field_path_result {
	ETW_FIELD_PATH_FOUND,
	ETW_FIELD_PATH_CUT,     /* the payload ends before it */
	ETW_FIELD_PATH_MISSING, /* the array has fewer elements */
};

/*
 * Finds the value in one payload. slices: the result of etw_fields_walk() up to path->top; the
 * slices of members change. If found, *slice is that of the value, and *count is its number of
 * elements.
 */
enum etw_field_path_result etw_field_path_locate(const struct etw_schema *schema,
						 const struct etw_field_path *path,
						 const struct etw_record *record,
						 struct etw_field_slice *slices,
						 struct etw_field_slice *slice, uint32_t *count);

#endif

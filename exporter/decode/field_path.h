/* SPDX-License-Identifier: MIT */
/*
 * A value inside the fields of a schema, as rules name it: "a", "a.b" of a structure, "a[2]" of an
 * array, "a[1].b[0].c" of arrays of structures, "a.count" for the number of an array's elements,
 * "[3]" for the fourth field, whatever it is called.
 */
#ifndef DECODE_FIELD_PATH_H
#define DECODE_FIELD_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/schema.h"

struct field_path {
	/* Of the value: of an element no array any more; of a count an integer. Its offsets say
	 * nothing. */
	struct field value;
	uint16_t top;   /* field that fields_walk() has to reach */
	uint16_t field; /* the last one named */
	bool is_count;
	uint8_t step_count;
	struct {
		uint16_t array; /* field: an array of structures, or at last of values */
		uint32_t element;
	} steps[SCHEMA_DEPTH_MOST + 1];
};

/*
 * False when the schema has no such value. A plain scalar that schema_find_field() finds is found
 * as well. A name comes first: a member that is called "count", a field with brackets in its name.
 */
bool field_path_find(const struct schema *schema, const char *name, struct field_path *path);

enum field_path_result {
	FIELD_PATH_FOUND,
	FIELD_PATH_CUT,     /* the payload ends before it */
	FIELD_PATH_MISSING, /* the array has fewer elements */
};

/*
 * Finds the value in one payload. slices: as fields_walk() left them, path->top reached; the slices
 * of members change. Found: *slice is the value's, of a count *count the number.
 */
enum field_path_result field_path_locate(const struct schema *schema, const struct field_path *path,
					 const struct event_record *record,
					 struct field_slice *slices, struct field_slice *slice,
					 uint32_t *count);

#endif

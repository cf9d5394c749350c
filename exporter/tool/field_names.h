/* SPDX-License-Identifier: MIT */
/*
 * Fields by the names that rules take: members of structures as "structure.member".
 */
#ifndef TOOL_FIELD_NAMES_H
#define TOOL_FIELD_NAMES_H

#include "base/text.h"
#include "decode/schema.h"

/*
 * The next field at or behind `index` that has a value of its own: structures are gone into, arrays
 * of structures taken whole. schema->field_count: there are no more.
 */
unsigned field_next(const struct schema *schema, unsigned index);

/* The field behind such a one. */
static inline unsigned field_behind(const struct schema *schema, unsigned index)
{
	return index + 1U + schema->fields[index].span;
}

/* Adds the whole name, of a member of an array of structures that of the first element's. */
void field_name_add(const struct schema *schema, unsigned index, struct text *out);

/* Adds what its values are: "u32", "text", "list of guid". */
void field_type_add(const struct field *field, struct text *out);

#endif

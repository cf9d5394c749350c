/* SPDX-License-Identifier: MIT */
/*
 * Names of the values of an integer field: one name for each value, or one name for each bit.
 *
 * Sources: "valueMap", "bitMap", "EVENT_MAP_INFO structure", Microsoft Learn; docs/etl-format.md
 * section 12.2.
 */
#ifndef DECODE_VALUE_MAP_H
#define DECODE_VALUE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct value_name {
	uint32_t value;   /* in a bit map: one or more bits */
	uint32_t order;   /* private to value_map_sort() */
	const char *name; /* UTF-8; borrowed */
};

/* Immutable after value_map_sort(). */
struct value_map {
	struct value_name *names; /* owned as the maker of the map defines */
	uint32_t count;
	bool bits;
};

/*
 * Sorts the names for value_map_text(). Duplicate values: the first name wins. Overlapping bit
 * masks are all kept.
 */
void value_map_sort(struct value_map *map);

/*
 * Adds the name of a value. A bit map gives "name|name", and the bits without a name follow in
 * hexadecimal: "Read|Write|0x40". Returns false and adds nothing if the map has no name for it.
 */
bool value_map_text(const struct value_map *map, uint64_t value, struct text *out);

/*
 * Finds the value with this name, without regard to the case of ASCII letters. Returns false and
 * leaves *value alone if no value or several values have the name.
 */
bool value_map_value(const struct value_map *map, const char *name, size_t size, uint32_t *value);

#endif

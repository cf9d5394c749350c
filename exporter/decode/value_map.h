/* SPDX-License-Identifier: MIT */
/*
 * What the values of an integer field are called: one name a value, or one for each bit.
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
	uint32_t value;   /* of a bit map: one or more bits */
	uint32_t order;   /* value_map_sort()'s own */
	const char *name; /* UTF-8; borrowed */
};

/* Immutable once value_map_sort() has run. */
struct value_map {
	struct value_name *names; /* whoever makes the map says who owns them */
	uint32_t count;
	bool bits;
};

/*
 * Sorts the names, as value_map_text() needs them: of two for one value the first serves, of bits
 * that have names of their own and in common both.
 */
void value_map_sort(struct value_map *map);

/*
 * Adds the name of a value; of a bit map "name|name", bits without a name in hexadecimal behind
 * them: "Read|Write|0x40". False: the map has no name for it, nothing is added.
 */
bool value_map_text(const struct value_map *map, uint64_t value, struct text *out);

/*
 * The value that a name is for, without regard to the case of ASCII letters; *value is left alone
 * on failure. False: no value has this name, or several have it.
 */
bool value_map_value(const struct value_map *map, const char *name, size_t size, uint32_t *value);

#endif

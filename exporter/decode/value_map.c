/* SPDX-License-Identifier: MIT */
/*
 * Names of values.
 */
#include "decode/value_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_values(const void *left, const void *right)
{
	const struct value_name *a = left, *b = right;

	if (a->value != b->value) {
		return a->value < b->value ? -1 : 1;
	}
	return a->order < b->order ? -1 : a->order > b->order;
}

void value_map_sort(struct value_map *map)
{
	struct value_name *names = map->names;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		names[i].order = i;
	}
	if (map->count > 0) {
		qsort(names, map->count, sizeof *names, compare_values);
	}
	for (uint32_t i = 0; i < map->count; i++) {
		if (kept == 0 || names[i].value != names[kept - 1].value) {
			names[kept++] = names[i];
		}
	}
	map->count = kept;
}

static const char *name_of(const struct value_map *map, uint64_t value)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->names[middle].value < value) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < map->count && map->names[low].value == value ? map->names[low].name : NULL;
}

static bool add_bits(const struct value_map *map, uint64_t value, struct text *out)
{
	uint64_t unnamed = value;
	const char *between = "";

	for (uint32_t i = 0; i < map->count; i++) {
		uint32_t bits = map->names[i].value;

		if (bits != 0 && (value & bits) == bits) {
			text_add_string(out, between);
			text_add_string(out, map->names[i].name);
			between = "|";
			unnamed &= ~(uint64_t)bits;
		}
	}
	if (unnamed != 0) {
		text_add_format(out, "%s0x%" PRIx64, between, unnamed);
	}
	return true;
}

bool value_map_text(const struct value_map *map, uint64_t value, struct text *out)
{
	const char *name;

	if (map->bits && value != 0) {
		return add_bits(map, value, out);
	}
	name = name_of(map, value);
	if (name) {
		text_add_string(out, name);
	}
	return name != NULL;
}

bool value_map_value(const struct value_map *map, const char *name, size_t size, uint32_t *value)
{
	const struct value_name *found = NULL;

	for (uint32_t i = 0; i < map->count; i++) {
		const struct value_name *other = &map->names[i];

		if (!text_equal_nocase(other->name, strlen(other->name), name, size)) {
			continue;
		}
		if (found) {
			return false;
		}
		found = other;
	}
	if (found) {
		*value = found->value;
	}
	return found != NULL;
}

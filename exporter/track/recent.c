/* SPDX-License-Identifier: MIT */
/*
 * Beginnings that wait for their end.
 */
#include "track/recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { WAYS = 4 };

void recent_init(struct recent *recent, size_t sets)
{
	*recent = (struct recent){ .sets = sets };
}

void recent_done(struct recent *recent)
{
	free(recent->entries);
	recent->entries = NULL;
	recent->count = 0;
}

void recent_clear(struct recent *recent)
{
	if (recent->entries) {
		memset(recent->entries, 0, recent->sets * WAYS * sizeof *recent->entries);
	}
	recent->count = 0;
}

static struct recent_entry *set_of(const struct recent *recent, uint64_t key)
{
	return recent->entries + (hash_u64(key) & (recent->sets - 1)) * WAYS;
}

void recent_begin(struct recent *recent, uint64_t key, int64_t time, uint8_t tag, uint32_t owner)
{
	struct recent_entry *set, *place;

	if (!recent->entries) {
		recent->entries = calloc(recent->sets * WAYS, sizeof *recent->entries);
		if (!recent->entries) {
			recent->evictions++;
			return;
		}
	}
	set = set_of(recent, key);
	place = &set[0];
	for (unsigned way = 0; way < WAYS; way++) {
		struct recent_entry *entry = &set[way];

		if (entry->taken && entry->key == key) {
			place = entry;
			break;
		}
		if (place->taken && (!entry->taken || entry->time < place->time)) {
			place = entry;
		}
	}
	if (!place->taken) {
		recent->count++;
	} else if (place->key != key) {
		recent->evictions++;
	}
	*place = (struct recent_entry){ key, time, owner, tag, true };
}

bool recent_end(struct recent *recent, uint64_t key, struct recent_entry *begin)
{
	struct recent_entry *set = recent->entries ? set_of(recent, key) : NULL;

	for (unsigned way = 0; set && way < WAYS; way++) {
		if (set[way].taken && set[way].key == key) {
			*begin = set[way];
			set[way].taken = false;
			recent->count--;
			return true;
		}
	}
	return false;
}

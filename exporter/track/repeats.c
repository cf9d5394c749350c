/* SPDX-License-Identifier: MIT */
#include <etw/describe.h>
#include <etw/manifest.h>
#include <etw/provider.h>
#include <etw/schema.h>
#include <etw/stack_walk.h>

#include "exporter/track/repeats.h"

#include <stdlib.h>

#include "base/guid.h"
#include "base/text.h"
#include "exporter/track/tracker.h"

/* ---- records that describe others ---- */

enum { PROVIDERS_MOST = 1 << 16 };

void describing_init(struct describing *describing)
{
	*describing = (struct describing){ 0 };
	tracker_choose_announcing(&describing->names);
}

void describing_done(struct describing *describing)
{
	map_done(&describing->providers);
}

/* Returns whether the event is the first one of its provider that has traits, which contain its
 * name. */
static bool names_provider(struct describing *describing, const struct etw_record *record)
{
	struct etw_extended_item traits;
	uint64_t provider;
	bool added = false;

	if (!record->extended ||
	    !etw_record_find_extended(record, ETW_EXTENDED_PROVIDER_TRAITS, &traits)) {
		return false;
	}
	provider = guid_hash(record->provider, hash_seed());
	return describing->providers.count < PROVIDERS_MOST &&
	       map_put(&describing->providers, provider, &added) && added;
}

/* Returns the describing group of a record's kernel class; ETW_KERNEL_GROUPS if it has none. */
static uint8_t group_of(const struct etw_record *record)
{
	uint8_t group = 0;

	if (record->kernel_group != ETW_RECORD_NO_GROUP) {
		return record->kernel_group;
	}
	while (group < ETW_KERNEL_GROUPS &&
	       !etw_guid_equal(etw_kernel_group_guid(group), record->provider)) {
		group++;
	}
	return group;
}

bool is_describing(struct describing *describing, const struct etw_record *record)
{
	uint8_t group;

	if (!record->classic) {
		return record->id == ETW_MANIFEST_EVENT_ID || !tracker_skips_ahead(record) ||
		       names_provider(describing, record);
	}
	switch (etw_kernel_class_of(record->provider)) {
	case ETW_KERNEL_NONE:
		return false;
	case ETW_KERNEL_EVENT_TRACE:
	case ETW_KERNEL_SYSTEM_CONFIG:
	case ETW_KERNEL_SYS_CONFIG:
	case ETW_KERNEL_IMAGE_ID:
	case ETW_KERNEL_LOST_EVENT:
	case ETW_KERNEL_META_DATA:
		return true;
	default:
		group = group_of(record);
		return group < ETW_KERNEL_GROUPS &&
		       etw_kernel_chosen(&describing->names, group, record->opcode);
	}
}

enum {
	COMPARED_MOST =
		1
		<< 20 /* the most different records; repetitions among further ones are not found */
};

/* ---- counting ---- */

/* Returns a hash of everything in which records can differ. */
static uint64_t hash_of(const struct etw_record *record)
{
	const uint64_t parts[] = {
		(uint64_t)record->raw_time,
		(uint64_t)record->processor << 32 | (uint64_t)record->type << 16 | record->id,
		(uint64_t)record->process_id << 32 | record->thread_id,
		(uint64_t)record->opcode << 48 | (uint64_t)record->version << 40 |
			(uint64_t)record->level << 32 | (uint64_t)record->channel << 16 |
			record->task,
		record->keyword,
		record->activity ? guid_hash(record->activity, hash_seed()) : 0,
		guid_hash(record->provider, hash_seed()),
		text_hash((const char *)record->payload, record->payload_size, hash_seed()),
		record->extended ? text_hash((const char *)record->extended, record->extended_size,
					     hash_seed()) :
				   0,
	};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		hash = hash_seeded(hash ^ parts[i], hash_seed());
	}
	return hash;
}

bool repeats_add(struct repeats *repeats, const struct etw_record *record)
{
	uint64_t hash = hash_of(record);
	const uint64_t *before = map_find(&repeats->earlier, hash);
	uint64_t *now = repeats->present.count < COMPARED_MOST ?
				map_put(&repeats->present, hash, NULL) :
				map_find(&repeats->present, hash);

	return now && ++*now <= (before ? *before : 0);
}

void repeats_next_file(struct repeats *repeats)
{
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&repeats->present, &at)) != NULL) {
		uint64_t *before = repeats->earlier.count < COMPARED_MOST ?
					   map_put(&repeats->earlier, slot->key, NULL) :
					   map_find(&repeats->earlier, slot->key);

		if (before && *before < slot->value) {
			*before = slot->value;
		}
	}
	map_done(&repeats->present);
}

void repeats_done(struct repeats *repeats)
{
	map_done(&repeats->earlier);
	map_done(&repeats->present);
}

/* ---- for readers of several files ---- */

struct finder {
	struct describing describing;
	struct repeats repeats;
	struct repeats stacks;
};

static void *finder_new(void)
{
	struct finder *finder = calloc(1, sizeof *finder);

	if (finder) {
		describing_init(&finder->describing);
	}
	return finder;
}

static void finder_free(void *context)
{
	struct finder *finder = context;

	if (finder) {
		describing_done(&finder->describing);
		repeats_done(&finder->repeats);
		repeats_done(&finder->stacks);
		free(finder);
	}
}

static void finder_next_file(void *context)
{
	struct finder *finder = context;

	describing_done(&finder->describing);
	repeats_next_file(&finder->repeats);
	repeats_next_file(&finder->stacks);
}

static bool finder_has(void *context, const struct etw_record *record)
{
	struct finder *finder = context;

	if (etw_is_stack_walk(record)) {
		return repeats_add(&finder->stacks, record);
	}
	return is_describing(&finder->describing, record) && repeats_add(&finder->repeats, record);
}

const struct etw_repeat_finder repeat_finder = {
	.new_finder = finder_new,
	.next_file = finder_next_file,
	.is_repeated = finder_has,
	.free_finder = finder_free,
};

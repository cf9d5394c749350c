/* SPDX-License-Identifier: MIT */
#include "exporter/track/describing.h"

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/manifest.h>
#include <etw/provider.h>
#include <etw/schema.h>

#include "base/guid.h"
#include "exporter/track/tracker.h"

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

/* Whether the event is the first one of its provider that has traits, which contain its name. */
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

bool is_file_open(const struct etw_record *record)
{
	return record->classic ?
		       record->opcode == ETW_KERNEL_OPCODE_FILE_IO_CREATE &&
			       etw_kernel_class_of(record->provider) == ETW_KERNEL_FILE_IO :
		       (record->id == ETW_FILE_EVENT_CREATE ||
			record->id == ETW_FILE_EVENT_CREATE_NEW_FILE) &&
			       etw_provider_is(record->provider, ETW_PROVIDER_KERNEL_FILE);
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

/* SPDX-License-Identifier: MIT */
#include "exporter/track/describing.h"

#include "exporter/track/tracker.h"
#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/source/provider_names.h"

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

/* Whether the event is the first one with the traits of its provider. */
static bool names_provider(struct describing *describing, const struct event_record *record)
{
	struct extended_item traits;
	uint64_t provider;
	bool added = false;

	if (!record->extended || !record_find_extended(record, EXTENDED_PROVIDER_TRAITS, &traits)) {
		return false;
	}
	provider = guid_hash(record->provider, hash_seed());
	return describing->providers.count < PROVIDERS_MOST &&
	       map_put(&describing->providers, provider, &added) && added;
}

/* The group of a kernel class; KERNEL_GROUPS: it has none. */
static uint8_t group_of(const struct event_record *record)
{
	uint8_t group = 0;

	if (record->kernel_group != RECORD_NO_GROUP) {
		return record->kernel_group;
	}
	while (group < KERNEL_GROUPS && !guid_equal(kernel_group_guid(group), record->provider)) {
		group++;
	}
	return group;
}

bool is_file_open(const struct event_record *record)
{
	return record->classic ? record->opcode == KERNEL_OPCODE_FILE_IO_CREATE &&
					 kernel_class_of(record->provider) == KERNEL_FILE_IO :
				 (record->id == FILE_EVENT_CREATE ||
				  record->id == FILE_EVENT_CREATE_NEW_FILE) &&
					 provider_is(record->provider, PROVIDER_KERNEL_FILE);
}

bool is_describing(struct describing *describing, const struct event_record *record)
{
	uint8_t group;

	if (!record->classic) {
		return record->id == MANIFEST_EVENT_ID || !tracker_skips_ahead(record) ||
		       names_provider(describing, record);
	}
	switch (kernel_class_of(record->provider)) {
	case KERNEL_NONE:
		return false;
	case KERNEL_EVENT_TRACE:
	case KERNEL_SYSTEM_CONFIG:
	case KERNEL_SYS_CONFIG:
	case KERNEL_IMAGE_ID:
	case KERNEL_LOST_EVENT:
	case KERNEL_META_DATA:
		return true;
	default:
		group = group_of(record);
		return group < KERNEL_GROUPS &&
		       kernel_chosen(&describing->names, group, record->opcode);
	}
}

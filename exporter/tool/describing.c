/* SPDX-License-Identifier: MIT */
#include "tool/describing.h"

#include "decode/event_info.h"
#include "decode/inband_manifests.h"
#include "decode/kernel_class.h"
#include "track/tracker.h"

void describing_init(struct describing *describing)
{
	tracker_choose_announcing(&describing->names);
}

/* The group of a kernel class; KERNEL_GROUPS: it has none. */
static uint8_t group_of(const struct event_record *record)
{
	uint8_t group = 0;

	if (record->kernel_group != 0xff) {
		return record->kernel_group;
	}
	while (group < KERNEL_GROUPS && !guid_equal(kernel_group_guid(group), record->provider)) {
		group++;
	}
	return group;
}

bool is_describing(const struct describing *describing, const struct event_record *record)
{
	uint8_t group;

	if (!record->classic) {
		return record->id == MANIFEST_EVENT_ID || !tracker_skips_ahead(record);
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

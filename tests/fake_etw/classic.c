/* SPDX-License-Identifier: MIT */
/* Classic (MOF) providers: which event classes belong to which control GUID. */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>

enum { CLASSES = 64 };

static struct {
	GUID event_class, control;
} classes[CLASSES];
static size_t class_count;

void fake_etw_add_classic(const GUID *control, const GUID *event_class)
{
	fake_lock();
	if (class_count == CLASSES) {
		abort();
	}
	classes[class_count].event_class = *event_class;
	classes[class_count++].control = *control;
	fake_unlock();
}

const GUID *fake_classic_control(const GUID *event_class)
{
	for (size_t i = 0; i < class_count; i++) {
		if (fake_guid_equal(&classes[i].event_class, event_class)) {
			return &classes[i].control;
		}
	}
	return NULL;
}

bool fake_classic_provider(const GUID *guid)
{
	for (size_t i = 0; i < class_count; i++) {
		if (fake_guid_equal(&classes[i].control, guid)) {
			return true;
		}
	}
	return false;
}

void fake_classic_reset(void)
{
	class_count = 0;
}

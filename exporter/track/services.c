/* SPDX-License-Identifier: MIT */
#include "exporter/track/services.h"

#include <string.h>

#include "base/text.h"

static const char host_name[] = "svchost";

void services_init(struct services *services, struct registry *registry, uint32_t limit)
{
	*services = (struct services){ .registry = registry };
	timeline_init(&services->tags, limit);
}

void services_clear(struct services *services)
{
	timeline_clear(&services->tags);
	map_done(&services->names);
}

static uint64_t key_of(uint32_t process_id, uint32_t tag)
{
	return (uint64_t)process_id << 32 | tag;
}

static void add_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		     size_t size)
{
	uint64_t *label = map_find(&services->names, key_of(process_id, tag));
	uint32_t id;

	if (!label && services->names.count < SERVICES_MAX) {
		label = map_put(&services->names, key_of(process_id, tag), NULL);
	}
	if (!label) {
		services->refused++;
		return;
	}
	id = intern_add(registry_strings(services->registry), name, size);
	*label = id == INTERN_FULL ? registry_other(services->registry) : id;
}

void services_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		   size_t size)
{
	if (tag != 0 && size > 0) { /* tag 0 or an empty name: the service does not run */
		add_name(services, process_id, tag, name, size);
	}
}

void services_find(struct services *services, uint32_t process_id, uint32_t tag, const char *name)
{
	if (!name) {
		map_remove(&services->names, key_of(process_id, tag));
	} else if (name[0] != '\0') {
		add_name(services, process_id, tag, name, strlen(name));
	}
}

bool services_is_host(struct services *services, uint32_t image)
{
	const char *name;
	size_t size;

	if (image == INTERN_FULL || image == services->host) {
		return image == services->host && image != INTERN_NONE;
	}
	name = intern_text(registry_strings(services->registry), image, &size);
	if (!text_equal_nocase(name, size, host_name, sizeof host_name - 1)) {
		return false;
	}
	services->host = image;
	return true;
}

uint32_t services_label(struct services *services, uint32_t process_id, uint32_t thread_id,
			int64_t time)
{
	const struct lifetime *thread = lifetimes_at(&services->tags.table, thread_id, time);
	const uint64_t *label;

	if (!thread || thread->value == 0) {
		return registry_unknown(services->registry);
	}
	if (thread->value == 1) {
		return registry_none(services->registry);
	}
	label = map_find(&services->names, key_of(process_id, thread->value - 1));
	label = label ? label : map_find(&services->names, key_of(process_id, 0));
	return label ? (uint32_t)*label : registry_unknown(services->registry);
}

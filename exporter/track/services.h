/* SPDX-License-Identifier: MIT */
/*
 * Services: which service a thread of a service host (svchost) works for. Only one consumer uses
 * it, so it has no lock.
 *
 * The service control manager assigns a sub-process tag to each service, and each thread has
 * the tag of its service. SystemConfig records contain the service of each process and tag. Both
 * tables are bounded. A live session reads from the service control manager which services run, and
 * where it cannot read their tags, a process with a single service has the tag 0 for it.
 *
 * Source: docs/etl-format.md section 15, Thread 1 to 4 and 69, SystemConfig 15; TEB.SubProcessTag,
 * System Informer, phnt/include/ntpebteb.h.
 */
#ifndef TRACK_SERVICES_H
#define TRACK_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "exporter/track/lifetimes.h"
#include "metrics/registry.h"

struct services {
	struct registry *registry; /* borrowed */
	struct timeline tags;      /* thread id -> tag + 1 */
	struct map
		names; /* process id and tag -> label id; tag 0: the only service of the process */
	uint32_t host; /* label id of the image svchost; INTERN_NONE: not seen yet */
	uint64_t refused; /* services that did not fit into names */
};

enum { SERVICES_MAX = 16384 };

/* limit: the most threads. */
void services_init(struct services *services, struct registry *registry, uint32_t limit);
void services_clear(struct services *services); /* frees all memory */

/* A thread starts or exists with a tag, takes another tag, or ends. time: raw. */
static inline void services_tag(struct services *services, enum lifetime_change change,
				uint32_t thread_id, int64_t time, uint32_t tag)
{
	timeline_announce(&services->tags, change, thread_id, time, tag + 1);
}

/* A record names the service that has a tag in a process. name: UTF-8. */
void services_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		   size_t size);

/* A live session found the service that has a tag in a process. tag 0: the only service of the
 * process. name: UTF-8; NULL: the service no longer runs. */
void services_find(struct services *services, uint32_t process_id, uint32_t tag, const char *name);

/* Whether the label of an image is that of the service host (svchost). */
bool services_is_host(struct services *services, uint32_t image);

/* Returns the label id of a thread's service at a raw time. `_none`: it works for no service.
 * `_unknown`: no record names its tag or its service. */
uint32_t services_label(struct services *services, uint32_t process_id, uint32_t thread_id,
			int64_t time);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which events a rule is about, as written in a collector: "DiskIo/Read", "DiskIo/10",
 * "Provider/12", "Provider/Name", "Provider/Task/Opcode", "{guid}/Name", a star in place of the
 * event for all of a class or provider, a star alone for all.
 */
#ifndef RULES_EVENT_PATTERN_H
#define RULES_EVENT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>

#include "base/error.h"
#include "base/guid.h"

enum event_scope {
	EVENTS_ALL,      /* "*" */
	EVENTS_KERNEL,   /* one opcode of a kernel class, or all of it */
	EVENTS_PROVIDER, /* of another provider, by its name or GUID */
};

struct event_pattern {
	enum event_scope scope;
	bool every;   /* all events of the class or provider */
	bool by_guid; /* EVENTS_PROVIDER: guid, else name */
	bool by_id;   /* EVENTS_PROVIDER: id, else event */
	uint8_t opcode;
	uint16_t id;
	struct etw_guid guid;
	/*
	 * Into the text that was parsed, cut at its last slash (behind a GUID at the first). Names
	 * of providers and events may both have slashes, so by name the whole text is compared.
	 */
	const char *provider;
	size_t provider_size;
	const char *event;
	size_t event_size;
};

/* text must stay where it is. The sentence of err has no place in front. */
bool event_pattern_parse(const char *text, size_t size, struct event_pattern *pattern,
			 struct etw_error *err);

bool event_pattern_matches(const struct event_pattern *pattern,
			   const struct etw_event_class *class);

/* Whether both can only match events with one and the same provider label. */
bool event_pattern_same_source(const struct event_pattern *a, const struct event_pattern *b);

/* Whether the pattern is about a kernel class (any of its events), or this manifest provider. */
bool event_pattern_is_class(const struct event_pattern *pattern,
			    enum etw_kernel_class kernel_class);
bool event_pattern_is_provider(const struct event_pattern *pattern, const char *name,
			       const struct etw_guid *guid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Finds what is known about the events of a pattern before any event arrives: kernel events from
 * their tables, events of a provider from the configured and built-in manifests.
 */
#ifndef RULES_KNOWN_EVENTS_H
#define RULES_KNOWN_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>

#include "base/text.h"
#include "exporter/rules/language/event_pattern.h"

struct known_event {
	const struct etw_schema *schema; /* borrowed from the tables or the manifest */
	uint64_t keywords; /* id, level and keywords are set for events of a manifest */
	uint16_t id;
	uint8_t level;
};

struct known_events {
	struct known_event *events; /* owned */
	size_t count, capacity;
	bool complete; /* the pattern matches no other event */
	bool failed;   /* set without memory */
};

/* Finds all versions of all events that the pattern matches. Free the result with
 * known_events_done(). manifests: may be NULL if the pattern is about kernel events. */
void known_events_find(struct known_events *known, const struct event_pattern *pattern,
		       const struct etw_configured_manifests *manifests);
void known_events_done(struct known_events *known);

/*
 * Appends the name of the event of the pattern's provider that is most similar to the pattern's, as
 * a rule writes it ("Provider/Name"), and sets *distance to the number of letters that differ.
 * Appends nothing if there is none.
 */
void known_events_nearest(const struct event_pattern *pattern,
			  const struct etw_configured_manifests *manifests, struct etw_text *out,
			  unsigned *distance);

#endif

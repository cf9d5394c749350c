/* SPDX-License-Identifier: MIT */
/*
 * What is known, before any event arrives, about the events that a pattern is about: kernel events
 * by their tables, those of a provider by the configured and built-in manifests.
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
	const struct etw_schema *schema; /* it belongs to the tables or the manifest */
	uint64_t keywords;               /* of a manifest, as are id and level */
	uint16_t id;
	uint8_t level;
};

struct known_events {
	struct known_event *events; /* owned */
	size_t count, capacity;
	bool complete; /* the pattern fits no other event */
	bool failed;   /* no memory */
};

/* All versions of all events that the pattern is about. To be freed with known_events_done().
 * manifests: NULL where the pattern is about kernel events. */
void known_events_find(struct known_events *known, const struct event_pattern *pattern,
		       const struct etw_configured_manifests *manifests);
void known_events_done(struct known_events *known);

/*
 * The name of an event of the pattern's provider that resembles the pattern's most, as a rule
 * writes it ("Provider/Name"), and how many letters differ; nothing is added when there is none.
 */
void known_events_nearest(const struct event_pattern *pattern,
			  const struct etw_configured_manifests *manifests, struct etw_text *out,
			  unsigned *distance);

#endif

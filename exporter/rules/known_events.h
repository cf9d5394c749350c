/* SPDX-License-Identifier: MIT */
/*
 * What the events of a rule look like, as far as that is known when the rule is read: from the
 * kernel's layouts and from manifests that were given.
 */
#ifndef RULES_KNOWN_EVENTS_H
#define RULES_KNOWN_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "decode/manifest/load.h"
#include "rules/event_pattern.h"

struct known_events {
	const struct schema **schemas; /* owned; theirs are whose they come from */
	size_t count, capacity;
	/*
	 * A manifest of the configuration describes the provider, so that an event it does not have
	 * is none. The built-in ones have some events of theirs only.
	 */
	bool complete;
	bool failed; /* no memory */
};

/* All versions of all events that the pattern is about. To be freed with known_events_done(). */
void known_events_find(struct known_events *known, const struct event_pattern *pattern,
		       const struct configured_manifests *manifests);
void known_events_done(struct known_events *known);

/*
 * The name of an event of the pattern's provider that resembles the pattern's most, as a rule
 * writes it ("Provider/Name"), and how many letters differ; nothing is added when there is none.
 */
void known_events_nearest(const struct event_pattern *pattern,
			  const struct configured_manifests *manifests, struct text *out,
			  unsigned *distance);

#endif

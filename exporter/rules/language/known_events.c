/* SPDX-License-Identifier: MIT */
#include "exporter/rules/language/known_events.h"

#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/manifest.h>

#include "base/array.h"
#include "base/nearest.h"

static void add_event(struct known_events *known, const struct known_event *event)
{
	struct known_event *grown =
		array_grow(known->events, &known->capacity, known->count, sizeof *grown);

	if (!grown) {
		known->failed = true;
		return;
	}
	known->events = grown;
	known->events[known->count++] = *event;
}

static void find_kernel(struct known_events *known, const struct event_pattern *pattern)
{
	unsigned first = pattern->every ? 0 : pattern->opcode;
	unsigned last = pattern->every ? UINT8_MAX : pattern->opcode;

	for (unsigned opcode = first; opcode <= last; opcode++) {
		const struct etw_schema *schema;
		uint8_t version;

		for (unsigned i = 0; (schema = etw_kernel_schema_at(&pattern->guid, (uint8_t)opcode,
								    i, &version)) != NULL;
		     i++) {
			add_event(known, &(struct known_event){ .schema = schema });
		}
	}
}

/* A walk over the events of those providers of a set that a pattern is about. `name` must be
 * freed. */
struct event_walk {
	const struct etw_manifest_set *set;
	const struct event_pattern *pattern;
	size_t number;  /* index of the next provider */
	size_t index;   /* index of the next event */
	bool described; /* a provider of the pattern was found */
	bool failed;    /* there was no memory for its manifest */
	struct etw_manifest_set_provider at;
	const struct etw_manifest *manifest; /* manifest of this provider; NULL without memory */
	size_t in_manifest;                  /* index of the provider in the manifest */
	struct known_event event;
	struct etw_event_class class; /* the event, with the members that patterns are compared with
				       */
	struct etw_text name;
};

static bool next_provider(struct event_walk *walk)
{
	while (etw_manifest_set_provider(walk->set, walk->number++, &walk->at)) {
		if (event_pattern_is_provider(walk->pattern, walk->at.name, walk->at.guid)) {
			walk->index = 0;
			walk->manifest = etw_manifest_set_manifest(walk->set, walk->number - 1,
								   &walk->in_manifest);
			walk->failed |= !walk->manifest;
			walk->described = true;
			return true;
		}
	}
	return false;
}

static bool next_event(struct event_walk *walk)
{
	struct etw_manifest_event event;

	while (!walk->manifest ||
	       !etw_manifest_event(walk->manifest, walk->in_manifest, walk->index, &event)) {
		if (!next_provider(walk)) {
			return false;
		}
	}
	walk->index++;
	walk->event = (struct known_event){ .schema = event.schema,
					    .keywords = event.keywords,
					    .id = event.id,
					    .level = event.level };
	text_clear(&walk->name);
	etw_event_schema_name(event.schema, &walk->name);
	walk->class =
		(struct etw_event_class){ .id = event.id,
					  .version = event.version,
					  .opcode = event.opcode,
					  .schema = event.schema,
					  .provider_name = walk->at.name,
					  .event_name = walk->name.data ? walk->name.data : "" };
	walk->class.provider = *walk->at.guid;
	return true;
}

static bool find_configured(struct known_events *known, const struct event_pattern *pattern,
			    const struct etw_manifest_set *set)
{
	struct event_walk walk = { .set = set, .pattern = pattern };

	while (next_event(&walk)) {
		if (event_pattern_matches(pattern, &walk.class)) {
			add_event(known, &walk.event);
		}
	}
	known->failed |= walk.name.failed || walk.failed;
	text_free(&walk.name);
	return walk.described;
}

void known_events_find(struct known_events *known, const struct event_pattern *pattern,
		       const struct etw_configured_manifests *manifests)
{
	*known = (struct known_events){ .events = NULL };
	if (pattern->scope == EVENTS_KERNEL) {
		find_kernel(known, pattern);
		known->complete = true;
	} else if (pattern->scope == EVENTS_PROVIDER) {
		known->complete = find_configured(known, pattern, manifests->configured);
		find_configured(known, pattern, manifests->builtin);
	}
}

void known_events_done(struct known_events *known)
{
	free(known->events);
	*known = (struct known_events){ .events = NULL };
}

void known_events_nearest(const struct event_pattern *pattern,
			  const struct etw_configured_manifests *manifests, struct etw_text *out,
			  unsigned *distance)
{
	const struct etw_manifest_set *const sets[] = { manifests->configured, manifests->builtin };
	struct nearest nearest = { .word = pattern->event, .size = pattern->event_size };

	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		struct event_walk walk = { .set = sets[i], .pattern = pattern };

		while (next_event(&walk)) {
			const char *before = nearest.best;

			if (!pattern->by_guid) {
				size_t size = strlen(walk.at.name);

				/* Names of events contain slashes as well. */
				nearest.word = pattern->provider + size + 1;
				nearest.size = pattern->provider_size + pattern->event_size - size;
			}
			nearest_offer(&nearest, walk.class.event_name);
			if (nearest.best != before) {
				text_clear(out);
				text_add_format(out, "%s/%s", walk.at.name, walk.class.event_name);
				nearest.best = walk.event.schema->event; /* it outlives the walk */
				*distance = nearest.distance;
			}
		}
		text_free(&walk.name);
	}
}

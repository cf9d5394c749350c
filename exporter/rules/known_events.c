/* SPDX-License-Identifier: MIT */
#include "rules/known_events.h"

#include <stdlib.h>
#include <string.h>

#include "config/nearest.h"
#include "decode/event_schema.h"
#include "decode/manifest/manifest.h"

static void add(struct known_events *known, const struct schema *schema)
{
	if (known->count == known->capacity) {
		size_t capacity = known->capacity ? 2 * known->capacity : 16;
		const struct schema **grown =
			realloc(known->schemas, capacity * sizeof(const struct schema *));

		if (!grown) {
			known->failed = true;
			return;
		}
		known->schemas = grown;
		known->capacity = capacity;
	}
	known->schemas[known->count++] = schema;
}

static void find_kernel(struct known_events *known, const struct event_pattern *pattern)
{
	unsigned first = pattern->every ? 0 : pattern->opcode;
	unsigned last = pattern->every ? UINT8_MAX : pattern->opcode;

	for (unsigned opcode = first; opcode <= last; opcode++) {
		const struct schema *schema;
		uint8_t version;

		for (unsigned i = 0; (schema = kernel_schema_at(&pattern->guid, (uint8_t)opcode, i,
								&version)) != NULL;
		     i++) {
			add(known, schema);
		}
	}
}

/* The kind that an event of a manifest will be, as far as patterns look at it. */
static void make_class(struct event_class *class, const struct manifest *manifest, size_t index,
		       const struct manifest_event *event, struct text *name)
{
	text_clear(name);
	event_schema_name(event->schema, name);
	*class = (struct event_class){ .id = event->id,
				       .version = event->version,
				       .opcode = event->opcode,
				       .schema = event->schema,
				       .provider_name = manifest_provider_name(manifest, index),
				       .event_name = name->data ? name->data : "" };
	manifest_provider_guid(manifest, index, &class->provider);
}

/* A provider of a set that a pattern is about. */
struct provider_walk {
	const struct manifest_set *set;
	const struct event_pattern *pattern;
	size_t number;
	struct manifest_set_provider found;
};

static bool next_provider(struct provider_walk *walk)
{
	while (manifest_set_provider(walk->set, walk->number++, &walk->found)) {
		const char *name = manifest_provider_name(walk->found.manifest, walk->found.index);

		if (event_pattern_is_provider(walk->pattern, name, walk->found.guid)) {
			return true;
		}
	}
	return false;
}

static bool find_configured(struct known_events *known, const struct event_pattern *pattern,
			    const struct manifest_set *set)
{
	struct provider_walk walk = { .set = set, .pattern = pattern };
	struct text name = { 0 };
	bool described = false;

	while (next_provider(&walk)) {
		struct manifest_event event;
		struct event_class class;

		described = true;
		for (size_t i = 0; manifest_event(walk.found.manifest, walk.found.index, i, &event);
		     i++) {
			make_class(&class, walk.found.manifest, walk.found.index, &event, &name);
			if (event_pattern_matches(pattern, &class)) {
				add(known, event.schema);
			}
		}
	}
	known->failed |= name.failed;
	text_free(&name);
	return described;
}

void known_events_find(struct known_events *known, const struct event_pattern *pattern,
		       const struct configured_manifests *manifests)
{
	*known = (struct known_events){ .schemas = NULL };
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
	free(known->schemas);
	*known = (struct known_events){ .schemas = NULL };
}

void known_events_nearest(const struct event_pattern *pattern,
			  const struct configured_manifests *manifests, struct text *out,
			  unsigned *distance)
{
	const struct manifest_set *const sets[] = { manifests->configured, manifests->builtin };
	struct nearest nearest = { .word = pattern->event, .size = pattern->event_size };
	struct text name = { 0 };

	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		struct provider_walk walk = { .set = sets[i], .pattern = pattern };

		while (next_provider(&walk)) {
			const char *provider =
				manifest_provider_name(walk.found.manifest, walk.found.index);
			size_t size = strlen(provider);
			struct manifest_event event;
			struct event_class class;

			if (!pattern->by_guid) {
				/* Events by name have slashes as well. */
				nearest.word = pattern->provider + size + 1;
				nearest.size = pattern->provider_size + pattern->event_size - size;
			}
			for (size_t k = 0;
			     manifest_event(walk.found.manifest, walk.found.index, k, &event);
			     k++) {
				const char *before = nearest.best;

				make_class(&class, walk.found.manifest, walk.found.index, &event,
					   &name);
				nearest_offer(&nearest, class.event_name);
				if (nearest.best != before) {
					text_clear(out);
					text_add_format(out, "%s/%s", provider, class.event_name);
					nearest.best = event.schema->event; /* stays */
					*distance = nearest.distance;
				}
			}
		}
	}
	text_free(&name);
}

/* SPDX-License-Identifier: MIT */
/*
 * Parses event patterns of rules and compares them with event classes.
 *
 * A pattern is PROVIDER/EVENT, where the provider is a kernel class, a name or a GUID, and the
 * event is a name, a number or a star. Kernel classes and their events are known, so an unknown
 * name of one is refused here, and the error suggests the nearest known one. Names of other
 * providers and their events are only known when they arrive.
 *
 * Both may contain slashes: "My-Alpha/Beta" is a provider, "Task/Start" an event. A text is cut at
 * its last slash when the event is a number or a star; by name it is unknown where to cut, so the
 * whole text is compared with "provider/event" of the event class. An event has up to three names:
 * its label, the one in its description ("Task/win:Start") and its symbol; each of them matches.
 * Names are compared without case, as Windows does.
 */
#include <etw/describe.h>

#include "exporter/rules/language/event_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/text.h"

/* Refuses a pattern whose part before a slash looks like a misspelt kernel class. */
static bool refuse_near_class(const char *name, size_t size, struct etw_error *err)
{
	struct nearest nearest = { .word = name, .size = size };
	struct etw_guid guid;
	const char *kernel_class;

	for (unsigned i = 0; (kernel_class = etw_kernel_class_at(i, &guid)) != NULL; i++) {
		nearest_offer(&nearest, kernel_class);
	}
	if (!nearest.best || nearest.distance > 2) {
		return true;
	}
	return error_set(err, ETW_ERROR_CONFIG, "unknown event class '%.*s'; did you mean '%s'?",
			 (int)size, name, nearest.best);
}

static bool unknown_kernel_event(const char *text, size_t size, const struct event_pattern *pattern,
				 struct etw_error *err)
{
	struct nearest nearest = { .word = pattern->event, .size = pattern->event_size };

	for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const char *name = etw_kernel_event_name(&pattern->guid, (uint8_t)opcode);

		if (name) {
			nearest_offer(&nearest, name);
		}
	}
	if (nearest.best) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "unknown event '%.*s'; did you mean '%s/%s'?", (int)size, text,
				 etw_kernel_class_name(&pattern->guid), nearest.best);
	}
	return error_set(err, ETW_ERROR_CONFIG, "unknown event '%.*s'", (int)size, text);
}

static bool parse_kernel(const char *text, size_t size, struct event_pattern *pattern,
			 struct etw_error *err)
{
	uint64_t opcode;

	pattern->scope = EVENTS_KERNEL;
	if (pattern->every || etw_kernel_event_find(&pattern->guid, pattern->event,
						    pattern->event_size, &pattern->opcode)) {
		return true;
	}
	if (!parse_u64(pattern->event, pattern->event_size, &opcode)) {
		return unknown_kernel_event(text, size, pattern, err);
	}
	if (opcode > UINT8_MAX) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "unknown event '%.*s': an opcode is at most 255", (int)size, text);
	}
	pattern->opcode = (uint8_t)opcode;
	return true;
}

static bool parse_guid(const char *text, size_t size, struct etw_guid *guid)
{
	char copy[64];

	if (size >= sizeof copy) {
		return false;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	return etw_guid_parse(copy, guid);
}

bool event_pattern_parse(const char *text, size_t size, struct event_pattern *pattern,
			 struct etw_error *err)
{
	struct event_pattern found = { .scope = EVENTS_PROVIDER };
	size_t slash = size;
	uint64_t id;

	if (size == 1 && text[0] == '*') {
		*pattern = (struct event_pattern){ .scope = EVENTS_ALL, .every = true };
		return true;
	}
	while (slash > 0 && text[slash - 1] != '/') {
		slash--;
	}
	if (text[0] == '{') {
		const char *end = memchr(text, '/', size);

		slash = end ? (size_t)(end - text) + 1 : 0;
	}
	if (slash < 2 || slash == size) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "'%.*s' is not an event such as DiskIo/Read or Provider/12",
				 (int)size, text);
	}
	found.provider = text;
	found.provider_size = slash - 1;
	found.event = text + slash;
	found.event_size = size - slash;
	found.every = found.event_size == 1 && found.event[0] == '*';
	if (text[0] == '{') {
		if (!parse_guid(text, found.provider_size, &found.guid)) {
			return error_set(err, ETW_ERROR_CONFIG, "'%.*s' is not a GUID",
					 (int)found.provider_size, text);
		}
		found.by_guid = true;
	}
	if (found.by_guid ? etw_kernel_class_name(&found.guid) != NULL :
			    etw_kernel_class_find(text, found.provider_size, &found.guid)) {
		if (!parse_kernel(text, size, &found, err)) {
			return false;
		}
		*pattern = found;
		return true;
	}
	if (!found.by_guid && !refuse_near_class(text, found.provider_size, err)) {
		return false;
	}
	if (!found.every && parse_u64(found.event, found.event_size, &id)) {
		if (id > UINT16_MAX) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "unknown event '%.*s': an id is at most 65535", (int)size,
					 text);
		}
		found.by_id = true;
		found.id = (uint16_t)id;
	}
	*pattern = found;
	return true;
}

static bool is_text(const char *a, size_t a_size, const char *b)
{
	return text_equal_nocase(a, a_size, b, strlen(b));
}

static bool provider_matches(const struct event_pattern *pattern,
			     const struct etw_event_class *class)
{
	if (pattern->by_guid) {
		return etw_guid_equal(&pattern->guid, &class->provider);
	}
	return is_text(pattern->provider, pattern->provider_size, class->provider_name);
}

/* Returns whether the pattern's text is "provider/event". */
static bool is_both(const struct event_pattern *pattern, const char *provider, const char *event)
{
	const char *text = pattern->provider;
	size_t size = pattern->provider_size + 1 + pattern->event_size;
	size_t provider_size = strlen(provider);

	return provider_size < size && text[provider_size] == '/' &&
	       text_starts_nocase(text, size, provider, provider_size) &&
	       is_text(text + provider_size + 1, size - provider_size - 1, event);
}

static bool event_matches(const struct event_pattern *pattern, const struct etw_event_class *class,
			  const char *event)
{
	if (!event) {
		return false;
	}
	if (pattern->by_guid) {
		return etw_guid_equal(&pattern->guid, &class->provider) &&
		       is_text(pattern->event, pattern->event_size, event);
	}
	return is_both(pattern, class->provider_name, event);
}

bool event_pattern_matches(const struct event_pattern *pattern, const struct etw_event_class *class)
{
	const struct etw_schema *schema = class->schema;

	switch (pattern->scope) {
	case EVENTS_ALL:
		return true;
	case EVENTS_KERNEL:
		return class->kernel_class != ETW_KERNEL_NONE &&
		       etw_guid_equal(&pattern->guid, &class->provider) &&
		       (pattern->every || pattern->opcode == class->opcode);
	case EVENTS_PROVIDER:
		break;
	}
	if (pattern->every) {
		return provider_matches(pattern, class);
	}
	if (pattern->by_id) {
		return pattern->id == (class->classic ? class->opcode : class->id) &&
		       provider_matches(pattern, class);
	}
	if (event_matches(pattern, class, class->event_name)) {
		return true;
	}
	/* The event's name in its description ("Task/win:Start"), or its symbol, matches, too. */
	return schema && schema->origin != ETW_SCHEMA_KERNEL &&
	       (event_matches(pattern, class, schema->event) ||
		event_matches(pattern, class, schema->symbol));
}

/* Returns the size of the part that certainly belongs to the provider's name: event names may
 * have slashes. */
static size_t sure_provider_size(const struct event_pattern *pattern)
{
	const char *slash;

	if (pattern->by_id || pattern->every) {
		return pattern->provider_size;
	}
	slash = memchr(pattern->provider, '/', pattern->provider_size);
	return slash ? (size_t)(slash - pattern->provider) : pattern->provider_size;
}

bool event_pattern_same_source(const struct event_pattern *a, const struct event_pattern *b)
{
	if (a->scope != b->scope || a->scope == EVENTS_ALL) {
		return false;
	}
	if (a->scope == EVENTS_KERNEL) {
		/* All kernel classes have the label "Windows Kernel", except MetaData. */
		return etw_kernel_class_is_kernel(&a->guid) == etw_kernel_class_is_kernel(&b->guid);
	}
	if (a->by_guid != b->by_guid) {
		return false; /* whether the name has that GUID is unknown here */
	}
	return a->by_guid ? etw_guid_equal(&a->guid, &b->guid) :
			    text_equal_nocase(a->provider, sure_provider_size(a), b->provider,
					      sure_provider_size(b));
}

bool event_pattern_is_class(const struct event_pattern *pattern, enum etw_kernel_class kernel_class)
{
	return pattern->scope == EVENTS_KERNEL &&
	       etw_kernel_class_of(&pattern->guid) == kernel_class;
}

bool event_pattern_is_provider(const struct event_pattern *pattern, const char *name,
			       const struct etw_guid *guid)
{
	size_t size;

	if (pattern->scope != EVENTS_PROVIDER) {
		return false;
	}
	if (pattern->by_guid) {
		return etw_guid_equal(&pattern->guid, guid);
	}
	if (pattern->by_id || pattern->every) {
		return is_text(pattern->provider, pattern->provider_size, name);
	}
	/* Names of providers and of events may contain slashes. */
	size = strlen(name);
	return size < pattern->provider_size + 1 + pattern->event_size &&
	       pattern->provider[size] == '/' &&
	       text_equal_nocase(pattern->provider, size, name, size);
}

/* ---- what is known about the events of a pattern ---- */

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

/* SPDX-License-Identifier: MIT */
/*
 * The events that a rule is about, as a collector writes them: "DiskIo/Read", "DiskIo/10",
 * "Provider/12", "Provider/Name", "Provider/Task/Opcode", "{guid}/Name"; a star in place of the
 * event for all events of a class or provider, and a star alone for all events.
 */
#ifndef RULES_EVENT_PATTERN_H
#define RULES_EVENT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/manifest.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"

enum event_scope {
	EVENTS_ALL,      /* "*" */
	EVENTS_KERNEL,   /* one opcode of a kernel class, or all of it */
	EVENTS_PROVIDER, /* events of another provider, by its name or GUID */
};

struct event_pattern {
	enum event_scope scope;
	bool every;   /* all events of the class or provider */
	bool by_guid; /* EVENTS_PROVIDER: guid identifies the provider, otherwise its name */
	bool by_id;   /* EVENTS_PROVIDER: id identifies the event, otherwise its name */
	uint8_t opcode;
	uint16_t id;
	struct etw_guid guid;
	/*
	 * Pointers into the text that was parsed, which is cut at its last slash (after a GUID, at
	 * the first). Names of providers and of events may both contain slashes, so patterns by
	 * name compare the whole text.
	 */
	const char *provider;
	size_t provider_size;
	const char *event;
	size_t event_size;
};

/* Parses a pattern. The text is borrowed and must outlive the pattern. On failure err is a
 * sentence without a place in a file. */
bool event_pattern_parse(const char *text, size_t size, struct event_pattern *pattern,
			 struct etw_error *err);

bool event_pattern_matches(const struct event_pattern *pattern,
			   const struct etw_event_class *class);

/* Returns whether both patterns can only match events with the same provider label. */
bool event_pattern_same_source(const struct event_pattern *a, const struct event_pattern *b);

/* Returns whether the pattern is about events of a kernel class, or of this manifest provider. */
bool event_pattern_is_class(const struct event_pattern *pattern,
			    enum etw_kernel_class kernel_class);
bool event_pattern_is_provider(const struct event_pattern *pattern, const char *name,
			       const struct etw_guid *guid);

/* ---- what is known about the events of a pattern ---- */

/*
 * Finds what is known about the events of a pattern before any event arrives: kernel events from
 * their tables, events of a provider from the configured and built-in manifests.
 */

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

/* SPDX-License-Identifier: MIT */
/*
 * A filter decides twice: once per event class, when the pipeline meets it, and once per record.
 *
 * Names may be written in several ways. A provider is given by its name, its GUID, the name of a
 * kernel class, or a pattern with * and ?; an event by the name that rules use, the name in its
 * schema, the symbol of its manifest, or its number. Every name that is compared and does not match
 * is offered as a suggestion, so that a typo can be answered with the nearest name that occurs in
 * the recording. For this all records are compared by process, even those that another condition
 * leaves out.
 *
 * Conditions on fields are those of a rule. The pipeline evaluates them (rules/probe.h); here they
 * are only parsed, and their fields looked up for suggestions.
 */
#include "tool/event_filter.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/text.h"
#include "decode/field_path.h"
#include "rules/language/event_pattern.h"
#include "tool/tool.h"
#include "tool/utc.h"
#include "track/derived_fields.h"

bool filter_time_parse(const char *text, struct filter_time *time)
{
	time->relative = utc_parse_seconds(text, &time->time_100ns);
	time->set = time->relative || utc_parse(text, &time->time_100ns);
	return time->set;
}

bool event_filter_where(struct event_filter *filter, const char *text, struct error *err)
{
	if (!filter->probe) {
		filter->probe = probe_new(err);
	}
	if (filter->probe && probe_field(filter->probe, FILTER_CONDITIONS_MOST - 1)) {
		return error_set(err, ERROR_LIMIT, "more than %d conditions",
				 FILTER_CONDITIONS_MOST);
	}
	return filter->probe && probe_add(filter->probe, text, err);
}

bool event_filter_active(const struct event_filter *filter)
{
	return filter->provider.name || filter->event.name || filter->process.name ||
	       filter->probe || filter->from.set || filter->to.set;
}

/* ---- names ---- */

static void offer(struct wanted_name *wanted, const char *known)
{
	const char *before = wanted->nearest.best;

	wanted->nearest.word = wanted->name;
	wanted->nearest.size = strlen(wanted->name);
	nearest_offer(&wanted->nearest, known);
	if (wanted->nearest.best != before) { /* known may be freed */
		snprintf(wanted->suggestion, sizeof wanted->suggestion, "%s", known);
		wanted->nearest.best = wanted->suggestion;
	}
}

/* Remembers that the name was met. */
static bool note(struct wanted_name *wanted, bool same)
{
	wanted->met |= same;
	return same;
}

/* Whether a known name is the wanted one; else it may be the nearest. */
static bool is_wanted(struct wanted_name *wanted, const char *known)
{
	if (!note(wanted, glob_matches_nocase(wanted->name, known))) {
		offer(wanted, known);
		return false;
	}
	return true;
}

bool wanted_provider(struct wanted_name *wanted, const struct event_class *class)
{
	const char *kernel_class = kernel_class_name(&class->provider);
	struct guid guid;

	if (guid_parse(wanted->name, &guid)) {
		return note(wanted, guid_equal(&guid, &class->provider));
	}
	return is_wanted(wanted, class->provider_name) ||
	       (kernel_class && is_wanted(wanted, kernel_class));
}

/* "DiskIo/Read", "Provider/12": as a rule has it. */
static bool is_pattern_of(const char *text, const struct event_class *class)
{
	struct event_pattern pattern;

	return event_pattern_parse(text, strlen(text), &pattern, NULL) &&
	       event_pattern_matches(&pattern, class);
}

bool wanted_event(struct wanted_name *wanted, const struct event_class *class)
{
	const char *slash = strrchr(class->event_name, '/');
	const struct schema *schema = class->schema;
	uint64_t number;

	if (parse_u64(wanted->name, strlen(wanted->name), &number)) {
		return note(wanted, number == (class->classic ? class->opcode : class->id));
	}
	if (is_wanted(wanted, class->event_name) || (slash && is_wanted(wanted, slash + 1)) ||
	    (schema && is_wanted(wanted, schema->event)) ||
	    (schema && schema->symbol && is_wanted(wanted, schema->symbol))) {
		return true;
	}
	return strchr(wanted->name, '/') && note(wanted, is_pattern_of(wanted->name, class));
}

/* ---- kinds ---- */

static void look_for_fields(struct event_filter *filter, const struct event_class *class)
{
	const struct schema *schema = class->schema;
	struct field_path path;
	const char *name;

	for (size_t i = 0; (name = probe_field(filter->probe, i)) != NULL; i++) {
		struct wanted_name *field = &filter->fields[i];

		field->name = name;
		field->met |= derived_find(name) ||
			      (schema && field_path_find(schema, name, &path));
		for (unsigned j = 0; !field->met && schema && j < schema->field_count; j++) {
			offer(field, schema->fields[j].name);
		}
	}
}

void event_filter_class(struct event_filter *filter, const struct event_class *class)
{
	bool wanted = (!filter->provider.name || wanted_provider(&filter->provider, class)) &&
		      (!filter->event.name || wanted_event(&filter->event, class));
	uint64_t *verdict = map_put(&filter->classes, (uintptr_t) class, NULL);

	if (verdict) {
		*verdict = wanted;
	}
	if (wanted && filter->probe) {
		look_for_fields(filter, class);
	}
}

/* ---- records ---- */

static bool keeps_process(struct event_filter *filter, const struct recording *recording,
			  struct tracker *tracker)
{
	struct wanted_name *wanted = &filter->process;
	const char *name;
	uint64_t number;
	uint32_t id;
	uint64_t *verdict;
	bool added;

	name = recording_process(recording, tracker, &id);
	if (parse_u64(wanted->name, strlen(wanted->name), &number)) {
		return note(wanted, id == number);
	}
	verdict = map_put(&filter->processes, (uintptr_t)name, &added);
	if (!verdict) {
		return is_wanted(wanted, name);
	}
	if (added) {
		size_t size = strlen(wanted->name);

		*verdict = is_wanted(wanted, name);
		/* Labels have no ".exe". */
		if (text_ends_nocase(wanted->name, size, ".exe", 4) && size - 4 == strlen(name) &&
		    text_starts_nocase(wanted->name, size, name, size - 4)) {
			*verdict = wanted->met = true;
		}
	}
	return *verdict != 0;
}

static bool keeps_time(const struct event_filter *filter, int64_t time)
{
	const struct filter_time *from = &filter->from, *to = &filter->to;

	if (from->set && time < from->time_100ns + (from->relative ? filter->start : 0)) {
		return false;
	}
	return !to->set || time < to->time_100ns + (to->relative ? filter->start : 0);
}

bool event_filter_keeps(struct event_filter *filter, const struct recording *recording,
			const struct event_record *record, const struct event_class *class,
			struct tracker *tracker)
{
	const uint64_t *verdict = map_find(&filter->classes, (uintptr_t) class);

	/* The process goes first: suggestions need the names of all records. */
	if (filter->process.name && !keeps_process(filter, recording, tracker)) {
		return false;
	}
	if (verdict && *verdict == 0) {
		return false;
	}
	if ((filter->from.set || filter->to.set) &&
	    (record->time == RECORD_NO_TIME || !keeps_time(filter, record->time))) {
		return false;
	}
	return true;
}

/* ---- after a run ---- */

int wanted_missing(const struct wanted_name *wanted, const char *command, const char *what)
{
	return tool_complain(TOOL_FAILED, command, "the recording has no %s '%s'%s%s%s", what,
			     wanted->name, wanted->nearest.best ? "; did you mean '" : "",
			     wanted->nearest.best ? wanted->nearest.best : "",
			     wanted->nearest.best ? "'?" : "");
}

bool event_filter_found(const struct event_filter *filter, const char *command)
{
	if (filter->provider.name && !filter->provider.met) {
		wanted_missing(&filter->provider, command, "provider");
		return false;
	}
	if (filter->event.name && !filter->event.met) {
		wanted_missing(&filter->event, command, "event");
		return false;
	}
	for (size_t i = 0; filter->probe && probe_field(filter->probe, i); i++) {
		if (!filter->fields[i].met) {
			wanted_missing(&filter->fields[i], command, "field");
			return false;
		}
	}
	if (filter->process.name && !filter->process.met && !filter->probe) {
		wanted_missing(&filter->process, command, "process");
		return false;
	}
	return true;
}

void event_filter_done(struct event_filter *filter)
{
	probe_free(filter->probe);
	map_done(&filter->classes);
	map_done(&filter->processes);
}

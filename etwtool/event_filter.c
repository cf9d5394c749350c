/* SPDX-License-Identifier: MIT */
/*
 * A filter decides twice: once per event class, when the pipeline meets it, and once per record.
 *
 * Names may be written in several ways. A provider is given by its name, its GUID, the name of a
 * kernel class, or a pattern with * and ?; an event by the name that rules use, the name in its
 * schema, the symbol of its manifest, or its number. Every name that does not match is tried as a
 * suggestion, so that the complaint about a typo or an abbreviation can show the nearest name in
 * the recording. Therefore the process of every record is compared, even if another condition
 * leaves the record out.
 *
 * Conditions on fields are those of a rule. The pipeline evaluates them
 * (exporter/rules/rules.h); this file only parses them, and looks up their fields for
 * suggestions.
 */
#include "etwtool/event_filter.h"

#include <stdio.h>
#include <string.h>

#include <etw/record.h>
#include <etw/schema.h>

#include "base/glob.h"
#include "base/text.h"
#include "base/utc.h"
#include "etwtool/tool.h"
#include "exporter/rules/language/event_pattern.h"
#include "exporter/track/derived_fields.h"

bool event_filter_where(void *target, const char *text, struct etw_error *err)
{
	struct event_filter *filter = target;
	const char *name;

	if (!filter->probe) {
		filter->probe = probe_new(err);
	}
	if (!filter->probe || !probe_add(filter->probe, text, err)) {
		return error_prefix(err, "--where");
	}
	for (size_t i = 0; (name = probe_field(filter->probe, i)) != NULL; i++) {
		filter->fields[i].name = name;
	}
	return true;
}

bool event_filter_active(const struct event_filter *filter)
{
	return filter->provider.name || filter->event.name || filter->process.name ||
	       filter->probe || filter->from.set || filter->to.set;
}

/* ---- names ---- */

static char ascii_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Returns whether a word has the capitals of a name, as "gc" has those of "GarbageCollection". */
static bool is_initials(const char *word, size_t word_size, const char *name, size_t name_size)
{
	size_t met = 0;

	for (size_t i = 0; i < name_size; i++) {
		if (name[i] >= 'A' && name[i] <= 'Z') {
			if (met == word_size || ascii_upper(word[met]) != name[i]) {
				return false;
			}
			met++;
		}
	}
	return met == word_size && met > 1;
}

/*
 * Returns whether a word abbreviates a name, as "GC/Start" does for "GarbageCollection/Start":
 * initials before the slash, the same text after it.
 */
static bool abbreviates(const char *word, const char *known)
{
	size_t word_task = strcspn(word, "/"), known_task = strcspn(known, "/");
	const char *word_rest = word + word_task, *known_rest = known + known_task;

	return *word_rest == '/' &&
	       text_equal_nocase(word_rest, strlen(word_rest), known_rest, strlen(known_rest)) &&
	       is_initials(word, word_task, known, known_task);
}

static void offer_suggestion(struct requested_name *requested, const char *known)
{
	const char *before = requested->nearest.best;

	requested->nearest.word = requested->name;
	requested->nearest.size = strlen(requested->name);
	if (abbreviates(requested->name, known)) {
		requested->nearest.best = known;
		requested->nearest.distance = 0;
	} else {
		nearest_offer(&requested->nearest, known);
	}
	if (requested->nearest.best != before) { /* known may be freed later */
		snprintf(requested->suggestion, sizeof requested->suggestion, "%s", known);
		requested->nearest.best = requested->suggestion;
	}
}

/* Notes that the name occurred, if same is true. Returns same. */
static bool note_match(struct requested_name *requested, bool same)
{
	requested->met |= same;
	return same;
}

/* Returns whether a known name is the requested one. Otherwise tries it as the nearest. */
static bool is_requested(struct requested_name *requested, const char *known)
{
	if (!note_match(requested, glob_matches_nocase(requested->name, known))) {
		offer_suggestion(requested, known);
		return false;
	}
	return true;
}

bool is_requested_provider(struct requested_name *requested, const struct etw_event_class *class)
{
	const char *kernel_class = etw_kernel_class_name(&class->provider);
	struct etw_guid guid;

	if (etw_guid_parse(requested->name, &guid)) {
		return note_match(requested, etw_guid_equal(&guid, &class->provider));
	}
	return is_requested(requested, class->provider_name) ||
	       (kernel_class && is_requested(requested, kernel_class));
}

/* Returns whether the text matches the name that rules use: "DiskIo/Read", "Provider/12". */
static bool is_pattern_of(const char *text, const struct etw_event_class *class)
{
	struct event_pattern pattern;

	return event_pattern_parse(text, strlen(text), &pattern, NULL) &&
	       event_pattern_matches(&pattern, class);
}

bool is_requested_event(struct requested_name *requested, const struct etw_event_class *class)
{
	const char *slash = strrchr(class->event_name, '/');
	const struct etw_schema *schema = class->schema;
	uint64_t number;

	if (parse_u64(requested->name, strlen(requested->name), &number)) {
		return note_match(requested,
				  number == (class->classic ? class->opcode : class->id));
	}
	/*
	 * A text with a slash names provider and event, so the event's name alone is not suggested.
	 */
	if (is_requested(requested, class->event_name) ||
	    (slash && !strchr(requested->name, '/') && is_requested(requested, slash + 1)) ||
	    (schema && is_requested(requested, schema->event)) ||
	    (schema && schema->symbol && is_requested(requested, schema->symbol))) {
		return true;
	}
	if (!strchr(requested->name, '/')) {
		return false;
	}
	if (!note_match(requested, is_pattern_of(requested->name, class))) {
		char whole[2 * SUGGESTION_SIZE];

		snprintf(whole, sizeof whole, "%s/%s", class->provider_name, class->event_name);
		offer_suggestion(requested, whole);
		return false;
	}
	return true;
}

/* ---- event classes ---- */

static void offer_field_names(struct event_filter *filter, const struct etw_event_class *class)
{
	const struct etw_schema *schema = class->schema;
	struct etw_field_path path;
	const char *name;

	for (size_t i = 0; (name = probe_field(filter->probe, i)) != NULL; i++) {
		struct requested_name *field = &filter->fields[i];

		field->met |= derived_find(name) ||
			      (schema && etw_field_path_find(schema, name, &path));
		for (unsigned j = 0; !field->met && schema && j < schema->field_count; j++) {
			offer_suggestion(field, schema->fields[j].name);
		}
	}
}

void event_filter_class(struct event_filter *filter, const struct etw_event_class *class)
{
	bool requested =
		(!filter->provider.name || is_requested_provider(&filter->provider, class)) &&
		(!filter->event.name || is_requested_event(&filter->event, class));
	uint64_t *verdict = map_put(&filter->classes, (uintptr_t) class, NULL);

	if (verdict) {
		*verdict = requested;
	}
	if (requested && filter->probe) {
		offer_field_names(filter, class);
	}
}

/* ---- records ---- */

static bool keeps_process(struct event_filter *filter, const char *name, uint32_t id)
{
	struct requested_name *requested = &filter->process;
	uint64_t number;
	uint64_t *verdict;
	bool added;

	if (parse_u64(requested->name, strlen(requested->name), &number)) {
		return note_match(requested, id == number);
	}
	verdict = map_put(&filter->processes, (uintptr_t)name, &added);
	if (!verdict) {
		return is_requested(requested, name);
	}
	if (added) {
		size_t size = strlen(requested->name);

		*verdict = is_requested(requested, name);
		/* Process labels have no ".exe". */
		if (text_ends_nocase(requested->name, size, ".exe", 4) &&
		    size - 4 == strlen(name) &&
		    text_starts_nocase(requested->name, size, name, size - 4)) {
			*verdict = requested->met = true;
		}
	}
	return *verdict != 0;
}

static double seconds_after(int64_t start, int64_t time)
{
	return time < start ? -(double)etw_time_between(time, start) / 1e7 :
			      (double)etw_time_between(start, time) / 1e7;
}

static int64_t wall_time(const struct event_filter *filter, const struct utc_moment *time)
{
	return time->relative ? etw_time_add(filter->start, time->time_100ns) : time->time_100ns;
}

static bool keeps_time(const struct event_filter *filter, int64_t time)
{
	if (filter->from.set && time < wall_time(filter, &filter->from)) {
		return false;
	}
	return !filter->to.set || time < wall_time(filter, &filter->to);
}

bool event_filter_is_empty(const struct event_filter *filter)
{
	const struct utc_moment *from = &filter->from;
	const struct utc_moment *to = &filter->to;

	if (!from->set || !to->set) {
		return false;
	}
	/*
	 * Relative times are compared directly, because both sums with the start may saturate at
	 * the same time.
	 */
	if (from->relative && to->relative) {
		return to->time_100ns <= from->time_100ns;
	}
	return wall_time(filter, to) <= wall_time(filter, from);
}

bool event_filter_keeps_of(struct event_filter *filter, const char *process, uint32_t process_id,
			   const struct etw_record *record, const struct etw_event_class *class)
{
	const uint64_t *verdict = map_find(&filter->classes, (uintptr_t) class);

	/* The process is compared first, because suggestions need the processes of all records. */
	if (filter->process.name && !keeps_process(filter, process, process_id)) {
		return false;
	}
	if (verdict && *verdict == 0) {
		return false;
	}
	if ((filter->from.set || filter->to.set) &&
	    (record->time == ETW_RECORD_NO_TIME || !keeps_time(filter, record->time))) {
		return false;
	}
	return true;
}

bool event_filter_keeps(struct event_filter *filter, const struct recording *recording,
			const struct etw_record *record, const struct etw_event_class *class)
{
	const char *process = NULL;
	uint32_t id = ETW_RECORD_NO_ID;

	if (filter->process.name) {
		process = recording_process(recording, &id);
	}
	return event_filter_keeps_of(filter, process, id, record, class);
}

/* ---- after a run ---- */

static int complain_about(const struct requested_name *requested, const char *command,
			  const char *has_no, const char *what)
{
	const char *nearest = requested->nearest.best;

	return tool_complain(TOOL_FAILED, command, "%s %s '%s'%s%s%s", has_no, what,
			     requested->name, nearest ? "; did you mean '" : "",
			     nearest ? nearest : "", nearest ? "'?" : "");
}

int complain_of_missing(const struct requested_name *requested, const char *command,
			const char *what)
{
	return complain_about(requested, command, "the recording has no", what);
}

/* Returns true if no name was requested or it occurred. Otherwise complains and returns false. */
static bool was_met(const struct event_filter *filter, const struct requested_name *requested,
		    const char *command, const char *what)
{
	if (!requested->name || requested->met) {
		return true;
	}
	complain_about(requested, command,
		       filter->live ? "the sessions had no" : "the recording has no", what);
	return false;
}

enum { ROUNDED = 10000 }; /* 1 ms, because users copy times with fewer digits */

/* Returns whether the time range may have a record. Otherwise complains and returns false. */
static bool range_was_met(const struct event_filter *filter, const struct record_times *times,
			  const char *command)
{
	char first[UTC_TEXT_SIZE], last[UTC_TEXT_SIZE];

	if (!filter->from.set && !filter->to.set) {
		return true;
	}
	if (times->first == ETW_RECORD_NO_TIME) {
		tool_complain(TOOL_FAILED, command,
			      "no event of the recording has a time, so none is in the time range");
		return false;
	}
	if ((!filter->from.set ||
	     wall_time(filter, &filter->from) < etw_time_add(times->last, ROUNDED)) &&
	    (!filter->to.set ||
	     wall_time(filter, &filter->to) > times->first - times->first % ROUNDED)) {
		return true;
	}
	tool_complain(TOOL_FAILED, command,
		      "the time range is outside the recording, which has events from %s to %s "
		      "(second %.1f to %.1f)",
		      utc_format(times->first, first) ? first : "an impossible time",
		      utc_format(times->last, last) ? last : "an impossible time",
		      seconds_after(filter->start, times->first),
		      seconds_after(filter->start, times->last));
	return false;
}

bool event_filter_found(const struct event_filter *filter, const struct record_times *times,
			const char *command)
{
	bool found = was_met(filter, &filter->provider, command, "provider") &&
		     was_met(filter, &filter->event, command, "event");

	for (size_t i = 0; found && filter->probe && probe_field(filter->probe, i); i++) {
		found = was_met(filter, &filter->fields[i], command, "field");
	}
	return found && (filter->probe || was_met(filter, &filter->process, command, "process")) &&
	       range_was_met(filter, times, command);
}

void event_filter_done(struct event_filter *filter)
{
	probe_free(filter->probe);
	map_done(&filter->classes);
	map_done(&filter->processes);
}

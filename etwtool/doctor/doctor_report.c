/* SPDX-License-Identifier: MIT */
/*
 * Writes the report of etwtool doctor, for people and as JSON: the findings, then a line for each
 * collector, then how to record what the requested collectors need, and at the end what to do
 * first, which is the advice of the first warnings.
 *
 * For people warnings come before notes, and each finding is followed by its advice. A requested
 * collector that is not fed is followed by the logman lines that would feed it alone. Sentences
 * that contain names of a recording were escaped for a terminal when they were written.
 */
#include <inttypes.h>
#include <string.h>

#include "base/os.h"
#include "etwtool/doctor/doctor.h"
#include "etwtool/tool.h"
#include "base/utc.h"

enum { STEPS_MOST = 3 }; /* most lines about what to do first */

/* ---- how to record ---- */

void doctor_add_how_text(struct etw_text *out, const char *profile,
			 const struct record_needs *needs)
{
	if (record_needs_empty(needs)) {
		text_add_string(out, "\nThe requested collectors need nothing of a session.\n");
		return;
	}
	text_add_string(
		out, "\nTo record what the requested collectors need (expected to work; no Windows "
		     "has run it yet):\n  kernel flags: ");
	text_add_kernel_names(out, needs->flags, needs->groups);
	text_add_char(out, '\n');
	for (size_t i = 0; i < needs->count; i++) {
		const struct etw_provider_spec *spec = &needs->providers[i];
		char label[GUID_TEXT_SIZE + 2];

		text_add_string(out, "  provider: ");
		text_add_shown(out, etw_provider_spec_label(spec, label));
		text_add_format(out, ", level %u, ", spec->level);
		if (spec->any == UINT64_MAX) {
			text_add_string(out, "all keywords\n");
		} else {
			text_add_format(out, "keywords 0x%" PRIx64 "\n", spec->any);
		}
	}
	text_add_string(out, "by Windows Performance Recorder, as an administrator:\n");
	text_add_wpr_lines(out, "  ", profile);
	text_add_string(
		out, "or by logman, as an administrator, the kernel and other providers apart:\n");
	text_add_logman_start(out, "  ", needs);
	text_add_logman_stop(out, "  ", needs);
}

void doctor_add_how_json(struct json *json, const char *profile, const struct record_needs *needs)
{
	struct etw_text lines = { 0 };

	json_member_object(json, "record");
	json_add_needs(json, needs);
	text_add_wpr_lines(&lines, "", profile);
	json_member_string(json, "wpr", lines.data ? lines.data : "");
	text_clear(&lines);
	text_add_logman_start(&lines, "", needs);
	text_add_logman_stop(&lines, "", needs);
	json_member_string(json, "logman", lines.data ? lines.data : "");
	json_object_end(json);
	json->out->failed |= lines.failed;
	text_free(&lines);
}

/* ---- the report on a recording ---- */

static void add_sentence(struct etw_text *out, const char *indent, const struct etw_text *sentence)
{
	text_add_string(out, indent);
	text_add_string(out, sentence->data ? sentence->data : "");
	text_add_char(out, '\n');
}

static const char *severity_name(enum severity severity)
{
	return severity == SEVERITY_WARNING ? "warning" : "note";
}

/* Advice that several findings in a row share is printed once, after the last of them. */
static void add_findings_text(struct etw_text *out, const struct findings *findings,
			      enum severity severity)
{
	const struct finding *last = NULL;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->rows[i];

		if (finding->severity != severity) {
			continue;
		}
		if (last && strcmp(last->to_do.data, finding->to_do.data) != 0) {
			add_sentence(out, "    do: ", &last->to_do);
		}
		text_add_format(out, "%s: ", severity_name(severity));
		add_sentence(out, "", &finding->what);
		last = finding;
	}
	if (last) {
		add_sentence(out, "    do: ", &last->to_do);
	}
}

/*
 * Returns the index of the first warning from `at` on with advice that no earlier warning gave;
 * findings->count if there is none.
 */
static size_t next_step(const struct findings *findings, size_t at)
{
	for (; at < findings->count; at++) {
		const struct finding *finding = &findings->rows[at];
		bool known = finding->severity != SEVERITY_WARNING;

		for (size_t i = 0; i < at && !known; i++) {
			known = findings->rows[i].severity == SEVERITY_WARNING &&
				strcmp(findings->rows[i].to_do.data, finding->to_do.data) == 0;
		}
		if (!known) {
			break;
		}
	}
	return at;
}

static void add_first_text(struct etw_text *out, const struct findings *findings)
{
	size_t at = next_step(findings, 0);

	text_add_string(out, "\nwhat to do first:\n");
	if (at == findings->count) {
		text_add_string(out, "  Nothing: there is no warning.\n");
	}
	for (unsigned step = 1; step <= STEPS_MOST && at < findings->count; step++) {
		text_add_format(out, "  %u. ", step);
		add_sentence(out, "", &findings->rows[at].to_do);
		at = next_step(findings, at + 1);
	}
}

static void add_first_json(struct json *json, const struct findings *findings)
{
	size_t at = next_step(findings, 0);

	json_member_array(json, "first");
	for (unsigned step = 1; step <= STEPS_MOST && at < findings->count; step++) {
		json_string(json, findings->rows[at].to_do.data);
		at = next_step(findings, at + 1);
	}
	json_array_end(json);
}

static void add_missing_text(struct etw_text *out, const struct collector_report *report)
{
	const struct record_needs *missing = &report->missing;

	if (record_needs_empty(missing)) {
		return;
	}
	text_add_string(out, "  missing: ");
	text_add_kernel_names(out, missing->flags, missing->groups);
	for (size_t i = 0; i < missing->count; i++) {
		char label[GUID_TEXT_SIZE + 2];

		text_add_string(out,
				i > 0 || missing->flags != 0 || missing->groups != 0 ? ", " : "");
		text_add_shown(out, etw_provider_spec_label(&missing->providers[i], label));
	}
}

/* Names the source that feeds a collector of which there are two. */
static void add_sources_text(struct etw_text *out, const struct collector_report *report)
{
	char label[GUID_TEXT_SIZE + 2];
	const char *between = ", from ";

	if (report->counted_of_kernel > 0) {
		text_add_format(out, "%sthe kernel", between);
		between = " and ";
	}
	for (size_t i = 0; report->counted_of_second > 0 && i < report->collector->substitute_count;
	     i++) {
		text_add_string(out, between);
		text_add_shown(out,
			       etw_provider_spec_label(&report->collector->substitutes[i], label));
		between = " and ";
	}
}

/* "fed", "not fed", … */
static const char *collector_state_name(enum collector_state state)
{
	static const char *const names[] = { [COLLECTOR_OFF] = "off",
					     [COLLECTOR_FED] = "fed",
					     [COLLECTOR_IDLE] = "idle",
					     [COLLECTOR_NOT_FED] = "not fed" };

	return names[state];
}

/*
 * Adds a collector. `all` adds its logman lines even if it is not requested. Returns whether it
 * left out such lines.
 */
static bool add_collector_text(struct etw_text *out, const struct collector_report *report,
			       bool all)
{
	bool lacks = report->state == COLLECTOR_NOT_FED || report->too_little;

	text_add_format(out, "  %-15s %-4s %-8s", report->collector->name,
			report->requested ? "on" : "off", collector_state_name(report->state));
	if (report->rules == 0 && report->state == COLLECTOR_FED &&
	    record_needs_empty(&report->missing)) {
		text_add_string(out, " has no rules; all that it needs is there");
	} else if (report->rules > 0) {
		text_add_format(out, " %10" PRIu64 " counted, events for %zu of %zu rules",
				report->counted, report->rules_with_events, report->rules);
	}
	add_sources_text(out, report);
	add_missing_text(out, report);
	text_add_char(out, '\n');
	if (lacks && (report->requested || all)) {
		text_add_logman_start(out, "      ", &report->needs);
	}
	return lacks && !report->requested && !all;
}

/* Adds the collectors that are not requested although the recording feeds them. */
static void add_fed_but_off(struct etw_text *out, const struct doctor *doctor)
{
	const char *first = NULL;

	for (size_t i = 0; i < doctor->collector_count; i++) {
		const struct collector_report *report = &doctor->collectors[i];

		if (!report->requested && report->state == COLLECTOR_FED) {
			text_add_string(out, first ? ", " : "It feeds collectors that are off: ");
			text_add_string(out, report->collector->name);
			first = first ? first : report->collector->name;
		}
	}
	if (first) {
		text_add_format(out,
				". Switch them on with --collector.NAME: etw_exporter --once "
				"--replay.file=FILE --collector.%s\n",
				first);
	}
}

void doctor_add_text(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs)
{
	char first[UTC_TEXT_SIZE], last[UTC_TEXT_SIZE];
	bool left_out = false;

	text_add_shown(out, os_path_name(doctor->path));
	text_add_string(out, ": ");
	text_add_counted(out, doctor->times.records, "record");
	if (utc_format(doctor->times.first, first) && utc_format(doctor->times.last, last)) {
		text_add_format(out, " from %s to %s, %.1f s", first, last,
				record_times_seconds(&doctor->times));
	}
	text_add_char(out, '\n');
	add_fed_but_off(out, doctor);
	text_add_format(out,
			"process _unknown: %.1f %% of all records; no process (_none): %.1f %%\n",
			percent_of(doctor->of_unknown_process, doctor->times.records),
			percent_of(doctor->of_no_process, doctor->times.records));
	text_add_string(out, doctor->findings.count > 0 ? "\n" : "\nNo problem was found.\n");
	for (unsigned severity = SEVERITY_WARNING + 1; severity-- > 0;) {
		add_findings_text(out, &doctor->findings, (enum severity)severity);
	}
	text_add_string(out,
			"\ncollectors (on: requested; idle: what it needs was enabled, but nothing "
			"happened that it counts;\n"
			"counted: events, once for each rule that counts them):\n");
	for (size_t i = 0; i < doctor->collector_count; i++) {
		left_out |= add_collector_text(out, &doctor->collectors[i], doctor->all);
	}
	if (left_out) {
		text_add_string(out,
				"  (--all shows the logman lines of those that are off, too)\n");
	}
	doctor_add_how_text(out, doctor->profile, needs);
	add_first_text(out, &doctor->findings);
}

static void add_collector_json(struct json *json, const struct collector_report *report)
{
	struct etw_text lines = { 0 };

	json_object_begin(json);
	json_member_string(json, "name", report->collector->name);
	json_key(json, "requested");
	json_bool(json, report->requested);
	json_member_string(json, "state", collector_state_name(report->state));
	json_member_u64(json, "rules", report->rules);
	json_member_u64(json, "rules_with_events", report->rules_with_events);
	json_member_u64(json, "events", report->events);
	json_member_u64(json, "counted", report->counted);
	json_member_u64(json, "counted_of_kernel", report->counted_of_kernel);
	json_member_u64(json, "counted_of_second_source", report->counted_of_second);
	json_member_object(json, "needs");
	json_add_needs(json, &report->needs);
	json_object_end(json);
	json_member_object(json, "missing");
	json_add_needs(json, &report->missing);
	json_object_end(json);
	text_add_logman_start(&lines, "", &report->needs);
	json_member_string(json, "logman", lines.data ? lines.data : "");
	json_object_end(json);
	json->out->failed |= lines.failed;
	text_free(&lines);
}

void doctor_add_json(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs)
{
	struct tool_json page;
	struct json *json = tool_json_begin(&page);

	json_member_string(json, "file", os_path_name(doctor->path));
	json_member_u64(json, "records", doctor->times.records);
	utc_member(json, "first", doctor->times.first);
	utc_member(json, "last", doctor->times.last);
	json_member_double(json, "seconds", record_times_seconds(&doctor->times));
	json_member_u64(json, "events_lost", doctor->source.events_lost);
	json_member_u64(json, "buffers_lost", doctor->source.buffers_lost);
	json_member_u64(json, "of_unknown_process", doctor->of_unknown_process);
	json_member_u64(json, "of_no_process", doctor->of_no_process);
	json_member_array(json, "findings");
	for (size_t i = 0; i < doctor->findings.count; i++) {
		const struct finding *finding = &doctor->findings.rows[i];

		json_object_begin(json);
		json_member_string(json, "severity", severity_name(finding->severity));
		json_member_string(json, "id", finding->id);
		json_member_string(json, "finding", finding->what.data);
		json_member_string(json, "do", finding->to_do.data);
		json_object_end(json);
	}
	json_array_end(json);
	json_member_array(json, "collectors");
	for (size_t i = 0; i < doctor->collector_count; i++) {
		add_collector_json(json, &doctor->collectors[i]);
	}
	json_array_end(json);
	doctor_add_how_json(json, doctor->profile, needs);
	add_first_json(json, &doctor->findings);
	tool_json_end(&page, out);
}

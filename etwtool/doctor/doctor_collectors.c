/* SPDX-License-Identifier: MIT */
/*
 * Finds which collectors a recording feeds, and what it lacks for the others.
 *
 * What a collector received is what the dry run of its rules counted. Its needs are those that it
 * has in a live session: kernel flags, including those of its derived fields, and providers.
 *
 * Two facts show what was enabled when the recording was made. A recording of the kernel has
 * records with the group masks of the session; the first word of a mask has the kernel flags
 * (EventTrace, opcode 5, in docs/etl-format.md section 15). And if an event is there, it was
 * enabled. A flag without either is called missing; without masks that can also mean that nothing
 * happened. A provider is missing if the recording has no event of it.
 */
#include <etw/kernel.h>

#include "etwtool/doctor/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "etwtool/record_needs.h"
#include "exporter/rules/language/rule_set.h"
#include "exporter/rules/rules.h"
#include "exporter/track/tracker.h"

static bool has_provider(const struct doctor *doctor, const struct etw_provider_spec *spec)
{
	bool by_name = etw_provider_spec_nameless(spec);

	for (size_t i = 0; i < doctor->classes.count; i++) {
		const struct class_row *row = &doctor->classes.rows[i];

		if (by_name ? text_equal_nocase(row->provider, strlen(row->provider), spec->name,
						strlen(spec->name)) :
			      etw_guid_equal(&row->guid, &spec->guid)) {
			return true;
		}
	}
	return false;
}

static bool add_missing(struct doctor *doctor, struct collector_report *report,
			struct etw_error *err)
{
	uint32_t seen = doctor->seen_flags | (doctor->has_masks ? doctor->mask_flags : 0);
	uint32_t seen_groups = doctor->seen_groups | (doctor->has_masks ? doctor->mask_groups : 0);
	const struct record_needs *needs = &report->needs;

	report->missing.flags = needs->flags & ~seen;
	report->missing.groups = needs->groups & ~seen_groups;
	for (size_t i = 0; i < needs->count; i++) {
		if (!has_provider(doctor, &needs->providers[i]) &&
		    !record_needs_add_provider(&report->missing, &needs->providers[i],
					       doctor->manifests, err)) {
			return false;
		}
	}
	return true;
}

/* Returns whether an earlier rule of the collector is about the same event and had events. */
static bool had_events_before(const struct dry_run *dry_run, size_t index)
{
	const struct rule *rule = dry_run_at(dry_run, index)->rule;

	for (size_t i = 0; i < index; i++) {
		const struct dry_run_rule *other = dry_run_at(dry_run, i);

		if (other->events > 0 && other->rule->collector == rule->collector &&
		    strcmp(other->rule->event_at->text, rule->event_at->text) == 0) {
			return true;
		}
	}
	return false;
}

static void count_source(struct collector_report *report, const struct dry_run_rule *result)
{
	if (report->collector->substitute_count == 0) {
		return;
	}
	if (result->rule->event.scope == EVENTS_KERNEL) {
		report->counted_of_kernel += result->counted;
	} else {
		report->counted_of_second += result->counted;
	}
}

static void count_rules(const struct recording *recording, struct collector_report *report)
{
	const struct dry_run *dry_run = recording_dry_run(recording);
	const struct dry_run_rule *result;

	for (size_t i = 0; (result = dry_run_at(dry_run, i)) != NULL; i++) {
		if (result->rule->collector == report->collector) {
			report->rules++;
			report->rules_with_events += result->events > 0;
			report->distinct_events +=
				result->events > 0 && !had_events_before(dry_run, i);
			report->events += result->events;
			report->counted += result->counted;
			count_source(report, result);
		}
	}
}

static bool is_requested(const struct collector_info *info, bool by_default,
			 const struct collector_switches *switches)
{
	bool requested = by_default ? info->default_on : info->on;

	for (size_t i = 0; i < switches->count; i++) {
		if (strcmp(switches->rows[i].collector, info->name) == 0) {
			requested = switches->rows[i].on;
		}
	}
	return requested;
}

static void add_not_fed(struct doctor *doctor, const struct collector_report *report)
{
	const struct record_needs *missing = &report->missing;
	struct finding *finding =
		doctor_found(doctor, SEVERITY_WARNING, "collector_not_fed",
			     "Record again with the profile or the lines of logman that "
			     "this report shows.");
	const char *between = "";

	text_add_format(&finding->what, "Collector %s counts %s, because ", report->collector->name,
			report->counted > 0 ? "too little" : "nothing");
	if (missing->flags != 0 || missing->groups != 0) {
		text_add_string(&finding->what,
				doctor->has_masks ?
					"these kernel flags were off: " :
					"no event shows that these kernel flags were on: ");
		text_add_kernel_names(&finding->what, missing->flags, missing->groups);
		between = "; ";
	}
	for (size_t i = 0; i < missing->count; i++) {
		char guid[GUID_TEXT_SIZE + 2];

		text_add_format(&finding->what, "%s%s", between,
				i == 0 ? "there is no event of the provider " : "");
		text_add_shown(&finding->what,
			       etw_provider_spec_label(&missing->providers[i], guid));
		between = ", ";
	}
	text_add_char(&finding->what, '.');
}

/*
 * Returns whether the collector received only a few events of the providers that replace its kernel
 * events, and not what it counts otherwise: a single event, for fewer than half of the rules for
 * one of the two sources.
 */
static bool gets_too_little(const struct collector_report *report)
{
	return report->state == COLLECTOR_FED && report->missing.flags != 0 &&
	       report->collector->substitute_count > 0 && report->distinct_events == 1 &&
	       4 * report->rules_with_events < report->rules;
}

static bool report_collector(struct doctor *doctor, const struct recording *recording,
			     struct collector_report *report, struct etw_error *err)
{
	const char *name = report->collector->name;
	bool lacks, counted;

	count_rules(recording, report);
	if (!record_needs_add_collector(&report->needs, report->collector, doctor->manifests,
					err) ||
	    !add_missing(doctor, report, err)) {
		return false;
	}
	lacks = !record_needs_empty(&report->missing);
	counted = report->counted > 0 ||
		  state_gauges_have_series(recording_registry(recording), name);
	report->state = !report->info->on                    ? COLLECTOR_OFF :
			counted                              ? COLLECTOR_FED :
			lacks                                ? COLLECTOR_NOT_FED :
			report->collector->metric_count == 0 && !record_needs_empty(&report->needs) ?
				COLLECTOR_FED :
							       COLLECTOR_IDLE;
	report->too_little = gets_too_little(report);
	if (report->requested && (report->state == COLLECTOR_NOT_FED || report->too_little)) {
		add_not_fed(doctor, report);
	}
	return true;
}

bool doctor_report_collectors(struct doctor *doctor, const struct recording *recording,
			      bool by_default, const struct collector_switches *switches,
			      struct etw_error *err)
{
	const struct rule_set *set = recording_setup(recording)->rules;

	for (size_t i = 0; i < doctor->classes.count; i++) {
		const struct etw_kernel_event_flags by =
			class_row_kernel_flags(&doctor->classes.rows[i]);

		doctor->seen_flags |= by.flags;
		doctor->seen_groups |= by.groups;
	}
	doctor->collectors = calloc(set->collector_count + 1, sizeof *doctor->collectors);
	if (!doctor->collectors) {
		return error_no_memory(err, "the collectors");
	}
	for (size_t i = 0; i < set->collector_count; i++) {
		struct collector_report *report = &doctor->collectors[doctor->collector_count++];

		report->collector = set->collectors[i];
		report->info = &set->infos[i];
		report->requested = is_requested(report->info, by_default, switches);
		if (!report_collector(doctor, recording, report, err)) {
			return false;
		}
	}
	return true;
}

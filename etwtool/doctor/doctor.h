/* SPDX-License-Identifier: MIT */
/*
 * The facts that etwtool doctor gathers about a recording, and the findings that it draws from them
 * (doctor_checks.c). One thread uses them.
 */
#ifndef ETWTOOL_DOCTOR_DOCTOR_H
#define ETWTOOL_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/text.h"
#include "etwtool/class_rows.h"
#include "etwtool/record_needs.h"
#include "etwtool/recording.h"
#include "exporter/pipeline.h"

/* ---- findings ---- */

/* A warning means that numbers are wrong, or that something the user requested is missing. */
enum severity { SEVERITY_NOTE, SEVERITY_WARNING };

struct finding {
	enum severity severity;
	const char *id;              /* name for programs, a literal: "events_lost" */
	struct etw_text what, to_do; /* one sentence each, shown to people; owned */
};

/* Zero-initialise it. */
struct findings {
	struct finding *rows; /* owned */
	size_t count, capacity;
	bool failed;         /* memory ran out for a finding */
	struct finding lost; /* receives the texts of a finding that could not be kept */
};

/* ---- facts ---- */

enum collector_state {
	COLLECTOR_OFF,
	/* its rules counted events; or it has no rules, and all its needs were recorded */
	COLLECTOR_FED,
	COLLECTOR_IDLE,    /* all its needs were enabled, but no event came that it counts */
	COLLECTOR_NOT_FED, /* something that it needs is missing */
};

struct collector_report {
	const struct collector *collector;
	const struct collector_info *info;
	bool requested; /* the configuration or a switch turns it on */
	enum collector_state state;
	bool too_little; /* fed by only few of the events that replace its kernel events */
	size_t rules, rules_with_events;
	size_t distinct_events; /* different events of rules_with_events */
	uint64_t events, counted;
	/* Of a collector with a second source: what was counted of the kernel's events, and of the
	 * events of the providers that replace them. */
	uint64_t counted_of_kernel, counted_of_second;
	struct record_needs needs;
	struct record_needs missing; /* the needs of which the recording shows no trace */
};

struct doctor {
	/* paths of the recording and of the .wprp; profile NULL: none. Borrowed. */
	const char *path, *profile;
	bool all; /* the report shows the logman lines of every collector that lacks something */
	const struct etw_configured_manifests *manifests; /* borrowed */
	struct class_rows classes;                        /* sorted */
	struct record_times times;
	struct etw_source_statistics source;
	struct pipeline_statistics pipeline;
	uint64_t outcomes[OUTCOME_COUNT];
	struct etw_header header; /* its texts are not set */
	const char *clock_doubt;  /* NULL: none */
	uint64_t of_unknown_process, of_no_process;
	/* records more than a second before the start or after the end of the recording */
	uint64_t outside;
	int64_t previous; /* time of the previous record, 100 ns since 1601 UTC */
	int64_t gap_start;
	uint64_t gap_100ns; /* the longest time without a record */
	/* Group masks that the recording states, combined with OR; valid if has_masks. */
	bool has_masks;
	uint32_t mask_flags, mask_groups;
	uint32_t seen_flags, seen_groups;    /* flags and groups of which events occurred */
	struct collector_report *collectors; /* owned */
	size_t collector_count;
	struct findings findings;
};

/* Adds what one record says to the facts. */
void doctor_add_record(struct doctor *doctor, struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class);

/*
 * Adds a finding, whose `what` the caller writes. Never returns NULL: without memory it returns
 * findings.lost, which is not shown.
 */
struct finding *doctor_found(struct doctor *doctor, enum severity severity, const char *id,
			     const char *to_do);

/* Adds the findings about the recording itself. */
void doctor_check(struct doctor *doctor);

/* Fills in the collectors and adds the findings about them (doctor_collectors.c). */
bool doctor_report_collectors(struct doctor *doctor, const struct recording *recording,
			      bool by_default, const struct collector_switches *switches,
			      struct etw_error *err);

/* Returns part / whole in percent; 0 if whole is 0. */
double percent_of(uint64_t part, uint64_t whole);

/* ---- the report (doctor_report.c) ---- */

/* Adds how to record what is needed. profile is the path of the .wprp; NULL if none was written. */
void doctor_add_how_text(struct etw_text *out, const char *profile,
			 const struct record_needs *needs);
void doctor_add_how_json(struct json *json, const char *profile, const struct record_needs *needs);

/* Adds the report. needs are those of the requested collectors. */
void doctor_add_text(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs);
void doctor_add_json(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs);

#endif

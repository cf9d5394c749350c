/* SPDX-License-Identifier: MIT */
/*
 * What etwtool doctor knows about a recording, and what it finds in that (doctor_checks.c).
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

/* A warning: numbers are wrong, or something is missing that was asked for. */
enum severity { SEVERITY_NOTE, SEVERITY_WARNING };

struct finding {
	enum severity severity;
	const char *id;              /* a literal, for programs: "events_lost" */
	struct etw_text what, to_do; /* owned; one sentence each, as people read them */
};

/* Zero-initialise it. */
struct findings {
	struct finding *rows; /* owned */
	size_t count, capacity;
	bool failed;         /* no memory for one */
	struct finding lost; /* takes its texts */
};

void findings_done(struct findings *findings);
const char *severity_name(enum severity severity);

/* ---- facts ---- */

enum collector_state {
	COLLECTOR_OFF,
	COLLECTOR_FED,     /* its rules counted events, or it has none and all that it needs */
	COLLECTOR_IDLE,    /* all that it needs was enabled, but no event came that it counts */
	COLLECTOR_NOT_FED, /* something that it needs is missing */
};

const char *collector_state_name(enum collector_state state); /* "fed", "not fed", … */

struct collector_report {
	const struct collector *collector;
	const struct collector_info *info;
	bool requested; /* the user cares: on in the configuration, or switched on */
	enum collector_state state;
	bool too_little; /* fed by few of the events that take the place of its kernel events */
	size_t rules, rules_with_events;
	uint64_t events, counted;
	struct record_needs needs;
	struct record_needs missing; /* of the needs: of what there is no trace in the recording */
};

struct doctor {
	const char *path, *profile; /* of the recording, and of the .wprp or NULL; borrowed */
	bool all; /* the report has the lines of logman of all collectors that lack something */
	const struct etw_configured_manifests *manifests; /* borrowed */
	struct class_rows classes;                        /* sorted */
	struct record_times times;
	struct etw_source_statistics source;
	struct pipeline_statistics pipeline;
	uint64_t outcomes[OUTCOME_COUNT];
	struct etw_header header; /* its texts are not set */
	const char *clock_doubt;  /* NULL: none */
	uint64_t of_unknown_process, of_no_process;
	uint64_t outside; /* records more than a second before the start or after the end */
	int64_t previous; /* time of the record before */
	int64_t gap_start;
	uint64_t gap_100ns; /* the longest time without a record */
	/* Group masks that the recording states, or-ed; only if there is a record with them. */
	bool has_masks;
	uint32_t mask_flags, mask_groups;
	uint32_t seen_flags, seen_groups;    /* of which there are events */
	struct collector_report *collectors; /* owned */
	size_t collector_count;
	struct findings findings;
};

/* Adds to the facts what one record says. */
void doctor_look(struct doctor *doctor, struct recording *recording,
		 const struct etw_record *record, const struct etw_event_class *class);

/* After the run: what the collectors got, and the findings. False without memory. */
bool doctor_judge(struct doctor *doctor, const struct recording *recording,
		  bool requested_by_default, const struct collector_switches *switches,
		  struct etw_error *err);

/* A new finding; the caller writes its `what`. Never NULL, but without memory one that is not kept.
 */
struct finding *doctor_found(struct doctor *doctor, enum severity severity, const char *id,
			     const char *to_do);

/* The part of doctor_judge() that is about events without a schema (doctor_schemas.c). */
void doctor_check_schemas(struct doctor *doctor);

/* The part of doctor_judge() that is about collectors (doctor_collectors.c). */
bool doctor_report_collectors(struct doctor *doctor, const struct recording *recording,
			      bool by_default, const struct collector_switches *switches,
			      struct etw_error *err);

/* A share; 0 of nothing. */
double percent_of(uint64_t part, uint64_t whole);

void doctor_done(struct doctor *doctor);

/* ---- the report (doctor_report.c) ---- */

/* How to record what is needed; profile: the path of the .wprp, NULL: none was written. */
void doctor_add_how_text(struct etw_text *out, const char *profile,
			 const struct record_needs *needs);
void doctor_add_how_json(struct json *json, const char *profile, const struct record_needs *needs);

/* needs: of the requested collectors. */
void doctor_add_text(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs);
void doctor_add_json(struct etw_text *out, const struct doctor *doctor,
		     const struct record_needs *needs);

#endif

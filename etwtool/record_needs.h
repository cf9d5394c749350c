/* SPDX-License-Identifier: MIT */
/*
 * What a recording must contain for some collectors, and how the tools of Windows make it: with a
 * profile for Windows Performance Recorder (wpr), or with command lines of logman.
 */
#ifndef ETWTOOL_RECORD_NEEDS_H
#define ETWTOOL_RECORD_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/kernel.h>
#include <etw/manifest.h>
#include <etw/provider.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "etwtool/class_rows.h"
#include "exporter/rules/language/collector.h"

/* Zero-initialise it. */
struct record_needs {
	uint32_t flags;                      /* ETW_KERNEL_FLAG_* */
	uint32_t groups;                     /* set of indexes of etw_kernel_groups[] */
	struct etw_provider_spec *providers; /* owned; their names are borrowed */
	size_t count, capacity;
};

/*
 * Add what a collector needs from a session, or one provider. Needs of the same provider are
 * merged. The GUID of a provider given by name is looked up in the tables of the program and in the
 * manifests. They return false without memory.
 */
bool record_needs_add_collector(struct record_needs *needs, const struct collector *collector,
				const struct etw_configured_manifests *manifests,
				struct etw_error *err);
bool record_needs_add_provider(struct record_needs *needs, const struct etw_provider_spec *provider,
			       const struct etw_configured_manifests *manifests,
			       struct etw_error *err);
void record_needs_done(struct record_needs *needs);

bool record_needs_empty(const struct record_needs *needs);

/* Adds the complete profile as XML. */
void text_add_wprp(struct etw_text *out, const struct record_needs *needs);

/*
 * Add the command lines, each after `indent`, that start and stop such a recording: with wpr and
 * the profile, or with logman, which needs no profile. profile is its path; NULL if it is not
 * written yet.
 */
void text_add_wpr_lines(struct etw_text *out, const char *indent, const char *profile);
void text_add_logman_start(struct etw_text *out, const char *indent,
			   const struct record_needs *needs);
void text_add_logman_stop(struct etw_text *out, const char *indent,
			  const struct record_needs *needs);

/* Adds the names of flags and groups: "PROCESS, THREAD". Adds nothing if there are none. */
void text_add_kernel_names(struct etw_text *out, uint32_t flags, uint32_t groups);

/* Adds the members "kernel" (names of flags and groups) and "providers" to the open object. */
void json_add_needs(struct json *json, const struct record_needs *needs);

/* ---- from the events of one name ---- */

/*
 * Finds what a live session must enable to receive the events of one name, from the events of a
 * recording.
 */

/* What the recorded events had. Zero-initialise it. */
struct seen {
	uint8_t level;     /* highest level of any event */
	uint64_t keywords; /* keywords of all events, combined with OR */
	bool registered;   /* Windows knows the provider by its name */
};

/* Call the first for each event class of the events, the second for each of their records. */
void seen_class(struct seen *seen, const struct etw_configured_manifests *manifests,
		const struct etw_event_class *class);
void seen_record(struct seen *seen, const struct etw_record *record);

/*
 * Returns the kernel flags that enable the events of a row; none if they are not kernel events
 * (etw_kernel_event_flags()).
 */
struct etw_kernel_event_flags class_row_kernel_flags(const struct class_row *row);

/*
 * Adds the lines `needs` of a collector. Adds nothing for a kernel event that no flag or group of
 * `needs` enables.
 */
void text_add_needs(struct etw_text *out, const struct class_row *row, const struct seen *seen);

#endif

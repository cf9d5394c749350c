/* SPDX-License-Identifier: MIT */
/*
 * What a recording must have for some collectors, and how it is made with the tools of Windows: a
 * profile for Windows Performance Recorder (wpr), or command lines of logman.
 */
#ifndef ETWTOOL_RECORD_NEEDS_H
#define ETWTOOL_RECORD_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/provider.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "exporter/rules/language/collector.h"

/* Zero-initialise it. */
struct record_needs {
	uint32_t flags;                      /* KERNEL_FLAG_* */
	uint32_t groups;                     /* a set of the etw_kernel_groups[] */
	struct etw_provider_spec *providers; /* owned; the names in it are borrowed */
	size_t count, capacity;
};

/*
 * Adds what a collector needs of a session, or one provider; what two need of one provider is
 * joined. manifests: where the GUID of a provider is looked up that is given by name. False without
 * memory.
 */
bool record_needs_add_collector(struct record_needs *needs, const struct collector *collector,
				const struct etw_configured_manifests *manifests,
				struct etw_error *err);
bool record_needs_add_provider(struct record_needs *needs, const struct etw_provider_spec *provider,
			       const struct etw_configured_manifests *manifests,
			       struct etw_error *err);
void record_needs_done(struct record_needs *needs);

bool record_needs_empty(const struct record_needs *needs);

/* The GUID of a provider that is given by name, from the tables of the program and the manifests;
 * false: it is not known. */
bool record_needs_guid(const struct etw_provider_spec *provider,
		       const struct etw_configured_manifests *manifests, struct etw_guid *guid);

/* Adds the whole profile, as XML. */
void text_add_wprp(struct etw_text *out, const struct record_needs *needs);

/* Adds the lines, each behind `indent`, that start and stop such a recording by the profile, or by
 * logman without one. profile: the path of the file; NULL: there is none yet. */
void text_add_wpr_lines(struct etw_text *out, const char *indent, const char *profile);
void text_add_logman_start(struct etw_text *out, const char *indent,
			   const struct record_needs *needs);
void text_add_logman_stop(struct etw_text *out, const char *indent,
			  const struct record_needs *needs);

/* "PROCESS, THREAD": the names of flags and groups; nothing for none. */
void text_add_kernel_names(struct etw_text *out, uint32_t flags, uint32_t groups);

/* Members "kernel" (names of flags and groups) and "providers" of the open object. */
void json_add_needs(struct json *json, const struct record_needs *needs);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Collects what a recording contains about the layouts of its providers, as manifests: the
 * manifests of EventSources, and the descriptions (EventInfo) that a merge adds. Events that
 * contain their own layout need none.
 */
#ifndef ETWTOOL_RECORDED_SCHEMAS_H
#define ETWTOOL_RECORDED_SCHEMAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/record.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/text.h"

struct recorded_schemas; /* opaque */

struct recorded_schemas *recorded_schemas_new(struct etw_error *err);
void recorded_schemas_free(struct recorded_schemas *recorded);

/* Call it with each record, in time order. */
void recorded_schemas_learn(struct recorded_schemas *recorded, const struct etw_record *record);

/* Called for each provider. The name is "" if the recording has none. */
typedef void recorded_schemas_visitor(void *context, const struct etw_guid *provider,
				      const char *name, struct etw_manifest_writer *writer);

/*
 * Call it after the last record: it calls visit() for every provider with what is known about it.
 * An event that several manifests describe is written as the one announced last describes it; an
 * event without a manifest, as its first description does. Returns false without memory.
 */
bool recorded_schemas_visit(struct recorded_schemas *recorded, recorded_schemas_visitor *visit,
			    void *context, struct etw_error *err);

/*
 * Returns how many event descriptions, maps and manifests did not fit. Each counts once; beyond the
 * number that is remembered, repetitions count as well.
 */
uint64_t recorded_schemas_refused(const struct recorded_schemas *recorded);

/* ---- of tool_providers.c, exposed for tests ---- */

/*
 * Adds the file name, without folder, for the manifest of a provider. Characters that a file name
 * cannot have on Windows or elsewhere become _. copy is the number of names that were tried before
 * and are taken: the GUID is appended from 1 on, and later a number as well.
 */
void export_manifests_file_name(struct etw_text *out, const char *name,
				const struct etw_guid *provider, unsigned copy);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a recording contains about its providers, as manifests: the manifests of EventSources and
 * the descriptions (EventInfo) that a merge adds. Events with a layout of their own need none.
 */
#ifndef ETWTOOL_RECORDED_SCHEMAS_H
#define ETWTOOL_RECORDED_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/manifest.h>
#include <etw/record.h>

#include "base/error.h"

struct recorded_schemas; /* opaque */

struct recorded_schemas *recorded_schemas_new(struct etw_error *err);
void recorded_schemas_free(struct recorded_schemas *recorded);

/* To be called with each record, in the order of time. */
void recorded_schemas_look(struct recorded_schemas *recorded, const struct etw_record *record);

/* What is called for each provider. The name is "" if the recording has none. */
typedef void recorded_schemas_take(void *context, const struct etw_guid *provider, const char *name,
				   struct etw_manifest_writer *writer);

/*
 * After the last record: calls take() for every provider with what is known about it. An event is
 * in the writer as the manifest describes it that has it and was announced last, else as the first
 * description does. Returns false without memory.
 */
bool recorded_schemas_each(struct recorded_schemas *recorded, recorded_schemas_take *take,
			   void *context, struct etw_error *err);

/* Descriptions of an event, maps and manifests for which there was no room: each once, except those
 * beyond the number that is remembered, whose repetitions count as well. */
uint64_t recorded_schemas_refused(const struct recorded_schemas *recorded);

#endif

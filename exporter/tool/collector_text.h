/* SPDX-License-Identifier: MIT */
/*
 * A collector to begin with, as YAML: it counts the events of one class. The fields that those
 * events were seen to have stand ready in comments, with types and some values.
 */
#ifndef TOOL_COLLECTOR_TEXT_H
#define TOOL_COLLECTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "decode/schema.h"
#include "tool/class_rows.h"

/* ---- fields ---- */

enum {
	SAMPLES_MOST = 3,
	SAMPLE_SIZE_MOST = 40,  /* bytes; longer values are left out */
	SAMPLES_EVENTS = 10000, /* that are looked at for values */
	SAMPLES_FIELDS_MOST = 2 * SCHEMA_FIELDS_MOST,
};

struct sampled_field {
	struct text name; /* owned */
	struct text type; /* owned; "u32", "list of text", … */
	bool number;      /* to rules */
	bool list;        /* rules take elements ("a[0]") and their number ("a.count"), too */
	bool structures;  /* a list whose members are fields of their own */
	struct text samples[SAMPLES_MOST]; /* owned */
	size_t sample_count;
};

/* Zero-initialise it. */
struct field_samples {
	struct sampled_field *fields; /* owned; in payload order of the first kind, then others */
	size_t count, capacity;
	struct map rows; /* schema and index of a field -> its place + 1 */
	uint64_t events;
	bool failed; /* no memory: something is missing */
};

/* The schema must stay as long as events of it are added. */
void field_samples_add(struct field_samples *samples, const struct schema *schema,
		       const struct event_record *record);
void field_samples_done(struct field_samples *samples);

/* ---- the collector ---- */

/* Adds it. file: the recording's name, for the comment on top. */
void collector_text(struct text *out, const char *file, const struct class_row *row,
		    const struct field_samples *samples);

#endif

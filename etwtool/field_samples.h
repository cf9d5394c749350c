/* SPDX-License-Identifier: MIT */
/*
 * Collects the fields of all events with one name in a recording, and some of their values: fields
 * of the payload, and derived fields.
 */
#ifndef ETWTOOL_FIELD_SAMPLES_H
#define ETWTOOL_FIELD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>

#include "base/map.h"
#include "base/text.h"
#include "etwtool/recording.h"

enum { SAMPLES_MOST = 3 };

struct sampled_field {
	char *name;          /* owned */
	const char *type;    /* "u32"; the type of the elements if it is a list */
	bool number;         /* rules can use it as a number */
	bool list;           /* rules can take elements ("a[0]") and their number ("a.count") */
	bool structures;     /* the list has structures, whose members are fields of their own */
	bool address;        /* field_is_address(): useless as a label or value */
	bool code;           /* flags or a status, which cannot be added up */
	const char *decoder; /* decoder of rules that names its values; NULL: none */
	/* Distinct values. Numbers are formatted for people, text is unchanged. Owned. */
	struct etw_text samples[SAMPLES_MOST];
	size_t sample_count;
};

/* Zero-initialise it. */
struct field_samples {
	/* Owned. Payload order of the first event class, then the fields that other classes add. */
	struct sampled_field *fields;
	size_t count, capacity;
	/* Indexed by derived field; an entry without a name: the events do not have that field. */
	struct sampled_field derived[DERIVED_MOST];
	struct map rows; /* address of a field in its schema -> index + 1 */
	uint64_t events;
	bool failed; /* memory ran out, so something is missing */
};

/*
 * Call it in on_record of a recording opened with .derived: adds the fields of the class, and
 * values of the event.
 */
void field_samples_add(struct field_samples *samples, const struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class);
void field_samples_done(struct field_samples *samples);

#endif

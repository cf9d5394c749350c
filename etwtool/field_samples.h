/* SPDX-License-Identifier: MIT */
/*
 * The fields of the events of one name in a recording, with some of their values: those of the
 * payload, and derived fields.
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
	const char *type;    /* "u32", of a list that of its elements */
	bool number;         /* to rules */
	bool list;           /* rules take elements ("a[0]") and their number ("a.count"), too */
	bool structures;     /* a list whose members are fields of their own */
	bool address;        /* field_is_address(): of no use as label or value */
	bool code;           /* flags or a status: no amount */
	const char *decoder; /* of rules, which gives its values names; NULL: none */
	/* Distinct values: numbers as for people, text as it is. Owned. */
	struct etw_text samples[SAMPLES_MOST];
	size_t sample_count;
};

/* Zero-initialise it. */
struct field_samples {
	/* Owned; in payload order of the first event class, then those that others add. */
	struct sampled_field *fields;
	size_t count, capacity;
	/* By number of the derived field; without a name: the events do not have it. */
	struct sampled_field derived[DERIVED_MOST];
	struct map rows; /* address of a field in its schema -> its place + 1 */
	uint64_t events;
	bool failed; /* no memory: something is missing */
};

/* In on_record, of a recording with .derived: adds the fields of the class and values of the event.
 */
void field_samples_add(struct field_samples *samples, const struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class);
void field_samples_done(struct field_samples *samples);

#endif

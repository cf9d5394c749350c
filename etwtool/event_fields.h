/* SPDX-License-Identifier: MIT */
/*
 * The names and values of the fields of an event class. Names are those that rules take, members of
 * structures as "structure.member"; values are formatted for people.
 */
#ifndef ETWTOOL_EVENT_FIELDS_H
#define ETWTOOL_EVENT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_json.h>
#include <etw/event_table.h>
#include <etw/record.h>
#include <etw/schema.h>

#include "base/map.h"
#include "base/text.h"
#include "etwtool/recording.h"

/* ---- names ---- */

/*
 * A walk over the fields that have a value of their own. It visits the members of a structure in
 * place of the structure, and an array of structures as one field. Zero-initialise it.
 */
struct field_walk {
	unsigned index;
	struct etw_text name; /* owned until the walk has ended */
	unsigned next;        /* index in the schema of the next field to visit */
};

/*
 * Moves to the next field and sets index and name. Returns false after the last field, and at once
 * if schema is NULL.
 */
bool field_walk_next(struct field_walk *walk, const struct etw_schema *schema);

/*
 * Returns whether the name ends in one of these, ignoring case. NULL terminates the list.
 */
bool name_ends_in_one_of(const char *name, const char *const *ends);

/* ---- values for people ---- */

/*
 * Adds the value of a field for people; index is below fields->end. Text is quoted, and characters
 * that control a terminal are escaped. Numbers become the names that the field has for them.
 * Pointers, flags and statuses are hexadecimal. Long binary data is cut. Lists read [1,2] and
 * structures {a=1,b=2}.
 */
void event_fields_shown(struct etw_event_fields *fields, unsigned index, struct etw_text *out);

/* Does the same for one located field without its structure. */
void field_shown(const struct etw_field *field, const struct etw_field_slice *slice,
		 struct etw_text *out);

/* Adds text for people, in quotes that do not occur in it. */
void text_add_quoted_shown(struct etw_text *out, const char *bytes, size_t size);

/* ---- samples of the values of fields ---- */

/*
 * Collects the fields of all events with one name in a recording, and some of their values: fields
 * of the payload, and derived fields.
 */

enum { SAMPLES_MOST = 3 };

struct sampled_field {
	char *name;          /* owned */
	const char *type;    /* "u32"; the type of the elements if it is a list */
	bool number;         /* rules can use it as a number */
	bool list;           /* rules can take elements ("a[0]") and their number ("a.count") */
	bool structures;     /* the list has structures, whose members are fields of their own */
	bool address;        /* a number that is an address: useless as a label, and no amount */
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

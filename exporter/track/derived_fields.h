/* SPDX-License-Identifier: MIT */
/*
 * Derived fields: values of an event that its payload does not hold. They come from the record's
 * header and extended items, or from what the tracker remembers (config/README.md, "Fields").
 *
 * Each is a row of one table in derived_fields.c. To add one, add a row and its read function
 * there; the checks of rules, the rule engine and the tool find it by its name.
 */
#ifndef TRACK_DERIVED_FIELDS_H
#define TRACK_DERIVED_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/provider.h>
#include <etw/schema.h>

#include "exporter/track/tracker.h"

/* The type of a value for a rule. */
enum value_type {
	TYPE_UNKNOWN, /* the provider's layouts are known only when its events arrive */
	TYPE_INTEGER,
	TYPE_TEXT,
	TYPE_REAL,     /* a number if used as a value, otherwise text */
	TYPE_DURATION, /* nanoseconds */
};

/* The form in which a value is returned. */
enum value_form {
	FORM_NUMBER,
	FORM_ID,   /* id of a text in registry_strings() */
	FORM_TEXT, /* bytes, read by the derived field's `field`; UTF-8 if it has none */
};

/* Events that can have a derived field: those of a kernel class or of a provider. */
struct derived_events {
	enum etw_kernel_class kernel_class; /* ETW_KERNEL_NONE: events of `provider` instead */
	int opcode; /* opcode within kernel_class; EVERY_OPCODE: all opcodes */
	const struct etw_known_provider_row *provider;
	uint16_t id; /* event id of the provider; 0: all its events */
};

enum { EVERY_OPCODE = -1 };

/* The most rows that the table may have: a set of row numbers is 64 bits. */
enum { DERIVED_MOST = 64 };

enum derived_result {
	DERIVED_FOUND,
	DERIVED_UNKNOWN,   /* the value is not known for this event */
	DERIVED_MALFORMED, /* an extended item is too short; treated as unknown, too */
	/* the time is not a valid duration; treated as unknown, and number holds the enum
	 * duration_verdict */
	DERIVED_NO_DURATION,
};

struct derived_field;

/* The arguments and the result of one read, for the record of the last tracker_observe(). */
struct derived_read {
	const struct derived_field *row;
	struct tracker *tracker;
	const struct etw_record *record;
	uint64_t number; /* FORM_NUMBER, FORM_ID: the result; before the read, the value of `origin`
			  */
	struct etw_field_slice
		slice; /* FORM_TEXT: the result; its count is only set if the row has a `field` */
};

/* The arguments of the function `constant`, for an event class. */
struct derived_class {
	const struct etw_event_class *class;
	struct intern *strings;
	uint32_t provider, session; /* label ids */
};

/* A derived field with a special meaning for rules. */
enum derived_role {
	ROLE_PLAIN,
	ROLE_PROCESS,  /* always has a value: tracker_process_label() */
	ROLE_PROVIDER, /* as a label it distinguishes the sources of a family */
	ROLE_DURATION, /* in a rule with `pair`, reads the time between the two events instead */
	ROLE_SECOND_SOURCE, /* reads 1 if another source of the family counts the same event */
};

struct derived_field {
	const char *name;
	enum value_type type;
	enum value_form form;
	enum derived_role role;
	bool before_layout;   /* takes precedence over a payload field of the same name */
	bool none_if_unknown; /* as a label, reads _none instead of _unknown when the value is
				 unknown */
	bool of_record; /* every event has it, from its header or event class: who, where, when */
	uint32_t features; /* set of enum tracker_feature that the field needs */
	/*
	 * The events that can have the field, ended by a row of zeros; NULL: all events. If the row
	 * has an origin, kernel events have the field when their layout has the origin; other
	 * events must be listed here.
	 */
	const struct derived_events *events;
	const char *origin; /* integer field that the layout must have; NULL: none */
	const char
		*or_origin; /* name of that field in other providers' events; NULL: the same name */
	bool reads_origin;  /* the value is computed from that of origin */
	const struct etw_field
		*field; /* decodes the bytes of an extended item; NULL: not from an item */
	enum etw_extended_type item; /* type of the extended item that `field` decodes */
	enum derived_result (*read)(struct derived_read *read);
	/* Used instead of read if the value is the same for all events of an event class. */
	uint64_t (*constant)(const struct derived_class *class);
	const char *const
		*words; /* all texts that the field can read, NULL-terminated; NULL: any text */
};

/* Returns the row with this number, in table order; NULL after the last one. */
const struct derived_field *derived_at(unsigned number);

/* Returns the derived field with this name; NULL if there is none. */
const struct derived_field *derived_find(const char *name);

/*
 * Returns whether a rule on events of the class that names the field reads the derived field: the
 * events can have it, and their layout has no field of the same name that takes precedence.
 */
bool derived_applies(const struct derived_field *row, const struct etw_event_class *class);

/* Returns the index in the schema of the field's origin; -1 if the schema lacks it or it is not
 * an integer. The row must have an origin. */
int derived_origin(const struct derived_field *row, const struct etw_schema *schema);

/* Returns the tracker features (enum tracker_feature) that all derived fields together need. */
uint32_t derived_features(void);

#endif

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
	TYPE_UNKNOWN, /* of a provider whose layouts are known only when its events arrive */
	TYPE_INTEGER,
	TYPE_TEXT,
	TYPE_REAL,     /* a number as a value, else text */
	TYPE_DURATION, /* nanoseconds */
};

/* How a value is handed over. */
enum value_form {
	FORM_NUMBER,
	FORM_ID,   /* id of a text in registry_strings() */
	FORM_TEXT, /* bytes of the derived field's `field`; without one UTF-8 */
};

/* Events that can have a derived field. */
struct derived_events {
	enum etw_kernel_class kernel_class; /* ETW_KERNEL_NONE: a provider with a manifest */
	int opcode;                         /* of the class; EVERY_OPCODE: all of them */
	const struct etw_known_provider_row *provider;
	uint16_t id; /* of the provider; 0: all of them */
};

enum { EVERY_OPCODE = -1 };

/* The table has at most so many rows, so that their numbers fit a set of 64 bits. */
enum { DERIVED_MOST = 64 };

enum derived_result {
	DERIVED_FOUND,
	DERIVED_UNKNOWN,   /* not known for this event */
	DERIVED_MALFORMED, /* an extended item is too short; unknown as well */
	/* a time that is no duration; unknown as well, and number is the enum duration_verdict */
	DERIVED_NO_DURATION,
};

struct derived_field;

/* One read of a derived field, for the record that tracker_observe() was last called with. */
struct derived_read {
	const struct derived_field *row;
	struct tracker *tracker;
	const struct etw_record *record;
	uint64_t number; /* FORM_NUMBER, FORM_ID; before the read the value of `origin` */
	struct etw_field_slice slice; /* FORM_TEXT; without `field` its count is not set */
};

/* The inputs of the constant fields of an event class. */
struct derived_class {
	const struct etw_event_class *class;
	struct intern *strings;
	uint32_t provider, session; /* label ids */
};

/* A derived field with a special meaning for rules. */
enum derived_role {
	ROLE_PLAIN,
	ROLE_PROCESS,       /* its value is always known: tracker_process_label() */
	ROLE_PROVIDER,      /* a label of it distinguishes the sources of a family */
	ROLE_DURATION,      /* a rule with a pair reads the pair's time instead */
	ROLE_SECOND_SOURCE, /* 1: another source of the family counts the same */
};

struct derived_field {
	const char *name;
	enum value_type type;
	enum value_form form;
	enum derived_role role;
	bool before_layout;   /* it hides a payload field of the same name */
	bool none_if_unknown; /* a label of an unknown value reads _none instead of _unknown */
	bool of_record; /* all events have it, from their header or event class: who, where, when */
	uint32_t features; /* of the tracker (enum tracker_feature) that it needs */
	/*
	 * The events that can have it; NULL: all. Ends with a row of zeros. With an origin, kernel
	 * events have it if their layout has the origin; other events must be listed.
	 */
	const struct derived_events *events;
	const char *origin;    /* integer field that a layout must have; NULL: none */
	const char *or_origin; /* what other events call it; NULL: the same */
	bool reads_origin;     /* its value is computed from that of origin */
	const struct etw_field
		*field;              /* how the bytes of an extended item are read; NULL: no item */
	enum etw_extended_type item; /* for those that one item holds */
	enum derived_result (*read)(struct derived_read *read);
	/* Instead of read: it is the same for all events of an event class. */
	uint64_t (*constant)(const struct derived_class *class);
	const char *const *words; /* all texts that it can read, up to NULL; NULL: any */
};

/* In the order of the table; NULL after the last. */
const struct derived_field *derived_at(unsigned number);

/* NULL: no derived field has the name. */
const struct derived_field *derived_find(const char *name);

/*
 * Whether a rule on events of the class that names the field gets it: the events can have it, and
 * their layout has no field of the name that goes before it.
 */
bool derived_applies(const struct derived_field *row, const struct etw_event_class *class);

/* The index of the origin of a derived field that has one; -1: the layout has none, or no integer.
 */
int derived_origin(const struct derived_field *row, const struct etw_schema *schema);

/* What the tracker must collect for all of them (enum tracker_feature). */
uint32_t derived_features(void);

#endif

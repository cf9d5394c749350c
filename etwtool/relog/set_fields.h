/* SPDX-License-Identifier: MIT */
/*
 * Changes of events that a command line asks for: "Image/Load.FileName=C:\x.dll".
 *
 * Before the field stands an event as in a rule (config/README.md): "Class/Event",
 * "Provider/Event", "Provider/ID", also with * for all events. The field is one of the payload,
 * a member as "structure.member", or with an @ a value of the record's header as dumps name it:
 * "@provider", "@id", "@version", "@pid" and so on. The value is a number, a text, or JSON for
 * lists and structures.
 */
#ifndef ETWTOOL_RELOG_SET_FIELDS_H
#define ETWTOOL_RELOG_SET_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/mirror.h>

#include "base/error.h"
#include "base/map.h"

struct assignment; /* opaque */

/* Zero-initialise it. One thread. */
struct set_fields {
	struct assignment *assignments; /* owned */
	size_t count, capacity;
	struct map idle; /* struct etw_event_class * of classes that no assignment is about */
	struct etw_encode_change *changes; /* owned; of one record */
	struct etw_payload payload;
	uint8_t record[ETW_RECORD_SIZE_MOST];
};

/* Adds an assignment to a struct set_fields. An option_read: the text must stay where it is. */
bool set_fields_add(void *set_fields, const char *text, struct etw_error *err);
void set_fields_done(struct set_fields *set_fields);

/* An event class is new, or its struct is used for another one from now on. */
void set_fields_class(struct set_fields *set_fields, const struct etw_event_class *class);

enum set_answer {
	SET_SAME,    /* no assignment is about the record, or all values are there already */
	SET_CHANGED, /* *bytes and *size are a whole record in its place */
	SET_FAILED,  /* a value does not fit: err says so */
};

/*
 * Applies the assignments to a record, in their order.
 *
 * @class:  of the record.
 * @bytes:  the whole record, header included, of which *record was read; then the new one, which is
 *          valid until the next call.
 */
enum set_answer set_fields_apply(struct set_fields *set_fields, const struct etw_record *record,
				 const struct etw_event_class *class, const uint8_t **bytes,
				 size_t *size, struct etw_error *err);

/*
 * After the last record: false, with a sentence, if an assignment was about no event, or about none
 * that has its field.
 *
 * @where:  what had the records, for the sentence: "the recording".
 */
bool set_fields_found(const struct set_fields *set_fields, const char *where,
		      struct etw_error *err);

#endif

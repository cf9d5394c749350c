/* SPDX-License-Identifier: MIT */
/*
 * Changes events as the command line says: "Image/Load.FileName=C:\x.dll".
 *
 * The text before the field names an event as a rule does (config/README.md): "Class/Event",
 * "Provider/Event", "Provider/ID"; * means all events. The field is one of the payload, a member as
 * "structure.member", or with an @ a value of the record's header under the name that dumps use:
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
	struct map idle; /* struct etw_event_class * of classes without an assignment */
	struct etw_encode_change *changes; /* changes of one record; owned */
	struct etw_payload payload;
	uint8_t record[ETW_RECORD_SIZE_MOST];
};

/* An option_read: adds an assignment to a struct set_fields. The text must outlive the struct. */
bool set_fields_add(void *set_fields, const char *text, struct etw_error *err);
void set_fields_done(struct set_fields *set_fields);

/* Call it when an event class is new, or when its struct is reused for another class. */
void set_fields_class(struct set_fields *set_fields, const struct etw_event_class *class);

enum set_answer {
	SET_SAME,    /* no assignment applies, or all values are there already */
	SET_CHANGED, /* *bytes and *size are the new record */
	SET_FAILED,  /* a value does not fit; err is set */
};

/*
 * Applies the assignments to a record, in their order.
 *
 * @class:  event class of the record.
 * @bytes:  in: the whole record that *record was read from, header included. Out: the new one,
 * which is valid until the next call.
 */
enum set_answer set_fields_apply(struct set_fields *set_fields, const struct etw_record *record,
				 const struct etw_event_class *class, const uint8_t **bytes,
				 size_t *size, struct etw_error *err);

/*
 * Call it after the last record: returns false with an error if no event matched an assignment, or
 * if none that matched has its field.
 *
 * @where:  names what had the records, for the error: "the recording".
 */
bool set_fields_found(const struct set_fields *set_fields, const char *where,
		      struct etw_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Builds payloads from values: the inverse of decoding.
 *
 * Values have the form that `etwtool dump` (jsonl) writes: numbers, texts, true, false and null;
 * arrays as lists, structures as objects. Fields that hold the count or the length of another field
 * follow what is written into that field.
 */
#ifndef LIB_DECODE_ENCODE_H
#define LIB_DECODE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_read.h"
#include "base/text.h"
#include "lib/decode/schema.h"
#include "lib/source/event_record.h"
#include "lib/source/payload.h"

/* A new value for one field, a member of a single structure among them. */
struct etw_encode_change {
	unsigned index; /* in the schema, as etw_schema_find_field() returns it */
	const struct etw_json_value *value;
};

/*
 * Sees one value of a payload: a scalar, a text, or one element of a list. What it asks for:
 *
 * ETW_ENCODE_KEEP    the bytes stay;
 * ETW_ENCODE_TEXT    new_value is the new text, UTF-8, of any length that etw_encode_room() allows;
 * it is written in any case, with nothing of the old bytes behind it; ETW_ENCODE_BYTES   new_value
 * has as many bytes as the element, which replace them.
 *
 * A value that the payload cut short (element->cut) takes no ETW_ENCODE_TEXT.
 */
enum etw_encode_answer { ETW_ENCODE_KEEP, ETW_ENCODE_TEXT, ETW_ENCODE_BYTES };
typedef enum etw_encode_answer etw_encode_visitor(void *context, const struct etw_field *field,
						  const struct etw_field_slice *element,
						  struct etw_text *new_value);

/* Units (etw_field_unit_size()) that a text may have in the place of this one; SIZE_MAX: any
 * number. */
size_t etw_encode_room(const struct etw_field *field, const struct etw_field_slice *element);

/*
 * Copies the payload of the record with some values changed. All other bytes stay as they are,
 * those behind the last field included, and a value that is given as it already stands is not
 * written again. A payload that ends early ends there again.
 *
 * @visit:  NULL or a visitor of all values that have no change; bytes behind the last field then
 *          become zero, and those of a structure or an element of a list that is cut become 0xff,
 *          which leaves it cut.
 * @out:    gets the payload; etw_payload_init() with the pointer size of the record.
 *
 * False, with a sentence that names the field, when a value does not fit.
 */
bool etw_encode_changed(const struct etw_schema *schema, const struct etw_record *record,
			const struct etw_encode_change *changes, size_t change_count,
			etw_encode_visitor *visit, void *context, struct etw_payload *out,
			struct etw_error *err);

/*
 * Makes a payload of values alone. Fields at the end may be missing, as in a payload that ends
 * early; a text that has the field of its length beside it is filled up with NULs to that length.
 *
 * @fields:  an object, as `fields` of a dump. Of bytes that a dump does not show only the number is
 *           known: those behind the last field (_rest) become zero, and those of a field that the
 *           payload cut short (_truncated) become 0xff up to `size`, so that the field is cut
 *           again.
 * @size:    bytes of the payload that was dumped; 0: not known.
 */
bool etw_encode_fields(const struct etw_schema *schema, const struct etw_json_value *fields,
		       size_t size, struct etw_payload *out, struct etw_error *err);

#endif

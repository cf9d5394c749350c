/* SPDX-License-Identifier: MIT */
/*
 * Builds payloads from values.
 *
 * The encoder walks the schema field by field and appends every field to the new payload: it copies
 * the field from the old payload, or writes it from a value. Payloads are packed, so a field of the
 * old payload reaches from the end of the field before it to the end of its own slice, and counts
 * in front of the data are copied with it. etw_encode_fields() is the same walk without an old
 * payload.
 *
 * A reference is an integer field that gives the count or the length of another field. It comes
 * before the dependent field, so it has been written by then. If the dependent field is written
 * from a value, the reference is corrected in place; if it is copied, the reference must still have
 * its old value. Two fields that depend on one reference must agree. So every contradiction is an
 * error: when only a length is changed, or only one of two parallel arrays.
 *
 * In an array of structures, members exist once for each element. The offset of a reference is
 * therefore that in the element being written; the next element replaces it.
 *
 * Text of a fixed length is padded with NULs. If another field gives the length, some writers count
 * the terminator and some do not; the new text follows the old one.
 *
 * Bytes that the schema does not describe (a payload that ends inside a field, bytes after the last
 * field) are copied at the end. With a visitor they are cleared, because the visitor could not see
 * them.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>

#include "lib/decode/schema.h"

enum {
	/* A normal payload has fewer values than bytes; arrays of arrays of empty values could have
	 * millions. */
	VALUES_MOST = 1 << 18,
};

/* The position and the state of an integer field to which other fields may refer. */
struct reference {
	uint32_t at;      /* offset in the new payload */
	bool claimed;     /* a dependent field needs `value` */
	uint32_t value;   /* the value that it needs */
	uint16_t because; /* index of that dependent field */
};

struct encoder {
	const struct etw_schema *schema;
	const struct etw_record *record;
	const struct etw_encode_change *changes;
	size_t change_count;
	etw_encode_visitor *visit;
	void *context;
	struct etw_payload *out;
	struct etw_error *err;
	bool fresh;        /* there is no old payload */
	bool rewrite;      /* also rewrite values that do not change */
	uint32_t values;   /* fields written so far, one for each element of a structure */
	uint32_t position; /* offset in the old payload after the copied part */
	struct etw_field_slice *slices;
	struct reference *references; /* by index of the field */
	struct etw_text new_value;
};

static bool field_error(struct encoder *encoder, unsigned index)
{
	return error_prefix(encoder->err, "%s", encoder->schema->fields[index].name);
}

/* ---- references ---- */

static unsigned wide(const struct encoder *encoder)
{
	return encoder->out->pointer_size == 8;
}

static uint64_t written_value(const struct encoder *encoder, unsigned source)
{
	const struct etw_field *field = &encoder->schema->fields[source];
	uint32_t at = encoder->references[source].at;
	uint32_t size = field_element_size(field, wide(encoder));

	if (encoder->out->failed || at + size > encoder->out->size) {
		return 0;
	}
	return etw_field_integer((enum etw_field_type)field->type, encoder->out->bytes + at, size);
}

/* Notes which value a dependent field needs. Returns false if another dependent field needs a
 * different value. */
static bool want(struct encoder *encoder, unsigned source, unsigned index, uint32_t value)
{
	struct reference *reference = &encoder->references[source];
	const struct etw_field *fields = encoder->schema->fields;

	if (reference->claimed && reference->value != value) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "%s gives the length of this field and of %s, so both must change "
				 "alike",
				 fields[source].name, fields[reference->because].name);
	}
	reference->claimed = true;
	reference->value = value;
	reference->because = (uint16_t)index;
	return true;
}

/* Corrects the reference after the dependent field was written from a value. */
static bool refer(struct encoder *encoder, unsigned source, unsigned index, uint32_t value)
{
	const struct etw_field *field = &encoder->schema->fields[source];
	uint32_t size = field_element_size(field, wide(encoder));
	unsigned bits = 8 * size - (etw_field_is_signed(field) ? 1 : 0);

	if (!want(encoder, source, index, value)) {
		return false;
	}
	if (bits < 32 && value >> bits != 0) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "its length of %" PRIu32 " does not fit into %s", value,
				 field->name);
	}
	if (encoder->out->failed) {
		return true;
	}
	for (uint32_t i = 0; i < size; i++) {
		uint32_t shift = field->type == ETW_FIELD_PORT ? 8 * (size - 1 - i) : 8 * i;

		encoder->out->bytes[encoder->references[source].at + i] =
			(uint8_t)((uint64_t)value >> shift);
	}
	return true;
}

/* Checks that the reference has not changed. Call it after the dependent field was copied. */
static bool refer_as_before(struct encoder *encoder, unsigned source, unsigned index)
{
	uint64_t before = etw_field_u64(&encoder->schema->fields[source], &encoder->slices[source]);

	if (written_value(encoder, source) != before) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "%s gives the length of this field; change this field, and %s "
				 "follows",
				 encoder->schema->fields[source].name,
				 encoder->schema->fields[source].name);
	}
	return want(encoder, source, index, (uint32_t)before);
}

static bool references_as_before(struct encoder *encoder, unsigned index)
{
	const struct etw_field *field = &encoder->schema->fields[index];

	return (field->count_type != ETW_FIELD_COUNT_FIELD ||
		refer_as_before(encoder, field->count, index)) &&
	       (field->length_type != ETW_FIELD_LENGTH_FIELD ||
		refer_as_before(encoder, field->length, index));
}

/* ---- one element ---- */

/* The bytes of an element in the old payload, with the count before its data. */
struct old_bytes {
	const uint8_t *at; /* NULL: there is no old element */
	uint32_t size;
	struct etw_field_slice element;
};

static bool ends_in_nul(const struct etw_field *field, const struct etw_field_slice *element)
{
	uint32_t unit = etw_field_unit_size(field);

	return element->size >= unit && element->at[element->size - 1] == 0 &&
	       element->at[element->size - unit] == 0;
}

/* Returns whether the data may be shorter than its length: text can have a terminator or padding,
 * and a socket address can be in a larger structure. */
static bool may_be_shorter(const struct etw_field *field)
{
	return etw_field_is_text(field) || field->form == ETW_FIELD_FORM_SOCKADDR;
}

/* Pads the data after `start` to this number of units. Returns false if the data is longer. */
static bool fill_up(struct encoder *encoder, const struct etw_field *field, size_t start,
		    uint32_t units)
{
	uint32_t unit = etw_field_unit_size(field);
	size_t size = encoder->out->size - start;
	bool text = may_be_shorter(field);

	if (size > (size_t)units * unit || (!text && size != (size_t)units * unit)) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "it has %zu %s, but the place for it has %" PRIu32, size / unit,
				 !text     ? "bytes" :
				 unit == 2 ? "UTF-16 units" :
					     "bytes of UTF-8",
				 units);
	}
	etw_payload_zeros(encoder->out, (size_t)units * unit - size);
	return true;
}

/* Pads the data after `start` where the field `source` gives its length, and corrects that
 * field. */
static bool follow_length(struct encoder *encoder, unsigned index, unsigned source, size_t start,
			  const struct old_bytes *old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	uint32_t units = (uint32_t)((encoder->out->size - start) / etw_field_unit_size(field));

	if (may_be_shorter(field)) {
		uint64_t given = written_value(encoder, source);

		if (old->at) {
			units += etw_field_is_text(field) && ends_in_nul(field, &old->element);
		} else if (encoder->fresh && given > units && given <= UINT16_MAX) {
			units = (uint32_t)given;
		}
	}
	return fill_up(encoder, field, start, units) && refer(encoder, source, index, units);
}

/* Ends a string or binary data as its length_type says. */
static bool end_with_length(struct encoder *encoder, unsigned index, size_t start,
			    const struct old_bytes *old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	bool in_list = etw_field_is_list(field);
	uint32_t unit = etw_field_unit_size(field);
	bool ended;

	switch ((enum etw_field_length_type)field->length_type) {
	case ETW_FIELD_LENGTH_FIXED:
		return fill_up(encoder, field, start, field->length);
	case ETW_FIELD_LENGTH_FIELD:
		if (in_list) { /* all elements have the same length */
			uint64_t given = written_value(encoder, field->length);

			return fill_up(encoder, field, start,
				       given < UINT16_MAX ? (uint32_t)given : UINT16_MAX) &&
			       want(encoder, field->length, index, (uint32_t)given);
		}
		return follow_length(encoder, index, field->length, start, old);
	case ETW_FIELD_LENGTH_REST:
	case ETW_FIELD_LENGTH_TYPE:
		break;
	}
	if (field->type == ETW_FIELD_BINARY) {
		return true;
	}
	for (size_t i = start; !encoder->out->failed && i < encoder->out->size; i += unit) {
		if (encoder->out->bytes[i] == 0 && encoder->out->bytes[i + unit - 1] == 0) {
			return error_set(encoder->err, ETW_ERROR_FORMAT,
					 "a text that ends at a NUL cannot contain one");
		}
	}
	/* The last text of a payload may have no terminator. */
	ended = old->at ? ends_in_nul(field, &old->element) :
			  field->length_type == ETW_FIELD_LENGTH_TYPE;
	etw_payload_zeros(encoder->out, ended ? unit : 0);
	return true;
}

/* Writes the size of the data after `start` into the count before the data. */
static bool set_prefix(struct encoder *encoder, const struct etw_field *field, size_t start)
{
	uint32_t prefix = field_prefix_size(field->type);
	size_t size = encoder->out->size - start;
	bool big = field->type == ETW_FIELD_WCOUNTED_BE || field->type == ETW_FIELD_ACOUNTED_BE;

	if (prefix == 2 && size > UINT16_MAX) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "it has %zu bytes, but its count cannot exceed 65535", size);
	}
	for (uint32_t i = 0; !encoder->out->failed && i < prefix; i++) {
		encoder->out->bytes[start - prefix + i] =
			(uint8_t)(size >> 8 * (big ? prefix - 1 - i : i));
	}
	return true;
}

static void put_kernel_sid(struct encoder *encoder, const struct etw_json_value *value,
			   const struct old_bytes *old)
{
	uint32_t words = 2U * encoder->out->pointer_size;

	if (value->type == JSON_NULL) {
		etw_payload_u32(encoder->out, 0);
	} else if (old->at && old->element.size > 0) {
		etw_payload_bytes(encoder->out, old->at, words);
	} else {
		etw_payload_pointer(encoder->out, UINT64_MAX); /* 0 would mean: no SID */
		etw_payload_pointer(encoder->out, 0);
	}
}

/* Ends text in an array of characters; the count of the array is the length. */
static bool end_chars(struct encoder *encoder, unsigned index, size_t start,
		      const struct old_bytes *old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	size_t units = (encoder->out->size - start) / etw_field_unit_size(field);

	switch ((enum etw_field_count_type)field->count_type) {
	case ETW_FIELD_SCALAR:
		return fill_up(encoder, field, start, 1);
	case ETW_FIELD_COUNT_FIXED:
		return fill_up(encoder, field, start, field->count);
	case ETW_FIELD_COUNT_FIELD:
		return follow_length(encoder, index, field->count, start, old);
	case ETW_FIELD_COUNT_PREFIX:
		if (units > UINT16_MAX) {
			return error_set(encoder->err, ETW_ERROR_FORMAT,
					 "it has %zu characters, but its count cannot exceed 65535",
					 units);
		}
		if (!encoder->out->failed) {
			encoder->out->bytes[start - 2] = (uint8_t)units;
			encoder->out->bytes[start - 1] = (uint8_t)(units >> 8);
		}
		return true;
	case ETW_FIELD_COUNT_REST:
		break;
	}
	return true;
}

/* Writes one element: count, data, terminator or padding. */
static bool put_element(struct encoder *encoder, unsigned index, const struct etw_json_value *value,
			const struct old_bytes *old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	struct etw_payload *out = encoder->out;
	bool chars = etw_field_is_text_of_chars(field);
	uint32_t prefix = field_prefix_size(field->type);
	size_t start;

	if (old->at && !encoder->rewrite && encode_is_same(field, &old->element, value)) {
		etw_payload_bytes(out, old->at, old->size);
		return etw_field_is_list(field) || references_as_before(encoder, index);
	}
	if (chars && field->count_type == ETW_FIELD_COUNT_PREFIX) {
		prefix = 2;
	}
	etw_payload_zeros(out, prefix);
	if (field->type == ETW_FIELD_KERNEL_SID) {
		put_kernel_sid(encoder, value, old);
	}
	start = out->size;
	if (!etw_encode_value(field, value, out, encoder->err)) {
		return false;
	}
	if (chars) {
		return end_chars(encoder, index, start, old);
	}
	if (field_has_length(field)) {
		return end_with_length(encoder, index, start, old);
	}
	return set_prefix(encoder, field, start);
}

/* Passes an element to the visitor, and copies or replaces it as the visitor decides. */
static bool visit_element(struct encoder *encoder, unsigned index, const struct old_bytes *old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	struct etw_json_value text = { .type = JSON_TEXT };
	enum etw_encode_answer answer;
	bool written;

	text_clear(&encoder->new_value);
	answer = encoder->visit(encoder->context, field, &old->element, &encoder->new_value);
	if (encoder->new_value.failed) {
		return error_no_memory(encoder->err, "a new value");
	}
	if (answer == ETW_ENCODE_TEXT && !old->element.cut) {
		text.text = encoder->new_value.data ? encoder->new_value.data : "";
		text.size = encoder->new_value.size;
		encoder->rewrite = true;
		written = put_element(encoder, index, &text, old);
		encoder->rewrite = false;
		return written;
	}
	etw_payload_bytes(encoder->out, old->at, old->size);
	if (answer == ETW_ENCODE_BYTES && encoder->new_value.size == old->element.size &&
	    old->element.size > 0 && !encoder->out->failed) {
		memcpy(encoder->out->bytes + encoder->out->size - old->size +
			       (old->element.at - old->at),
		       encoder->new_value.data, old->element.size);
	}
	return etw_field_is_list(field) || references_as_before(encoder, index);
}

/* ---- lists ---- */

/* Writes the number of elements into the count before the list or into its reference, and checks a
 * fixed number. */
static bool put_count(struct encoder *encoder, unsigned index, size_t count, bool changed)
{
	const struct etw_field *field = &encoder->schema->fields[index];

	switch ((enum etw_field_count_type)field->count_type) {
	case ETW_FIELD_COUNT_FIXED:
		return count == field->count ||
		       error_set(encoder->err, ETW_ERROR_FORMAT,
				 "expected a list of %u elements, found %zu", field->count, count);
	case ETW_FIELD_COUNT_FIELD:
		if (count > UINT32_MAX - 1) {
			break;
		}
		return changed ? refer(encoder, field->count, index, (uint32_t)count) :
				 refer_as_before(encoder, field->count, index);
	case ETW_FIELD_COUNT_PREFIX:
		if (count > UINT16_MAX) {
			break;
		}
		etw_payload_u16(encoder->out, (uint16_t)count);
		return true;
	case ETW_FIELD_SCALAR:
	case ETW_FIELD_COUNT_REST:
		return true;
	}
	return error_set(encoder->err, ETW_ERROR_FORMAT, "a list of %zu elements is too long",
			 count);
}

/* Sets *old to the next element of the old list. Returns false at its end. */
static bool next_old(const struct etw_field *field, const struct etw_field_slice *list,
		     uint32_t *offset, struct old_bytes *old)
{
	uint32_t start = *offset;

	*old = (struct old_bytes){ .at = NULL };
	if (!list || !etw_field_next_element(field, list, offset, &old->element)) {
		return false;
	}
	old->at = list->at + start;
	old->size = *offset - start;
	return true;
}

static bool put_list(struct encoder *encoder, unsigned index, const struct etw_json_value *value,
		     const struct etw_field_slice *list)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	const struct etw_json_value *item = value ? value->first : NULL;
	struct old_bytes old;
	uint32_t offset = 0;

	if (value && value->type != JSON_ARRAY) {
		return error_set(encoder->err, ETW_ERROR_FORMAT, "expected a list, found %s",
				 json_type_name(value->type));
	}
	if (!put_count(encoder, index, value ? value->count : list->count, value != NULL)) {
		return false;
	}
	for (; item; item = item->next) {
		next_old(field, list, &offset, &old);
		if (!put_element(encoder, index, item, &old)) {
			return false;
		}
	}
	while (!value && next_old(field, list, &offset, &old)) {
		if (!visit_element(encoder, index, &old)) {
			return false;
		}
	}
	return value || field->length_type != ETW_FIELD_LENGTH_FIELD ||
	       refer_as_before(encoder, field->length, index);
}

/* ---- fields ---- */

static bool put_fields(struct encoder *encoder, unsigned first, unsigned end,
		       const struct etw_json_value *object, bool has_old, unsigned *missing);

/*
 * Finds the member with the name of a field. Dumps have members in the order of fields, even if two
 * have the same name, so the search begins after *last, the last one found.
 */
static const struct etw_json_value *find_member(const struct etw_json_value *object,
						const struct etw_json_value **last,
						const char *name)
{
	const struct etw_json_value *begin = *last ? (*last)->next : object->first;

	for (const struct etw_json_value *value = begin; value; value = value->next) {
		if (strcmp(value->key, name) == 0) {
			*last = value;
			return value;
		}
	}
	for (const struct etw_json_value *value = object->first; value != begin;
	     value = value->next) {
		if (strcmp(value->key, name) == 0) {
			*last = value;
			return value;
		}
	}
	return NULL;
}

static const struct etw_json_value *change_of(const struct encoder *encoder, unsigned index)
{
	for (size_t i = 0; i < encoder->change_count; i++) {
		if (encoder->changes[i].index == index) {
			return encoder->changes[i].value;
		}
	}
	return NULL;
}

/* Writes the members of one structure. */
static bool put_members(struct encoder *encoder, unsigned index, const struct etw_json_value *value,
			bool has_old)
{
	const struct etw_schema *schema = encoder->schema;
	unsigned end = etw_field_after(schema, index);
	unsigned missing = end;

	if (value && value->type != JSON_OBJECT) {
		return error_set(encoder->err, ETW_ERROR_FORMAT, "expected an object, found %s",
				 json_type_name(value->type));
	}
	if (!put_fields(encoder, index + 1, end, value, has_old, &missing)) {
		return false;
	}
	return missing == end ||
	       error_set(encoder->err, ETW_ERROR_FORMAT, "its member %s is missing",
			 schema->fields[missing].name);
}

static bool put_structs(struct encoder *encoder, unsigned index, const struct etw_json_value *value,
			bool has_old)
{
	const struct etw_field_slice *list = &encoder->slices[index];
	const struct etw_json_value *item = value ? value->first : NULL;
	uint32_t offset = 0;
	size_t count = value ? value->count : list->count;

	if (value && value->type != JSON_ARRAY) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "expected a list of objects, found %s",
				 json_type_name(value->type));
	}
	if (!put_count(encoder, index, count, value != NULL)) {
		return false;
	}
	/* Elements without bytes count, but there is nothing to copy. */
	while (item || !value) {
		if (has_old) {
			encoder->position =
				(uint32_t)(list->at - encoder->record->payload) + offset;
			has_old = etw_field_next_struct(encoder->schema, index, encoder->record,
							encoder->slices, &offset);
		}
		if (!has_old && !item) {
			break;
		}
		if (!put_members(encoder, index, item, has_old)) {
			return false;
		}
		item = item ? item->next : NULL;
	}
	return true;
}

/* Writes a field that is not a structure. */
static bool put_leaf(struct encoder *encoder, unsigned index, const struct etw_json_value *value,
		     bool has_old)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	const struct etw_field_slice *slice = has_old ? &encoder->slices[index] : NULL;
	struct old_bytes old = { .at = NULL };

	if (++encoder->values > VALUES_MOST) {
		return error_set(encoder->err, ETW_ERROR_LIMIT, "the payload has too many values");
	}
	encoder->references[index] = (struct reference){ .at = (uint32_t)encoder->out->size };
	if (has_old) {
		uint32_t end = (uint32_t)(slice->at - encoder->record->payload) + slice->size;

		if (field->type == ETW_FIELD_KERNEL_SID && slice->size == 0) {
			end += 4; /* four zero bytes mean that there is no SID */
		}
		old.at = encoder->record->payload + encoder->position;
		old.size = end - encoder->position;
		old.element = *slice;
		encoder->position = end;
	}
	if (!value && !encoder->visit) {
		etw_payload_bytes(encoder->out, old.at, old.size);
		return references_as_before(encoder, index);
	}
	if (etw_field_is_list(field)) {
		return put_list(encoder, index, value, slice);
	}
	return value ? put_element(encoder, index, value, &old) :
		       visit_element(encoder, index, &old);
}

/*
 * Writes fields first … end - 1. Without an old payload, the payload ends at the first field that
 * `object` lacks, and *missing is the index of that field.
 */
static bool put_fields(struct encoder *encoder, unsigned first, unsigned end,
		       const struct etw_json_value *object, bool has_old, unsigned *missing)
{
	const struct etw_schema *schema = encoder->schema;
	const struct etw_json_value *last = NULL;
	size_t used = 0;

	for (unsigned i = first; i < end; i = etw_field_after(schema, i)) {
		const struct etw_field *field = &schema->fields[i];
		const struct etw_json_value *value =
			object ? find_member(object, &last, field->name) : change_of(encoder, i);
		bool done;

		if (!value && !has_old) {
			*missing = i;
			break;
		}
		used += value != NULL;
		if (field->type != ETW_FIELD_STRUCT) {
			done = put_leaf(encoder, i, value, has_old);
		} else if (field->count_type == ETW_FIELD_SCALAR) {
			done = put_members(encoder, i, value, has_old);
		} else {
			done = put_structs(encoder, i, value, has_old);
			if (has_old) {
				const struct etw_field_slice *list = &encoder->slices[i];

				encoder->position =
					(uint32_t)(list->at - encoder->record->payload) +
					list->size;
			}
		}
		if (!done) {
			return field_error(encoder, i);
		}
	}
	if (object && used < object->count) {
		for (const struct etw_json_value *value = object->first; value;
		     value = value->next) {
			unsigned i = first;

			while (i < end && strcmp(schema->fields[i].name, value->key) != 0) {
				i = etw_field_after(schema, i);
			}
			if (i == end && strcmp(value->key, "_rest") != 0 &&
			    strcmp(value->key, "_truncated") != 0) {
				return error_set(encoder->err, ETW_ERROR_FORMAT,
						 "the event has no field %.100s", value->key);
			}
			if (i < end && *missing < end && i > *missing) {
				return error_set(encoder->err, ETW_ERROR_FORMAT,
						 "%s is missing, but %s, which comes after it, "
						 "is there",
						 schema->fields[*missing].name, value->key);
			}
		}
	}
	return true;
}

/* ---- whole payloads ---- */

static bool begin(struct encoder *encoder)
{
	size_t count = encoder->schema->field_count + 1U;

	encoder->slices = calloc(count, sizeof *encoder->slices);
	encoder->references = calloc(count, sizeof *encoder->references);
	return (encoder->slices && encoder->references) ||
	       error_no_memory(encoder->err, "a payload");
}

static bool finish(struct encoder *encoder, bool done)
{
	free(encoder->slices);
	free(encoder->references);
	text_free(&encoder->new_value);
	if (done && encoder->out->failed) {
		return error_no_memory(encoder->err, "a payload");
	}
	if (done && encoder->out->size > UINT16_MAX) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "the payload would have %zu bytes, but an event has at most 65535",
				 encoder->out->size);
	}
	return done;
}

/*
 * Passes the whole elements of a list of numbers that ends at a cut to the visitor. The rest of the
 * cut element is not copied.
 */
static bool visit_cut_list(struct encoder *encoder, unsigned index)
{
	const struct etw_field *field = &encoder->schema->fields[index];
	const struct etw_field_slice *list = &encoder->slices[index];
	const uint8_t *payload = encoder->record->payload;
	uint32_t prefix = (uint32_t)(list->at - payload) - encoder->position;
	struct old_bytes old;
	uint32_t offset = 0;

	etw_payload_bytes(encoder->out, payload + encoder->position, prefix); /* the count */
	encoder->position += prefix;
	while (next_old(field, list, &offset, &old)) {
		encoder->position += old.size;
		if (!visit_element(encoder, index, &old)) {
			return false;
		}
	}
	return true;
}

/*
 * Passes the values of the cut field, and of the fields before it in its structure, to the visitor.
 * The function stops at an array of structures.
 */
static bool visit_cut(struct encoder *encoder, unsigned first, unsigned whole)
{
	const uint8_t *payload = encoder->record->payload;

	for (unsigned i = first; i <= whole && i < encoder->schema->field_count; i++) {
		const struct etw_field *field = &encoder->schema->fields[i];
		const struct etw_field_slice *slice = &encoder->slices[i];

		if (etw_field_is_struct_array(field) || !slice->at) {
			return true;
		}
		if (field->type == ETW_FIELD_STRUCT) {
			continue;
		}
		if (!slice->cut) {
			if (!put_leaf(encoder, i, NULL, true)) {
				return field_error(encoder, i);
			}
			continue;
		}
		if (etw_field_is_list(field) && field->type <= ETW_FIELD_DOUBLE) {
			if (!visit_cut_list(encoder, i)) {
				return field_error(encoder, i);
			}
		} else if (!etw_field_is_list(field)) {
			struct old_bytes old = { .at = payload + encoder->position,
						 .size = (uint32_t)(slice->at - payload) +
							 slice->size - encoder->position,
						 .element = *slice };

			encoder->references[i].at = (uint32_t)encoder->out->size;
			encoder->position += old.size;
			if (!visit_element(encoder, i, &old)) {
				return field_error(encoder, i);
			}
		}
	}
	return true;
}

/*
 * Fills the payload with 0xff up to its size. No decoder takes these bytes for a whole value: as a
 * count they are too large, as a SID invalid, as a number too short.
 */
static void add_cut_bytes(struct encoder *encoder, size_t size)
{
	while (!encoder->out->failed && encoder->out->size < size) {
		etw_payload_u8(encoder->out, 0xff);
	}
}

bool etw_encode_changed(const struct etw_schema *schema, const struct etw_record *record,
			const struct etw_encode_change *changes, size_t change_count,
			etw_encode_visitor *visit, void *context, struct etw_payload *out,
			struct etw_error *err)
{
	struct encoder encoder = { .schema = schema,
				   .record = record,
				   .changes = changes,
				   .change_count = change_count,
				   .visit = visit,
				   .context = context,
				   .out = out,
				   .err = err };
	unsigned whole = 0, end, missing = 0;
	bool done;

	if (!begin(&encoder)) {
		return finish(&encoder, false);
	}
	if (schema->field_count > 0) {
		whole = etw_fields_walk(schema, schema->field_count - 1U, record, encoder.slices,
					NULL);
	}
	end = schema_end_of_whole(schema, whole);
	for (size_t i = 0; i < change_count; i++) {
		if (changes[i].index >= end) {
			error_set(err, ETW_ERROR_FORMAT, "the payload ends before or in %s",
				  schema->fields[changes[i].index].name);
			return finish(&encoder, false);
		}
	}
	done = put_fields(&encoder, 0, end, NULL, true, &missing) &&
	       (!visit || visit_cut(&encoder, end, whole));
	if (done && visit && whole < schema->field_count) {
		add_cut_bytes(&encoder, out->size + record->payload_size - encoder.position);
	} else if (done && visit) {
		etw_payload_zeros(out, record->payload_size - encoder.position);
	} else if (done) {
		etw_payload_bytes(out, record->payload + encoder.position,
				  record->payload_size - encoder.position);
	}
	return finish(&encoder, done);
}

/* Adds the bytes after the fields: as many zeros as the member "_rest" of a dump says, and the cut
 * field of a truncated payload. */
static bool add_unknown(struct encoder *encoder, const struct etw_json_value *fields, size_t size)
{
	const struct etw_json_value *rest = json_member(fields, "_rest");
	const struct etw_json_value *truncated = json_member(fields, "_truncated");
	uint64_t count = 0;

	if (rest && (rest->type != JSON_NUMBER || !parse_u64(rest->text, rest->size, &count) ||
		     count > UINT16_MAX)) {
		return error_set(encoder->err, ETW_ERROR_FORMAT,
				 "_rest: expected a whole number from 0 to 65535");
	}
	etw_payload_zeros(encoder->out, (size_t)count);
	if (truncated && truncated->type == JSON_TRUE) {
		add_cut_bytes(encoder, size);
	}
	return true;
}

/* Removes the terminator of the last text if the payload is too large by its size: a dump does not
 * show whether the text has one. */
static void drop_terminator(struct encoder *encoder, unsigned missing, size_t size)
{
	const struct etw_field *last = missing > 0 ? &encoder->schema->fields[missing - 1] : NULL;

	if (last && last->count_type == ETW_FIELD_SCALAR &&
	    last->length_type == ETW_FIELD_LENGTH_TYPE &&
	    (last->type == ETW_FIELD_WSTRING || last->type == ETW_FIELD_ASTRING) && size > 0 &&
	    encoder->out->size == size + etw_field_unit_size(last)) {
		encoder->out->size = size;
	}
}

bool etw_encode_fields(const struct etw_schema *schema, const struct etw_json_value *fields,
		       size_t size, struct etw_payload *out, struct etw_error *err)
{
	struct etw_record none = { .payload = (const uint8_t *)"",
				   .pointer_size = out->pointer_size };
	struct encoder encoder = {
		.schema = schema, .record = &none, .out = out, .err = err, .fresh = true
	};
	unsigned missing = schema->field_count;
	bool done;

	if (!begin(&encoder)) {
		return finish(&encoder, false);
	}
	if (fields->type != JSON_OBJECT) {
		error_set(err, ETW_ERROR_FORMAT, "expected an object, found %s",
			  json_type_name(fields->type));
		return finish(&encoder, false);
	}
	done = put_fields(&encoder, 0, schema->field_count, fields, false, &missing);
	if (done) {
		drop_terminator(&encoder, missing, size);
		done = add_unknown(&encoder, fields, size);
	}
	return finish(&encoder, done);
}

size_t etw_encode_room(const struct etw_field *field, const struct etw_field_slice *element)
{
	bool chars = etw_field_is_text_of_chars(field);

	if (chars ? field->count_type == ETW_FIELD_SCALAR ||
			    field->count_type == ETW_FIELD_COUNT_FIXED :
		    field_has_length(field) && (field->length_type == ETW_FIELD_LENGTH_FIXED ||
						(field->length_type == ETW_FIELD_LENGTH_FIELD &&
						 etw_field_is_list(field)))) {
		return element->size / etw_field_unit_size(field);
	}
	return SIZE_MAX;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reads one integer field of an event class from many payloads.
 *
 * Most fields are at a constant offset, so reading one is a comparison and a load. Fields after one
 * of variable length are found by a walk over the payload. A reader is made once for each event
 * class and pointer size.
 */
#ifndef DECODE_FIELD_READER_H
#define DECODE_FIELD_READER_H

#include "decode/schema.h"

enum { FIELD_READER_WALKS = UINT32_MAX };

/* All zero: the event class has no such field. */
struct field_reader {
	uint32_t end;    /* payload bytes that are needed; FIELD_READER_WALKS: no constant offset */
	uint16_t offset; /* in the payload */
	uint16_t index;  /* of the field in the schema */
	uint8_t size;    /* bytes; 0: no such field */
	uint8_t type;    /* enum field_type */
};

/* index: as schema_find_field() returns it. Only scalar integers have a reader. */
struct field_reader field_reader_of(const struct schema *schema, int index, uint8_t pointer_size);

/* field_read_u64() for a field without a constant offset, or one that the payload lacks. */
bool field_read_by_walk(const struct field_reader *reader, const struct schema *schema,
			const struct event_record *record, uint64_t *value);

/*
 * Reads the value like field_u64(). Returns false and leaves *value alone if the event class has no
 * such field, or the payload ends before the end of the field.
 */
static inline bool field_read_u64(const struct field_reader *reader, const struct schema *schema,
				  const struct event_record *record, uint64_t *value)
{
	if (reader->end > record->payload_size) {
		return field_read_by_walk(reader, schema, record, value);
	}
	if (reader->size == 0) {
		return false;
	}
	*value = field_integer((enum field_type)reader->type, record->payload + reader->offset,
			       reader->size);
	return true;
}

static inline bool field_read_u32(const struct field_reader *reader, const struct schema *schema,
				  const struct event_record *record, uint32_t *value)
{
	uint64_t wide;

	if (!field_read_u64(reader, schema, record, &wide)) {
		return false;
	}
	*value = (uint32_t)wide;
	return true;
}

#endif

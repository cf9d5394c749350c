/* SPDX-License-Identifier: MIT */
/*
 * Reads one integer field of an event class from many payloads.
 *
 * Most fields stand at a constant offset, so reading one is a comparison and a load; those behind a
 * field of variable length are found by walking the payload. The reader is made once for an event
 * class and pointer size.
 */
#ifndef DECODE_FIELD_READER_H
#define DECODE_FIELD_READER_H

#include "decode/schema.h"

enum { FIELD_READER_WALKS = UINT32_MAX };

/* How the bytes become the value: as they stand, or by the type of the field. */
enum field_load { LOAD_NONE, LOAD_U8, LOAD_U16, LOAD_U32, LOAD_U64, LOAD_BY_TYPE };

/* All zero: the event class has no such field. */
struct field_reader {
	uint32_t end;    /* payload bytes that are needed; FIELD_READER_WALKS: no constant offset */
	uint16_t offset; /* in the payload */
	uint16_t index;  /* of the field in the schema */
	uint8_t size;    /* bytes */
	uint8_t type;    /* enum field_type */
	uint8_t load;    /* enum field_load */
};

/* index: as schema_find_field() returns it. A field that is no scalar integer has no reader. */
struct field_reader field_reader_of(const struct schema *schema, int index, uint8_t pointer_size);

/* field_read_u64() of a field without constant offset, or one that the payload does not hold. */
bool field_read_by_walk(const struct field_reader *reader, const struct schema *schema,
			const struct event_record *record, uint64_t *value);

/* The integer at a constant offset, of which the payload holds reader->end bytes. */
static inline bool field_read_fixed(const struct field_reader *reader,
				    const struct event_record *record, uint64_t *value)
{
	const uint8_t *at = record->payload + reader->offset;

	switch ((enum field_load)reader->load) {
	case LOAD_U32:
		*value = load_u32(at);
		return true;
	case LOAD_U64:
		*value = load_u64(at);
		return true;
	case LOAD_U16:
		*value = load_u16(at);
		return true;
	case LOAD_U8:
		*value = *at;
		return true;
	case LOAD_BY_TYPE:
		*value = field_integer((enum field_type)reader->type, at, reader->size);
		return true;
	case LOAD_NONE:
		break;
	}
	return false;
}

/*
 * The value as field_u64() gives it. False, and *value left alone: the event class has no such
 * field, or the payload ends before the field's end.
 */
static inline bool field_read_u64(const struct field_reader *reader, const struct schema *schema,
				  const struct event_record *record, uint64_t *value)
{
	if (reader->end > record->payload_size) {
		return field_read_by_walk(reader, schema, record, value);
	}
	return field_read_fixed(reader, record, value);
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

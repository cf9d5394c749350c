/* SPDX-License-Identifier: MIT */
/*
 * The layout of one kind of event: named, typed fields in payload order. One struct, one decoder,
 * many origins.
 *
 * Fields before the first one of variable length have constant offsets, one for each pointer size,
 * computed when the schema is made; the others are found by walking from there. Immutable once
 * made.
 */
#ifndef DECODE_SCHEMA_H
#define DECODE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/text.h"
#include "source/event_record.h"

/*
 * What stands in the payload (etl-format.md sections 14 and 15). More kinds come with TraceLogging
 * and manifests.
 */
enum field_type {
	FIELD_I8, /* integers first, signed ones even: field_is_integer(), field_is_signed() */
	FIELD_U8,
	FIELD_I16,
	FIELD_U16,
	FIELD_I32,
	FIELD_U32,
	FIELD_I64,
	FIELD_U64,
	FIELD_BOOL32,
	FIELD_POINTER, /* 4 or 8 bytes, of the record */
	FIELD_SIZE,    /* likewise */
	FIELD_PORT,    /* u16, big-endian */
	FIELD_IP4,     /* 4 bytes in order */
	FIELD_IP6,     /* 16 bytes in order */
	FIELD_GUID,
	FIELD_WSTRING,	  /* UTF-16LE to a NUL or the end of the payload */
	FIELD_ASTRING,	  /* bytes to a NUL or the end of the payload, Latin-1 unless it is UTF-8 */
	FIELD_WCHARS,	  /* count UTF-16 units, text to the first NUL */
	FIELD_BINARY,	  /* count bytes */
	/* "WBEM SID" of the Process class, section 14. Its slice is the SID alone; size 0: none. */
	FIELD_KERNEL_SID,
};

enum field_count_kind {
	FIELD_SCALAR,
	FIELD_COUNT_FIXED, /* count elements */
	FIELD_COUNT_REST,  /* as many as the payload holds */
	FIELD_COUNT_FIELD, /* as many as the integer in field number `count` says */
};

enum {
	FIELD_OFFSET_VARIES = UINT16_MAX,
	SCHEMA_FIELDS_MOST = 1024, /* etl-format.md section 18 */
};

/* Origins fill in the first four members; fields_place() the others. */
struct field {
	const char *name;
	uint8_t type;	    /* enum field_type */
	uint8_t count_kind; /* enum field_count_kind */
	uint16_t count;	    /* elements; FIELD_COUNT_FIELD: index of an earlier integer field */
	/* Each for pointer size 4 and 8. */
	uint16_t offset[2]; /* in the payload; FIELD_OFFSET_VARIES behind a variable field */
	uint16_t size[2];   /* of the whole field; 0: varies */
};

struct schema {
	const char *event; /* layout name, as `event` in dumps: "Process_V4_TypeGroup1" */
	const struct field *fields;
	uint16_t field_count;
	uint16_t first_variable; /* first field whose own length varies; field_count: none */
};

/*
 * Works out sizes and offsets. Returns schema.first_variable. A field whose count stands in no
 * earlier integer field is taken for a single value, so that a schema from outside cannot lead
 * anywhere else.
 */
uint16_t fields_place(struct field *fields, uint16_t count);

/* Index of the field with this name (exact case), -1 when there is none. */
int schema_find_field(const struct schema *schema, const char *name);

/* One scalar integer (of any width, bool, pointer, port). */
static inline bool field_is_integer(const struct field *field)
{
	return field->count_kind == FIELD_SCALAR && field->type <= FIELD_PORT;
}

static inline bool field_is_signed(const struct field *field)
{
	return field->type < FIELD_U64 && (field->type & 1) == 0;
}

/* Where a field's bytes are in one payload. */
struct field_slice {
	const uint8_t *at; /* into the payload; NULL: absent, the payload ended before it */
	uint32_t size;	   /* bytes, the terminator included where there is one */
	uint32_t count;	   /* elements; 1 for scalars and strings */
	bool cut;	   /* the payload ended inside: what there is, of arrays whole elements */
};

/* field_locate() without constant offset, or of a field that is not whole. */
bool field_locate_by_walk(const struct schema *schema, unsigned index,
			  const struct event_record *record, struct field_slice *slice);

/*
 * Finds one field. Constant offsets need no walk; behind a variable field the walk starts at the
 * first variable one and ends at the field asked for. Returns false when the payload does not hold
 * the whole field (slice: what there is).
 */
static inline bool field_locate(const struct schema *schema, unsigned index,
				const struct event_record *record, struct field_slice *slice)
{
	const struct field *field = &schema->fields[index];
	unsigned wide = record->pointer_size == 8;
	uint32_t offset = field->offset[wide];
	uint32_t size = field->size[wide];

	if (size != 0 && offset != FIELD_OFFSET_VARIES && offset + size <= record->payload_size) {
		*slice = (struct field_slice){
			.at = record->payload + offset,
			.size = size,
			.count = field->count_kind == FIELD_COUNT_FIXED ? field->count : 1,
		};
		return true;
	}
	return field_locate_by_walk(schema, index, record, slice);
}

/*
 * Finds all fields 0 … last in one walk; slices has room for last + 1. Returns the number of whole
 * fields; the rest is absent (at NULL) or, the first of them, cut. *rest, if not NULL, is the
 * number of payload bytes after field `last`.
 */
unsigned fields_walk(const struct schema *schema, unsigned last, const struct event_record *record,
		     struct field_slice *slices, uint32_t *rest);

/*
 * The integer of a located scalar integer field: sign-extended when signed (cast to int64_t), 0 or
 * 1 for a bool. Of a field that is absent or cut, some number.
 */
static inline uint64_t field_u64(const struct field *field, const struct field_slice *slice)
{
	bool is_signed = field_is_signed(field);

	switch (slice->size) {
	case 4: {
		uint32_t value = load_u32(slice->at);

		if (field->type == FIELD_BOOL32) {
			return value != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
	}
	case 8:
		return load_u64(slice->at);
	case 2: {
		uint16_t value = load_u16(slice->at);

		if (field->type == FIELD_PORT) {
			return (uint16_t)(value << 8 | value >> 8);
		}
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
	}
	case 1:
		return is_signed ? (uint64_t)(int64_t)(int8_t)*slice->at : *slice->at;
	default:
		return 0;
	}
}

/*
 * The elements of a located array one by one: start with *offset = 0; false behind the last. Each
 * is then a scalar of the field's type. For a scalar: itself, once.
 */
bool field_next_element(const struct field *field, const struct field_slice *array,
			uint32_t *offset, struct field_slice *element);

/*
 * Adds the value as text: decimal for integers, dotted or colon form for addresses, UTF-8 for
 * strings (unpaired surrogates U+FFFD), S-1-… for SIDs (nothing when there is none), lower-case
 * hexadecimal for binary. Arrays as a comma-separated list.
 */
void field_text(const struct field *field, const struct field_slice *slice, struct text *out);

#endif

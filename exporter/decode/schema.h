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
#include "decode/value_map.h"
#include "source/event_record.h"

/* What stands in the payload (docs/etl-format.md sections 10, 12, 14 and 15). */
enum field_type {
	FIELD_I8, /* integers first, the signed ones even: field_is_integer(), field_is_signed() */
	FIELD_U8,
	FIELD_I16,
	FIELD_U16,
	FIELD_I32,
	FIELD_U32,
	FIELD_I64,
	FIELD_U64,
	FIELD_BOOL8,
	FIELD_BOOL16,
	FIELD_BOOL32,
	FIELD_POINTER,  /* 4 or 8 bytes, of the record */
	FIELD_SIZE,     /* likewise */
	FIELD_FILETIME, /* u64: 100 ns since 1601-01-01 UTC */
	FIELD_PORT,     /* u16, big-endian; the last of the integers */
	FIELD_FLOAT,
	FIELD_DOUBLE,
	FIELD_IP4, /* 4 bytes in order */
	FIELD_IP6, /* 16 bytes in order */
	FIELD_GUID,
	FIELD_SYSTEMTIME, /* 8 u16: a calendar's date and time */
	FIELD_WCHAR,      /* a UTF-16 unit; an array of them is one text */
	FIELD_ACHAR,      /* a byte of text; likewise */
	FIELD_WSTRING,    /* UTF-16LE; see enum field_length_type */
	FIELD_ASTRING,    /* bytes, Latin-1 unless they are UTF-8; likewise */
	FIELD_BINARY,     /* likewise */
	FIELD_WCOUNTED,   /* UTF-16LE; u16 in front: bytes, as in the next three */
	FIELD_ACOUNTED,
	FIELD_BINARY16,
	FIELD_WCOUNTED_BE, /* the count is big-endian */
	FIELD_ACOUNTED_BE,
	FIELD_BINARY32, /* u32 in front: bytes */
	FIELD_SID,
	/* "WBEM SID" of the Process class, section 14. Its slice is the SID alone; size 0: none. */
	FIELD_KERNEL_SID,
	FIELD_NULL,   /* nothing at all */
	FIELD_STRUCT, /* the next `span` fields are in it */
};

enum field_count_type {
	FIELD_SCALAR,
	FIELD_COUNT_FIXED,  /* count elements */
	FIELD_COUNT_REST,   /* as many as the payload holds */
	FIELD_COUNT_FIELD,  /* as many as the integer in field number `count` says */
	FIELD_COUNT_PREFIX, /* as many as the u16 in front of them says */
};

/* Where a FIELD_WSTRING, FIELD_ASTRING or FIELD_BINARY ends. Lengths are in units of its type. */
enum field_length_type {
	FIELD_LENGTH_TYPE,  /* strings at a NUL or the end of the payload, binary at that end */
	FIELD_LENGTH_FIXED, /* after `length` units; text ends at the first NUL */
	FIELD_LENGTH_FIELD, /* likewise, with the integer in field number `length` */
	FIELD_LENGTH_REST,  /* at the end of the payload; text ends at the first NUL */
};

/* What binary data is, where its length does not tell. */
enum field_form {
	FIELD_FORM_PLAIN,
	FIELD_FORM_IP6,      /* an IPv6 address when it has 16 bytes */
	FIELD_FORM_SOCKADDR, /* SOCKADDR_IN or SOCKADDR_IN6 */
};

enum {
	FIELD_OFFSET_VARIES = UINT16_MAX,
	SCHEMA_FIELDS_MOST = 1024, /* docs/etl-format.md section 18 */
	SCHEMA_DEPTH_MOST = 16,    /* structures in structures; likewise */
};

/* Origins fill in the first eight members and the map; fields_place() the others. */
struct field {
	const char *name;    /* its own, without that of the structure it is in */
	uint8_t type;        /* enum field_type */
	uint8_t count_type;  /* enum field_count_type */
	uint8_t length_type; /* enum field_length_type */
	uint8_t form;        /* enum field_form */
	uint16_t count;      /* elements; FIELD_COUNT_FIELD: index of an earlier integer field */
	uint16_t length;     /* units; FIELD_LENGTH_FIELD: index likewise */
	uint16_t span;       /* FIELD_STRUCT: fields in it, those in structures in it included */
	/* Each for pointer size 4 and 8. */
	uint16_t offset[2]; /* in the payload; FIELD_OFFSET_VARIES behind a variable field */
	uint16_t size[2];   /* of the whole field; 0: varies, or nothing */
	const struct value_map *map; /* names of an integer's values; borrowed, NULL: none */
};

/* Where a schema comes from. */
enum schema_origin {
	SCHEMA_KERNEL,
	SCHEMA_TRACELOGGING,
	SCHEMA_MANIFEST,
	SCHEMA_EVENT_INFO,
};

/*
 * Fields stand in payload order, a structure in front of its members. A single structure adds
 * nothing to the payload, so that its members are located like any field. The members of an array
 * of structures are there once for each element: field_next_struct().
 */
struct schema {
	const char *event;  /* as `event` in dumps: "Process_V4_TypeGroup1", "Work/Start" */
	const char *symbol; /* another name by which a manifest knows the event; NULL: none */
	const struct field *fields;
	uint16_t field_count;
	uint16_t first_variable; /* first field whose own length varies; field_count: none */
	uint8_t origin;          /* enum schema_origin */
};

/*
 * Works out sizes and offsets. Returns schema.first_variable. A field whose count stands in no
 * integer field before it is taken for a single value, one whose length does for one that ends as
 * its type does, so that a schema from outside cannot lead anywhere else. Spans must be right.
 */
uint16_t fields_place(struct field *fields, uint16_t count);

/*
 * Index of the field with this name (exact case), of a member as "structure.member"; -1 when there
 * is none. Structures have no value of their own and members of arrays one for each element: both
 * are not found.
 */
int schema_find_field(const struct schema *schema, const char *name);

/* One scalar integer (of any width, bool, pointer, FILETIME, port). */
static inline bool field_is_integer(const struct field *field)
{
	return field->count_type == FIELD_SCALAR && field->type <= FIELD_PORT;
}

/* One floating-point number; field_double(). */
static inline bool field_is_real(const struct field *field)
{
	return field->count_type == FIELD_SCALAR &&
	       (field->type == FIELD_FLOAT || field->type == FIELD_DOUBLE);
}

static inline bool field_is_signed(const struct field *field)
{
	return field->type < FIELD_U64 && (field->type & 1) == 0;
}

/* Characters in a row are one text, not a list. */
static inline bool field_is_text_of_chars(const struct field *field)
{
	return field->type == FIELD_WCHAR || field->type == FIELD_ACHAR;
}

static inline bool field_is_struct_array(const struct field *field)
{
	return field->type == FIELD_STRUCT && field->count_type != FIELD_SCALAR;
}

/* Where a field's bytes are in one payload. */
struct field_slice {
	const uint8_t *at; /* into the payload; NULL: absent, the payload ended before it */
	uint32_t size;     /* bytes: a terminator is in them, a count in front is not */
	uint32_t count;    /* elements; 1 for scalars and strings */
	bool cut;          /* the payload ended inside: what there is, of arrays whole elements */
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
			.count = field->count_type == FIELD_COUNT_FIXED ? field->count : 1,
		};
		return true;
	}
	return field_locate_by_walk(schema, index, record, slice);
}

/*
 * Finds all fields 0 … last in one walk; slices has room for schema->field_count. Returns the index
 * of the first field that is not whole (above last: none); from there on all are absent (at NULL)
 * but that one, which may be cut. *rest, if not NULL, is the number of payload bytes after field
 * `last`. The slices of members of arrays of structures hold nothing of use.
 */
unsigned fields_walk(const struct schema *schema, unsigned last, const struct event_record *record,
		     struct field_slice *slices, uint32_t *rest);

/*
 * The elements of an array of structures one by one, after fields_walk(): start with *offset = 0;
 * false behind the last. The slices of the members are then those of this element, so inner arrays
 * can be gone through in turn; slices[index] stays.
 */
bool field_next_struct(const struct schema *schema, unsigned index,
		       const struct event_record *record, struct field_slice *slices,
		       uint32_t *offset);

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
		if (field->type == FIELD_BOOL16) {
			return value != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
	}
	case 1:
		if (field->type == FIELD_BOOL8) {
			return *slice->at != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int8_t)*slice->at : *slice->at;
	default:
		return 0;
	}
}

/* Adds what field_u64() gave: the field's name for it, else in decimal. */
void field_number_text(const struct field *field, uint64_t value, struct text *out);

/* Of a located FIELD_FLOAT or FIELD_DOUBLE; 0 when it is cut. */
double field_double(const struct field *field, const struct field_slice *slice);

/*
 * The elements of a located array one by one: start with *offset = 0; false behind the last. Each
 * is then a scalar of the field's type. For a scalar: itself, once.
 */
bool field_next_element(const struct field *field, const struct field_slice *array,
			uint32_t *offset, struct field_slice *element);

/*
 * Adds the value as text: the names that the field has for it, else decimal for numbers, dotted or
 * colon form for addresses ("10.0.0.1:80",
 * "[::1]:80" for those of sockets, without a port of 0), UTF-8 for strings (unpaired surrogates
 * U+FFFD), S-1-… for SIDs (nothing when there is none), "2021-09-09T14:59:35.799" for a
 * SYSTEMTIME, lower-case hexadecimal for binary. Arrays as a comma-separated list, of structures
 * nothing.
 */
void field_text(const struct field *field, const struct field_slice *slice, struct text *out);

#endif

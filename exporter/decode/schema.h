/* SPDX-License-Identifier: MIT */
/*
 * The layout of one kind of event: named, typed fields in payload order. One struct, one decoder, many origins.
 *
 * Fields before the first one of variable length have constant offsets, one for each pointer size, computed when the schema is made;
 * the others are found by walking from there. Immutable once made.
 */
#ifndef DECODE_SCHEMA_H
#define DECODE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "source/event_record.h"

/* What stands in the payload (etl-format.md sections 14 and 15). More kinds come with TraceLogging and manifests. */
enum field_type {
	FIELD_I8,
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
	FIELD_WSTRING, /* UTF-16LE to a NUL or the end of the payload */
	FIELD_ASTRING, /* bytes to a NUL or the end of the payload, Latin-1 unless it is UTF-8 */
	FIELD_WCHARS,  /* count UTF-16 units, text to the first NUL */
	FIELD_BINARY,  /* count bytes */
	FIELD_KERNEL_SID, /* "WBEM SID" of the Process class, section 14 */
};

enum field_count_kind {
	FIELD_SCALAR,
	FIELD_COUNT_FIXED, /* count elements */
	FIELD_COUNT_REST,  /* as many as the payload holds */
	FIELD_COUNT_FIELD, /* as many as the integer in field number `count` says */
};

enum { FIELD_OFFSET_VARIES = UINT16_MAX };

struct field {
	const char *name;
	uint8_t type;       /* enum field_type */
	uint8_t count_kind; /* enum field_count_kind */
	uint16_t count;
	uint16_t offset[2]; /* from the start of the payload, for pointer size 4 and 8; FIELD_OFFSET_VARIES behind a variable field */
};

struct schema {
	const char *event; /* layout name, as `event` in dumps: "Process_V4_TypeGroup1" */
	const struct field *fields;
	uint16_t field_count;
	uint16_t first_variable; /* index of the first field whose own length varies; field_count when there is none */
};

/* Index of the field with this name (exact case), -1 when there is none. */
int schema_find_field(const struct schema *schema, const char *name);

bool field_is_integer(const struct field *field);   /* one scalar integer (of any width, bool, pointer, port) */
bool field_is_signed(const struct field *field);

/* Where a field's bytes are in one payload. */
struct field_slice {
	const uint8_t *at; /* into the payload; NULL: the field is absent (payload ended before it) */
	uint32_t size;     /* bytes, the terminator included where there is one */
	uint32_t count;    /* elements; 1 for scalars and strings */
	bool cut;          /* the payload ended inside the field: what there is, is in the slice */
};

/*
 * Finds one field. Constant offsets need no walk; behind a variable field the walk starts at the first variable one and ends at the
 * field asked for. Returns false when the payload does not hold the whole field (slice: what there is).
 */
bool field_locate(const struct schema *schema, unsigned index, const struct event_record *record, struct field_slice *slice);

/*
 * Finds all fields 0 … last in one walk; slices has room for last + 1. Returns the number of whole fields; the rest is absent (at NULL) or, the first
 * of them, cut. *rest, if not NULL, is the number of payload bytes after field `last`.
 */
unsigned fields_walk(const struct schema *schema, unsigned last, const struct event_record *record, struct field_slice *slices,
                     uint32_t *rest);

/* The integer of a located scalar integer field (sign-extended when signed: cast to int64_t). */
uint64_t field_u64(const struct field *field, const struct field_slice *slice);

/*
 * Adds the value as text: decimal for integers, dotted or colon form for addresses, UTF-8 for strings (unpaired surrogates U+FFFD), S-1-… for SIDs,
 * lower-case hexadecimal for binary. Arrays as a comma-separated list.
 */
void field_text(const struct field *field, const struct field_slice *slice, struct text *out);

#endif

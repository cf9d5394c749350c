/* SPDX-License-Identifier: MIT */
/*
 * A recording as buffers and records that a mutator changes, and as bytes again: sizes, ends of
 * buffers and packed bytes then fit again, so that a reader gets to what was changed.
 *
 * What is read may have any fault. The bytes of a buffer from the first on that are no record are a
 * part of their own, which is kept as it is. Memory is fixed: what does not fit is left out.
 */
#ifndef FUZZ_RECORDING_PARTS_H
#define FUZZ_RECORDING_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/etl/record.h"

enum { PARTS_BUFFERS_MOST = 64, PARTS_RECORDS_MOST = 2048, PARTS_BYTES_MOST = 1 << 20 };

/* Offsets in the header of a buffer: docs/etl-format.md section 1.1. */
enum {
	BUFFER_SIZE_AT = 0x00,
	BUFFER_SAVED_END_AT = 0x04,
	BUFFER_PROCESSOR_AT = 0x28,
	BUFFER_END_AT = 0x30,
	BUFFER_FLAGS_AT = 0x34,
	BUFFER_TYPE_AT = 0x36,
	BUFFER_FLAG_COMPRESSED = 0x40,
};

struct part_buffer {
	uint8_t header[ETL_BUFFER_HEADER_SIZE];
	uint32_t filler; /* bytes behind the records */
	size_t records;  /* how many; they follow those of the buffer before */
};

/* A record without its padding, or the rest of a buffer that is no record. */
struct part_record {
	uint32_t at; /* offset in recording_parts.bytes */
	uint32_t size;
	bool is_rest;
};

struct recording_parts {
	struct part_buffer buffers[PARTS_BUFFERS_MOST];
	size_t buffer_count;
	struct part_record records[PARTS_RECORDS_MOST];
	size_t record_count;
	uint8_t bytes[PARTS_BYTES_MOST]; /* of all records, in any order */
	size_t used;
};

void parts_read(struct recording_parts *parts, const uint8_t *data, size_t size);

/* Returns the size, or 0 if that is more than most. */
size_t parts_store(const struct recording_parts *parts, uint8_t *data, size_t most);

/* ---- records ---- */

/* Room for a new record or new bytes of one; NULL: there is none. */
uint8_t *parts_room(struct recording_parts *parts, size_t size);

/* Puts a record before the one at the index, into the same buffer; at record_count into the last
 * buffer. False if there is no place. */
bool parts_insert(struct recording_parts *parts, size_t index, struct part_record record);
void parts_remove(struct recording_parts *parts, size_t index);

static inline uint8_t *parts_bytes(struct recording_parts *parts, const struct part_record *record)
{
	return parts->bytes + record->at;
}

/* What the header type of a record says about where its fields are; 0: it has no such field. */
struct header_form {
	uint8_t type; /* third byte of the record */
	uint8_t size_at;
	uint8_t size; /* of the header, without extras */
	uint8_t time_at;
	uint8_t ids_at;      /* thread id, then process id */
	uint8_t provider_at; /* GUID */
	uint8_t version_at;
	uint8_t opcode_at;
};

extern const struct header_form header_forms[];
extern const size_t header_form_count;

/* NULL: a message, a type that is not known, or the rest of a buffer. */
const struct header_form *header_form_of(const uint8_t *bytes, size_t size);

#endif

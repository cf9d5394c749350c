/* SPDX-License-Identifier: MIT */
/*
 * Splits a recording into buffers and records, which a mutator changes, and makes bytes of them
 * again. Sizes, ends of buffers and compressed bytes then fit, so that a reader reaches what was
 * changed.
 *
 * The recording may have any fault. The bytes of a buffer from the first one that is no record on
 * are a part, which stays unchanged. Memory is fixed: what does not fit is left out.
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
	uint32_t filler; /* bytes after the records */
	size_t records;  /* number of its records, which follow those of the previous buffer */
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
	uint8_t bytes[PARTS_BYTES_MOST]; /* bytes of all records, in any order */
	size_t used;
};

void parts_read(struct recording_parts *parts, const uint8_t *data, size_t size);

/* Returns the size, or 0 if that is more than most. */
size_t parts_store(const struct recording_parts *parts, uint8_t *data, size_t most);

/* ---- records ---- */

/* Returns room for a new record, or for new bytes of one; NULL if there is none. */
uint8_t *parts_room(struct recording_parts *parts, size_t size);

/* Puts a record before the one at the index, into the same buffer; at record_count into the last
 * buffer. False if there is no place. */
bool parts_insert(struct recording_parts *parts, size_t index, struct part_record record);
void parts_remove(struct recording_parts *parts, size_t index);

static inline uint8_t *parts_bytes(struct recording_parts *parts, const struct part_record *record)
{
	return parts->bytes + record->at;
}

/* The offsets of fields in the header of a record, by its type; 0: there is no such field. */
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

/* Returns NULL for a message, an unknown type, or the rest of a buffer. */
const struct header_form *header_form_of(const uint8_t *bytes, size_t size);

#endif

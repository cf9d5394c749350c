/* SPDX-License-Identifier: MIT */
/*
 * Writes records byte by byte, from the tables of docs/etl-format.md sections 4 and 9,
 * independently of lib/etl/writer.h. All have thread 0x1111, process 0x2222 and raw time 1007.
 */
#ifndef SUPPORT_RECORD_BYTES_H
#define SUPPORT_RECORD_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "lib/etl/record.h"

enum { RECORD_BYTES_MAX = 70000 };

/* A buffer that is being written. */
struct record_bytes {
	uint8_t data[RECORD_BYTES_MAX];
	size_t size;
	size_t record; /* offset of the last record */
};

extern const struct etw_guid bytes_provider; /* provider of classic records and events */
extern const struct etw_guid bytes_activity; /* activity of events; the GUID of the class Image */

/* Returns an empty buffer with room for its header; the caller frees it. Ends the program if memory
 * runs out. */
struct record_bytes *bytes_new(void);

void bytes_put(struct record_bytes *b, uint64_t value, unsigned size);
void bytes_guid(struct record_bytes *b, const struct etw_guid *guid);
void bytes_text(struct record_bytes *b, const char *text);

void bytes_begin(struct record_bytes *b); /* begins a record at the next multiple of 8 */
void bytes_end(struct record_bytes *b, unsigned size_at); /* completes its size field */

/* Begin a record and write its header; the payload follows. */
void bytes_kernel(struct record_bytes *b, uint8_t type, uint16_t version, uint8_t opcode,
		  uint8_t group);
void bytes_classic(struct record_bytes *b, uint8_t type);
void bytes_event(struct record_bytes *b, uint8_t type, uint16_t flags);
/* Writes the header of an extended item. */
void bytes_item(struct record_bytes *b, uint16_t size, uint16_t type, uint16_t linkage,
		uint16_t data_size);

/* Returns a format with a clock of 10 MHz, by which raw time 1007 is 51000. */
struct etl_format bytes_format(uint8_t pointer_size, uint8_t classic_pointer_size);

/*
 * Starts a walk at processor 3 and index 100 over a copy whose heap block ends with the data. The
 * caller frees the copy when it no longer needs the record, which points into it.
 */
uint8_t *bytes_walk(struct etl_walk *walk, const struct record_bytes *b,
		    const struct etl_format *format);

#endif

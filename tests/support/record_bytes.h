/* SPDX-License-Identifier: MIT */
/*
 * Records written byte by byte, from the tables of docs/etl-format.md sections 4 and 9, as the
 * other opinion beside the builder's. All have thread 0x1111, process 0x2222 and raw time 1007.
 */
#ifndef SUPPORT_RECORD_BYTES_H
#define SUPPORT_RECORD_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "lib/etl/record.h"

enum { RECORD_BYTES_MAX = 70000 };

/* A buffer under construction. */
struct record_bytes {
	uint8_t data[RECORD_BYTES_MAX];
	size_t size;
	size_t record; /* where the last record starts */
};

extern const struct etw_guid bytes_provider; /* of classic records and events */
extern const struct etw_guid bytes_activity; /* of events; the GUID of the class Image */

/* To be freed; room for a buffer header is left. Ends the program without memory. */
struct record_bytes *bytes_new(void);

void bytes_put(struct record_bytes *b, uint64_t value, unsigned size);
void bytes_guid(struct record_bytes *b, const struct etw_guid *guid);
void bytes_text(struct record_bytes *b, const char *text);

void bytes_begin(struct record_bytes *b);                 /* a record, at the next multiple of 8 */
void bytes_end(struct record_bytes *b, unsigned size_at); /* completes its size field */

/* Begin a record and write its header; the payload follows. */
void bytes_kernel(struct record_bytes *b, uint8_t type, uint16_t version, uint8_t opcode,
		  uint8_t group);
void bytes_classic(struct record_bytes *b, uint8_t type);
void bytes_event(struct record_bytes *b, uint8_t type, uint16_t flags);
/* The header of an extended item. */
void bytes_item(struct record_bytes *b, uint16_t size, uint16_t type, uint16_t linkage,
		uint16_t data_size);

/* A clock of 10 MHz by which raw time 1007 is 51000. */
struct etl_format bytes_format(uint8_t pointer_size, uint8_t classic_pointer_size);

/*
 * Starts a walk on processor 3, index 100, over a copy that ends with the data. The copy is to be
 * freed when the record, which points into it, is no longer needed.
 */
uint8_t *bytes_walk(struct etl_walk *walk, const struct record_bytes *b,
		    const struct etl_format *format);

#endif

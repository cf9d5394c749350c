/* SPDX-License-Identifier: MIT */
/*
 * The header of a buffer: 72 bytes in front of the records that one processor wrote in one go.
 *
 * Source: Geoff Chappell, "WMI_BUFFER_HEADER"; docs/etl-format.md section 1.1. Which of the fields
 * to trust was found out from recordings.
 */
#ifndef ETL_BUFFER_H
#define ETL_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ETL_BUFFER_HEADER_SIZE = 0x48,
	ETL_BUFFER_MAX = 16 << 20, /* valid bytes of a buffer, unpacked; a larger one is corrupt */
};

/* WMI_BUFFER_HEADER.BufferType */
enum etl_buffer_type {
	ETL_BUFFER_GENERIC,
	ETL_BUFFER_RUNDOWN,
	ETL_BUFFER_CONTEXT_SWAP,
	ETL_BUFFER_REFERENCE_TIME,
	ETL_BUFFER_HEADER, /* the first buffer */
	ETL_BUFFER_BATCHED,
	ETL_BUFFER_EMPTY_MARKER, /* this one and the next hold no records */
	ETL_BUFFER_DEBUG_INFO,
};

struct etl_buffer_header {
	/* to the next header on disk; for a compressed buffer its packed size. Not checked */
	uint32_t size_bytes;
	/* of the valid bytes, from the start of the header, of the unpacked buffer. Not checked */
	uint32_t end;
	uint16_t flags;
	uint16_t type; /* enum etl_buffer_type, or what a corrupt header says */
	uint16_t processor;
	bool compressed;
	bool all_zero; /* nothing but zeros: space that was reserved and never written */
};

/* bytes: ETL_BUFFER_HEADER_SIZE of them. */
void etl_buffer_header_read(struct etl_buffer_header *header, const uint8_t *bytes);

/*
 * Whether the buffer's type says that it holds records. Types that nobody documents are given the
 * benefit of the doubt.
 */
bool etl_buffer_has_records(const struct etl_buffer_header *header);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads the headers of buffers, and recognises one among other bytes, so that a scan can continue
 * after damage.
 *
 * Source: Geoff Chappell, "WMI_BUFFER_HEADER"; docs/etl-format.md sections 1.1 and 1.3.
 */
#ifndef LIB_ETL_BUFFER_HEADER_H
#define LIB_ETL_BUFFER_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "lib/etl/record.h"

/* ---- a header ---- */

/* The largest packed size of a buffer of ETL_BUFFER_MAX bytes: 4 bytes of flags for every 32
 * literals. */
enum { ETL_PACKED_MAX = ETL_BUFFER_MAX / 8 * 9 + ETL_BUFFER_HEADER_SIZE + 4 };

/* WMI_BUFFER_HEADER.BufferType */
enum etl_buffer_type {
	ETL_BUFFER_GENERIC,
	ETL_BUFFER_RUNDOWN,
	ETL_BUFFER_CONTEXT_SWAP,
	ETL_BUFFER_REFERENCE_TIME,
	ETL_BUFFER_HEADER, /* the first buffer */
	ETL_BUFFER_BATCHED,
	ETL_BUFFER_EMPTY_MARKER, /* this type and the next contain no records */
	ETL_BUFFER_DEBUG_INFO,
};

/* Reads a header from ETL_BUFFER_HEADER_SIZE bytes. */
void etl_buffer_header_read(struct etw_buffer_header *header, const uint8_t *bytes);

/*
 * Returns whether sizes and type are possible for a buffer. Use it only at places where a buffer is
 * expected: of random bytes about one place in 30 million passes, too.
 */
bool etl_header_is_plausible(const struct etw_buffer_header *header);

/* ---- a search ---- */

/* What a logfile header says about the buffers after it. */
struct etl_shape {
	uint32_t buffer_size; /* usual size in bytes, at least 1; few buffers are larger */
	bool preallocated;    /* the file was reserved in advance, so it may end in zeros */
	const struct etw_source_clock *clock; /* borrowed */
	/* time range of the buffers, 100 ns since 1601 UTC */
	int64_t first_time, last_time;
};

/* The bytes that a buffer needs to be recognised: its header and the smallest record; in a
 * compressed buffer 4 bytes of flags come before the record. */
enum { ETL_FIND_SIZE = ETL_BUFFER_HEADER_SIZE + ETL_RECORD_SIZE_MIN + 4 };

/*
 * Returns the offset of the first buffer that begins in these bytes. It is recognised by its whole
 * header and the start of its first record. If there is none, returns the number of places that
 * were checked: those with at least ETL_FIND_SIZE bytes left.
 */
size_t etl_find_buffer(const struct etl_shape *shape, const uint8_t *bytes, size_t size);

#endif

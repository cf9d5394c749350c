/* SPDX-License-Identifier: MIT */
/*
 * Goes through the buffers of a recording in file order.
 *
 * Reads through a window, so that a recording of any size needs little memory. What makes no sense
 * is skipped, counted and told: only input that cannot be read, or no memory, ends a scan early.
 */
#ifndef ETL_SCAN_H
#define ETL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etl/block.h"
#include "etl/buffer.h"
#include "etl/input.h"
#include "etl/problems.h"
#include "etl/record.h"
#include "etl/unpack.h"

/* What was found wrong, in numbers; the same as in struct source_statistics. */
struct etl_damage {
	uint64_t bad_buffers;
	uint64_t bad_records;
	bool truncated;
	struct etl_problems *problems; /* borrowed; NULL: sentences are not wanted */
};

/* Where a buffer lies and what is good of it: enough to bring it back. */
struct etl_place {
	uint64_t offset;
	/*
	 * of its bytes in the file, the header included; less than it says when the file is cut
	 * short
	 */
	uint32_t disk_size;
	uint32_t end; /* of the good bytes, unpacked */
	uint16_t processor;
	bool compressed;
};

struct etl_buffer {
	struct etl_buffer_header header;
	struct etl_place place;
	uint64_t sequence; /* of the buffer in its file, from 0 */
	/*
	 * place.end of them, the header included; valid until the next step. NULL: no records to be
	 * had
	 */
	const uint8_t *bytes;
};

enum etl_step { ETL_STEP_BUFFER, ETL_STEP_END, ETL_STEP_FAILED };

enum { ETL_SCAN_AHEAD = 8 };

/* A buffer that was read ahead, and is being unpacked if it is compressed. */
struct etl_ahead {
	struct etl_buffer buffer;
	struct etl_unpack_job job; /* its blocks are owned */
	bool unpacking;            /* there is something in job.out, or will be */
};

struct etl_scan {
	struct etl_input *input;   /* borrowed */
	struct etl_blocks *blocks; /* borrowed */
	struct etl_damage *damage; /* borrowed */
	uint32_t mode;             /* enum etl_mode bits of the recording; 0 when not known yet */
	uint64_t offset;           /* of the next buffer to be read */
	uint64_t sequence;         /* likewise; in the end, the number of buffers */
	uint8_t *window;           /* owned */
	size_t window_capacity;
	uint64_t window_offset;
	size_t window_size;
	/* owned; of the buffer that the scan is at, if it is compressed */
	struct etl_block *unpacked;
	struct etl_ahead ahead[ETL_SCAN_AHEAD]; /* a ring */
	unsigned ahead_first;
	unsigned ahead_count;
	struct etl_unpacker *unpacker; /* owned; NULL until a recording has enough to unpack */
	unsigned compressed;           /* buffers so far, up to what it takes to start one */
	enum etl_step end;             /* what comes behind the buffers read ahead */
	struct error error;
};

/* Starts at a buffer's offset. Nothing to free before the first step. */
void etl_scan_start(struct etl_scan *scan, struct etl_input *input, struct etl_blocks *blocks,
		    struct etl_damage *damage, uint32_t mode, uint64_t offset, uint64_t sequence);
enum etl_step etl_scan_next(struct etl_scan *scan, struct etl_buffer *buffer, struct error *err);
/*
 * Takes the block with the unpacked bytes of a compressed buffer; the buffer's bytes stay valid as
 * long as the block.
 */
struct etl_block *etl_scan_take_unpacked(struct etl_scan *scan);
void etl_scan_done(struct etl_scan *scan);

/* Counts and tells what a walk that has ended found wrong in the buffer. */
void etl_damage_walk(struct etl_damage *damage, const struct etl_buffer *buffer,
		     const struct etl_walk *walk);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Goes through the buffers of a recording in file order.
 *
 * It reads through a window, so that a recording of any size needs little memory. Invalid data is
 * skipped, counted and reported. Only input that cannot be read, or no memory, ends a scan early.
 *
 * Source: Geoff Chappell, "WMI_BUFFER_HEADER"; docs/etl-format.md section 1.1. Recordings
 * show which of the fields can be trusted.
 */
#ifndef LIB_ETL_SCAN_H
#define LIB_ETL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/os.h"
#include "lib/etl/buffer_header.h"
#include "lib/etl/record.h"
#include "lib/etl/unpack.h"

/* ---- input ---- */

/*
 * The bytes of a recording: a file, or a block of memory (tests, fuzzing).
 *
 * They are read by position and copied. A recording is never in memory as a whole, and if another
 * program cuts the file meanwhile, reading fails with an error. One thread at a time.
 */
struct etw_part {
	struct os_file *file; /* owned */
	char *path;           /* owned */
	uint64_t end;         /* of its bytes in the input */
};

struct etw_input {
	uint64_t size_bytes;    /* fixed when it was opened */
	struct etw_part *parts; /* owned; files, one behind the other; NULL: memory */
	size_t part_count;
	const uint8_t *memory;    /* borrowed */
	struct etw_blocks blocks; /* for packed and unpacked bytes */
};

/* @path: as for etl_packed_open(). */
bool etl_input_open(struct etw_input *input, const char *path, struct etw_error *err);
/* The same for several files; their bytes follow each other. The error has the path. */
bool etl_input_open_all(struct etw_input *input, const char *const *paths, size_t count,
			struct etw_error *err);
void etl_input_over(struct etw_input *input, const void *bytes, size_t size);
void etl_input_close(struct etw_input *input);

/* Reads up to size bytes at offset; *got < size only at the end of the input. */
bool etl_input_read(struct etw_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct etw_error *err);

/* Where the file ends whose bytes are at the offset; size_bytes behind the last one. */
uint64_t etw_input_file_end(const struct etw_input *input, uint64_t offset);
/* os_file_change() of one of its files; NULL: none has changed. */
const char *etw_input_change(const struct etw_input *input);
/* ---- buffers ---- */

/* The place of a buffer and its valid part, which is enough to read it again. */
struct etw_place {
	uint64_t offset;
	/*
	 * of its bytes in the file, the header included; less than in the header if the file is
	 * cut
	 */
	uint32_t disk_size;
	uint32_t end; /* of the valid bytes, unpacked */
	uint16_t processor;
	bool compressed;
};

struct etw_buffer {
	struct etw_buffer_header header;
	struct etw_place place;
	uint64_t sequence; /* of the buffer in its file, from 0 */
	/*
	 * place.end bytes, the header included; valid until the next step. NULL: the buffer has no
	 * records that can be read
	 */
	const uint8_t *bytes;
};

enum etw_step { ETW_STEP_BUFFER, ETW_STEP_END, ETW_STEP_FAILED };

/* A buffer that was read ahead, and is being unpacked if it is compressed. */
struct etw_ahead {
	struct etw_buffer buffer;
	struct etw_unpack_job job; /* its blocks are owned */
	bool unpacking;            /* job.out has the unpacked bytes, or will have them */
};

struct etw_scan {
	struct etw_input *input;   /* borrowed */
	struct etw_damage *damage; /* borrowed */
	struct etl_shape shape;    /* buffer_size 0: the header is not read yet */
	uint64_t offset;           /* of the next buffer to be read */
	uint64_t sequence;         /* likewise; in the end, the number of buffers */
	uint64_t none_from;        /* no buffer begins from here … */
	uint64_t none_to;          /* … up to here, as was seen */
	uint8_t *window;           /* owned */
	size_t window_capacity;
	uint64_t window_offset;
	size_t window_size;
	/* owned; of the buffer that the scan is at, if it is compressed */
	struct etw_block *unpacked;
	struct etw_ahead ahead[ETW_UNPACK_AHEAD]; /* a ring */
	unsigned ahead_first;
	unsigned ahead_count;
	struct etw_unpacker unpacker; /* its blocks are borrowed */
	enum etw_step end;            /* what follows the buffers that are read ahead */
	struct etw_error error;
};

/*
 * Starts at the offset of a buffer. Before the first step there is nothing to free.
 *
 * @shape: where a buffer should begin and none does, the scan continues with the next one. NULL: it
 * ends there.
 */
void etw_scan_start(struct etw_scan *scan, struct etw_input *input, struct etw_damage *damage,
		    const struct etl_shape *shape, uint64_t offset, uint64_t sequence);
enum etw_step etw_scan_next(struct etw_scan *scan, struct etw_buffer *buffer,
			    struct etw_error *err);
/*
 * Takes the block with the unpacked bytes of a compressed buffer; the buffer's bytes stay valid as
 * long as the block.
 */
struct etw_block *etw_scan_take_unpacked(struct etw_scan *scan);
void etw_scan_done(struct etw_scan *scan);

/*
 * Whether a buffer of so many packed bytes, its header left out, may unpack to end bytes, its
 * header included. A compressed buffer that may not is dropped.
 */
bool etl_packed_is_plausible(uint32_t packed, uint32_t end);

/* Counts and reports a compressed buffer that unpacks to more than is plausible. */
void etl_damage_implausible(struct etw_damage *damage, const struct etw_buffer *buffer);

/* Counts and reports the damage that a walk has found in the buffer; call it after the walk. */
void etl_damage_walk(struct etw_damage *damage, const struct etw_buffer *buffer,
		     const struct etl_walk *walk);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads the buffers of a recording in file order.
 *
 * It reads through a window, so that a recording of any size needs little memory. Invalid data is
 * skipped, counted and reported. A scan ends early only if the input cannot be read or memory runs
 * out.
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
#include "lib/etl/record.h"
#include "lib/etl/unpack.h"

/*
 * ---- headers of buffers (buffer_header.c) ----
 *
 * Reads the headers of buffers, and recognises one among other bytes, so that a scan can continue
 * after damage (docs/etl-format.md section 1.3).
 */

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

/* Bits of WMI_BUFFER_HEADER.BufferFlag */
enum etl_buffer_flag {
	ETL_BUFFER_FLUSH = 0x01,           /* the last buffer that a flush wrote */
	ETL_BUFFER_PROCESSOR_INDEX = 0x20, /* the number of the processor has 16 bits, not 8 */
	ETL_BUFFER_COMPRESSED = 0x40,
};

/* Reads a header from ETL_BUFFER_HEADER_SIZE bytes. */
void etl_buffer_header_read(struct etw_buffer_header *header, const uint8_t *bytes);

/*
 * Returns whether sizes and type are possible for a buffer. Use it only at places where a buffer is
 * expected, because about one place in 30 million random bytes passes, too.
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

/* ---- input ---- */

/*
 * The bytes of a recording: a file, or a block of memory (tests, fuzzing).
 *
 * They are read by position and copied. A recording is never in memory as a whole. If another
 * program truncates the file meanwhile, reading fails with an error. One thread at a time may use
 * an input.
 */
struct etl_part {
	struct os_file *file; /* owned */
	char *path;           /* owned */
	uint64_t end;         /* offset in the input where the bytes of this file end */
};

struct etl_input {
	uint64_t size_bytes; /* size at the time of opening */
	/* owned; files whose bytes follow each other; NULL: the input is memory */
	struct etl_part *parts;
	size_t part_count;
	const uint8_t *memory;    /* borrowed */
	struct etl_blocks blocks; /* memory for packed and unpacked bytes */
};

/* Opens an input. path: as for etl_packed_open(). */
bool etl_input_open(struct etl_input *input, const char *path, struct etw_error *err);
/* Opens several files whose bytes follow each other in the input. The error contains the path. */
bool etl_input_open_all(struct etl_input *input, const char *const *paths, size_t count,
			struct etw_error *err);
/* Opens a file a second time. path: its name in errors. */
bool etl_input_share(struct etl_input *input, const struct os_file *file, const char *path,
		     struct etw_error *err);
void etl_input_over(struct etl_input *input, const void *bytes, size_t size);
void etl_input_close(struct etl_input *input);

/* Reads up to size bytes at offset; *got < size only at the end of the input. */
bool etl_input_read(struct etl_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct etw_error *err);

/* Returns os_file_change() of the first of its files that has changed; NULL if none has. */
const char *etl_input_change(const struct etl_input *input);

/* ---- buffers ---- */

/* The place of a buffer and its valid part, which is enough to read it again. */
struct etl_place {
	uint64_t offset;
	/*
	 * bytes in the file, with the header; less than the header says if the file is cut short
	 */
	uint32_t disk_size;
	uint32_t end; /* end of the valid unpacked bytes, from the start of the header */
	uint16_t processor;
	bool compressed;
};

struct etl_buffer {
	struct etw_buffer_header header;
	struct etl_place place;
	uint64_t sequence; /* number of the buffer in its file, from 0 */
	/*
	 * place.end bytes with the header; valid until the next step. NULL: the buffer has no
	 * records that can be read
	 */
	const uint8_t *bytes;
};

enum etl_step { ETL_STEP_BUFFER, ETL_STEP_END, ETL_STEP_FAILED };

/* A buffer that was read ahead, and is being unpacked if it is compressed. */
struct etl_ahead {
	struct etl_buffer buffer;
	struct etl_unpack_job job; /* its blocks are owned */
	bool unpacking;            /* job.out has the unpacked bytes, or will have them */
};

struct etl_scan {
	struct etl_input *input;   /* borrowed */
	struct etw_damage *damage; /* borrowed */
	struct etl_shape shape;    /* buffer_size 0: the header is not read yet */
	uint64_t offset;           /* offset of the next buffer to read */
	uint64_t sequence;  /* number of the next buffer to read; at the end the number of all
			       buffers */
	uint64_t none_from; /* a search has found that no buffer begins from here … */
	uint64_t none_to;   /* … up to here */
	uint8_t *window;    /* owned */
	size_t window_capacity;
	uint64_t window_offset;
	size_t window_size;
	/* owned; unpacked bytes of the present buffer if it is compressed */
	struct etl_block *unpacked;
	struct etl_ahead ahead[ETL_UNPACK_AHEAD]; /* a ring buffer */
	unsigned ahead_first;
	unsigned ahead_count;
	struct etl_unpacker unpacker; /* its blocks are borrowed */
	enum etl_step end;            /* result of the step after the buffers that are read ahead */
	struct etw_error error;
};

/*
 * Starts a scan at the offset of a buffer. Before the first step there is nothing to free.
 *
 * @shape: used to find the next buffer after a place where a buffer should begin and does not.
 * NULL: the scan ends at such a place.
 */
void etl_scan_start(struct etl_scan *scan, struct etl_input *input, struct etw_damage *damage,
		    const struct etl_shape *shape, uint64_t offset, uint64_t sequence);
enum etl_step etl_scan_next(struct etl_scan *scan, struct etl_buffer *buffer,
			    struct etw_error *err);
/*
 * Gives the caller the block with the unpacked bytes of a compressed buffer. The buffer's bytes
 * stay valid as long as the block.
 */
struct etl_block *etl_scan_take_unpacked(struct etl_scan *scan);
void etl_scan_done(struct etl_scan *scan);

/*
 * Returns whether a compressed buffer may unpack to end bytes (with its header). packed: its packed
 * bytes without the header. Other compressed buffers are dropped.
 */
bool etl_packed_is_plausible(uint32_t packed, uint32_t end);

/* Counts and reports a compressed buffer that unpacks to more than is plausible. */
void etl_damage_implausible(struct etw_damage *damage, const struct etl_buffer *buffer);

/* Counts and reports the damage that a walk has found in the buffer; call it after the walk. */
void etl_damage_walk(struct etw_damage *damage, const struct etl_buffer *buffer,
		     const struct etl_walk *walk);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Goes through the buffers of a recording in file order.
 *
 * Reads through a window, so that a recording of any size needs little memory. What makes no sense
 * is skipped, counted and reported: only input that cannot be read, or no memory, ends a scan
 * early.
 *
 * Source: Geoff Chappell, "WMI_BUFFER_HEADER"; docs/etl-format.md section 1.1. Which of the fields to
 * trust was found out from recordings.
 */
#ifndef ETL_SCAN_H
#define ETL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os.h"
#include "etl/record.h"
#include "etl/unpack.h"

/* ---- input ---- */

/*
 * Where the bytes of a recording come from: a file, or a block of memory (tests, fuzzing).
 *
 * Reads are by position and copy: a recording is never held whole, and a file that another program
 * cuts short meanwhile is an error, not a fault. One thread at a time.
 */
struct etl_input {
	uint64_t size_bytes;      /* fixed when it was opened */
	struct os_file *file;     /* owned; NULL: memory */
	const uint8_t *memory;    /* borrowed */
	struct etl_blocks blocks; /* for what is read and unpacked */
};

bool etl_input_open(struct etl_input *input, const char *path, struct error *err);
void etl_input_over(struct etl_input *input, const void *bytes, size_t size);
void etl_input_close(struct etl_input *input);

/* Reads up to size bytes at offset; *got < size only at the end of the input. */
bool etl_input_read(struct etl_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct error *err);

/* ---- problems ---- */

/*
 * What is wrong inside a recording, as sentences for people; the statistics have the counts. Past
 * ETL_PROBLEMS_MAX a sentence is only counted, so that a hostile recording cannot fill memory with
 * complaints.
 */
enum { ETL_PROBLEMS_MAX = 100 };

/* Zero-initialise it. */
struct etl_problems {
	char *sentences[ETL_PROBLEMS_MAX]; /* owned */
	size_t count;                      /* of sentences */
	uint64_t dropped;                  /* problems without a sentence here */
};

/* problems may be NULL: the sentence is dropped. */
void etl_problem(struct etl_problems *problems, const char *format, ...) PRINTF_LIKE(2, 3);
void etl_problems_done(struct etl_problems *problems);

/* ---- buffers ---- */

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

/* A buffer that was read ahead, and is being unpacked if it is compressed. */
struct etl_ahead {
	struct etl_buffer buffer;
	struct etl_unpack_job job; /* its blocks are owned */
	bool unpacking;            /* there is something in job.out, or will be */
};

struct etl_scan {
	struct etl_input *input;   /* borrowed */
	struct etl_damage *damage; /* borrowed */
	bool preallocated;         /* the file was reserved in advance, so it may end in zeros */
	uint64_t offset;           /* of the next buffer to be read */
	uint64_t sequence;         /* likewise; in the end, the number of buffers */
	uint8_t *window;           /* owned */
	size_t window_capacity;
	uint64_t window_offset;
	size_t window_size;
	/* owned; of the buffer that the scan is at, if it is compressed */
	struct etl_block *unpacked;
	struct etl_ahead ahead[ETL_UNPACK_AHEAD]; /* a ring */
	unsigned ahead_first;
	unsigned ahead_count;
	struct etl_unpacker unpacker; /* its blocks are borrowed */
	enum etl_step end;            /* what comes behind the buffers read ahead */
	struct error error;
};

/* Starts at a buffer's offset. Nothing to free before the first step. */
void etl_scan_start(struct etl_scan *scan, struct etl_input *input, struct etl_damage *damage,
		    bool preallocated, uint64_t offset, uint64_t sequence);
enum etl_step etl_scan_next(struct etl_scan *scan, struct etl_buffer *buffer, struct error *err);
/*
 * Takes the block with the unpacked bytes of a compressed buffer; the buffer's bytes stay valid as
 * long as the block.
 */
struct etl_block *etl_scan_take_unpacked(struct etl_scan *scan);
void etl_scan_done(struct etl_scan *scan);

/* Counts and reports what a walk that has ended found wrong in the buffer. */
void etl_damage_walk(struct etl_damage *damage, const struct etl_buffer *buffer,
		     const struct etl_walk *walk);

#endif

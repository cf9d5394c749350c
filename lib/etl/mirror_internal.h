/* SPDX-License-Identifier: MIT */
/*
 * The parts of a mirror: mirror.c reads the inputs and copies their records, mirror_out.c writes
 * the buffers of the result.
 */
#ifndef LIB_ETL_MIRROR_INTERNAL_H
#define LIB_ETL_MIRROR_INTERNAL_H

#include <etw/mirror.h>

#include "lib/etl/index.h"
#include "lib/etl/unpack.h"
#include "lib/etl/writer.h"

enum {
	MIRROR_USUAL_SIZE = 64 << 10, /* of a buffer */
	MIRROR_STANDARD_MAX =
		1 << 20,           /* largest buffer size in a header that is believed, in bytes */
	MIRROR_PENDING_MOST = 256, /* most small pieces that wait to be joined to one buffer */
	MIRROR_PACKS = 2 * JOBS_THREADS_MOST,
};

/* ---- memory ---- */

struct mirror_block {
	uint8_t *bytes; /* owned */
	size_t capacity;
};

bool mirror_reserve(struct mirror_block *block, size_t size, struct etw_error *err);

/* ---- a buffer of the result ---- */

struct mirror_times {
	int64_t *at; /* raw time of each record; owned */
	size_t count;
	size_t capacity;
};

struct mirror_piece {
	struct etl_buffer from; /* the buffer whose header the piece gets; its bytes are not used */
	struct mirror_block block; /* header and records */
	uint32_t used;             /* bytes used in block; 0: there is no piece */
	uint64_t records;
	struct mirror_times times; /* times of all records, in order */
	bool whole; /* it is a whole input buffer of which only the packing changes */
};

bool mirror_add_time(struct mirror_piece *piece, int64_t time, struct etw_error *err);
void mirror_piece_done(struct mirror_piece *piece);

/* A piece that is compressed before it is written, possibly by another thread. */
struct mirror_pack {
	struct job job; /* the first member */
	struct mirror_piece piece;
	struct mirror_block packed;
	uint32_t size; /* bytes of the packed buffer, with its header */
};

/* ---- a mirror ---- */

struct etw_mirror {
	char *path; /* owned; "-": the standard output; NULL: the result stays in memory */
	enum etw_visibility visibility;
	struct etw_mirror_form form;
	struct etw_file *const *inputs; /* borrowed */
	size_t input_count;
	bool begun; /* the first copy has begun */
	bool output_failed;
	/* header values of the result, still without the count of buffers */
	struct logfile_changes header;
	int64_t start_raw;     /* raw time of header.start_time */
	size_t header_payload; /* offset of the payload of the logfile header in the first buffer */
	size_t header_payload_size;
	uint8_t header_pointer_size;
	struct etw_writer *writer; /* owned; NULL until the first buffer is complete */
	struct etl_so_far written; /* sums over the buffers written, to check that a reader will
				      accept the next one */
	uint32_t largest; /* bytes of the largest buffer that differs from the one it was made
			     from; 0: there is none */
	struct etw_mirror_counts counts;
	struct mirror_piece piece;    /* the records of the buffer that is being copied */
	struct mirror_block as_it_is; /* bytes of a buffer that is copied unchanged */
	struct mirror_piece *pending; /* owned; NULL or an array of MIRROR_PENDING_MOST, in the
					 order of writing */
	size_t pending_count;         /* pieces in use; the others keep their memory */
	struct jobs *jobs;            /* owned; NULL until there were enough pieces to compress */
	/* a ring buffer; elements not in use keep their memory */
	struct mirror_pack packs[MIRROR_PACKS];
	uint64_t packs_begun, packs_written;
};

/* Returns the size of a buffer if nothing else determines it: the usual size of buffers of this
 * recording, in bytes. */
uint32_t mirror_usual_size(const struct etw_mirror *mirror);

/* ---- writing (mirror_out.c) ---- */

/* Stores the header of the result in the first buffer. running: stores the header of a session that
 * has not ended. */
bool mirror_header_store(struct etw_mirror *mirror, uint8_t *bytes, bool running,
			 struct etw_error *err);

/* Writes mirror->piece after all waiting pieces, or queues it to be compressed first. */
bool mirror_write(struct etw_mirror *mirror, struct etw_error *err);

/* As mirror_write(), or keeps the piece to join it with later ones. mirror->piece is empty
 * afterwards. */
bool mirror_write_or_join(struct etw_mirror *mirror, struct etw_error *err);

/*
 * Tries to write a buffer with its bytes from the input. *done is set to whether that was possible;
 * if not, the caller writes it as a piece.
 */
bool mirror_write_as_it_is(struct etw_mirror *mirror, struct etw_file *input,
			   const struct etl_buffer *buffer, uint64_t records, bool *done,
			   struct etw_error *err);

/* Puts the path of the result before the error. Returns false. */
bool mirror_failed(const struct etw_mirror *mirror, struct etw_error *err);

/* Writes the pieces that wait to be joined, and those that are being compressed. */
bool mirror_flush(struct etw_mirror *mirror, struct etw_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The parts of a mirror: mirror.c copies, mirror_header.c makes the header of the result,
 * mirror_out.c writes buffers.
 */
#ifndef LIB_ETL_MIRROR_INTERNAL_H
#define LIB_ETL_MIRROR_INTERNAL_H

#include <etw/mirror.h>

#include "base/replacement.h"
#include "lib/etl/index.h"
#include "lib/etl/jobs.h"
#include "lib/etl/logfile_header.h"
#include "lib/etl/output.h"

enum {
	MIRROR_USUAL_SIZE = 64 << 10,  /* of a buffer */
	MIRROR_STANDARD_MAX = 1 << 20, /* of a buffer size in a header that is believed */
	MIRROR_PENDING_MOST = 256,     /* pieces that wait for more of the same */
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
	int64_t *at; /* raw, of each record; owned */
	size_t count;
	size_t capacity;
};

struct mirror_piece {
	struct etw_buffer from;    /* the buffer whose header it has; its bytes are not used */
	struct mirror_block block; /* header and records */
	uint32_t used;             /* bytes of them; 0: there is no piece */
	uint64_t records;
	struct mirror_times times; /* all of them, in their order */
	bool whole;                /* nothing but the form of the buffer changes */
};

bool mirror_add_time(struct mirror_piece *piece, int64_t time, struct etw_error *err);
void mirror_piece_done(struct mirror_piece *piece);

/* A piece that is packed before it is written, perhaps by another thread. */
struct mirror_pack {
	struct job job; /* the first member */
	struct mirror_piece piece;
	struct mirror_block packed;
	uint32_t size; /* of the packed buffer, header included */
};

/* ---- a mirror ---- */

struct etw_mirror {
	bool standard_output;
	struct replacement file; /* without a path: in memory, or to the standard output */
	struct etw_mirror_form form;
	struct etw_file *const *inputs; /* borrowed */
	size_t input_count;
	bool begun; /* the first copy has begun */
	bool output_failed;
	struct logfile_changes header; /* of the result; the count of buffers is still missing */
	int64_t start_raw;             /* the moment of start_time */
	size_t header_payload;         /* offset in the first buffer … */
	size_t header_payload_size;
	uint8_t header_pointer_size;
	struct etw_writer *writer; /* owned; NULL until the first buffer is complete */
	struct etw_so_far written; /* as a reader of the result sees it */
	struct etw_mirror_counts counts;
	struct mirror_piece piece;    /* of the buffer that is being copied */
	struct mirror_block as_it_is; /* a buffer that keeps its bytes */
	struct mirror_piece *pending; /* owned, NULL or MIRROR_PENDING_MOST; in the order in which
					 they are to be written */
	size_t pending_count;         /* those behind keep their memory */
	struct jobs *jobs;            /* owned; NULL until there were enough pieces to pack */
	struct mirror_pack packs[MIRROR_PACKS]; /* a ring; those not in use keep their memory */
	uint64_t packs_begun, packs_written;
};

/* What a buffer may have when nothing else says: as much as buffers of this recording have. */
uint32_t mirror_usual_size(const struct etw_mirror *mirror);

/* ---- the header of the result (mirror_header.c) ---- */

void mirror_header_merge(struct etw_mirror *mirror);

/* Finds the logfile header in the first buffer, which a reader has accepted. */
bool mirror_header_find(struct etw_mirror *mirror, const uint8_t *bytes, uint32_t size,
			struct etw_error *err);

/* Stores the header of the result in the first buffer; running: as that of a session that has not
 * ended. */
bool mirror_header_store(struct etw_mirror *mirror, uint8_t *bytes, bool running,
			 struct etw_error *err);

/* ---- writing (mirror_out.c) ---- */

/* Writes mirror->piece behind all that waits, or lets it be packed for that. */
bool mirror_write(struct etw_mirror *mirror, struct etw_error *err);

/* The same, or keeps it to be joined with later ones. The piece is empty afterwards. */
bool mirror_write_or_join(struct etw_mirror *mirror, struct etw_error *err);

/*
 * Writes a buffer with the bytes that it has in the input. *done: it could be. Otherwise it is to
 * be written as a piece.
 */
bool mirror_write_as_it_is(struct etw_mirror *mirror, struct etw_file *input,
			   const struct etw_buffer *buffer, uint64_t records, bool *done,
			   struct etw_error *err);

/* Writes the pieces that wait for others, and those that are being packed. */
bool mirror_flush(struct etw_mirror *mirror, struct etw_error *err);

#endif

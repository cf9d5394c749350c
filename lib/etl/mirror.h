/* SPDX-License-Identifier: MIT */
/*
 * Writes a recording again, buffer by buffer, with what a callback makes of each record.
 *
 * The result has the buffers of its inputs in their order, each with the records that stay, byte
 * for byte, in their order; so a reader delivers both in the same order, records of the same time
 * included. This is the shape of Windows' ITraceRelogger: open, etw_mirror_copy() with a callback
 * per record, further records by etw_mirror_writer(), finish, close. Memory is bounded by the
 * largest buffer, and sixteen of at most 1 MiB that other threads pack. One thread.
 */
#ifndef LIB_ETL_MIRROR_H
#define LIB_ETL_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/writer.h"

/* ---- what becomes of a record ---- */

enum etw_mirror_action {
	ETW_MIRROR_KEEP,
	ETW_MIRROR_DROP,
	ETW_MIRROR_REPLACE,
	ETW_MIRROR_STOP, /* the copy fails: the callback knows why */
};

struct etw_mirror_bytes {
	const uint8_t *at;
	size_t size; /* without padding */
};

/*
 * Gets a record and its bytes, header included. For ETW_MIRROR_REPLACE it sets *bytes to a whole
 * record in their place, borrowed until the next call; a larger one may split the buffer. A logfile
 * header can be replaced, not dropped; of all inputs but the first it is not shown.
 */
typedef enum etw_mirror_action etw_mirror_decide(void *context, const struct etw_record *record,
						 struct etw_mirror_bytes *bytes);

/* The place of a buffer in its file. */
struct etw_mirror_place {
	uint64_t offset;
	uint64_t buffers; /* before it */
	uint64_t records; /* in these */
};

/* The callbacks of one copy. All members may be NULL. */
struct etw_mirror_visitor {
	void *context;
	/* NULL: every record stays, and buffers are copied as they are. */
	etw_mirror_decide *decide;
	void *buffer_context;
	void (*on_buffer)(void *context, uint64_t bytes_read); /* after each buffer */
	/*
	 * To copy some buffers only: gets the place of the next one, sets that of the buffer to
	 * copy next, which is the same or behind it, and returns whether there is one. The first
	 * buffer of the first copy cannot be left out.
	 */
	void *seek_context;
	bool (*seek)(void *context, struct etw_mirror_place *place);
};

/* ---- a mirror ---- */

/* How buffers are stored. */
enum etw_packing {
	ETW_AS_READ,
	ETW_PLAIN,
	ETW_COMPRESSED, /* where that makes them smaller */
};

struct etw_mirror_form {
	enum etw_packing packing;
	/* So many threads pack buffers, the caller's among them; 0: one for each processor. The
	 * result has the same bytes. */
	unsigned threads;
};

struct etw_mirror_counts {
	uint64_t records;  /* written, the logfile header included */
	uint64_t dropped;  /* left out by the callback */
	uint64_t replaced; /* of those written */
	uint64_t buffers;  /* written, after etw_mirror_finish() */
};

struct etw_mirror; /* opaque */

/* Whether recordings can be merged: false, with a sentence that says what differs. */
bool etw_mirror_fits(const struct etw_file *a, const struct etw_file *b, struct etw_error *err);

/*
 * Starts a recording at path, in memory (path NULL) or for the standard output (path "-"). A file
 * has another name beside path until etw_mirror_finish(), and the standard output gets nothing
 * before: then all of it, from a temporary file.
 *
 * @inputs: what it is made from; they must fit together and outlive it. The header is that of the
 * first one with the least start, the greatest end and the sums of the losses. A record that is
 * added later than that (etw_mirror_writer()) moves the end.
 */
struct etw_mirror *etw_mirror_open(const char *path, struct etw_mirror_form form,
				   struct etw_file *const *inputs, size_t input_count,
				   struct etw_error *err);

/*
 * Appends an input. The first one must be the first of etw_mirror_open(); the others fit it. What a
 * reader skips is counted and left out. False when the input cannot be read, the result cannot be
 * written or the callback stops the copy, of which the error then says nothing; then only
 * etw_mirror_close() follows.
 */
bool etw_mirror_copy(struct etw_mirror *mirror, struct etw_file *input,
		     const struct etw_mirror_visitor *visitor, struct etw_damage *damage,
		     struct etw_error *err);

/* Whether a copy failed because of the result, and not because of its input; the error then has the
 * path. */
bool etw_mirror_output_failed(const struct etw_mirror *mirror);

/*
 * After the last copy, for further records: they are added in time order and get buffers of
 * their own behind the others, so that they also sort behind others of the same time. Raw times are
 * those of the first input's clock. Its failures are reported by etw_mirror_finish().
 */
struct etw_writer *etw_mirror_writer(struct etw_mirror *mirror);

/* Completes the header and gives the file its name. False when that or anything before failed; the
 * error has the path. There is none if the reader of the standard output has seen enough. */
bool etw_mirror_finish(struct etw_mirror *mirror, struct etw_error *err);

void etw_mirror_counts(const struct etw_mirror *mirror, struct etw_mirror_counts *counts);

/* The recording in memory, after etw_mirror_finish(); the mirror's. */
const uint8_t *etw_mirror_bytes(const struct etw_mirror *mirror, size_t *size);

/* Frees everything, and removes a file that is not finished. NULL is allowed. */
void etw_mirror_close(struct etw_mirror *mirror);

#endif

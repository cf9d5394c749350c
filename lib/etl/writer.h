/* SPDX-License-Identifier: MIT */
/*
 * Writes .etl recordings: it puts records into buffers and writes these to a file or to memory.
 *
 * Each processor has one open buffer, which is written when it is full, as in a session; the first
 * buffer, with the logfile header, is completed last. The writer needs memory for one buffer of
 * each processor. Records stay in the order of adding; the caller must add those of one processor
 * in time order.
 *
 * The functions that add return nothing. After the first failure they do nothing, and
 * etw_writer_finish() reports that failure. One thread at a time. The bytes are those of
 * docs/etl-format.md sections 1 to 5 and 9.
 */
#ifndef LIB_ETL_WRITER_H
#define LIB_ETL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "base/guid.h"
#include "base/os.h"
#include "lib/etl/logfile_header.h"
#include "lib/source/event_record.h"

/* ---- a record (out_record.c) ---- */

/*
 * The bytes of one record: its header by type, then extended items, then the payload. struct
 * etw_out_record describes its contents.
 */

enum {
	ETL_SYSTEM_HEADER_SIZE = 32
}; /* bytes of the header of a SYSTEM record without additional fields */

/* ---- recordings ---- */

struct etw_writer; /* opaque */

/*
 * Begins a recording with a first buffer from another recording, whose first record is a logfile
 * header. The bytes are copied. The caller must update the header in it before etw_writer_finish()
 * (etl_writer_first_buffer()). Options about the header are not written; they only apply to the
 * records that are added.
 */
struct etw_writer *etl_writer_open_with(const char *path, const struct etw_writer_options *options,
					const uint8_t *first, size_t size, struct etw_error *err);

/* Returns the first buffer that was given. The caller may change it before etw_writer_finish(),
 * which writes it again. */
uint8_t *etl_writer_first_buffer(struct etw_writer *writer);

/*
 * Adds a whole buffer. bytes: its header and records, `used` bytes; the rest up to `size` is filled
 * with 0xff, as sessions do. Records that were added before stay in their open buffers.
 */
void etl_writer_add_buffer(struct etw_writer *writer, const uint8_t *bytes, size_t used,
			   size_t size);

/* Returns the number of buffers written so far, with the first one, without open buffers. */
uint32_t etl_writer_buffers(const struct etw_writer *writer);

/* Returns the bytes of the largest buffer written so far that contains added records; 0 if there
 * is none. */
uint32_t etl_writer_largest_buffer(const struct etw_writer *writer);

/* Adds a record with the payload of a struct etw_payload. If that payload has failed, the writer
 * fails, too. */
void etl_writer_add_payload(struct etw_writer *writer, const struct etw_out_record *record,
			    const struct etw_payload *payload);

/* Adds a record to the first buffer, after the header, where sessions write extension and partition
 * records. */
void etl_writer_add_to_header(struct etw_writer *writer, const struct etw_out_record *record);

/* Writes all open buffers, in the order of processors, and marks the last one as flushed. */
void etl_writer_flush(struct etw_writer *writer);

/* Sets whether further buffers are compressed. Those already written stay as they are. */
void etl_writer_set_compressed(struct etw_writer *writer, bool compressed);

/* Returns the latest raw time of the records that were added, without those of whole buffers; at
 * least the raw time of the header. */
int64_t etl_writer_latest_raw(const struct etw_writer *writer);

/* Returns the recording in memory, after etw_writer_finish(). It belongs to the writer until
 * etw_writer_close(). */
const uint8_t *etl_writer_bytes(const struct etw_writer *writer, size_t *size);

/* Returns the file; NULL if the recording is in memory. It belongs to the writer. */
const struct os_file *etl_writer_file(const struct etw_writer *writer);

/* Returns the raw time `ns` nanoseconds after the start, by the recording's clock. */
int64_t etl_writer_raw_time(const struct etw_writer *writer, uint64_t ns);

/* ---- where the bytes go (output.c) ---- */

/*
 * Where a recording is written to: a file, growing memory, or the standard output.
 *
 * The header at the start of a recording contains the numbers of buffers and losses, which are
 * known only at the end. A recording for the standard output therefore waits in a temporary file
 * (os_file_temporary()) until then, and a file gets its name then (os_file_new()).
 */

/* Zero-initialise it. */
struct etl_output {
	struct os_file *file; /* owned; NULL: the output is in memory */
	bool standard;        /* the file is for the standard output */
	bool temporary;       /* the file gets no name */
	uint8_t *memory;      /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

/* Opens an output. path: NULL keeps the bytes in memory, "-" is the standard output. */
bool etl_output_open(struct etl_output *output, const char *path, enum etw_visibility visibility,
		     struct etw_error *err);

bool etl_output_write(struct etl_output *output, const uint8_t *bytes, size_t size,
		      struct etw_error *err);

/*
 * Overwrites the first size bytes of the output, which must have been written before, and gives the
 * file its name. Nothing can be written afterwards. The standard output gets everything now. If its
 * reader has closed the pipe, this returns false without setting an error (base/print.h).
 */
bool etl_output_finish(struct etl_output *output, const uint8_t *bytes, size_t size,
		       struct etw_error *err);

/* Removes a file that was not finished. */
void etl_output_close(struct etl_output *output);

#endif

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
#include "lib/source/event_record.h"

/*
 * ---- a record (out_record.c) ----
 *
 * The bytes of one record: its header by type, then extended items, then the payload. struct
 * etw_out_record describes its contents.
 */

/* Bytes of the header of a SYSTEM record without additional fields. */
enum { ETL_SYSTEM_HEADER_SIZE = 32 };

/* Writes exactly etw_out_record_size() bytes, at most 65,535, to at. pointer_size: used if the
 * record has 0. */
void etl_out_record_store(const struct etw_out_record *record, uint8_t pointer_size, uint8_t *at);

/*
 * ---- the logfile header (out_record.c) ----
 *
 * The payload of the first record of a recording, and the clock that it describes
 * (docs/etl-format.md sections 5 and 6).
 */

/* Values that are known only at the end of the recording. */
struct logfile_ending {
	int64_t latest_raw; /* latest raw time of all records */
	uint32_t buffers_written;
};

/*
 * Adds the header. ending: NULL while the session runs. The names are UTF-8; if both are NULL, they
 * are left out. The part before the names has the same size with and without ending, so it can be
 * overwritten.
 */
void logfile_header_build(struct etw_payload *payload, const struct etw_writer_options *options,
			  const struct logfile_ending *ending, const char *session_name,
			  const char *file_name);

/*
 * Header values of a recording that is made from others; the rest of its header is that of the
 * first input.
 */
struct logfile_changes {
	uint32_t buffer_size;
	uint32_t processors;
	uint32_t log_file_mode;
	uint32_t buffers_written;
	uint32_t events_lost;
	uint32_t buffers_lost;
	int64_t start_time; /* 100 ns since 1601 UTC, as end_time */
	int64_t end_time;
};

/*
 * Stores the changes in the payload of a header record. pointer_size: 4 or 8, as its header type
 * says. Returns false, and stores nothing, if the payload is too small for a header.
 */
bool logfile_header_change(uint8_t *payload, size_t size, uint8_t pointer_size,
			   const struct logfile_changes *changes);

/* Returns the frequency of the clock of a recording. options must have all defaults filled in. */
uint64_t logfile_ticks_per_second(const struct etw_writer_options *options);

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

/* Adds the bytes of a whole record of another recording, with its header, without padding.
 * raw_time: the raw time in that header. */
void etl_writer_add_raw(struct etw_writer *writer, uint16_t processor, int64_t raw_time,
			const void *bytes, size_t size);

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

#endif

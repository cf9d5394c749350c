/* SPDX-License-Identifier: MIT */
/*
 * Writes .etl recordings: records go in, buffers with their headers come out, in a file or in
 * memory.
 *
 * Each processor has one open buffer, which goes out when it is full, as in a session; the first
 * buffer, with the logfile header, is completed last. Memory is bounded by the processors' buffers.
 * Records stand in a buffer in the order in which they are added: giving them in time order per
 * processor is the caller's part, as is what their payloads mean.
 *
 * The functions that add return nothing: the first failure is kept, the rest does nothing, and
 * etw_writer_finish() reports. One thread. The bytes are those of docs/etl-format.md sections 1 to
 * 5 and 9.
 */
#ifndef LIB_ETL_WRITER_H
#define LIB_ETL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "lib/etl/logfile_header.h"
#include "lib/etl/out_record.h"

struct etw_writer; /* opaque */

/*
 * A recording whose first buffer is given, as it stands in another recording: its first record is a
 * logfile header. The bytes are copied; what they say about the recording is the caller's part
 * (etl_writer_first_buffer()). Of the options those of the header only serve the records that are
 * added.
 */
struct etw_writer *etl_writer_open_with(const char *path, const struct etw_writer_options *options,
					const uint8_t *first, size_t size, struct etw_error *err);

/* The given first buffer, which etw_writer_finish() writes again; to be changed before. */
uint8_t *etl_writer_first_buffer(struct etw_writer *writer);

/*
 * A whole buffer, its header included, of used bytes; the rest of its size is filled with 0xff, as
 * sessions do. Records that were added before stay in their open buffers.
 */
void etl_writer_add_buffer(struct etw_writer *writer, const uint8_t *bytes, size_t used,
			   size_t size);

/* Buffers written so far, the first included; open buffers are not. */
uint32_t etl_writer_buffers(const struct etw_writer *writer);

/* The same with the payload of a struct etw_payload; one that failed fails the writer. */
void etl_writer_add_payload(struct etw_writer *writer, const struct etw_out_record *record,
			    const struct etw_payload *payload);

/* Into the first buffer, behind the header: the extension and partition records that sessions write
 * there. */
void etl_writer_add_to_header(struct etw_writer *writer, const struct etw_out_record *record);

/* Writes all open buffers, by processor; the last one has the mark of a flush. */
void etl_writer_flush(struct etw_writer *writer);

/* From now on: whether buffers are packed. Those already written stay as they are. */
void etl_writer_set_compressed(struct etw_writer *writer, bool compressed);

/* The latest raw time of the records that were added, whole buffers left out; not before that of
 * the header. */
int64_t etl_writer_latest_raw(const struct etw_writer *writer);

/* The recording in memory, after etw_writer_finish(); the writer's, until etw_writer_close(). */
const uint8_t *etl_writer_bytes(const struct etw_writer *writer, size_t *size);

/* Raw time of a moment `ns` nanoseconds after the start, by the recording's clock. */
int64_t etl_writer_raw_time(const struct etw_writer *writer, uint64_t ns);

#endif

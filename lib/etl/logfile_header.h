/* SPDX-License-Identifier: MIT */
/*
 * The payload of the first record of a recording, and the clock that it describes
 * (docs/etl-format.md sections 5 and 6).
 */
#ifndef LIB_ETL_LOGFILE_HEADER_H
#define LIB_ETL_LOGFILE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>
#include <etw/record.h>

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

/* Return values of the clock of a recording. options must have all defaults filled in. */
uint64_t logfile_ticks_per_second(const struct etw_writer_options *options);
int64_t logfile_raw_time(const struct etw_writer_options *options,
			 uint64_t ns); /* after the start */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The payload of a recording's first record, and the clock that it describes (docs/etl-format.md
 * sections 5 and 6).
 */
#ifndef LIB_ETL_LOGFILE_HEADER_H
#define LIB_ETL_LOGFILE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/source/clock.h"
#include "lib/source/payload.h"

enum { ETW_LOGFILE_TIME_ZONE_REST = 168 }; /* bytes of TIME_ZONE_INFORMATION behind its Bias */

/* What a recording says about itself. Zero-initialised fields take the value behind the colon. */
struct etw_writer_options {
	uint8_t pointer_size;        /* of the traced kernel and of records that do not say: 8 */
	uint16_t processors;         /* 1 */
	uint32_t buffer_size;        /* bytes, a multiple of 8: 65536 */
	uint32_t header_buffer_size; /* of the first buffer, raised to what is in it: buffer_size */
	bool compressed;             /* buffers are packed, where that makes them smaller */
	bool processor_index;        /* buffers say that their processor is a 16-bit index */
	bool unclosed; /* leave end time and number of buffers as a session that was not stopped
			  does */

	enum etw_clock_type clock; /* ETW_CLOCK_QPC */
	uint64_t perf_frequency;   /* ticks per second of the performance counter: 10,000,000 */
	uint32_t cpu_mhz;          /* 2400 */
	int64_t start_raw;         /* T0, the raw time of the header record: 0 */
	int64_t start_time;        /* the same moment, 100 ns since 1601 UTC: 2024-05-14 07:00 */
	int64_t end_time;          /* likewise: that of the latest record */
	int64_t boot_time;         /* likewise: an hour before the start */
	int32_t bias_minutes;      /* UTC = local time + bias: 0 */
	/* names and rules of standard and daylight saving time, as in the header of the session: no
	   names, and no daylight saving time */
	uint8_t time_zone_rest[ETW_LOGFILE_TIME_ZONE_REST];

	const char *session_name; /* UTF-8: empty; borrowed until etw_writer_open() returns */
	const char *file_name;    /* likewise */
	uint32_t log_file_mode;   /* 1, sequential; the bit for compression is added */
	uint32_t maximum_file_mb; /* 0 */
	uint32_t os_build;        /* 17763 */
	uint8_t os_major;         /* 10 */
	uint8_t os_minor;         /* 0 */
	uint16_t logger_id;       /* 0 */
	uint32_t events_lost;     /* 0 */
	uint32_t buffers_lost;    /* 0 */
	uint32_t process_id;      /* of who started the session: 0 */
	uint32_t thread_id;       /* likewise */
};

/* What is known at the end only. */
struct logfile_ending {
	int64_t latest_raw; /* of all records */
	uint32_t buffers_written;
};

/*
 * Adds the header. ending NULL: as long as the session runs. The names are UTF-8; both NULL leaves
 * them out: what stands before them has the same size at the beginning and at the end.
 */
void logfile_header_build(struct etw_payload *payload, const struct etw_writer_options *options,
			  const struct logfile_ending *ending, const char *session_name,
			  const char *file_name);

/*
 * What a recording that is made from others says about itself; the rest of its header is that of
 * the first of them.
 */
struct logfile_changes {
	uint32_t buffer_size;
	uint32_t processors;
	uint32_t log_file_mode;
	uint32_t buffers_written;
	uint32_t events_lost;
	uint32_t buffers_lost;
	int64_t start_time; /* 100 ns since 1601 UTC, as is the end */
	int64_t end_time;
};

/*
 * Stores them in the payload of a header record, whose pointer size (4 or 8) is that of its header
 * type. False, and nothing is stored, if the payload is too small for a header.
 */
bool logfile_header_change(uint8_t *payload, size_t size, uint8_t pointer_size,
			   const struct logfile_changes *changes);

/* options with all defaults filled in. */
uint64_t logfile_ticks_per_second(const struct etw_writer_options *options);
int64_t logfile_raw_time(const struct etw_writer_options *options,
			 uint64_t ns); /* after the start */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * An open recording: its bytes, its header, and what all of its records share. The logfile header
 * is the first record of every recording; it describes the session that wrote it and its clock.
 *
 * Source: "TRACE_LOGFILE_HEADER structure", Microsoft Learn; Geoff Chappell,
 * "TRACE_LOGFILE_HEADER"; docs/etl-format.md sections 1.2 and 5.
 */
#ifndef LIB_ETL_FILE_H
#define LIB_ETL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/etl/chosen.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"
#include "lib/source/repeat_finder.h"
#include "lib/source/source.h"

/* LogFileMode bits ("Logging Mode Constants", Microsoft Learn). */
enum etw_mode {
	ETW_MODE_SEQUENTIAL = 0x1,
	ETW_MODE_CIRCULAR = 0x2,
	ETW_MODE_NEW_FILE = 0x8,
	ETW_MODE_PREALLOCATE = 0x20,
	ETW_MODE_REAL_TIME = 0x100,
	ETW_MODE_BUFFERING = 0x400,
	ETW_MODE_RELOG = 0x10000,
};

struct etw_header {
	uint32_t buffer_size_bytes;
	uint8_t version_major;
	uint8_t version_minor;
	uint32_t os_build;
	uint32_t processors;
	/* 100 ns since 1601 UTC, as are the others; 0: the session was not closed */
	int64_t end_time;
	uint32_t timer_resolution_100ns;
	uint32_t mode; /* enum etw_mode bits */
	uint32_t buffers_written;
	uint32_t pointer_size; /* of the recorded kernel, as in the header */
	uint32_t events_lost;
	uint32_t cpu_mhz;
	int32_t timezone_bias_minutes; /* UTC = local + bias */
	int64_t boot_time;
	int64_t perf_frequency; /* as in the header: may be 0 or wrong */
	int64_t start_time;
	uint32_t clock_type; /* ReservedFlags; enum etw_clock_type, or another value */
	uint32_t buffers_lost;
	/* of the header record: the moment of start_time by the session's clock */
	int64_t raw_time;
	char *logger_name; /* UTF-8, owned; never NULL, as log_file_name */
	char *log_file_name;
};

/* One file of several. */
struct etw_file_part {
	char *path; /* owned */
	uint64_t size_bytes;
	uint32_t events_lost; /* as in its header */
	uint32_t buffers_lost;
};

struct etw_file {
	struct etw_input input;
	/* Of several files: the names and the start are those of the first, the rest is of all. */
	struct etw_header header;
	struct etw_format format;
	const char *clock_doubt; /* what is wrong with the clock; NULL: nothing */
	/* ---- of several files ---- */
	struct etw_file_part *parts; /* owned, in order; NULL: it is one file */
	size_t part_count;
	char *set_doubt;           /* owned; which files are missing; NULL: none */
	struct chosen passed_over; /* what a file repeats, and all logfile headers but the first */
};

/* From now on recordings of several files are read without what they repeat. Before there is
 * another thread; NULL: they are read as they are. */
void etw_file_find_repeats(const struct etw_repeat_finder *finder);

/*
 * Opens a recording, packed or not (etl_packed_open()), and reads its header. A file whose first
 * record is not a logfile header is no recording. A path with * in place of a number is that of
 * several files (lib/etl/file_set.h), which are one recording: they are read once here, on the
 * clock of the first. They must be of one machine and boot.
 *
 * @pointer_size: 4 or 8 is used for classic payloads; 0: as recorded.
 */
struct etw_file *etw_file_open(const char *path, uint8_t pointer_size, struct etw_error *err);
/* Opens several recordings as one, like the files of a set in this order. The error has the path.
 */
struct etw_file *etw_file_open_all(const char *const *paths, size_t count, uint8_t pointer_size,
				   struct etw_error *err);
/* The same over a block of memory, which must outlive it. */
struct etw_file *etw_file_over(const void *bytes, size_t size, uint8_t pointer_size,
			       struct etw_error *err);
void etw_file_close(struct etw_file *file); /* NULL is allowed */

/* Reads the header of an input that is open. What is there already is lost on failure. */
bool etl_file_read_header(struct etw_file *file, uint8_t pointer_size, struct etw_error *err);

/* Whether a record is a logfile header. */
bool etl_is_header(const struct etw_record *record);

/* Starts a scan at the offset of a buffer, which has this number in the file. */
void etw_file_scan(struct etw_file *file, struct etw_scan *scan, struct etw_damage *damage,
		   uint64_t offset, uint64_t sequence);

/*
 * The clock that the header describes. An invalid frequency is replaced by 10 MHz, and an unknown
 * clock type by the performance counter; *doubt is then a sentence about it, else NULL.
 */
struct etw_source_clock etl_header_clock(const struct etw_header *header, const char **doubt);

/* A word for the mode: circular, sequential, … */
const char *etw_header_mode_name(const struct etw_header *header);

/*
 * Adds up the losses of the parts of one session, in their order. Whether the losses in the header
 * of a part are its own or those of the session up to there is not documented [assumed: the latter,
 * unless a part has fewer than the one before]. Zero-initialise it.
 */
struct etl_losses {
	uint64_t sum;
	uint32_t last;
	bool fell;
};

static inline void etl_losses_add(struct etl_losses *losses, uint32_t lost)
{
	losses->fell |= lost < losses->last;
	losses->last = lost;
	losses->sum += lost;
}

static inline uint64_t etl_losses_of_all(const struct etl_losses *losses)
{
	return losses->fell ? losses->sum : losses->last;
}

#endif

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

#include <etw/recording.h>
#include <etw/source.h>

#include "base/chosen.h"
#include "base/error.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"

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

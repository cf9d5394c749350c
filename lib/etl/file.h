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

#include "base/array.h"
#include "base/error.h"
#include "lib/etl/record.h"
#include "lib/etl/scan.h"

struct etw_file {
	struct etl_input input;
	/* With several files the names and the start are those of the first file; the rest
	 * describes all files together. */
	struct etw_header header;
	struct etl_format format;
	const char *clock_doubt; /* a sentence about what is wrong with the clock; NULL: nothing */
	/* ---- a recording of several files ---- */
	struct etw_file_part *parts; /* owned, in order; NULL for one file */
	size_t part_count;
	char *set_doubt; /* owned; a sentence about missing files; NULL: none is missing */
	struct chosen passed_over; /* records to skip: those that an earlier file has, too, and all
				      logfile headers but the first */
};

/* Opens several recordings as one, like the files of a set in this order. The error contains the
 * path. */
struct etw_file *etl_file_open_all(const char *const *paths, size_t count, uint8_t pointer_size,
				   struct etw_error *err);

/* Opens what another handle has open. path: its name in errors. */
struct etw_file *etl_file_open_shared(const struct os_file *from, const char *path,
				      uint8_t pointer_size, struct etw_error *err);

/* Reads the header of an input that is open. On failure the former header is lost. */
bool etl_file_read_header(struct etw_file *file, uint8_t pointer_size, struct etw_error *err);

/* Returns whether a record is a logfile header. */
bool etl_is_header(const struct etw_record *record);

/* Starts a scan at the offset of a buffer; sequence: the number of this buffer in the file, from 0.
 */
void etl_file_scan(struct etw_file *file, struct etl_scan *scan, struct etw_damage *damage,
		   uint64_t offset, uint64_t sequence);

/*
 * Returns the clock that the header describes. An invalid frequency is replaced by 10 MHz, and an
 * unknown clock type by the performance counter; *doubt is then set to a sentence about it,
 * otherwise to NULL.
 */
struct etw_source_clock etl_header_clock(const struct etw_header *header, const char **doubt);

/*
 * Adds up the losses in the headers of the files of one session, in order. It is not documented
 * whether a header has the losses of its own file or those of the session so far. Assumed: those of
 * the session so far, unless a file has fewer than the one before. Zero-initialise it.
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

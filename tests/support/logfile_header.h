/* SPDX-License-Identifier: MIT */
/*
 * The payload of a recording's first record, and the clock that it describes (docs/etl-format.md
 * sections 5 and 6).
 */
#ifndef SUPPORT_LOGFILE_HEADER_H
#define SUPPORT_LOGFILE_HEADER_H

#include <stdint.h>

#include "tests/support/etl_builder.h"
#include "tests/support/payload.h"

/* What is known at the end only. */
struct logfile_ending {
	int64_t latest_raw; /* of all records */
	uint32_t buffers_written;
};

/*
 * Adds the header. ending NULL: as long as the session runs. The names are UTF-8; both NULL leaves
 * them out: what stands before them has the same size at the beginning and at the end.
 */
void logfile_header_build(struct payload *payload, const struct etl_builder_options *options,
			  const struct logfile_ending *ending, const char *session_name,
			  const char *file_name);

/* options with all defaults filled in. */
uint64_t logfile_ticks_per_second(const struct etl_builder_options *options);
int64_t logfile_raw_time(const struct etl_builder_options *options,
			 uint64_t ns); /* after the start */

#endif

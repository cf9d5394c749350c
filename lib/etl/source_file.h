/* SPDX-License-Identifier: MIT */
/*
 * The source that replays a recording.
 */
#ifndef LIB_ETL_SOURCE_FILE_H
#define LIB_ETL_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/source/source.h"

struct etw_source_file_options {
	/* 0: as recorded; 4 or 8: assumed for classic payloads (docs/etl-format.md section 17, 7)
	 */
	uint8_t pointer_size;
	bool single_pass; /* no first pass */
	/* Several recordings that are read as one; borrowed, and the first is the path. 0: it is
	 * that path alone. */
	const char *const *paths;
	size_t path_count;
	/* A recording in memory, which must stay until etw_source_close(); the path is its name
	 * only. NULL: none. */
	const void *bytes;
	size_t size;
};

/*
 * Opens a recording: reads and checks its first buffer. If the file is no recording, the error is
 * one line with the reason. The path is one for etl_packed_open().
 */
struct etw_source *etw_source_open_file(const char *path,
					const struct etw_source_file_options *options,
					struct etw_error *err);

/*
 * os_file_change() of the recording of such a source; NULL for what was unpacked, which is read
 * from a temporary file of our own, also when the packed one changes. The thread of the source,
 * between two runs.
 */
const char *etw_source_file_change(struct etw_source *source);

#endif

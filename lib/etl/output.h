/* SPDX-License-Identifier: MIT */
/*
 * Where a recording goes as it is written: a file, memory that grows, or the standard output.
 *
 * The header of a recording, at its start, says how many buffers and losses it has, so it is
 * complete at the end only. What goes to the standard output therefore waits in a temporary file
 * (os_file_temporary()) until then.
 */
#ifndef LIB_ETL_OUTPUT_H
#define LIB_ETL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "base/os.h"

/* Zero-initialise it. */
struct etw_output {
	FILE *file;
	struct os_file *temporary; /* of the standard output; neither: in memory */
	uint8_t *memory;           /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

/*
 * Replaces what stands at the start, of which at least size bytes were written; the last call
 * before etl_output_close(). The standard output gets everything now. When its reader has closed
 * the pipe, false is returned without an error (base/print.h).
 */
bool etl_output_rewrite_start(struct etw_output *output, const uint8_t *bytes, size_t size,
			      struct etw_error *err);

void etl_output_close(struct etw_output *output);

#endif

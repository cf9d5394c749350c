/* SPDX-License-Identifier: MIT */
/*
 * Where a recording is written to: a file, growing memory, or the standard output.
 *
 * The header at the start of a recording contains the numbers of buffers and losses, which are
 * known only at the end. A recording for the standard output therefore waits in a temporary file
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
	struct os_file *temporary; /* for the standard output; if this and the file are NULL, the
				      output is in memory */
	uint8_t *memory;           /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

/*
 * Overwrites the first size bytes of the output, which must have been written before. It must be
 * the last call before etl_output_close(). The standard output gets everything now. If its reader
 * has closed the pipe, this returns false without setting an error (base/print.h).
 */
bool etl_output_rewrite_start(struct etw_output *output, const uint8_t *bytes, size_t size,
			      struct etw_error *err);

void etl_output_close(struct etw_output *output);

#endif

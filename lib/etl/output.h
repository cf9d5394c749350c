/* SPDX-License-Identifier: MIT */
/*
 * Where a recording is written to: a file, growing memory, or the standard output.
 *
 * The header at the start of a recording contains the numbers of buffers and losses, which are
 * known only at the end. A recording for the standard output therefore waits in a temporary file
 * (os_file_temporary()) until then, and a file gets its name then (os_file_new()).
 */
#ifndef LIB_ETL_OUTPUT_H
#define LIB_ETL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "base/error.h"
#include "base/os.h"

/* Zero-initialise it. */
struct etl_output {
	struct os_file *file; /* owned; NULL: the output is in memory */
	bool standard;        /* the file is for the standard output */
	bool temporary;       /* the file gets no name */
	uint8_t *memory;      /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

/* Opens an output. path: NULL keeps the bytes in memory, "-" is the standard output. */
bool etl_output_open(struct etl_output *output, const char *path, enum etw_visibility visibility,
		     struct etw_error *err);

bool etl_output_write(struct etl_output *output, const uint8_t *bytes, size_t size,
		      struct etw_error *err);

/*
 * Overwrites the first size bytes of the output, which must have been written before, and gives the
 * file its name. Nothing can be written afterwards. The standard output gets everything now. If its
 * reader has closed the pipe, this returns false without setting an error (base/print.h).
 */
bool etl_output_finish(struct etl_output *output, const uint8_t *bytes, size_t size,
		       struct etw_error *err);

/* Removes a file that was not finished. */
void etl_output_close(struct etl_output *output);

#endif

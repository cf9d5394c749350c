/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a recording come from: a file, or a block of memory (tests, fuzzing).
 *
 * Reads are by position and copy: a recording is never held whole, and a file that another program
 * cuts short meanwhile is an error, not a fault. One thread at a time.
 */
#ifndef ETL_INPUT_H
#define ETL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os.h"

struct etl_input {
	uint64_t size_bytes;   /* fixed when it was opened */
	struct os_file *file;  /* owned; NULL: memory */
	const uint8_t *memory; /* borrowed */
};

bool etl_input_open(struct etl_input *input, const char *path, struct error *err);
void etl_input_over(struct etl_input *input, const void *bytes, size_t size);
void etl_input_close(struct etl_input *input);

/* Reads up to size bytes at offset; *got < size only at the end of the input. */
bool etl_input_read(struct etl_input *input, uint64_t offset, void *bytes, size_t size, size_t *got,
		    struct error *err);

#endif

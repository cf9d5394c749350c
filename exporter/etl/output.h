/* SPDX-License-Identifier: MIT */
/*
 * Where a recording goes as it is written: a file, or memory that grows.
 */
#ifndef ETL_OUTPUT_H
#define ETL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Zero-initialise it. */
struct etl_output {
	FILE *file;      /* NULL: in memory */
	uint8_t *memory; /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

bool etl_output_open(struct etl_output *output, const char *path,
		     struct error *err); /* path NULL: memory */
bool etl_output_write(struct etl_output *output, const uint8_t *bytes, size_t size,
		      struct error *err);

/* Replaces what stands at the start, of which at least size bytes were written; the last call
 * before etl_output_close(). */
bool etl_output_rewrite_start(struct etl_output *output, const uint8_t *bytes, size_t size,
			      struct error *err);

void etl_output_close(struct etl_output *output);

#endif

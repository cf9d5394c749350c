/* SPDX-License-Identifier: MIT */
/*
 * Where a recording goes as it is written: a file, or memory that grows.
 */
#ifndef SUPPORT_RECORDING_OUTPUT_H
#define SUPPORT_RECORDING_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Zero-initialise it. */
struct recording_output {
	FILE *file;      /* NULL: in memory */
	uint8_t *memory; /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

bool recording_output_open(struct recording_output *output, const char *path,
			   struct error *err); /* path NULL: memory */
bool recording_output_write(struct recording_output *output, const uint8_t *bytes, size_t size,
			    struct error *err);

/* Replaces what stands at the start, of which at least size bytes were written; the last call
 * before recording_output_close(). */
bool recording_output_rewrite_start(struct recording_output *output, const uint8_t *bytes,
				    size_t size, struct error *err);

void recording_output_close(struct recording_output *output);

#endif

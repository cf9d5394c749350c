/* SPDX-License-Identifier: MIT */
/*
 * Where a recording goes as it is written: a file, or memory that grows.
 */
#ifndef SUPPORT_OUTPUT_H
#define SUPPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Zero-initialise it. */
struct output {
	FILE *file;      /* NULL: in memory */
	uint8_t *memory; /* owned */
	size_t memory_capacity;
	uint64_t size; /* bytes written */
};

bool output_open(struct output *output, const char *path,
		 struct error *err); /* path NULL: memory */
bool output_write(struct output *output, const uint8_t *bytes, size_t size, struct error *err);

/* Replaces what stands at the start, of which at least size bytes were written; the last call
 * before output_close(). */
bool output_rewrite_start(struct output *output, const uint8_t *bytes, size_t size,
			  struct error *err);

void output_close(struct output *output);

#endif

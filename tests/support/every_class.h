/* SPDX-License-Identifier: MIT */
/*
 * Writes a small recording that has one of everything: records of every header type, kernel events
 * of every tracked class, self-describing events, and descriptions. It is for tests that damage
 * recordings, and for seeds of fuzzing.
 */
#ifndef SUPPORT_EVERY_CLASS_H
#define SUPPORT_EVERY_CLASS_H

#include <stdint.h>

#include "lib/etl/writer.h"

enum {
	EVERY_CLASS_PROCESSORS = 2,
	EVERY_CLASS_BUFFER_SIZE = 2048,
	EVERY_CLASS_SIZE_MOST = 16384, /* size of a recording with every_class_options() */
};

/* Returns options for such a recording: small buffers, and a short first one. */
struct etw_writer_options every_class_options(uint8_t pointer_size, enum etw_clock_type clock,
					      bool compressed);

/* Adds all records. */
void every_class_add(struct etw_writer *writer, uint8_t pointer_size);

/* Add a part of them: those of the kernel, those of programs, and rare header types. */
void every_class_add_kernel(struct etw_writer *writer, uint8_t pointer_size);
void every_class_add_programs(struct etw_writer *writer, uint8_t pointer_size);
void every_class_add_rare(struct etw_writer *writer, uint8_t pointer_size);

#endif

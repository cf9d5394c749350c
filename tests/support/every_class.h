/* SPDX-License-Identifier: MIT */
/*
 * One of everything, small: records of every header type, kernel events of every class that
 * something tracks, self-describing events and the descriptions that recordings have. For tests
 * that damage recordings, and as seeds for fuzzing.
 */
#ifndef SUPPORT_EVERY_CLASS_H
#define SUPPORT_EVERY_CLASS_H

#include <stdint.h>

#include "lib/etl/writer.h"

enum {
	EVERY_CLASS_PROCESSORS = 2,
	EVERY_CLASS_BUFFER_SIZE = 2048,
	EVERY_CLASS_SIZE_MOST = 16384, /* of the recording that every_class_options() gives */
};

/* Options of a recording that takes them: small buffers, a short first one. */
struct etw_writer_options every_class_options(uint8_t pointer_size, enum etw_clock_type clock,
					      bool compressed);

/* Adds all of it. */
void every_class_add(struct etw_writer *writer, uint8_t pointer_size);

/* Or a part: what the kernel writes; what programs write; header types that are rare. */
void every_class_add_kernel(struct etw_writer *writer, uint8_t pointer_size);
void every_class_add_programs(struct etw_writer *writer, uint8_t pointer_size);
void every_class_add_rare(struct etw_writer *writer, uint8_t pointer_size);

#endif

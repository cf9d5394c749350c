/* SPDX-License-Identifier: MIT */
/*
 * Writes recordings in memory. A failure fails the test.
 */
#ifndef SUPPORT_IN_MEMORY_H
#define SUPPORT_IN_MEMORY_H

#include "lib/etl/writer.h"

struct etw_writer *open_in_memory(const struct etw_writer_options *options);

/* Completes the recording and returns its bytes, which the writer owns until etw_writer_close(). */
const uint8_t *finish_in_memory(struct etw_writer *writer, size_t *size);

#endif

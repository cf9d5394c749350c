/* SPDX-License-Identifier: MIT */
/*
 * Writes a recording with call stacks of every form, whose addresses, keys and images are known.
 * One tick is 100 ns.
 */
#ifndef SUPPORT_STACK_EVENTS_H
#define SUPPORT_STACK_EVENTS_H

#include <stdint.h>

#include "lib/etl/writer.h"

struct etw_writer_options stack_events_options(void);

/* pointer_size is not used: pointers have 8 bytes. */
void stack_events_add(struct etw_writer *writer, uint8_t pointer_size);

#endif

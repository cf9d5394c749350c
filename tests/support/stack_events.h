/* SPDX-License-Identifier: MIT */
/*
 * A recording with call stacks of every form, of known addresses, keys and images. One tick is 100
 * ns.
 */
#ifndef SUPPORT_STACK_EVENTS_H
#define SUPPORT_STACK_EVENTS_H

#include <stdint.h>

#include "lib/etl/writer.h"

struct etw_writer_options stack_events_options(void);

/* pointer_size: not used, pointers have 8 bytes. */
void stack_events_add(struct etw_writer *writer, uint8_t pointer_size);

#endif

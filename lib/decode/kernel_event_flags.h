/* SPDX-License-Identifier: MIT */
/*
 * Which kernel flag or group of a live session enables a kernel event.
 */
#ifndef LIB_DECODE_KERNEL_EVENT_FLAGS_H
#define LIB_DECODE_KERNEL_EVENT_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/decode/kernel_class.h"

/* Zero-initialise it. */
struct etw_kernel_event_flags {
	uint32_t flags;  /* KERNEL_FLAG_* */
	uint32_t groups; /* a set of the etw_kernel_groups[] */
};

/*
 * What enables the events of a class with this opcode: a flag, or groups of which each enables some
 * of them. Nothing: a session has them without a flag, `needs` has no name for their flag, or none
 * is known. *never, if it is not NULL: the last but one.
 */
struct etw_kernel_event_flags etw_kernel_event_flags(enum etw_kernel_class kernel_class,
						     unsigned opcode, bool *never);

/* What enables any event of the class. */
struct etw_kernel_event_flags etw_kernel_class_flags(enum etw_kernel_class kernel_class);

/* Whether every session that has kernel events has those of the class, without a flag. */
bool etw_kernel_class_needs_no_flag(enum etw_kernel_class kernel_class);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The kernel's event classes: which GUID is which, the names of their events, and their layouts by
 * opcode and version.
 *
 * All of it comes from kernel_classes.txt, which the first call of any of these functions reads.
 * Names and layouts live as long as the program and never change. Any thread may call.
 *
 * Sources: docs/etl-format.md sections 8 and 15, docs/kernel-events.csv,
 * docs/kernel-event-names.csv.
 */
#ifndef LIB_DECODE_KERNEL_CLASS_H
#define LIB_DECODE_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/kernel.h>

#include "base/guid.h"
#include "lib/decode/schema.h"

/*
 * The layout of an event: of the exact version; else of the highest known version below it; else of
 * the lowest known one. NULL: no layout is known. For events whose layout depends on the size of
 * the payload, one of their layouts: etw_kernel_schema_of() finds that of a record.
 */
const struct etw_schema *kernel_schema(const struct etw_guid *guid, uint8_t opcode,
				       uint8_t version);

#endif

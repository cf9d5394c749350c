/* SPDX-License-Identifier: MIT */
/*
 * The kernel's event classes: their GUIDs, the names of their events, and their layouts by opcode
 * and version.
 *
 * All facts come from kernel_classes.txt, which the first call of any of these functions parses.
 * Names and layouts live as long as the program and never change. Any thread may call these
 * functions.
 *
 * Sources: docs/etl-format.md sections 8 and 15, docs/kernel-events.csv,
 * docs/kernel-event-names.csv.
 */
#ifndef LIB_DECODE_KERNEL_CLASS_H
#define LIB_DECODE_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/kernel.h>

#include "base/builtin_file.h"
#include "base/guid.h"
#include "lib/decode/schema.h"

/*
 * Returns the layout of an event: that of the exact version, else of the highest known version
 * below it, else of the lowest known version. Returns NULL if no layout is known. If the layout
 * depends on the size of the payload, it returns one of the layouts; etw_kernel_schema_of() finds
 * the one for a record.
 */
const struct etw_schema *kernel_schema(const struct etw_guid *guid, uint8_t opcode,
				       uint8_t version);

/* kernel_classes.txt, which the build turns into a C file (cmake/embed.cmake). It is the only
 * element. Any thread may read it. */
extern const struct builtin_file builtin_kernel_tables[];
extern const size_t builtin_kernel_table_count;

#endif

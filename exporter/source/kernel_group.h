/* SPDX-License-Identifier: MIT */
/*
 * Kernel records carry a group number instead of a GUID; this is which class a group stands for.
 *
 * Source: Geoff Chappell, "HookId" (group masks); etl-format.md section 8.
 */
#ifndef SOURCE_KERNEL_GROUP_H
#define SOURCE_KERNEL_GROUP_H

#include <stdint.h>

#include "base/guid.h"

enum {
	KERNEL_GROUP_EVENT_TRACE = 0x00,
	KERNEL_GROUP_PROCESS = 0x03,
	KERNEL_GROUP_IMAGE = 0x14,
};

/* The class GUID of a group; all zero for a group that is not known. Never NULL. */
const struct guid *kernel_group_guid(uint8_t group);

/*
 * The same for one record: image loads are logged as opcode 10 of the process group (etl-format.md
 * section 8).
 */
const struct guid *kernel_record_guid(uint8_t group, uint8_t opcode);

#endif

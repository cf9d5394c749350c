/* SPDX-License-Identifier: MIT */
/*
 * Kernel records carry a group number instead of a GUID; this is which class a group stands for.
 *
 * Source: Geoff Chappell, "HookId" (group masks); etl-format.md section 8.
 */
#ifndef SOURCE_KERNEL_GROUP_H
#define SOURCE_KERNEL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"

enum {
	KERNEL_GROUP_EVENT_TRACE = 0x00,
	KERNEL_GROUP_PROCESS = 0x03,
	KERNEL_GROUP_IMAGE = 0x14,
	KERNEL_GROUPS = 32, /* more than are known */
};

/* By group; all zero where none is known, the last one included. Use the functions below. */
extern const struct guid kernel_group_guids[KERNEL_GROUPS + 1];

/* The class GUID of a group; all zero for a group that is not known. Never NULL. */
static inline const struct guid *kernel_group_guid(uint8_t group)
{
	return &kernel_group_guids[group < KERNEL_GROUPS ? group : KERNEL_GROUPS];
}

/*
 * The same for one record: image loads are logged as opcode 10 of the process group (etl-format.md
 * section 8).
 */
static inline const struct guid *kernel_record_guid(uint8_t group, uint8_t opcode)
{
	if (group == KERNEL_GROUP_PROCESS && opcode == 10) {
		group = KERNEL_GROUP_IMAGE;
	}
	return kernel_group_guid(group);
}

/* Some kernel records, by group and opcode: bit opcode % 8 of byte opcode / 8. */
struct kernel_choice {
	uint8_t opcodes[KERNEL_GROUPS][256 / 8];
};

static inline void kernel_choose(struct kernel_choice *choice, uint8_t group, uint8_t opcode)
{
	choice->opcodes[group][opcode / 8] |= (uint8_t)(1U << opcode % 8);
}

/* Those of groups that nobody knows are always chosen. */
static inline bool kernel_chosen(const struct kernel_choice *choice, uint8_t group, uint8_t opcode)
{
	return group >= KERNEL_GROUPS || (choice->opcodes[group][opcode / 8] >> opcode % 8 & 1);
}

#endif

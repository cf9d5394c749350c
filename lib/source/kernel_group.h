/* SPDX-License-Identifier: MIT */
/*
 * Kernel records have a group number and an opcode instead of a GUID and an event id. This header
 * assigns a class to each group, and defines the opcodes that are used in code.
 *
 * Source: Geoff Chappell, "HookId" (group masks); docs/etl-format.md section 8.
 */
#ifndef LIB_SOURCE_KERNEL_GROUP_H
#define LIB_SOURCE_KERNEL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"

enum {
	ETW_KERNEL_GROUP_EVENT_TRACE = 0x00,
	KERNEL_GROUP_PAGE_FAULT = 0x02,
	ETW_KERNEL_GROUP_PROCESS = 0x03,
	ETW_KERNEL_GROUP_FILE_IO = 0x04,
	KERNEL_GROUP_THREAD = 0x05,
	KERNEL_GROUP_PERF_INFO = 0x0f,
	ETW_KERNEL_GROUP_IMAGE = 0x14,
	KERNEL_GROUP_STACK_WALK = 0x18,
	ETW_KERNEL_GROUPS = 32, /* more than are known */
};

/*
 * The opcodes that are used in code, by class; lib/decode/kernel_classes.txt has the names of all.
 * The first four mean the same in Process, Thread and Image, except that an image starts with
 * ETW_KERNEL_OPCODE_IMAGE_LOAD.
 */
enum etw_kernel_opcode {
	ETW_KERNEL_OPCODE_START = 1,
	ETW_KERNEL_OPCODE_STOP = 2,
	ETW_KERNEL_OPCODE_DC_START = 3, /* of the rundown when a session starts */
	ETW_KERNEL_OPCODE_DC_STOP = 4,  /* of the rundown when it stops */

	ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER = 0,

	ETW_KERNEL_OPCODE_THREAD_CSWITCH = 36,
	ETW_KERNEL_OPCODE_THREAD_READY_THREAD = 50,
	ETW_KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED = 69,

	ETW_KERNEL_OPCODE_IMAGE_LOAD = 10,

	ETW_KERNEL_OPCODE_DISK_IO_READ = 10,
	ETW_KERNEL_OPCODE_DISK_IO_WRITE = 11,

	ETW_KERNEL_OPCODE_FILE_IO_NAME = 0,
	ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE = 32,
	ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE = 35,
	ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN = 36,
	ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE = 37,
	ETW_KERNEL_OPCODE_FILE_IO_UNMAP_FILE = 38,
	ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE_DC_START = 39,
	ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE_DC_STOP = 40,
	/* Create to FSControl are requests of programs, which end with an OperationEnd. */
	ETW_KERNEL_OPCODE_FILE_IO_CREATE = 64,
	ETW_KERNEL_OPCODE_FILE_IO_CLEANUP = 65,
	ETW_KERNEL_OPCODE_FILE_IO_CLOSE = 66,
	ETW_KERNEL_OPCODE_FILE_IO_READ = 67,
	ETW_KERNEL_OPCODE_FILE_IO_WRITE = 68,
	ETW_KERNEL_OPCODE_FILE_IO_SET_INFO = 69,
	ETW_KERNEL_OPCODE_FILE_IO_DELETE = 70,
	ETW_KERNEL_OPCODE_FILE_IO_RENAME = 71,
	ETW_KERNEL_OPCODE_FILE_IO_DIR_ENUM = 72,
	ETW_KERNEL_OPCODE_FILE_IO_FLUSH = 73,
	ETW_KERNEL_OPCODE_FILE_IO_QUERY_INFO = 74,
	ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL = 75,
	ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END = 76,
	ETW_KERNEL_OPCODE_FILE_IO_DIR_NOTIFY = 77,
	ETW_KERNEL_OPCODE_FILE_IO_CREATE_NEW = 78,
	ETW_KERNEL_OPCODE_FILE_IO_DELETE_PATH = 79,
	/* FltRead to FltQueryInfo are requests of minifilters, which end in the same way. */
	ETW_KERNEL_OPCODE_FILE_IO_FLT_READ = 83,
	ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE = 84,
	ETW_KERNEL_OPCODE_FILE_IO_FLT_QUERY_INFO = 86,
	/* FltPreOpInit to FltPostOpFailure are calls of minifilters. */
	ETW_KERNEL_OPCODE_FILE_IO_FLT_PRE_OP_INIT = 96,
	ETW_KERNEL_OPCODE_FILE_IO_FLT_POST_OP_FAILURE = 101,

	ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT = 32,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC = 98,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE = 99,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START = 128,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP = 129,

	ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF = 46,
	KERNEL_OPCODE_PERF_INFO_PMC_COUNTER_PROF = 47,

	ETW_KERNEL_OPCODE_STACK_WALK_STACK = 32,
	KERNEL_OPCODE_STACK_WALK_KEY_DELETE = 35,
	KERNEL_OPCODE_STACK_WALK_KEY_RUNDOWN = 36,
	KERNEL_OPCODE_STACK_WALK_STACK_KEY_KERNEL = 37,
	KERNEL_OPCODE_STACK_WALK_STACK_KEY_USER = 38,

	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK = 11,
	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK = 12,
	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES = 15,

	ETW_KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING = 35,

	ETW_KERNEL_OPCODE_LOST_EVENT = 32,
	ETW_KERNEL_OPCODE_LOST_BUFFER = 33,
	ETW_KERNEL_OPCODE_LOST_FILE = 34,
};

/* By group; all zero if unknown; the last one is always zero. Use the functions below. */
extern const struct etw_guid etw_kernel_group_guids[ETW_KERNEL_GROUPS + 1];

/* The class GUID of a group; all zero for a group that is not known. Never NULL. */
static inline const struct etw_guid *etw_kernel_group_guid(uint8_t group)
{
	return &etw_kernel_group_guids[group < ETW_KERNEL_GROUPS ? group : ETW_KERNEL_GROUPS];
}

/* The same for one record: image loads are logged in the process group (docs/etl-format.md
 * section 8). */
static inline const struct etw_guid *etw_kernel_record_guid(uint8_t group, uint8_t opcode)
{
	if (group == ETW_KERNEL_GROUP_PROCESS && opcode == ETW_KERNEL_OPCODE_IMAGE_LOAD) {
		group = ETW_KERNEL_GROUP_IMAGE;
	}
	return etw_kernel_group_guid(group);
}

/* Some kernel records, by hook id: bit id % 32 of word id / 32. */
struct etw_kernel_choice {
	uint32_t hooks[ETW_KERNEL_GROUPS * 256 / 32];
};

/* As in the header of a record (docs/etl-format.md section 8). */
static inline uint16_t etw_kernel_hook(uint8_t group, uint8_t opcode)
{
	return (uint16_t)(group << 8 | opcode);
}

static inline void etw_kernel_choose(struct etw_kernel_choice *choice, uint8_t group,
				     uint8_t opcode)
{
	unsigned hook = etw_kernel_hook(group, opcode);

	choice->hooks[hook / 32] |= 1U << hook % 32;
}

/* Records of unknown groups are always chosen. */
static inline bool etw_hook_chosen(const struct etw_kernel_choice *choice, unsigned hook)
{
	return hook >= ETW_KERNEL_GROUPS << 8 || (choice->hooks[hook / 32] >> hook % 32 & 1);
}

static inline bool etw_kernel_chosen(const struct etw_kernel_choice *choice, uint8_t group,
				     uint8_t opcode)
{
	return etw_hook_chosen(choice, etw_kernel_hook(group, opcode));
}

#endif

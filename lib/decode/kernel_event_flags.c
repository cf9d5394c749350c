/* SPDX-License-Identifier: MIT */
/*
 * Sources: "EVENT_TRACE_PROPERTIES structure" (EnableFlags), Microsoft Learn; docs/etl-format.md
 * section 15; of priorities, the names of the groups in winsiderss/phnt, ntwmi.h.
 */

#include <stddef.h>

#include <etw/kernel.h>

#define GROUP(name) (UINT32_C(1) << ETW_KERNEL_GROUP_##name)

/* The first row that contains the opcode is used. */
static const struct {
	uint8_t kernel_class, first, last;
	struct etw_kernel_event_flags by;
} rows[] = {
	{ ETW_KERNEL_PROCESS, 0, 255, { ETW_KERNEL_FLAG_PROCESS, 0 } },
	{ ETW_KERNEL_THREAD, 36, 36, { ETW_KERNEL_FLAG_CSWITCH, 0 } },
	{ ETW_KERNEL_THREAD, 48, 49, { 0, GROUP(PRIORITY) } },
	{ ETW_KERNEL_THREAD, 50, 50, { ETW_KERNEL_FLAG_DISPATCHER, 0 } },
	{ ETW_KERNEL_THREAD, 51, 52, { 0, GROUP(PRIORITY) } },
	{ ETW_KERNEL_THREAD, 0, 255, { ETW_KERNEL_FLAG_THREAD, 0 } },
	{ ETW_KERNEL_IMAGE, 0, 255, { ETW_KERNEL_FLAG_IMAGE_LOAD, 0 } },
	{ ETW_KERNEL_DISK_IO, 12, 13, { 0, 0 } }, /* DISK_IO_INIT; no collector needs it */
	{ ETW_KERNEL_DISK_IO, 15, 15, { 0, 0 } },
	{ ETW_KERNEL_DISK_IO, 0, 255, { ETW_KERNEL_FLAG_DISK_IO, 0 } },
	{ ETW_KERNEL_FILE_IO, 64, 75, { ETW_KERNEL_FLAG_FILE_IO_INIT, 0 } },
	{ ETW_KERNEL_FILE_IO, 77, 77, { ETW_KERNEL_FLAG_FILE_IO_INIT, 0 } },
	{ ETW_KERNEL_FILE_IO, 83, 86, { ETW_KERNEL_FLAG_FILE_IO_INIT, 0 } },
	{ ETW_KERNEL_FILE_IO, 96, 97, { 0, GROUP(FLT_IO_INIT) } },
	{ ETW_KERNEL_FILE_IO, 98, 99, { 0, GROUP(FLT_IO) | GROUP(FLT_FASTIO) } },
	{ ETW_KERNEL_FILE_IO, 100, 101, { 0, GROUP(FLT_IO_FAILURE) } },
	{ ETW_KERNEL_FILE_IO, 76, 76, { ETW_KERNEL_FLAG_FILE_IO, 0 } },
	{ ETW_KERNEL_FILE_IO, 0, 36, { ETW_KERNEL_FLAG_DISK_FILE_IO, 0 } },
	{ ETW_KERNEL_FILE_IO, 37, 40, { ETW_KERNEL_FLAG_VAMAP, 0 } },
	{ ETW_KERNEL_TCP_IP, 0, 255, { ETW_KERNEL_FLAG_NETWORK_TCPIP, 0 } },
	{ ETW_KERNEL_UDP_IP, 0, 255, { ETW_KERNEL_FLAG_NETWORK_TCPIP, 0 } },
	{ ETW_KERNEL_PAGE_FAULT, 10, 14, { ETW_KERNEL_FLAG_MEMORY_PAGE_FAULTS, 0 } },
	{ ETW_KERNEL_PAGE_FAULT, 32, 32, { ETW_KERNEL_FLAG_MEMORY_HARD_FAULTS, 0 } },
	{ ETW_KERNEL_PAGE_FAULT, 98, 99, { ETW_KERNEL_FLAG_VIRTUAL_ALLOC, 0 } },
	{ ETW_KERNEL_PERF_INFO, 46, 46, { ETW_KERNEL_FLAG_PROFILE, 0 } },
	{ ETW_KERNEL_PERF_INFO, 67, 67, { ETW_KERNEL_FLAG_INTERRUPT, 0 } },
	{ ETW_KERNEL_PERF_INFO, 66, 69, { ETW_KERNEL_FLAG_DPC, 0 } },
	{ ETW_KERNEL_REGISTRY, 0, 255, { ETW_KERNEL_FLAG_REGISTRY, 0 } },
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

struct etw_kernel_event_flags etw_kernel_event_flags(enum etw_kernel_class kernel_class,
						     unsigned opcode, bool *never)
{
	struct etw_kernel_event_flags none = { 0 };
	size_t i = 0;

	while (i < ROW_COUNT && (rows[i].kernel_class != kernel_class || opcode < rows[i].first ||
				 opcode > rows[i].last)) {
		i++;
	}
	if (never) {
		*never = i < ROW_COUNT && rows[i].by.flags == 0 && rows[i].by.groups == 0;
	}
	return i < ROW_COUNT ? rows[i].by : none;
}

struct etw_kernel_event_flags etw_kernel_class_flags(enum etw_kernel_class kernel_class)
{
	struct etw_kernel_event_flags all = { 0 };

	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].kernel_class == kernel_class) {
			all.flags |= rows[i].by.flags;
			all.groups |= rows[i].by.groups;
		}
	}
	return all;
}

bool etw_kernel_class_needs_no_flag(enum etw_kernel_class kernel_class)
{
	switch (kernel_class) {
	case ETW_KERNEL_EVENT_TRACE:
	case ETW_KERNEL_STACK_WALK: /* the events with stacks request them */
	case ETW_KERNEL_SYSTEM_CONFIG:
	case ETW_KERNEL_SYS_CONFIG:
	case ETW_KERNEL_IMAGE_ID:
	case ETW_KERNEL_LOST_EVENT:
	case ETW_KERNEL_META_DATA:
		return true;
	default:
		return false;
	}
}

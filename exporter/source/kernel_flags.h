/* SPDX-License-Identifier: MIT */
/*
 * The flags that enable groups of kernel events, by the names of `needs: kernel`, and the group
 * masks that extend them.
 *
 * Source: EVENT_TRACE_FLAG_* of evntrace.h; which events each flag enables: "EVENT_TRACE_PROPERTIES
 * structure", Microsoft Learn, EnableFlags.
 */
#ifndef SOURCE_KERNEL_FLAGS_H
#define SOURCE_KERNEL_FLAGS_H

#include <stdint.h>

#define KERNEL_FLAG_PROCESS            0x00000001U
#define KERNEL_FLAG_THREAD             0x00000002U
#define KERNEL_FLAG_IMAGE_LOAD         0x00000004U
#define KERNEL_FLAG_CSWITCH            0x00000010U
#define KERNEL_FLAG_DPC                0x00000020U
#define KERNEL_FLAG_INTERRUPT          0x00000040U
#define KERNEL_FLAG_DISK_IO            0x00000100U
#define KERNEL_FLAG_DISK_FILE_IO       0x00000200U
#define KERNEL_FLAG_DISPATCHER         0x00000800U
#define KERNEL_FLAG_MEMORY_PAGE_FAULTS 0x00001000U
#define KERNEL_FLAG_MEMORY_HARD_FAULTS 0x00002000U
#define KERNEL_FLAG_VIRTUAL_ALLOC      0x00004000U
#define KERNEL_FLAG_NETWORK_TCPIP      0x00010000U
#define KERNEL_FLAG_REGISTRY           0x00020000U
#define KERNEL_FLAG_PROFILE            0x01000000U
#define KERNEL_FLAG_FILE_IO            0x02000000U
#define KERNEL_FLAG_FILE_IO_INIT       0x04000000U

enum { KERNEL_FLAG_COUNT = 17, KERNEL_GROUP_COUNT = 5 };

/* The names of the flags, then those of the groups; a NULL follows the last. */
extern const char *const kernel_flag_names[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1];
extern const unsigned kernel_flag_values[KERNEL_FLAG_COUNT];

/*
 * Groups beyond the 32 flags, in the order of their names. In a set of groups, each has the bit
 * 1 << index. Windows itself uses a bit in one of eight words (PERFINFO_GROUPMASK); the first word
 * contains the flags.
 *
 * Source: winsiderss/phnt, ntwmi.h (PERF_*); not documented by Microsoft.
 */
struct kernel_group {
	unsigned word;
	uint32_t bit;
};
extern const struct kernel_group kernel_groups[KERNEL_GROUP_COUNT];

#endif

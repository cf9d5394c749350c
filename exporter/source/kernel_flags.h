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

#include <stdbool.h>
#include <stdint.h>

/*
 * A row for each flag: ROW(name, value, keyword). The keyword enables the same events in a profile
 * of Windows Performance Recorder, where one may stand for several flags ("Keyword (in
 * SystemProvider)" and "WPRControlProfiles Schema", Microsoft Learn; that DISK_FILE_IO is Filename
 * and NETWORK_TCPIP is NetworkTrace is expected from the names).
 */
#define KERNEL_FLAGS(ROW)                                   \
	ROW(PROCESS, 0x00000001, "ProcessThread")           \
	ROW(THREAD, 0x00000002, "ProcessThread")            \
	ROW(IMAGE_LOAD, 0x00000004, "Loader")               \
	ROW(DISK_IO, 0x00000100, "DiskIO")                  \
	ROW(DISK_FILE_IO, 0x00000200, "Filename")           \
	ROW(FILE_IO, 0x02000000, "FileIO")                  \
	ROW(FILE_IO_INIT, 0x04000000, "FileIOInit")         \
	ROW(NETWORK_TCPIP, 0x00010000, "NetworkTrace")      \
	ROW(MEMORY_HARD_FAULTS, 0x00002000, "HardFaults")   \
	ROW(MEMORY_PAGE_FAULTS, 0x00001000, "AllFaults")    \
	ROW(VIRTUAL_ALLOC, 0x00004000, "VirtualAllocation") \
	ROW(PROFILE, 0x01000000, "SampledProfile")          \
	ROW(CSWITCH, 0x00000010, "CSwitch")                 \
	ROW(DISPATCHER, 0x00000800, "ReadyThread")          \
	ROW(DPC, 0x00000020, "DPC")                         \
	ROW(INTERRUPT, 0x00000040, "Interrupt")             \
	ROW(REGISTRY, 0x00020000, "Registry")

#define KERNEL_FLAG_CONSTANT(name, value, keyword) KERNEL_FLAG_##name = (value),
enum kernel_flag { KERNEL_FLAGS(KERNEL_FLAG_CONSTANT) };

enum { KERNEL_FLAG_COUNT = 17, KERNEL_GROUP_COUNT = 5 };

/* The names of the flags, then those of the groups; a NULL follows the last. */
extern const char *const kernel_flag_names[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1];
extern const unsigned kernel_flag_values[KERNEL_FLAG_COUNT];

/* The keywords of Windows Performance Recorder, in the order of the names. */
extern const char *const kernel_flag_keywords[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT];

/* Whether the flag or group with this number in kernel_flag_names is in a set of flags and one of
 * groups. */
static inline bool kernel_flag_among(unsigned number, uint32_t flags, uint32_t groups)
{
	return number < KERNEL_FLAG_COUNT ? (flags & kernel_flag_values[number]) != 0 :
					    (groups >> (number - KERNEL_FLAG_COUNT) & 1) != 0;
}

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

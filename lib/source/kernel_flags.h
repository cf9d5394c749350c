/* SPDX-License-Identifier: MIT */
/*
 * The flags that enable groups of kernel events, by the names of `needs: kernel`, and the group
 * masks that extend them.
 *
 * Source: EVENT_TRACE_FLAG_* of evntrace.h; which events each flag enables: "EVENT_TRACE_PROPERTIES
 * structure", Microsoft Learn, EnableFlags.
 */
#ifndef LIB_SOURCE_KERNEL_FLAGS_H
#define LIB_SOURCE_KERNEL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A row for each flag: ROW(name, value, keyword). The keyword enables the same events in a profile
 * of Windows Performance Recorder, where one may stand for several flags ("Keyword (in
 * SystemProvider)" and "WPRControlProfiles Schema", Microsoft Learn; that DISK_FILE_IO is Filename
 * and NETWORK_TCPIP is NetworkTrace is expected from the names; VAMap: profiles of
 * Siemens-Healthineers/ETWAnalyzer).
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
	ROW(VAMAP, 0x00008000, "VAMap")                     \
	ROW(PROFILE, 0x01000000, "SampledProfile")          \
	ROW(CSWITCH, 0x00000010, "CSwitch")                 \
	ROW(DISPATCHER, 0x00000800, "ReadyThread")          \
	ROW(DPC, 0x00000020, "DPC")                         \
	ROW(INTERRUPT, 0x00000040, "Interrupt")             \
	ROW(REGISTRY, 0x00020000, "Registry")

#define KERNEL_FLAG_CONSTANT(name, value, keyword) KERNEL_FLAG_##name = (value),
enum kernel_flag { KERNEL_FLAGS(KERNEL_FLAG_CONSTANT) };

/*
 * A row for each group beyond the 32 flags: ROW(name, word, bit, keyword). Windows itself uses a
 * bit in one of eight words (PERFINFO_GROUPMASK), the first of which contains the flags.
 *
 * Source: winsiderss/phnt, ntwmi.h (PERF_*: the top three bits of a value are the word); not
 * documented by Microsoft. Keywords as above.
 */
#define KERNEL_FLAG_GROUPS(ROW)                        \
	ROW(PRIORITY, 1, 0x2000, "ThreadPriority")     \
	ROW(POOL, 1, 0x40, "Pool")                     \
	ROW(OB_HANDLE, 4, 0x40, "Handle")              \
	ROW(OB_OBJECT, 4, 0x80, "Object")              \
	ROW(POWER, 4, 0x8000, "Power")                 \
	ROW(FLT_IO_INIT, 4, 0x80000, "FilterIOInit")   \
	ROW(FLT_IO, 4, 0x100000, "FilterIO")           \
	ROW(FLT_FASTIO, 4, 0x200000, "FilterIOFastIO") \
	ROW(FLT_IO_FAILURE, 4, 0x400000, "FilterIOFailure")

/* The index of each group; in a set of groups it has the bit 1 << index. */
#define KERNEL_GROUP_CONSTANT(name, word, bit, keyword) KERNEL_GROUP_##name,
enum kernel_group_index { KERNEL_FLAG_GROUPS(KERNEL_GROUP_CONSTANT) KERNEL_GROUP_COUNT };

enum { ETW_KERNEL_FLAG_COUNT = 18 };

/* The names of the flags, then those of the groups by index; a NULL follows the last. */
extern const char *const etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1];
extern const unsigned etw_kernel_flag_values[ETW_KERNEL_FLAG_COUNT];

/* The keywords of Windows Performance Recorder, in the order of the names. */
extern const char *const etw_kernel_flag_keywords[ETW_KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT];

/* Whether the flag or group with this number in etw_kernel_flag_names is in a set of flags and one
 * of groups. */
static inline bool etw_kernel_flag_among(unsigned number, uint32_t flags, uint32_t groups)
{
	return number < ETW_KERNEL_FLAG_COUNT ?
		       (flags & etw_kernel_flag_values[number]) != 0 :
		       (groups >> (number - ETW_KERNEL_FLAG_COUNT) & 1) != 0;
}

struct etw_kernel_group {
	unsigned word;
	uint32_t bit;
};
extern const struct etw_kernel_group etw_kernel_groups[KERNEL_GROUP_COUNT]; /* by index */

#endif

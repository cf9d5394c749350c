/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel: their groups, classes and opcodes, and the flags that a session sets to get
 * them.
 *
 * The kernel's events have no provider of their own. A record has a group and an opcode, which
 * together determine the event class and its layout.
 *
 * Sources: "EVENT_TRACE_PROPERTIES structure" and the pages of the MOF classes, Microsoft Learn;
 * docs/etl-format.md section 8.
 */
#ifndef ETW_KERNEL_H
#define ETW_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_schema;

enum {
	ETW_KERNEL_GROUP_EVENT_TRACE = 0x00,
	ETW_KERNEL_GROUP_DISK_IO = 0x01,
	ETW_KERNEL_GROUP_PAGE_FAULT = 0x02,
	ETW_KERNEL_GROUP_PROCESS = 0x03,
	ETW_KERNEL_GROUP_FILE_IO = 0x04,
	ETW_KERNEL_GROUP_THREAD = 0x05,
	ETW_KERNEL_GROUP_TCP_IP = 0x06,
	ETW_KERNEL_GROUP_UDP_IP = 0x08,
	ETW_KERNEL_GROUP_REGISTRY = 0x09,
	ETW_KERNEL_GROUP_PERF_INFO = 0x0f,
	ETW_KERNEL_GROUP_IMAGE = 0x14,
	ETW_KERNEL_GROUP_STACK_WALK = 0x18,
	ETW_KERNEL_GROUPS = 32, /* table size; fewer groups are known */
};

/*
 * The opcodes that are used in code, by class; lib/decode/kernel_classes.txt has the names of all.
 * The first four mean the same in Process, Thread and Image, except that an image starts with
 * ETW_KERNEL_OPCODE_IMAGE_LOAD.
 */
enum etw_kernel_opcode {
	ETW_KERNEL_OPCODE_START = 1,
	ETW_KERNEL_OPCODE_STOP = 2,
	ETW_KERNEL_OPCODE_DC_START = 3, /* in the rundown when a session starts */
	ETW_KERNEL_OPCODE_DC_STOP = 4,  /* in the rundown when it stops */

	ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER = 0,

	ETW_KERNEL_OPCODE_THREAD_CSWITCH = 36,
	ETW_KERNEL_OPCODE_THREAD_READY_THREAD = 50,
	ETW_KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED = 69,

	ETW_KERNEL_OPCODE_IMAGE_LOAD = 10,

	ETW_KERNEL_OPCODE_DISK_IO_READ = 10,
	ETW_KERNEL_OPCODE_DISK_IO_WRITE = 11,
	ETW_KERNEL_OPCODE_DISK_IO_FLUSH_BUFFERS = 14,

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

	/* TransitionFault to AccessViolation are page faults, soft ones included. */
	ETW_KERNEL_OPCODE_PAGE_FAULT_TRANSITION_FAULT = 10,
	ETW_KERNEL_OPCODE_PAGE_FAULT_ACCESS_VIOLATION = 15,
	ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT = 32,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC = 98,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE = 99,
	ETW_KERNEL_OPCODE_PAGE_FAULT_PROCESS_MEM_INFO = 125,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START = 128,
	ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP = 129,

	ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF = 46,
	ETW_KERNEL_OPCODE_PERF_INFO_PMC_COUNTER_PROF = 47,

	ETW_KERNEL_OPCODE_STACK_WALK_STACK = 32,
	ETW_KERNEL_OPCODE_STACK_WALK_KEY_DELETE = 35,
	ETW_KERNEL_OPCODE_STACK_WALK_KEY_RUNDOWN = 36,
	ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_KERNEL = 37,
	ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_USER = 38,

	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK = 11,
	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK = 12,
	ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES = 15,

	ETW_KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING = 35,

	ETW_KERNEL_OPCODE_LOST_EVENT = 32,
	ETW_KERNEL_OPCODE_LOST_BUFFER = 33,
	ETW_KERNEL_OPCODE_LOST_FILE = 34,
};

/* Class GUIDs by group, all zero for unknown groups; the last entry is always zero. Use the
 * functions below instead. */
extern const struct etw_guid etw_kernel_group_guids[ETW_KERNEL_GROUPS + 1];

/* Returns the class GUID of a group; all zero for an unknown group. Never NULL. */
static inline const struct etw_guid *etw_kernel_group_guid(uint8_t group)
{
	return &etw_kernel_group_guids[group < ETW_KERNEL_GROUPS ? group :
								   (uint8_t)ETW_KERNEL_GROUPS];
}

/* Returns the class GUID of one record. It differs from that of its group for image loads, which
 * are logged in the process group (docs/etl-format.md section 8). */
static inline const struct etw_guid *etw_kernel_record_guid(uint8_t group, uint8_t opcode)
{
	if (group == ETW_KERNEL_GROUP_PROCESS && opcode == ETW_KERNEL_OPCODE_IMAGE_LOAD) {
		group = ETW_KERNEL_GROUP_IMAGE;
	}
	return etw_kernel_group_guid(group);
}

/* Returns the group of a record with this class and opcode; ETW_RECORD_NO_GROUP if no group has the
 * class. */
uint8_t etw_kernel_record_group(const struct etw_guid *guid, uint8_t opcode);

/* A set of kernel records by hook id: bit id % 32 of word id / 32. */
struct etw_kernel_choice {
	uint32_t hooks[ETW_KERNEL_GROUPS * 256 / 32];
};

/* Returns the hook id as in the header of a record (docs/etl-format.md section 8). */
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

/* Returns whether a record is in the set. Records of unknown groups always are. */
static inline bool etw_hook_chosen(const struct etw_kernel_choice *choice, unsigned hook)
{
	return hook >= ETW_KERNEL_GROUPS << 8 || (choice->hooks[hook / 32] >> hook % 32 & 1);
}

static inline bool etw_kernel_chosen(const struct etw_kernel_choice *choice, uint8_t group,
				     uint8_t opcode)
{
	return etw_hook_chosen(choice, etw_kernel_hook(group, opcode));
}

/*
 * A row for each flag: ROW(name, value, keyword). The keyword enables the same events in a profile
 * of Windows Performance Recorder, where one may stand for several flags ("Keyword (in
 * SystemProvider)" and "WPRControlProfiles Schema", Microsoft Learn; that DISK_FILE_IO is Filename
 * and NETWORK_TCPIP is NetworkTrace is expected from the names; VAMap: profiles of
 * Siemens-Healthineers/ETWAnalyzer).
 */
#define ETW_KERNEL_FLAGS(ROW)                               \
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

#define ETW_KERNEL_FLAG_CONSTANT(name, value, keyword) ETW_KERNEL_FLAG_##name = (value),
enum etw_kernel_flag { ETW_KERNEL_FLAGS(ETW_KERNEL_FLAG_CONSTANT) };

/*
 * A row for each group beyond the 32 flags: ROW(name, word, bit, keyword). Windows itself uses a
 * bit in one of eight words (PERFINFO_GROUPMASK), the first of which contains the flags.
 *
 * Source: winsiderss/phnt, ntwmi.h (PERF_*: the top three bits of a value are the word); not
 * documented by Microsoft. Keywords as above.
 */
#define ETW_KERNEL_FLAG_GROUPS(ROW)                    \
	ROW(PRIORITY, 1, 0x2000, "ThreadPriority")     \
	ROW(POOL, 1, 0x40, "Pool")                     \
	ROW(OB_HANDLE, 4, 0x40, "Handle")              \
	ROW(OB_OBJECT, 4, 0x80, "Object")              \
	ROW(POWER, 4, 0x8000, "Power")                 \
	ROW(FLT_IO_INIT, 4, 0x80000, "FilterIOInit")   \
	ROW(FLT_IO, 4, 0x100000, "FilterIO")           \
	ROW(FLT_FASTIO, 4, 0x200000, "FilterIOFastIO") \
	ROW(FLT_IO_FAILURE, 4, 0x400000, "FilterIOFailure")

/*
 * Flags that have a bit in another word, where Windows keeps them however they were set. The first
 * word never has them. ROW(value, word, bit).
 *
 * Source: PROFILE is observed in net.4.5.2.x64.etl, whose first records list the words of a session
 * that was started with it; the others are "equivalent" in winsiderss/phnt, ntwmi.h.
 */
#define ETW_KERNEL_FLAGS_KEPT_ELSEWHERE(ROW)          \
	ROW(ETW_KERNEL_FLAG_PROFILE, 1, 0x2)          \
	ROW(ETW_KERNEL_FLAG_CSWITCH, 1, 0x4)          \
	ROW(0x00800000U /* DRIVER */, 1, 0x10)        \
	ROW(ETW_KERNEL_FLAG_DPC, 1, 0x80)             \
	ROW(ETW_KERNEL_FLAG_DISPATCHER, 1, 0x200)     \
	ROW(ETW_KERNEL_FLAG_INTERRUPT, 1, 0x4000)     \
	ROW(ETW_KERNEL_FLAG_VIRTUAL_ALLOC, 1, 0x8000) \
	ROW(0x00000080U /* SYSTEMCALL */, 2, 0x40)

enum { ETW_KERNEL_WORDS = 8 };

/* Computes the words of a session with these flags and groups, as Windows keeps them. */
void etw_kernel_words(uint32_t flags, uint32_t groups, uint32_t words[ETW_KERNEL_WORDS]);
/* Returns the flags among the words, also those that are kept elsewhere. */
uint32_t etw_kernel_flags_in(const uint32_t words[ETW_KERNEL_WORDS]);

/* The index of each group; in a set of groups it has the bit 1 << index. */
#define ETW_KERNEL_GROUP_CONSTANT(name, word, bit, keyword) ETW_KERNEL_GROUP_##name,
enum etw_kernel_group_index {
	ETW_KERNEL_FLAG_GROUPS(ETW_KERNEL_GROUP_CONSTANT) ETW_KERNEL_GROUP_COUNT
};

enum { ETW_KERNEL_FLAG_COUNT = 18 };

/* The names of the flags, then those of the groups by index; a NULL follows the last. */
extern const char *const etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT + 1];
extern const unsigned etw_kernel_flag_values[ETW_KERNEL_FLAG_COUNT];

/* The keywords of Windows Performance Recorder, in the order of the names. */
extern const char *const etw_kernel_flag_keywords[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT];

/* Returns whether the flag or group at index `number` of etw_kernel_flag_names is set in flags or
 * groups. */
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
extern const struct etw_kernel_group etw_kernel_groups[ETW_KERNEL_GROUP_COUNT]; /* by index */

/*
 * The classes that are used in code. ETW_KERNEL_OTHER is any other kernel class, ETW_KERNEL_NONE is
 * no kernel class at all.
 */
enum etw_kernel_class {
	ETW_KERNEL_NONE,
	ETW_KERNEL_EVENT_TRACE,
	ETW_KERNEL_PROCESS,
	ETW_KERNEL_THREAD,
	ETW_KERNEL_IMAGE,
	ETW_KERNEL_DISK_IO,
	ETW_KERNEL_FILE_IO,
	ETW_KERNEL_TCP_IP,
	ETW_KERNEL_UDP_IP,
	ETW_KERNEL_PAGE_FAULT,
	ETW_KERNEL_PERF_INFO,
	ETW_KERNEL_REGISTRY,
	ETW_KERNEL_STACK_WALK,
	ETW_KERNEL_SYSTEM_CONFIG,
	ETW_KERNEL_SYS_CONFIG, /* trace merge {9b79ee91-…} */
	ETW_KERNEL_IMAGE_ID,   /* trace merge {b3e675d7-…} */
	ETW_KERNEL_LOST_EVENT,
	ETW_KERNEL_META_DATA, /* {bbccf6c1-…}: EventInfo; a class, but not of "Windows Kernel" */
	ETW_KERNEL_OTHER,
};

enum etw_kernel_class etw_kernel_class_of(const struct etw_guid *guid);

/* Returns "DiskIo", "SysConfig", "MetaData", …; NULL for a GUID that is not in the table. The text
 * is static. */
const char *etw_kernel_class_name(const struct etw_guid *guid);

/*
 * Returns whether the label `provider` of this class is "Windows Kernel": true for the GUIDs of
 * docs/etl-format.md sections 8 and 15 except MetaData.
 */
bool etw_kernel_class_is_kernel(const struct etw_guid *guid);

/* Returns the name of an event, such as "Read" for DiskIo 10; NULL if the opcode has no name. The
 * text is static. */
const char *etw_kernel_event_name(const struct etw_guid *guid, uint8_t opcode);

/*
 * Finds class and opcode by name, for rules. Names are ASCII and compared without regard to case.
 * Returns false if there is no such class or name.
 */
bool etw_kernel_class_find(const char *class_name, size_t class_size, struct etw_guid *guid);
bool etw_kernel_event_find(const struct etw_guid *guid, const char *event_name, size_t size,
			   uint8_t *opcode);

/* Lists the classes by number, to suggest similar names. Returns NULL after the last. guid may be
 * NULL. */
const char *etw_kernel_class_at(unsigned index, struct etw_guid *guid);

/*
 * A few events have several layouts that differ only in the size of the payload ("sized" in
 * kernel_classes.txt). Returns the number of the layout of such a record, ETW_KERNEL_FORM_UNKNOWN
 * if no layout has its size; 0 for all other events.
 */
enum { ETW_KERNEL_FORM_UNKNOWN = UINT8_MAX };
uint8_t etw_kernel_form(const struct etw_record *record);

/* Returns the layout of a record; if the size of the payload selects it, that is taken into
 * account. NULL if no layout is known. */
const struct etw_schema *etw_kernel_schema_of(const struct etw_record *record);

/*
 * Lists the layouts of an opcode by number, to check rules. Returns NULL after the last. version
 * may be NULL.
 */
const struct etw_schema *etw_kernel_schema_at(const struct etw_guid *guid, uint8_t opcode,
					      unsigned index, uint8_t *version);

/* A kernel event by its class and opcode. */
struct etw_kernel_event {
	struct etw_guid class_guid;
	uint8_t opcode;
};

/* Zero-initialise it. */
struct etw_kernel_event_flags {
	uint32_t flags;  /* ETW_KERNEL_FLAG_* */
	uint32_t groups; /* a set of the etw_kernel_groups[] */
};

/*
 * Returns what enables the events of a class with this opcode: a flag, or groups that each enable
 * some of them. The result is empty if a session has the events without a flag, if `needs` has no
 * name for their flag, or if no flag is known. *never (may be NULL) is set to whether it is the
 * second of these.
 */
struct etw_kernel_event_flags etw_kernel_event_flags(enum etw_kernel_class kernel_class,
						     unsigned opcode, bool *never);

/* Returns all flags and groups that enable some event of the class. */
struct etw_kernel_event_flags etw_kernel_class_flags(enum etw_kernel_class kernel_class);

/* Returns whether every session with kernel events gets those of this class without a flag. */
bool etw_kernel_class_needs_no_flag(enum etw_kernel_class kernel_class);

#endif

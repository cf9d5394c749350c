/* SPDX-License-Identifier: MIT */
/*
 * What is known about kernel events: the GUIDs of their groups, the flags that enable them, and the
 * records that contain stacks.
 */
#include <etw/kernel.h>
#include <etw/stack_walk.h>

#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "base/guid.h"

/* ---- GUIDs of groups ---- */

const struct etw_guid etw_kernel_group_guids[ETW_KERNEL_GROUPS + 1] = {
	[0x00] = GUID_PARTS(0x68fdd900, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), /* EventTrace */
	[0x01] = GUID_PARTS(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* DiskIo */
	[0x02] = GUID_PARTS(0x3d6fa8d3, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* PageFault */
	[0x03] = GUID_PARTS(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* Process */
	[0x04] = GUID_PARTS(0x90cbdc39, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), /* FileIo */
	[0x05] = GUID_PARTS(0x3d6fa8d1, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* Thread */
	[0x06] = GUID_PARTS(0x9a280ac0, 0xc8e0, 0x11d1, 0x84e2, 0x00c04fb998a2), /* TcpIp */
	[0x07] = GUID_PARTS(0x3282fc76, 0xfeed, 0x498e, 0x8aa7, 0xe70f459d430e), /* Job */
	[0x08] = GUID_PARTS(0xbf3a50c5, 0xa9c9, 0x4988, 0xa005, 0x2df0b7c80f80), /* UdpIp */
	[0x09] = GUID_PARTS(0xae53722e, 0xc863, 0x11d2, 0x8659, 0x00c04fa321a1), /* Registry */
	[0x0a] = GUID_PARTS(0x13976d09, 0xa327, 0x438c, 0x950b, 0x7f03192815c7), /* DbgPrint */
	[0x0b] = GUID_PARTS(0x01853a65, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235), /* SystemConfig */
	[0x0c] = GUID_PARTS(0x99134383, 0x5248, 0x43fc, 0x834b, 0x529454e75df3), /* spare */
	[0x0d] = GUID_PARTS(0x42695762, 0xea50, 0x497a, 0x9068, 0x5cbbb35e0b95), /* Wnf */
	[0x0e] = GUID_PARTS(0x0268a8b6, 0x74fd, 0x4302, 0x9dd0, 0x6e8f1795c0cf), /* Pool */
	[0x0f] = GUID_PARTS(0xce1dbfb4, 0x137e, 0x4da6, 0x87b0, 0x3f59aa102cbc), /* PerfInfo */
	[0x10] = GUID_PARTS(0x222962ab, 0x6180, 0x4b88, 0xa825, 0x346b75f2a24a), /* Heap */
	[0x11] = GUID_PARTS(0x89497f50, 0xeffe, 0x4440, 0x8cf2, 0xce6b1cdcaca7), /* Object */
	[0x12] = GUID_PARTS(0xe43445e0, 0x0903, 0x48c3, 0xb878, 0xff0fccebdd04), /* Power */
	[0x13] = GUID_PARTS(0xa9152f00, 0x3f58, 0x4bee, 0x92a1, 0x70c7d079d5dd), /* module bound */
	[0x14] = GUID_PARTS(0x2cb15d1d, 0x5fc1, 0x11d2, 0xabe1, 0x00a0c911f518), /* Image */
	[0x15] = GUID_PARTS(0xb2d14872, 0x7c5b, 0x463d, 0x8419, 0xee9bf7d23e04), /* Dpc */
	[0x16] = GUID_PARTS(0x7687a439, 0xf752, 0x45b8, 0xb741, 0x321aec0f8df9), /* cache manager */
	[0x17] = GUID_PARTS(0x3ac66736, 0xcc59, 0x4cff, 0x8115,
			    0x8df50e39816b), /* critical section */
	[0x18] = GUID_PARTS(0xdef2fe46, 0x7bd6, 0x4b80, 0xbd94, 0xf57fe20d0ce3), /* StackWalk */
	[0x19] = GUID_PARTS(0x9aec974b, 0x5b8e, 0x4118, 0x9b92,
			    0x3186d8002ce5), /* user-mode scheduling */
	[0x1a] = GUID_PARTS(0x45d8cccd, 0x539f, 0x4b72, 0xa8b7, 0x5c683142609a), /* ALPC */
	[0x1b] = GUID_PARTS(0xd837ca92, 0x12b9, 0x44a5, 0xad6a, 0x3a65b3578aa8), /* split I/O */
	[0x1c] = GUID_PARTS(0xc861d0e2, 0xa2c1, 0x4d36, 0x9f9c, 0x970bab943a12), /* thread pool */
	[0x1d] = GUID_PARTS(0x7f2a405c, 0x69b5, 0x4bf9, 0xa1f5, 0x30e8f1afab5e), /* hypervisor */
	[0x1e] = GUID_PARTS(0x2ce9a149, 0xeffe, 0x42f0, 0xa635,
			    0xa1d39e26c8f2), /* hypervisor extension */
};

uint8_t etw_kernel_record_group(const struct etw_guid *guid, uint8_t opcode)
{
	for (unsigned group = 0; group < ETW_KERNEL_GROUPS; group++) {
		if (etw_guid_equal(etw_kernel_record_guid((uint8_t)group, opcode), guid)) {
			return (uint8_t)group;
		}
	}
	return ETW_RECORD_NO_GROUP;
}

/* ---- flags ---- */

#define NAME(name, value, keyword)              #name,
#define VALUE(name, value, keyword)             ETW_KERNEL_FLAG_##name,
#define KEYWORD(name, value, keyword)           keyword,
#define GROUP_NAME(name, word, bit, keyword)    #name,
#define GROUP_BIT(name, word, bit, keyword)     { word, bit },
#define GROUP_KEYWORD(name, word, bit, keyword) keyword,

/* clang-format off */
const char *const etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT + 1] = {
	ETW_KERNEL_FLAGS(NAME)
	ETW_KERNEL_FLAG_GROUPS(GROUP_NAME)
	NULL
};

const unsigned etw_kernel_flag_values[ETW_KERNEL_FLAG_COUNT] = {
	ETW_KERNEL_FLAGS(VALUE)
};

const char *const etw_kernel_flag_keywords[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT] = {
	ETW_KERNEL_FLAGS(KEYWORD)
	ETW_KERNEL_FLAG_GROUPS(GROUP_KEYWORD)
};

const struct etw_kernel_group etw_kernel_groups[ETW_KERNEL_GROUP_COUNT] = {
	ETW_KERNEL_FLAG_GROUPS(GROUP_BIT)
};

static const struct {
	uint32_t flag;
	struct etw_kernel_group place;
} kept_elsewhere[] = {
#define KEPT(value, word, bit) { value, { word, bit } },
	ETW_KERNEL_FLAGS_KEPT_ELSEWHERE(KEPT)
};
/* clang-format on */

enum { KEPT_ELSEWHERE = sizeof kept_elsewhere / sizeof kept_elsewhere[0] };

void etw_kernel_words(uint32_t flags, uint32_t groups, uint32_t words[ETW_KERNEL_WORDS])
{
	memset(words, 0, ETW_KERNEL_WORDS * sizeof words[0]);
	words[0] = flags;
	for (size_t i = 0; i < KEPT_ELSEWHERE; i++) {
		if (flags & kept_elsewhere[i].flag) {
			words[0] &= ~kept_elsewhere[i].flag;
			words[kept_elsewhere[i].place.word] |= kept_elsewhere[i].place.bit;
		}
	}
	for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if (groups & (1U << i)) {
			words[etw_kernel_groups[i].word] |= etw_kernel_groups[i].bit;
		}
	}
}

uint32_t etw_kernel_flags_in(const uint32_t words[ETW_KERNEL_WORDS])
{
	uint32_t flags = words[0];

	for (size_t i = 0; i < KEPT_ELSEWHERE; i++) {
		const struct etw_kernel_group *place = &kept_elsewhere[i].place;

		flags |= words[place->word] & place->bit ? kept_elsewhere[i].flag : 0;
	}
	return flags;
}

/* ---- the flag of each event ---- */

/*
 * Sources: "EVENT_TRACE_PROPERTIES structure" (EnableFlags), Microsoft Learn; docs/etl-format.md
 * section 15; of priorities, the names of the groups in winsiderss/phnt, ntwmi.h.
 */

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

/* ---- stack records ---- */

bool etw_is_stack_walk(const struct etw_record *record)
{
	return record->classic &&
	       etw_guid_equal(record->provider, etw_kernel_group_guid(ETW_KERNEL_GROUP_STACK_WALK));
}

bool etw_stack_walk_read(const struct etw_record *record, struct etw_stack_walk *walk)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);

	if (!etw_is_stack_walk(record)) {
		return false;
	}
	*walk = (struct etw_stack_walk){ .type = ETW_STACK_WALK_STACK };
	switch (record->opcode) {
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK:
		break;
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_KERNEL:
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_USER:
		walk->type = ETW_STACK_WALK_REFERENCE;
		break;
	case ETW_KERNEL_OPCODE_STACK_WALK_KEY_DELETE:
	case ETW_KERNEL_OPCODE_STACK_WALK_KEY_RUNDOWN:
		walk->type = ETW_STACK_WALK_DEFINITION;
		break;
	default:
		return false;
	}
	if (walk->type != ETW_STACK_WALK_DEFINITION) {
		walk->event_time = (int64_t)cursor_u64(&c);
		walk->process_id = cursor_u32(&c);
		walk->thread_id = cursor_u32(&c);
	}
	if (walk->type != ETW_STACK_WALK_STACK) {
		walk->key = cursor_pointer(&c, record->pointer_size);
	}
	if (walk->type != ETW_STACK_WALK_REFERENCE) {
		walk->addresses = c.at;
		walk->address_count = (uint32_t)(cursor_left(&c) / record->pointer_size);
	}
	return !c.overrun;
}

/* Returns the offset of TTID in requests of FileIo, which version 3 moved after the objects. */
static uint32_t file_thread_offset(const struct etw_record *record)
{
	uint32_t pointer = record->pointer_size;
	bool moved = record->version >= 3;

	switch (record->opcode) {
	case ETW_KERNEL_OPCODE_FILE_IO_CREATE:
		return moved ? 2 * pointer : pointer;
	case ETW_KERNEL_OPCODE_FILE_IO_READ:
	case ETW_KERNEL_OPCODE_FILE_IO_WRITE:
		return 8 + (moved ? 3 * pointer : pointer);
	case ETW_KERNEL_OPCODE_FILE_IO_CLEANUP:
	case ETW_KERNEL_OPCODE_FILE_IO_CLOSE:
	case ETW_KERNEL_OPCODE_FILE_IO_FLUSH:
	case ETW_KERNEL_OPCODE_FILE_IO_DIR_ENUM:
	case ETW_KERNEL_OPCODE_FILE_IO_DIR_NOTIFY:
		return moved ? 3 * pointer : pointer;
	case ETW_KERNEL_OPCODE_FILE_IO_SET_INFO:
	case ETW_KERNEL_OPCODE_FILE_IO_DELETE:
	case ETW_KERNEL_OPCODE_FILE_IO_RENAME:
	case ETW_KERNEL_OPCODE_FILE_IO_QUERY_INFO:
	case ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL:
		return moved ? 4 * pointer : pointer;
	default:
		return UINT32_MAX;
	}
}

/* Returns the payload offset of the thread id, for events without a thread in their header;
 * UINT32_MAX if the payload has none. */
static uint32_t thread_offset(const struct etw_record *record)
{
	uint32_t pointer = record->pointer_size;

	if (record->kernel_group == ETW_KERNEL_GROUP_FILE_IO) {
		return file_thread_offset(record);
	}
	switch (etw_kernel_hook(record->kernel_group, record->opcode)) {
	case ETW_KERNEL_GROUP_PERF_INFO << 8 | ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF:
	case ETW_KERNEL_GROUP_PERF_INFO << 8 | ETW_KERNEL_OPCODE_PERF_INFO_PMC_COUNTER_PROF:
		return pointer; /* InstructionPointer, ThreadId */
	case ETW_KERNEL_GROUP_THREAD << 8 | ETW_KERNEL_OPCODE_THREAD_CSWITCH:
		return 0; /* NewThreadId: the thread that runs now owns the stack */
	case ETW_KERNEL_GROUP_PAGE_FAULT << 8 | ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT:
		/* InitialTime, ReadOffset, VirtualAddress, FileObject, TThreadId */
		return 16 + 2 * pointer;
	default:
		return UINT32_MAX;
	}
}

uint32_t etw_stack_walk_thread(const struct etw_record *record)
{
	uint32_t size = record->payload_size;
	uint32_t offset;

	if (record->thread_id != ETW_RECORD_NO_ID) {
		return record->thread_id;
	}
	offset = thread_offset(record);
	return offset < size && size - offset >= 4 ? etw_load_u32(record->payload + offset) :
						     ETW_RECORD_NO_ID;
}

/* SPDX-License-Identifier: MIT */
/*
 * Which flags bring which kernel events.
 *
 * Source of the flags: "EVENT_TRACE_PROPERTIES structure" (EnableFlags), Microsoft Learn; of the
 * groups beyond the first 32: winsiderss/phnt, ntwmi.h (PERF_*: the top three bits are the index of
 * the mask); of the system providers: "System Providers", Microsoft Learn, and SYSTEM_*_KW_* of
 * evntrace.h.
 */
#include "tests/fake_etw/internal.h"

#include <string.h>

#define CLASS_3D6F(first)                                              \
	{                                                              \
		first, 0xfe05, 0x11d0,                                 \
		{                                                      \
			0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c \
		}                                                      \
	}
#define GUID_OF(a, b, c, d0, d1, d2, d3, d4, d5, d6, d7) \
	{                                                \
		a, b, c,                                 \
		{                                        \
			d0, d1, d2, d3, d4, d5, d6, d7   \
		}                                        \
	}
#define FILE_IO GUID_OF(0x90cbdc39, 0x4a3e, 0x11d1, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3)
#define PERF_INFO \
	GUID_OF(0xce1dbfb4, 0x137e, 0x4da6, 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc)
#define OBJECT     GUID_OF(0x89497f50, 0xeffe, 0x4440, 0x8c, 0xf2, 0xce, 0x6b, 0x1c, 0xdc, 0xac, 0xa7)
#define DISK_IO    CLASS_3D6F(0x3d6fa8d4)
#define PAGE_FAULT CLASS_3D6F(0x3d6fa8d3)
#define PROCESS    CLASS_3D6F(0x3d6fa8d0)
#define THREAD     CLASS_3D6F(0x3d6fa8d1)

const GUID fake_stack_class =
	GUID_OF(0xdef2fe46, 0x7bd6, 0x4b80, 0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3);
static const GUID system_config =
	GUID_OF(0x01853a65, 0x418f, 0x4f36, 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35);

/* Events first to last of a class come when a bit is on: of EnableFlags, or of another group. */
static const struct {
	GUID guid;
	uint8_t first;
	uint8_t last;
	uint32_t flags;
	uint8_t index; /* of a group with the same meaning; 0: none */
	uint32_t group;
} rows[] = {
	{ PROCESS, 1, 4, EVENT_TRACE_FLAG_PROCESS, 0, 0 },
	{ PROCESS, 11, 11, EVENT_TRACE_FLAG_PROCESS, 0, 0 },
	{ PROCESS, 32, 33, EVENT_TRACE_FLAG_PROCESS_COUNTERS, 0, 0 },
	{ PROCESS, 39, 39, EVENT_TRACE_FLAG_PROCESS, 0, 0 },
	{ THREAD, 1, 4, EVENT_TRACE_FLAG_THREAD, 0, 0 },
	{ THREAD, 36, 36, EVENT_TRACE_FLAG_CSWITCH, 1, 0x4 },
	{ THREAD, 48, 49, 0, 1, 0x2000 }, /* PERF_PRIORITY */
	{ THREAD, 50, 50, EVENT_TRACE_FLAG_DISPATCHER, 1, 0x200 },
	{ THREAD, 51, 52, 0, 1, 0x2000 },
	{ THREAD, 72, 72, EVENT_TRACE_FLAG_THREAD, 0, 0 },
	/* Image */
	{ GUID_OF(0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18), 0,
	  255, EVENT_TRACE_FLAG_IMAGE_LOAD, 0, 0 },
	{ DISK_IO, 10, 11, EVENT_TRACE_FLAG_DISK_IO, 0, 0 },
	{ DISK_IO, 12, 13, EVENT_TRACE_FLAG_DISK_IO_INIT, 0, 0 },
	{ DISK_IO, 14, 14, EVENT_TRACE_FLAG_DISK_IO, 0, 0 },
	{ DISK_IO, 15, 15, EVENT_TRACE_FLAG_DISK_IO_INIT, 0, 0 },
	{ DISK_IO, 34, 54, EVENT_TRACE_FLAG_DRIVER, 1, 0x10 },
	{ DISK_IO, 55, 57, 0, 4, 0x1 }, /* PERF_OPTICAL_IO */
	{ DISK_IO, 58, 60, 0, 4, 0x2 },
	{ FILE_IO, 0, 36, EVENT_TRACE_FLAG_DISK_FILE_IO, 0, 0 },
	{ FILE_IO, 37, 40, EVENT_TRACE_FLAG_VAMAP, 0, 0 },
	{ FILE_IO, 64, 75, EVENT_TRACE_FLAG_FILE_IO_INIT, 0, 0 },
	{ FILE_IO, 76, 76, EVENT_TRACE_FLAG_FILE_IO, 0, 0 },
	{ FILE_IO, 77, 95, EVENT_TRACE_FLAG_FILE_IO_INIT, 0, 0 },
	{ FILE_IO, 96, 97, 0, 4, 0x80000 },    /* PERF_FLT_IO_INIT */
	{ FILE_IO, 98, 99, 0, 4, 0x300000 },   /* PERF_FLT_IO, PERF_FLT_FASTIO */
	{ FILE_IO, 100, 101, 0, 4, 0x400000 }, /* PERF_FLT_IO_FAILURE */
	/* TcpIp, UdpIp */
	{ GUID_OF(0x9a280ac0, 0xc8e0, 0x11d1, 0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2), 0,
	  255, EVENT_TRACE_FLAG_NETWORK_TCPIP, 0, 0 },
	{ GUID_OF(0xbf3a50c5, 0xa9c9, 0x4988, 0xa0, 0x05, 0x2d, 0xf0, 0xb7, 0xc8, 0x0f, 0x80), 0,
	  255, EVENT_TRACE_FLAG_NETWORK_TCPIP, 0, 0 },
	{ PAGE_FAULT, 10, 15, EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS, 0, 0 },
	{ PAGE_FAULT, 32, 32, EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS, 0, 0 },
	{ PAGE_FAULT, 98, 99, EVENT_TRACE_FLAG_VIRTUAL_ALLOC, 1, 0x8000 },
	{ PAGE_FAULT, 105, 105,
	  EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS | EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS, 0, 0 },
	{ PAGE_FAULT, 128, 129, EVENT_TRACE_FLAG_VIRTUAL_ALLOC, 1, 0x8000 },
	{ PAGE_FAULT, 100, 127, 0, 1, 0x1 }, /* PERF_MEMORY */
	{ PERF_INFO, 46, 46, EVENT_TRACE_FLAG_PROFILE, 1, 0x2 },
	{ PERF_INFO, 47, 49, 0, 1, 0x400 }, /* PERF_PMC_PROFILE */
	{ PERF_INFO, 50, 50, EVENT_TRACE_FLAG_INTERRUPT, 1, 0x4000 },
	{ PERF_INFO, 51, 52, EVENT_TRACE_FLAG_SYSTEMCALL, 2, 0x40 },
	{ PERF_INFO, 66, 66, EVENT_TRACE_FLAG_DPC, 1, 0x80 },
	{ PERF_INFO, 67, 67, EVENT_TRACE_FLAG_INTERRUPT, 1, 0x4000 },
	{ PERF_INFO, 68, 69, EVENT_TRACE_FLAG_DPC, 1, 0x80 },
	{ PERF_INFO, 72, 74, EVENT_TRACE_FLAG_PROFILE, 1, 0x2 },
	/* Registry, ALPC, Job, SplitIo, DbgPrint */
	{ GUID_OF(0xae53722e, 0xc863, 0x11d2, 0x86, 0x59, 0x00, 0xc0, 0x4f, 0xa3, 0x21, 0xa1), 0,
	  255, EVENT_TRACE_FLAG_REGISTRY, 0, 0 },
	{ GUID_OF(0x45d8cccd, 0x539f, 0x4b72, 0xa8, 0xb7, 0x5c, 0x68, 0x31, 0x42, 0x60, 0x9a), 0,
	  255, EVENT_TRACE_FLAG_ALPC, 0, 0 },
	{ GUID_OF(0x3282fc76, 0xfeed, 0x498e, 0x8a, 0xa7, 0xe7, 0x0f, 0x45, 0x9d, 0x43, 0x0e), 0,
	  255, EVENT_TRACE_FLAG_JOB, 0, 0 },
	{ GUID_OF(0xd837ca92, 0x12b9, 0x44a5, 0xad, 0x6a, 0x3a, 0x65, 0xb3, 0x57, 0x8a, 0xa8), 0,
	  255, EVENT_TRACE_FLAG_SPLIT_IO, 0, 0 },
	{ GUID_OF(0x13976d09, 0xa327, 0x438c, 0x95, 0x0b, 0x7f, 0x03, 0x19, 0x28, 0x15, 0xc7), 0,
	  255, EVENT_TRACE_FLAG_DBGPRINT, 0, 0 },
	/* Pool, Object, Power, cache manager */
	{ GUID_OF(0x0268a8b6, 0x74fd, 0x4302, 0x9d, 0xd0, 0x6e, 0x8f, 0x17, 0x95, 0xc0, 0xcf), 0,
	  255, 0, 1, 0x40 },
	{ OBJECT, 0, 255, 0, 4, 0xc0 },
	{ GUID_OF(0xe43445e0, 0x0903, 0x48c3, 0xb8, 0x78, 0xff, 0x0f, 0xcc, 0xeb, 0xdd, 0x04), 0,
	  255, 0, 4, 0x8000 },
	{ GUID_OF(0x7687a439, 0xf752, 0x45b8, 0xb7, 0x41, 0x32, 0x1a, 0xec, 0x0f, 0x8d, 0xf9), 0,
	  255, 0, 4, 0x20000 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Keywords of a system provider, lowest bit first, and the group each stands for. */
static const struct {
	GUID guid;
	uint64_t keyword;
	uint8_t index;
	uint32_t group;
} system_rows[] = {
#define SYSTEM_PROCESS \
	GUID_OF(0x151f55dc, 0x467d, 0x471f, 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff, 0x66)
	{ SYSTEM_PROCESS, 0x1, 0, EVENT_TRACE_FLAG_PROCESS },
	{ SYSTEM_PROCESS, 0x8, 0, EVENT_TRACE_FLAG_PROCESS_COUNTERS },
	{ SYSTEM_PROCESS, 0x100, 0, EVENT_TRACE_FLAG_DBGPRINT },
	{ SYSTEM_PROCESS, 0x200, 0, EVENT_TRACE_FLAG_JOB },
	{ SYSTEM_PROCESS, 0x800, 0, EVENT_TRACE_FLAG_THREAD },
	{ SYSTEM_PROCESS, 0x1000, 0, EVENT_TRACE_FLAG_IMAGE_LOAD },
#define SYSTEM_IO \
	GUID_OF(0x3d5c43e3, 0x0f1c, 0x4202, 0xb8, 0x17, 0x17, 0x4c, 0x00, 0x70, 0xdc, 0x79)
	{ SYSTEM_IO, 0x1, 0, EVENT_TRACE_FLAG_DISK_IO },
	{ SYSTEM_IO, 0x2, 0, EVENT_TRACE_FLAG_DISK_IO_INIT },
	{ SYSTEM_IO, 0x4, 0, EVENT_TRACE_FLAG_DISK_FILE_IO },
	{ SYSTEM_IO, 0x8, 0, EVENT_TRACE_FLAG_SPLIT_IO },
	{ SYSTEM_IO, 0x10, 0, EVENT_TRACE_FLAG_FILE_IO },
	{ SYSTEM_IO, 0x20, 4, 0x1 },
	{ SYSTEM_IO, 0x40, 4, 0x2 },
	{ SYSTEM_IO, 0x80, 0, EVENT_TRACE_FLAG_DRIVER | EVENT_TRACE_FLAG_DISK_FILE_IO },
	{ SYSTEM_IO, 0x100, 4, 0x20000 },
	{ SYSTEM_IO, 0x200, 0, EVENT_TRACE_FLAG_NETWORK_TCPIP },
#define SYSTEM_IO_FILTER \
	GUID_OF(0xfbd09363, 0x9e22, 0x4661, 0xb8, 0xbf, 0xe7, 0xa3, 0x4b, 0x53, 0x5b, 0x8c)
	{ SYSTEM_IO_FILTER, 0x1, 4, 0x100000 },
	{ SYSTEM_IO_FILTER, 0x2, 4, 0x80000 },
	{ SYSTEM_IO_FILTER, 0x4, 4, 0x200000 },
	{ SYSTEM_IO_FILTER, 0x8, 4, 0x400000 },
#define SYSTEM_MEMORY \
	GUID_OF(0x82958ca9, 0xb6cd, 0x47f8, 0xa3, 0xa8, 0x03, 0xae, 0x85, 0xa4, 0xbc, 0x24)
	{ SYSTEM_MEMORY, 0x1, 1, 0x1 },
	{ SYSTEM_MEMORY, 0x2, 0, EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS },
	{ SYSTEM_MEMORY, 0x4, 0, EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS },
	{ SYSTEM_MEMORY, 0x8, 1, 0x40 },
	{ SYSTEM_MEMORY, 0x400, 0, EVENT_TRACE_FLAG_VIRTUAL_ALLOC },
	{ SYSTEM_MEMORY, 0x4000, 0, EVENT_TRACE_FLAG_VAMAP },
#define SYSTEM_INTERRUPT \
	GUID_OF(0xd4bbee17, 0xb545, 0x4888, 0x85, 0x8b, 0x74, 0x41, 0x69, 0x01, 0x5b, 0x25)
	{ SYSTEM_INTERRUPT, 0x1, 0, EVENT_TRACE_FLAG_INTERRUPT },
	{ SYSTEM_INTERRUPT, 0x4, 0, EVENT_TRACE_FLAG_DPC },
#define SYSTEM_SCHEDULER \
	GUID_OF(0x599a2a76, 0x4d91, 0x4910, 0x9a, 0xc7, 0x7d, 0x33, 0xf2, 0xe9, 0x7a, 0x6c)
	{ SYSTEM_SCHEDULER, 0x2, 0, EVENT_TRACE_FLAG_DISPATCHER },
	{ SYSTEM_SCHEDULER, 0x80, 1, 0x2000 },
	{ SYSTEM_SCHEDULER, 0x200, 0, EVENT_TRACE_FLAG_CSWITCH },
#define SYSTEM_PROFILE \
	GUID_OF(0xbfeb0324, 0x1cee, 0x496f, 0xa4, 0x09, 0x2a, 0xc2, 0xb4, 0x8a, 0x63, 0x22)
	{ SYSTEM_PROFILE, 0x1, 0, EVENT_TRACE_FLAG_PROFILE },
	{ SYSTEM_PROFILE, 0x2, 1, 0x400 },
#define SYSTEM_REGISTRY \
	GUID_OF(0x16156bd9, 0xfab4, 0x4cfa, 0xa2, 0x32, 0x89, 0xd1, 0x09, 0x90, 0x58, 0xe3)
	{ SYSTEM_REGISTRY, 0x1, 0, EVENT_TRACE_FLAG_REGISTRY },
#define SYSTEM_ALPC \
	GUID_OF(0xfcb9baaf, 0xe529, 0x4980, 0x92, 0xe9, 0xce, 0xd1, 0xa6, 0xaa, 0xdf, 0xdf)
	{ SYSTEM_ALPC, 0x1, 0, EVENT_TRACE_FLAG_ALPC },
#define SYSTEM_SYSCALL \
	GUID_OF(0x434286f7, 0x6f1b, 0x45bb, 0xb3, 0x7e, 0x95, 0xf6, 0x23, 0x04, 0x6c, 0x7c)
	{ SYSTEM_SYSCALL, 0x1, 0, EVENT_TRACE_FLAG_SYSTEMCALL },
};

enum {
	SYSTEM_ROWS = sizeof(system_rows) / sizeof(system_rows[0]),
	FIRST_BUILD_WITH_SYSTEM_PROVIDERS = 20348
};

bool fake_kernel_class(const GUID *guid)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (fake_guid_equal(&rows[i].guid, guid)) {
			return true;
		}
	}
	return fake_guid_equal(guid, &fake_stack_class) || fake_guid_equal(guid, &system_config);
}

bool fake_kernel_requested(const struct fake_session *session, const uint32_t masks[8],
			   const GUID *guid, uint8_t opcode)
{
	if (!session->system_logger) {
		return false;
	}
	if (fake_guid_equal(guid, &fake_stack_class)) {
		return session->stack_event_count > 0;
	}
	if (fake_guid_equal(guid, &system_config)) {
		return (masks[0] & EVENT_TRACE_FLAG_NO_SYSCONFIG) == 0;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (opcode >= rows[i].first && opcode <= rows[i].last &&
		    fake_guid_equal(&rows[i].guid, guid) &&
		    ((masks[0] & rows[i].flags) != 0 ||
		     (rows[i].index != 0 && (masks[rows[i].index] & rows[i].group) != 0))) {
			return true;
		}
	}
	return false;
}

bool fake_kernel_has_stack(const struct fake_session *session, const struct fake_etw_event *event)
{
	for (unsigned i = 0; i < session->stack_event_count; i++) {
		const CLASSIC_EVENT_ID *id = &session->stack_events[i];

		if (id->Type == event->descriptor.Opcode &&
		    fake_guid_equal(&id->EventGuid, &event->provider)) {
			return true;
		}
	}
	return false;
}

bool fake_kernel_system_provider(const GUID *guid, uint64_t keywords, uint32_t masks[8])
{
	bool found = false;

	memset(masks, 0, 8 * sizeof(*masks));
	if (fake.options.os_build < FIRST_BUILD_WITH_SYSTEM_PROVIDERS) {
		return false;
	}
	for (size_t i = 0; i < SYSTEM_ROWS; i++) {
		if (fake_guid_equal(&system_rows[i].guid, guid)) {
			found = true;
			if (keywords == 0 || (keywords & system_rows[i].keyword) != 0) {
				masks[system_rows[i].index] |= system_rows[i].group;
			}
		}
	}
	return found;
}

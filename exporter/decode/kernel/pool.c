/* SPDX-License-Identifier: MIT */
/*
 * Pool: allocations from the kernel's pools.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field pool_alloc_free[] = {
	U32("Type"),
	U32("Tag"),
	SIZE("NumberOfBytes"),
	POINTER("Entry"),
};

static struct field session_pool_alloc_free[] = {
	U32("Type"),
	U32("Tag"),
	SIZE("NumberOfBytes"),
	POINTER("Entry"),
	U32("SessionId"),
};

static const struct kernel_event events[] = {
	{ 32, "Alloc" },
	{ 33, "SessionAlloc" },
	{ 34, "Free" },
	{ 35, "SessionFree" },
	{ 40, "SnapshotDCStart" },
	{ 41, "SnapshotDCStop" },
	{ 42, "BigSnapshotDCStart" },
	{ 43, "BigSnapshotDCStop" },
	{ 44, "SessionSnapshotDCStart" },
	{ 45, "SessionSnapshotDCStop" },
	{ 46, "SessionBigSnapshotDCStart" },
	{ 47, "SessionBigSnapshotDCStop" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, pool_alloc_free, "PoolAllocFree", OPCODES(32, 34)),
	LAYOUT(2, session_pool_alloc_free, "SessionPoolAllocFree", OPCODES(33, 35)),
	EMPTY_LAYOUT(2, "PoolSnapshot", OPCODES(40, 41, 42, 43, 44, 45, 46, 47)),
};

const struct kernel_table kernel_table_pool = {
	.guid = GUID_INIT(0x0268a8b6, 0x74fd, 0x4302,
			  0x9d, 0xd0, 0x6e, 0x8f, 0x17, 0x95, 0xc0, 0xcf),
	.name = "Pool",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

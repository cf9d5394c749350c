/* SPDX-License-Identifier: MIT */
/*
 * Kernel classes whose payloads nobody has described: their names, and the names of their events.
 *
 * Source: Geoff Chappell, "HookId"; kernel group numbers of etl-format.md section 8.
 */
#include "decode/kernel/layout.h"

static const struct kernel_event last_branch_events[] = {
	{ 32, "Sample" },
};

static const struct kernel_event heap_events[] = {
	{ 32, "Create" },
	{ 33, "Alloc" },
	{ 34, "ReAlloc" },
	{ 35, "Destroy" },
	{ 36, "Free" },
	{ 37, "Expand" },
	{ 38, "SnapShot" },
	{ 42, "Contract" },
	{ 43, "Lock" },
	{ 44, "Unlock" },
	{ 45, "Validate" },
	{ 46, "Walk" },
};

static const struct kernel_event critical_section_events[] = {
	{ 34, "Collision" },
	{ 35, "Initialize" },
};

static const struct kernel_event thread_pool_events[] = {
	{ 32, "CBEnqueue" },
	{ 33, "CBDequeue" },
	{ 34, "CBStart" },
	{ 35, "CBStop" },
	{ 36, "CBCancel" },
	{ 37, "PoolCreate" },
	{ 38, "PoolClose" },
	{ 39, "ThreadMinSet" },
	{ 40, "ThreadMaxSet" },
};

const struct kernel_table kernel_table_job = {
	.guid = GUID_INIT(0x3282fc76, 0xfeed, 0x498e,
			  0x8a, 0xa7, 0xe7, 0x0f, 0x45, 0x9d, 0x43, 0x0e),
	.name = "Job",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_last_branch = {
	.guid = GUID_INIT(0x99134383, 0x5248, 0x43fc,
			  0x83, 0x4b, 0x52, 0x94, 0x54, 0xe7, 0x5d, 0xf3),
	.name = "LastBranch",
	.class = KERNEL_OTHER,
	.events = last_branch_events,
	.event_count = ROWS(last_branch_events),
};

const struct kernel_table kernel_table_wnf = {
	.guid = GUID_INIT(0x42695762, 0xea50, 0x497a,
			  0x90, 0x68, 0x5c, 0xbb, 0xb3, 0x5e, 0x0b, 0x95),
	.name = "Wnf",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_heap = {
	.guid = GUID_INIT(0x222962ab, 0x6180, 0x4b88,
			  0xa8, 0x25, 0x34, 0x6b, 0x75, 0xf2, 0xa2, 0x4a),
	.name = "Heap",
	.class = KERNEL_OTHER,
	.events = heap_events,
	.event_count = ROWS(heap_events),
};

const struct kernel_table kernel_table_module_bound = {
	.guid = GUID_INIT(0xa9152f00, 0x3f58, 0x4bee,
			  0x92, 0xa1, 0x70, 0xc7, 0xd0, 0x79, 0xd5, 0xdd),
	.name = "ModBound",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_dpc = {
	.guid = GUID_INIT(0xb2d14872, 0x7c5b, 0x463d,
			  0x84, 0x19, 0xee, 0x9b, 0xf7, 0xd2, 0x3e, 0x04),
	.name = "Dpc",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_cache_manager = {
	.guid = GUID_INIT(0x7687a439, 0xf752, 0x45b8,
			  0xb7, 0x41, 0x32, 0x1a, 0xec, 0x0f, 0x8d, 0xf9),
	.name = "CacheManager",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_critical_section = {
	.guid = GUID_INIT(0x3ac66736, 0xcc59, 0x4cff,
			  0x81, 0x15, 0x8d, 0xf5, 0x0e, 0x39, 0x81, 0x6b),
	.name = "CritSec",
	.class = KERNEL_OTHER,
	.events = critical_section_events,
	.event_count = ROWS(critical_section_events),
};

const struct kernel_table kernel_table_thread_pool = {
	.guid = GUID_INIT(0xc861d0e2, 0xa2c1, 0x4d36,
			  0x9f, 0x9c, 0x97, 0x0b, 0xab, 0x94, 0x3a, 0x12),
	.name = "ThreadPool",
	.class = KERNEL_OTHER,
	.events = thread_pool_events,
	.event_count = ROWS(thread_pool_events),
};

const struct kernel_table kernel_table_hypervisor = {
	.guid = GUID_INIT(0x7f2a405c, 0x69b5, 0x4bf9,
			  0xa1, 0xf5, 0x30, 0xe8, 0xf1, 0xaf, 0xab, 0x5e),
	.name = "Hypervisor",
	.class = KERNEL_OTHER,
};

const struct kernel_table kernel_table_hypervisor_extension = {
	.guid = GUID_INIT(0x2ce9a149, 0xeffe, 0x42f0,
			  0xa6, 0x35, 0xa1, 0xd3, 0x9e, 0x26, 0xc8, 0xf2),
	.name = "HypervisorX",
	.class = KERNEL_OTHER,
};

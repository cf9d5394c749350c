/* SPDX-License-Identifier: MIT */
/*
 * PageFault: page faults, virtual allocations and heap ranges.
 *
 * Source: "PageFault_V2 class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field page_fault_type_group1[] = {
	POINTER("VirtualAddress"),
	POINTER("ProgramCounter"),
};

static struct field page_fault_hard_fault[] = {
	U64("InitialTime"),
	U64("ReadOffset"),
	POINTER("VirtualAddress"),
	POINTER("FileObject"),
	U32("TThreadId"),
	U32("ByteCount"),
};

static struct field page_fault_virtual_alloc[] = {
	POINTER("BaseAddress"),
	SIZE("RegionSize"),
	U32("ProcessId"),
	U32("Flags"),
};

static struct field page_fault_heap_range_rundown_v2[] = {
	POINTER("HeapHandle"),
	U32("HRFlags"),
	U32("HRPid"),
	U32("HRRangeCount"),
};

static struct field page_fault_heap_range_rundown_v3[] = {
	POINTER("HeapHandle"),
	U32("HRFlags"),
	U32("HRPid"),
	U32("HRRangeCount"),
	U32("Reserved"),
};

static struct field page_fault_heap_range_rundown_v4[] = {
	POINTER("HeapHandle"),
	U32("HRFlags"),
	U32("HRPid"),
	U32("HRRangeCount"),
	U64("HRHeapTag"),
};

static struct field page_fault_heap_range_create[] = {
	POINTER("HeapHandle"),
	SIZE("FirstRangeSize"),
	U32("HRCreateFlags"),
};

static struct field page_fault_heap_range_type_group[] = {
	POINTER("HeapHandle"),
	POINTER("HRAddress"),
	SIZE("HRSize"),
};

static struct field page_fault_heap_range_destroy[] = {
	POINTER("HeapHandle"),
};

static struct field page_fault_image_load_backed[] = {
	POINTER("FileObject"),
	U32("DeviceChar"),
	U16("FileChar"),
	U16("LoadFlags"),
};

static struct field page_fault_virtual_rotate[] = {
	POINTER("BaseAddress"),
	SIZE("SizeInBytes"),
};

static struct field page_fault_virtual_alloc_rundown[] = {
	POINTER("BaseAddress"),
	SIZE("RegionSize"),
	U32("ProcessId"),
	U32("Flags"),
	SIZE("CommitSizeInBytes"),
};

static struct field page_fault_mem_reset[] = {
	POINTER("BaseAddress"),
	SIZE("SizeInBytes"),
	U32("Flags"),
};

static const struct kernel_event events[] = {
	{ 10, "TransitionFault" },
	{ 11, "DemandZeroFault" },
	{ 12, "CopyOnWrite" },
	{ 13, "GuardPageFault" },
	{ 14, "HardPageFault" },
	{ 15, "AccessViolation" },
	{ 32, "HardFault" },
	{ 35, "InMemory" },
	{ 73, "PFMappedSectionCreate" },
	{ 76, "SessionDCStop" },
	{ 79, "PFMappedSectionDelete" },
	{ 98, "VirtualAlloc" },
	{ 99, "VirtualFree" },
	{ 100, "HeapRangeRundown" },
	{ 101, "HeapRangeCreate" },
	{ 102, "HeapRangeReserve" },
	{ 103, "HeapRangeRelease" },
	{ 104, "HeapRangeDestroy" },
	{ 105, "ImageLoadBacked" },
	{ 112, "SystemMemInfo" },
	{ 115, "InMemoryStoreFault" },
	{ 117, "InMemoryActive" },
	{ 118, "PageAccess" },
	{ 119, "PageRelease" },
	{ 120, "RangeAccess" },
	{ 121, "RangeRelease" },
	{ 122, "Combine" },
	{ 123, "KernelMemUsage" },
	{ 124, "MMStats" },
	{ 125, "ProcessMemInfo" },
	{ 126, "MemInfoSessionWS" },
	{ 127, "VirtualRotate" },
	{ 128, "VirtualAllocDCStart" },
	{ 129, "VirtualAllocDCStop" },
	{ 130, "PageAccessEx" },
	{ 131, "RemoveFromWS" },
	{ 132, "WSSharableRundown" },
	{ 133, "InMemoryActiveRundown" },
	{ 134, "MemReset" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, page_fault_type_group1, "PageFault_TypeGroup1", OPCODES(10, 11, 12, 13, 14, 15)),
	LAYOUT(2, page_fault_hard_fault, "PageFault_HardFault", OPCODES(32)),
	LAYOUT(2, page_fault_virtual_alloc, "PageFault_VirtualAlloc", OPCODES(98, 99)),
	LAYOUT(2, page_fault_heap_range_rundown_v2, "PageFault_HeapRangeRundown_V2", OPCODES(100)),
	LAYOUT(3, page_fault_heap_range_rundown_v3, "PageFault_HeapRangeRundown_V3", OPCODES(100)),
	LAYOUT(4, page_fault_heap_range_rundown_v4, "PageFault_HeapRangeRundown_V4", OPCODES(100)),
	LAYOUT(2, page_fault_heap_range_create, "PageFault_HeapRangeCreate", OPCODES(101)),
	LAYOUT(2, page_fault_heap_range_type_group, "PageFault_HeapRangeTypeGroup", OPCODES(102,
		103)),
	LAYOUT(2, page_fault_heap_range_destroy, "PageFault_HeapRangeDestroy", OPCODES(104)),
	LAYOUT(2, page_fault_image_load_backed, "PageFault_ImageLoadBacked", OPCODES(105)),
	LAYOUT(2, page_fault_virtual_rotate, "PageFault_VirtualRotate", OPCODES(127)),
	LAYOUT(2, page_fault_virtual_alloc_rundown, "PageFault_VirtualAllocRundown", OPCODES(128,
		129)),
	LAYOUT(2, page_fault_mem_reset, "PageFault_MemReset", OPCODES(134)),
};

const struct kernel_table kernel_table_page_fault = {
	.guid = GUID_INIT(0x3d6fa8d3, 0xfe05, 0x11d0,
			  0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
	.name = "PageFault",
	.class = KERNEL_PAGE_FAULT,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

/* SPDX-License-Identifier: MIT */
/*
 * Process: processes that start and stop, and those that were there before (DCStart) or are still
 * there (DCStop).
 *
 * ImageFileName is cut to 14 or 15 characters by older systems; CommandLine starts at any offset,
 * odd ones included.
 *
 * Source: "Process class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field process_v0_type_group1[] = {
	POINTER("ProcessId"),
	POINTER("ParentId"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
};

static struct field process_v1_type_group1[] = {
	POINTER("PageDirectoryBase"),
	U32("ProcessId"),
	U32("ParentId"),
	U32("SessionId"),
	I32("ExitStatus"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
};

static struct field process_v2_type_group1[] = {
	POINTER("UniqueProcessKey"),
	U32("ProcessId"),
	U32("ParentId"),
	U32("SessionId"),
	I32("ExitStatus"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
	WSTRING("CommandLine"),
};

static struct field process_v3_type_group1[] = {
	POINTER("UniqueProcessKey"),
	U32("ProcessId"),
	U32("ParentId"),
	U32("SessionId"),
	I32("ExitStatus"),
	POINTER("DirectoryTableBase"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
	WSTRING("CommandLine"),
};

static struct field process_v4_type_group1[] = {
	POINTER("UniqueProcessKey"),
	U32("ProcessId"),
	U32("ParentId"),
	U32("SessionId"),
	I32("ExitStatus"),
	POINTER("DirectoryTableBase"),
	U32("Flags"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
	WSTRING("CommandLine"),
	WSTRING("PackageFullName"),
	WSTRING("ApplicationId"),
};

static struct field process_terminate_type_group1[] = {
	U32("ProcessId"),
};

static struct field process_v2_type_group2[] = {
	U32("ProcessId"),
	U32("PageFaultCount"),
	U32("HandleCount"),
	U32("Reserved"),
	SIZE("PeakVirtualSize"),
	SIZE("PeakWorkingSetSize"),
	SIZE("PeakPagefileUsage"),
	SIZE("QuotaPeakPagedPoolUsage"),
	SIZE("QuotaPeakNonPagedPoolUsage"),
	SIZE("VirtualSize"),
	SIZE("WorkingSetSize"),
	SIZE("PagefileUsage"),
	SIZE("QuotaPagedPoolUsage"),
	SIZE("QuotaNonPagedPoolUsage"),
	SIZE("PrivatePageCount"),
};

static struct field process_v2_type_group3[] = {
	POINTER("DirectoryTableBase"),
	U32("ProcessId"),
};

static struct field process_defunct_type_group1[] = {
	POINTER("UniqueProcessKey"),
	U32("ProcessId"),
	U32("ParentId"),
	U32("SessionId"),
	I32("ExitStatus"),
	POINTER("DirectoryTableBase"),
	U32("Flags"),
	KERNEL_SID("UserSID"),
	ASTRING("ImageFileName"),
	WSTRING("CommandLine"),
	WSTRING("PackageFullName"),
	WSTRING("ApplicationId"),
	U64("ExitTime"),
};

static struct field process_v2_type_group4[] = {
	POINTER("Object"),
	POINTER("Tag"),
	U32("ProcessId"),
	U32("Count"),
};

static struct field process_v2_type_group5[] = {
	POINTER("Object"),
};

static const struct kernel_event events[] = {
	{ 1, "Start" },
	{ 2, "Stop" },
	{ 3, "DCStart" },
	{ 4, "DCStop" },
	{ 11, "Terminate" },
	{ 32, "PerfCtr" },
	{ 33, "PerfCtrRundown" },
	{ 35, "InSwap" },
	{ 39, "Defunct" },
	{ 48, "ChargeWakeCounterUser" },
	{ 49, "ChargeWakeCounterExecution" },
	{ 50, "ChargeWakeCounterKernel" },
	{ 51, "ChargeWakeCounterInstrumentation" },
	{ 52, "ChargeWakeCounterPreserveProcess" },
	{ 64, "ReleaseWakeCounterUser" },
	{ 65, "ReleaseWakeCounterExecution" },
	{ 66, "ReleaseWakeCounterKernel" },
	{ 67, "ReleaseWakeCounterInstrumentation" },
	{ 68, "ReleaseWakeCounterPreserveProcess" },
	{ 80, "WakeDropUser" },
	{ 81, "WakeDropExecution" },
	{ 82, "WakeDropKernel" },
	{ 83, "WakeDropInstrumentation" },
	{ 84, "WakeDropPreserveProcess" },
	{ 96, "WakeEventUser" },
	{ 97, "WakeEventExecution" },
	{ 98, "WakeEventKernel" },
	{ 99, "WakeEventInstrumentation" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, process_v0_type_group1, "Process_V0_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(1, process_v1_type_group1, "Process_V1_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(2, process_v2_type_group1, "Process_V2_TypeGroup1", OPCODES(1, 2, 3, 4, 39)),
	LAYOUT(3, process_v3_type_group1, "Process_V3_TypeGroup1", OPCODES(1, 2, 3, 4, 39)),
	LAYOUT(4, process_v4_type_group1, "Process_V4_TypeGroup1", OPCODES(1, 2, 3, 4, 39)),
	LAYOUT(2, process_terminate_type_group1, "Process_Terminate_TypeGroup1", OPCODES(11)),
	LAYOUT(2, process_v2_type_group2, "Process_V2_TypeGroup2", OPCODES(32, 33)),
	LAYOUT(2, process_v2_type_group3, "Process_V2_TypeGroup3", OPCODES(35)),
	LAYOUT(5, process_defunct_type_group1, "Process_Defunct_TypeGroup1", OPCODES(39)),
	LAYOUT(2, process_v2_type_group4, "Process_V2_TypeGroup4", OPCODES(48, 49, 50, 51, 52, 64,
		65, 66, 67, 68, 80, 81, 82, 83, 84)),
	LAYOUT(2, process_v2_type_group5, "Process_V2_TypeGroup5", OPCODES(96, 97, 98, 99)),
};

const struct kernel_table kernel_table_process = {
	.guid = GUID_INIT(0x3d6fa8d0, 0xfe05, 0x11d0,
			  0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
	.name = "Process",
	.class = KERNEL_PROCESS,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

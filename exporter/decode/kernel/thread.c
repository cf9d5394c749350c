/* SPDX-License-Identifier: MIT */
/*
 * Thread: threads that start and stop, context switches, priorities and the kernel's worker
 * threads.
 *
 * Version 3 has a ThreadName from Windows 10 1903 on, without a new version number: absent when
 * the payload ends before it (observed in recordings of Windows 8 and Windows 10 1903).
 *
 * Source: "Thread class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field thread_v0_type_group1[] = {
	U32("TThreadId"),
	U32("ProcessId"),
};

static struct field thread_v1_type_group1[] = {
	U32("ProcessId"),
	U32("TThreadId"),
	POINTER("StackBase"),
	POINTER("StackLimit"),
	POINTER("UserStackBase"),
	POINTER("UserStackLimit"),
	POINTER("StartAddr"),
	POINTER("Win32StartAddr"),
	I8("WaitMode"),
};

static struct field thread_v2_type_group1[] = {
	U32("ProcessId"),
	U32("TThreadId"),
	POINTER("StackBase"),
	POINTER("StackLimit"),
	POINTER("UserStackBase"),
	POINTER("UserStackLimit"),
	POINTER("StartAddr"),
	POINTER("Win32StartAddr"),
	POINTER("TebBase"),
	U32("SubProcessTag"),
};

static struct field thread_v3_type_group1[] = {
	U32("ProcessId"),
	U32("TThreadId"),
	POINTER("StackBase"),
	POINTER("StackLimit"),
	POINTER("UserStackBase"),
	POINTER("UserStackLimit"),
	POINTER("Affinity"),
	POINTER("Win32StartAddr"),
	POINTER("TebBase"),
	U32("SubProcessTag"),
	U8("BasePriority"),
	U8("PagePriority"),
	U8("IoPriority"),
	U8("ThreadFlags"),
	WSTRING("ThreadName"),
};

static struct field thread_v1_type_group2[] = {
	U32("ProcessId"),
	U32("TThreadId"),
};

static struct field cswitch_v1[] = {
	U32("NewThreadId"),
	U32("OldThreadId"),
	I8("NewThreadPriority"),
	I8("OldThreadPriority"),
	I8("NewThreadQuantum"),
	I8("OldThreadQuantum"),
	I8("OldThreadWaitReason"),
	I8("OldThreadWaitMode"),
	I8("OldThreadState"),
	I8("OldThreadWaitIdealProcessor"),
};

static struct field cswitch_v2[] = {
	U32("NewThreadId"),
	U32("OldThreadId"),
	I8("NewThreadPriority"),
	I8("OldThreadPriority"),
	U8("PreviousCState"),
	I8("SpareByte"),
	I8("OldThreadWaitReason"),
	I8("OldThreadWaitMode"),
	I8("OldThreadState"),
	I8("OldThreadWaitIdealProcessor"),
	U32("NewThreadWaitTime"),
	U32("Reserved"),
};

static struct field cswitch_v3[] = {
	U32("NewThreadId"),
	U32("OldThreadId"),
	I8("NewThreadPriority"),
	I8("OldThreadPriority"),
	U8("PreviousCState"),
	I8("SpareByte"),
	I8("OldThreadWaitReason"),
	I8("ThreadFlags"),
	I8("OldThreadState"),
	I8("OldThreadWaitIdealProcessor"),
	U32("NewThreadWaitTime"),
	U32("Reserved"),
};

static struct field spin_lock[] = {
	POINTER("SpinLockAddress"),
	POINTER("CallerAddress"),
	U64("AcquireTime"),
	U64("ReleaseTime"),
	U32("WaitTimeInCycles"),
	U32("SpinCount"),
	U32("ThreadId"),
	U32("InterruptCount"),
	U8("Irql"),
	U8("AcquireDepth"),
	U8("Flag"),
	FIXED("Reserved", FIELD_U8, 5),
};

static struct field thread_priority[] = {
	U32("ThreadId"),
	U8("OldPriority"),
	U8("NewPriority"),
	U16("Reserved"),
};

static struct field ready_thread[] = {
	U32("TThreadId"),
	I8("AdjustReason"),
	I8("AdjustIncrement"),
	I8("Flag"),
	I8("Reserved"),
};

static struct field thread_affinity[] = {
	POINTER("Affinity"),
	U32("ThreadId"),
	U16("Group"),
	U16("Reserved"),
};

static struct field worker_thread_v1[] = {
	U32("TThreadId"),
	U64("StartTime"),
	POINTER("ThreadRoutine"),
};

static struct field anti_starvation_boost[] = {
	U32("ThreadId"),
	U16("ProcessorIndex"),
	U8("Priority"),
	U8("Reserved"),
};

static struct field thread_migration[] = {
	U32("ThreadId"),
	U16("SourceProcessorIndex"),
	U16("TargetProcessorIndex"),
	U8("Priority"),
	BOOL32("IdealProcessorAdjust"),
	U16("OldIdealProcessorIndex"),
};

static struct field kernel_queue_enqueue[] = {
	POINTER("Entry"),
	U32("ThreadId"),
};

static struct field kernel_queue_dequeue[] = {
	U32("ThreadId"),
	U32("EntryCount"),
	COUNTED("Entries", FIELD_POINTER, 1),
};

static struct field worker_thread_start_stop_v2[] = {
	POINTER("CallbackRoutine"),
};

static struct field auto_boost_set_floor[] = {
	POINTER("Lock"),
	U32("ThreadId"),
	U8("NewCpuPriorityFloor"),
	U8("OldCpuPriority"),
	U8("IoPriorities"),
	U8("BoostFlags"),
};

static struct field auto_boost_clear_floor[] = {
	POINTER("LockAddress"),
	U32("ThreadId"),
	U32("BoostBitmap"),
};

static struct field auto_boost_entry_exhaustion[] = {
	POINTER("LockAddress"),
	U32("ThreadId"),
};

static struct field sub_process_tag_changed[] = {
	U32("OldTag"),
	U32("NewTag"),
};

static struct field thread_set_name[] = {
	U32("ProcessId"),
	U32("ThreadId"),
	WSTRING("ThreadName"),
};

static const struct kernel_event events[] = {
	{ 1, "Start" },
	{ 2, "Stop" },
	{ 3, "DCStart" },
	{ 4, "DCStop" },
	{ 36, "CSwitch" },
	{ 37, "CompCS" },
	{ 41, "SpinLock" },
	{ 48, "SetPriority" },
	{ 49, "SetBasePriority" },
	{ 50, "ReadyThread" },
	{ 51, "SetPagePriority" },
	{ 52, "SetIoPriority" },
	{ 53, "SetAffinity" },
	{ 57, "WorkerThread" },
	{ 60, "AntiStarvationBoost" },
	{ 61, "Migration" },
	{ 62, "KernelQueueEnqueue" },
	{ 63, "KernelQueueDequeue" },
	{ 64, "WorkerThreadStart" },
	{ 65, "WorkerThreadStop" },
	{ 66, "AutoBoostSetFloor" },
	{ 67, "AutoBoostClearFloor" },
	{ 68, "AutoBoostEntryExhaustion" },
	{ 69, "SubProcessTagChanged" },
	{ 72, "SetName" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, thread_v0_type_group1, "Thread_V0_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(1, thread_v1_type_group1, "Thread_V1_TypeGroup1", OPCODES(1, 3, 4)),
	LAYOUT(2, thread_v2_type_group1, "Thread_V2_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(3, thread_v3_type_group1, "Thread_V3_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(4, thread_v3_type_group1, "Thread_TypeGroup1", OPCODES(1, 2, 3, 4)),
	LAYOUT(1, thread_v1_type_group2, "Thread_V1_TypeGroup2", OPCODES(2)),
	LAYOUT(1, cswitch_v1, "CSwitch_V1", OPCODES(36)),
	LAYOUT(2, cswitch_v2, "CSwitch_V2", OPCODES(36)),
	LAYOUT(3, cswitch_v3, "CSwitch_V3", OPCODES(36)),
	LAYOUT(4, cswitch_v3, "CSwitch_V4", OPCODES(36)),
	EMPTY_LAYOUT(2, "CompCS", OPCODES(37)),
	LAYOUT(2, spin_lock, "SpinLock", OPCODES(41)),
	LAYOUT(3, thread_priority, "ThreadPriority", OPCODES(48, 49, 51, 52)),
	LAYOUT(2, ready_thread, "ReadyThread", OPCODES(50)),
	LAYOUT(2, thread_affinity, "ThreadAffinity", OPCODES(53)),
	LAYOUT(1, worker_thread_v1, "WorkerThread_V1", OPCODES(57)),
	LAYOUT(2, worker_thread_v1, "WorkerThread", OPCODES(57)),
	LAYOUT(2, anti_starvation_boost, "AntiStarvationBoost", OPCODES(60)),
	LAYOUT(2, thread_migration, "ThreadMigration", OPCODES(61)),
	LAYOUT(2, kernel_queue_enqueue, "KernelQueueEnqueue", OPCODES(62)),
	LAYOUT(2, kernel_queue_dequeue, "KernelQueueDequeue", OPCODES(63)),
	LAYOUT(2, worker_thread_start_stop_v2, "WorkerThread_StartStop_V2", OPCODES(64, 65)),
	LAYOUT(2, auto_boost_set_floor, "AutoBoostSetFloor", OPCODES(66)),
	LAYOUT(2, auto_boost_clear_floor, "AutoBoostClearFloor", OPCODES(67)),
	LAYOUT(2, auto_boost_entry_exhaustion, "AutoBoostEntryExhaustion", OPCODES(68)),
	LAYOUT(2, sub_process_tag_changed, "SubProcessTagChanged", OPCODES(69)),
	LAYOUT(2, thread_set_name, "ThreadSetName", OPCODES(72)),
};

const struct kernel_table kernel_table_thread = {
	.guid = GUID_INIT(0x3d6fa8d1, 0xfe05, 0x11d0,
			  0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
	.name = "Thread",
	.class = KERNEL_THREAD,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

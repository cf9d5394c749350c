/* SPDX-License-Identifier: MIT */
/*
 * PerfInfo: profile samples, interrupts, deferred procedure calls, system calls and timers.
 *
 * InitialTime is a raw time of the session's clock.
 *
 * Source: "PerfInfo class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field mark_v0[] = {
	ASTRING("Message"),
	WCHARS("Padding", 1),
};

static struct field sampled_profile_v1[] = {
	POINTER("InstructionPointer"),
	U32("ThreadId"),
	U16("Count"),
};

static struct field sampled_profile[] = {
	POINTER("InstructionPointer"),
	U32("ThreadId"),
	U16("Count"),
	U16("Reserved"),
};

static struct field pmc_counter_profile[] = {
	POINTER("InstructionPointer"),
	U32("ThreadId"),
	U16("ProfileSource"),
	U16("Reserved"),
};

static struct field pmc_counter_config_v2[] = {
	U32("CounterCount"),
	COUNTED("CounterName", FIELD_WSTRING, 0),
};

static struct field pmc_counter_corruption_v2[] = {
	U32("ProcessorNumber"),
	U32("CounterCount"),
	COUNTED("CounterStatus", FIELD_POINTER, 1),
};

static struct field isr_msi[] = {
	U64("InitialTime"),
	POINTER("Routine"),
	U8("ReturnValue"),
	U16("Vector"),
	U8("Reserved"),
	U32("MessageNumber"),
};

static struct field sys_call_enter[] = {
	POINTER("SysCallAddress"),
};

static struct field sys_call_exit[] = {
	U32("SysCallNtStatus"),
};

static struct field dpc[] = {
	U64("InitialTime"),
	POINTER("Routine"),
};

static struct field isr_v1[] = {
	U64("InitialTime"),
	POINTER("Routine"),
	U32("ReturnValue"),
};

static struct field isr[] = {
	U64("InitialTime"),
	POINTER("Routine"),
	U8("ReturnValue"),
	U16("Vector"),
	U8("Reserved"),
};

static struct field sampled_profile_interval_v2[] = {
	U32("Source"),
	U32("NewInterval"),
	U32("OldInterval"),
};

static struct field sampled_profile_interval_v3[] = {
	U32("Source"),
	U32("NewInterval"),
	U32("OldInterval"),
	WSTRING("SourceName"),
};

static struct field spin_lock_config_v2[] = {
	U32("SpinLockSpinThreshold"),
	U32("SpinLockContentionSampleRate"),
	U32("SpinLockAcquireSampleRate"),
};

static struct field spin_lock_config_v3[] = {
	U32("SpinLockSpinThreshold"),
	U32("SpinLockContentionSampleRate"),
	U32("SpinLockAcquireSampleRate"),
	U32("SpinLockHoldThreshold"),
};

static struct field isr_unexpected[] = {
	U16("Vector"),
};

static struct field io_timer_event[] = {
	POINTER("DeviceObject"),
	POINTER("TimerRoutine"),
};

static struct field wdf_isr[] = {
	POINTER("Routine"),
};

static struct field set_or_expire_k_timer2[] = {
	U64("DueTime"),
	U64("MaximumDueTime"),
	U64("Period"),
	POINTER("Timer"),
	POINTER("Callback"),
	POINTER("CallbackContext"),
	U8("TimerFlags"),
};

static struct field cancel_k_timer2[] = {
	POINTER("Timer"),
};

static struct field disable_k_timer2[] = {
	POINTER("Timer"),
	POINTER("DisableCallback"),
	POINTER("DisableContext"),
	U8("TimerFlags"),
};

static struct field finalize_k_timer2[] = {
	POINTER("Timer"),
	POINTER("DisableCallback"),
	POINTER("DisableContext"),
};

static struct field hv_hypercall[] = {
	U32("CallCode"),
	U8("IsFast"),
	U8("IsNested"),
};

static const struct kernel_event events[] = {
	{ 34, "Mark" },
	{ 46, "SampleProf" },
	{ 47, "PmcCounterProf" },
	{ 48, "PmcCounterConfig" },
	{ 49, "PmcCounterCorruption" },
	{ 50, "ISR-MSI" },
	{ 51, "SysClEnter" },
	{ 52, "SysClExit" },
	{ 55, "BatchedSample" },
	{ 58, "DebuggerEnabled" },
	{ 66, "ThreadedDPC" },
	{ 67, "ISR" },
	{ 68, "DPC" },
	{ 69, "TimerDPC" },
	{ 70, "IoTimer" },
	{ 72, "SetInterval" },
	{ 73, "CollectionStart" },
	{ 74, "CollectionEnd" },
	{ 75, "SpinLockDCStart" },
	{ 76, "SpinLockDCStop" },
	{ 92, "ISR-Unexpected" },
	{ 93, "IoTimerStart" },
	{ 94, "IoTimerStop" },
	{ 95, "ISR-Passive" },
	{ 96, "WdfISR" },
	{ 97, "WdfISR-Passive" },
	{ 98, "WdfDPC" },
	{ 103, "WdfWorkItem" },
	{ 104, "KTimer2Set" },
	{ 105, "KTimer2Expire" },
	{ 106, "KTimer2Cancel" },
	{ 107, "KTimer2Disable" },
	{ 108, "KTimer2Finalize" },
	{ 114, "Hypercall" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, mark_v0, "Mark_V0", OPCODES(34)),
	LAYOUT(1, sampled_profile_v1, "SampledProfile_V1", OPCODES(46)),
	LAYOUT(2, sampled_profile, "SampledProfile", OPCODES(46)),
	LAYOUT(2, pmc_counter_profile, "PmcCounterProfile", OPCODES(47)),
	LAYOUT(2, pmc_counter_config_v2, "PmcCounterConfig_V2", OPCODES(48)),
	LAYOUT(2, pmc_counter_corruption_v2, "PmcCounterCorruption_V2", OPCODES(49)),
	LAYOUT(2, isr_msi, "ISR_MSI", OPCODES(50)),
	LAYOUT(2, sys_call_enter, "SysCallEnter", OPCODES(51)),
	LAYOUT(2, sys_call_exit, "SysCallExit", OPCODES(52)),
	EMPTY_LAYOUT(2, "DebuggerEnabled", OPCODES(58)),
	LAYOUT(2, dpc, "DPC", OPCODES(66, 68, 69, 70)),
	LAYOUT(1, isr_v1, "ISR_V1", OPCODES(67, 95)),
	LAYOUT(2, isr, "ISR", OPCODES(67, 95)),
	LAYOUT(1, dpc, "DPC_V1", OPCODES(68, 69)),
	LAYOUT(2, sampled_profile_interval_v2, "SampledProfileInterval_V2", OPCODES(72, 73, 74)),
	LAYOUT(3, sampled_profile_interval_v3, "SampledProfileInterval_V3", OPCODES(73, 74)),
	LAYOUT(2, spin_lock_config_v2, "SpinLockConfig_V2", OPCODES(75, 76)),
	LAYOUT(3, spin_lock_config_v3, "SpinLockConfig_V3", OPCODES(75, 76)),
	LAYOUT(2, isr_unexpected, "ISR_Unexpected", OPCODES(92)),
	LAYOUT(2, io_timer_event, "IoTimerEvent", OPCODES(93, 94)),
	LAYOUT(2, wdf_isr, "WDF_ISR", OPCODES(96, 97)),
	LAYOUT(2, wdf_isr, "WDF_DPC", OPCODES(98)),
	LAYOUT(2, wdf_isr, "WDF_WorkItem", OPCODES(103)),
	LAYOUT(2, set_or_expire_k_timer2, "SetOrExpireKTimer2", OPCODES(104, 105)),
	LAYOUT(2, cancel_k_timer2, "CancelKTimer2", OPCODES(106)),
	LAYOUT(2, disable_k_timer2, "DisableKTimer2", OPCODES(107)),
	LAYOUT(2, finalize_k_timer2, "FinalizeKTimer2", OPCODES(108)),
	LAYOUT(2, hv_hypercall, "HV_Hypercall", OPCODES(114)),
};

const struct kernel_table kernel_table_perf_info = {
	.guid = GUID_INIT(0xce1dbfb4, 0x137e, 0x4da6,
			  0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc),
	.name = "PerfInfo",
	.class = KERNEL_PERF_INFO,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

/* SPDX-License-Identifier: MIT */
/*
 * Ums: user-mode scheduling.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field ums_directed_switch_start[] = {
	U32("ProcessId"),
	U32("ScheduledThreadId"),
	U32("PrimaryThreadId"),
	U32("SwitchFlags"),
};

static struct field ums_scheduled_park[] = {
	U32("ProcessId"),
	U32("ScheduledThreadId"),
	U32("ParkFlags"),
};

static struct field ums_disassociate[] = {
	U32("ProcessId"),
	U32("ScheduledThreadId"),
	U32("PrimaryThreadId"),
	U32("UmsApcControlFlags"),
	U32("Status"),
};

static struct field ums_context_switch[] = {
	U32("ScheduledThreadId"),
	U32("SwitchCount"),
	U32("KernelYieldCount"),
	U32("MixedYieldCount"),
	U32("YieldCount"),
};

static const struct kernel_event events[] = {
	{ 32, "DirectedSwitchStart" },
	{ 33, "DirectedSwitchEnd" },
	{ 34, "Park" },
	{ 35, "Disassociate" },
	{ 36, "ContextSwitch" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, ums_directed_switch_start, "UmsDirectedSwitchStart", OPCODES(32)),
	LAYOUT(2, ums_directed_switch_start, "UmsDirectedSwitchEnd", OPCODES(33)),
	LAYOUT(2, ums_scheduled_park, "UmsScheduledPark", OPCODES(34)),
	LAYOUT(2, ums_disassociate, "UmsDisassociate", OPCODES(35)),
	LAYOUT(2, ums_context_switch, "UmsContextSwitch", OPCODES(36)),
};

const struct kernel_table kernel_table_ums = {
	.guid = GUID_INIT(0x9aec974b, 0x5b8e, 0x4118,
			  0x9b, 0x92, 0x31, 0x86, 0xd8, 0x00, 0x2c, 0xe5),
	.name = "Ums",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

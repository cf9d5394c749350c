/* SPDX-License-Identifier: MIT */
/*
 * MMCSS: the multimedia class scheduler.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field mmcss_event[] = {
	U32("ScheduledPID"),
	U32("ScheduledTID"),
	U32("SchedulingPriority"),
	U32("TaskIndex"),
};

static struct field mmcss_wakeup[] = {
	U32("Reason"),
};

static const struct kernel_event events[] = {
	{ 32, "Start" },
	{ 33, "Stop" },
	{ 34, "SchedulerEvent" },
	{ 35, "SchedulerWakeup" },
	{ 36, "SchedulerSleep" },
	{ 37, "SchedulerSleepResponse" },
};

static struct kernel_layout layouts[] = {
	EMPTY_LAYOUT(0, "MMCSS_TypeGroup", OPCODES(32, 33, 36, 37)),
	LAYOUT(0, mmcss_event, "MMCSSEvent", OPCODES(34)),
	LAYOUT(0, mmcss_wakeup, "MMCSSWakeup", OPCODES(35)),
};

const struct kernel_table kernel_table_mmcss = {
	.guid = GUID_INIT(0xf8f10121, 0xb617, 0x4a56,
			  0x86, 0x8b, 0x9d, 0xf1, 0xb2, 0x7f, 0xe3, 0x2c),
	.name = "MMCSS",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

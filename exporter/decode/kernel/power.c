/* SPDX-License-Identifier: MIT */
/*
 * Power: how long processors take to leave idle states.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field idle_exit_latency[] = {
	U32("PlatformState"),
	U32("ProcessorState"),
	U32("ReturnLatency"),
	U32("TotalLatency"),
};

static const struct kernel_event events[] = {
	{ 60, "IdleExitLatency" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, idle_exit_latency, "IdleExitLatency", OPCODES(60)),
};

const struct kernel_table kernel_table_power = {
	.guid = GUID_INIT(0xe43445e0, 0x0903, 0x48c3,
			  0xb8, 0x78, 0xff, 0x0f, 0xcc, 0xeb, 0xdd, 0x04),
	.name = "Power",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

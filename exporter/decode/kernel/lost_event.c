/* SPDX-License-Identifier: MIT */
/*
 * LostEvent: a real-time session lost events or buffers.
 *
 * Source: "Lost_Event class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static const struct kernel_event events[] = {
	{ 32, "LostEvent" },
	{ 33, "LostBuffer" },
	{ 34, "LostFile" },
};

static struct kernel_layout layouts[] = {
	EMPTY_LAYOUT(0, "RT_LostEvent", OPCODES(32, 33, 34)),
};

const struct kernel_table kernel_table_lost_event = {
	.guid = GUID_INIT(0x6a399ae0, 0x4bc6, 0x4de9,
			  0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e),
	.name = "LostEvent",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

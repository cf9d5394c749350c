/* SPDX-License-Identifier: MIT */
/*
 * DbgPrint: text that kernel code prints for a debugger.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field debug_print_event[] = {
	U32("Component"),
	U32("Level"),
	ASTRING("Message"),
};

static const struct kernel_event events[] = {
	{ 32, "Print" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, debug_print_event, "DebugPrint_Event", OPCODES(32)),
};

const struct kernel_table kernel_table_debug_print = {
	.guid = GUID_INIT(0x13976d09, 0xa327, 0x438c,
			  0x95, 0x0b, 0x7f, 0x03, 0x19, 0x28, 0x15, 0xc7),
	.name = "DbgPrint",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

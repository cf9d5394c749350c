/* SPDX-License-Identifier: MIT */
/*
 * StackWalk: call stacks of other events, found by thread and EventTimeStamp (a raw time).
 * Addresses fill the payload.
 *
 * Source: "StackWalk_Event class", Microsoft Learn; WindowsKernelTrace.mof, public in
 * tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field stack_walk_event[] = {
	U64("EventTimeStamp"),
	U32("StackProcess"),
	U32("StackThread"),
	REST("Stack", FIELD_POINTER),
};

static struct field stack_walk_definition[] = {
	POINTER("StackKey"),
	REST("Stack", FIELD_POINTER),
};

static struct field stack_walk_key[] = {
	U64("EventTimeStamp"),
	U32("StackProcess"),
	U32("StackThread"),
	POINTER("StackKey"),
};

static const struct kernel_event events[] = {
	{ 32, "Stack" },
	{ 34, "KeyCreate" },
	{ 35, "KeyDelete" },
	{ 36, "KeyRundown" },
	{ 37, "StackKeyKernel" },
	{ 38, "StackKeyUser" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, stack_walk_event, "StackWalk_Event", OPCODES(32)),
	LAYOUT(2, stack_walk_definition, "StackWalk_Definition", OPCODES(34, 35, 36)),
	LAYOUT(2, stack_walk_key, "StackWalk_Key", OPCODES(37, 38)),
};

const struct kernel_table kernel_table_stack_walk = {
	.guid = GUID_INIT(0xdef2fe46, 0x7bd6, 0x4b80,
			  0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3),
	.name = "StackWalk",
	.class = KERNEL_STACK_WALK,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

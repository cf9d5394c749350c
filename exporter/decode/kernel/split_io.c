/* SPDX-License-Identifier: MIT */
/*
 * SplitIo: disk requests that the volume manager split.
 *
 * Source: "SplitIo class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field split_io_info[] = {
	POINTER("ParentIrp"),
	POINTER("ChildIrp"),
};

static const struct kernel_event events[] = {
	{ 32, "VolMgr" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, split_io_info, "SplitIo_Info", OPCODES(32)),
};

const struct kernel_table kernel_table_split_io = {
	.guid = GUID_INIT(0xd837ca92, 0x12b9, 0x44a5,
			  0xad, 0x6a, 0x3a, 0x65, 0xb3, 0x57, 0x8a, 0xa8),
	.name = "SplitIo",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

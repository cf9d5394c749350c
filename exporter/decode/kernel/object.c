/* SPDX-License-Identifier: MIT */
/*
 * Object: handles and references to kernel objects.
 *
 * Source: WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field ob_handle_event[] = {
	POINTER("Object"),
	U32("Handle"),
	U16("ObjectType"),
	WSTRING("ObjectName"),
};

static struct field ob_handle_duplicate_event[] = {
	POINTER("Object"),
	U32("SourceHandle"),
	U32("TargetHandle"),
	U32("TargetProcessId"),
	U16("ObjectType"),
};

static struct field ob_type_event[] = {
	U16("ObjectType"),
	U16("Reserved"),
	WSTRING("TypeName"),
};

static struct field ob_handle_rundown_event[] = {
	POINTER("Object"),
	U32("ProcessId"),
	U32("Handle"),
	U16("ObjectType"),
	WSTRING("ObjectName"),
};

static struct field ob_object_event[] = {
	POINTER("Object"),
	U16("ObjectType"),
};

static struct field ob_reference_event[] = {
	POINTER("Object"),
	U32("Tag"),
	U32("Count"),
};

static const struct kernel_event events[] = {
	{ 32, "CreateHandle" },
	{ 33, "CloseHandle" },
	{ 34, "DuplicateHandle" },
	{ 36, "TypeDCStart" },
	{ 37, "TypeDCEnd" },
	{ 38, "HandleDCStart" },
	{ 39, "HandleDCEnd" },
	{ 48, "CreateObject" },
	{ 49, "DeleteObject" },
	{ 50, "ReferenceObject" },
	{ 51, "DereferenceObject" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, ob_handle_event, "ObHandleEvent", OPCODES(32, 33)),
	LAYOUT(2, ob_handle_duplicate_event, "ObHandleDuplicateEvent", OPCODES(34)),
	LAYOUT(2, ob_type_event, "ObTypeEvent", OPCODES(36, 37)),
	LAYOUT(2, ob_handle_rundown_event, "ObHandleRundownEvent", OPCODES(38, 39)),
	LAYOUT(2, ob_object_event, "ObObjectEvent", OPCODES(48, 49)),
	LAYOUT(2, ob_reference_event, "ObReferenceEvent", OPCODES(50, 51)),
};

const struct kernel_table kernel_table_object = {
	.guid = GUID_INIT(0x89497f50, 0xeffe, 0x4440,
			  0x8c, 0xf2, 0xce, 0x6b, 0x1c, 0xdc, 0xac, 0xa7),
	.name = "Object",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

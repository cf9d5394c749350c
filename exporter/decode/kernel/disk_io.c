/* SPDX-License-Identifier: MIT */
/*
 * DiskIo: transfers of physical disks, and calls between the drivers that serve them.
 *
 * A flush (14) has a layout of its own: its response time stands where a read has its transfer
 * size and offset.
 *
 * Source: "DiskIo class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field disk_io_v0_type_group1[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U32("TransferSize"),
	U32("Reserved"),
	U64("ByteOffset"),
	POINTER("FileObject"),
};

static struct field disk_io_v1_type_group1[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U32("TransferSize"),
	U32("ResponseTime"),
	U64("ByteOffset"),
	POINTER("FileObject"),
	U64("HighResResponseTime"),
};

static struct field disk_io_v2_type_group1[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U32("TransferSize"),
	U32("Reserved"),
	U64("ByteOffset"),
	POINTER("FileObject"),
	POINTER("Irp"),
	U64("HighResResponseTime"),
};

static struct field disk_io_type_group1[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U32("TransferSize"),
	U32("Reserved"),
	U64("ByteOffset"),
	POINTER("FileObject"),
	POINTER("Irp"),
	U64("HighResResponseTime"),
	U32("IssuingThreadId"),
};

static struct field disk_io_v2_type_group2[] = {
	POINTER("Irp"),
};

static struct field disk_io_type_group2[] = {
	POINTER("Irp"),
	U32("IssuingThreadId"),
};

static struct field disk_io_v2_type_group3[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U64("HighResResponseTime"),
	POINTER("Irp"),
};

static struct field disk_io_type_group3[] = {
	U32("DiskNumber"),
	U32("IrpFlags"),
	U64("HighResResponseTime"),
	POINTER("Irp"),
	U32("IssuingThreadId"),
};

static struct field v1_driver_major_function_call[] = {
	U32("UniqMatchId"),
	POINTER("RoutineAddr"),
	POINTER("Irp"),
	U32("MajorFunction"),
	U32("MinorFunction"),
	POINTER("FileObject"),
};

static struct field driver_major_function_call[] = {
	U32("MajorFunction"),
	U32("MinorFunction"),
	POINTER("RoutineAddr"),
	POINTER("FileObject"),
	POINTER("Irp"),
	U32("UniqMatchId"),
};

static struct field v1_driver_major_function_return[] = {
	U32("UniqMatchId"),
	POINTER("Irp"),
};

static struct field driver_major_function_return[] = {
	POINTER("Irp"),
	U32("UniqMatchId"),
};

static struct field driver_completion_routine[] = {
	POINTER("Routine"),
	POINTER("IrpPtr"),
	U32("UniqMatchId"),
};

static struct field v1_driver_complete_request[] = {
	POINTER("RoutineAddr"),
	POINTER("Irp"),
	U32("UniqMatchId"),
};

static const struct kernel_event events[] = {
	{ 10, "Read" },
	{ 11, "Write" },
	{ 12, "ReadInit" },
	{ 13, "WriteInit" },
	{ 14, "FlushBuffers" },
	{ 15, "FlushInit" },
	{ 34, "DriverMajorFunctionCall" },
	{ 35, "DriverMajorFunctionReturn" },
	{ 37, "DriverCompletionRoutine" },
	{ 52, "DriverCompleteRequest" },
	{ 53, "DriverCompleteRequestReturn" },
	{ 55, "OpticalRead" },
	{ 56, "OpticalWrite" },
	{ 57, "OpticalFlush" },
	{ 58, "OpticalReadInit" },
	{ 59, "OpticalWriteInit" },
	{ 60, "OpticalFlushInit" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, disk_io_v0_type_group1, "DiskIo_V0_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(1, disk_io_v1_type_group1, "DiskIo_V1_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(2, disk_io_v2_type_group1, "DiskIo_V2_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(3, disk_io_type_group1, "DiskIo_TypeGroup1", OPCODES(10, 11, 55, 56)),
	LAYOUT(2, disk_io_v2_type_group2, "DiskIo_V2_TypeGroup2", OPCODES(12, 13, 15)),
	LAYOUT(3, disk_io_type_group2, "DiskIo_TypeGroup2", OPCODES(12, 13, 15, 58, 59, 60)),
	LAYOUT(2, disk_io_v2_type_group3, "DiskIo_V2_TypeGroup3", OPCODES(14)),
	LAYOUT(3, disk_io_type_group3, "DiskIo_TypeGroup3", OPCODES(14, 57)),
	LAYOUT(1, v1_driver_major_function_call, "V1_DriverMajorFunctionCall", OPCODES(34)),
	LAYOUT(2, driver_major_function_call, "DriverMajorFunctionCall", OPCODES(34)),
	LAYOUT(1, v1_driver_major_function_return, "V1_DriverMajorFunctionReturn", OPCODES(35)),
	LAYOUT(2, driver_major_function_return, "DriverMajorFunctionReturn", OPCODES(35)),
	LAYOUT(2, driver_completion_routine, "DriverCompletionRoutine", OPCODES(37)),
	LAYOUT(1, v1_driver_complete_request, "V1_DriverCompleteRequest", OPCODES(52)),
	LAYOUT(2, v1_driver_complete_request, "DriverCompleteRequest", OPCODES(52)),
	LAYOUT(1, driver_major_function_return, "V1_DriverCompleteRequestReturn", OPCODES(53)),
	LAYOUT(2, driver_major_function_return, "DriverCompleteRequestReturn", OPCODES(53)),
};

const struct kernel_table kernel_table_disk_io = {
	.guid = GUID_INIT(0x3d6fa8d4, 0xfe05, 0x11d0,
			  0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
	.name = "DiskIo",
	.class = KERNEL_DISK_IO,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

/* SPDX-License-Identifier: MIT */
/*
 * FileIo: file operations as they are asked for, and the names behind file keys.
 *
 * In name records (0, 32, 35, 36) FileObject holds what reads and writes call FileKey. Version 3
 * moves the thread id.
 *
 * Source: "FileIo class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field file_io_v0_name[] = {
	POINTER("FileObject"),
	WSTRING("FileName"),
};

static struct field file_io_v2_map_file[] = {
	POINTER("ViewBase"),
	POINTER("FileObject"),
	U64("MiscInfo"),
	SIZE("ViewSize"),
	U32("ProcessId"),
};

static struct field file_io_v2_create[] = {
	POINTER("IrpPtr"),
	POINTER("TTID"),
	POINTER("FileObject"),
	U32("CreateOptions"),
	U32("FileAttributes"),
	U32("ShareAccess"),
	WSTRING("OpenPath"),
};

static struct field file_io_create[] = {
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	U32("TTID"),
	U32("CreateOptions"),
	U32("FileAttributes"),
	U32("ShareAccess"),
	WSTRING("OpenPath"),
};

static struct field file_io_v2_simple_op[] = {
	POINTER("IrpPtr"),
	POINTER("TTID"),
	POINTER("FileObject"),
	POINTER("FileKey"),
};

static struct field file_io_simple_op[] = {
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	U32("TTID"),
};

static struct field file_io_v2_read_write[] = {
	U64("Offset"),
	POINTER("IrpPtr"),
	POINTER("TTID"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	U32("IoSize"),
	U32("IoFlags"),
};

static struct field file_io_read_write[] = {
	U64("Offset"),
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	U32("TTID"),
	U32("IoSize"),
	U32("IoFlags"),
};

static struct field file_io_v2_info[] = {
	POINTER("IrpPtr"),
	POINTER("TTID"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	POINTER("ExtraInfo"),
	U32("InfoClass"),
};

static struct field file_io_info[] = {
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	POINTER("ExtraInfo"),
	U32("TTID"),
	U32("InfoClass"),
};

static struct field file_io_v2_dir_enum[] = {
	POINTER("IrpPtr"),
	POINTER("TTID"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	U32("Length"),
	U32("InfoClass"),
	U32("FileIndex"),
	WSTRING("FileName"),
};

static struct field file_io_dir_enum[] = {
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	U32("TTID"),
	U32("Length"),
	U32("InfoClass"),
	U32("FileIndex"),
	WSTRING("FileName"),
};

static struct field file_io_v2_op_end[] = {
	POINTER("IrpPtr"),
	POINTER("ExtraInfo"),
	U32("NtStatus"),
};

static struct field file_io_path_operation[] = {
	POINTER("IrpPtr"),
	POINTER("FileObject"),
	POINTER("FileKey"),
	POINTER("ExtraInfo"),
	U32("TTID"),
	U32("InfoClass"),
	WSTRING("FileName"),
};

static struct field flt_io_init[] = {
	POINTER("RoutineAddr"),
	POINTER("FileObject"),
	POINTER("FileContext"),
	POINTER("IrpPtr"),
	POINTER("CallbackDataPtr"),
	U32("MajorFunction"),
};

static struct field flt_io_completion[] = {
	U64("InitialTime"),
	POINTER("RoutineAddr"),
	POINTER("FileObject"),
	POINTER("FileContext"),
	POINTER("IrpPtr"),
	POINTER("CallbackDataPtr"),
	U32("MajorFunction"),
};

static struct field flt_io_failure[] = {
	POINTER("RoutineAddr"),
	POINTER("FileObject"),
	POINTER("FileContext"),
	POINTER("IrpPtr"),
	POINTER("CallbackDataPtr"),
	U32("MajorFunction"),
	U32("Status"),
};

static const struct kernel_event events[] = {
	{ 0, "Name" },
	{ 32, "FileCreate" },
	{ 35, "FileDelete" },
	{ 36, "FileRundown" },
	{ 37, "MapFile" },
	{ 38, "UnmapFile" },
	{ 39, "MapFileDCStart" },
	{ 40, "MapFileDCStop" },
	{ 64, "Create" },
	{ 65, "Cleanup" },
	{ 66, "Close" },
	{ 67, "Read" },
	{ 68, "Write" },
	{ 69, "SetInfo" },
	{ 70, "Delete" },
	{ 71, "Rename" },
	{ 72, "DirEnum" },
	{ 73, "Flush" },
	{ 74, "QueryInfo" },
	{ 75, "FSControl" },
	{ 76, "OperationEnd" },
	{ 77, "DirNotify" },
	{ 79, "DeletePath" },
	{ 80, "RenamePath" },
	{ 81, "SetLinkPath" },
	{ 96, "FltPreOpInit" },
	{ 97, "FltPostOpInit" },
	{ 98, "FltPreOpCompletion" },
	{ 99, "FltPostOpCompletion" },
	{ 100, "FltPreOpFailure" },
	{ 101, "FltPostOpFailure" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, file_io_v0_name, "FileIo_V0_Name", OPCODES(0)),
	LAYOUT(1, file_io_v0_name, "FileIo_V1_Name", OPCODES(0, 32)),
	LAYOUT(2, file_io_v0_name, "FileIo_V2_Name", OPCODES(0, 32, 35, 36)),
	LAYOUT(3, file_io_v0_name, "FileIo_Name", OPCODES(0, 32, 35, 36)),
	LAYOUT(2, file_io_v2_map_file, "FileIo_V2_MapFile", OPCODES(37, 38, 39, 40)),
	LAYOUT(2, file_io_v2_create, "FileIo_V2_Create", OPCODES(64)),
	LAYOUT(3, file_io_create, "FileIo_Create", OPCODES(64)),
	LAYOUT(2, file_io_v2_simple_op, "FileIo_V2_SimpleOp", OPCODES(65, 66, 73)),
	LAYOUT(3, file_io_simple_op, "FileIo_SimpleOp", OPCODES(65, 66, 73)),
	LAYOUT(2, file_io_v2_read_write, "FileIo_V2_ReadWrite", OPCODES(67, 68)),
	LAYOUT(3, file_io_read_write, "FileIo_ReadWrite", OPCODES(67, 68)),
	LAYOUT(2, file_io_v2_info, "FileIo_V2_Info", OPCODES(69, 70, 71, 74, 75)),
	LAYOUT(3, file_io_info, "FileIo_Info", OPCODES(69, 70, 71, 74, 75)),
	LAYOUT(2, file_io_v2_dir_enum, "FileIo_V2_DirEnum", OPCODES(72, 77)),
	LAYOUT(3, file_io_dir_enum, "FileIo_DirEnum", OPCODES(72, 77)),
	LAYOUT(2, file_io_v2_op_end, "FileIo_V2_OpEnd", OPCODES(76)),
	LAYOUT(3, file_io_v2_op_end, "FileIo_OpEnd", OPCODES(76)),
	LAYOUT(3, file_io_path_operation, "FileIo_PathOperation", OPCODES(79, 80, 81)),
	LAYOUT(3, flt_io_init, "FltIoInit", OPCODES(96, 97)),
	LAYOUT(3, flt_io_completion, "FltIoCompletion", OPCODES(98, 99)),
	LAYOUT(3, flt_io_failure, "FltIoFailure", OPCODES(100, 101)),
};

const struct kernel_table kernel_table_file_io = {
	.guid = GUID_INIT(0x90cbdc39, 0x4a3e, 0x11d1,
			  0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3),
	.name = "FileIo",
	.class = KERNEL_FILE_IO,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

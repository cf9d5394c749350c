/* SPDX-License-Identifier: MIT */
/*
 * ImageID: versions and symbol files of images, added when a recording is merged.
 *
 * Source: microsoft/perfview, src/TraceEvent/Parsers/SymbolTraceEventParser.cs.
 */
#include "decode/kernel/layout.h"

static struct field image_id_info[] = {
	POINTER("ImageBase"),
	POINTER("ImageSize"),
	U32("ProcessId"),
	U32("TimeDateStamp"),
	WSTRING("OriginalFileName"),
};

static struct field image_id_none[] = {
	POINTER("ImageBase"),
	U32("ProcessId"),
};

static struct field image_id_rsds[] = {
	POINTER("ImageBase"),
	U32("ProcessId"),
	GUID("GuidSig"),
	U32("Age"),
	ASTRING("PdbFileName"),
};

static struct field image_id_ppdb[] = {
	POINTER("ImageBase"),
	U32("ProcessId"),
	U32("TimeDateStamp"),
	U16("MajorVersion"),
	U16("MinorVersion"),
};

static struct field image_id_file_version[] = {
	U32("ImageSize"),
	U32("TimeDateStamp"),
	WSTRING("OrigFileName"),
	WSTRING("FileDescription"),
	WSTRING("FileVersion"),
	WSTRING("BinFileVersion"),
	WSTRING("VerLanguage"),
	WSTRING("ProductName"),
	WSTRING("CompanyName"),
	WSTRING("ProductVersion"),
	WSTRING("FileId"),
	WSTRING("ProgramId"),
};

static const struct kernel_event events[] = {
	{ 0, "Info" },
	{ 32, "None" },
	{ 36, "DbgID_RSDS" },
	{ 37, "DbgID_ILRSDS" },
	{ 38, "DbgPPDB" },
	{ 40, "DbgDeterm" },
	{ 64, "FileVersion" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, image_id_info, "ImageID_Info", OPCODES(0)),
	LAYOUT(2, image_id_none, "ImageID_None", OPCODES(32)),
	LAYOUT(2, image_id_rsds, "ImageID_RSDS", OPCODES(36, 37)),
	LAYOUT(2, image_id_ppdb, "ImageID_PPDB", OPCODES(38)),
	LAYOUT(1, image_id_none, "ImageID_Deterministic", OPCODES(40)),
	LAYOUT(0, image_id_file_version, "ImageID_FileVersion", OPCODES(64)),
};

const struct kernel_table kernel_table_image_id = {
	.guid = GUID_INIT(0xb3e675d7, 0x2554, 0x4f18,
			  0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde),
	.name = "ImageID",
	.class = KERNEL_IMAGE_ID,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

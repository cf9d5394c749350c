/* SPDX-License-Identifier: MIT */
/*
 * Image: images that are mapped and unmapped, the rundown of those that are, and steps of the
 * loader.
 *
 * Source: "Image class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field image_v0_load[] = {
	POINTER("ImageBase"),
	U32("ImageSize"),
	WSTRING("FileName"),
};

static struct field image_v1_load[] = {
	POINTER("ImageBase"),
	POINTER("ImageSize"),
	U32("ProcessId"),
	WSTRING("FileName"),
};

static struct field image_load_v2[] = {
	POINTER("ImageBase"),
	POINTER("ImageSize"),
	U32("ProcessId"),
	U32("ImageChecksum"),
	U32("TimeDateStamp"),
	U32("Reserved0"),
	POINTER("DefaultBase"),
	U32("Reserved1"),
	U32("Reserved2"),
	U32("Reserved3"),
	U32("Reserved4"),
	WSTRING("FileName"),
};

static struct field image_load[] = {
	POINTER("ImageBase"),
	POINTER("ImageSize"),
	U32("ProcessId"),
	U32("ImageChecksum"),
	U32("TimeDateStamp"),
	U8("SignatureLevel"),
	U8("SignatureType"),
	U16("Reserved0"),
	POINTER("DefaultBase"),
	U32("Reserved1"),
	U32("Reserved2"),
	U32("Reserved3"),
	U32("Reserved4"),
	WSTRING("FileName"),
};

static struct field kernel_image_base[] = {
	POINTER("ImageBase"),
};

static struct field hypercall_page[] = {
	POINTER("HypercallPageVa"),
};

static struct field loader_base_event[] = {
	U64("BaseAddress"),
};

static struct field loader_coded_event[] = {
	U64("BaseAddress"),
	U8("ErrorOpcode"),
	I8("Code"),
	WSTRING("String"),
};

static struct field loader_new_dll_event[] = {
	POINTER("NewDllBaseAddress"),
	POINTER("ParentDllBaseAddress"),
	U32("LoadReason"),
	WSTRING("FilePath"),
};

static struct field loader_coded_event_path[] = {
	U64("BaseAddress"),
	U8("ErrorOpcode"),
	I8("Code"),
	WSTRING("String1"),
	WSTRING("String2"),
};

static struct field loader_dll_search_results[] = {
	U32("LdrLoadFlags"),
	U32("LdrSearchFlags"),
	U32("SearchInfo"),
	U32("LoadReason"),
	WSTRING("FullDllName"),
};

static struct field loader_path_search_results[] = {
	U32("SearchInfo"),
	WSTRING("Cwd"),
	WSTRING("AppDir"),
	WSTRING("DllDir"),
	WSTRING("DllLoadDir"),
};

static const struct kernel_event events[] = {
	{ 2, "Unload" },
	{ 3, "DCStart" },
	{ 4, "DCStop" },
	{ 10, "Load" },
	{ 33, "KernelBase" },
	{ 34, "HypercallPage" },
	{ 128, "LoaderBasic128" },
	{ 129, "LoaderBasic129" },
	{ 130, "LoaderBasic130" },
	{ 131, "LoaderBasic131" },
	{ 132, "LoaderBasic132" },
	{ 133, "LoaderBasic133" },
	{ 134, "LoaderBasic134" },
	{ 135, "LoaderBasic135" },
	{ 144, "LoaderBase144" },
	{ 145, "LoaderBase145" },
	{ 146, "LoaderBase146" },
	{ 147, "LoaderBase147" },
	{ 148, "LoaderBase148" },
	{ 149, "LoaderBase149" },
	{ 150, "LoaderBase150" },
	{ 160, "LoaderCoded160" },
	{ 161, "LoaderCoded161" },
	{ 162, "LoaderCoded162" },
	{ 163, "LoaderCoded163" },
	{ 164, "LoaderCoded164" },
	{ 165, "LoaderCodedStatus165" },
	{ 166, "LoaderCodedStatus166" },
	{ 167, "LoaderCodedStatus167" },
	{ 168, "LoaderCodedStatus168" },
	{ 169, "LoaderCodedStatus169" },
	{ 170, "LoaderCodedStatus170" },
	{ 171, "LoaderCodedStatus171" },
	{ 172, "LoaderCodedStatus172" },
	{ 173, "LoaderCodedStatus173" },
	{ 174, "LoaderCodedStatus174" },
	{ 176, "LoaderNewDll176" },
	{ 177, "LoaderNewDll177" },
	{ 192, "LoaderCodedPath192" },
	{ 193, "LoaderCodedPath193" },
	{ 208, "LoaderCodedStatus208" },
	{ 209, "LoaderCodedStatus209" },
	{ 210, "LoaderCodedStatus210" },
	{ 211, "LoaderCodedStatus211" },
	{ 212, "LoaderDllSearchResults" },
	{ 213, "LoaderPathSearchResults" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, image_v0_load, "Image_V0_Load", OPCODES(2, 3, 4, 10)),
	LAYOUT(1, image_v1_load, "Image_V1_Load", OPCODES(2, 3, 4, 10)),
	LAYOUT(2, image_load_v2, "Image_Load_V2", OPCODES(2, 3, 4, 10)),
	LAYOUT(3, image_load, "Image_Load", OPCODES(2, 3, 4, 10)),
	LAYOUT(2, kernel_image_base, "KernelImageBase", OPCODES(33)),
	LAYOUT(2, hypercall_page, "HypercallPage", OPCODES(34)),
	EMPTY_LAYOUT(2, "LoaderBasicEvent", OPCODES(128, 129, 130, 131, 132, 133, 134, 135)),
	LAYOUT(2, loader_base_event, "LoaderBaseEvent", OPCODES(144, 145, 146, 147, 148, 149, 150)),
	LAYOUT(2, loader_coded_event, "LoaderCodedEvent", OPCODES(160, 161, 162, 163, 164)),
	LAYOUT(3, loader_coded_event, "LoaderCodedEventStatus", OPCODES(165, 166, 167, 168, 169,
		170, 171, 172, 173, 174, 208, 209, 210, 211)),
	LAYOUT(3, loader_new_dll_event, "LoaderNewDllEvent", OPCODES(176, 177)),
	LAYOUT(3, loader_coded_event_path, "LoaderCodedEventPath", OPCODES(192, 193)),
	LAYOUT(3, loader_dll_search_results, "LoaderDllSearchResults", OPCODES(212)),
	LAYOUT(3, loader_path_search_results, "LoaderPathSearchResults", OPCODES(213)),
};

const struct kernel_table kernel_table_image = {
	.guid = GUID_INIT(0x2cb15d1d, 0x5fc1, 0x11d2,
			  0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18),
	.name = "Image",
	.class = KERNEL_IMAGE,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

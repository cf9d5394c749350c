/* SPDX-License-Identifier: MIT */
/*
 * EventTrace: what a session says about itself: the header of its log file, group masks, the end
 * of the rundown.
 *
 * Source: "EventTraceEvent class", Microsoft Learn; WindowsKernelTrace.mof, public in
 * tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field event_trace_v0_header[] = {
	U32("BufferSize"),
	U32("Version"),
	U32("ProviderVersion"),
	U32("NumberOfProcessors"),
	U64("EndTime"),
	U32("TimerResolution"),
	U32("MaxFileSize"),
	U32("LogFileMode"),
	U32("BuffersWritten"),
	U32("StartBuffers"),
	U32("PointerSize"),
	U32("EventsLost"),
	U32("CPUSpeed"),
	POINTER("LoggerName"),
	POINTER("LogFileName"),
	BINARY("TimeZoneInformation", 176),
	U64("BootTime"),
	U64("PerfFreq"),
	U64("StartTime"),
	U32("ReservedFlags"),
	U32("BuffersLost"),
	WSTRING("SessionNameString"),
	WSTRING("LogFileNameString"),
};

static struct field header_extension_v0_type_group[] = {
	U32("GroupMask1"),
	U32("GroupMask2"),
	U32("GroupMask3"),
	U32("GroupMask4"),
	U32("GroupMask5"),
	U32("GroupMask6"),
	U32("GroupMask7"),
	U32("GroupMask8"),
};

static struct field header_extension_type_group[] = {
	U32("GroupMask1"),
	U32("GroupMask2"),
	U32("GroupMask3"),
	U32("GroupMask4"),
	U32("GroupMask5"),
	U32("GroupMask6"),
	U32("GroupMask7"),
	U32("GroupMask8"),
	U32("KernelEventVersion"),
};

static struct field header_dbg_id_rsds_type_group[] = {
	GUID("Guid"),
	U32("Age"),
	ASTRING("PdbName"),
};

static struct field header_build_info_type_group[] = {
	ASTRING("BuildString"),
};

static struct field header_provider_binary_path_type_group[] = {
	U32("GuidCount"),
	COUNTED("Guid", FIELD_GUID, 0),
	WSTRING("BinaryPath"),
};

static struct field header_partition_info_extension_type_group[] = {
	U16("EventVersion"),
	U16("Reserved"),
	U32("PartitionType"),
	I64("QpcOffsetFromRoot"),
	GUID("PartitionId"),
	GUID("ParentId"),
};

static struct field header_partition_info_extension_v2_type_group[] = {
	U16("EventVersion"),
	U16("Reserved"),
	U32("PartitionType"),
	I64("QpcOffsetFromRoot"),
	WSTRING("PartitionId"),
	WSTRING("ParentId"),
};

static struct field header_last_dropped_times_type_group[] = {
	U32("TimeStampCount"),
	U32("Padding"),
	COUNTED("TimeStamp", FIELD_U64, 0),
};

static const struct kernel_event events[] = {
	{ 0, "Header" },
	{ 5, "Extension" },
	{ 8, "RundownComplete" },
	{ 32, "EndExtension" },
	{ 64, "DbgIdRSDS" },
	{ 66, "BuildInfo" },
	{ 67, "ProviderBinaryPath" },
	{ 80, "PartitionInfo" },
	{ 82, "LastDroppedTimes" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, event_trace_v0_header, "EventTrace_V0_Header", OPCODES(0)),
	LAYOUT(1, event_trace_v0_header, "EventTrace_V1_Header", OPCODES(0)),
	LAYOUT(2, event_trace_v0_header, "EventTrace_Header", OPCODES(0)),
	LAYOUT(0, header_extension_v0_type_group, "Header_Extension_V0_TypeGroup", OPCODES(5, 32)),
	LAYOUT(1, header_extension_v0_type_group, "Header_Extension_V1_TypeGroup", OPCODES(5, 32)),
	LAYOUT(2, header_extension_type_group, "Header_Extension_TypeGroup", OPCODES(5, 32)),
	EMPTY_LAYOUT(0, "RDComplete_V0", OPCODES(8)),
	EMPTY_LAYOUT(1, "RDComplete_V1", OPCODES(8)),
	EMPTY_LAYOUT(2, "RDComplete", OPCODES(8)),
	LAYOUT(2, header_dbg_id_rsds_type_group, "Header_DbgIdRSDS_TypeGroup", OPCODES(64)),
	LAYOUT(2, header_build_info_type_group, "Header_BuildInfo_TypeGroup", OPCODES(66)),
	LAYOUT(2, header_provider_binary_path_type_group, "Header_ProviderBinaryPath_TypeGroup",
		OPCODES(67)),
	LAYOUT(0, header_partition_info_extension_type_group,
		"Header_PartitionInfoExtension_TypeGroup", OPCODES(80)),
	LAYOUT(2, header_partition_info_extension_v2_type_group,
		"Header_PartitionInfoExtensionV2_TypeGroup", OPCODES(80)),
	LAYOUT(2, header_last_dropped_times_type_group, "Header_LastDroppedTimes_TypeGroup",
		OPCODES(82)),
};

const struct kernel_table kernel_table_event_trace = {
	.guid = GUID_INIT(0x68fdd900, 0x4a3e, 0x11d1,
			  0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3),
	.name = "EventTrace",
	.class = KERNEL_EVENT_TRACE,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

/* SPDX-License-Identifier: MIT */
/*
 * SysConfig: facts of the machine that merging a recording adds; VolumeMapping leads from NT paths
 * to drive letters.
 *
 * Source: microsoft/perfview, src/TraceEvent/Parsers/SymbolTraceEventParser.cs.
 */
#include "decode/kernel/layout.h"

static struct field sys_config_build_info[] = {
	U64("InstallDate"),
	WSTRING("BuildLab"),
	WSTRING("ProductName"),
};

static struct field sys_config_system_paths[] = {
	WSTRING("SystemDirectory"),
	WSTRING("SystemWindowsDirectory"),
};

static struct field sys_config_unknown_volume[] = {
	WSTRING("Value"),
};

static struct field sys_config_volume_mapping[] = {
	WSTRING("NtPath"),
	WSTRING("DosPath"),
};

static const struct kernel_event events[] = {
	{ 32, "BuildInfo" },
	{ 33, "SystemPaths" },
	{ 34, "UnknownVolume" },
	{ 35, "VolumeMapping" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, sys_config_build_info, "SysConfig_BuildInfo", OPCODES(32)),
	LAYOUT(0, sys_config_system_paths, "SysConfig_SystemPaths", OPCODES(33)),
	LAYOUT(0, sys_config_unknown_volume, "SysConfig_UnknownVolume", OPCODES(34)),
	LAYOUT(0, sys_config_volume_mapping, "SysConfig_VolumeMapping", OPCODES(35)),
};

const struct kernel_table kernel_table_sys_config = {
	.guid = GUID_INIT(0x9b79ee91, 0xb5fd, 0x41c0,
			  0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0),
	.name = "SysConfig",
	.class = KERNEL_SYS_CONFIG,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

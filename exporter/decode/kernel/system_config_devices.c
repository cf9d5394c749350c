/* SPDX-License-Identifier: MIT */
/*
 * SystemConfig, opcodes from 21 on: interrupts, plug and play devices, topology, platform.
 *
 * Source: "SystemConfig class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field system_config_v0_irq[] = {
	U64("IRQAffinity"),
	U32("IRQNum"),
	U32("DeviceDescriptionLen"),
	WSTRING("DeviceDescription"),
};

static struct field system_config_v3_irq[] = {
	U64("IRQAffinity"),
	U16("IRQGroup"),
	U16("Reserved"),
	U32("IRQNum"),
	U32("DeviceDescriptionLen"),
	WSTRING("DeviceDescription"),
};

static struct field system_config_v0_pn_p[] = {
	U32("IDLength"),
	U32("DescriptionLength"),
	U32("FriendlyNameLength"),
	WSTRING("DeviceID"),
	WSTRING("DeviceDescription"),
	WSTRING("FriendlyName"),
};

static struct field system_config_v3_pn_p[] = {
	U32("IDLength"),
	U32("DescriptionLength"),
	U32("FriendlyNameLength"),
	WSTRING("DeviceID"),
	WSTRING("DeviceDescription"),
	WSTRING("FriendlyName"),
	WSTRING("PdoName"),
};

static struct field system_config_v4_pn_p[] = {
	GUID("ClassGuid"),
	U32("UpperFiltersCount"),
	U32("LowerFiltersCount"),
	WSTRING("DeviceID"),
	WSTRING("DeviceDescription"),
	WSTRING("FriendlyName"),
	WSTRING("PdoName"),
	WSTRING("ServiceName"),
	COUNTED("UpperFilters", FIELD_WSTRING, 1),
	COUNTED("LowerFilters", FIELD_WSTRING, 2),
};

static struct field system_config_pn_p[] = {
	GUID("ClassGuid"),
	U32("UpperFiltersCount"),
	U32("LowerFiltersCount"),
	U32("DevStatus"),
	U32("DevProblem"),
	WSTRING("DeviceID"),
	WSTRING("DeviceDescription"),
	WSTRING("FriendlyName"),
	WSTRING("PdoName"),
	WSTRING("ServiceName"),
	COUNTED("UpperFilters", FIELD_WSTRING, 1),
	COUNTED("LowerFilters", FIELD_WSTRING, 2),
};

static struct field system_config_v2_ide_channel[] = {
	U32("TargetId"),
	U32("DeviceType"),
	U32("DeviceTimingMode"),
	U32("LocationInformationLen"),
	WSTRING("LocationInformation"),
};

static struct field system_config_v2_numa_node[] = {
	U32("NodeCount"),
	COUNTED("NodeMap", FIELD_U64, 0),
};

static struct field system_config_v2_platform[] = {
	WSTRING("SystemManufacturer"),
	WSTRING("SystemProductName"),
	WSTRING("BiosDate"),
	WSTRING("BiosVersion"),
};

static struct field system_config_v2_proc_group[] = {
	U32("GroupCount"),
	COUNTED("Affinity", FIELD_POINTER, 0),
};

static struct field system_config_v2_proc_number[] = {
	U32("ProcessorCount"),
	COUNTED("ProcessorNumber", FIELD_U32, 0),
};

static struct field system_config_v2_dpi[] = {
	U32("MachineDPI"),
	U32("UserDPI"),
};

static struct field system_config_v2_code_integrity[] = {
	U32("CodeIntegrityInfo"),
};

static struct field system_config_v2_telemetry_info[] = {
	GUID("MachineId"),
};

static struct field system_config_v2_defrag[] = {
	U64("AlignmentClusters"),
	U64("AvgFreeSpaceSize"),
	U64("ClustersPerSlab"),
	U64("FragmentedDirectoryExtents"),
	U64("FragmentedExtents"),
	U64("FreeSpaceCount"),
	U64("LargestFreeSpaceSize"),
	U64("LastRunActualPurgeClusters"),
	U64("LastRunClustersTrimmed"),
	U64("LastRunFullDefragTime"),
	U64("LastRunTime"),
	U64("MFTSize"),
	U64("TotalClusters"),
	U64("TotalUsedClusters"),
	U32("AvgFragmentsPerFile"),
	U32("BytesPerCluster"),
	U32("DirectoryCount"),
	U32("FragmentedDirectories"),
	U32("FragmentedFiles"),
	U32("FragmentedSpace"),
	U32("HardwareIssue"),
	U32("InUseMFTRecords"),
	U32("InUseSlabs"),
	U32("LastRunActualPurgeSlabs"),
	U32("LastRunInitialBackedSlabs"),
	U32("LastRunPercentFragmentation"),
	U32("LastRunPinnedSlabs"),
	U32("LastRunPotentialPurgeSlabs"),
	U32("LastRunSpaceInefficientSlabs"),
	U32("LastRunTrimmedSlabs"),
	U32("LastRunUnknownEvictFailSlabs"),
	U32("LastRunVolsnapPinnedSlabs"),
	U32("MFTFragmentCount"),
	U32("MovableFiles"),
	U32("TotalMFTRecords"),
	U32("TotalSlabs"),
	U32("UnmovableFiles"),
	GUID("VolumeId"),
	WSTRING("VolumePathNames"),
};

static struct field system_config_v2_mobile_platform[] = {
	WSTRING("BootLoaderVersion"),
	WSTRING("FirmwareRevision"),
	WSTRING("FriendlyName"),
	WSTRING("HardwareRevision"),
	WSTRING("Manufacturer"),
	WSTRING("ManufacturerDisplayName"),
	WSTRING("ManufacturerModelName"),
	WSTRING("MobileOperatorDisplayName"),
	WSTRING("MobileOperatorName"),
	WSTRING("ModelName"),
	WSTRING("RadioHardwareRevision"),
	WSTRING("RadioSoftwareRevision"),
	WSTRING("ROMVersion"),
	WSTRING("SOCVersion"),
	WSTRING("HardwareVariant"),
};

static struct field system_config_v3_mobile_platform[] = {
	WSTRING("DeviceManufacturer"),
	WSTRING("DeviceManufacturerDisplayName"),
	WSTRING("DeviceModel"),
	WSTRING("DeviceModelDisplayName"),
	WSTRING("MobileOperator"),
	WSTRING("MobileOperatorDisplayName"),
	WSTRING("HardwareVersion"),
	WSTRING("SocVersion"),
	WSTRING("RadioHardwareVersion"),
	WSTRING("RadioSoftwareVersion"),
	WSTRING("BspVersion"),
	WSTRING("OemSoftwareVersion"),
};

static struct field system_config_v4_mobile_platform[] = {
	WSTRING("DeviceManufacturer"),
	WSTRING("DeviceManufacturerDisplayName"),
	WSTRING("DeviceModel"),
	WSTRING("DeviceModelDisplayName"),
	WSTRING("MobileOperator"),
	WSTRING("SocVersion"),
	WSTRING("BspVersion"),
};

static struct field system_config_v2_device_family[] = {
	U64("UAPInfo"),
	U32("DeviceFamily"),
	U32("DeviceForm"),
};

static struct field system_config_v2_flight_ids[] = {
	WSTRING("UpdateId"),
	WSTRING("FlightIdList"),
};

static struct field system_config_v2_processors[] = {
	U32("ProcessorIndex"),
	U32("FeatureSet"),
	U32("ProcessorSpeed"),
	WCHARS("ProcessorName", 64),
	WCHARS("VendorIdentifier", 16),
	WCHARS("ProcessorIdentifier", 128),
};

static struct field system_config_virtualization[] = {
	U8("VbsEnabled"),
	U8("HvciEnabled"),
	U8("HyperVisorEnabled"),
	U8("Reserved"),
};

static struct field system_config_boot[] = {
	U64("BootFlags"),
	U32("FirmwareType"),
	U8("SecureBootEnabled"),
	U8("SecureBootCapable"),
	U8("Reserved1"),
	U8("Reserved2"),
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, system_config_v0_irq, "SystemConfig_V0_IRQ", OPCODES(21)),
	LAYOUT(1, system_config_v0_irq, "SystemConfig_V1_IRQ", OPCODES(21)),
	LAYOUT(2, system_config_v0_irq, "SystemConfig_V2_IRQ", OPCODES(21)),
	LAYOUT(3, system_config_v3_irq, "SystemConfig_V3_IRQ", OPCODES(21)),
	LAYOUT(0, system_config_v0_pn_p, "SystemConfig_V0_PnP", OPCODES(22)),
	LAYOUT(1, system_config_v0_pn_p, "SystemConfig_V1_PnP", OPCODES(22)),
	LAYOUT(2, system_config_v0_pn_p, "SystemConfig_V2_PnP", OPCODES(22)),
	LAYOUT(3, system_config_v3_pn_p, "SystemConfig_V3_PnP", OPCODES(22)),
	LAYOUT(4, system_config_v4_pn_p, "SystemConfig_V4_PnP", OPCODES(22)),
	LAYOUT(5, system_config_pn_p, "SystemConfig_PnP", OPCODES(22)),
	LAYOUT(2, system_config_v2_ide_channel, "SystemConfig_V2_IDEChannel", OPCODES(23)),
	LAYOUT(2, system_config_v2_numa_node, "SystemConfig_V2_NumaNode", OPCODES(24)),
	LAYOUT(2, system_config_v2_platform, "SystemConfig_V2_Platform", OPCODES(25)),
	LAYOUT(2, system_config_v2_proc_group, "SystemConfig_V2_ProcGroup", OPCODES(26)),
	LAYOUT(2, system_config_v2_proc_number, "SystemConfig_V2_ProcNumber", OPCODES(27)),
	LAYOUT(2, system_config_v2_dpi, "SystemConfig_V2_DPI", OPCODES(28)),
	LAYOUT(2, system_config_v2_code_integrity, "SystemConfig_V2_CodeIntegrity", OPCODES(29)),
	LAYOUT(2, system_config_v2_telemetry_info, "SystemConfig_V2_TelemetryInfo", OPCODES(30)),
	LAYOUT(2, system_config_v2_defrag, "SystemConfig_V2_Defrag", OPCODES(31)),
	LAYOUT(2, system_config_v2_mobile_platform, "SystemConfig_V2_MobilePlatform", OPCODES(32)),
	LAYOUT(3, system_config_v3_mobile_platform, "SystemConfig_V3_MobilePlatform", OPCODES(32)),
	LAYOUT(4, system_config_v4_mobile_platform, "SystemConfig_V4_MobilePlatform", OPCODES(32)),
	LAYOUT(2, system_config_v2_device_family, "SystemConfig_V2_DeviceFamily", OPCODES(33)),
	LAYOUT(2, system_config_v2_flight_ids, "SystemConfig_V2_FlightIds", OPCODES(34)),
	LAYOUT(2, system_config_v2_processors, "SystemConfig_V2_Processors", OPCODES(35)),
	LAYOUT(2, system_config_virtualization, "SystemConfig_Virtualization", OPCODES(36)),
	LAYOUT(2, system_config_boot, "SystemConfig_Boot", OPCODES(37)),
};

const struct kernel_table kernel_table_system_config_devices = {
	.guid = GUID_INIT(0x01853a65, 0x418f, 0x4f36,
			  0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35),
	.name = "SystemConfig",
	.class = KERNEL_SYSTEM_CONFIG,
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

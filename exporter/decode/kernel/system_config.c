/* SPDX-License-Identifier: MIT */
/*
 * SystemConfig: the machine as it was when the session ended: processors, disks, network, video,
 * services, power.
 *
 * Opcodes from 21 on are in system_config_devices.c.
 *
 * Source: "SystemConfig class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field system_config_v0_cpu[] = {
	U32("MHz"),
	U32("NumberOfProcessors"),
	U32("MemSize"),
	U32("PageSize"),
	U32("AllocationGranularity"),
	WCHARS("ComputerName", 256),
	WCHARS("DomainName", 132),
	POINTER("HyperThreadingFlag"),
};

static struct field system_config_v2_cpu[] = {
	U32("MHz"),
	U32("NumberOfProcessors"),
	U32("MemSize"),
	U32("PageSize"),
	U32("AllocationGranularity"),
	WCHARS("ComputerName", 256),
	WCHARS("DomainName", 134),
	POINTER("HyperThreadingFlag"),
};

static struct field system_config_v3_cpu[] = {
	U32("MHz"),
	U32("NumberOfProcessors"),
	U32("MemSize"),
	U32("PageSize"),
	U32("AllocationGranularity"),
	WCHARS("ComputerName", 256),
	WCHARS("DomainName", 134),
	POINTER("HyperThreadingFlag"),
	POINTER("HighestUserAddress"),
	U16("ProcessorArchitecture"),
	U16("ProcessorLevel"),
	U16("ProcessorRevision"),
	U8("PaeEnabled"),
	U8("NxEnabled"),
	U32("MemorySpeed"),
};

static struct field system_config_v0_phy_disk[] = {
	U32("DiskNumber"),
	U32("BytesPerSector"),
	U32("SectorsPerTrack"),
	U32("TracksPerCylinder"),
	U64("Cylinders"),
	U32("SCSIPort"),
	U32("SCSIPath"),
	U32("SCSITarget"),
	U32("SCSILun"),
	WCHARS("Manufacturer", 256),
	U32("PartitionCount"),
	U8("WriteCacheEnabled"),
	U8("Pad"),
	WCHARS("BootDriveLetter", 3),
	WCHARS("Spare", 2),
};

static struct field system_config_v0_log_disk[] = {
	U64("StartOffset"),
	U64("PartitionSize"),
	U32("DiskNumber"),
	U32("Size"),
	U32("DriveType"),
	WCHARS("DriveLetterString", 4),
	U32("Pad1"),
	U32("PartitionNumber"),
	U32("SectorsPerCluster"),
	U32("BytesPerSector"),
	U32("Pad2"),
	I64("NumberOfFreeClusters"),
	I64("TotalNumberOfClusters"),
	WCHARS("FileSystem", 16),
	U32("VolumeExt"),
};

static struct field system_config_v2_log_disk[] = {
	U64("StartOffset"),
	U64("PartitionSize"),
	U32("DiskNumber"),
	U32("Size"),
	U32("DriveType"),
	WCHARS("DriveLetterString", 4),
	U32("Pad1"),
	U32("PartitionNumber"),
	U32("SectorsPerCluster"),
	U32("BytesPerSector"),
	U32("Pad2"),
	I64("NumberOfFreeClusters"),
	I64("TotalNumberOfClusters"),
	WCHARS("FileSystem", 16),
	U32("VolumeExt"),
	U32("Pad3"),
};

static struct field system_config_v0_nic[] = {
	WCHARS("NICName", 256),
	U32("Index"),
	U32("PhysicalAddrLen"),
	WCHARS("PhysicalAddr", 8),
	U32("Size"),
	I32("IpAddress"),
	I32("SubnetMask"),
	I32("DhcpServer"),
	I32("Gateway"),
	I32("PrimaryWinsServer"),
	I32("SecondaryWinsServer"),
	I32("DnsServer1"),
	I32("DnsServer2"),
	I32("DnsServer3"),
	I32("DnsServer4"),
	U32("Data"),
};

static struct field system_config_v2_nic[] = {
	U64("PhysicalAddr"),
	U32("PhysicalAddrLen"),
	U32("Ipv4Index"),
	U32("Ipv6Index"),
	WSTRING("NICDescription"),
	WSTRING("IpAddresses"),
	WSTRING("DnsServerAddresses"),
};

static struct field system_config_v0_video[] = {
	U32("MemorySize"),
	U32("XResolution"),
	U32("YResolution"),
	U32("BitsPerPixel"),
	U32("VRefresh"),
	WCHARS("ChipType", 256),
	WCHARS("DACType", 256),
	WCHARS("AdapterString", 256),
	WCHARS("BiosString", 256),
	WCHARS("DeviceId", 256),
	U32("StateFlags"),
};

static struct field system_config_v0_services[] = {
	WCHARS("ServiceName", 34),
	WCHARS("DisplayName", 256),
	WCHARS("ProcessName", 34),
	U32("ProcessId"),
};

static struct field system_config_v2_services[] = {
	U32("ProcessId"),
	U32("ServiceState"),
	U32("SubProcessTag"),
	WSTRING("ServiceName"),
	WSTRING("DisplayName"),
	WSTRING("ProcessName"),
};

static struct field system_config_v3_services[] = {
	U32("ProcessId"),
	U32("ServiceState"),
	U32("SubProcessTag"),
	WSTRING("ServiceName"),
	WSTRING("DisplayName"),
	WSTRING("ProcessName"),
	WSTRING("LoadOrderGroup"),
	WSTRING("SvchostGroup"),
};

static struct field system_config_v0_power[] = {
	U8("S1"),
	U8("S2"),
	U8("S3"),
	U8("S4"),
	U8("S5"),
	U8("Pad1"),
	U8("Pad2"),
	U8("Pad3"),
};

static struct field system_config_v2_network[] = {
	U32("TcbTablePartitions"),
	U32("MaxHashTableSize"),
	U32("MaxUserPort"),
	U32("TcpTimedWaitDelay"),
};

static struct field system_config_v2_optical_media[] = {
	U16("DiskNumber"),
	U16("BusType"),
	U16("DeviceType"),
	U16("MediaType"),
	U64("StartingOffset"),
	U64("Size"),
	U64("NumberOfFreeBlocks"),
	U64("TotalNumberOfBlocks"),
	U64("NextWritableAddress"),
	U32("NumberOfSessions"),
	U32("NumberOfTracks"),
	U32("BytesPerSector"),
	U16("DiscStatus"),
	U16("LastSessionStatus"),
	WSTRING("DriveLetter"),
	WSTRING("FileSystemName"),
	ASTRING("DeviceName"),
	ASTRING("ManufacturerName"),
};

static const struct kernel_event events[] = {
	{ 10, "CPU" },
	{ 11, "PhyDisk" },
	{ 12, "LogDisk" },
	{ 13, "NIC" },
	{ 14, "Video" },
	{ 15, "Services" },
	{ 16, "Power" },
	{ 17, "Network" },
	{ 18, "OpticalMedia" },
	{ 21, "IRQ" },
	{ 22, "PnP" },
	{ 23, "IDEChannel" },
	{ 24, "NumaNode" },
	{ 25, "Platform" },
	{ 26, "ProcGroup" },
	{ 27, "ProcNumber" },
	{ 28, "DPI" },
	{ 29, "CodeIntegrity" },
	{ 30, "TelemetryInfo" },
	{ 31, "Defrag" },
	{ 32, "MobilePlatform" },
	{ 33, "DeviceFamily" },
	{ 34, "FlightIds" },
	{ 35, "Processors" },
	{ 36, "Virtualization" },
	{ 37, "Boot" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, system_config_v0_cpu, "SystemConfig_V0_CPU", OPCODES(10)),
	LAYOUT(1, system_config_v0_cpu, "SystemConfig_V1_CPU", OPCODES(10)),
	LAYOUT(2, system_config_v2_cpu, "SystemConfig_V2_CPU", OPCODES(10)),
	LAYOUT(3, system_config_v3_cpu, "SystemConfig_V3_CPU", OPCODES(10)),
	LAYOUT(0, system_config_v0_phy_disk, "SystemConfig_V0_PhyDisk", OPCODES(11)),
	LAYOUT(1, system_config_v0_phy_disk, "SystemConfig_V1_PhyDisk", OPCODES(11)),
	LAYOUT(2, system_config_v0_phy_disk, "SystemConfig_V2_PhyDisk", OPCODES(11)),
	LAYOUT(0, system_config_v0_log_disk, "SystemConfig_V0_LogDisk", OPCODES(12)),
	LAYOUT(1, system_config_v0_log_disk, "SystemConfig_V1_LogDisk", OPCODES(12)),
	LAYOUT(2, system_config_v2_log_disk, "SystemConfig_V2_LogDisk", OPCODES(12)),
	LAYOUT(0, system_config_v0_nic, "SystemConfig_V0_NIC", OPCODES(13)),
	LAYOUT(1, system_config_v0_nic, "SystemConfig_V1_NIC", OPCODES(13)),
	LAYOUT(2, system_config_v2_nic, "SystemConfig_V2_NIC", OPCODES(13)),
	LAYOUT(0, system_config_v0_video, "SystemConfig_V0_Video", OPCODES(14)),
	LAYOUT(1, system_config_v0_video, "SystemConfig_V1_Video", OPCODES(14)),
	LAYOUT(2, system_config_v0_video, "SystemConfig_V2_Video", OPCODES(14)),
	LAYOUT(0, system_config_v0_services, "SystemConfig_V0_Services", OPCODES(15)),
	LAYOUT(1, system_config_v0_services, "SystemConfig_V1_Services", OPCODES(15)),
	LAYOUT(2, system_config_v2_services, "SystemConfig_V2_Services", OPCODES(15)),
	LAYOUT(3, system_config_v3_services, "SystemConfig_V3_Services", OPCODES(15)),
	LAYOUT(0, system_config_v0_power, "SystemConfig_V0_Power", OPCODES(16)),
	LAYOUT(1, system_config_v0_power, "SystemConfig_V1_Power", OPCODES(16)),
	LAYOUT(2, system_config_v0_power, "SystemConfig_V2_Power", OPCODES(16)),
	LAYOUT(2, system_config_v2_network, "SystemConfig_V2_Network", OPCODES(17)),
	LAYOUT(2, system_config_v2_optical_media, "SystemConfig_V2_OpticalMedia", OPCODES(18)),
};

const struct kernel_table kernel_table_system_config = {
	.guid = GUID_INIT(0x01853a65, 0x418f, 0x4f36,
			  0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35),
	.name = "SystemConfig",
	.class = KERNEL_SYSTEM_CONFIG,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
	.more = &kernel_table_system_config_devices,
};

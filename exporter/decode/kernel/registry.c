/* SPDX-License-Identifier: MIT */
/*
 * Registry: operations on keys and values, and hives.
 *
 * Source: "Registry class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field registry_v0_type_group1[] = {
	POINTER("Status"),
	POINTER("KeyHandle"),
	I64("ElapsedTime"),
	WSTRING("KeyName"),
};

static struct field registry_v1_type_group1[] = {
	POINTER("Status"),
	POINTER("KeyHandle"),
	I64("ElapsedTime"),
	U32("Index"),
	WSTRING("KeyName"),
};

static struct field registry_type_group1[] = {
	I64("InitialTime"),
	U32("Status"),
	U32("Index"),
	POINTER("KeyHandle"),
	WSTRING("KeyName"),
};

static struct field registry_tx_r[] = {
	GUID("TxrGUID"),
	U32("Status"),
	U32("UowCount"),
	U64("OperationTime"),
	WSTRING("Hive"),
};

static struct field registry_counters[] = {
	U64("Counter1"),
	U64("Counter2"),
	U64("Counter3"),
	U64("Counter4"),
	U64("Counter5"),
	U64("Counter6"),
	U64("Counter7"),
	U64("Counter8"),
	U64("Counter9"),
	U64("Counter10"),
	U64("Counter11"),
};

static struct field registry_config[] = {
	U32("CurrentControlSet"),
};

static struct field registry_hive_initialize[] = {
	POINTER("Hive"),
	U32("OperationType"),
	U32("PoolTag"),
	U32("Size"),
	WSTRING("FileName"),
};

static struct field registry_hive_destroy[] = {
	POINTER("Hive"),
	WSTRING("FileName"),
	WSTRING("Path"),
};

static struct field registry_hive_link[] = {
	POINTER("Hive"),
	WSTRING("Path"),
};

static struct field registry_hive_rundown[] = {
	U64("Size"),
	POINTER("Hive"),
	U32("LoadedKeyCount"),
	WSTRING("FileName"),
	WSTRING("LinkPath"),
};

static struct field registry_hive_dirty[] = {
	POINTER("Hive"),
	WSTRING("LinkPath"),
	U32("DirtyReason"),
};

static struct field registry_change_notification[] = {
	POINTER("Notification"),
	POINTER("KeyHandle"),
	U8("Type"),
	U8("WatchSubtree"),
	U8("Primary"),
};

static const struct kernel_event events[] = {
	{ 10, "Create" },
	{ 11, "Open" },
	{ 12, "Delete" },
	{ 13, "Query" },
	{ 14, "SetValue" },
	{ 15, "DeleteValue" },
	{ 16, "QueryValue" },
	{ 17, "EnumerateKey" },
	{ 18, "EnumerateValueKey" },
	{ 19, "QueryMultipleValue" },
	{ 20, "SetInformation" },
	{ 21, "Flush" },
	{ 22, "KCBCreate" },
	{ 23, "KCBDelete" },
	{ 24, "KCBRundownBegin" },
	{ 25, "KCBRundownEnd" },
	{ 26, "Virtualize" },
	{ 27, "Close" },
	{ 28, "SetSecurity" },
	{ 29, "QuerySecurity" },
	{ 30, "TxRCommit" },
	{ 31, "TxRPrepare" },
	{ 32, "TxRRollback" },
	{ 34, "Counters" },
	{ 35, "Config" },
	{ 36, "HiveInitialize" },
	{ 37, "HiveDestroy" },
	{ 38, "HiveLink" },
	{ 39, "HiveRundown" },
	{ 40, "HiveDirty" },
	{ 48, "ChangeNotification" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, registry_v0_type_group1, "Registry_V0_TypeGroup1", OPCODES(10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21)),
	LAYOUT(1, registry_v1_type_group1, "Registry_V1_TypeGroup1", OPCODES(10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22)),
	LAYOUT(2, registry_type_group1, "Registry_TypeGroup1", OPCODES(10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)),
	LAYOUT(2, registry_tx_r, "Registry_TxR", OPCODES(30, 31, 32)),
	LAYOUT(2, registry_counters, "Registry_Counters", OPCODES(34)),
	LAYOUT(2, registry_config, "Registry_Config", OPCODES(35)),
	LAYOUT(2, registry_hive_initialize, "Registry_HiveInitialize", OPCODES(36)),
	LAYOUT(2, registry_hive_destroy, "Registry_HiveDestroy", OPCODES(37)),
	LAYOUT(2, registry_hive_link, "Registry_HiveLink", OPCODES(38)),
	LAYOUT(2, registry_hive_rundown, "Registry_HiveRundown", OPCODES(39)),
	LAYOUT(2, registry_hive_dirty, "Registry_HiveDirty", OPCODES(40)),
	LAYOUT(2, registry_change_notification, "Registry_ChangeNotification", OPCODES(48)),
};

const struct kernel_table kernel_table_registry = {
	.guid = GUID_INIT(0xae53722e, 0xc863, 0x11d2,
			  0x86, 0x59, 0x00, 0xc0, 0x4f, 0xa3, 0x21, 0xa1),
	.name = "Registry",
	.class = KERNEL_REGISTRY,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};

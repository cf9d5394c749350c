/* SPDX-License-Identifier: MIT */
/*
 * How a kernel class is written down: a file of rows for each class, and a row for the class in
 * kernel_class.c.
 *
 * A layout is its fields in payload order; offsets are worked out from the types when
 * kernel_class.c is first asked. The rows are tables of this folder: nothing else includes this
 * header.
 */
#ifndef DECODE_KERNEL_LAYOUT_H
#define DECODE_KERNEL_LAYOUT_H

#include <stdint.h>

#include "base/guid.h"
#include "decode/kernel_class.h"
#include "decode/schema.h"

/* One version of the payload of some opcodes. */
struct kernel_layout {
	struct schema schema;
	struct field *placed; /* schema.fields; written once, when offsets are worked out */
	const uint8_t *opcodes;
	uint8_t opcode_count;
	uint8_t version;
};

struct kernel_event {
	uint8_t opcode;
	const char *name;
};

struct kernel_table {
	struct guid guid;
	const char *name;
	enum kernel_class class;
	const struct kernel_event *events; /* by opcode */
	unsigned event_count;
	struct kernel_layout *layouts;
	unsigned layout_count;
	const struct kernel_table *more; /* further layouts of a large class; NULL: none */
};

/* Fields: NAME("Field") of one value, ARRAY of several, LONG of a length. */
#define FIELD(field_name, field_type) { .name = (field_name), .type = (field_type) }
#define ARRAY(field_name, field_type, how, number)                                                \
	{                                                                                          \
		.name = (field_name), .type = (field_type), .count_type = (how),                  \
		.count = (number),                                                                 \
	}
#define LONG(field_name, field_type, units)                                                        \
	{                                                                                          \
		.name = (field_name), .type = (field_type), .length_type = FIELD_LENGTH_FIXED,     \
		.length = (units),                                                                 \
	}
#define I8(name)             FIELD(name, FIELD_I8)
#define U8(name)             FIELD(name, FIELD_U8)
#define I16(name)            FIELD(name, FIELD_I16)
#define U16(name)            FIELD(name, FIELD_U16)
#define I32(name)            FIELD(name, FIELD_I32)
#define U32(name)            FIELD(name, FIELD_U32)
#define I64(name)            FIELD(name, FIELD_I64)
#define U64(name)            FIELD(name, FIELD_U64)
#define BOOL32(name)         FIELD(name, FIELD_BOOL32)
#define POINTER(name)        FIELD(name, FIELD_POINTER)
#define SIZE(name)           FIELD(name, FIELD_SIZE)
#define PORT(name)           FIELD(name, FIELD_PORT)
#define IP4(name)            FIELD(name, FIELD_IP4)
#define IP6(name)            FIELD(name, FIELD_IP6)
#define GUID(name)           FIELD(name, FIELD_GUID)
#define WSTRING(name)        FIELD(name, FIELD_WSTRING)
#define ASTRING(name)        FIELD(name, FIELD_ASTRING)
#define KERNEL_SID(name)     FIELD(name, FIELD_KERNEL_SID)
#define WCHARS(name, units)  LONG(name, FIELD_WSTRING, units)
#define BINARY(name, bytes)  LONG(name, FIELD_BINARY, bytes)
#define FIXED(name, type, n) ARRAY(name, type, FIELD_COUNT_FIXED, n)
#define REST(name, type)     ARRAY(name, type, FIELD_COUNT_REST, 0)
/* by: index of the field that holds the count, from 0. */
#define COUNTED(name, type, by) ARRAY(name, type, FIELD_COUNT_FIELD, by)

#define ROWS(table) (sizeof(table) / sizeof(table)[0])

/* LAYOUT(version, rows, "Process_V4_TypeGroup1", OPCODES(1, 2)) */
#define LAYOUT(version_number, rows, event_name, opcode_list)                                     \
	{                                                                                         \
		.version = (version_number), .placed = (rows), opcode_list,                       \
		.schema = { .event = (event_name), .fields = (rows), .field_count = ROWS(rows) }, \
	}
/* The same for an event without payload. */
#define EMPTY_LAYOUT(version_number, event_name, opcode_list)                           \
	{                                                                               \
		.version = (version_number), opcode_list, .schema.event = (event_name), \
	}
#define OPCODES(...)                                  \
	.opcodes = (const uint8_t[]){ __VA_ARGS__ }, \
	.opcode_count = sizeof((const uint8_t[]){ __VA_ARGS__ })

/* In the order of kernel_class.c. */
extern const struct kernel_table kernel_table_event_trace;
extern const struct kernel_table kernel_table_disk_io;
extern const struct kernel_table kernel_table_page_fault;
extern const struct kernel_table kernel_table_process;
extern const struct kernel_table kernel_table_file_io;
extern const struct kernel_table kernel_table_thread;
extern const struct kernel_table kernel_table_tcp_ip;
extern const struct kernel_table kernel_table_job;
extern const struct kernel_table kernel_table_udp_ip;
extern const struct kernel_table kernel_table_registry;
extern const struct kernel_table kernel_table_debug_print;
extern const struct kernel_table kernel_table_system_config;
extern const struct kernel_table kernel_table_system_config_devices;
extern const struct kernel_table kernel_table_last_branch;
extern const struct kernel_table kernel_table_wnf;
extern const struct kernel_table kernel_table_pool;
extern const struct kernel_table kernel_table_perf_info;
extern const struct kernel_table kernel_table_heap;
extern const struct kernel_table kernel_table_object;
extern const struct kernel_table kernel_table_power;
extern const struct kernel_table kernel_table_module_bound;
extern const struct kernel_table kernel_table_image;
extern const struct kernel_table kernel_table_dpc;
extern const struct kernel_table kernel_table_cache_manager;
extern const struct kernel_table kernel_table_critical_section;
extern const struct kernel_table kernel_table_stack_walk;
extern const struct kernel_table kernel_table_ums;
extern const struct kernel_table kernel_table_alpc;
extern const struct kernel_table kernel_table_split_io;
extern const struct kernel_table kernel_table_thread_pool;
extern const struct kernel_table kernel_table_hypervisor;
extern const struct kernel_table kernel_table_hypervisor_extension;
extern const struct kernel_table kernel_table_lost_event;
extern const struct kernel_table kernel_table_mmcss;
extern const struct kernel_table kernel_table_sys_config;
extern const struct kernel_table kernel_table_image_id;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The kernel's event classes: which GUID is which, the names of their events, and their layouts by
 * opcode and version.
 *
 * All of it comes from kernel_classes.txt, which the first call of any of these functions reads.
 * Names and layouts live as long as the program and never change. Any thread may call.
 *
 * Sources: docs/etl-format.md sections 8 and 15, docs/kernel-events.csv,
 * docs/kernel-event-names.csv.
 */
#ifndef LIB_DECODE_KERNEL_CLASS_H
#define LIB_DECODE_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"
#include "lib/decode/schema.h"
#include "lib/source/kernel_group.h" /* enum etw_kernel_opcode */

/*
 * The classes that are used in code. ETW_KERNEL_OTHER is any other kernel class, ETW_KERNEL_NONE is
 * no kernel class at all.
 */
enum etw_kernel_class {
	ETW_KERNEL_NONE,
	ETW_KERNEL_EVENT_TRACE,
	ETW_KERNEL_PROCESS,
	ETW_KERNEL_THREAD,
	ETW_KERNEL_IMAGE,
	ETW_KERNEL_DISK_IO,
	ETW_KERNEL_FILE_IO,
	ETW_KERNEL_TCP_IP,
	ETW_KERNEL_UDP_IP,
	ETW_KERNEL_PAGE_FAULT,
	ETW_KERNEL_PERF_INFO,
	ETW_KERNEL_REGISTRY,
	ETW_KERNEL_STACK_WALK,
	ETW_KERNEL_SYSTEM_CONFIG,
	ETW_KERNEL_SYS_CONFIG, /* trace merge {9b79ee91-…} */
	ETW_KERNEL_IMAGE_ID,   /* trace merge {b3e675d7-…} */
	ETW_KERNEL_LOST_EVENT,
	ETW_KERNEL_META_DATA, /* {bbccf6c1-…}: EventInfo; a class, but not of "Windows Kernel" */
	ETW_KERNEL_OTHER,
};

enum etw_kernel_class etw_kernel_class_of(const struct etw_guid *guid);

/* "DiskIo", "SysConfig", "MetaData", …; NULL for a GUID that is not in the table. */
const char *etw_kernel_class_name(const struct etw_guid *guid);

/*
 * Whether the provider label reads "Windows Kernel": the GUIDs of docs/etl-format.md sections 8 and
 * 15, not MetaData.
 */
bool etw_kernel_class_is_kernel(const struct etw_guid *guid);

/* "Read" for DiskIo 10; NULL if the opcode has no name. */
const char *etw_kernel_event_name(const struct etw_guid *guid, uint8_t opcode);

/*
 * Finds class and opcode by name, for rules. Names are ASCII and compared without regard to case.
 * Returns false if there is no such class or name.
 */
bool etw_kernel_class_find(const char *class_name, size_t class_size, struct etw_guid *guid);
bool etw_kernel_event_find(const struct etw_guid *guid, const char *event_name, size_t size,
			   uint8_t *opcode);

/* Lists the classes by number, to suggest similar names. NULL after the last. guid may be NULL. */
const char *etw_kernel_class_at(unsigned index, struct etw_guid *guid);

/*
 * The layout of an event: of the exact version; else of the highest known version below it; else of
 * the lowest known one. NULL: no layout is known. For events whose layout depends on the size of
 * the payload, one of their layouts: etw_kernel_schema_of() finds that of a record.
 */
const struct etw_schema *kernel_schema(const struct etw_guid *guid, uint8_t opcode,
				       uint8_t version);

/*
 * A few events have layouts that differ by the size of the payload alone ("sized" in
 * kernel_classes.txt): the number of the layout of a record, ETW_KERNEL_FORM_UNKNOWN for a size of
 * none of them, 0 for all other events.
 */
enum { ETW_KERNEL_FORM_UNKNOWN = UINT8_MAX };
uint8_t etw_kernel_form(const struct etw_record *record);

/* The layout of a record, as kernel_schema(), or by its size. NULL: no layout is known. */
const struct etw_schema *etw_kernel_schema_of(const struct etw_record *record);

/*
 * Lists the layouts of an opcode by number, to check rules. NULL after the last. version may be
 * NULL.
 */
const struct etw_schema *etw_kernel_schema_at(const struct etw_guid *guid, uint8_t opcode,
					      unsigned index, uint8_t *version);

#endif

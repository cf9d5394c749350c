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
#include "lib/source/kernel_group.h" /* enum kernel_opcode */

/*
 * The classes that are used in code. KERNEL_OTHER is any other kernel class, KERNEL_NONE is no
 * kernel class at all.
 */
enum kernel_class {
	KERNEL_NONE,
	KERNEL_EVENT_TRACE,
	KERNEL_PROCESS,
	KERNEL_THREAD,
	KERNEL_IMAGE,
	KERNEL_DISK_IO,
	KERNEL_FILE_IO,
	KERNEL_TCP_IP,
	KERNEL_UDP_IP,
	KERNEL_PAGE_FAULT,
	KERNEL_PERF_INFO,
	KERNEL_REGISTRY,
	KERNEL_STACK_WALK,
	KERNEL_SYSTEM_CONFIG,
	KERNEL_SYS_CONFIG, /* trace merge {9b79ee91-…} */
	KERNEL_IMAGE_ID,   /* trace merge {b3e675d7-…} */
	KERNEL_LOST_EVENT,
	KERNEL_META_DATA, /* {bbccf6c1-…}: EventInfo; a class, but not of "Windows Kernel" */
	KERNEL_OTHER,
};

enum kernel_class kernel_class_of(const struct guid *guid);

/* "DiskIo", "SysConfig", "MetaData", …; NULL for a GUID that is not in the table. */
const char *kernel_class_name(const struct guid *guid);

/*
 * Whether the provider label reads "Windows Kernel": the GUIDs of docs/etl-format.md sections 8 and
 * 15, not MetaData.
 */
bool kernel_class_is_kernel(const struct guid *guid);

/* "Read" for DiskIo 10; NULL if the opcode has no name. */
const char *kernel_event_name(const struct guid *guid, uint8_t opcode);

/*
 * Finds class and opcode by name, for rules. Names are ASCII and compared without regard to case.
 * Returns false if there is no such class or name.
 */
bool kernel_class_find(const char *class_name, size_t class_size, struct guid *guid);
bool kernel_event_find(const struct guid *guid, const char *event_name, size_t size,
		       uint8_t *opcode);

/* Lists the classes by number, to suggest similar names. NULL after the last. guid may be NULL. */
const char *kernel_class_at(unsigned index, struct guid *guid);

/*
 * The layout of an event: of the exact version; else of the highest known version below it; else of
 * the lowest known one. NULL: no layout is known. For events whose layout depends on the size of
 * the payload, one of their layouts: kernel_schema_of() finds that of a record.
 */
const struct schema *kernel_schema(const struct guid *guid, uint8_t opcode, uint8_t version);

/*
 * A few events have layouts that differ by the size of the payload alone ("sized" in
 * kernel_classes.txt): the number of the layout of a record, KERNEL_FORM_UNKNOWN for a size of none
 * of them, 0 for all other events.
 */
enum { KERNEL_FORM_UNKNOWN = UINT8_MAX };
uint8_t kernel_form(const struct event_record *record);

/* The layout of a record, as kernel_schema(), or by its size. NULL: no layout is known. */
const struct schema *kernel_schema_of(const struct event_record *record);

/*
 * Lists the layouts of an opcode by number, to check rules. NULL after the last. version may be
 * NULL.
 */
const struct schema *kernel_schema_at(const struct guid *guid, uint8_t opcode, unsigned index,
				      uint8_t *version);

#endif

/* SPDX-License-Identifier: MIT */
#include <etw/kernel.h>
#include <etw/stack_walk.h>

#include "base/cursor.h"

bool etw_is_stack_walk(const struct etw_record *record)
{
	return record->classic &&
	       etw_guid_equal(record->provider, etw_kernel_group_guid(ETW_KERNEL_GROUP_STACK_WALK));
}

bool etw_stack_walk_read(const struct etw_record *record, struct etw_stack_walk *walk)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);

	if (!etw_is_stack_walk(record)) {
		return false;
	}
	*walk = (struct etw_stack_walk){ .type = ETW_STACK_WALK_STACK };
	switch (record->opcode) {
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK:
		break;
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_KERNEL:
	case ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_USER:
		walk->type = ETW_STACK_WALK_REFERENCE;
		break;
	case ETW_KERNEL_OPCODE_STACK_WALK_KEY_DELETE:
	case ETW_KERNEL_OPCODE_STACK_WALK_KEY_RUNDOWN:
		walk->type = ETW_STACK_WALK_DEFINITION;
		break;
	default:
		return false;
	}
	if (walk->type != ETW_STACK_WALK_DEFINITION) {
		walk->event_time = (int64_t)cursor_u64(&c);
		walk->process_id = cursor_u32(&c);
		walk->thread_id = cursor_u32(&c);
	}
	if (walk->type != ETW_STACK_WALK_STACK) {
		walk->key = cursor_pointer(&c, record->pointer_size);
	}
	if (walk->type != ETW_STACK_WALK_REFERENCE) {
		walk->addresses = c.at;
		walk->address_count = (uint32_t)(cursor_left(&c) / record->pointer_size);
	}
	return !c.overrun;
}

/* Returns the offset of TTID in requests of FileIo, which version 3 moved after the objects. */
static uint32_t file_thread_offset(const struct etw_record *record)
{
	uint32_t pointer = record->pointer_size;
	bool behind = record->version >= 3;

	switch (record->opcode) {
	case ETW_KERNEL_OPCODE_FILE_IO_CREATE:
		return behind ? 2 * pointer : pointer;
	case ETW_KERNEL_OPCODE_FILE_IO_READ:
	case ETW_KERNEL_OPCODE_FILE_IO_WRITE:
		return 8 + (behind ? 3 * pointer : pointer);
	case ETW_KERNEL_OPCODE_FILE_IO_CLEANUP:
	case ETW_KERNEL_OPCODE_FILE_IO_CLOSE:
	case ETW_KERNEL_OPCODE_FILE_IO_FLUSH:
	case ETW_KERNEL_OPCODE_FILE_IO_DIR_ENUM:
	case ETW_KERNEL_OPCODE_FILE_IO_DIR_NOTIFY:
		return behind ? 3 * pointer : pointer;
	case ETW_KERNEL_OPCODE_FILE_IO_SET_INFO:
	case ETW_KERNEL_OPCODE_FILE_IO_DELETE:
	case ETW_KERNEL_OPCODE_FILE_IO_RENAME:
	case ETW_KERNEL_OPCODE_FILE_IO_QUERY_INFO:
	case ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL:
		return behind ? 4 * pointer : pointer;
	default:
		return UINT32_MAX;
	}
}

/* Returns the payload offset of the thread id, for events without a thread in their header;
 * UINT32_MAX if the payload has none. */
static uint32_t thread_offset(const struct etw_record *record)
{
	uint32_t pointer = record->pointer_size;

	if (record->kernel_group == ETW_KERNEL_GROUP_FILE_IO) {
		return file_thread_offset(record);
	}
	switch (etw_kernel_hook(record->kernel_group, record->opcode)) {
	case ETW_KERNEL_GROUP_PERF_INFO << 8 | ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF:
	case ETW_KERNEL_GROUP_PERF_INFO << 8 | ETW_KERNEL_OPCODE_PERF_INFO_PMC_COUNTER_PROF:
		return pointer; /* InstructionPointer, ThreadId */
	case ETW_KERNEL_GROUP_THREAD << 8 | ETW_KERNEL_OPCODE_THREAD_CSWITCH:
		return 0; /* NewThreadId: the thread that runs now owns the stack */
	case ETW_KERNEL_GROUP_PAGE_FAULT << 8 | ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT:
		/* InitialTime, ReadOffset, VirtualAddress, FileObject, TThreadId */
		return 16 + 2 * pointer;
	default:
		return UINT32_MAX;
	}
}

uint32_t etw_stack_walk_thread(const struct etw_record *record)
{
	uint32_t size = record->payload_size;
	uint32_t offset;

	if (record->thread_id != ETW_RECORD_NO_ID) {
		return record->thread_id;
	}
	offset = thread_offset(record);
	return offset < size && size - offset >= 4 ? etw_load_u32(record->payload + offset) :
						     ETW_RECORD_NO_ID;
}

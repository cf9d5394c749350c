/* SPDX-License-Identifier: MIT */
/*
 * Call stacks that the kernel writes as separate records (StackWalk), and how to find the event
 * that each one belongs to.
 *
 * A stack record follows its event, at once or when the thread returns to user mode. It contains
 * the thread and the raw time of the event. Instead of the addresses it may contain a key. The
 * record that defines the key comes later, when the kernel drops the stack from its cache or at the
 * end of the session. Keys are reused for other stacks, so a reference means the first definition
 * at or after its time. Source: docs/etl-format.md section 15, "StackWalk".
 */
#ifndef ETW_STACK_WALK_H
#define ETW_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>

enum etw_stack_walk_type {
	ETW_STACK_WALK_STACK,      /* has addresses, and belongs to an event */
	ETW_STACK_WALK_REFERENCE,  /* has a key, and belongs to an event */
	ETW_STACK_WALK_DEFINITION, /* has a key and its addresses */
};

struct etw_stack_walk {
	enum etw_stack_walk_type type;
	/* The event that the stack belongs to; not set for definitions. */
	int64_t event_time; /* raw */
	uint32_t process_id;
	uint32_t thread_id;
	uint64_t key;             /* set for references and definitions */
	const uint8_t *addresses; /* borrowed; each has the record's pointer size; not set for
				     references */
	uint32_t address_count;
};

/* Returns whether the record belongs to the class StackWalk. */
bool etw_is_stack_walk(const struct etw_record *record);

/* Reads a record. Returns false if it is not a stack, reference or definition, or is cut short. */
bool etw_stack_walk_read(const struct etw_record *record, struct etw_stack_walk *walk);

/*
 * Returns the thread id that the stack of this event contains, taken from the header or the payload
 * of the event; ETW_RECORD_NO_ID if the event has none, so that only the time identifies its stack.
 */
uint32_t etw_stack_walk_thread(const struct etw_record *record);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Call stacks that the kernel writes as records of their own (StackWalk), and which event each one
 * belongs to.
 *
 * A stack follows its event, at once or when the thread returns to its program: it names the thread
 * and the raw time of the event. Instead of the addresses it may name a key; the record that
 * defines the key comes later still, when the kernel drops the stack from its cache or at the end
 * of the session. A key is used again for other stacks, so a reference means the first definition
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
	/* The event; not of definitions. */
	int64_t event_time; /* raw */
	uint32_t process_id;
	uint32_t thread_id;
	uint64_t key;             /* of references and definitions */
	const uint8_t *addresses; /* borrowed, of the record's pointer size; not of references */
	uint32_t address_count;
};

/* Whether the record is of StackWalk. */
bool etw_is_stack_walk(const struct etw_record *record);

/* False: the record is no stack, reference or definition, or is cut short. */
bool etw_stack_walk_read(const struct etw_record *record, struct etw_stack_walk *walk);

/*
 * The thread that the stack of an event names, from its header or its payload; ETW_RECORD_NO_ID if
 * the event names none, so that its stack is found by the time alone.
 */
uint32_t etw_stack_walk_thread(const struct etw_record *record);

#endif

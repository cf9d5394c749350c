/* SPDX-License-Identifier: MIT */
/*
 * The call stacks of events, for etwtool dump. Some stacks are extended items of the event itself.
 * With --stacks also those count that the kernel writes as records of their own
 * (include/etw/stack_walk.h). One thread uses it.
 */
#ifndef ETWTOOL_DUMP_DUMP_STACKS_H
#define ETWTOOL_DUMP_DUMP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"
#include "base/text.h"

/* The field name under which all formats show stacks. */
#define DUMP_STACK "Event.Stack"

struct dump_stacks; /* opaque; its memory is bounded */

/* join: also use the stacks that are records of their own. */
struct dump_stacks *dump_stacks_new(bool join, struct etw_error *err);
void dump_stacks_free(struct dump_stacks *stacks); /* NULL is allowed */

/*
 * Pass all records of the recording in file order, then finish. dump_stacks_finish() returns false
 * without memory.
 */
void dump_stacks_look(struct dump_stacks *stacks, const struct etw_record *record);
bool dump_stacks_finish(struct dump_stacks *stacks, struct etw_error *err);

/* Does both in one pass over the recording at the path. */
bool dump_stacks_read(struct dump_stacks *stacks, const char *path, uint8_t pointer_size,
		      struct etw_error *err);

/* Returns whether the event has a stack among its extended items. */
bool dump_stacks_in(const struct etw_record *record);

/*
 * Sets *count to the number of addresses in the stacks of the event. The addresses are valid until
 * the next call. Returns false without memory.
 */
bool dump_stacks_of(struct dump_stacks *stacks, const struct etw_record *record, size_t *count);

/*
 * Adds one address; index 0 is the innermost frame. The text is "0x7ff6c1a210f4 server.exe+0x10f4",
 * or the address alone. The image name comes from the recording and is not escaped.
 */
void dump_stacks_add(const struct dump_stacks *stacks, size_t index, struct etw_text *out);

/* Warns on standard error about stacks that did not fit into the bounds. */
void dump_stacks_warn(const struct dump_stacks *stacks);

#endif

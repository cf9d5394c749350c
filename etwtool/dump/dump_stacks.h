/* SPDX-License-Identifier: MIT */
/*
 * The call stacks of events, for etwtool dump: those in the extended items of an event, and with
 * --stacks those that the kernel writes as records of their own (lib/decode/stack_walk.h). One
 * thread.
 */
#ifndef ETWTOOL_DUMP_DUMP_STACKS_H
#define ETWTOOL_DUMP_DUMP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"
#include "base/text.h"

/* The name under which all formats show them. */
#define DUMP_STACK "Event.Stack"

struct dump_stacks; /* opaque; its memory is bounded */

/* join: also the stacks that are records of their own. */
struct dump_stacks *dump_stacks_new(bool join, struct etw_error *err);
void dump_stacks_free(struct dump_stacks *stacks); /* NULL is allowed */

/* All records of the recording in file order, then the end, which fails without memory. */
void dump_stacks_look(struct dump_stacks *stacks, const struct etw_record *record);
bool dump_stacks_finish(struct dump_stacks *stacks, struct etw_error *err);

/* The same by a pass over a recording. */
bool dump_stacks_read(struct dump_stacks *stacks, const char *path, uint8_t pointer_size,
		      struct etw_error *err);

/* Whether an event has a stack among its extended items. */
bool dump_stacks_in(const struct etw_record *record);

/* The number of addresses of an event's stacks, which stay until the next call. False: there was no
 * memory. */
bool dump_stacks_of(struct dump_stacks *stacks, const struct etw_record *record, size_t *count);

/* Adds one of them, from the innermost, 0, on: "0x7ff6c1a210f4 server.exe+0x10f4", or the address
 * alone. The name is from outside. */
void dump_stacks_add(const struct dump_stacks *stacks, size_t index, struct etw_text *out);

/* Complains of stacks that did not fit into the bounds. */
void dump_stacks_warn(const struct dump_stacks *stacks);

#endif

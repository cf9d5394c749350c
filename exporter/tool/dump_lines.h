/* SPDX-License-Identifier: MIT */
/*
 * Lines of etwtool dump --format jsonl, made by several threads.
 */
#ifndef TOOL_DUMP_LINES_H
#define TOOL_DUMP_LINES_H

#include <stdbool.h>

#include "decode/event_schema.h"
#include "source/event_record.h"

struct dump_lines; /* opaque */

/*
 * Starts the other threads, so that there are so many with the caller's. The origins are those of
 * the whole recording: complete, only read from now on, and borrowed. NULL without a thread or
 * memory for it; then lines are made by dump_add_line() alone.
 */
struct dump_lines *dump_lines_start(const struct schema_origins *origins, unsigned threads);

/*
 * Takes a copy of a record. Lines are written to standard output in the order in which their
 * records were added. False when they cannot be written (tool_write()).
 */
bool dump_lines_add(struct dump_lines *lines, const struct event_record *record);

/* Writes what is left, unless writing has failed before; likewise. */
bool dump_lines_finish(struct dump_lines *lines);

/* Ends the threads. NULL is allowed. */
void dump_lines_free(struct dump_lines *lines);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Records whether allocations of the program have failed.
 *
 * Most functions return an error when memory runs out. Some continue with less instead, because an
 * exporter must not end because of one event: a name stays unknown, a schema is not kept. Both are
 * counted here. A program that is about to report success, or a fault in its input, can then report
 * the lack of memory instead; the exporter publishes the number. Any thread may call these
 * functions.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_statistics {
	uint64_t losses; /* failures since the start */
};

void memory_note_loss(void); /* setting an error ETW_ERROR_NO_MEMORY calls it, too */
bool memory_has_losses(void);
void memory_statistics(struct memory_statistics *statistics);

#endif

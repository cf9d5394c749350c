/* SPDX-License-Identifier: MIT */
/*
 * Whether allocations of the program have failed.
 *
 * Most functions that find no memory return an error. Some go on with less instead, because an
 * exporter that runs must not end for one event: a name stays unknown, a schema is not kept. Both
 * are noted here, so that a program that is about to report success, or a mistake in what it has
 * read, can report the lack instead; a program that goes on serves their number. Any thread.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_statistics {
	uint64_t losses; /* since the start */
};

void memory_note_loss(void); /* an error ETW_ERROR_NO_MEMORY does it, too */
bool memory_has_losses(void);
void memory_statistics(struct memory_statistics *statistics);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What finds records that several files of one recording have.
 */
#ifndef LIB_SOURCE_REPEAT_FINDER_H
#define LIB_SOURCE_REPEAT_FINDER_H

#include <stdbool.h>

#include "lib/source/event_record.h"

/*
 * Finds what the files of a recording repeat. Gets the records of the first file in their order,
 * then next_file, and so on. is_repeated: an earlier file has the record, too.
 */
struct etw_repeat_finder {
	void *(*new_finder)(void); /* NULL: no memory */
	void (*next_file)(void *finder);
	bool (*is_repeated)(void *finder, const struct etw_record *record);
	void (*free_finder)(void *finder); /* NULL is allowed */
};

#endif

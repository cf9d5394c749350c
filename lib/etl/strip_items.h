/* SPDX-License-Identifier: MIT */
/*
 * Takes extended items out of a record as it stands in a recording (docs/etl-format.md section 9).
 */
#ifndef LIB_ETL_STRIP_ITEMS_H
#define LIB_ETL_STRIP_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/source/event_record.h"

/*
 * Copies the bytes of the record to out, which has room for size bytes, without the items whose
 * type is a bit of types (bit 5 for type 5). Returns the size of the copy; 0, and nothing is
 * copied, if the record has no such item, or items that are damaged.
 */
size_t etw_strip_items(const struct etw_record *record, const uint8_t *bytes, size_t size,
		       uint32_t types, uint8_t *out);

#endif

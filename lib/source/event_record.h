/* SPDX-License-Identifier: MIT */
/*
 * One event of any source: the contents of a record header in a recording, or of an EVENT_RECORD in
 * a live session.
 *
 * The source owns the record, its payload and its extended items. They are valid only during the
 * callback of the sink; the sink copies what it keeps.
 */
#ifndef LIB_SOURCE_EVENT_RECORD_H
#define LIB_SOURCE_EVENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/guid.h"

/*
 * Returns the class_key of a record with these members. A source stores it as one number if it is
 * read soon afterwards, because a processor stalls when it reads a number whose parts were just
 * written separately.
 */
static inline uint64_t record_class_key(uint16_t id, uint8_t version, uint8_t opcode,
					uint8_t pointer_size, enum etw_record_type type,
					bool classic, uint8_t kernel_group)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t)id << 48 | (uint64_t)version << 40 | (uint64_t)opcode << 32 |
	       (uint64_t)pointer_size << 24 | (uint64_t)type << 16 | (uint64_t)classic << 8 |
	       kernel_group;
#else
	return (uint64_t)kernel_group << 56 | (uint64_t)classic << 48 | (uint64_t)type << 40 |
	       (uint64_t)pointer_size << 32 | (uint64_t)opcode << 24 | (uint64_t)version << 16 | id;
#endif
}

static inline bool id_chosen(const struct etw_id_choice *choice, uint16_t id)
{
	return choice->ids[id / 8] >> id % 8 & 1;
}

#endif

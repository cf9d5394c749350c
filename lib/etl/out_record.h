/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one record: its header by type, then extended items, then the payload.
 * lib/etl/writer.h says what is in it.
 */
#ifndef LIB_ETL_OUT_RECORD_H
#define LIB_ETL_OUT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"
#include "lib/source/event_record.h"

/* One extended item of an event (EVENT_HEADER records). */
struct etw_out_item {
	uint16_t type; /* enum etw_extended_type */
	uint16_t size; /* bytes of data */
	const void *data;
};

/*
 * One record. Everything is borrowed for the length of the call. Fields that the header of its type
 * does not have are ignored.
 *
 * SYSTEM, COMPACT and PERFINFO records take group, opcode and version; EVENT records take provider,
 * id, version, opcode and the rest of the descriptor; FULL and INSTANCE records take provider,
 * opcode, level and version. Of TIMED, ERROR, WNODE, MESSAGE_TYPED and UNKNOWN records nothing is
 * known but the header type and the size: the payload follows these four bytes.
 */
struct etw_out_record {
	enum etw_record_type type;
	uint8_t pointer_size; /* 4 or 8: picks the header type; 0: the recording's */
	uint16_t processor;
	int64_t raw_time; /* ticks of the recording's clock */
	uint32_t process_id;
	uint32_t thread_id;
	uint32_t kernel_time;
	uint32_t user_time;

	uint8_t group; /* docs/etl-format.md section 8 */
	uint8_t opcode;
	uint8_t version;
	uint8_t level;
	uint8_t channel;
	uint16_t id; /* event id, or the number of a message */
	uint16_t task;
	uint64_t keyword;
	uint16_t flags; /* of an EVENT header (0x0001 and 0x0004 are set as needed), or a message's
			   options */
	uint16_t property;               /* EventProperty */
	const struct etw_guid *provider; /* NULL: all zero */
	const struct etw_guid *activity; /* likewise; of an INSTANCE record the parent's GUID */
	uint32_t instance_id;
	uint32_t parent_instance_id;
	uint32_t sequence; /* of a message, by its option flags */
	uint32_t component;

	/* Header extras of SYSTEM, COMPACT and PERFINFO records (section 4.4). */
	const uint64_t *pebs_index; /* NULL: none */
	const uint64_t *counters;
	uint8_t counter_count; /* at most 7 */

	const struct etw_out_item *items; /* extended items of an EVENT record */
	size_t item_count;
	const void *payload;
	size_t payload_size;
};

enum { ETL_SYSTEM_HEADER_SIZE = 32 }; /* of a SYSTEM record without extras */

/* Bytes of the whole record, without padding. May be more than a record can have. */
size_t etw_out_record_size(const struct etw_out_record *record);

/* Writes exactly etw_out_record_size() bytes, at most 65535. pointer_size: for a record that does
 * not say. */
void etw_out_record_store(const struct etw_out_record *record, uint8_t pointer_size, uint8_t *at);

#endif

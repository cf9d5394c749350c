/* SPDX-License-Identifier: MIT */
#include "lib/etl/scan.h"

#include "base/cursor.h"

void etl_buffer_header_read(struct etw_buffer_header *header, const uint8_t *bytes)
{
	uint32_t saved_offset = etw_load_u32(bytes + 0x04);
	uint32_t offset = etw_load_u32(bytes + 0x30);
	uint16_t flags = etw_load_u16(bytes + 0x34);
	uint16_t processor = etw_load_u16(bytes + 0x28);
	uint8_t any = 0;

	for (unsigned i = 0; i < ETL_BUFFER_HEADER_SIZE; i++) {
		any |= bytes[i];
	}
	*header = (struct etw_buffer_header){
		.size_bytes = etw_load_u32(bytes),
		/* SavedOffset can be stale: observed in process_data_32_v1.etl and
		   SelfDescribingSingleEvent.etl. */
		.end = offset ? offset : saved_offset,
		.flags = flags,
		.type = etw_load_u16(bytes + 0x36),
		/* Without the flag the high byte is an alignment: 0x080f is processor 15 in
		   image_data_32_v0.etl. */
		.processor = flags & ETL_BUFFER_PROCESSOR_INDEX ? processor : processor & 0xff,
		.compressed = flags & ETL_BUFFER_COMPRESSED,
		.all_zero = any == 0,
	};
}

bool etl_header_is_plausible(const struct etw_buffer_header *header)
{
	uint32_t most = header->compressed ? ETL_PACKED_MAX : ETL_BUFFER_MAX;

	return header->size_bytes >= ETL_BUFFER_HEADER_SIZE && header->size_bytes <= most &&
	       header->end >= ETL_BUFFER_HEADER_SIZE && header->end <= ETL_BUFFER_MAX &&
	       (header->compressed || header->end <= header->size_bytes) &&
	       header->type <= UINT8_MAX;
}

/*
 * Returns whether a first record begins at `at`. left: bytes of all records of the buffer. A
 * compressed buffer begins with flags, and then the first four bytes of the record are literals,
 * because they hardly ever repeat something; the next four can be a repetition.
 */
static bool has_record(const uint8_t *at, uint32_t left, bool compressed)
{
	uint32_t flags = compressed ? etw_load_u32(at) : 0;

	return flags >> 28 == 0 && etl_record_is_plausible(compressed ? at + 4 : at,
							   flags >> 24 == 0 ? left : UINT32_MAX);
}

static bool is_between(const struct etl_shape *shape, int64_t time)
{
	return time >= shape->first_time && time <= shape->last_time;
}

/*
 * Returns whether the time at which a buffer was written is inside the recording's. In all buffers
 * but the first it is a raw time; if Windows has rewritten the recording, it is a wall time
 * (observed in net.4.5.2.x64.etl).
 */
static bool is_in_time(const struct etl_shape *shape, int64_t time)
{
	return time != 0 &&
	       (is_between(shape, time) || is_between(shape, etw_clock_time(shape->clock, time)));
}

static bool is_buffer(const struct etl_shape *shape, const uint8_t *bytes)
{
	enum {
		REFERENCE_COUNT = 0x0c,
		TIME_STAMP = 0x10,
		SEQUENCE_NUMBER_HIGH = 0x1c,
		STATE = 0x2c,
		STATE_FLUSH = 3, /* highest known state */
		KNOWN_FLAGS = 0x7f,
	};
	struct etw_buffer_header header;

	if (!is_in_time(shape, (int64_t)etw_load_u64(bytes + TIME_STAMP)) ||
	    etw_load_u32(bytes + REFERENCE_COUNT) != 0 ||
	    etw_load_u32(bytes + SEQUENCE_NUMBER_HIGH) != 0 ||
	    etw_load_u32(bytes + STATE) > STATE_FLUSH) {
		return false;
	}
	etl_buffer_header_read(&header, bytes);
	return etl_header_is_plausible(&header) &&
	       header.end >= ETL_BUFFER_HEADER_SIZE + ETL_RECORD_SIZE_MIN && header.end % 8 == 0 &&
	       header.type <= ETL_BUFFER_BATCHED && header.flags <= KNOWN_FLAGS &&
	       has_record(bytes + ETL_BUFFER_HEADER_SIZE, header.end - ETL_BUFFER_HEADER_SIZE,
			  header.compressed);
}

size_t etl_find_buffer(const struct etl_shape *shape, const uint8_t *bytes, size_t size)
{
	size_t places = size >= ETL_FIND_SIZE ? size - ETL_FIND_SIZE + 1 : 0;
	size_t i;

	for (i = 0; i < places; i++) {
		uint32_t buffer_size = etw_load_u32(bytes + i);

		if (buffer_size - 1 < ETL_PACKED_MAX && is_buffer(shape, bytes + i)) {
			break;
		}
	}
	return i;
}

/* SPDX-License-Identifier: MIT */
#include "etl/buffer.h"

#include "base/cursor.h"

enum {
	FLAG_PROCESSOR_INDEX = 0x20,
	FLAG_COMPRESSED = 0x40,
};

void etl_buffer_header_read(struct etl_buffer_header *header, const uint8_t *bytes)
{
	uint32_t saved_offset = load_u32(bytes + 0x04);
	uint32_t offset = load_u32(bytes + 0x30);
	uint16_t flags = load_u16(bytes + 0x34);
	uint16_t processor = load_u16(bytes + 0x28);
	uint8_t any = 0;

	for (unsigned i = 0; i < ETL_BUFFER_HEADER_SIZE; i++) {
		any |= bytes[i];
	}
	*header = (struct etl_buffer_header){
		.size_bytes = load_u32(bytes),
		/* SavedOffset can be stale: observed in process_data_32_v1.etl and
		   SelfDescribingSingleEvent.etl. */
		.end = offset ? offset : saved_offset,
		.flags = flags,
		.type = load_u16(bytes + 0x36),
		/* Without the flag the high byte is an alignment: 0x080f is processor 15 in
		   image_data_32_v0.etl. */
		.processor = flags & FLAG_PROCESSOR_INDEX ? processor : processor & 0xff,
		.compressed = flags & FLAG_COMPRESSED,
		.all_zero = any == 0,
	};
}

bool etl_buffer_has_records(const struct etl_buffer_header *header)
{
	return header->type != ETL_BUFFER_EMPTY_MARKER && header->type != ETL_BUFFER_DEBUG_INFO;
}

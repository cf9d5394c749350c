/* SPDX-License-Identifier: MIT */
#include "tests/support/record_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/exact_copy.h"

const struct etw_guid bytes_activity =
	ETW_GUID_INIT(0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18);
const struct etw_guid bytes_provider =
	ETW_GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x00, 0x01);

void bytes_put(struct record_bytes *b, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		b->data[b->size++] = (uint8_t)(i < 8 ? value >> 8 * i : 0);
	}
}

void bytes_guid(struct record_bytes *b, const struct etw_guid *guid)
{
	memcpy(b->data + b->size, guid->bytes, 16);
	b->size += 16;
}

void bytes_text(struct record_bytes *b, const char *text)
{
	memcpy(b->data + b->size, text, strlen(text));
	b->size += strlen(text);
}

struct record_bytes *bytes_new(void)
{
	struct record_bytes *b = calloc(1, sizeof *b);

	if (!b) {
		abort();
	}
	b->size = ETL_BUFFER_HEADER_SIZE;
	return b;
}

void bytes_begin(struct record_bytes *b)
{
	while (b->size % 8 != 0) {
		b->data[b->size++] = 0xee; /* unspecified */
	}
	b->record = b->size;
}

void bytes_end(struct record_bytes *b, unsigned size_at)
{
	size_t size = b->size - b->record;

	b->data[b->record + size_at] = (uint8_t)size;
	b->data[b->record + size_at + 1] = (uint8_t)(size >> 8);
}

void bytes_kernel(struct record_bytes *b, uint8_t type, uint16_t version, uint8_t opcode,
		  uint8_t group)
{
	bytes_begin(b);
	bytes_put(b, version, 2);
	bytes_put(b, type, 1);
	bytes_put(b, 0xc0, 1);
	bytes_put(b, 0, 2);
	bytes_put(b, opcode, 1);
	bytes_put(b, group, 1);
	if (type != 0x10 && type != 0x11) {
		bytes_put(b, 0x1111, 4); /* thread */
		bytes_put(b, 0x2222, 4);
	}
	bytes_put(b, 1007, 8);
	if (type == 0x01 || type == 0x02) {
		bytes_put(b, 0x33, 4); /* times */
		bytes_put(b, 0x44, 4);
	}
}

void bytes_classic(struct record_bytes *b, uint8_t type)
{
	bytes_begin(b);
	bytes_put(b, 0, 2);
	bytes_put(b, type, 1);
	bytes_put(b, 0xc0, 1);
	bytes_put(b, 9, 1);      /* opcode */
	bytes_put(b, 3, 1);      /* level */
	bytes_put(b, 0x0102, 2); /* version */
	bytes_put(b, 0x1111, 4);
	bytes_put(b, 0x2222, 4);
	bytes_put(b, 1007, 8);
	bytes_guid(b, &bytes_provider);
	bytes_put(b, 0x33, 4);
	bytes_put(b, 0x44, 4);
}

void bytes_event(struct record_bytes *b, uint8_t type, uint16_t flags)
{
	bytes_begin(b);
	bytes_put(b, 0, 2);
	bytes_put(b, type, 1);
	bytes_put(b, 0xc0, 1);
	bytes_put(b, flags, 2);
	bytes_put(b, 0, 2);
	bytes_put(b, 0x1111, 4);
	bytes_put(b, 0x2222, 4);
	bytes_put(b, 1007, 8);
	bytes_guid(b, &bytes_provider);
	bytes_put(b, 0xfffe, 2); /* id */
	bytes_put(b, 5, 1);      /* version */
	bytes_put(b, 11, 1);     /* channel */
	bytes_put(b, 4, 1);      /* level */
	bytes_put(b, 240, 1);    /* opcode */
	bytes_put(b, 0x1234, 2); /* task */
	bytes_put(b, UINT64_C(0x8000000000000012), 8);
	bytes_put(b, 0, 8);
	bytes_guid(b, &bytes_activity); /* activity */
}

void bytes_item(struct record_bytes *b, uint16_t size, uint16_t type, uint16_t linkage,
		uint16_t data_size)
{
	bytes_put(b, size, 2);
	bytes_put(b, type, 2);
	bytes_put(b, linkage, 2);
	bytes_put(b, data_size, 2);
}

struct etl_format bytes_format(uint8_t pointer_size, uint8_t classic_pointer_size)
{
	static const struct etw_source_clock clock = { ETW_CLOCK_QPC, 10000000, 10000000, 7,
						       50000,         0 };
	struct etl_format format;

	etl_format_init(&format, &clock, pointer_size, classic_pointer_size);
	return format;
}

uint8_t *bytes_walk(struct etl_walk *walk, const struct record_bytes *b,
		    const struct etl_format *format)
{
	uint8_t *copy = exact_copy(b->data, b->size);

	etl_walk_start(walk, format, copy, (uint32_t)b->size, 3, 100);
	return copy;
}

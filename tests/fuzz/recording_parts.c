/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/recording_parts.h"

#include <string.h>

#include "base/cursor.h"
#include "lib/etl/unpack.h"

enum {
	TYPED_FAMILY = 0xc0,  /* top byte of the marker: docs/etl-format.md section 3 */
	MESSAGE_FAMILY = 0x9, /* its upper half */
	BUFFER_MOST = 1 << 18,
	FILLER_MOST = 4096,
};

/* docs/etl-format.md sections 3 and 4. The version of a FULL header has two bytes. */
const struct header_form header_forms[] = {
	{ 0x01, 4, 32, 0x10, 0x08, 0, 0x00, 0x06 },
	{ 0x02, 4, 32, 0x10, 0x08, 0, 0x00, 0x06 },
	{ 0x03, 4, 24, 0x10, 0x08, 0, 0x00, 0x06 },
	{ 0x04, 4, 24, 0x10, 0x08, 0, 0x00, 0x06 },
	{ 0x0a, 0, 48, 0x10, 0x08, 0x18, 0x06, 0x04 },
	{ 0x0b, 0, 72, 0x10, 0x08, 0x18, 0x06, 0x04 },
	{ 0x0c, 0, 8, 0, 0, 0, 0, 0 },
	{ 0x0d, 0, 8, 0, 0, 0, 0, 0 },
	{ 0x0e, 0, 8, 0, 0, 0, 0, 0 },
	{ 0x0f, 0, 8, 0, 0, 0, 0, 0 },
	{ 0x10, 4, 16, 0x08, 0, 0, 0x00, 0x06 },
	{ 0x11, 4, 16, 0x08, 0, 0, 0x00, 0x06 },
	{ 0x12, 0, 80, 0x10, 0x08, 0x18, 0x2a, 0x2d },
	{ 0x13, 0, 80, 0x10, 0x08, 0x18, 0x2a, 0x2d },
	{ 0x14, 0, 48, 0x10, 0x08, 0x18, 0x06, 0x04 },
	{ 0x15, 0, 72, 0x10, 0x08, 0x18, 0x06, 0x04 },
};
const size_t header_form_count = sizeof header_forms / sizeof header_forms[0];

const struct header_form *header_form_of(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; size >= ETL_RECORD_SIZE_MIN && i < header_form_count; i++) {
		if (bytes[3] == TYPED_FAMILY && bytes[2] == header_forms[i].type) {
			return size >= header_forms[i].size ? &header_forms[i] : NULL;
		}
	}
	return NULL;
}

/* ---- bytes to parts ---- */

/* Where the size of a record stands; false: it is no record. */
static bool find_size(const uint8_t *bytes, size_t *at)
{
	*at = 0;
	if (bytes[3] == TYPED_FAMILY) {
		for (size_t i = 0; i < header_form_count; i++) {
			if (bytes[2] == header_forms[i].type) {
				*at = header_forms[i].size_at;
			}
		}
		return true;
	}
	return bytes[3] >> 4 == MESSAGE_FAMILY;
}

static void add_record(struct recording_parts *parts, struct part_buffer *buffer, size_t at,
		       size_t size, bool is_rest)
{
	if (size > 0 && parts->record_count < PARTS_RECORDS_MOST) {
		parts->records[parts->record_count++] =
			(struct part_record){ (uint32_t)at, (uint32_t)size, is_rest };
		buffer->records++;
	}
}

/* The bytes that the end of parts->bytes has, as records. */
static void split(struct recording_parts *parts, struct part_buffer *buffer, size_t size)
{
	const size_t start = parts->used;
	size_t at = 0;

	while (size - at >= ETL_RECORD_SIZE_MIN) {
		const uint8_t *bytes = parts->bytes + start + at;
		size_t size_at, record_size = 0;

		if (find_size(bytes, &size_at)) {
			record_size = etw_load_u16(bytes + size_at);
		}
		if (record_size < ETL_RECORD_SIZE_MIN || record_size > size - at) {
			break;
		}
		add_record(parts, buffer, start + at, record_size, false);
		at += (record_size + 7) / 8 * 8;
		at = at < size ? at : size;
	}
	add_record(parts, buffer, start + at, size - at, true);
	parts->used += size;
}

static void read_buffer(struct recording_parts *parts, const uint8_t *data, size_t size)
{
	struct part_buffer *buffer = &parts->buffers[parts->buffer_count++];
	size_t end = etw_load_u32(data + BUFFER_END_AT);
	size_t room = PARTS_BYTES_MOST - parts->used;

	memcpy(buffer->header, data, ETL_BUFFER_HEADER_SIZE);
	buffer->records = 0;
	buffer->filler = 0;
	end = end > 0 ? end : etw_load_u32(data + BUFFER_SAVED_END_AT);
	end = end < ETL_BUFFER_HEADER_SIZE ? ETL_BUFFER_HEADER_SIZE : end;
	end = end < BUFFER_MOST ? end : BUFFER_MOST;
	if (end - ETL_BUFFER_HEADER_SIZE > room) {
		return;
	}
	if (etw_load_u16(data + BUFFER_FLAGS_AT) & BUFFER_FLAG_COMPRESSED) {
		size_t made;

		etl_decompress(data + ETL_BUFFER_HEADER_SIZE, size - ETL_BUFFER_HEADER_SIZE,
			       parts->bytes + parts->used, end - ETL_BUFFER_HEADER_SIZE, &made);
		split(parts, buffer, made);
	} else {
		end = end < size ? end : size;
		memcpy(parts->bytes + parts->used, data + ETL_BUFFER_HEADER_SIZE,
		       end - ETL_BUFFER_HEADER_SIZE);
		split(parts, buffer, end - ETL_BUFFER_HEADER_SIZE);
		buffer->filler = (uint32_t)(size - end < FILLER_MOST ? size - end : FILLER_MOST);
	}
}

void parts_read(struct recording_parts *parts, const uint8_t *data, size_t size)
{
	parts->buffer_count = 0;
	parts->record_count = 0;
	parts->used = 0;
	while (size >= ETL_BUFFER_HEADER_SIZE && parts->buffer_count < PARTS_BUFFERS_MOST) {
		size_t buffer_size = etw_load_u32(data + BUFFER_SIZE_AT);

		if (buffer_size < ETL_BUFFER_HEADER_SIZE) {
			return;
		}
		buffer_size = buffer_size < size ? buffer_size : size;
		read_buffer(parts, data, buffer_size);
		data += buffer_size;
		size -= buffer_size;
	}
}

/* ---- parts to bytes ---- */

/* Writes the records of a buffer from out on; returns their size, or SIZE_MAX if there is no room.
 */
static size_t store_records(const struct recording_parts *parts, size_t first, size_t count,
			    uint8_t *out, size_t room)
{
	size_t at = 0, size_at;

	for (size_t i = first; i < first + count; i++) {
		const struct part_record *record = &parts->records[i];
		size_t padded = ((size_t)record->size + 7) / 8 * 8;

		if (padded > room - at) {
			return SIZE_MAX;
		}
		memset(out + at, 0, padded);
		memcpy(out + at, parts->bytes + record->at, record->size);
		if (!record->is_rest && find_size(out + at, &size_at)) {
			out[at + size_at] = (uint8_t)record->size;
			out[at + size_at + 1] = (uint8_t)(record->size >> 8);
		}
		at += padded;
	}
	return at;
}

size_t parts_store(const struct recording_parts *parts, uint8_t *data, size_t most)
{
	static uint8_t plain[BUFFER_MOST], packed[BUFFER_MOST + BUFFER_MOST / 8 + 4];
	size_t at = 0, first = 0;

	for (size_t i = 0; i < parts->buffer_count; i++) {
		const struct part_buffer *buffer = &parts->buffers[i];
		const uint8_t *bytes = plain;
		size_t size = store_records(parts, first, buffer->records, plain, sizeof plain);
		size_t filler = buffer->filler, end;

		if (size == SIZE_MAX) {
			return 0;
		}
		end = ETL_BUFFER_HEADER_SIZE + size;
		if (etw_load_u16(buffer->header + BUFFER_FLAGS_AT) & BUFFER_FLAG_COMPRESSED) {
			size = etl_compress(plain, size, packed);
			bytes = packed;
			filler = 0;
		}
		if (ETL_BUFFER_HEADER_SIZE + size + filler > most - at) {
			return 0;
		}
		memcpy(data + at, buffer->header, ETL_BUFFER_HEADER_SIZE);
		store_u32(data + at + BUFFER_SIZE_AT,
			  (uint32_t)(ETL_BUFFER_HEADER_SIZE + size + filler));
		store_u32(data + at + BUFFER_SAVED_END_AT, (uint32_t)end);
		store_u32(data + at + BUFFER_END_AT, (uint32_t)end);
		memcpy(data + at + ETL_BUFFER_HEADER_SIZE, bytes, size);
		memset(data + at + ETL_BUFFER_HEADER_SIZE + size, 0xff, filler);
		at += ETL_BUFFER_HEADER_SIZE + size + filler;
		first += buffer->records;
	}
	return at;
}

/* ---- records ---- */

uint8_t *parts_room(struct recording_parts *parts, size_t size)
{
	uint8_t *at = parts->bytes + parts->used;

	if (size > PARTS_BYTES_MOST - parts->used) {
		return NULL;
	}
	parts->used += size;
	return at;
}

/* The buffer of the record at the index; the last one for record_count. NULL: there is none. */
static struct part_buffer *buffer_of(struct recording_parts *parts, size_t index)
{
	size_t first = 0;

	for (size_t i = 0; i < parts->buffer_count; i++) {
		first += parts->buffers[i].records;
		if (index < first || i + 1 == parts->buffer_count) {
			return &parts->buffers[i];
		}
	}
	return NULL;
}

bool parts_insert(struct recording_parts *parts, size_t index, struct part_record record)
{
	struct part_buffer *buffer = buffer_of(parts, index);

	if (!buffer || parts->record_count == PARTS_RECORDS_MOST) {
		return false;
	}
	memmove(parts->records + index + 1, parts->records + index,
		(parts->record_count - index) * sizeof record);
	parts->records[index] = record;
	parts->record_count++;
	buffer->records++;
	return true;
}

void parts_remove(struct recording_parts *parts, size_t index)
{
	struct part_buffer *buffer = buffer_of(parts, index);

	if (!buffer || index >= parts->record_count) {
		return;
	}
	memmove(parts->records + index, parts->records + index + 1,
		(parts->record_count - index - 1) * sizeof parts->records[0]);
	parts->record_count--;
	buffer->records--;
}

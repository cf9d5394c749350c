/* SPDX-License-Identifier: MIT */
/*
 * The names of the record types, the walk over the extended items of a record, and a builder of
 * payloads.
 */
#include <etw/mirror.h>

#include "lib/source/event_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"
#include "base/utf8.h"

enum { ITEM_HEADER_SIZE = 8 }; /* docs/etl-format.md section 9 */

const char *etw_record_type_name(enum etw_record_type type)
{
	static const char *const names[ETW_RECORD_TYPE_COUNT] = {
		[ETW_RECORD_SYSTEM] = "system",     [ETW_RECORD_COMPACT] = "compact",
		[ETW_RECORD_PERFINFO] = "perfinfo", [ETW_RECORD_EVENT] = "event",
		[ETW_RECORD_FULL] = "full",         [ETW_RECORD_INSTANCE] = "instance",
		[ETW_RECORD_STRING] = "event",      [ETW_RECORD_MESSAGE] = "message",
		[ETW_RECORD_TIMED] = "timed",       [ETW_RECORD_ERROR] = "error",
		[ETW_RECORD_WNODE] = "wnode",       [ETW_RECORD_MESSAGE_TYPED] = "message_typed",
		[ETW_RECORD_UNKNOWN] = "unknown",
	};

	return (unsigned)type < ETW_RECORD_TYPE_COUNT ? names[type] : "unknown";
}

bool etw_record_next_extended(const struct etw_record *record, uint32_t *offset,
			      struct etw_extended_item *item)
{
	const uint8_t *at;

	if (!record->extended || *offset >= record->extended_size) {
		return false;
	}
	at = record->extended + *offset;
	*item = (struct etw_extended_item){
		.type = etw_load_u16(at + 2),
		.size = etw_load_u16(at + 6),
		.data = at + ITEM_HEADER_SIZE,
	};
	*offset += etw_load_u16(at);
	return true;
}

bool etw_record_find_extended(const struct etw_record *record, enum etw_extended_type type,
			      struct etw_extended_item *item)
{
	struct etw_extended_item next;
	uint32_t offset = 0;

	while (etw_record_next_extended(record, &offset, &next)) {
		if (next.type == type) {
			*item = next;
			return true;
		}
	}
	return false;
}

/* ---- payloads ---- */

/*
 * Builds the payload of an event. Integers are stored byte by byte, so byte order and alignment of
 * this machine do not matter.
 */

/* Makes room for size bytes and returns it; NULL if size is 0 or memory runs out. */
static uint8_t *reserve(struct etw_payload *payload, size_t size)
{
	uint8_t *at;

	if (payload->failed || size == 0) {
		return NULL;
	}
	if (size > payload->capacity - payload->size) {
		size_t capacity = payload->capacity * 2;
		uint8_t *bytes;

		if (capacity < payload->size + size) {
			capacity = payload->size + size + 128;
		}
		bytes = realloc(payload->bytes, capacity);
		if (!bytes) {
			payload->failed = true;
			return NULL;
		}
		payload->bytes = bytes;
		payload->capacity = capacity;
	}
	at = payload->bytes + payload->size;
	payload->size += size;
	return at;
}

static void put(struct etw_payload *payload, uint64_t value, size_t size)
{
	uint8_t *at = reserve(payload, size);

	for (size_t i = 0; at && i < size; i++) {
		at[i] = (uint8_t)(value >> (8 * i));
	}
}

void etw_payload_init(struct etw_payload *payload, uint8_t pointer_size)
{
	*payload = (struct etw_payload){ .pointer_size = pointer_size };
}

void etw_payload_clear(struct etw_payload *payload)
{
	payload->size = 0;
	payload->failed = false;
}

void etw_payload_done(struct etw_payload *payload)
{
	free(payload->bytes);
	etw_payload_init(payload, payload->pointer_size);
}

void etw_payload_u8(struct etw_payload *payload, uint8_t value)
{
	put(payload, value, 1);
}

void etw_payload_u16(struct etw_payload *payload, uint16_t value)
{
	put(payload, value, 2);
}

void etw_payload_u32(struct etw_payload *payload, uint32_t value)
{
	put(payload, value, 4);
}

void etw_payload_u64(struct etw_payload *payload, uint64_t value)
{
	put(payload, value, 8);
}

void etw_payload_pointer(struct etw_payload *payload, uint64_t value)
{
	put(payload, value, payload->pointer_size);
}

void etw_payload_bytes(struct etw_payload *payload, const void *bytes, size_t size)
{
	uint8_t *at = reserve(payload, size);

	if (at) {
		memcpy(at, bytes, size);
	}
}

void etw_payload_zeros(struct etw_payload *payload, size_t size)
{
	uint8_t *at = reserve(payload, size);

	if (at) {
		memset(at, 0, size);
	}
}

void etw_payload_guid(struct etw_payload *payload, const struct etw_guid *guid)
{
	etw_payload_bytes(payload, guid->bytes, sizeof guid->bytes);
}

void etw_payload_port(struct etw_payload *payload, uint16_t port)
{
	etw_payload_u16(payload, (uint16_t)(port << 8 | port >> 8));
}

size_t etw_payload_utf16(struct etw_payload *payload, const char *text, size_t size, size_t most)
{
	size_t count = 0;

	while (size > 0) {
		uint32_t codepoint;
		size_t taken = utf8_decode(text, size, &codepoint);
		size_t units = codepoint >= 0x10000 ? 2 : 1;

		if (units > most - count) {
			break;
		}
		if (units == 2) {
			etw_payload_u16(payload, (uint16_t)(0xd7c0 + (codepoint >> 10)));
			etw_payload_u16(payload, (uint16_t)(0xdc00 | (codepoint & 0x3ff)));
		} else {
			etw_payload_u16(payload, (uint16_t)codepoint);
		}
		count += units;
		text += taken;
		size -= taken;
	}
	return count;
}

void etw_payload_wstring(struct etw_payload *payload, const char *text)
{
	etw_payload_utf16(payload, text, strlen(text), SIZE_MAX);
	etw_payload_u16(payload, 0);
}

void etw_payload_wchars(struct etw_payload *payload, const char *text, size_t count)
{
	size_t written = count > 0 ? etw_payload_utf16(payload, text, strlen(text), count - 1) : 0;

	etw_payload_zeros(payload, 2 * (count - written));
}

void etw_payload_astring(struct etw_payload *payload, const char *text)
{
	etw_payload_bytes(payload, text, strlen(text) + 1);
}

void etw_payload_sid(struct etw_payload *payload, const char *text)
{
	uint64_t numbers[17] = { 0 }; /* revision, authority, sub-authorities */
	size_t count = 0;
	const char *at = text;

	if (strncmp(text, "S-", 2) != 0) {
		payload->failed = true;
		return;
	}
	at += 2;
	for (bool more = true; more;) {
		size_t length = strcspn(at, "-");

		if (count == 17 || !parse_u64(at, length, &numbers[count]) ||
		    numbers[count] > (count == 0 ? UINT8_MAX :
				      count == 1 ? UINT64_MAX >> 16 :
						   UINT32_MAX)) {
			payload->failed = true;
			return;
		}
		count++;
		more = at[length] == '-';
		at += length + 1;
	}
	if (count < 2) {
		payload->failed = true;
		return;
	}
	etw_payload_u8(payload, (uint8_t)numbers[0]);
	etw_payload_u8(payload, (uint8_t)(count - 2));
	for (unsigned shift = 48; shift > 0; shift -= 8) { /* the authority is big-endian */
		etw_payload_u8(payload, (uint8_t)(numbers[1] >> (shift - 8)));
	}
	for (size_t i = 2; i < count; i++) {
		etw_payload_u32(payload, (uint32_t)numbers[i]);
	}
}

void etw_payload_user_sid(struct etw_payload *payload, const char *text)
{
	if (!text) {
		etw_payload_u32(payload, 0);
		return;
	}
	etw_payload_pointer(payload, UINT64_C(0xffffc88b5a3d9060));
	etw_payload_pointer(payload, 0);
	etw_payload_sid(payload, text);
}

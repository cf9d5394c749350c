/* SPDX-License-Identifier: MIT */
/*
 * Builds the payload of an event. Integers are taken apart into bytes, so byte order and alignment
 * of this machine play no part.
 */
#include "lib/source/payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* NULL for no bytes, and without memory. */
static uint8_t *reserve(struct payload *payload, size_t size)
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

static void put(struct payload *payload, uint64_t value, size_t size)
{
	uint8_t *at = reserve(payload, size);

	for (size_t i = 0; at && i < size; i++) {
		at[i] = (uint8_t)(value >> (8 * i));
	}
}

void payload_init(struct payload *payload, uint8_t pointer_size)
{
	*payload = (struct payload){ .pointer_size = pointer_size };
}

void payload_clear(struct payload *payload)
{
	payload->size = 0;
	payload->failed = false;
}

void payload_done(struct payload *payload)
{
	free(payload->bytes);
	payload_init(payload, payload->pointer_size);
}

void payload_u8(struct payload *payload, uint8_t value)
{
	put(payload, value, 1);
}

void payload_u16(struct payload *payload, uint16_t value)
{
	put(payload, value, 2);
}

void payload_u32(struct payload *payload, uint32_t value)
{
	put(payload, value, 4);
}

void payload_u64(struct payload *payload, uint64_t value)
{
	put(payload, value, 8);
}

void payload_pointer(struct payload *payload, uint64_t value)
{
	put(payload, value, payload->pointer_size);
}

void payload_bytes(struct payload *payload, const void *bytes, size_t size)
{
	uint8_t *at = reserve(payload, size);

	if (at) {
		memcpy(at, bytes, size);
	}
}

void payload_zeros(struct payload *payload, size_t size)
{
	uint8_t *at = reserve(payload, size);

	if (at) {
		memset(at, 0, size);
	}
}

void payload_guid(struct payload *payload, const struct guid *guid)
{
	payload_bytes(payload, guid->bytes, sizeof guid->bytes);
}

void payload_port(struct payload *payload, uint16_t port)
{
	payload_u16(payload, (uint16_t)(port << 8 | port >> 8));
}

size_t payload_utf16(struct payload *payload, const char *text, size_t size, size_t most)
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
			payload_u16(payload, (uint16_t)(0xd7c0 + (codepoint >> 10)));
			payload_u16(payload, (uint16_t)(0xdc00 | (codepoint & 0x3ff)));
		} else {
			payload_u16(payload, (uint16_t)codepoint);
		}
		count += units;
		text += taken;
		size -= taken;
	}
	return count;
}

void payload_wstring(struct payload *payload, const char *text)
{
	payload_utf16(payload, text, strlen(text), SIZE_MAX);
	payload_u16(payload, 0);
}

void payload_wchars(struct payload *payload, const char *text, size_t count)
{
	size_t written = count > 0 ? payload_utf16(payload, text, strlen(text), count - 1) : 0;

	payload_zeros(payload, 2 * (count - written));
}

void payload_counted_wstring(struct payload *payload, const char *text)
{
	size_t start = payload->size;
	size_t size;

	payload_u16(payload, 0);
	size = 2 * payload_utf16(payload, text, strlen(text), 0x7fff);
	if (!payload->failed) {
		payload->bytes[start] = (uint8_t)size;
		payload->bytes[start + 1] = (uint8_t)(size >> 8);
	}
}

void payload_astring(struct payload *payload, const char *text)
{
	payload_bytes(payload, text, strlen(text) + 1);
}

void payload_sid(struct payload *payload, const char *text)
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
	payload_u8(payload, (uint8_t)numbers[0]);
	payload_u8(payload, (uint8_t)(count - 2));
	for (unsigned shift = 48; shift > 0; shift -= 8) { /* the authority is big-endian */
		payload_u8(payload, (uint8_t)(numbers[1] >> (shift - 8)));
	}
	for (size_t i = 2; i < count; i++) {
		payload_u32(payload, (uint32_t)numbers[i]);
	}
}

void payload_user_sid(struct payload *payload, const char *text)
{
	if (!text) {
		payload_u32(payload, 0);
		return;
	}
	payload_pointer(payload, UINT64_C(0xffffc88b5a3d9060));
	payload_pointer(payload, 0);
	payload_sid(payload, text);
}

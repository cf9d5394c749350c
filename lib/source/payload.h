/* SPDX-License-Identifier: MIT */
/*
 * Builds the payload of an event, field after field, packed as ETW packs them.
 *
 * The primitive encodings are those of docs/etl-format.md section 14. When memory runs out `failed`
 * is set and later additions do nothing; the writer of the record checks it.
 */
#ifndef LIB_SOURCE_PAYLOAD_H
#define LIB_SOURCE_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"

/* payload_init() before use. One thread. */
struct payload {
	uint8_t *bytes; /* owned */
	size_t size;
	size_t capacity;
	uint8_t pointer_size; /* 4 or 8 */
	bool failed;
};

void payload_init(struct payload *payload, uint8_t pointer_size);
void payload_clear(struct payload *payload); /* empties it for the next event, keeps the memory; an
						earlier failure is forgotten */
void payload_done(struct payload *payload);

void payload_u8(struct payload *payload, uint8_t value);
void payload_u16(struct payload *payload, uint16_t value);
void payload_u32(struct payload *payload, uint32_t value);
void payload_u64(struct payload *payload, uint64_t value);
void payload_pointer(struct payload *payload,
		     uint64_t value); /* its low half when pointers have 4 bytes */
void payload_bytes(struct payload *payload, const void *bytes, size_t size);
void payload_zeros(struct payload *payload, size_t size);
void payload_guid(struct payload *payload, const struct guid *guid);
void payload_port(struct payload *payload, uint16_t port); /* big-endian */

/* Text is UTF-8 here. What is not UTF-8 becomes U+FFFD; lone surrogates are written with
 * payload_u16(). */
/* Whole characters of text as UTF-16, at most `most` units; returns how many units they are. */
size_t payload_utf16(struct payload *payload, const char *text, size_t size, size_t most);
void payload_wstring(struct payload *payload, const char *text); /* UTF-16, NUL-terminated */
void payload_wchars(
	struct payload *payload, const char *text,
	size_t count); /* exactly count units: cut or filled with NULs, the last one NUL */
void payload_counted_wstring(struct payload *payload, const char *text); /* u16 byte count first */
void payload_astring(struct payload *payload, const char *text); /* the bytes and their NUL */

/*
 * A SID written S-1-authority-sub-…, at most 15 sub-authorities; text that is none sets `failed`.
 *
 * payload_user_sid() writes the form of the kernel's Process class: two pointer-sized words (a user
 * pointer that is not zero, attributes), then the SID; NULL writes the four zero bytes that say "no
 * SID".
 */
void payload_sid(struct payload *payload, const char *text);
void payload_user_sid(struct payload *payload, const char *text);

#endif

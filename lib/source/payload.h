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

/* etw_payload_init() before use. One thread. */
struct etw_payload {
	uint8_t *bytes; /* owned */
	size_t size;
	size_t capacity;
	uint8_t pointer_size; /* 4 or 8 */
	bool failed;
};

void etw_payload_init(struct etw_payload *payload, uint8_t pointer_size);
void etw_payload_clear(struct etw_payload *payload); /* empties it for the next event, keeps the
						memory; an earlier failure is forgotten */
void etw_payload_done(struct etw_payload *payload);

void etw_payload_u8(struct etw_payload *payload, uint8_t value);
void etw_payload_u16(struct etw_payload *payload, uint16_t value);
void etw_payload_u32(struct etw_payload *payload, uint32_t value);
void etw_payload_u64(struct etw_payload *payload, uint64_t value);
void etw_payload_pointer(struct etw_payload *payload,
			 uint64_t value); /* its low half when pointers have 4 bytes */
void etw_payload_bytes(struct etw_payload *payload, const void *bytes, size_t size);
void etw_payload_zeros(struct etw_payload *payload, size_t size);
void etw_payload_guid(struct etw_payload *payload, const struct etw_guid *guid);
void etw_payload_port(struct etw_payload *payload, uint16_t port); /* big-endian */

/* Text is UTF-8 here. What is not UTF-8 becomes U+FFFD; lone surrogates are written with
 * etw_payload_u16(). */
/* Whole characters of text as UTF-16, at most `most` units; returns how many units they are. */
size_t etw_payload_utf16(struct etw_payload *payload, const char *text, size_t size, size_t most);
void etw_payload_wstring(struct etw_payload *payload,
			 const char *text); /* UTF-16, NUL-terminated */
void etw_payload_wchars(
	struct etw_payload *payload, const char *text,
	size_t count); /* exactly count units: cut or filled with NULs, the last one NUL */
void etw_payload_counted_wstring(struct etw_payload *payload,
				 const char *text); /* u16 byte count first */
void etw_payload_astring(struct etw_payload *payload,
			 const char *text); /* the bytes and their NUL */

/*
 * A SID written S-1-authority-sub-…, at most 15 sub-authorities; text that is none sets `failed`.
 *
 * etw_payload_user_sid() writes the form of the kernel's Process class: two pointer-sized words (a
 * user pointer that is not zero, attributes), then the SID; NULL writes the four zero bytes that
 * say "no SID".
 */
void etw_payload_sid(struct etw_payload *payload, const char *text);
void etw_payload_user_sid(struct etw_payload *payload, const char *text);

#endif

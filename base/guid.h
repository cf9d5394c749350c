/* SPDX-License-Identifier: MIT */
/*
 * GUIDs as in recordings: 16 bytes, the first three fields little-endian.
 */
#ifndef BASE_GUID_H
#define BASE_GUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <etw/types.h>

#include "base/map.h"

enum { GUID_TEXT_SIZE = 37 }; /* "aabbccdd-eeff-gghh-iijj-kkkkkkkkkkkk" and its NUL */

/* Writes the GUID in lower case, without braces. */
void guid_format(const struct etw_guid *guid, char text[GUID_TEXT_SIZE]);

/* Hashes a GUID for a hash table. seed: see base/map.h. */
static inline uint64_t guid_hash(const struct etw_guid *guid, uint64_t seed)
{
	uint64_t low, high;

	memcpy(&low, guid->bytes, 8);
	memcpy(&high, guid->bytes + 8, 8);
	return hash_seeded(low ^ hash_seeded(high, seed), seed);
}

/* ETW_GUID_INIT() with the five parts of the usual text: GUID_PARTS(0x3d6fa8d4, 0xfe05, 0x11d0,
 * 0x9dda, 0x00c04fd7ba7c). */
#define GUID_PARTS(a, b, c, d, e)                                                            \
	ETW_GUID_INIT(a, b, c, GUID_BYTE(d, 8), GUID_BYTE(d, 0), GUID_BYTE(e, 40),           \
		      GUID_BYTE(e, 32), GUID_BYTE(e, 24), GUID_BYTE(e, 16), GUID_BYTE(e, 8), \
		      GUID_BYTE(e, 0))
#define GUID_BYTE(part, shift) (uint8_t)(UINT64_C(part) >> (shift)&0xff)

#endif

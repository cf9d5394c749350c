/* SPDX-License-Identifier: MIT */
/*
 * Types that the whole library shares, GUIDs and text, and functions that load little-endian
 * integers.
 */
#ifndef ETW_TYPES_H
#define ETW_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <etw/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C11 has anonymous structs. C++ has none, but compilers accept them; with this in front GCC and
 * Clang do not warn of them. */
#if defined(__cplusplus) && defined(__GNUC__)
#define ETW_ANONYMOUS __extension__
#else
#define ETW_ANONYMOUS
#endif

/* ---- GUIDs ---- */

/* 16 bytes as in recordings: the first three fields are little-endian. */
struct etw_guid {
	uint8_t bytes[16];
};

static inline bool etw_guid_equal(const struct etw_guid *a, const struct etw_guid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/*
 * Accepts upper and lower case, with or without braces; the text must contain nothing else. Leaves
 * *guid alone on failure.
 */
bool etw_guid_parse(const char *text, struct etw_guid *guid);

/*
 * The GUID written 3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c is
 * ETW_GUID_INIT(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c).
 */
#define ETW_GUID_INIT(a, b, c, d0, d1, d2, d3, d4, d5, d6, d7)                                 \
	{                                                                                      \
		{                                                                              \
			(uint8_t)((a)&0xff), (uint8_t)(((a) >> 8) & 0xff),                     \
				(uint8_t)(((a) >> 16) & 0xff), (uint8_t)(((a) >> 24) & 0xff),  \
				(uint8_t)((b)&0xff), (uint8_t)(((b) >> 8) & 0xff),             \
				(uint8_t)((c)&0xff), (uint8_t)(((c) >> 8) & 0xff), (d0), (d1), \
				(d2), (d3), (d4), (d5), (d6), (d7)                             \
		}                                                                              \
	}

/* ---- text ---- */

/*
 * A growing byte buffer. After the first addition a NUL always follows its bytes. Zero-initialise
 * it. When memory runs out, `failed` is set and further additions do nothing, so a writer checks it
 * once, at the end.
 */
struct etw_text {
	char *data; /* owned; NULL while empty */
	size_t size;
	size_t capacity;
	bool failed;
};

/* ---- integers in little-endian order, at any alignment ---- */

static inline uint16_t etw_load_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t etw_load_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static inline uint64_t etw_load_u64(const uint8_t *at)
{
	return etw_load_u32(at) | (uint64_t)etw_load_u32(at + 4) << 32;
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads bytes from outside the program. Every read is checked; after the first overrun all reads
 * return zero.
 *
 * A decoder can read one value after the other and check `overrun` once at the end. Integers are
 * assembled from bytes in little-endian order, so neither the alignment nor the byte order of the
 * machine matters.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/types.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool overrun;
};

static inline struct cursor cursor_over(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	return (struct cursor){ .at = at, .end = at + size };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Returns the next size bytes and moves past them. If fewer are left, returns NULL, sets overrun
 * and moves to the end. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t size)
{
	const uint8_t *at = c->at;

	if (size > cursor_left(c)) {
		c->overrun = true;
		c->at = c->end;
		return NULL;
	}
	c->at += size;
	return at;
}

static inline void cursor_skip(struct cursor *c, size_t size)
{
	(void)cursor_take(c, size);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 1);

	return at ? *at : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 2);

	return at ? etw_load_u16(at) : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 4);

	return at ? etw_load_u32(at) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 8);

	return at ? etw_load_u64(at) : 0;
}

/* Reads a pointer. pointer_size: that of the record, 4 or 8. */
static inline uint64_t cursor_pointer(struct cursor *c, uint8_t pointer_size)
{
	return pointer_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* ---- stores ---- */

/* Store an integer in little-endian order, at any alignment, as etw_load_u16() and the like load
 * it. */

static inline void store_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static inline void store_u32(uint8_t *at, uint32_t value)
{
	store_u16(at, (uint16_t)value);
	store_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void store_u64(uint8_t *at, uint64_t value)
{
	store_u32(at, (uint32_t)value);
	store_u32(at + 4, (uint32_t)(value >> 32));
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Greedy plain-LZ77.
 *
 * One stream contains flag words, items, and half-bytes of long lengths, interleaved. A flag word
 * or a half-byte is reserved where the decoder first needs it, and filled in later.
 */
#include "lib/etl/pack.h"

#include <string.h>

enum {
	MATCH_LEAST = 3,
	MATCH_MOST = 0xffff, /* a longer match would need a 32-bit length; it is split instead */
	DISTANCE_MOST = 8192,
	HASH_BITS = 13,
};

struct stream {
	uint8_t *out;
	size_t size;
	size_t flags_at;
	size_t half_at; /* offset of a byte whose high half is free; 0: none */
	uint32_t flags;
	unsigned flag_count;
};

static void put_u8(struct stream *s, size_t value)
{
	s->out[s->size++] = (uint8_t)value;
}

static void put_u16(struct stream *s, size_t value)
{
	put_u8(s, value);
	put_u8(s, value >> 8);
}

static void store_flags(struct stream *s)
{
	for (size_t i = 0; i < 4; i++) {
		s->out[s->flags_at + i] = (uint8_t)(s->flags >> (8 * i));
	}
}

/* The decoder reads a flag word only when it needs the next flag, which is directly before an item.
 */
static void put_flag(struct stream *s, uint32_t flag)
{
	if (s->flag_count == 32) {
		store_flags(s);
		s->flags_at = s->size;
		s->size += 4;
		s->flags = 0;
		s->flag_count = 0;
	}
	s->flags |= flag << (31 - s->flag_count);
	s->flag_count++;
}

static void put_match(struct stream *s, size_t distance, size_t length)
{
	size_t rest = length - MATCH_LEAST;
	size_t half;

	put_flag(s, 1);
	put_u16(s, (distance - 1) << 3 | (rest < 7 ? rest : 7));
	if (rest < 7) {
		return;
	}
	rest -= 7;
	half = rest < 15 ? rest : 15;
	if (s->half_at > 0) {
		s->out[s->half_at] = (uint8_t)(s->out[s->half_at] | half << 4);
		s->half_at = 0;
	} else {
		s->half_at = s->size;
		put_u8(s, half);
	}
	if (half < 15) {
		return;
	}
	rest -= 15;
	if (rest < 255) {
		put_u8(s, rest);
	} else {
		put_u8(s, 255);
		put_u16(s, rest + 15 + 7);
	}
}

static size_t hash(const uint8_t *at)
{
	uint32_t key = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;

	return key * UINT32_C(2654435761) >> (32 - HASH_BITS);
}

size_t etl_compress(const uint8_t *bytes, size_t size, uint8_t *out)
{
	uint32_t seen[1 << HASH_BITS] = {
		0
	}; /* position + 1 of the last place with this hash; 0: none */
	struct stream s = { .out = out, .size = 4 };
	size_t at = 0;

	while (at < size) {
		size_t length = 0;
		size_t candidate = 0;

		if (size - at >= MATCH_LEAST) {
			size_t slot = hash(bytes + at);

			if (seen[slot] > 0 && at - (seen[slot] - 1) <= DISTANCE_MOST) {
				size_t most = size - at < MATCH_MOST ? size - at : MATCH_MOST;

				candidate = seen[slot] - 1;
				while (length < most &&
				       bytes[candidate + length] == bytes[at + length]) {
					length++;
				}
			}
			seen[slot] = (uint32_t)at + 1;
		}
		if (length < MATCH_LEAST) {
			put_flag(&s, 0);
			put_u8(&s, bytes[at++]);
			continue;
		}
		put_match(&s, at - candidate, length);
		for (size_t i = 1; i < length && size - at - i >= MATCH_LEAST; i++) {
			seen[hash(bytes + at + i)] = (uint32_t)(at + i) + 1;
		}
		at += length;
	}
	/* Unused flags have no meaning; MS-XCA 2.3 sets them. */
	if (s.flag_count < 32) {
		s.flags |= UINT32_MAX >> s.flag_count;
	}
	store_flags(&s);
	return s.size;
}

/* SPDX-License-Identifier: MIT */
#include "etwtool/relog/keyed_hash.h"

#include "base/cursor.h"

static uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t keyed_hash(const struct hash_key *key, const void *bytes, size_t size)
{
	uint64_t v[4] = { key->words[0] ^ UINT64_C(0x736f6d6570736575),
			  key->words[1] ^ UINT64_C(0x646f72616e646f6d),
			  key->words[0] ^ UINT64_C(0x6c7967656e657261),
			  key->words[1] ^ UINT64_C(0x7465646279746573) };
	const uint8_t *at = bytes;
	uint64_t last = (uint64_t)size << 56;
	size_t left = size;

	for (; left >= 8; left -= 8, at += 8) {
		uint64_t word = etw_load_u64(at);

		v[3] ^= word;
		mix(v, 2);
		v[0] ^= word;
	}
	for (size_t i = 0; i < left; i++) {
		last |= (uint64_t)at[i] << 8 * i;
	}
	v[3] ^= last;
	mix(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

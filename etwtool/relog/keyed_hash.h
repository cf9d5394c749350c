/* SPDX-License-Identifier: MIT */
/*
 * A hash whose results say nothing about its input to those who do not have the key: SipHash-2-4.
 *
 * Source: "SipHash: a fast short-input PRF", J.-P. Aumasson and D. J. Bernstein, INDOCRYPT 2012.
 */
#ifndef ETWTOOL_RELOG_KEYED_HASH_H
#define ETWTOOL_RELOG_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t words[2]; /* the bytes of the key, little-endian */
};

uint64_t keyed_hash(const struct hash_key *key, const void *bytes, size_t size);

#endif

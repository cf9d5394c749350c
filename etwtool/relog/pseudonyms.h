/* SPDX-License-Identifier: MIT */
/*
 * Replaces names by pseudonyms that say nothing about them but keep their structure.
 *
 * Under one key the same name always becomes the same pseudonym; the case of letters makes no
 * difference. A name is split into words at every ASCII character that is neither a letter nor a
 * digit. Each word gets a pseudonym, and the characters between words stay. So a path keeps its
 * depth, a file its extension, and "C:\Users\ann\x.txt" becomes the same in a command line and as a
 * path.
 *
 * These stay unchanged: the words of well_known_names.txt, words of one character, numbers of at
 * most two digits, and addresses and SIDs that mean the same on every machine. Longer numbers
 * become others of the same length; so do several short numbers in a row, such as telephone
 * numbers. Network addresses keep common prefixes, and private ones stay private.
 */
#ifndef ETWTOOL_RELOG_PSEUDONYMS_H
#define ETWTOOL_RELOG_PSEUDONYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

/* ---- the hash ---- */

/*
 * A hash whose results say nothing about its input to those who do not have the key: SipHash-2-4.
 *
 * Source: "SipHash: a fast short-input PRF", J.-P. Aumasson and D. J. Bernstein, INDOCRYPT 2012.
 */

struct hash_key {
	uint64_t words[2]; /* the bytes of the key, little-endian */
};

uint64_t keyed_hash(const struct hash_key *key, const void *bytes, size_t size);

/* ---- pseudonyms ---- */

struct pseudonyms; /* opaque; one thread */

/*
 * Makes pseudonyms from a key of any bytes, which is copied; the same key gives the same
 * pseudonyms. NULL: a random key.
 */
struct pseudonyms *pseudonyms_new(const void *key, size_t size, struct etw_error *err);
void pseudonyms_free(struct pseudonyms *pseudonyms);

/* Adds the replacement of a text; both are UTF-8. Returns whether it differs from the text. */
bool pseudonyms_text(const struct pseudonyms *pseudonyms, const char *text, size_t size,
		     struct etw_text *out);

/*
 * Change an address in network byte order, or a whole SID, in place. They return whether it
 * changed.
 */
bool pseudonyms_ip4(const struct pseudonyms *pseudonyms, uint8_t address[4]);
bool pseudonyms_ip6(const struct pseudonyms *pseudonyms, uint8_t address[16]);
bool pseudonyms_sid(const struct pseudonyms *pseudonyms, uint8_t *sid, size_t size);

/*
 * Changes the bytes of an identifier in place: a GUID, a hardware address. An identifier of zeros
 * stays. Returns whether it changed.
 */
bool pseudonyms_bytes(const struct pseudonyms *pseudonyms, uint8_t *bytes, size_t size);

#endif

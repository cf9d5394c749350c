/* SPDX-License-Identifier: MIT */
/*
 * Replaces names by others that say nothing about them and keep their structure.
 *
 * The same name becomes the same pseudonym under one key, without regard to the case of letters. A
 * name is taken apart into words at every ASCII character that is no letter and no digit; each word
 * has a pseudonym of its own, and what is between the words stays. So a path keeps its depth, a
 * file its extension, and "C:\Users\ann\x.txt" in a command line becomes what it becomes as a path.
 *
 * As they are stay: the words of well_known_names.txt, words of one character, numbers of at most
 * two digits, and addresses and SIDs that mean the same on every machine. Numbers that are longer
 * become others of their length, and so do short ones in a row, such as telephone numbers. Network
 * addresses keep common prefixes, and private ones stay private.
 */
#ifndef ETWTOOL_RELOG_PSEUDONYMS_H
#define ETWTOOL_RELOG_PSEUDONYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct pseudonyms; /* opaque; one thread */

/* key: any bytes, which give the same pseudonyms again; copied. NULL: a random key. */
struct pseudonyms *pseudonyms_new(const void *key, size_t size, struct etw_error *err);
void pseudonyms_free(struct pseudonyms *pseudonyms);

/* Adds what a text becomes; UTF-8. Returns whether that differs from the text. */
bool pseudonyms_text(const struct pseudonyms *pseudonyms, const char *text, size_t size,
		     struct etw_text *out);

/* Change an address in network order, or a whole SID, in its place; return whether it changed. */
bool pseudonyms_ip4(const struct pseudonyms *pseudonyms, uint8_t address[4]);
bool pseudonyms_ip6(const struct pseudonyms *pseudonyms, uint8_t address[16]);
bool pseudonyms_sid(const struct pseudonyms *pseudonyms, uint8_t *sid, size_t size);

/* Changes the bytes of an identifier: a GUID, a hardware address. Zeros stay. */
bool pseudonyms_bytes(const struct pseudonyms *pseudonyms, uint8_t *bytes, size_t size);

#endif

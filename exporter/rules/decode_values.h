/* SPDX-License-Identifier: MIT */
/*
 * Decoders of what payloads hold as numbers or bytes: bits, addresses, ports, GUIDs, SIDs, results.
 *
 * Each reads a number, the bytes of a binary field, or text that says the same already. What cannot
 * be read reads "_unknown".
 */
#ifndef RULES_DECODE_VALUES_H
#define RULES_DECODE_VALUES_H

#include "rules/decoders.h"

/*
 * Numbers: the bits that are set, the lowest first, with "|" between. Without names their numbers
 * ("0|5"); with names those whose bits are all set, in the order of their writing, and what is left
 * in hexadecimal ("read|write|0x80"). "none" when no bit is set.
 */
void decode_bits(const struct decode_step *step, const struct decoded *from, struct text *out);

/*
 * An address without port, IPv6 as RFC 5952 has it. Of a number of 32 bits (its lowest byte is the
 * first, as Windows stores it), 4 or 16 bytes, or a SOCKADDR_IN or SOCKADDR_IN6.
 */
void decode_ip(const struct decoded *from, struct text *out);

/*
 * A port in decimal. Of a number of 16 bits in network order (a field that its layout calls a port
 * is in order already), a socket address, or text: "80", "10.0.0.1:80", "[::1]:80".
 */
void decode_port(const struct decoded *from, struct text *out);

/* Lower case, without braces. Of 16 bytes, or text in any form. */
void decode_guid(const struct decoded *from, struct text *out);

/* "S-1-5-18". Of the bytes of a SID, or text. */
void decode_sid(const struct decoded *from, struct text *out);

/* Numbers: the name of a common code, else hexadecimal ("0x80131522"). */
void decode_hresult(const struct decoded *from, struct text *out);

#endif

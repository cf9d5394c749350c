/* SPDX-License-Identifier: MIT */
/*
 * Values in payloads whose binary form Windows defines, as text: UTF-16, security identifiers and
 * network addresses.
 */
#ifndef LIB_DECODE_TEXT_FORMS_H
#define LIB_DECODE_TEXT_FORMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* ---- UTF-16LE, at any alignment, with or without paired surrogates ---- */

/* The number of units (of two bytes) before the first NUL, at most `units`. */
size_t etw_utf16_length(const uint8_t *at, size_t units);

/* Adds units as UTF-8, also NULs; each unpaired surrogate becomes U+FFFD. */
void text_add_utf16(struct etw_text *text, const uint8_t *at, size_t units);

/*
 * ---- security identifiers, "S-1-5-18" ----
 *
 * Source: "SID structure", Microsoft Learn; docs/etl-format.md section 14.
 */

enum { ETW_SID_SIZE_MOST = 8 + 4 * 15 };

/*
 * The size in bytes of the SID at `at`, of which `size` bytes may be read; 0 if there is no
 * complete, well-formed SID.
 */
size_t etw_sid_size(const uint8_t *at, size_t size);

/* Adds a SID as text, if etw_sid_size() of it is not 0. */
void etw_text_add_sid(struct etw_text *text, const uint8_t *sid);

/*
 * Finds the SID in a field of the Process class of the kernel ("WBEM SID"). The field has two words
 * of pointer size and then the SID, or four zero bytes if there is no SID. Some writers leave the
 * words zero and still append a SID.
 *
 * Returns the size of the field and sets *sid (NULL: no SID). Returns 0 if the payload ends inside
 * the field or contains no valid SID there.
 */
size_t kernel_sid_size(const uint8_t *at, size_t size, uint8_t pointer_size, const uint8_t **sid);

/* ---- network addresses; bytes are in network order ---- */

/* "10.0.0.1" */
void etw_text_add_ip4(struct etw_text *text, const uint8_t bytes[4]);

/* "2001:db8::1", "::ffff:10.0.0.1" for mapped IPv4 addresses: RFC 5952. */
void etw_text_add_ip6(struct etw_text *text, const uint8_t bytes[16]);

/* A SOCKADDR_IN or SOCKADDR_IN6 (ws2def.h). */
struct etw_socket_address {
	const uint8_t *ip; /* into the bytes: 16 of IPv6, else 4 */
	bool is_ip6;
	uint16_t port;
};

/* False: the bytes are neither, or end before the address does. */
bool etw_socket_address_read(const uint8_t *at, size_t size, struct etw_socket_address *out);

void etw_text_add_ip(struct etw_text *text, const uint8_t *ip, bool is_ip6);

#endif

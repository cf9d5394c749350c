/* SPDX-License-Identifier: MIT */
/*
 * UTF-16LE as it stands in payloads: at any alignment, surrogates paired or not.
 */
#ifndef DECODE_TEXT_FORMS_H
#define DECODE_TEXT_FORMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* ---- utf16 ---- */

/* Units (of two bytes) before the first NUL, or in all of units. */
size_t utf16_length(const uint8_t *at, size_t units);

/* Adds units as UTF-8, NULs too; each unpaired surrogate is U+FFFD. */
void text_add_utf16(struct text *text, const uint8_t *at, size_t units);

/* ---- sid ---- */

/*
 * Security identifiers: "S-1-5-18". Binary form in "SID structure", Microsoft Learn, and
 * docs/etl-format.md section 14.
 */
enum { SID_SIZE_MOST = 8 + 4 * 15 };

/*
 * Bytes of the SID at `at`, of which size may be read; 0 when there is no whole, well-formed SID.
 */
size_t sid_size(const uint8_t *at, size_t size);

/* Adds a SID for which sid_size() is not 0. */
void text_add_sid(struct text *text, const uint8_t *sid);

/*
 * The SID inside a field of the kernel's Process class ("WBEM SID"): two words of pointer size,
 * then the SID; or four zero bytes for none. Some writers leave the words zero and still append a
 * SID.
 *
 * Returns the bytes the field takes and sets *sid (NULL: none); 0 when the payload ends inside it
 * or what stands there is no SID.
 */
size_t kernel_sid_size(const uint8_t *at, size_t size, uint8_t pointer_size, const uint8_t **sid);

/* ---- address ---- */

/*
 * Network addresses as text. Bytes are in network order.
 */
/* "10.0.0.1" */
void text_add_ip4(struct text *text, const uint8_t bytes[4]);

/* "2001:db8::1", "::ffff:10.0.0.1" for mapped IPv4 addresses: RFC 5952. */
void text_add_ip6(struct text *text, const uint8_t bytes[16]);

#endif

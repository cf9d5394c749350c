/* SPDX-License-Identifier: MIT */
/*
 * Values in payloads whose binary form Windows defines, as text: UTF-16, security identifiers and
 * network addresses.
 */
#ifndef LIB_DECODE_TEXT_FORMS_H
#define LIB_DECODE_TEXT_FORMS_H

#include <stddef.h>
#include <stdint.h>

#include <etw/schema.h>

#include "base/text.h"

/* ---- UTF-16LE, at any alignment, with or without paired surrogates ---- */

/* Adds UTF-16 units as UTF-8, NULs included. Each unpaired surrogate becomes U+FFFD. */
void text_add_utf16(struct etw_text *text, const uint8_t *at, size_t units);

/*
 * ---- security identifiers, "S-1-5-18" ----
 *
 * Source: "SID structure", Microsoft Learn; docs/etl-format.md section 14.
 */

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

#endif

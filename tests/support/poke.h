/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_POKE_H
#define SUPPORT_POKE_H

#include "lib/source/event_record.h"

/* Overwrites a field of a kernel event, named as in its layout, with an integer. payload: payload
 * of the record. Fails the test if there is no such field. */
void poke_field(const struct etw_record *record, uint8_t *payload, const char *field,
		uint64_t value);

/* Overwrites a field of UTF-16 or bytes with an ASCII text. Bytes after the field are moved, so
 * they must be zeros. */
void poke_text(const struct etw_record *record, uint8_t *payload, const char *field,
	       const char *text);

#endif

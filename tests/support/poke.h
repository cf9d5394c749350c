/* SPDX-License-Identifier: MIT */
#ifndef SUPPORT_POKE_H
#define SUPPORT_POKE_H

#include "lib/source/event_record.h"

/* Writes an integer over a field of a kernel event, found by its name in the layout. payload: that
 * of the record. Fails the test where there is no such field. */
void poke_field(const struct etw_record *record, uint8_t *payload, const char *field,
		uint64_t value);

/* The same with a text of ASCII, of a field that a layout has UTF-16 or bytes for; what follows it
 * is moved, so that it must be zeros. */
void poke_text(const struct etw_record *record, uint8_t *payload, const char *field,
	       const char *text);

#endif

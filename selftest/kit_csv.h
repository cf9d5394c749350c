/* SPDX-License-Identifier: MIT */
/* Writes fields of CSV (RFC 4180) for the files of the kit. */
#ifndef SELFTEST_KIT_CSV_H
#define SELFTEST_KIT_CSV_H

#include <string.h>

#include "base/text.h"

/* Adds a value without a separator. It is quoted if it must be or may be a path, because quotes
 * make the end of a path certain (selftest/kit_mask.h). */
static inline void csv_add(struct etw_text *csv, const char *value)
{
	if (value[strcspn(value, ",\"\r\n\\/")] == '\0') {
		text_add_string(csv, value);
		return;
	}
	text_add_char(csv, '"');
	for (; *value; value++) {
		if (*value == '"') {
			text_add_char(csv, '"');
		}
		text_add_char(csv, *value);
	}
	text_add_char(csv, '"');
}

#endif

/* SPDX-License-Identifier: MIT */
/* Fields of CSV (RFC 4180), for the files of the kit. */
#ifndef SELFTEST_KIT_CSV_H
#define SELFTEST_KIT_CSV_H

#include <string.h>

#include "base/text.h"

/* Adds a value, in quotes if it needs them, or may be a path: where one ends is then certain
 * (selftest/kit_mask.h). Without a separator. */
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

/* SPDX-License-Identifier: MIT */
/*
 * Security identifiers: where they end, and as text.
 */
#include "decode/sid.h"

#include "base/cursor.h"

enum { SID_SUB_AUTHORITIES_MOST = 15 };

size_t sid_size(const uint8_t *at, size_t size)
{
	size_t whole;

	if (size < 8 || at[0] != 1 || at[1] > SID_SUB_AUTHORITIES_MOST) {
		return 0;
	}
	whole = 8 + (size_t)4 * at[1];
	return whole <= size ? whole : 0;
}

void text_add_sid(struct text *text, const uint8_t *sid)
{
	uint64_t authority = 0; /* six bytes, the only big-endian ones */

	for (unsigned i = 2; i < 8; i++) {
		authority = authority << 8 | sid[i];
	}
	text_add_string(text, "S-1-");
	text_add_u64(text, authority);
	for (unsigned i = 0; i < sid[1]; i++) {
		text_add_char(text, '-');
		text_add_u64(text, load_u32(sid + 8 + (size_t)4 * i));
	}
}

size_t kernel_sid_size(const uint8_t *at, size_t size, uint8_t pointer_size, const uint8_t **sid)
{
	size_t words = 2 * (size_t)pointer_size;
	size_t found;

	if (size < 4) {
		return 0;
	}
	found = size > words ? sid_size(at + words, size - words) : 0;
	if (load_u32(at) == 0) {
		if (found == 0 || at[words + 1] == 0 || load_u32(at + words + 2) != 0) {
			*sid = NULL;
			return 4;
		}
	} else if (found == 0) {
		return 0;
	}
	*sid = at + words;
	return words + found;
}

/* SPDX-License-Identifier: MIT */
/*
 * Network addresses as text: RFC 5952 for IPv6.
 */
#include "decode/address.h"

#include <string.h>

enum { GROUPS = 8 };

void text_add_ip4(struct text *text, const uint8_t bytes[4])
{
	for (unsigned i = 0; i < 4; i++) {
		if (i > 0) {
			text_add_char(text, '.');
		}
		text_add_u64(text, bytes[i]);
	}
}

static unsigned group(const uint8_t bytes[16], unsigned index)
{
	return (unsigned)bytes[2 * index] << 8 | bytes[2 * index + 1];
}

/* The longest run of at least two zero groups, the first of equals: what "::" stands for. */
static unsigned longest_zeros(const uint8_t bytes[16], unsigned *start)
{
	unsigned longest = 1;

	*start = GROUPS;
	for (unsigned i = 0; i < GROUPS; i++) {
		unsigned end = i;

		while (end < GROUPS && group(bytes, end) == 0) {
			end++;
		}
		if (end - i > longest) {
			longest = end - i;
			*start = i;
		}
		if (end > i) {
			i = end - 1;
		}
	}
	return *start < GROUPS ? longest : 0;
}

void text_add_ip6(struct text *text, const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	unsigned zeros_at, zeros = longest_zeros(bytes, &zeros_at);

	if (memcmp(bytes, mapped, sizeof mapped) == 0) {
		text_add_string(text, "::ffff:");
		text_add_ip4(text, bytes + sizeof mapped);
		return;
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		if (i == zeros_at) {
			text_add_string(text, "::");
			i += zeros - 1;
			continue;
		}
		if (i > 0 && i != zeros_at + zeros) {
			text_add_char(text, ':');
		}
		text_add_format(text, "%x", group(bytes, i));
	}
}

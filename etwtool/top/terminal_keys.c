/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "etwtool/top/top.h"

/*
 * Returns the key of a sequence. Source: "XTerm Control Sequences", section "PC-Style Function
 * Keys".
 */
static uint32_t key_of_sequence(char last, unsigned number)
{
	switch (last) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	case '~':
		return number == 1 || number == 7 ? KEY_HOME :
		       number == 4 || number == 8 ? KEY_END :
		       number == 5                ? KEY_PAGE_UP :
		       number == 6                ? KEY_PAGE_DOWN :
						    KEY_NONE;
	default:
		return KEY_NONE;
	}
}

/* Takes a sequence: ESC [ or ESC O, parameters, and a last byte. */
static size_t parse_sequence(const char *bytes, size_t size, bool all, uint32_t *key)
{
	unsigned number = 0;
	bool first = true;

	for (size_t i = 2; i < size; i++) {
		if (bytes[i] >= '@' && bytes[i] <= '~') {
			*key = key_of_sequence(bytes[i], number);
			return i + 1;
		}
		first = first && bytes[i] >= '0' && bytes[i] <= '9' && number < 100;
		number = first ? 10 * number + (unsigned)(bytes[i] - '0') : number;
	}
	*key = KEY_NONE;
	return all ? size : 0;
}

size_t terminal_parse_key(const char *bytes, size_t size, bool all, uint32_t *key)
{
	if (bytes[0] != '\033') {
		size_t length = utf8_decode(bytes, size, key);

		*key = *key == '\r' ? '\n' : *key == 0x7f ? '\b' : *key;
		return length;
	}
	if (size > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
		return parse_sequence(bytes, size, all, key);
	}
	*key = '\033';
	return size > 1 || all ? 1 : 0;
}

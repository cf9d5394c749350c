/* SPDX-License-Identifier: MIT */
#include "config/listen_address.h"

#include <stddef.h>
#include <string.h>

/* Parses the text up to `end` as a decimal number of at most `digits` digits. Returns false if
 * it is none. */
static bool parse_number(const char *text, const char *end, int digits, unsigned *value)
{
	unsigned number = 0;

	if (text == end || end - text > digits) {
		return false;
	}
	for (; text < end; text++) {
		if (*text < '0' || *text > '9') {
			return false;
		}
		number = number * 10 + (unsigned)(*text - '0');
	}
	*value = number;
	return true;
}

static bool is_ipv4(const char *text, const char *end)
{
	for (int i = 0; i < 4; i++) {
		const char *dot = i < 3 ? memchr(text, '.', (size_t)(end - text)) : end;
		unsigned byte;

		if (!dot || !parse_number(text, dot, 3, &byte) || byte > 255) {
			return false;
		}
		text = dot + 1;
	}
	return true;
}

static bool is_ipv6(const char *text, const char *end)
{
	size_t size = (size_t)(end - text);

	return size >= 2 && strspn(text, "0123456789abcdefABCDEF:.") >= size &&
	       memchr(text, ':', size);
}

bool listen_address_parse(const char *text, struct listen_address *address)
{
	struct listen_address parsed = { .family = LISTEN_ANY };
	const char *colon = strrchr(text, ':');
	const char *host = text, *host_end = colon;

	if (!colon || !parse_number(colon + 1, colon + strlen(colon), 5, &parsed.port) ||
	    parsed.port > 65535 || host_end - host >= (ptrdiff_t)sizeof parsed.host) {
		return false;
	}
	if (host_end - host == 9 && memcmp(host, "localhost", 9) == 0) {
		host = "127.0.0.1";
		host_end = host + strlen(host);
	}
	if (host_end > host && *host == '[' && host_end[-1] == ']') {
		host++;
		host_end--;
		if (!is_ipv6(host, host_end)) {
			return false;
		}
		parsed.family = LISTEN_IPV6;
	} else if (host_end > host) {
		if (!is_ipv4(host, host_end)) {
			return false;
		}
		parsed.family = LISTEN_IPV4;
	}
	memcpy(parsed.host, host, (size_t)(host_end - host));
	*address = parsed;
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "base/client_address.h"

#include <stdio.h>
#include <string.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

enum { MAPPED_BITS = 96, ALL_BITS = 128 };

static bool is_ipv4(const uint8_t *bytes)
{
	return memcmp(bytes, mapped, sizeof mapped) == 0;
}

void client_address_text(const struct client_address *address, char text[CLIENT_ADDRESS_TEXT_SIZE])
{
	const uint8_t *b = address->bytes;
	size_t size = 0;

	if (address->local) {
		snprintf(text, CLIENT_ADDRESS_TEXT_SIZE, "local");
	} else if (is_ipv4(b)) {
		snprintf(text, CLIENT_ADDRESS_TEXT_SIZE, "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
	} else {
		for (size_t i = 0; i < 16; i += 2) {
			size += (size_t)snprintf(text + size, CLIENT_ADDRESS_TEXT_SIZE - size,
						 "%s%x", i > 0 ? ":" : "",
						 (unsigned)b[i] << 8 | b[i + 1]);
		}
	}
}

bool client_address_alike(const struct client_address *a, const struct client_address *b)
{
	size_t size = is_ipv4(a->bytes) ? 16 : 8;

	return a->local == b->local && memcmp(a->bytes, b->bytes, size) == 0;
}

/* ---- parsing ---- */

/* Reads a decimal number of one to `digits` digits without a leading zero. Returns its end; NULL if
 * there is none. */
static const char *read_decimal(const char *at, size_t digits, unsigned most, unsigned *value)
{
	size_t count = strspn(at, "0123456789");

	if (count == 0 || count > digits || (count > 1 && *at == '0')) {
		return NULL;
	}
	*value = 0;
	for (size_t i = 0; i < count; i++) {
		*value = *value * 10 + (unsigned)(at[i] - '0');
	}
	return *value <= most ? at + count : NULL;
}

static const char *read_ipv4(const char *at, uint8_t bytes[4])
{
	for (size_t i = 0; at && i < 4; i++) {
		unsigned value = 0;

		if (i > 0 && *at++ != '.') {
			return NULL;
		}
		at = read_decimal(at, 3, 255, &value);
		bytes[i] = (uint8_t)value;
	}
	return at;
}

static unsigned hex_value(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* Reads groups of up to four hexadecimal digits, "::" for a run of zeros, and IPv4 for the last two
 * groups (RFC 4291, section 2.2). */
static const char *read_ipv6(const char *at, uint8_t bytes[16])
{
	size_t size = 0, gap = SIZE_MAX; /* in bytes */

	memset(bytes, 0, 16);
	if (at[0] == ':' && at[1] == ':') {
		gap = 0;
		at += 2;
	}
	while (size < 16 && *at != '\0' && *at != '/') {
		size_t digits = strspn(at, "0123456789abcdefABCDEF");
		unsigned value = 0;

		if (at[digits] == '.') {
			at = size <= 12 ? read_ipv4(at, bytes + size) : NULL;
			size += 4;
			break;
		}
		if (digits == 0 || digits > 4) {
			return NULL;
		}
		for (size_t i = 0; i < digits; i++) {
			value = value << 4 | hex_value(at[i]);
		}
		at += digits;
		bytes[size++] = (uint8_t)(value >> 8);
		bytes[size++] = (uint8_t)value;
		if (at[0] == ':' && at[1] == ':' && gap == SIZE_MAX) {
			gap = size;
			at += 2;
		} else if (*at == ':' && at[1] != '\0' && at[1] != '/' && size < 16) {
			at++;
		} else {
			break;
		}
	}
	if (gap == SIZE_MAX ? size != 16 : size > 14) {
		return NULL;
	}
	if (gap != SIZE_MAX) {
		memmove(bytes + 16 - (size - gap), bytes + gap, size - gap);
		memset(bytes + gap, 0, 16 - size);
	}
	return at;
}

static bool has_bits_behind(const struct address_range *range)
{
	for (unsigned i = range->bits; i < ALL_BITS; i++) {
		if (range->bytes[i / 8] >> (7 - i % 8) & 1) {
			return true;
		}
	}
	return false;
}

bool address_range_parse(const char *text, struct address_range *range)
{
	struct address_range parsed = { .bits = ALL_BITS };
	unsigned before = 0;
	const char *end;

	if (strchr(text, ':')) {
		end = read_ipv6(text, parsed.bytes);
	} else {
		memcpy(parsed.bytes, mapped, sizeof mapped);
		end = read_ipv4(text, parsed.bytes + sizeof mapped);
		before = MAPPED_BITS;
	}
	if (end && *end == '/') {
		end = read_decimal(end + 1, 3, ALL_BITS - before, &parsed.bits);
		parsed.bits += before;
	}
	if (!end || *end != '\0' || has_bits_behind(&parsed)) {
		return false;
	}
	*range = parsed;
	return true;
}

bool address_range_contains(const struct address_range *range, const struct client_address *address)
{
	size_t bytes = range->bits / 8;
	unsigned rest = range->bits % 8;

	if (address->local || memcmp(range->bytes, address->bytes, bytes) != 0) {
		return false;
	}
	return rest == 0 || (range->bytes[bytes] ^ address->bytes[bytes]) >> (8 - rest) == 0;
}

/* ---- addresses to listen on ---- */

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

static bool is_ipv4_text(const char *text, const char *end)
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
		if (!is_ipv4_text(host, host_end)) {
			return false;
		}
		parsed.family = LISTEN_IPV4;
	}
	memcpy(parsed.host, host, (size_t)(host_end - host));
	*address = parsed;
	return true;
}

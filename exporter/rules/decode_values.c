/* SPDX-License-Identifier: MIT */
#include "rules/decode_values.h"

#include <string.h>

#include "base/guid.h"
#include "decode/schema.h"
#include "decode/text_forms.h"
#include "rules/codes.h"

enum {
	INET = 2, /* address families of ws2def.h */
	INET6 = 23,
	INET_SIZE = 8, /* up to the end of the address */
	INET6_SIZE = 24,
	SOCKADDR_IN_SIZE = 16,
	TEXT_MOST = 64, /* of an address, a GUID */
};

static void add_unknown(struct text *out)
{
	text_add_string(out, "_unknown");
}

/* A signed number has the sign in all 64 bits; the field has fewer. */
static uint64_t field_bits(const struct decoded *from)
{
	unsigned size = from->field ? from->field->size[0] : 0;

	if (!from->is_signed || size == 0 || size >= 8) {
		return from->number;
	}
	return from->number & ((UINT64_C(1) << 8 * size) - 1);
}

static void add_between(struct text *out)
{
	if (out->size > 0) {
		text_add_char(out, '|');
	}
}

void decode_bits(const struct decode_step *step, const struct decoded *from, struct text *out)
{
	uint64_t bits = field_bits(from), left = bits;

	if (bits == 0) {
		text_add_string(out, "none");
		return;
	}
	if (!step->bits) {
		for (unsigned bit = 0; bit < 64; bit++) {
			if ((bits >> bit & 1) != 0) {
				add_between(out);
				text_add_u64(out, bit);
			}
		}
		return;
	}
	for (size_t i = 0; i < step->bit_count; i++) {
		uint64_t mask = step->bits[i].from.number;

		if ((bits & mask) == mask) {
			add_between(out);
			text_add_string(out, step->bits[i].to);
			left &= ~mask;
		}
	}
	if (left != 0) {
		add_between(out);
		text_add_format(out, "0x%llx", (unsigned long long)left);
	}
}

/* ---- addresses ---- */

/*
 * The bytes of a socket address, NULL when they are none. 16 bytes can be an IPv6 address as well,
 * but none that is in use begins like a SOCKADDR_IN ("0200::/7" is deprecated, RFC 4048).
 */
static const uint8_t *socket_address(const struct decoded *from, unsigned *family)
{
	const uint8_t *at = from->bytes;

	if (!at || from->byte_count < SOCKADDR_IN_SIZE || from->field->form == FIELD_FORM_IP6) {
		return NULL;
	}
	*family = load_u16(at);
	return *family == INET || (*family == INET6 && from->byte_count >= INET6_SIZE) ? at : NULL;
}

/* Bytes of "10.0.0.1" at the start of text; 0: none. */
static size_t ip4_size(const char *text, size_t size)
{
	size_t at = 0;

	for (unsigned part = 0; part < 4; part++) {
		unsigned number = 0, digits = 0;

		if (part > 0 && (at >= size || text[at++] != '.')) {
			return 0;
		}
		while (at < size && text[at] >= '0' && text[at] <= '9' && digits < 3) {
			number = 10 * number + (unsigned)(text[at++] - '0');
			digits++;
		}
		if (digits == 0 || number > 255) {
			return 0;
		}
	}
	return at;
}

static bool is_ip6(const char *text, size_t size)
{
	unsigned colons = 0;

	for (size_t i = 0; i < size; i++) {
		if (!strchr("0123456789abcdefABCDEF.:", text[i])) {
			return false;
		}
		colons += text[i] == ':';
	}
	return colons >= 2 && colons <= 8;
}

/* Takes "10.0.0.1", "10.0.0.1:80", "::1" and "[::1]:80" apart. port: NULL, or what follows the
 * colon. */
static bool split_address(const struct decoded *from, const char **address, size_t *address_size,
			  const char **port)
{
	const char *text = from->text;
	size_t size = from->size, end = ip4_size(text, size);
	const char *close = size > 0 && text[0] == '[' ? memchr(text, ']', size) : NULL;

	*port = NULL;
	*address = text;
	*address_size = end;
	if (close) {
		*address = text + 1;
		*address_size = (size_t)(close - text) - 1;
		end = *address_size + 2;
		if (!is_ip6(*address, *address_size)) {
			return false;
		}
	} else if (end == 0) {
		*address_size = size;
		return is_ip6(text, size);
	}
	if (end < size) {
		*port = text + end + 1;
		return text[end] == ':';
	}
	return true;
}

void decode_ip(const struct decoded *from, struct text *out)
{
	const char *address, *port;
	const uint8_t *socket;
	unsigned family;
	size_t size;

	if (from->is_number) {
		uint64_t number = field_bits(from);
		uint8_t bytes[4] = { (uint8_t)number, (uint8_t)(number >> 8),
				     (uint8_t)(number >> 16), (uint8_t)(number >> 24) };

		if (number <= UINT32_MAX) {
			text_add_ip4(out, bytes);
			return;
		}
	} else if (from->bytes) {
		socket = socket_address(from, &family);
		if (from->byte_count == 4) {
			text_add_ip4(out, from->bytes);
			return;
		}
		if (socket && family == INET) {
			text_add_ip4(out, socket + 4);
			return;
		}
		if (socket || from->byte_count == 16) {
			text_add_ip6(out, socket ? socket + 8 : from->bytes);
			return;
		}
	} else if (split_address(from, &address, &size, &port)) {
		text_add(out, address, size);
		return;
	}
	add_unknown(out);
}

void decode_port(const struct decoded *from, struct text *out)
{
	const char *address, *at;
	uint64_t port = UINT64_MAX;
	const uint8_t *socket;
	unsigned family;
	size_t size;

	if (from->is_number) {
		port = field_bits(from);
		if (port <= UINT16_MAX && (!from->field || from->field->type != FIELD_PORT)) {
			port = (port & 0xff) << 8 | port >> 8;
		}
	} else if (from->bytes) {
		socket = socket_address(from, &family);
		if (socket) {
			port = (uint64_t)socket[2] << 8 | socket[3];
		}
	} else if (!parse_u64(from->text, from->size, &port) &&
		   split_address(from, &address, &size, &at) && at) {
		parse_u64(at, (size_t)(from->text + from->size - at), &port);
	}
	if (port > UINT16_MAX) {
		add_unknown(out);
	} else {
		text_add_u64(out, port);
	}
}

/* ---- ids ---- */

void decode_guid(const struct decoded *from, struct text *out)
{
	char text[TEXT_MOST + 1];
	struct guid guid;

	if (from->bytes && from->byte_count == sizeof guid.bytes) {
		memcpy(guid.bytes, from->bytes, sizeof guid.bytes);
	} else if (!from->bytes && from->size > 0 && from->size <= TEXT_MOST) {
		memcpy(text, from->text, from->size);
		text[from->size] = '\0';
		if (!guid_parse(text, &guid)) {
			add_unknown(out);
			return;
		}
	} else {
		add_unknown(out);
		return;
	}
	guid_format(&guid, text);
	text_add_string(out, text);
}

static bool is_sid_text(const char *text, size_t size)
{
	if (!text_starts_nocase(text, size, "S-1-", 4) || size == 4) {
		return false;
	}
	for (size_t i = 4; i < size; i++) {
		if (!strchr("0123456789-", text[i])) {
			return false;
		}
	}
	return true;
}

void decode_sid(const struct decoded *from, struct text *out)
{
	if (from->bytes && sid_size(from->bytes, from->byte_count) != 0) {
		text_add_sid(out, from->bytes);
	} else if (!from->bytes && is_sid_text(from->text, from->size)) {
		text_add(out, from->text, from->size);
	} else {
		add_unknown(out);
	}
}

void decode_hresult(const struct decoded *from, struct text *out)
{
	uint64_t result = field_bits(from);
	const char *name = result <= UINT32_MAX ? code_hresult((uint32_t)result) : NULL;

	if (name) {
		text_add_string(out, name);
	} else {
		text_add_format(out, "0x%08llx", (unsigned long long)result);
	}
}

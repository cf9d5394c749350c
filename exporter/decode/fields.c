/* SPDX-License-Identifier: MIT */
/*
 * Fields as text.
 */
#include "decode/schema.h"

#include <string.h>

#include "base/guid.h"
#include "base/utf8.h"
#include "decode/address.h"
#include "decode/sid.h"
#include "decode/utf16.h"

/* Bytes to the first NUL: as they are when they are UTF-8, else each is a Latin-1 character. */
static void add_narrow(const uint8_t *at, size_t size, struct text *out)
{
	size_t length = 0;
	bool utf8 = true;

	while (length < size && at[length] != 0) {
		length++;
	}
	for (size_t i = 0, taken; i < length && utf8; i += taken) {
		uint32_t codepoint;

		taken = utf8_decode((const char *)at + i, length - i, &codepoint);
		utf8 = codepoint != UTF8_REPLACEMENT ||
		       (taken == 3 && memcmp(at + i, "\xef\xbf\xbd", 3) == 0);
	}
	if (utf8) {
		text_add(out, (const char *)at, length);
		return;
	}
	for (size_t i = 0; i < length; i++) {
		char encoded[4];

		text_add(out, encoded, utf8_encode(at[i], encoded));
	}
}

static void add_one(const struct field *field, const struct field_slice *slice, struct text *out)
{
	switch (field->type) {
	case FIELD_IP4:
		if (slice->size == 4) {
			text_add_ip4(out, slice->at);
		}
		break;
	case FIELD_IP6:
		if (slice->size == 16) {
			text_add_ip6(out, slice->at);
		}
		break;
	case FIELD_GUID:
		if (slice->size == sizeof(struct guid)) {
			char text[GUID_TEXT_SIZE];
			struct guid guid;

			memcpy(guid.bytes, slice->at, sizeof guid.bytes);
			guid_format(&guid, text);
			text_add_string(out, text);
		}
		break;
	case FIELD_WSTRING:
	case FIELD_WCHARS:
		text_add_utf16(out, slice->at, utf16_length(slice->at, slice->size / 2));
		break;
	case FIELD_ASTRING:
		add_narrow(slice->at, slice->size, out);
		break;
	case FIELD_BINARY:
		text_add_hex(out, slice->at, slice->size);
		break;
	case FIELD_KERNEL_SID:
		if (sid_size(slice->at, slice->size) != 0) {
			text_add_sid(out, slice->at);
		}
		break;
	default:
		if (field_is_signed(field)) {
			text_add_i64(out, (int64_t)field_u64(field, slice));
		} else {
			text_add_u64(out, field_u64(field, slice));
		}
		break;
	}
}

void field_text(const struct field *field, const struct field_slice *slice, struct text *out)
{
	struct field_slice element;
	uint32_t offset = 0;

	if (slice->cut && field->count_kind == FIELD_SCALAR && field_is_integer(field)) {
		return;
	}
	for (bool first = true; field_next_element(field, slice, &offset, &element);
	     first = false) {
		if (!first) {
			text_add_char(out, ',');
		}
		add_one(field, &element, out);
	}
}

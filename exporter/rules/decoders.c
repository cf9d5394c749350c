/* SPDX-License-Identifier: MIT */
#include "rules/decoders.h"

#include <string.h>

#include "rules/codes.h"
#include "rules/decode_values.h"

void text_cut(struct text *text, size_t most)
{
	if (text->size <= most) {
		return;
	}
	while (most > 0 && ((unsigned char)text->data[most] & 0xc0) == 0x80) {
		most--;
	}
	text->size = most;
	text->data[most] = '\0';
}

static bool is_separator(char c)
{
	return c == '\\' || c == '/';
}

/* Where the last component begins. */
static size_t base_start(const char *text, size_t size)
{
	while (size > 0 && !is_separator(text[size - 1])) {
		size--;
	}
	return size;
}

static void add_number(const struct decoded *from, struct text *out)
{
	if (from->is_signed) {
		text_add_i64(out, (int64_t)from->number);
	} else {
		text_add_u64(out, from->number);
	}
}

static void decode_number(const struct decode_step *step, const struct decoded *from,
			  struct text *out)
{
	const char *name;

	switch (step->decoder) {
	case DECODE_HEX:
		text_add_format(out, "0x%llx", (unsigned long long)from->number);
		return;
	case DECODE_NTSTATUS:
		text_add_string(out, code_ntstatus((uint32_t)from->number));
		return;
	case DECODE_WIN32_ERROR:
		name = code_win32((uint32_t)from->number);
		if (name) {
			text_add_string(out, name);
			return;
		}
		break;
	case DECODE_BITS:
		decode_bits(step, from, out);
		return;
	case DECODE_HRESULT:
		decode_hresult(from, out);
		return;
	default:
		break;
	}
	add_number(from, out);
}

/* "C:" of a DOS path, "HarddiskVolume3" of a device path (docs/etl-format.md section 16.3, without
 * mappings). */
static void decode_drive(const char *text, size_t size, struct text *out)
{
	static const char device[] = "\\Device\\";
	size_t start = text_starts_nocase(text, size, "\\??\\", 4) ? 4 : 0;

	if (size >= start + 2 && text[start + 1] == ':' && ascii_lower(text[start]) >= 'a' &&
	    ascii_lower(text[start]) <= 'z') {
		char drive[2] = { (char)(ascii_lower(text[start]) - 'a' + 'A'), ':' };

		text_add(out, drive, sizeof drive);
		return;
	}
	if (text_starts_nocase(text, size, device, sizeof device - 1)) {
		size_t end = start = sizeof device - 1;

		while (end < size && text[end] != '\\') {
			end++;
		}
		if (end > start) {
			text_add(out, text + start, end - start);
			return;
		}
	}
	text_add_string(out, "_unknown");
}

static void decode_text(const struct decode_step *step, struct regex_matcher *matcher,
			const struct decoded *from, struct text *out)
{
	const char *text = from->text;
	size_t size = from->size;
	size_t base = base_start(text, size);

	switch (step->decoder) {
	case DECODE_LOWER:
		text_add(out, text, size);
		for (size_t i = 0; i < out->size; i++) {
			out->data[i] = ascii_lower(out->data[i]);
		}
		return;
	case DECODE_BASENAME:
		text_add(out, text + base, size - base);
		return;
	case DECODE_DIRECTORY:
		text_add(out, text, base > 0 ? base - 1 : 0);
		return;
	case DECODE_EXTENSION: {
		size_t dot = size;

		while (dot > base && text[dot - 1] != '.') {
			dot--;
		}
		if (dot > base) {
			text_add(out, text + dot, size - dot);
		}
		return;
	}
	case DECODE_DRIVE:
		decode_drive(text, size, out);
		return;
	case DECODE_REGEX:
		regex_replace(matcher, step->regex, step->replacement, text, size, out);
		return;
	default:
		break;
	}
	text_add(out, text, size);
}

/* Decoders that read several forms of a value. False: none of them. */
static bool decode_value(const struct decode_step *step, const struct decoded *from,
			 struct text *out)
{
	switch (step->decoder) {
	case DECODE_IP:
		decode_ip(from, out);
		return true;
	case DECODE_PORT:
		decode_port(from, out);
		return true;
	case DECODE_GUID:
		decode_guid(from, out);
		return true;
	case DECODE_SID:
		decode_sid(from, out);
		return true;
	default:
		return false;
	}
}

static void decode_one(const struct decode_step *step, struct regex_matcher *matcher,
		       const struct decoded *from, struct text *out)
{
	if (decode_value(step, from, out)) {
		return;
	}
	if (from->is_number) {
		decode_number(step, from, out);
	} else {
		decode_text(step, matcher, from, out);
	}
}

void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct text *scratch, struct text *out)
{
	text_clear(out);
	if (count > 0) {
		decode_one(&steps[0], matcher, from, out);
	} else if (from->is_number) {
		add_number(from, out);
	} else {
		text_add(out, from->text, from->size);
	}
	text_cut(out, LABEL_TEXT_SIZE_MAX);
	for (size_t i = 1; i < count; i++) {
		struct text swap = *scratch;
		struct decoded step;

		*scratch = *out;
		*out = swap;
		text_clear(out);
		step = (struct decoded){ .text = scratch->data ? scratch->data : "",
					 .size = scratch->size };
		decode_one(&steps[i], matcher, &step, out);
		text_cut(out, LABEL_TEXT_SIZE_MAX);
	}
}

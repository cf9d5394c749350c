/* SPDX-License-Identifier: MIT */
/*
 * Text: a growing buffer, comparisons without regard to ASCII case, hashes, numbers.
 *
 * The functions that append a number or a hash a text run for each sample of an exposition or for
 * each event, so they are written for speed: numbers are written directly into the buffer, two
 * digits at a time, and hashes read eight bytes at a time. The other functions are simple.
 *
 * A hash without regard to case converts all capitals of a word of eight bytes at once. The last
 * word of a text overlaps the word before it, so that no bytes are handled one by one; since the
 * size is part of the start value, texts of different sizes do not become equal by this.
 *
 * Windows compares names without regard to case. Here only ASCII letters are compared that
 * way; other characters must be equal.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/utf8.h"

enum { TEXT_CAPACITY_MIN = 64, DECIMAL_U64_SIZE = 20 };

/* Makes room for size more bytes and a NUL. */
static bool text_reserve(struct etw_text *text, size_t size)
{
	size_t capacity = text->capacity;
	char *data;

	if (text->failed) {
		return false;
	}
	if (size < capacity - text->size) {
		return true; /* never reached with capacity 0 */
	}
	if (size > SIZE_MAX / 2 - text->size - 1) {
		text->failed = true;
		return false;
	}
	capacity = capacity < TEXT_CAPACITY_MIN ? TEXT_CAPACITY_MIN : capacity;
	while (capacity <= text->size + size) {
		capacity *= 2;
	}
	data = realloc(text->data, capacity);
	if (!data) {
		memory_note_loss();
		text->failed = true;
		return false;
	}
	text->data = data;
	text->capacity = capacity;
	return true;
}

void text_add(struct etw_text *text, const char *bytes, size_t size)
{
	if (!text_reserve(text, size)) {
		return;
	}
	if (size > 0) {
		memcpy(text->data + text->size, bytes, size);
	}
	text->size += size;
	text->data[text->size] = '\0';
}

void text_add_string(struct etw_text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

void text_add_char(struct etw_text *text, char c)
{
	text_add(text, &c, 1);
}

void text_add_arguments(struct etw_text *text, const char *format, va_list args)
{
	va_list again;
	int size;

	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	if (size < 0) {
		text->failed = true;
	} else if (text_reserve(text, (size_t)size)) {
		vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
		text->size += (size_t)size;
	}
	va_end(again);
}

void text_add_format(struct etw_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_add_arguments(text, format, args);
	va_end(args);
}

void text_add_u64(struct etw_text *text, uint64_t value)
{
	if (!text_reserve(text, DECIMAL_U64_SIZE)) {
		return;
	}
	text->size = (size_t)(put_u64(text->data + text->size, value) - text->data);
	text->data[text->size] = '\0';
}

void text_add_i64(struct etw_text *text, int64_t value)
{
	if (value < 0) {
		text_add_char(text, '-');
		text_add_u64(text, -(uint64_t)value);
	} else {
		text_add_u64(text, (uint64_t)value);
	}
}

void text_add_hex(struct etw_text *text, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	if (size > SIZE_MAX / 2) {
		text->failed = true;
		return;
	}
	if (!text_reserve(text, 2 * size)) {
		return;
	}
	for (size_t i = 0; i < size; i++) {
		text->data[text->size++] = digits[bytes[i] >> 4];
		text->data[text->size++] = digits[bytes[i] & 0xf];
	}
	text->data[text->size] = '\0';
}

void text_clear(struct etw_text *text)
{
	text->size = 0;
	text->failed = false;
	if (text->data) {
		text->data[0] = '\0';
	}
}

void text_free(struct etw_text *text)
{
	free(text->data);
	*text = (struct etw_text){ 0 };
}

bool text_equal_nocase(const char *a, size_t a_size, const char *b, size_t b_size)
{
	return a_size == b_size && text_starts_nocase(a, a_size, b, b_size);
}

bool text_starts_nocase(const char *text, size_t size, const char *start, size_t start_size)
{
	if (start_size > size) {
		return false;
	}
	for (size_t i = 0; i < start_size; i++) {
		if (ascii_lower(text[i]) != ascii_lower(start[i])) {
			return false;
		}
	}
	return true;
}

bool text_ends_nocase(const char *text, size_t size, const char *end, size_t end_size)
{
	return end_size <= size &&
	       text_starts_nocase(text + (size - end_size), end_size, end, end_size);
}

static inline uint64_t word_u64(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

static inline uint64_t word_u32(const char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

/* Sets bit 5 in each byte that is a capital ASCII letter. */
static inline uint64_t lower_word(uint64_t word)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t low_bits = word & each * 0x7f;
	uint64_t from_a = low_bits + each * (0x80 - 'A');  /* bit 7: at least 'A' */
	uint64_t above_z = low_bits + each * (0x7f - 'Z'); /* bit 7: above 'Z' */
	uint64_t capitals = from_a & ~above_z & ~word & each * 0x80;

	return word | capitals >> 2;
}

static inline uint64_t hash_word(uint64_t hash, uint64_t word, bool lower)
{
	hash = (hash ^ (lower ? lower_word(word) : word)) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Hashes eight bytes at a time; the last word overlaps the one before it. */
static inline uint64_t hash_bytes(const char *text, size_t size, uint64_t seed, bool lower)
{
	uint64_t hash = seed ^ size * UINT64_C(0xd6e8feb86659fd93);

	if (size >= 8) {
		for (size_t at = 0; at < size - 8; at += 8) {
			hash = hash_word(hash, word_u64(text + at), lower);
		}
		hash = hash_word(hash, word_u64(text + size - 8), lower);
	} else if (size >= 4) {
		hash = hash_word(hash, word_u32(text) << 32 | word_u32(text + size - 4), lower);
	} else if (size > 0) {
		hash = hash_word(hash,
				 (uint64_t)(uint8_t)text[0] << 16 |
					 (uint64_t)(uint8_t)text[size / 2] << 8 |
					 (uint64_t)(uint8_t)text[size - 1],
				 lower);
	}
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 32;
}

uint64_t text_hash(const char *text, size_t size, uint64_t seed)
{
	return hash_bytes(text, size, seed, false);
}

uint64_t text_hash_nocase(const char *text, size_t size, uint64_t seed)
{
	return hash_bytes(text, size, seed, true);
}

char *text_duplicate(const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy) {
		memory_note_loss();
		return NULL;
	}
	if (size > 0) {
		memcpy(copy, text, size);
	}
	copy[size] = '\0';
	return copy;
}

bool parse_u64(const char *text, size_t size, uint64_t *value)
{
	unsigned base = 10;
	uint64_t parsed = 0;

	if (size > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		size -= 2;
	}
	if (size == 0) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		char c = ascii_lower(text[i]);
		unsigned digit;

		if (c >= '0' && c <= '9') {
			digit = (unsigned)(c - '0');
		} else if (base == 16 && c >= 'a' && c <= 'f') {
			digit = (unsigned)(c - 'a') + 10;
		} else {
			return false;
		}
		if (parsed > (UINT64_MAX - digit) / base) {
			return false;
		}
		parsed = parsed * base + digit;
	}
	*value = parsed;
	return true;
}

bool parse_i64(const char *text, size_t size, int64_t *value)
{
	bool negative = size > 0 && text[0] == '-';
	bool sign = negative || (size > 0 && text[0] == '+');
	uint64_t magnitude;

	if (!parse_u64(text + sign, size - sign, &magnitude)) {
		return false;
	}
	if (negative) {
		if (magnitude > (uint64_t)INT64_MAX + 1) {
			return false;
		}
		*value = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
		return true;
	}
	if (magnitude > INT64_MAX) {
		return false;
	}
	*value = (int64_t)magnitude;
	return true;
}

bool parse_duration(const char *text, size_t size, uint64_t *ms)
{
	static const struct {
		const char *suffix; /* "ms" must precede "s", which also matches its end */
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		size_t suffix = strlen(units[i].suffix);
		uint64_t number;

		if (size > suffix && memcmp(text + size - suffix, units[i].suffix, suffix) == 0) {
			if (!parse_u64(text, size - suffix, &number)) {
				return false;
			}
			*ms = number > UINT64_MAX / units[i].ms ? UINT64_MAX : number * units[i].ms;
			return true;
		}
	}
	return false;
}

void text_add_utf8_clean(struct etw_text *text, const char *bytes, size_t size)
{
	size_t clean = 0; /* start of the valid part that is not added yet */
	size_t at = 0;

	if (size == 0) {
		bytes = ""; /* bytes may be NULL, and NULL + 0 is undefined */
	}
	while (at < size) {
		uint32_t codepoint;
		size_t taken;

		if ((uint8_t)bytes[at] < 0x80) {
			at++;
			continue;
		}
		taken = utf8_decode(bytes + at, size - at, &codepoint);
		if (codepoint == UTF8_REPLACEMENT) {
			text_add(text, bytes + clean, at - clean);
			text_add(text, "\xef\xbf\xbd", 3);
			clean = at + taken;
		}
		at += taken;
	}
	text_add(text, bytes + clean, size - clean);
}

void text_add_escape(struct etw_text *text, uint32_t codepoint)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = codepoint > 0 && codepoint < 0x80 ? strchr(escaped, (int)codepoint) : NULL;

	if (at) {
		text_add_char(text, '\\');
		text_add_char(text, letters[at - escaped]);
	} else {
		text_add_format(text, "\\u%04x", (unsigned)codepoint);
	}
}

void text_add_shown_bytes(struct etw_text *text, const char *bytes, size_t size)
{
	while (size > 0) {
		uint32_t codepoint;
		size_t taken = utf8_decode(bytes, size, &codepoint);

		if (utf8_steers_terminal(codepoint)) {
			text_add_escape(text, codepoint);
		} else {
			char encoded[4];

			text_add(text, encoded, utf8_encode(codepoint, encoded));
		}
		bytes += taken;
		size -= taken;
	}
}

void text_add_shown(struct etw_text *text, const char *string)
{
	text_add_shown_bytes(text, string, strlen(string));
}

/* ---- files ---- */

bool file_read_whole(const char *path, size_t most, char **bytes, size_t *size,
		     struct etw_error *err)
{
	struct os_file *file = os_file_open(path, err);
	char *read = NULL;
	bool done = false;
	uint64_t length;

	if (!file) {
		return false;
	}
	length = os_file_size(file);
	if (length > most) {
		error_set(err, ETW_ERROR_CONFIG, "has %llu bytes; at most %zu MiB is possible",
			  (unsigned long long)length, most >> 20);
		goto done;
	}
	read = malloc((size_t)length + 1);
	if (!read) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to read the file");
		goto done;
	}
	done = os_file_read(file, 0, read, (size_t)length, size, err);
	if (done) {
		*bytes = read;
		read = NULL;
	}

done:
	free(read);
	os_file_close(file);
	return done;
}

/* ---- HTML ---- */

static void add_character(struct etw_text *html, uint32_t codepoint)
{
	char bytes[4];

	switch (codepoint) {
	case '&':
		text_add_string(html, "&amp;");
		break;
	case '<':
		text_add_string(html, "&lt;");
		break;
	case '>':
		text_add_string(html, "&gt;");
		break;
	case '"':
		text_add_string(html, "&quot;");
		break;
	case '\'':
		text_add_string(html, "&#39;");
		break;
	default:
		if (utf8_steers_terminal(codepoint)) {
			codepoint = UTF8_REPLACEMENT;
		}
		text_add(html, bytes, utf8_encode(codepoint, bytes));
		break;
	}
}

void text_add_html(struct etw_text *html, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		uint32_t codepoint;

		text += utf8_decode(text, (size_t)(end - text), &codepoint);
		add_character(html, codepoint);
	}
}

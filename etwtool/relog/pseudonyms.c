/* SPDX-License-Identifier: MIT */
/*
 * Computes pseudonyms, which replace names in an anonymised recording.
 *
 * A pseudonym is a keyed hash (SipHash), so without the key it cannot be computed from a guessed
 * name. No table of names and pseudonyms is needed, so memory does not grow with the recording.
 * Each type of name has a tag that is hashed with it, so that a word and a number never share a
 * hash.
 *
 * Texts are read once from left to right. At the beginning of a word the forms that consist of
 * several words are tried first (GUIDs, addresses), because their words are short or are numbers,
 * which would stay unchanged. Ten letters of a pseudonym hold 47 bits: among 100,000 names, the
 * chance that two share a pseudonym is one in 28,000.
 *
 * Addresses are changed bit by bit; the bits before a bit decide whether it is flipped (J. Xu, J.
 * Fan, M. Ammar, S. Moon: "Prefix-preserving IP address anonymization", 2002). This is a
 * permutation, so different addresses stay different, and two addresses in one network stay in one
 * network. If the result has a special meaning, the permutation is applied again, until it has
 * none. That loop ends, because the cycle leads back to the original address, and the whole stays a
 * permutation.
 *
 * Windows compares names by a table of upper-case letters. lower() has the same effect for ASCII,
 * Latin, Greek and Cyrillic letters.
 */
#include <etw/schema.h>

#include "etwtool/relog/anonymise.h"

#include <stdlib.h>
#include <string.h>

#include "base/client_address.h"
#include "base/cursor.h"
#include "base/guid.h"
#include "base/os.h"
#include "base/utf8.h"
#include "config/builtin.h"

/* ---- the hash ---- */

static uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t keyed_hash(const struct hash_key *key, const void *bytes, size_t size)
{
	uint64_t v[4] = { key->words[0] ^ UINT64_C(0x736f6d6570736575),
			  key->words[1] ^ UINT64_C(0x646f72616e646f6d),
			  key->words[0] ^ UINT64_C(0x6c7967656e657261),
			  key->words[1] ^ UINT64_C(0x7465646279746573) };
	const uint8_t *at = bytes;
	uint64_t last = (uint64_t)size << 56;
	size_t left = size;

	for (; left >= 8; left -= 8, at += 8) {
		uint64_t word = etw_load_u64(at);

		v[3] ^= word;
		mix(v, 2);
		v[0] ^= word;
	}
	for (size_t i = 0; i < left; i++) {
		last |= (uint64_t)at[i] << 8 * i;
	}
	v[3] ^= last;
	mix(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

enum {
	WORD_LETTERS = 10,
	DIGITS_KEPT = 2,
	SUFFIX_MOST = 3,  /* most digits after a well-known word */
	ROW_DIGITS = 7,   /* least digits of numbers that form a row … */
	ROW_GROUPS = 4,   /* … or the least numbers of one with fewer digits */
	NUMBER_MOST = 32, /* most digits that are changed together */
	/* bytes of a word that are hashed; names in Windows have at most 255 code units */
	LOWERED_MOST = 256,
};

struct word {
	const char *at; /* points into the embedded table */
	size_t size;
};

struct pseudonyms {
	struct hash_key key;
	struct word *words; /* well-known words, sorted; owned */
	size_t word_count;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- the words that stay ---- */

static int compare_words(const void *left, const void *right)
{
	const struct word *a = left, *b = right;
	size_t common = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->at, b->at, common);

	return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

static const char *skip_blanks_and_comments(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n");
		if (at[0] != '#') {
			return at;
		}
		at += strcspn(at, "\n");
	}
}

static bool read_words(struct pseudonyms *pseudonyms)
{
	const char *at;
	size_t count = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		count = 0;
		for (at = skip_blanks_and_comments(builtin_well_known_names[0].text); *at != '\0';
		     at = skip_blanks_and_comments(at)) {
			size_t size = strcspn(at, " \t\r\n");

			if (pseudonyms->words) {
				pseudonyms->words[count] = (struct word){ at, size };
			}
			count++;
			at += size;
		}
		if (pass == 0) {
			pseudonyms->words = calloc(count, sizeof *pseudonyms->words);
			if (!pseudonyms->words) {
				return false;
			}
		}
	}
	pseudonyms->word_count = count;
	qsort(pseudonyms->words, count, sizeof *pseudonyms->words, compare_words);
	return true;
}

static bool is_listed(const struct pseudonyms *pseudonyms, const char *word, size_t size)
{
	struct word key = { word, size };

	return bsearch(&key, pseudonyms->words, pseudonyms->word_count, sizeof key,
		       compare_words) != NULL;
}

/* Returns whether a word stays. It is in lower case, with room for one more byte. */
static bool is_well_known(const struct pseudonyms *pseudonyms, char *word, size_t size)
{
	if (is_listed(pseudonyms, word, size)) {
		return true;
	}
	for (unsigned digits = 0; size > 0 && is_digit(word[size - 1]); digits++) {
		if (digits == SUFFIX_MOST) {
			return false;
		}
		size--;
	}
	if (size == 0) {
		return false;
	}
	{
		char digit = word[size];
		bool listed;

		word[size] = '#';
		listed = is_listed(pseudonyms, word, size + 1);
		word[size] = digit;
		return listed;
	}
}

struct pseudonyms *pseudonyms_new(const void *key, size_t size, struct etw_error *err)
{
	static const struct hash_key of_keys = { { UINT64_C(0x6e6f6e796d697365),
						   UINT64_C(0x6b65797300000000) } };
	struct pseudonyms *pseudonyms = calloc(1, sizeof *pseudonyms);

	if (!pseudonyms || !read_words(pseudonyms)) {
		error_no_memory(err, "the table of well-known names");
		pseudonyms_free(pseudonyms);
		return NULL;
	}
	if (key) {
		struct hash_key second = of_keys;

		second.words[0] ^= 1;
		pseudonyms->key.words[0] = keyed_hash(&of_keys, key, size);
		pseudonyms->key.words[1] = keyed_hash(&second, key, size);
	} else if (!os_random(&pseudonyms->key, sizeof pseudonyms->key)) {
		error_set(err, ETW_ERROR_SYSTEM, "the system gives no random numbers");
		pseudonyms_free(pseudonyms);
		return NULL;
	}
	return pseudonyms;
}

void pseudonyms_free(struct pseudonyms *pseudonyms)
{
	if (pseudonyms) {
		free(pseudonyms->words);
		free(pseudonyms);
	}
}

/* ---- words ---- */

static uint32_t lower(uint32_t c)
{
	if (c < 0x80) {
		return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
	}
	if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9) ||
	    (c >= 0x410 && c <= 0x42f)) {
		return c + 0x20;
	}
	if (c >= 0x400 && c <= 0x40f) {
		return c + 0x50;
	}
	if ((c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14a && c <= 0x177)) {
		return c | 1;
	}
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e)) {
		return c + (c & 1);
	}
	return c == 0x178 ? 0xff : c;
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* Returns the hash of a name; the tag is that of its type. */
static uint64_t hash_of(const struct pseudonyms *pseudonyms, char tag, const void *bytes,
			size_t size)
{
	uint8_t tagged[LOWERED_MOST + 8];

	size = size < LOWERED_MOST + 7 ? size : LOWERED_MOST + 7;
	tagged[0] = (uint8_t)tag;
	memcpy(tagged + 1, bytes, size);
	return keyed_hash(&pseudonyms->key, tagged, size + 1);
}

static size_t lower_word(const char *word, size_t size, char lowered[LOWERED_MOST + 4])
{
	size_t filled = 0;

	for (size_t i = 0; i < size && filled < LOWERED_MOST;) {
		uint32_t codepoint;

		i += utf8_decode(word + i, size - i, &codepoint);
		filled += utf8_encode(lower(codepoint), lowered + filled);
	}
	return filled;
}

/*
 * Changes the digits of a number. First the digits before a digit decide how it is shifted, then
 * the digits after it. Both steps can be undone with the key, so different numbers stay different.
 * That matters because there are few short numbers.
 */
static void permute_digits(const struct pseudonyms *pseudonyms, char *digits, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char *digit = &digits[i];
		uint64_t shift = hash_of(pseudonyms, (char)(size % 64), digits, i);

		*digit = (char)('0' + ((uint64_t)(*digit - '0') + shift % 10) % 10);
	}
	for (size_t i = size; i-- > 0;) {
		char *digit = &digits[i];
		uint64_t shift =
			hash_of(pseudonyms, (char)(64 + i % 32), digits + i + 1, size - i - 1);

		*digit = (char)('0' + ((uint64_t)(*digit - '0') + shift % 10) % 10);
	}
}

static bool add_number(const struct pseudonyms *pseudonyms, const char *digits, size_t size,
		       struct etw_text *out)
{
	char permuted[NUMBER_MOST];

	for (size_t at = 0; at < size; at += NUMBER_MOST) {
		size_t part = size - at < NUMBER_MOST ? size - at : NUMBER_MOST;

		memcpy(permuted, digits + at, part);
		/*
		 * The result must not be a number that stays, so the permutation is repeated, as
		 * for addresses.
		 */
		do {
			permute_digits(pseudonyms, permuted, part);
		} while (at == 0 && is_listed(pseudonyms, permuted, part));
		text_add(out, permuted, part);
	}
	return true;
}

static void add_pseudonym(const struct pseudonyms *pseudonyms, const char *lowered, size_t size,
			  struct etw_text *out)
{
	uint64_t hash = hash_of(pseudonyms, 'w', lowered, size);

	for (unsigned i = 0; i < WORD_LETTERS; i++) {
		text_add_char(out, (char)('a' + hash % 26));
		hash /= 26;
	}
}

static bool add_word(const struct pseudonyms *pseudonyms, const char *word, size_t size,
		     struct etw_text *out)
{
	char lowered[LOWERED_MOST + 4];
	size_t digits = 0, lowered_size;

	while (digits < size && is_digit(word[digits])) {
		digits++;
	}
	lowered_size = lower_word(word, size, lowered);
	if ((digits == size && size <= DIGITS_KEPT) || size == 1 ||
	    is_well_known(pseudonyms, lowered, lowered_size)) {
		text_add(out, word, size);
		return false;
	}
	if (digits == size) {
		return add_number(pseudonyms, word, size, out);
	}
	add_pseudonym(pseudonyms, lowered, lowered_size, out);
	return true;
}

/*
 * ---- forms of several words; each function returns the bytes it took, 0 if there is no match ----
 */

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t add_guid(const struct pseudonyms *pseudonyms, const char *at, size_t left,
		       struct etw_text *out, bool *changed)
{
	enum { SIZE = GUID_TEXT_SIZE - 1 };
	char text[GUID_TEXT_SIZE];
	struct etw_guid guid;

	if (left < SIZE || (left > SIZE && is_word(at[SIZE]))) {
		return 0;
	}
	memcpy(text, at, SIZE);
	text[SIZE] = '\0';
	if (!etw_guid_parse(text, &guid)) {
		return 0;
	}
	*changed |= pseudonyms_bytes(pseudonyms, guid.bytes, sizeof guid.bytes);
	guid_format(&guid, text);
	text_add(out, text, SIZE);
	return SIZE;
}

/* Reads a group of one or two hexadecimal digits; returns their number, 0 if it is another word. */
static size_t byte_group(const char *at, size_t left, uint8_t *byte)
{
	uint64_t value = 0;
	char digits[5] = "0x";
	size_t size = 0;

	while (size < 2 && size < left && is_hex(at[size])) {
		digits[2 + size] = at[size];
		size++;
	}
	if (size == 0 || (size < left && is_word(at[size]))) {
		return 0;
	}
	parse_u64(digits, 2 + size, &value);
	*byte = (uint8_t)value;
	return size;
}

/*
 * Replaces bytes in hexadecimal with one separator between them: an address of a network adapter
 * (00-1A-2B-3C-4D-5E), the name of an address of IPv6 in DNS (8.b.d.0.1.0.0.2.ip6.arpa), a text.
 * Digits alone are left to add_number_row().
 */
static size_t add_bytes(const struct pseudonyms *pseudonyms, const char *at, size_t left,
			struct etw_text *out, bool *changed)
{
	enum { GROUPS_LEAST = 4, GROUPS_MOST = 256, ADAPTER_GROUPS = 6, ADAPTER_SIZE = 17 };
	uint8_t bytes[GROUPS_MOST];
	char separator = '\0';
	size_t count = 0, size = 0, group, next = 0;
	bool letters = false;

	while (count < GROUPS_MOST &&
	       (group = byte_group(at + next, left - next, &bytes[count])) > 0) {
		letters |= !is_digit(at[next]) || !is_digit(at[next + group - 1]);
		count++;
		size = next + group;
		separator = count == 1 && size < left ? at[size] : separator;
		if (size == left || at[size] != separator || !strchr(" .-:,_", separator)) {
			break;
		}
		next = size + 1;
	}
	if (count < GROUPS_LEAST ||
	    (!letters && (count != ADAPTER_GROUPS || size != ADAPTER_SIZE))) {
		return 0;
	}
	if (count == GROUPS_MOST) { /* so many of a longer row that it does not end with too few */
		for (unsigned i = 0; i < GROUPS_LEAST; i++) {
			size -= at[size - 2] == separator ? 2 : 3;
			count--;
		}
	}
	*changed |= pseudonyms_bytes(pseudonyms, bytes, count);
	for (size_t i = 0, from = 0; i < count; i++, from++) {
		bool pair = from + 1 < size && at[from + 1] != separator;

		if (pair) {
			text_add_char(out, "0123456789abcdef"[bytes[i] / 16]);
			from++;
		}
		text_add_char(out, "0123456789abcdef"[bytes[i] % 16]);
		text_add(out, &separator, i + 1 < count ? 1 : 0);
		from++;
	}
	return size;
}

/* Returns the size of a character that is written as a code: %41, \u0041, &#65; or &#x41; — 0: it
 * is none. */
static size_t code_size(const char *at, size_t left)
{
	static const struct {
		const char *before;
		unsigned least, most; /* digits */
		bool hex;
		char after; /* NUL: nothing */
	} forms[] = {
		{ "%", 2, 2, true, '\0' },
		{ "\\u", 4, 4, true, '\0' },
		{ "&#x", 1, 6, true, ';' },
		{ "&#", 1, 7, false, ';' },
	};

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		size_t before = strlen(forms[i].before), digits = 0;

		if (left < before || memcmp(at, forms[i].before, before) != 0) {
			continue;
		}
		while (digits < forms[i].most && before + digits < left &&
		       (forms[i].hex ? is_hex(at[before + digits]) :
				       is_digit(at[before + digits]))) {
			digits++;
		}
		if (digits >= forms[i].least && forms[i].after == '\0') {
			return before + digits;
		}
		if (digits >= forms[i].least && before + digits < left &&
		    at[before + digits] == forms[i].after) {
			return before + digits + 1;
		}
	}
	return 0;
}

/* Replaces characters in codes, two or more, by one word. */
static size_t add_codes(const struct pseudonyms *pseudonyms, const char *at, size_t left,
			struct etw_text *out, bool *changed)
{
	char lowered[LOWERED_MOST + 4];
	size_t first = code_size(at, left), size = first, next = first;

	while (next > 0) {
		next = code_size(at + size, left - size);
		size += next;
	}
	if (size == first) {
		return 0;
	}
	add_pseudonym(pseudonyms, lowered, lower_word(at, size, lowered), out);
	*changed = true;
	return size;
}

/* Replaces two or more letters and digits, each followed by a NUL, as the word that they spell: a
 * text of UTF-16 in a field of single bytes. The last one may lack its NUL. */
static size_t add_wide_word(const struct pseudonyms *pseudonyms, const char *at, size_t left,
			    struct etw_text *out, bool *changed)
{
	char word[LOWERED_MOST];
	size_t size = 0, word_size = 0, letters = 0, before = out->size;

	while (size < left && is_word(at[size])) {
		uint32_t codepoint;
		size_t letter = utf8_decode(at + size, left - size, &codepoint);

		if (letter > sizeof word - word_size ||
		    (letter < left - size && at[size + letter] != '\0')) {
			break;
		}
		memcpy(word + word_size, at + size, letter);
		word_size += letter;
		size += letter + (letter < left - size);
		letters++;
	}
	if (letters < 2) {
		return 0;
	}
	if (add_word(pseudonyms, word, word_size, out)) {
		*changed = true;
	} else {
		out->size = before; /* it stays as it was spelt */
		text_add(out, at, size);
	}
	return size;
}

static size_t add_address(const struct pseudonyms *pseudonyms, const char *at, size_t left,
			  struct etw_text *out, bool *changed)
{
	char text[48];
	size_t size = 0, colons = 0, dots = 0;
	struct address_range range;

	while (size < left && size < sizeof text - 1 &&
	       (is_hex(at[size]) || at[size] == ':' || at[size] == '.')) {
		colons += at[size] == ':';
		text[size] = at[size];
		size++;
	}
	if (size < left && is_word(at[size])) {
		return 0;
	}
	if (colons == 1) { /* a port follows */
		size = (size_t)((const char *)memchr(text, ':', size) - text);
		colons = 0;
	}
	if (size > 0 && text[size - 1] == '.') {
		size--; /* the dot ends the sentence */
	}
	text[size] = '\0';
	for (size_t i = 0; i < size; i++) {
		dots += text[i] == '.';
	}
	if ((colons == 0 && dots != 3) || size < 2 || !address_range_parse(text, &range)) {
		return 0;
	}
	if (colons == 0) {
		*changed |= pseudonyms_ip4(pseudonyms, range.bytes + 12);
		etw_text_add_ip4(out, range.bytes + 12);
	} else {
		*changed |= pseudonyms_ip6(pseudonyms, range.bytes);
		etw_text_add_ip6(out, range.bytes);
	}
	return size;
}

/* Keeps the number in an extension such as "trace.etl.002". */
static size_t add_number_extension(const char *at, size_t left, struct etw_text *out)
{
	enum { EXTENSION_MOST = 3 };
	size_t size = 0;

	while (size < left && is_digit(at[size])) {
		size++;
	}
	if (size == 0 || size > EXTENSION_MOST ||
	    (size < left && (is_word(at[size]) || at[size] == '.'))) {
		return 0;
	}
	text_add(out, at, size);
	return size;
}

/*
 * Replaces numbers that have a meaning only together, such as a telephone number or a date. What is
 * longer than NUMBER_MOST takes several calls; *goes_on is then set between them, so that its end
 * does not stay.
 */
static size_t add_number_row(const struct pseudonyms *pseudonyms, const char *at, size_t left,
			     struct etw_text *out, bool *goes_on, bool *changed)
{
	char digits[NUMBER_MOST];
	size_t size = 0, end = 0, count = 0, groups = 0, taken = 0, between, group, next = 0;
	bool is_end = *goes_on;

	*goes_on = false;
	do {
		group = end;
		while (end < left && is_digit(at[end]) && count < NUMBER_MOST) {
			digits[count++] = at[end++];
		}
		if (end < left && is_word(at[end])) {
			*goes_on = groups > 0 && is_digit(at[end]);
			break; /* the digits belong to a word, or there are too many */
		}
		taken = count;
		size = end;
		groups++;
		for (between = 0; end < left && between < 2 && strchr(" .-/(),:;_", at[end]);) {
			end++;
			between++;
		}
	} while (between > 0 && end < left && is_digit(at[end]));
	if (groups == 0 ||
	    (!is_end && (groups < 2 || (taken < ROW_DIGITS && groups < ROW_GROUPS)))) {
		*goes_on = false;
		return 0;
	}
	size = *goes_on ? group : size;
	permute_digits(pseudonyms, digits, taken);
	for (size_t i = 0; i < size; i++) {
		text_add_char(out, is_digit(at[i]) ? digits[next++] : at[i]);
	}
	*changed = true;
	return size;
}

bool pseudonyms_text(const struct pseudonyms *pseudonyms, const char *text, size_t size,
		     struct etw_text *out)
{
	bool changed = false, is_name = false; /* is_name: the last word has a letter */
	bool row_goes_on = false;
	size_t at = 0;

	while (at < size) {
		size_t left = size - at, taken = 0;
		const char *next = text + at;

		if (is_hex(*next) || *next == ':') {
			taken = add_guid(pseudonyms, next, left, out, &changed);
			if (taken == 0) {
				taken = add_address(pseudonyms, next, left, out, &changed);
			}
			if (taken == 0) {
				taken = add_bytes(pseudonyms, next, left, out, &changed);
			}
		}
		if (taken == 0) {
			taken = add_wide_word(pseudonyms, next, left, out, &changed);
		}
		if (taken == 0 && is_name && at > 0 && next[-1] == '.') {
			taken = add_number_extension(next, left, out);
		}
		if (taken == 0 && is_digit(*next)) {
			taken = add_number_row(pseudonyms, next, left, out, &row_goes_on, &changed);
		}
		if (taken == 0) {
			taken = add_codes(pseudonyms, next, left, out, &changed);
		}
		if (taken == 0 && !is_word(*next)) {
			text_add_char(out, *next);
			taken = 1;
		}
		if (taken == 0) {
			is_name = false;
			while (taken < left && is_word(next[taken])) {
				is_name |= !is_digit(next[taken]);
				taken++;
			}
			changed |= add_word(pseudonyms, next, taken, out);
		}
		at += taken;
	}
	return changed;
}

/* ---- addresses ---- */

/* Flips the bits from `first` on; the bits before a bit decide whether it is flipped. */
static void permute_bits(const struct pseudonyms *pseudonyms, uint8_t *address, unsigned first,
			 unsigned bits)
{
	uint8_t before[17] = { 0 }; /* the bits before: first their number, then the bits */
	uint8_t result[16];

	memcpy(result, address, bits / 8);
	for (unsigned i = first; i < bits; i++) {
		memcpy(before + 1, address, i / 8);
		if (i % 8 > 0) {
			before[1 + i / 8] = (uint8_t)(address[i / 8] & (0xff00 >> i % 8));
		}
		before[0] = (uint8_t)i;
		if ((hash_of(pseudonyms, bits == 32 ? '4' : '6', before, 2 + i / 8) & 1) != 0) {
			result[i / 8] ^= (uint8_t)(0x80 >> i % 8);
		}
	}
	memcpy(address, result, bits / 8);
}

/* Returns how many bits state the purpose of an address; 32 means all, so the address stays. */
static unsigned type_bits4(const uint8_t a[4])
{
	if (a[0] == 0 || a[0] == 127 || a[0] >= 224) {
		return 32; /* this host, loopback, multicast, broadcast */
	}
	if (a[0] == 10) {
		return 8;
	}
	if (a[0] == 172 && (a[1] & 0xf0) == 16) {
		return 12;
	}
	if ((a[0] == 192 && a[1] == 168) || (a[0] == 169 && a[1] == 254)) {
		return 16;
	}
	return 0;
}

bool pseudonyms_ip4(const struct pseudonyms *pseudonyms, uint8_t address[4])
{
	unsigned fixed = type_bits4(address);

	if (fixed == 32) {
		return false;
	}
	do {
		permute_bits(pseudonyms, address, fixed, 32);
	} while (fixed == 0 && type_bits4(address) != 0);
	return true;
}

bool pseudonyms_ip6(const struct pseudonyms *pseudonyms, uint8_t address[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t zeros[15] = { 0 };
	unsigned fixed = 3; /* prefix length of global addresses, 2000::/3 */

	if (memcmp(address, mapped, sizeof mapped) == 0) {
		return pseudonyms_ip4(pseudonyms, address + sizeof mapped);
	}
	if ((memcmp(address, zeros, sizeof zeros) == 0 && address[15] <= 1) || address[0] == 0xff) {
		return false; /* unspecified, loopback, multicast */
	}
	if (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) {
		fixed = 64; /* link-local */
	} else if ((address[0] & 0xfe) == 0xfc) {
		fixed = 8; /* unique local */
	}
	permute_bits(pseudonyms, address, fixed, 128);
	return true;
}

/* ---- SIDs and identifiers ---- */

/*
 * Returns the index of the first sub-authority that is specific to a machine, domain or user.
 *
 * Source: "Well-known SID structures", [MS-DTYP] section 2.4.2.4.
 */
static unsigned first_private(const uint8_t *sid)
{
	enum { NT = 5, DOMAIN_ID = 21, BUILTIN = 32, LOGON = 5 };
	uint32_t first = sid[1] > 0 ? etw_load_u32(sid + 8) : 0;

	if (sid[7] == NT && (first == BUILTIN || first == LOGON)) {
		return UINT32_MAX;
	}
	return sid[7] == NT && first == DOMAIN_ID ? 1 : sid[1] <= 2 ? UINT32_MAX : 1;
}

bool pseudonyms_sid(const struct pseudonyms *pseudonyms, uint8_t *sid, size_t size)
{
	enum { FIRST_OF_MACHINE = 1000 }; /* lower relative ids are the same on all machines */
	uint8_t original[ETW_SID_SIZE_MOST];
	bool changed = false;

	if (etw_sid_size(sid, size) == 0) {
		return false;
	}
	memcpy(original, sid, etw_sid_size(sid, size));
	for (unsigned i = first_private(sid); i < sid[1]; i++) {
		size_t at = 8 + (size_t)4 * i;
		uint32_t value = (uint32_t)hash_of(pseudonyms, 's', original, at + 4);

		if (i >= 4 && etw_load_u32(original + at) < FIRST_OF_MACHINE) {
			continue;
		}
		store_u32(sid + at, value | FIRST_OF_MACHINE);
		changed = true;
	}
	return changed;
}

bool pseudonyms_bytes(const struct pseudonyms *pseudonyms, uint8_t *bytes, size_t size)
{
	bool zero = true;
	uint64_t hash;

	for (size_t i = 0; i < size && zero; i++) {
		zero = bytes[i] == 0;
	}
	if (zero) {
		return false;
	}
	hash = hash_of(pseudonyms, 'b', bytes, size);
	for (size_t i = 0; i < size; i++) {
		if (i > 0 && i % 8 == 0) {
			hash = hash_of(pseudonyms, 'c', &hash, sizeof hash);
		}
		bytes[i] = (uint8_t)(hash >> 8 * (i % 8));
	}
	return true;
}

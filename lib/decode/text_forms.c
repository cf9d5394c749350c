/* SPDX-License-Identifier: MIT */
/*
 * UTF-16, security identifiers and network addresses as text.
 *
 * The bytes are those of a payload: they have no alignment and can have any value. UTF-16 is
 * converted for almost every path and name, and these are nearly always ASCII, so eight units at a
 * time are tested and converted, and only the rest takes the slow way, one code point at a time.
 * Nothing fails: an unpaired surrogate becomes U+FFFD.
 *
 * Network addresses follow RFC 5952: the longest run of zero groups becomes "::" (the first one if
 * several are equally long), and an IPv4-mapped address ends in dotted form.
 */
#include <string.h>

#ifdef __SSE2__ /* every x86-64 */
#include <emmintrin.h>
#endif

#include "base/cursor.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lib/decode/schema.h"

/* ---- UTF-16 ---- */

enum { AT_ONCE = 8 }; /* units */

#ifdef __SSE2__

static inline bool has_nul(const uint8_t *at)
{
	__m128i units = _mm_loadu_si128((const __m128i *)(const void *)at);

	return _mm_movemask_epi8(_mm_cmpeq_epi16(units, _mm_setzero_si128())) != 0;
}

/* Writes eight units as bytes, unless one of them is not ASCII. */
static inline bool convert_ascii(const uint8_t *at, char out[AT_ONCE])
{
	__m128i units = _mm_loadu_si128((const __m128i *)(const void *)at);
	__m128i others = _mm_and_si128(units, _mm_set1_epi16(~0x7f));

	if (_mm_movemask_epi8(_mm_cmpeq_epi16(others, _mm_setzero_si128())) != 0xffff) {
		return false;
	}
	_mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(units, units));
	return true;
}

#else

/* Returns a value other than 0 if one of the four units of a word is 0 (Bit Twiddling Hacks, "has a
 * zero byte"). */
static inline uint64_t nul_in_word(uint64_t word)
{
	return (word - UINT64_C(0x0001000100010001)) & ~word & UINT64_C(0x8000800080008000);
}

static inline bool has_nul(const uint8_t *at)
{
	return (nul_in_word(etw_load_u64(at)) | nul_in_word(etw_load_u64(at + 8))) != 0;
}

/* Writes eight units as bytes, unless one of them is not ASCII. */
static inline bool convert_ascii(const uint8_t *at, char out[AT_ONCE])
{
	if (((etw_load_u64(at) | etw_load_u64(at + 8)) & UINT64_C(0xff80ff80ff80ff80)) != 0) {
		return false;
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		out[i] = (char)at[2 * i];
	}
	return true;
}

#endif

size_t utf16_length(const uint8_t *at, size_t units)
{
	size_t length = 0;

	while (units - length >= AT_ONCE && !has_nul(at + 2 * length)) {
		length += AT_ONCE;
	}
	while (length < units && (at[2 * length] | at[2 * length + 1]) != 0) {
		length++;
	}
	return length;
}

static bool is_lead(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_trail(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

void text_add_utf16(struct etw_text *text, const uint8_t *at, size_t units)
{
	char block[256];
	size_t filled = 0;

	for (size_t i = 0; i < units;) {
		uint32_t codepoint;

		if (sizeof block - filled < AT_ONCE) {
			text_add(text, block, filled);
			filled = 0;
		}
		if (units - i >= AT_ONCE && convert_ascii(at + 2 * i, block + filled)) {
			filled += AT_ONCE;
			i += AT_ONCE;
			continue;
		}
		codepoint = etw_load_u16(at + 2 * i++);
		if (codepoint < 0x80) {
			block[filled++] = (char)codepoint;
			continue;
		}
		if (is_lead(codepoint) && i < units && is_trail(etw_load_u16(at + 2 * i))) {
			codepoint = 0x10000 + ((codepoint - 0xd800) << 10) +
				    (etw_load_u16(at + 2 * i++) - 0xdc00u);
		}
		filled += utf8_encode(codepoint, block + filled); /* unpaired: U+FFFD */
	}
	text_add(text, block, filled);
}

/* ---- security identifiers ---- */

enum { SID_SUB_AUTHORITIES_MOST = 15 };

size_t etw_sid_size(const uint8_t *at, size_t size)
{
	size_t whole;

	if (size < 8 || at[0] != 1 || at[1] > SID_SUB_AUTHORITIES_MOST) {
		return 0;
	}
	whole = 8 + (size_t)4 * at[1];
	return whole <= size ? whole : 0;
}

void etw_text_add_sid(struct etw_text *text, const uint8_t *sid)
{
	uint64_t authority = 0; /* six bytes, the only big-endian ones */

	for (unsigned i = 2; i < 8; i++) {
		authority = authority << 8 | sid[i];
	}
	text_add_string(text, "S-1-");
	text_add_u64(text, authority);
	for (unsigned i = 0; i < sid[1]; i++) {
		text_add_char(text, '-');
		text_add_u64(text, etw_load_u32(sid + 8 + (size_t)4 * i));
	}
}

size_t kernel_sid_size(const uint8_t *at, size_t size, uint8_t pointer_size, const uint8_t **sid)
{
	size_t words = 2 * (size_t)pointer_size;
	size_t found;

	if (size < 4) {
		return 0;
	}
	found = size > words ? etw_sid_size(at + words, size - words) : 0;
	if (etw_load_u32(at) == 0) {
		if (found == 0 || at[words + 1] == 0 || etw_load_u32(at + words + 2) != 0) {
			*sid = NULL;
			return 4;
		}
	} else if (found == 0) {
		return 0;
	}
	*sid = at + words;
	return words + found;
}

/* ---- network addresses ---- */

enum { GROUPS = 8 };

void etw_text_add_ip4(struct etw_text *text, const uint8_t bytes[4])
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

/* Returns the length of the longest run of at least two zero groups, which becomes "::"; 0 if there
 * is none. Of equally long runs, the first one is used. */
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

void etw_text_add_ip6(struct etw_text *text, const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	unsigned zeros_at, zeros = longest_zeros(bytes, &zeros_at);

	if (memcmp(bytes, mapped, sizeof mapped) == 0) {
		text_add_string(text, "::ffff:");
		etw_text_add_ip4(text, bytes + sizeof mapped);
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

void etw_text_add_ip(struct etw_text *text, const uint8_t *ip, bool is_ip6)
{
	if (is_ip6) {
		etw_text_add_ip6(text, ip);
	} else {
		etw_text_add_ip4(text, ip);
	}
}

bool etw_socket_address_read(const uint8_t *at, size_t size, struct etw_socket_address *out)
{
	/* The family is little-endian; port and address are in network order. The sizes end with
	 * the address. */
	enum { INET = 2, INET6 = 23, INET_SIZE = 8, INET6_SIZE = 24 };
	unsigned family = size >= INET_SIZE ? etw_load_u16(at) : 0;

	if (family != INET && (family != INET6 || size < INET6_SIZE)) {
		return false;
	}
	out->is_ip6 = family == INET6;
	out->ip = at + (out->is_ip6 ? 8 : 4);
	out->port = (uint16_t)(at[2] << 8 | at[3]);
	return true;
}

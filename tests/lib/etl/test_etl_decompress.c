/* SPDX-License-Identifier: MIT */
/*
 * Streams are written item by item here, so that every length form can be asked for, and unpacked a
 * second time by a decoder that goes byte by byte as docs/etl-format.md section 2 reads. All blocks
 * end with their content: the sanitizers see every byte too many.
 */
#include "lib/etl/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "tests/support/chance.h"
#include "tests/support/exact_copy.h"

enum { STREAM_MAX = 1 << 20 };

/* A stream under construction, and what it unpacks to. */
struct stream {
	uint8_t *bytes;
	size_t size;
	size_t flags_at;
	unsigned items; /* in the group at flags_at */
	size_t half_byte_at;
	bool half_byte_open;
	uint8_t *plain;
	size_t plain_size;
};

static void stream_init(struct stream *s)
{
	*s = (struct stream){ .bytes = calloc(1, STREAM_MAX), .plain = calloc(1, STREAM_MAX) };
	assert_true(s->bytes && s->plain);
}

static void stream_done(struct stream *s)
{
	free(s->bytes);
	free(s->plain);
}

static void put(struct stream *s, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		s->bytes[s->size++] = (uint8_t)(value >> 8 * i);
	}
}

static void put_flag(struct stream *s, bool copy)
{
	if (s->items % 32 == 0) {
		s->flags_at = s->size;
		s->items = 0;
		put(s, 0, 4);
	}
	if (copy) {
		unsigned bit = 31 - s->items;

		s->bytes[s->flags_at + bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	s->items++;
}

static void literal(struct stream *s, uint8_t byte)
{
	put_flag(s, false);
	put(s, byte, 1);
	s->plain[s->plain_size++] = byte;
}

static void put_half_byte(struct stream *s, unsigned value)
{
	if (s->half_byte_open) {
		s->bytes[s->half_byte_at] |= (uint8_t)(value << 4);
		s->half_byte_open = false;
	} else {
		s->half_byte_at = s->size;
		s->half_byte_open = true;
		put(s, value, 1);
	}
}

/* wide: write a length that would fit the u16 as a u32. */
static void copy(struct stream *s, size_t distance, size_t length, bool wide)
{
	size_t rest = length - 3;

	put_flag(s, true);
	put(s, (distance - 1) << 3 | (rest < 7 ? rest : 7), 2);
	if (rest >= 7) {
		rest -= 7;
		put_half_byte(s, rest < 15 ? (unsigned)rest : 15);
		if (rest >= 15) {
			rest -= 15;
			put(s, rest < 255 ? rest : 255, 1);
			if (rest >= 255 || wide) {
				if (rest < 255) {
					s->bytes[s->size - 1] = 255;
				}
				rest += 22;
				if (wide || rest > 0xffff) {
					put(s, 0, 2);
					put(s, rest, 4);
				} else {
					put(s, rest, 2);
				}
			}
		}
	}
	for (size_t i = 0; i < length; i++, s->plain_size++) {
		s->plain[s->plain_size] = s->plain[s->plain_size - distance];
	}
}

/* The document's words as code. */
static bool unpack_slowly(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
			  size_t *made)
{
	size_t at = 0, half_byte_at = 0;
	bool half_byte = false;
	uint32_t flags = 0;
	unsigned left = 0;

	for (*made = 0; *made < out_size && at < in_size; left--, flags <<= 1) {
		size_t distance;
		uint64_t length;

		if (left == 0) {
			if (in_size - at < 4) {
				return false;
			}
			flags = etw_load_u32(in + at);
			at += 4;
			left = 32;
			if (at == in_size) {
				return true;
			}
		}
		if (!(flags >> 31)) {
			out[(*made)++] = in[at++];
			continue;
		}
		if (in_size - at < 2) {
			return false;
		}
		distance = (size_t)(etw_load_u16(in + at) >> 3) + 1;
		length = etw_load_u16(in + at) & 7;
		at += 2;
		if (length == 7) {
			if (half_byte) {
				length = in[half_byte_at] >> 4;
				half_byte = false;
			} else {
				if (at == in_size) {
					return false;
				}
				half_byte_at = at;
				half_byte = true;
				length = in[at++] & 15;
			}
			if (length == 15) {
				if (at == in_size) {
					return false;
				}
				length = in[at++];
				if (length == 255) {
					if (in_size - at < 2) {
						return false;
					}
					length = etw_load_u16(in + at);
					at += 2;
					if (length == 0) {
						if (in_size - at < 4) {
							return false;
						}
						length = etw_load_u32(in + at);
						at += 4;
					}
					if (length < 22) {
						return false;
					}
					length -= 22;
				}
				length += 15;
			}
			length += 7;
		}
		length += 3;
		if (distance > *made || length > out_size - *made) {
			return false;
		}
		for (; length > 0; length--, (*made)++) {
			out[*made] = out[*made - distance];
		}
	}
	return true;
}

/* Unpacks in blocks of exact size and compares with the slow decoder. Returns whether the stream
 * was good. */
static bool unpack_both(const uint8_t *in, size_t in_size, size_t out_size, const void *plain,
			size_t plain_size)
{
	uint8_t *exact = exact_copy(in, in_size);
	uint8_t *out = malloc(out_size ? out_size : 1);
	uint8_t *slow = malloc(out_size ? out_size : 1);
	size_t made = 12345, slow_made;
	bool good = etl_decompress(exact, in_size, out, out_size, &made);

	assert_int_equal(good, unpack_slowly(in, in_size, slow, out_size, &slow_made));
	assert_int_equal(made, slow_made);
	assert_memory_equal(out, slow, made);
	if (plain) {
		assert_int_equal(made, plain_size);
		assert_memory_equal(out, plain, made);
	}
	free(exact);
	free(out);
	free(slow);
	return good;
}

static void every_length_form_unpacks(void **state)
{
	static const size_t lengths[] = { 3,   9,   10,   11,    24,    25,    26,    278, 279,
					  280, 281, 1000, 65535, 65538, 65539, 65600, 3,   100000 };
	static const size_t distances[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 100 };

	(void)state;
	for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
		for (int wide = 0; wide < 2; wide++) {
			struct stream s;

			stream_init(&s);
			for (unsigned i = 0; i < 100; i++) {
				literal(&s, (uint8_t)(i * 7));
			}
			for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
				copy(&s, distances[d], lengths[i], wide);
				literal(&s, (uint8_t)i);
			}
			assert_true(
				unpack_both(s.bytes, s.size, s.plain_size, s.plain, s.plain_size));
			stream_done(&s);
		}
	}
}

static void the_farthest_copy_is_8192_back(void **state)
{
	struct stream s;

	(void)state;
	stream_init(&s);
	for (unsigned i = 0; i < 8192; i++) {
		literal(&s, (uint8_t)(i >> 3));
	}
	copy(&s, 8192, 50, false);
	assert_true(unpack_both(s.bytes, s.size, s.plain_size, s.plain, s.plain_size));
	stream_done(&s);
}

static void output_that_is_full_ends_the_stream(void **state)
{
	struct stream s;

	(void)state;
	stream_init(&s);
	for (unsigned i = 0; i < 300; i++) {
		literal(&s, (uint8_t)i);
	}
	for (size_t size = 0; size <= 300; size++) {
		assert_true(unpack_both(s.bytes, s.size, size, s.plain, size));
	}
	stream_done(&s);
}

static void input_may_end_between_items_only(void **state)
{
	static const struct {
		const char *name;
		size_t size;
		uint8_t bytes[16];
		bool good;
		size_t made;
	} cases[] = {
		{ "nothing", 0, { 0 }, true, 0 },
		{ "half a flag word", 3, { 0 }, false, 0 },
		{ "a flag word alone", 4, { 0, 0, 0, 0x80 }, true, 0 },
		{ "one literal", 5, { 0, 0, 0, 0, 'a' }, true, 1 },
		{ "half a code word", 6, { 0, 0, 0, 0x40, 'a', 0 }, false, 1 },
		{ "a copy", 7, { 0, 0, 0, 0x40, 'a', 0, 0 }, true, 4 },
		{ "no half byte", 7, { 0, 0, 0, 0x40, 'a', 7, 0 }, false, 1 },
		{ "a half byte", 8, { 0, 0, 0, 0x40, 'a', 7, 0, 14 }, true, 25 },
		{ "no byte", 8, { 0, 0, 0, 0x40, 'a', 7, 0, 15 }, false, 1 },
		{ "a byte", 9, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 1 }, true, 27 },
		{ "half a u16", 10, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 1 }, false, 1 },
		{ "a u16", 11, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 22, 0 }, true, 26 },
		{ "a u16 below 22", 11, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 21, 0 }, false, 1 },
		{ "no u32", 11, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 0, 0 }, false, 1 },
		{ "a u32", 15, { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 0, 0, 22, 0, 0, 0 }, true, 26 },
		{ "a u32 of 4 GiB",
		  15,
		  { 0, 0, 0, 0x40, 'a', 7, 0, 15, 255, 0, 0, 255, 255, 255, 255 },
		  false,
		  1 },
		{ "a copy of nothing", 6, { 0, 0, 0, 0x80, 0, 0 }, false, 0 },
		{ "a copy from before the start", 7, { 0, 0, 0, 0x40, 'a', 8, 0 }, false, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t out[100];
		size_t made;

		print_message("  %s\n", cases[i].name);
		assert_int_equal(unpack_both(cases[i].bytes, cases[i].size, sizeof out, NULL, 0),
				 cases[i].good);
		etl_decompress(cases[i].bytes, cases[i].size, out, sizeof out, &made);
		assert_int_equal(made, cases[i].made);
	}
}

static void more_output_than_fits_is_refused(void **state)
{
	struct stream s;

	(void)state;
	stream_init(&s);
	literal(&s, 'x');
	copy(&s, 1, 400, false);
	assert_true(unpack_both(s.bytes, s.size, 401, s.plain, 401));
	assert_false(unpack_both(s.bytes, s.size, 400, NULL, 0));
	stream_done(&s);
}

/* Both loops, and every way from one into the other: streams of many shapes, whole, cut and
 * damaged. */
static void streams_of_chance_unpack_as_written(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		uint64_t copies = chance(100);
		unsigned items = 1 + (unsigned)chance(3000);
		size_t longest = 4 + (size_t)chance(round % 10 == 0 ? 3000 : 40);
		struct stream s;
		bool good;

		stream_init(&s);
		literal(&s, 1);
		for (unsigned i = 0; i < items && s.plain_size < STREAM_MAX / 2; i++) {
			if (chance(100) < copies) {
				size_t far = s.plain_size < 8192 ? s.plain_size : 8192;

				copy(&s,
				     1 + (size_t)chance(chance(2) ? far :
							far < 20  ? far :
								    20),
				     3 + (size_t)chance(longest), false);
			} else {
				literal(&s, (uint8_t)chance(256));
			}
		}
		good = unpack_both(s.bytes, s.size, s.plain_size, s.plain, s.plain_size);
		assert_true(good);
		unpack_both(s.bytes, (size_t)chance(s.size), s.plain_size, NULL, 0);
		for (unsigned i = 0; i < 5; i++) {
			s.bytes[chance(s.size)] = (uint8_t)chance(256);
			unpack_both(s.bytes, s.size, (size_t)chance(s.plain_size + 10), NULL, 0);
		}
		stream_done(&s);
	}
}

static void what_the_builder_packs_unpacks(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		size_t size = (size_t)chance(70000);
		uint8_t *plain = malloc(size + 1);
		uint8_t *packed = malloc(etl_compress_bound(size));
		uint64_t letters = 1 + chance(200);
		size_t packed_size;

		assert_true(plain && packed);
		for (size_t i = 0; i < size; i++) {
			plain[i] = (uint8_t)chance(letters);
		}
		packed_size = etl_compress(plain, size, packed);
		assert_true(unpack_both(packed, packed_size, size, plain, size));
		free(plain);
		free(packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_form_unpacks),
		cmocka_unit_test(the_farthest_copy_is_8192_back),
		cmocka_unit_test(output_that_is_full_ends_the_stream),
		cmocka_unit_test(input_may_end_between_items_only),
		cmocka_unit_test(more_output_than_fits_is_refused),
		cmocka_unit_test(streams_of_chance_unpack_as_written),
		cmocka_unit_test(what_the_builder_packs_unpacks),
	};

	return cmocka_run_group_tests_name("etl_decompress", tests, NULL, NULL);
}

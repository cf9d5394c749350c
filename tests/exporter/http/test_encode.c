/* SPDX-License-Identifier: MIT */
/*
 * Encoders: a page that was compressed in chunks is the page again, in bounded memory.
 */
#include "exporter/http/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"

enum { CHUNK_MOST = 64 * 1024 };

struct output {
	struct etw_text bytes;
	unsigned chunks, refuse_at; /* 0: none */
};

static bool take(void *context, const char *bytes, size_t size)
{
	struct output *output = context;

	assert_in_range(size, 1, CHUNK_MOST);
	text_add(&output->bytes, bytes, size);
	return ++output->chunks != output->refuse_at;
}

static struct etw_text gunzip(const struct etw_text *bytes)
{
	z_stream stream = { .next_in = (Bytef *)bytes->data, .avail_in = (uInt)bytes->size };
	struct etw_text page = { 0 };
	char part[8192];
	int result;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	do {
		stream.next_out = (Bytef *)part;
		stream.avail_out = sizeof part;
		result = inflate(&stream, Z_NO_FLUSH);
		assert_true(result == Z_OK || result == Z_STREAM_END);
		text_add(&page, part, sizeof part - stream.avail_out);
	} while (result != Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
	return page;
}

/* With the window that RFC 9659 lets a client have: 8 MB. */
static struct etw_text unzstd(const struct etw_text *bytes)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	ZSTD_inBuffer in = { .src = bytes->data, .size = bytes->size };
	struct etw_text page = { 0 };
	char part[8192];
	size_t result;

	assert_non_null(zstd);
	assert_false(ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 23)));
	do {
		ZSTD_outBuffer out = { .dst = part, .size = sizeof part };

		result = ZSTD_decompressStream(zstd, &out, &in);
		assert_false(ZSTD_isError(result));
		text_add(&page, part, out.pos);
	} while (result != 0);
	assert_int_equal(in.pos, in.size);
	ZSTD_freeDCtx(zstd);
	return page;
}

static void expect_page(enum content_encoding encoding, const struct etw_text *page, size_t chunk)
{
	struct output output = { .refuse_at = 0 };
	struct encoder *encoder = encoder_new(encoding, take, &output);
	struct etw_text again;

	assert_non_null(encoder);
	for (size_t at = 0; at < page->size; at += chunk) {
		size_t left = page->size - at;

		assert_true(encoder_add(encoder, page->data + at, left < chunk ? left : chunk));
	}
	assert_true(encoder_end(encoder));
	encoder_free(encoder);
	again = encoding == ENCODING_GZIP ? gunzip(&output.bytes) : unzstd(&output.bytes);
	assert_int_equal(again.size, page->size);
	if (page->size > 0) {
		assert_memory_equal(again.data, page->data, page->size);
	}
	text_free(&again);
	text_free(&output.bytes);
}

static const enum content_encoding encodings[] = { ENCODING_GZIP, ENCODING_ZSTD };

/* Bytes that do not compress, so that the output is as long as the input. */
static void add_noise(struct etw_text *page, size_t size)
{
	uint64_t random = 88172645463325252u;

	for (size_t i = 0; i < size; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		text_add_char(page, (char)(random >> 32));
	}
}

static void a_page_comes_back(void **state)
{
	static const size_t chunks[] = { 1000, 65536, 70000, 1 << 22 };
	struct etw_text page = { 0 };

	(void)state;
	for (int i = 0; i < 40000; i++) {
		text_add_format(&page, "etw_events_total{process=\"%d\"} %d\n", i, i * 7919);
	}
	add_noise(&page, 400000);
	assert_false(page.failed);
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof chunks / sizeof chunks[0]; j++) {
			expect_page(encodings[i], &page, chunks[j]);
		}
	}
	text_free(&page);
}

/* Around the sizes at which a buffer is full. */
static void a_page_of_any_size_comes_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 65500, 65505, 65511, 65535, 65536, 65537, 131072 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct etw_text page = { 0 };

		add_noise(&page, sizes[i]);
		for (size_t j = 0; j < 2; j++) {
			expect_page(encodings[j], &page, 65536);
			expect_page(encodings[j], &page, 7);
		}
		text_free(&page);
	}
}

static void nothing_is_sent_after_a_refusal(void **state)
{
	struct etw_text page = { 0 };

	(void)state;
	add_noise(&page, 1000000);
	for (size_t i = 0; i < 2; i++) {
		struct output output = { .refuse_at = 2 };
		struct encoder *encoder = encoder_new(encodings[i], take, &output);

		assert_false(encoder_add(encoder, page.data, page.size));
		assert_false(encoder_add(encoder, page.data, page.size));
		assert_false(encoder_end(encoder));
		assert_int_equal(output.chunks, 2);
		encoder_free(encoder);
		text_free(&output.bytes);
	}
	text_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_comes_back),
		cmocka_unit_test(a_page_of_any_size_comes_back),
		cmocka_unit_test(nothing_is_sent_after_a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

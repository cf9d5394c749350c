/* SPDX-License-Identifier: MIT */
/*
 * Compresses with gzip and zstd as streams.
 *
 * Both libraries take input and give output in portions of their own choice. encode() continues
 * until all input is taken or, at the end of the page, until all output is given. Output is
 * collected in a buffer as large as the exposition's chunks, so that few writes go to the client.
 *
 * The levels were measured on a page of 300,000 series (28.6 MB). zlib's level 2 is as fast as 1
 * (365 MB/s; 3.0 instead of 3.2 MB), 3 takes a quarter longer for 2.8 MB. zstd is twice as fast at
 * its level 1, with 3.0 MB; levels 2 and 3 are no smaller. `etw_bench encode` compares with zlib's
 * level 1 on the whole page. A zstd stream states how much memory its reader needs: RFC 9659 allows
 * 8 MB, level 1 needs 512 KiB.
 */
#include "exporter/http/negotiate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	GZIP_LEVEL = 2,
	GZIP_WINDOW_BITS = 15 + 16, /* 32 KiB, with the head of gzip */
	GZIP_MEMORY_LEVEL = 8,      /* 256 KiB in all */
	ZSTD_LEVEL = 1,
	ZSTD_WINDOW_BITS = 19,
	OUTPUT_SIZE = 64 * 1024,
};

struct encoder {
	enum content_encoding encoding;
	exposition_sink *sink;
	void *context;
	z_stream gzip;
	bool gzip_open;
	ZSTD_CCtx *zstd; /* owned */
	size_t waiting;  /* bytes in output that are not sent yet */
	bool failed;
	char output[OUTPUT_SIZE];
};

const char *encoding_name(enum content_encoding encoding)
{
	static const char *const names[] = {
		[ENCODING_IDENTITY] = NULL,
		[ENCODING_GZIP] = "gzip",
		[ENCODING_ZSTD] = "zstd",
	};

	return names[encoding];
}

static bool open_gzip(struct encoder *encoder)
{
	encoder->gzip_open = deflateInit2(&encoder->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
					  GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
	return encoder->gzip_open;
}

static bool open_zstd(struct encoder *encoder)
{
	static const struct {
		ZSTD_cParameter parameter;
		int value;
	} settings[] = {
		{ ZSTD_c_compressionLevel, ZSTD_LEVEL },
		{ ZSTD_c_windowLog, ZSTD_WINDOW_BITS },
		{ ZSTD_c_checksumFlag, 1 },
	};

	encoder->zstd = ZSTD_createCCtx();
	for (size_t i = 0; encoder->zstd && i < sizeof settings / sizeof settings[0]; i++) {
		if (ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, settings[i].parameter,
							settings[i].value))) {
			return false;
		}
	}
	return encoder->zstd != NULL;
}

struct encoder *encoder_new(enum content_encoding encoding, exposition_sink *sink, void *context)
{
	struct encoder *encoder = calloc(1, sizeof *encoder);

	if (!encoder) {
		return NULL;
	}
	encoder->encoding = encoding;
	encoder->sink = sink;
	encoder->context = context;
	if (!(encoding == ENCODING_GZIP ? open_gzip(encoder) : open_zstd(encoder))) {
		encoder_free(encoder);
		return NULL;
	}
	return encoder;
}

/* Calls the library once, which takes or gives at least one byte. Sets *ended after the last byte
 * of output. Returns false if the library fails. */
static bool step_gzip(struct encoder *encoder, const char **at, size_t *left, bool last,
		      bool *ended)
{
	/* The library counts bytes in 32 bits. */
	uInt taken = *left < UINT32_MAX / 2 ? (uInt)*left : UINT32_MAX / 2;
	size_t room = OUTPUT_SIZE - encoder->waiting;
	int result;

	/* zlib does not write to the input; its interface is older than const. */
	memcpy(&encoder->gzip.next_in, at, sizeof *at);
	encoder->gzip.avail_in = taken;
	encoder->gzip.next_out = (Bytef *)encoder->output + encoder->waiting;
	encoder->gzip.avail_out = (uInt)room;
	result = deflate(&encoder->gzip, last && taken == *left ? Z_FINISH : Z_NO_FLUSH);
	*at += taken - encoder->gzip.avail_in;
	*left -= taken - encoder->gzip.avail_in;
	encoder->waiting += room - encoder->gzip.avail_out;
	*ended = result == Z_STREAM_END || (!last && *left == 0 && encoder->gzip.avail_out > 0);
	return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

static bool step_zstd(struct encoder *encoder, const char **at, size_t *left, bool last,
		      bool *ended)
{
	ZSTD_inBuffer in = { .src = *at, .size = *left };
	ZSTD_outBuffer out = { .dst = encoder->output,
			       .size = OUTPUT_SIZE,
			       .pos = encoder->waiting };
	size_t result =
		ZSTD_compressStream2(encoder->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);

	*at += in.pos;
	*left -= in.pos;
	encoder->waiting = out.pos;
	*ended = last ? result == 0 : *left == 0;
	return !ZSTD_isError(result);
}

static void send_waiting(struct encoder *encoder)
{
	if (encoder->waiting > 0 && !encoder->failed) {
		encoder->failed =
			!encoder->sink(encoder->context, encoder->output, encoder->waiting);
	}
	encoder->waiting = 0;
}

static bool encode(struct encoder *encoder, const char *bytes, size_t size, bool last)
{
	bool ended = false;

	while (!encoder->failed && !ended) {
		bool good = encoder->encoding == ENCODING_GZIP ?
				    step_gzip(encoder, &bytes, &size, last, &ended) :
				    step_zstd(encoder, &bytes, &size, last, &ended);

		encoder->failed |= !good;
		if (encoder->waiting == OUTPUT_SIZE) {
			send_waiting(encoder);
		}
	}
	return !encoder->failed;
}

bool encoder_add(void *context, const char *bytes, size_t size)
{
	return encode(context, bytes, size, false);
}

bool encoder_end(struct encoder *encoder)
{
	encode(encoder, "", 0, true);
	send_waiting(encoder);
	return !encoder->failed;
}

void encoder_free(struct encoder *encoder)
{
	if (!encoder) {
		return;
	}
	if (encoder->gzip_open) {
		deflateEnd(&encoder->gzip);
	}
	ZSTD_freeCCtx(encoder->zstd);
	free(encoder);
}

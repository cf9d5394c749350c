/* SPDX-License-Identifier: MIT */
/*
 * Chooses what a client accepts: the format of /metrics by Accept, its encoding by Accept-Encoding.
 *
 * The functions depend only on the value of the header, which may have any bytes; NULL: the client
 * has not sent the header. A scrape is never refused: a client that accepts none of our formats
 * gets the text format, and one that accepts no encoding gets the plain page.
 */
#ifndef EXPORTER_HTTP_NEGOTIATE_H
#define EXPORTER_HTTP_NEGOTIATE_H

#include <stdint.h>

#include "metrics/exposition.h"

struct accepted_format {
	enum exposition_format format;
	/* The scheme for names that the client requested ("underscores"), to be repeated in the
	 * Content-Type; NULL: none. All our names are the same in every scheme. Constant. */
	const char *escaping;
};

/*
 * Returns the format with the greatest weight (q). If weights are equal, a format that the header
 * names has precedence over one that only a wildcard accepts. Among named formats the first in the
 * header is chosen, among those of a wildcard the text format.
 */
struct accepted_format negotiate_format(const char *accept);

enum content_encoding { ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD };

/*
 * Returns the encoding with the greatest weight. If weights are equal, the order is zstd, gzip,
 * identity. The header must name zstd, because clients that do not know zstd also send "*".
 */
enum content_encoding negotiate_encoding(const char *accept_encoding);

/* ---- the time limit ---- */

/*
 * Computes how long a scrape may take. Prometheus sends the time after which it gives up in the
 * header X-Prometheus-Scrape-Timeout-Seconds.
 */

/* The greatest limit, which also applies to a scrape without the header. */
#define TIME_LIMIT_MAX_NS UINT64_C(60000000000)

/*
 * Returns the value of the header minus offset_ns, but at least half of the value and at most
 * TIME_LIMIT_MAX_NS. Returns TIME_LIMIT_MAX_NS if header is NULL or not a positive number of
 * seconds.
 */
uint64_t time_limit_ns(const char *header, uint64_t offset_ns);

/* ---- encoding (encode.c) ---- */

/*
 * Compresses a page while it is sent: gzip and zstd. encode.c is the only file that includes zlib
 * and libzstd.
 *
 * An encoder takes a page in chunks, as the exposition writes them, and passes compressed chunks on
 * to another sink. Neither the plain nor the compressed page is in memory as a whole. One thread at
 * a time uses an encoder.
 */

struct encoder; /* opaque */

/* Returns the value of Content-Encoding for an encoding; NULL for identity, which needs no
 * header. */
const char *encoding_name(enum content_encoding encoding);

/* Makes an encoder for gzip or zstd. The encoder calls the sink with chunks of 1 byte to 64 KiB.
 * Returns NULL without memory. */
struct encoder *encoder_new(enum content_encoding encoding, exposition_sink *sink, void *context);

/* Takes a chunk of the plain page; it is an exposition_sink whose context is the encoder. Returns
 * false once the encoder's own sink has refused a chunk, or without memory. */
bool encoder_add(void *encoder, const char *bytes, size_t size);

/* Passes on the remaining bytes. Returns false as encoder_add() does. */
bool encoder_end(struct encoder *encoder);

/* NULL is fine. */
void encoder_free(struct encoder *encoder);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Compresses a page while it is sent: gzip and zstd. encode.c is the only file that includes zlib
 * and libzstd.
 *
 * An encoder takes a page in chunks, as the exposition writes them, and passes compressed chunks on
 * to another sink. Neither the plain nor the compressed page is in memory as a whole. One thread at
 * a time uses an encoder.
 */
#ifndef EXPORTER_HTTP_ENCODE_H
#define EXPORTER_HTTP_ENCODE_H

#include "exporter/http/negotiate.h"
#include "metrics/exposition.h"

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

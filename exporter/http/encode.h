/* SPDX-License-Identifier: MIT */
/*
 * Compresses a page while it is sent: gzip and zstd. encode.c is the only file that includes zlib
 * and libzstd.
 *
 * An encoder takes a page in chunks, as the exposition writes them, and passes compressed chunks on
 * to another sink. Neither page is in memory as a whole. One thread at a time.
 */
#ifndef EXPORTER_HTTP_ENCODE_H
#define EXPORTER_HTTP_ENCODE_H

#include "exporter/http/negotiate.h"
#include "metrics/exposition.h"

struct encoder; /* opaque */

/* The name of an encoding for Content-Encoding; NULL: identity, which has none. */
const char *encoding_name(enum content_encoding encoding);

/* For gzip and zstd. The encoder calls the sink with 1 to 64 KiB. NULL without memory. */
struct encoder *encoder_new(enum content_encoding encoding, exposition_sink *sink, void *context);

/* An exposition_sink for the plain page; the context is the encoder. False once the sink has
 * refused a chunk, or without memory. */
bool encoder_add(void *encoder, const char *bytes, size_t size);

/* Passes on what is left. False as encoder_add(). */
bool encoder_end(struct encoder *encoder);

/* NULL is fine. */
void encoder_free(struct encoder *encoder);

#endif

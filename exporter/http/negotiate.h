/* SPDX-License-Identifier: MIT */
/*
 * Chooses what a client accepts: the format of /metrics by Accept, its encoding by Accept-Encoding,
 * the families by the query, and how long the scrape may take.
 *
 * The functions for headers depend only on the value of the header, which may have any bytes; NULL:
 * the client has not sent the header. A scrape is never refused: a client that accepts none of our
 * formats gets the text format, and one that accepts no encoding gets the plain page.
 */
#ifndef EXPORTER_HTTP_NEGOTIATE_H
#define EXPORTER_HTTP_NEGOTIATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "exporter/http/server.h"
#include "metrics/exposition.h"
#include "metrics/registry.h"

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

/* ---- the families of a scrape ---- */

/*
 * Chooses the families of a scrape by collect[] and exclude[] of its query, as other exporters do.
 *
 * Both name collectors. Families without a collector have two further names: `exporter` means the
 * families etw_exporter_* and process_*, which --web.disable-exporter-metrics leaves out, and
 * `health` means the others: sessions, consumers, losses, tables, replays.
 */

struct collect {
	bool everything;     /* the scrape has every family; the other members are unset */
	bool health;         /* the families of `health` */
	bool exporter;       /* those of `exporter` */
	struct map families; /* address of a collector's family -> bool: the scrape has it */
};

/*
 * Parses the query of a request (as it arrived; NULL: none). The caller calls collect_done() in
 * either case. options->collectors is called only if the query has collect[] or exclude[]. Returns
 * an HTTP status: 200; 400 with a sentence about the query in why; 500 without memory.
 */
int collect_init(struct collect *collect, const char *query, const struct http_options *options,
		 struct etw_text *why);
void collect_done(struct collect *collect);

/* Returns whether the scrape has a family; context is a struct collect. */
bool collect_includes(void *context, const struct family *family);

#endif

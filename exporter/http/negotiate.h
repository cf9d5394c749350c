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

#endif

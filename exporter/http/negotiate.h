/* SPDX-License-Identifier: MIT */
/*
 * What a client accepts: the format of /metrics by Accept, its encoding by Accept-Encoding.
 *
 * Pure functions of a header's value, for any bytes; NULL: the client has not sent the header. A
 * scrape is never refused: a client that accepts nothing we have gets the text format, and one that
 * accepts no encoding gets the plain page.
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
 * The format with the greatest weight (q). Of formats with the same weight one that is named comes
 * before one that only a wildcard accepts; then the one that is named first; of a wildcard's, text.
 */
struct accepted_format negotiate_format(const char *accept);

enum content_encoding { ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD };

/*
 * The encoding with the greatest weight; with the same weight zstd, gzip, identity in this order.
 * zstd must be named, because "*" also comes from clients that have never heard of it.
 */
enum content_encoding negotiate_encoding(const char *accept_encoding);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads pages of another exporter over HTTP or HTTPS, with the client of OpenSSL's libcrypto
 * (OSSL_HTTP_get(3)).
 */
#ifndef HTTP_FETCH_H
#define HTTP_FETCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

struct fetch; /* opaque */

struct fetch_options {
	/* "http://host:9189/metrics" or https; without a path that of the metrics. Borrowed until
	 * fetch_close(). */
	const char *url;
	/* May be NULL, and are read by fetch_open() alone: the user of basic authentication, the
	 * file that has the password in its first line, and one with the certificates of the
	 * authorities that are trusted (PEM) in place of those of the system. */
	const char *user, *password_path, *authorities_path;
};

bool fetch_is_url(const char *word);

struct fetch *fetch_open(const struct fetch_options *options, struct etw_error *err);
void fetch_close(struct fetch *fetch);

/*
 * Adds the page, in the text format of OpenMetrics, to an empty text. Waits some seconds at most,
 * and takes 256 MiB at most. False with an error that names the URL. One thread at a time.
 */
bool fetch_page(struct fetch *fetch, struct etw_text *page, struct etw_error *err);

#endif

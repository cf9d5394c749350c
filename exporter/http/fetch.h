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
	/* "http://host:9189/metrics" or https; without a path /metrics is read. Borrowed until
	 * fetch_close(). */
	const char *url;
	/* Each may be NULL; only fetch_open() reads them. user: for basic authentication.
	 * password_path: a file with the password in its first line. authorities_path: a file with
	 * the certificates (PEM) of the authorities that are trusted in place of those of the
	 * system. */
	const char *user, *password_path, *authorities_path;
};

bool fetch_is_url(const char *word);

struct fetch *fetch_open(const struct fetch_options *options, struct etw_error *err);
void fetch_close(struct fetch *fetch);

/*
 * Adds the page, in the text format of OpenMetrics, to an empty text. Waits some seconds at most
 * and accepts 256 MiB at most. On failure the error names the URL. One thread at a time may use a
 * struct fetch.
 */
bool fetch_page(struct fetch *fetch, struct etw_text *page, struct etw_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A client of the web server over real sockets, which sends what it is given, right or wrong.
 */
#ifndef SUPPORT_HTTP_CLIENT_H
#define SUPPORT_HTTP_CLIENT_H

#include "base/text.h"

/* All functions fail the test if there is no memory or no connection. Texts are the caller's to
 * free, and have a NUL behind them. */

/* Sends bytes as they are, and returns all that comes until the server closes. */
struct etw_text http_exchange(unsigned port, const char *bytes, size_t size);

/* A request of HTTP/1.1 and the answer. headers: lines with CRLF, or ""; Host is "localhost" if they
 * have none. */
struct etw_text http_request_page(unsigned port, const char *method, const char *target,
				  const char *headers);

/* The status; 0: no answer. */
int http_status(const struct etw_text *reply);

/* Its body as it came: chunks with their sizes. */
const char *http_body(const struct etw_text *reply);

/* Fails the test unless the answer has this line among its headers. */
void http_expect_header(const struct etw_text *reply, const char *line);

#endif

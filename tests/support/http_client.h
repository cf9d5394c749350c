/* SPDX-License-Identifier: MIT */
/*
 * A client of the web server over real sockets. It sends any bytes, correct or not.
 */
#ifndef SUPPORT_HTTP_CLIENT_H
#define SUPPORT_HTTP_CLIENT_H

#include "base/text.h"

/* All functions fail the test if there is no memory or no connection. The caller frees the texts,
 * which end with a NUL. */

/* Sends bytes unchanged, and returns everything that arrives until the server closes. */
struct etw_text http_exchange(unsigned port, const char *bytes, size_t size);

/* Sends a request of HTTP/1.1 and returns the answer. headers: lines with CRLF, or ""; Host is
 * "localhost" if they have none. */
struct etw_text http_request_page(unsigned port, const char *method, const char *target,
				  const char *headers);

/* Returns the status; 0 if there is no answer. */
int http_status(const struct etw_text *reply);

/* Returns the body as received, with the sizes of its chunks. */
const char *http_body(const struct etw_text *reply);

/* Fails the test unless the answer has this line among its headers. */
void http_expect_header(const struct etw_text *reply, const char *line);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A request that is being answered, without the web server's library: what the pages read of it,
 * and how they answer.
 */
#ifndef EXPORTER_HTTP_ANSWER_H
#define EXPORTER_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/client_address.h"
#include "base/text.h"

struct web_config;

/* Texts are valid until the page returns. */
struct http_request {
	const char *method;  /* "GET" */
	const char *path;    /* as it arrived: neither decoded nor cleaned of dots */
	const char *query;   /* after the question mark, as it arrived; NULL: there is none */
	const char *version; /* "1.1" */
	const char *client;  /* `address` as text, for the log */
	const struct client_address *address;
	bool is_head;           /* HEAD: the answer ends after its head */
	void *connection;       /* of civetweb */
	struct web_config *web; /* its headers are in each answer; NULL: it has none */
};

/* The value of a header of the request, or NULL; the first one if there are several. */
const char *request_header(const struct http_request *request, const char *name);

/*
 * The status line and the headers of every answer. The caller adds headers of its own, and the
 * empty line. An answer of status 400 and above ends the connection.
 */
void answer_add_head(struct etw_text *out, const struct http_request *request, int status,
		     const char *type);

/* Sends a whole answer with one write. headers: lines with CRLF, or "". */
void answer(const struct http_request *request, int status, const char *type, const char *headers,
	    const char *body);

/* Answers with a status and its name as the body; returns the status. */
int answer_status(const struct http_request *request, int status, const char *headers);

/* Sends a part of an answer. Returns false if the client did not take all of it. */
bool answer_send(const struct http_request *request, const char *bytes, size_t size);

/*
 * After the last part: the answer is whole, and the connection may serve another request. Without
 * it the connection is broken off, so that the client knows that the answer is not whole.
 */
void answer_end(const struct http_request *request);

/* Adds the whole answer to a request that is refused before it is read. web: as in http_request. */
void answer_add_refusal(struct web_config *web, int status, struct etw_text *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The request that a page reads and the functions with which it answers. The pages need not know
 * the library of the web server.
 */
#ifndef EXPORTER_HTTP_ANSWER_H
#define EXPORTER_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/client_address.h"
#include "base/text.h"

struct connection;
struct web_config;

/* Texts are valid until the page returns. */
struct http_request {
	const char *method;  /* "GET" */
	const char *path;    /* as it arrived: neither decoded nor cleaned of dots */
	const char *query;   /* what follows the question mark, as it arrived; NULL: no query */
	const char *version; /* "1.1" */
	const char *client;  /* `address` as text, for the log */
	const struct client_address *address;
	bool is_head;            /* HEAD: the answer ends after its head */
	void *connection;        /* civetweb's connection */
	struct connection *ours; /* the same, as the reception knows it */
	struct web_config *web;  /* borrowed; each answer has its headers; NULL: none */
};

/* Returns the value of a header of the request, or NULL. If the header occurs several times, the
 * first one counts. */
const char *request_header(const struct http_request *request, const char *name);

/*
 * Adds the status line and the headers that every answer has. The caller adds further headers and
 * the empty line. An answer with status 400 or above ends the connection.
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
 * Call it after the last part: the answer is complete, and the connection may serve another
 * request. Without this call the connection is reset, so that the client notices that the answer is
 * incomplete.
 */
void answer_end(const struct http_request *request);

/* Adds the whole answer to a request that is refused before it has been read. web: as in struct
 * http_request. */
void answer_add_refusal(struct web_config *web, int status, struct etw_text *out);

#endif

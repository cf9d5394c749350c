/* SPDX-License-Identifier: MIT */
/*
 * Accepts connections, reads request heads, and hands whole requests to the workers.
 */
#ifndef EXPORTER_HTTP_RECEPTION_H
#define EXPORTER_HTTP_RECEPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "exporter/http/connection.h"

struct tls_server;

struct reception_options {
	socket_handle *listeners; /* owned by the reception after a successful open */
	size_t listener_count;
	struct address_range *allowed; /* copied; none: every address */
	size_t allowed_count;
	size_t workers;    /* how many call reception_next() */
	size_t most_large; /* see dispatch.h */

	void *context; /* of these functions, which any thread may call */
	/* Whether a page may be large: the target of a request, without its query. */
	bool (*is_large)(void *context, const char *target, size_t size);
	/* The TLS of new connections; NULL: they are plain. */
	struct tls_server *(*tls)(void *context);
	/* Adds the answer to a request that gets no worker. */
	void (*add_refusal)(void *context, int status, struct etw_text *out);
	/* A connection has ended. */
	void (*closed)(void *context, enum close_reason reason);
	/* There are so many connections now. */
	void (*opened)(void *context, size_t connections);
};

struct reception; /* opaque */

struct reception *reception_new(const struct reception_options *options, struct etw_error *err);
void reception_free(struct reception *reception); /* after its threads; NULL is fine */

/* The work of one thread, until reception_stop(). */
void reception_run(struct reception *reception);

/* Ends reception_run() and reception_next(), and answers under way within some 0.1 s. Any thread.
 */
void reception_stop(struct reception *reception);

/* ---- workers: any thread ---- */

/* Waits for a request. The caller answers it and gives the connection back. NULL: stop. */
struct connection *reception_next(struct reception *reception);
void reception_give_back(struct reception *reception, struct connection *connection);

/* Reads the head of the request; 0 at its end. */
size_t reception_read(struct connection *connection, char *bytes, size_t capacity);

/* Sends a part of the answer. False: the client did not take it, or must not have more. */
bool reception_send(struct reception *reception, struct connection *connection, const char *bytes,
		    size_t size);

#endif

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
	socket_handle *listeners; /* owned by the reception once reception_new() succeeds */
	size_t listener_count;
	struct address_range *allowed; /* copied; none: every address */
	size_t allowed_count;
	size_t workers;                   /* number of threads that call reception_next() */
	size_t most_large, most_rendered; /* see dispatch.h */

	void *context; /* passed to these functions, which run on any thread */
	/* Returns whether a page may be large. target: of the request, without its query. */
	bool (*is_large)(void *context, const char *target, size_t size);
	/* Returns the TLS server for a new connection; NULL: the connection is plain. */
	struct tls_server *(*tls)(void *context);
	/* Adds the whole answer to a request that gets no worker. */
	void (*add_refusal)(void *context, int status, struct etw_text *out);
	/* Called when a connection has ended. */
	void (*closed)(void *context, enum close_reason reason);
	/* Called with the number of connections that are open now. */
	void (*opened)(void *context, size_t connections);
	/* Called when a client cannot be accepted for lack of descriptors; once until another
	 * client has been accepted. */
	void (*starved)(void *context);
};

struct reception; /* opaque */

struct reception *reception_new(const struct reception_options *options, struct etw_error *err);
void reception_free(
	struct reception *reception); /* call it after its threads have ended; NULL is fine */

/* Serves all connections on the calling thread until reception_stop(). */
void reception_run(struct reception *reception);

/* Ends reception_run() and reception_next() at once, and answers under way within about 0.1 s. Any
 * thread may call it. */
void reception_stop(struct reception *reception);

/* ---- workers: any thread ---- */

/* Waits for a request. The caller answers it and calls reception_return(). Returns NULL after
 * reception_stop(). */
struct connection *reception_next(struct reception *reception);
void reception_not_large(struct reception *reception,
			 struct connection *connection); /* see
							    dispatch.h */
void reception_return(struct reception *reception, struct connection *connection);

/* Reads bytes of the request's head and returns their number; 0 at its end. */
size_t reception_read(struct connection *connection, char *bytes, size_t capacity);

/* Sends a part of the answer. Returns false if the client did not take the part, or if the answer
 * has been cut off. */
bool reception_send(struct reception *reception, struct connection *connection, const char *bytes,
		    size_t size);

#endif

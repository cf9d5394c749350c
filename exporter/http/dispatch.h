/* SPDX-License-Identifier: MIT */
/*
 * Hands whole requests from the reception to the workers and back. Chooses which request is
 * answered next, and which answer is given up when there are too few workers.
 */
#ifndef EXPORTER_HTTP_DISPATCH_H
#define EXPORTER_HTTP_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "exporter/http/connection.h"
#include "exporter/http/sockets.h"

struct dispatch; /* opaque */

enum { DISPATCH_KEPT_FOR_SMALL = 8 }; /* workers that answer no large pages */

/* workers: their number, at least 1. most_large: how many large pages are answered at the same
 * time; 0: as many as there are workers for them. most_rendered: how many of these begin while none
 * waits for its client; 0: most_large. The waker (borrowed) is woken when a connection comes
 * back. */
struct dispatch *dispatch_new(size_t workers, size_t most_large, size_t most_rendered,
			      struct waker *waker, struct etw_error *err);
void dispatch_free(struct dispatch *dispatch); /* NULL is fine */

/* ---- the reception's thread ---- */

/* Hands over a connection whose request head is whole. */
void dispatch_add(struct dispatch *dispatch, struct connection *connection);
/* Takes the connections that workers have returned, as a list linked by `next`. */
struct connection *dispatch_returned(struct dispatch *dispatch);
/* Takes back the connections whose requests have waited too long for a worker, as a list linked by
 * `next`. */
struct connection *dispatch_overdue(struct dispatch *dispatch, uint64_t now_ns);
/* If requests wait and no worker may take them, cuts off the slowest client. Returns whether such
 * requests wait; then call it again soon. */
bool dispatch_relieve(struct dispatch *dispatch, uint64_t now_ns);

/* ---- any thread ---- */

/* Ends the waits in dispatch_next() and cuts off the answers under way. */
void dispatch_stop(struct dispatch *dispatch);
/* Waits for a request and returns its connection. Returns NULL after dispatch_stop(). */
struct connection *dispatch_next(struct dispatch *dispatch);
/* Returns how many workers wait in dispatch_next(); for tests. */
size_t dispatch_idle(struct dispatch *dispatch);
/* Counts the request of this connection, which the caller answers, as one for a small page. */
void dispatch_not_large(struct dispatch *dispatch, struct connection *connection);

/* Returns a connection to the reception after its request was answered, or the answer given up. */
void dispatch_return(struct dispatch *dispatch, struct connection *connection);
/* Sends a part of the answer; the worker that has the connection calls it. Returns false if the
 * client did not take the part, or if the answer has been cut off. */
bool dispatch_send(struct dispatch *dispatch, struct connection *connection, const char *bytes,
		   size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Whole requests on their way to the workers and back: which is answered next, and which answer is
 * given up when workers are short.
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

/* workers: more than the few that are kept for small pages. most_large: large pages that are
 * answered at the same time; 0: as many as workers allow. The waker (borrowed) is woken when a
 * connection comes back. */
struct dispatch *dispatch_new(size_t workers, size_t most_large, struct waker *waker,
			      struct etw_error *err);
void dispatch_free(struct dispatch *dispatch); /* NULL is fine */

/* ---- the reception's thread ---- */

/* Hands over a connection whose request head is whole. */
void dispatch_add(struct dispatch *dispatch, struct connection *connection);
/* The connections that have come back: a list by `next`. */
struct connection *dispatch_returned(struct dispatch *dispatch);
/* Those whose requests have waited for a worker for too long, which are taken back: a list by
 * `next`. */
struct connection *dispatch_overdue(struct dispatch *dispatch, uint64_t now_ns);
/* If requests wait and no worker may take them, cuts off the slowest client. Returns whether
 * requests wait so, and this is to be called again soon. */
bool dispatch_relieve(struct dispatch *dispatch, uint64_t now_ns);

/* ---- any thread ---- */

void dispatch_stop(struct dispatch *dispatch);
/* Waits for a request; NULL after a stop. */
struct connection *dispatch_next(struct dispatch *dispatch);
/* How many workers wait so. */
size_t dispatch_idle(struct dispatch *dispatch);
void dispatch_give_back(struct dispatch *dispatch, struct connection *connection);
/* Sends a part of the answer, by the worker that has the connection. False: the client did not take
 * it, or must not have more. */
bool dispatch_send(struct dispatch *dispatch, struct connection *connection, const char *bytes,
		   size_t size);

#endif

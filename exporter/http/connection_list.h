/* SPDX-License-Identifier: MIT */
/*
 * The list of all open connections. It chooses the one that is evicted to make room for another.
 */
#ifndef EXPORTER_HTTP_CONNECTION_LIST_H
#define EXPORTER_HTTP_CONNECTION_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http/connection.h"

/* One thread uses a list. */
struct connection_list {
	struct connection **connections; /* owned, including those that workers answer */
	size_t count, most;
	void *context; /* passed to both functions */
	void (*closed)(void *context,
		       enum close_reason reason); /* called when a connection ended */
	void (*opened)(void *context,
		       size_t connections); /* called with the new count of open ones */
};

/* Allocates room for `most` connections; the caller sets context and the two functions. Returns
 * false without memory. */
bool connection_list_init(struct connection_list *list, size_t most);
/* Closes all remaining connections. A zero-initialised list is fine. */
void connection_list_done(struct connection_list *list);

/* Adds a connection; there must be room. */
void connection_list_add(struct connection_list *list, struct connection *connection);

/* Closes and frees a connection. reset: the part of the answer that its client has not taken is
 * dropped. */
void connection_list_end(struct connection_list *list, struct connection *connection,
			 enum close_reason reason, bool reset);

/* Returns whether the reception has the connection and waits for its client. */
bool connection_is_idle(const struct connection *connection);

/*
 * Ends the oldest idle connection of the clients that count as one with the address, or of all
 * clients if address is NULL. It chooses among connections that are closing anyway; if there are
 * none, among those that never sent a request; and last among those kept for further requests.
 * Returns false if no connection is idle.
 */
bool connection_list_evict(struct connection_list *list, const struct client_address *address);

/* Makes room for a connection from that address; one address may have at most half of all
 * connections. Returns false if there is no room. */
bool connection_list_make_room(struct connection_list *list, const struct client_address *address);

#endif

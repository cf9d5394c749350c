/* SPDX-License-Identifier: MIT */
/*
 * All open connections, and which of them makes room for another one.
 */
#ifndef EXPORTER_HTTP_CONNECTION_LIST_H
#define EXPORTER_HTTP_CONNECTION_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http/connection.h"

/* Of one thread. */
struct connection_list {
	struct connection **connections; /* owned, also those that workers have */
	size_t count, most;
	void *context;                                           /* of the functions */
	void (*closed)(void *context, enum close_reason reason); /* a connection has ended */
	void (*opened)(void *context, size_t connections);       /* so many there are now */
};

/* Sets connections and most; the functions are the caller's. False without memory. */
bool connection_list_init(struct connection_list *list, size_t most);
/* Closes all that are left. A list that is zero is fine. */
void connection_list_done(struct connection_list *list);

/* There must be room. */
void connection_list_add(struct connection_list *list, struct connection *connection);

/* Closes a connection. reset: what its client has not taken of the answer is dropped. */
void connection_list_end(struct connection_list *list, struct connection *connection,
			 enum close_reason reason, bool reset);

/* Whether the reception has the connection, and waits for its client. */
bool connection_is_idle(const struct connection *connection);

/*
 * Ends the oldest idle connection, of clients alike to the address or, for NULL, of all: first what
 * is closing anyway, then what never sent a request, and what is kept for further requests last.
 * False: none is idle.
 */
bool connection_list_evict(struct connection_list *list, const struct client_address *address);

/* Makes room for a connection of that address, which may have half of all. */
bool connection_list_make_room(struct connection_list *list, const struct client_address *address);

#endif

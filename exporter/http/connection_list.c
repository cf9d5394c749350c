/* SPDX-License-Identifier: MIT */
#include "exporter/http/connection_list.h"

#include <stdlib.h>

bool connection_list_init(struct connection_list *list, size_t most)
{
	list->connections = calloc(most, sizeof(struct connection *));
	list->most = most;
	return list->connections != NULL;
}

void connection_list_done(struct connection_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		connection_free(list->connections[i], false);
	}
	free(list->connections);
}

void connection_list_add(struct connection_list *list, struct connection *connection)
{
	connection->index = list->count;
	list->connections[list->count++] = connection;
	list->opened(list->context, list->count);
}

void connection_list_end(struct connection_list *list, struct connection *connection,
			 enum close_reason reason, bool reset)
{
	struct connection *last = list->connections[--list->count];

	list->connections[connection->index] = last;
	last->index = connection->index;
	connection_free(connection, reset);
	list->closed(list->context, reason);
	list->opened(list->context, list->count);
}

bool connection_is_idle(const struct connection *connection)
{
	return connection->state != CONNECTION_WHOLE;
}

/* Returns the rank by which connections are evicted; the lowest rank goes first. */
static int rank_of(const struct connection *connection)
{
	return connection->state == CONNECTION_DRAINING ? 0 : connection->requests == 0 ? 1 : 2;
}

bool connection_list_evict(struct connection_list *list, const struct client_address *address)
{
	struct connection *oldest = NULL;
	int oldest_rank = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct connection *c = list->connections[i];
		int rank = rank_of(c);

		if (!connection_is_idle(c) ||
		    (address && !client_address_alike(&c->address, address))) {
			continue;
		}
		if (!oldest || rank < oldest_rank ||
		    (rank == oldest_rank && c->since_ns < oldest->since_ns)) {
			oldest = c;
			oldest_rank = rank;
		}
	}
	if (oldest) {
		connection_list_end(list, oldest,
				    oldest_rank == 0 ? oldest->reason : CLOSED_EVICTED, false);
	}
	return oldest != NULL;
}

static size_t count_alike(const struct connection_list *list, const struct client_address *address)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		count += client_address_alike(&list->connections[i]->address, address);
	}
	return count;
}

bool connection_list_make_room(struct connection_list *list, const struct client_address *address)
{
	if (count_alike(list, address) >= (list->most + 1) / 2) {
		return connection_list_evict(list, address);
	}
	return list->count < list->most || connection_list_evict(list, NULL);
}

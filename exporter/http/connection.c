/* SPDX-License-Identifier: MIT */
#include "exporter/http/connection.h"

#include <stdlib.h>

struct connection *connection_new(socket_handle socket, const struct client_address *address)
{
	struct connection *connection = calloc(1, sizeof *connection);

	if (connection) {
		connection->socket = socket;
		connection->address = *address;
		client_address_text(address, connection->client);
	}
	return connection;
}

void connection_free(struct connection *connection, bool reset)
{
	tls_close(connection->tls);
	if (reset) {
		socket_reset(connection->socket);
	} else {
		socket_close(connection->socket);
	}
	free(connection->bytes);
	free(connection);
}

static enum tls_result plain_result(enum socket_result result, enum tls_result blocked)
{
	return result == SOCKET_DONE        ? TLS_DONE :
	       result == SOCKET_WOULD_BLOCK ? blocked :
					      TLS_CLOSED;
}

enum tls_result connection_read(struct connection *connection, char *bytes, size_t capacity,
				size_t *size)
{
	return connection->tls ?
		       tls_read(connection->tls, bytes, capacity, size) :
		       plain_result(socket_read(connection->socket, bytes, capacity, size),
				    TLS_WANT_READ);
}

enum tls_result connection_write(struct connection *connection, const char *bytes, size_t count,
				 size_t *size)
{
	return connection->tls ? tls_write(connection->tls, bytes, count, size) :
				 plain_result(socket_write(connection->socket, bytes, count, size),
					      TLS_WANT_WRITE);
}

/* ---- the list of connections ---- */

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

/* ---- turns of TLS handshakes ---- */

bool handshake_turns_init(struct handshake_turns *turns, size_t most)
{
	turns->taken = calloc(most, sizeof *turns->taken);
	turns->most = most;
	return turns->taken != NULL;
}

void handshake_turns_done(struct handshake_turns *turns)
{
	free(turns->taken);
}

void handshake_turns_begin(struct handshake_turns *turns)
{
	turns->count = 0;
}

bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address)
{
	for (size_t i = 0; i < turns->count; i++) {
		if (client_address_alike(&turns->taken[i], address)) {
			return false;
		}
	}
	if (turns->count == turns->most) {
		return false;
	}
	turns->taken[turns->count++] = *address;
	return true;
}

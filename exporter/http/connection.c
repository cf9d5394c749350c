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

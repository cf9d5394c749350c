/* SPDX-License-Identifier: MIT */
/* Takes the place of tls.c in a build without TLS: there is no struct tls_server to call it with.
 */
#include "http/tls.h"

struct tls_connection *tls_accept(struct tls_server *server, intptr_t socket)
{
	(void)server;
	(void)socket;
	return NULL;
}

enum tls_result tls_handshake(struct tls_connection *connection)
{
	(void)connection;
	return TLS_CLOSED;
}

enum tls_result tls_read(struct tls_connection *connection, char *bytes, size_t capacity,
			 size_t *size)
{
	(void)connection;
	(void)bytes;
	(void)capacity;
	(void)size;
	return TLS_CLOSED;
}

enum tls_result tls_write(struct tls_connection *connection, const char *bytes, size_t count,
			  size_t *size)
{
	(void)connection;
	(void)bytes;
	(void)count;
	(void)size;
	return TLS_CLOSED;
}

bool tls_has_pending(const struct tls_connection *connection)
{
	(void)connection;
	return false;
}

void tls_close(struct tls_connection *connection)
{
	(void)connection;
}

/* SPDX-License-Identifier: MIT */
/*
 * TLS for connections that never block: the handshake and the records, on sockets that the caller
 * polls. tls.c is the only file that includes OpenSSL.
 *
 * A call that returns TLS_WANT_READ or TLS_WANT_WRITE is repeated with the same arguments when the
 * socket is readable or writable. A connection belongs to one thread at a time; a struct tls_server
 * is used by many, and tls_reload() exchanges its certificates for connections that begin later.
 */
#ifndef EXPORTER_HTTP_TLS_H
#define EXPORTER_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tls_server;     /* opaque */
struct tls_connection; /* opaque */

/* TLS_CLOSED: the client has closed the connection, or broke the protocol. */
enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_CLOSED };

/* Takes over a connected, non-blocking socket for reading and writing, not for closing. Returns
 * NULL without memory. Any thread. */
struct tls_connection *tls_accept(struct tls_server *server, intptr_t socket);

/* Goes on with the handshake. */
enum tls_result tls_handshake(struct tls_connection *connection);

/* TLS_DONE: *size bytes were read or written, at least one. */
enum tls_result tls_read(struct tls_connection *connection, char *bytes, size_t capacity,
			 size_t *size);
enum tls_result tls_write(struct tls_connection *connection, const char *bytes, size_t count,
			  size_t *size);

/* Whether bytes of the client are decrypted already, which the socket no longer shows. */
bool tls_has_pending(const struct tls_connection *connection);

/* Sends the closing record if the socket takes it at once, and frees. NULL is fine. */
void tls_close(struct tls_connection *connection);

#endif

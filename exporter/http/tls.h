/* SPDX-License-Identifier: MIT */
/*
 * TLS for connections that never block: the handshake and the records, on sockets that the caller
 * polls. tls.c and crypto.c are the only files that include OpenSSL.
 *
 * A call that returns TLS_WANT_READ or TLS_WANT_WRITE is repeated with the same arguments when the
 * socket is readable or writable. It may be readable at once, because a call takes a bounded number
 * of records, so that no client can hold the thread. A connection belongs to one thread at a time;
 * a struct tls_server is used by many, and tls_server_set() exchanges its certificates for
 * connections that begin later.
 */
#ifndef EXPORTER_HTTP_TLS_H
#define EXPORTER_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tls_server;     /* opaque */
struct tls_connection; /* opaque */

/* ---- the server ---- */

/* How clients identify themselves: the values of client_auth_type, which are those of Go's
 * ClientAuthType ("crypto/tls", pkg.go.dev). */
enum tls_client_auth {
	TLS_CLIENT_NONE,            /* clients are not asked for a certificate */
	TLS_CLIENT_REQUEST,         /* they are asked; none and any is taken */
	TLS_CLIENT_REQUIRE_ANY,     /* any is taken, who signed it does not matter */
	TLS_CLIENT_VERIFY_IF_GIVEN, /* none is taken, or one that client_ca vouches for */
	TLS_CLIENT_VERIFY,          /* only one that client_ca vouches for */
};

enum tls_version { TLS_VERSION_1_2, TLS_VERSION_1_3 };

/* PEM as it was read, and the words for it in errors: "cert_file 'server.crt'". */
struct tls_pem {
	const char *bytes; /* NULL: none */
	size_t size;
	const char *name;
};

/* Everything is borrowed during the call that takes it. */
struct tls_options {
	struct tls_pem cert, key, client_ca;
	enum tls_client_auth client_auth;
	const char *const *allowed_sans; /* of which a client's certificate must have one */
	size_t allowed_san_count;        /* 0: it needs none */
	enum tls_version least, most;
	const unsigned *suites; /* indexes for tls_suite_name(), in order of preference */
	size_t suite_count;     /* 0: the defaults, which are those of Go */
	const unsigned *curves; /* indexes for tls_curve_name(), in order of preference */
	size_t curve_count;     /* 0: the defaults, which are those of Go */
	bool prefer_server_suites;
};

/* The names of cipher suites and of curves in a configuration; NULL behind the last. */
const char *tls_suite_name(size_t index);
const char *tls_curve_name(size_t index);

/* NULL with an error that names the text which is wrong. To be freed with tls_server_free() after
 * the last handshake; connections whose handshake is done may last longer. */
struct tls_server *tls_server_new(const struct tls_options *options, struct etw_error *err);
void tls_server_free(struct tls_server *server); /* NULL is fine */

/* Exchanges certificates, keys and all other settings for connections that begin later. After an
 * error the server keeps those that it has. Any thread. */
bool tls_server_set(struct tls_server *server, const struct tls_options *options,
		    struct etw_error *err);

/* When the certificate of the server ends, as Unix time. Any thread. */
uint64_t tls_server_valid_until(struct tls_server *server);

/* How many handshakes failed: protocol errors and certificates that are not accepted. Any thread.
 */
uint64_t tls_server_failures(const struct tls_server *server);

/* ---- connections ---- */

/* TLS_CLOSED: the client has closed the connection, or broke the protocol. */
enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_CLOSED };

/* Takes over a connected, non-blocking socket for reading and writing, not for closing. Returns
 * NULL without memory. Any thread. */
struct tls_connection *tls_accept(struct tls_server *server, intptr_t socket);

/* Goes on with the handshake. */
enum tls_result tls_handshake(struct tls_connection *connection);

/* TLS_DONE: *size bytes were read or written, at least one. Bytes may be left that are decrypted
 * already, which the socket no longer shows: tls_read() is called until it returns something else,
 * or once more before the socket is polled. */
enum tls_result tls_read(struct tls_connection *connection, char *bytes, size_t capacity,
			 size_t *size);
enum tls_result tls_write(struct tls_connection *connection, const char *bytes, size_t count,
			  size_t *size);

/* Sends the closing record if the socket takes it at once, and frees. NULL is fine. */
void tls_close(struct tls_connection *connection);

#endif

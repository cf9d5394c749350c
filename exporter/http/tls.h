/* SPDX-License-Identifier: MIT */
/*
 * TLS for connections that never block: handshake and records run on sockets that the caller polls.
 * For servers, tls.c and crypto.c alone include OpenSSL; fetch.c has its HTTP client.
 *
 * A call that returns TLS_WANT_READ or TLS_WANT_WRITE is repeated with the same arguments when the
 * socket is readable or writable. It may be readable at once, because one call takes only a bounded
 * number of records, so that no client can keep the thread busy. A connection belongs to one thread
 * at a time; a struct tls_server is used by many, and tls_server_set() exchanges its certificates
 * for connections that begin later.
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
	TLS_CLIENT_NONE,            /* the server does not request a certificate */
	TLS_CLIENT_REQUEST,         /* it requests one; any certificate, or none, is accepted */
	TLS_CLIENT_REQUIRE_ANY,     /* the client needs one; who signed it does not matter */
	TLS_CLIENT_VERIFY_IF_GIVEN, /* no certificate, or one that client_ca has signed */
	TLS_CLIENT_VERIFY,          /* the client needs one that client_ca has signed */
};

enum tls_version { TLS_VERSION_1_2, TLS_VERSION_1_3 };

/* A PEM text as it was read, with the name that errors use for it: "cert_file 'server.crt'". */
struct tls_pem {
	const char *bytes; /* NULL: none */
	size_t size;
	const char *name;
};

/* All pointers are borrowed only during the call that takes the struct. */
struct tls_options {
	struct tls_pem cert, key, client_ca;
	enum tls_client_auth client_auth;
	const char *const *allowed_sans; /* a client's certificate must have one of these names */
	size_t allowed_san_count;        /* 0: any name is accepted */
	enum tls_version least, most;
	const unsigned *suites; /* indexes for tls_suite_name(), in order of preference */
	size_t suite_count;     /* 0: the defaults, which are those of Go */
	const unsigned *curves; /* indexes for tls_curve_name(), in order of preference */
	size_t curve_count;     /* 0: the defaults, which are those of Go */
	bool prefer_server_suites;
};

/* Return the names that a configuration has for cipher suites and for curves; NULL after the
 * last. */
const char *tls_suite_name(size_t index);
const char *tls_curve_name(size_t index);

/* Returns NULL on failure, with an error that names the wrong text. The caller calls
 * tls_server_free() after the last handshake; connections whose handshake is done may last longer.
 */
struct tls_server *tls_server_new(const struct tls_options *options, struct etw_error *err);
void tls_server_free(struct tls_server *server); /* NULL is fine */

/* Replaces certificates, keys and all other settings for connections that begin later. On failure
 * the server keeps its settings. Any thread may call it. */
bool tls_server_set(struct tls_server *server, const struct tls_options *options,
		    struct etw_error *err);

/* Returns when the certificate of the server expires, in seconds of Unix time. Any thread may call
 * it. */
uint64_t tls_server_valid_until(struct tls_server *server);

/* Returns how many handshakes failed because of a protocol error or a certificate that was not
 * accepted. Any thread may call it. */
uint64_t tls_server_failures(const struct tls_server *server);

/* ---- connections ---- */

/* TLS_CLOSED: the client has closed the connection, or broke the protocol. */
enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_CLOSED };

/* Takes over a connected, non-blocking socket for reading and writing, not for closing. Returns
 * NULL without memory. Any thread. */
struct tls_connection *tls_accept(struct tls_server *server, intptr_t socket);

/* Continues the handshake. */
enum tls_result tls_handshake(struct tls_connection *connection);

/* TLS_DONE: *size bytes were read or written, at least one. Bytes that are already decrypted may
 * remain, which polling the socket does not show. Therefore call tls_read() until it returns
 * another result, or once more before the socket is polled. */
enum tls_result tls_read(struct tls_connection *connection, char *bytes, size_t capacity,
			 size_t *size);
enum tls_result tls_write(struct tls_connection *connection, const char *bytes, size_t count,
			  size_t *size);

/* Sends the close_notify alert if the socket takes it at once, and frees the connection. NULL is
 * fine. */
void tls_close(struct tls_connection *connection);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A TLS client in the thread of a test, whose bytes go to the server in pieces of a chosen size.
 */
#ifndef HTTP_SUPPORT_TLS_CLIENT_H
#define HTTP_SUPPORT_TLS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http/tls.h"
#include "tests/exporter/http/support/certificates.h"
#include "tests/support/system.h"

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;
struct bio_st;

struct tls_client_options {
	const struct certificate *own;   /* NULL: it has no certificate */
	const char *suites, *suites_1_3; /* of OpenSSL; NULL: its defaults */
	const char *groups;              /* likewise */
	int least, most;                 /* TLS1_2_VERSION and the like; 0: any */
	const char *protocols;           /* of ALPN, each with its length before it; NULL: none */
	struct ssl_session_st *session;  /* to be resumed; NULL: none */
	size_t step;                     /* bytes that go at once; 0: all */
	bool weak;                       /* security level 0 */
};

/* Both sides of a connection. */
struct tls_pair {
	struct ssl_ctx_st *context;
	struct ssl_st *client;
	struct bio_st *in, *out; /* of the client */
	connection ends[2];      /* the client's, the server's */
	struct tls_connection *server;
	size_t step;
	bool client_done, server_done; /* their handshakes */
	bool client_failed, server_failed;
	unsigned waits; /* how often the server wanted more bytes during the handshake */
};

/* Connects both sides; nothing is exchanged so far. Fails the test when it cannot. */
void tls_pair_open(struct tls_pair *pair, struct tls_server *server,
		   const struct tls_client_options *options);
/* Both handshakes until they are done, or one has failed. Returns whether both are done, which with
 * TLS 1.3 includes that the server has taken the client's certificate. */
bool tls_pair_handshake(struct tls_pair *pair);
/* Moves bytes between the client and its socket. */
void tls_pair_move(struct tls_pair *pair);
void tls_pair_close(struct tls_pair *pair);

/* Opens, shakes hands, closes. */
bool tls_connects(struct tls_server *server, const struct tls_client_options *options);

#endif

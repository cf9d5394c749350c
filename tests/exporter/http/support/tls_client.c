/* SPDX-License-Identifier: MIT */
#include "tests/exporter/http/support/tls_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/os.h"

static void set_up_client(SSL_CTX *context, const struct tls_client_options *options)
{
	if (options->weak) {
		SSL_CTX_set_security_level(context, 0);
	}
	SSL_CTX_set_min_proto_version(context, options->least);
	SSL_CTX_set_max_proto_version(context, options->most);
	if (options->suites) {
		assert_int_equal(SSL_CTX_set_cipher_list(context, options->suites), 1);
	}
	if (options->suites_1_3) {
		assert_int_equal(SSL_CTX_set_ciphersuites(context, options->suites_1_3), 1);
	}
	if (options->groups) {
		assert_int_equal(SSL_CTX_set1_groups_list(context, options->groups), 1);
	}
	if (options->own) {
		assert_int_equal(SSL_CTX_use_certificate(context, options->own->cert), 1);
		assert_int_equal(SSL_CTX_use_PrivateKey(context, options->own->key), 1);
	}
	if (options->protocols) {
		assert_int_equal(SSL_CTX_set_alpn_protos(context,
							 (const unsigned char *)options->protocols,
							 (unsigned)strlen(options->protocols)),
				 0);
	}
}

void tls_pair_open(struct tls_pair *pair, struct tls_server *server,
		   const struct tls_client_options *options)
{
	*pair = (struct tls_pair){ .step = options->step > 0 ? options->step : SIZE_MAX };
	pair->context = SSL_CTX_new(TLS_client_method());
	assert_non_null(pair->context);
	set_up_client(pair->context, options);
	pair->client = SSL_new(pair->context);
	assert_non_null(pair->client);
	pair->in = BIO_new(BIO_s_mem());
	pair->out = BIO_new(BIO_s_mem());
	SSL_set_bio(pair->client, pair->in, pair->out);
	SSL_set_connect_state(pair->client);
	if (options->session) {
		assert_int_equal(SSL_set_session(pair->client, options->session), 1);
	}
	assert_true(connection_pair(pair->ends));
	pair->server = tls_accept(server, pair->ends[1]);
	assert_non_null(pair->server);
}

void tls_pair_move(struct tls_pair *pair)
{
	char bytes[4096];
	size_t size = pair->step < sizeof bytes ? pair->step : sizeof bytes;
	int ready = BIO_read(pair->out, bytes, (int)size);

	for (int sent = 0; sent < ready;) {
		sent += (int)connection_send(pair->ends[0], bytes + sent, (size_t)(ready - sent));
	}
	while ((size = connection_receive(pair->ends[0], bytes, sizeof bytes)) > 0) {
		assert_int_equal(BIO_write(pair->in, bytes, (int)size), size);
	}
}

static void turn_client(struct tls_pair *pair)
{
	int returned;

	ERR_clear_error();
	if (pair->client_done) {
		/* With TLS 1.3 the server's refusal of a certificate comes after the handshake. */
		char byte;

		returned = SSL_peek(pair->client, &byte, 1);
	} else {
		returned = SSL_do_handshake(pair->client);
		pair->client_done = returned == 1;
	}
	if (returned <= 0 && SSL_get_error(pair->client, returned) != SSL_ERROR_WANT_READ) {
		pair->client_failed = true;
	}
	ERR_clear_error();
}

static void turn_server(struct tls_pair *pair)
{
	switch (tls_handshake(pair->server)) {
	case TLS_DONE:
		pair->server_done = true;
		break;
	case TLS_CLOSED:
		pair->server_failed = true;
		break;
	case TLS_WANT_READ:
		pair->waits++;
		break;
	case TLS_WANT_WRITE:
		break;
	}
}

bool tls_pair_handshake(struct tls_pair *pair)
{
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);

	while (!(pair->client_done && pair->server_done) && !pair->client_failed &&
	       !pair->server_failed) {
		assert_true(os_monotonic_ns() < end_ns);
		turn_client(pair);
		tls_pair_move(pair);
		if (!pair->server_done) {
			turn_server(pair);
		}
		tls_pair_move(pair);
	}
	return !pair->client_failed && !pair->server_failed;
}

void tls_pair_close(struct tls_pair *pair)
{
	tls_close(pair->server);
	SSL_free(pair->client);
	SSL_CTX_free(pair->context);
	connection_close(pair->ends[0]);
	connection_close(pair->ends[1]);
}

bool tls_connects(struct tls_server *server, const struct tls_client_options *options)
{
	struct tls_pair pair;
	bool connects;

	tls_pair_open(&pair, server, options);
	connects = tls_pair_handshake(&pair);
	tls_pair_close(&pair);
	return connects;
}

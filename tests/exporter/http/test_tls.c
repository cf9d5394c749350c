/* SPDX-License-Identifier: MIT */
/*
 * TLS of the web server, with OpenSSL's client at the other end of a connection: what is
 * negotiated, which clients are taken, and what an exchange of certificates does.
 */
#include "exporter/http/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/ssl.h>

#include "base/os.h"
#include "base/text.h"
#include "tests/exporter/http/support/certificates.h"
#include "tests/exporter/http/support/tls_client.h"

/* Made once: an authority with a server and clients, and another authority. */
static struct {
	struct certificate *ca, *server, *client, *expired, *for_servers;
	struct certificate *other_ca, *other_client;
	struct certificate *alone; /* signed by itself */
} of;

static struct certificate *make(const char *name, const struct certificate *issuer,
				const char *usage, bool expired)
{
	return certificate_make(&(const struct certificate_options){ .name = name,
								     .issuer = issuer,
								     .authority = !issuer,
								     .usage = usage,
								     .expired = expired });
}

static int make_all(void **state)
{
	(void)state;
	of.ca = make("CA", NULL, NULL, false);
	of.server = make("server", of.ca, "serverAuth", false);
	of.client = make("client", of.ca, "clientAuth", false);
	of.expired = make("expired", of.ca, "clientAuth", true);
	of.for_servers = make("for servers", of.ca, "serverAuth", false);
	of.other_ca = make("other CA", NULL, NULL, false);
	of.other_client = make("other client", of.other_ca, "clientAuth", false);
	of.alone = certificate_make(&(const struct certificate_options){ .name = "alone" });
	return 0;
}

static int free_all(void **state)
{
	struct certificate *all[] = { of.ca,          of.server,   of.client,       of.expired,
				      of.for_servers, of.other_ca, of.other_client, of.alone };

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		certificate_free(all[i]);
	}
	return 0;
}

/* ---- servers ---- */

static struct tls_pem pem(const char *text, const char *name)
{
	return (struct tls_pem){ .bytes = text, .size = strlen(text), .name = name };
}

static struct tls_options plain_options(void)
{
	return (struct tls_options){
		.cert = pem(of.server->cert_pem, "cert_file"),
		.key = pem(of.server->key_pem, "key_file"),
		.least = TLS_VERSION_1_2,
		.most = TLS_VERSION_1_3,
		.prefer_server_suites = true,
	};
}

static struct tls_server *serve(const struct tls_options *options)
{
	struct etw_error err = { 0 };
	struct tls_server *server = tls_server_new(options, &err);

	if (!server) {
		fail_msg("%s", err.text);
	}
	return server;
}

static bool connects(const struct tls_options *options, const struct tls_client_options *client)
{
	struct tls_server *server = serve(options);
	bool good = tls_connects(server, client);

	tls_server_free(server);
	return good;
}

static unsigned index_of(const char *(*name)(size_t index), const char *wanted)
{
	for (unsigned i = 0; name(i); i++) {
		if (strcmp(name(i), wanted) == 0) {
			return i;
		}
	}
	fail_msg("there is no %s", wanted);
	return 0;
}

/* ---- the handshake and data ---- */

static void the_handshake_goes_on_with_each_byte(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);

	(void)state;
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
		struct tls_pair pair;

		tls_pair_open(&pair, server,
			      &(const struct tls_client_options){
				      .least = versions[i], .most = versions[i], .step = 1 });
		assert_true(tls_pair_handshake(&pair));
		/* A hello alone has more than a hundred bytes. */
		assert_true(pair.waits > 100);
		tls_pair_close(&pair);
	}
	assert_int_equal(tls_server_failures(server), 0);
	tls_server_free(server);
}

/* The server's answer is larger than the buffers of the sockets: it goes as the client reads. */
static void large_answers_go_in_parts(void **state)
{
	enum { SIZE = 8 << 20 };
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	char *sent = calloc(1, SIZE), *received = calloc(1, SIZE + 1);
	size_t at = 0, got = 0, size, blocked = 0;
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	struct tls_pair pair;

	(void)state;
	assert_true(sent && received);
	for (size_t i = 0; i < SIZE; i++) {
		sent[i] = (char)(i * 31 >> 3);
	}
	tls_pair_open(&pair, server, &(const struct tls_client_options){ 0 });
	assert_true(tls_pair_handshake(&pair));
	while (got < SIZE) {
		enum tls_result result = TLS_DONE;

		assert_true(os_monotonic_ns() < end_ns);
		while (at < SIZE && result == TLS_DONE) {
			result = tls_write(pair.server, sent + at, SIZE - at, &size);
			at += result == TLS_DONE ? size : 0;
		}
		blocked += result == TLS_WANT_WRITE;
		assert_int_not_equal(result, TLS_CLOSED);
		tls_pair_move(&pair);
		while (SSL_read_ex(pair.client, received + got, SIZE + 1 - got, &size) == 1) {
			got += size;
		}
	}
	assert_true(blocked > 0);
	assert_memory_equal(sent, received, SIZE);
	tls_pair_close(&pair);
	tls_server_free(server);
	free(sent);
	free(received);
}

static enum tls_result read_within_reason(struct tls_pair *pair, char *bytes, size_t capacity,
					  size_t *size)
{
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	enum tls_result result;

	while ((result = tls_read(pair->server, bytes, capacity, size)) == TLS_WANT_READ) {
		assert_true(os_monotonic_ns() < end_ns);
		tls_pair_move(pair);
	}
	return result;
}

static void what_is_decrypted_already_is_read_at_once(void **state)
{
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	struct tls_pair pair;
	char bytes[64];
	size_t size;

	(void)state;
	tls_pair_open(&pair, server, &(const struct tls_client_options){ 0 });
	assert_true(tls_pair_handshake(&pair));
	assert_int_equal(tls_read(pair.server, bytes, sizeof bytes, &size), TLS_WANT_READ);
	assert_int_equal(SSL_write(pair.client, "GET / HTTP/1.1", 14), 14);
	assert_int_equal(read_within_reason(&pair, bytes, 4, &size), TLS_DONE);
	assert_int_equal(size, 4);
	assert_int_equal(tls_read(pair.server, bytes, sizeof bytes, &size), TLS_DONE);
	assert_int_equal(size, 10);
	assert_memory_equal(bytes, "/ HTTP/1.1", 10);
	SSL_shutdown(pair.client);
	assert_int_equal(read_within_reason(&pair, bytes, sizeof bytes, &size), TLS_CLOSED);
	tls_pair_close(&pair);
	tls_server_free(server);
}

/* The thread of the reception also serves others: a client must not hold it by sending, without
 * end, records that have no data. */
static void a_call_takes_a_bounded_number_of_records(void **state)
{
	enum { UPDATES = 1000 };
	static char arrived[UPDATES * 40]; /* an update has 27 bytes */
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	size_t sent = 0, size;
	struct tls_pair pair;
	unsigned calls = 1;
	char byte;

	(void)state;
	tls_pair_open(&pair, server,
		      &(const struct tls_client_options){ .least = TLS1_3_VERSION,
							  .most = TLS1_3_VERSION });
	assert_true(tls_pair_handshake(&pair));
	for (unsigned i = 0; i < UPDATES; i++) {
		assert_int_equal(SSL_key_update(pair.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(pair.client), 1);
		sent += BIO_ctrl_pending(pair.out);
		tls_pair_move(&pair);
	}
	assert_int_equal(SSL_write(pair.client, "x", 1), 1);
	sent += BIO_ctrl_pending(pair.out);
	tls_pair_move(&pair);
	while (connection_peek(pair.ends[1], arrived, sizeof arrived) < sent) {
		assert_true(os_monotonic_ns() < end_ns);
	}
	/* All is there: what a call does not take, it leaves for the next one. */
	for (; tls_read(pair.server, &byte, 1, &size) == TLS_WANT_READ; calls++) {
		assert_in_range(calls, 1, UPDATES);
	}
	assert_int_equal(byte, 'x');
	assert_in_range(calls, UPDATES / 100, UPDATES);
	tls_pair_close(&pair);
	tls_server_free(server);
}

static void a_close_is_announced(void **state)
{
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	struct tls_pair pair;
	char byte;
	int returned, code;

	(void)state;
	tls_pair_open(&pair, server, &(const struct tls_client_options){ 0 });
	assert_true(tls_pair_handshake(&pair));
	tls_close(pair.server);
	pair.server = NULL;
	do {
		assert_true(os_monotonic_ns() < end_ns);
		tls_pair_move(&pair);
		returned = SSL_read(pair.client, &byte, 1);
		code = SSL_get_error(pair.client, returned);
	} while (code == SSL_ERROR_WANT_READ);
	assert_int_equal(code, SSL_ERROR_ZERO_RETURN);
	tls_pair_close(&pair);
	tls_server_free(server);
}

static void what_is_no_tls_ends_the_connection(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	enum tls_result result;
	struct tls_pair pair;

	(void)state;
	tls_pair_open(&pair, server, &(const struct tls_client_options){ 0 });
	connection_send(pair.ends[0], request, sizeof request - 1);
	while ((result = tls_handshake(pair.server)) == TLS_WANT_READ) {
	}
	assert_int_equal(result, TLS_CLOSED);
	assert_int_equal(tls_server_failures(server), 1);
	tls_pair_close(&pair);
	/* A client that only looks whether the port is open is no failure. */
	tls_pair_open(&pair, server, &(const struct tls_client_options){ 0 });
	connection_close(pair.ends[0]);
	while ((result = tls_handshake(pair.server)) == TLS_WANT_READ) {
	}
	assert_int_equal(result, TLS_CLOSED);
	assert_int_equal(tls_server_failures(server), 1);
	pair.ends[0] = -1;
	tls_pair_close(&pair);
	tls_server_free(server);
}

/* ---- certificates of clients ---- */

static void clients_are_taken_by_the_type(void **state)
{
	const struct {
		const char *who;
		const struct certificate *own;
		bool taken[TLS_CLIENT_VERIFY +
			   1]; /* none, request, require any, if given, verify */
	} rows[] = {
		{ "no certificate", NULL, { true, true, false, true, false } },
		{ "of the authority", of.client, { true, true, true, true, true } },
		{ "of another authority", of.other_client, { true, true, true, false, false } },
		{ "expired", of.expired, { true, true, true, false, false } },
		{ "for servers only", of.for_servers, { true, true, true, false, false } },
		{ "signed by itself", of.alone, { true, true, true, false, false } },
	};
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	(void)state;
	for (unsigned type = TLS_CLIENT_NONE; type <= TLS_CLIENT_VERIFY; type++) {
		struct tls_options options = plain_options();

		options.client_auth = (enum tls_client_auth)type;
		options.client_ca = pem(of.ca->cert_pem, "client_ca_file");
		for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
			int version = versions[i % 2];
			const struct tls_client_options client = { .own = rows[i / 2].own,
								   .least = version,
								   .most = version };

			if (connects(&options, &client) != rows[i / 2].taken[type]) {
				fail_msg("type %u, TLS 1.%zu: a certificate %s is%s taken", type,
					 2 + i % 2, rows[i / 2].who,
					 rows[i / 2].taken[type] ? " not" : "");
			}
		}
	}
}

/* As with Go, each certificate of client_ca is trusted by itself. */
static void a_certificate_among_the_authorities_is_taken(void **state)
{
	struct tls_options options = plain_options();
	struct etw_text two = { 0 };

	(void)state;
	text_add_string(&two, of.alone->cert_pem);
	text_add_string(&two, of.client->cert_pem);
	assert_false(two.failed);
	options.client_auth = TLS_CLIENT_VERIFY;
	options.client_ca = pem(two.data, "client_ca_file");
	assert_true(connects(&options, &(const struct tls_client_options){ .own = of.alone }));
	assert_true(connects(&options, &(const struct tls_client_options){ .own = of.client }));
	assert_false(
		connects(&options, &(const struct tls_client_options){ .own = of.other_client }));
	text_free(&two);
}

static void one_of_the_allowed_names_is_needed(void **state)
{
	static const struct {
		const char *names, *allowed;
		bool taken;
	} rows[] = {
		{ "DNS:prometheus.example", "prometheus.example", true },
		{ "DNS:other.example,DNS:prometheus.example", "prometheus.example", true },
		{ "DNS:Prometheus.example", "prometheus.example", false },
		{ "DNS:x.prometheus.example", "prometheus.example", false },
		{ "DNS:prometheus.example.org", "prometheus.example", false },
		{ "DNS:*.example", "prometheus.example", false },
		{ "DNS:prometheus.example", "*.example", false },
		{ "email:ops@example.org", "ops@example.org", true },
		{ "URI:spiffe://example.org/prometheus", "spiffe://example.org/prometheus", true },
		{ "URI:spiffe://example.org/prometheus", "spiffe://example.org/", false },
		{ "IP:192.0.2.7", "192.0.2.7", true },
		{ "IP:192.0.2.70", "192.0.2.7", false },
		{ "IP:2001:db8::7", "2001:db8::7", true },
		{ "IP:2001:db8::7", "2001:db8:0:0:0:0:0:7", true },
		{ "DNS:192.0.2.7", "192.0.2.7", true },
		{ "RID:1.2.3.4", "1.2.3.4", false },
		{ NULL, "prometheus.example", false },
	};
	static const enum tls_client_auth types[] = { TLS_CLIENT_REQUIRE_ANY, TLS_CLIENT_VERIFY };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
		const char *allowed[] = { "unused.example", rows[i / 2].allowed };
		struct tls_options options = plain_options();
		/* The common name is no alternative. */
		struct certificate *client = certificate_make(&(const struct certificate_options){
			.name = "prometheus.example", .issuer = of.ca, .sans = rows[i / 2].names });

		options.client_auth = types[i % 2];
		options.client_ca = pem(of.ca->cert_pem, "client_ca_file");
		options.allowed_sans = allowed;
		options.allowed_san_count = 2;
		if (connects(&options, &(const struct tls_client_options){ .own = client }) !=
		    rows[i / 2].taken) {
			fail_msg("%s is%s allowed by %s", rows[i / 2].names,
				 rows[i / 2].taken ? " not" : "", rows[i / 2].allowed);
		}
		certificate_free(client);
	}
}

/* ---- what is negotiated ---- */

static void versions_are_kept(void **state)
{
	static const struct {
		enum tls_version least, most;
		int client_least, client_most, negotiated; /* 0: no connection */
	} rows[] = {
		{ TLS_VERSION_1_2, TLS_VERSION_1_3, 0, 0, TLS1_3_VERSION },
		{ TLS_VERSION_1_2, TLS_VERSION_1_3, 0, TLS1_2_VERSION, TLS1_2_VERSION },
		{ TLS_VERSION_1_2, TLS_VERSION_1_2, 0, 0, TLS1_2_VERSION },
		{ TLS_VERSION_1_2, TLS_VERSION_1_2, TLS1_3_VERSION, 0, 0 },
		{ TLS_VERSION_1_3, TLS_VERSION_1_3, 0, 0, TLS1_3_VERSION },
		{ TLS_VERSION_1_3, TLS_VERSION_1_3, 0, TLS1_2_VERSION, 0 },
		{ TLS_VERSION_1_2, TLS_VERSION_1_3, 0, TLS1_1_VERSION, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct tls_options options = plain_options();
		struct tls_server *server;
		struct tls_pair pair;
		int negotiated;

		options.least = rows[i].least;
		options.most = rows[i].most;
		server = serve(&options);
		tls_pair_open(&pair, server,
			      &(const struct tls_client_options){ .least = rows[i].client_least,
								  .most = rows[i].client_most,
								  .weak = true });
		negotiated = tls_pair_handshake(&pair) ? SSL_version(pair.client) : 0;
		if (negotiated != rows[i].negotiated) {
			fail_msg("row %zu: version %x, not %x", i, (unsigned)negotiated,
				 (unsigned)rows[i].negotiated);
		}
		tls_pair_close(&pair);
		tls_server_free(server);
	}
}

/* The names that a server and a client have in common, and whose order counts. */
static void suites_and_curves_are_chosen(void **state)
{
	static const char *const two[] = { "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
					   "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" };
	static const char *const newer[] = { "TLS_CHACHA20_POLY1305_SHA256" };
	static const char *const p384[] = { "CurveP384" };
	static const char *const two_curves[] = { "CurveP521", "X25519" };
	const char *chacha_first = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384";
	const struct {
		const char *const *suites, *const *curves;
		size_t suite_count, curve_count;
		bool clients_order;
		struct tls_client_options client;
		const char *suite, *curve; /* of the connection; suite NULL: there is none */
	} rows[] = {
		{ .suites = two,
		  .suite_count = 2,
		  .client = { .most = TLS1_2_VERSION },
		  .suite = "ECDHE-ECDSA-AES256-GCM-SHA384" },
		{ .suites = two,
		  .suite_count = 2,
		  .client = { .most = TLS1_2_VERSION, .suites = chacha_first },
		  .suite = "ECDHE-ECDSA-AES256-GCM-SHA384" },
		{ .suites = two,
		  .suite_count = 2,
		  .clients_order = true,
		  .client = { .most = TLS1_2_VERSION, .suites = chacha_first },
		  .suite = "ECDHE-ECDSA-CHACHA20-POLY1305" },
		{ .suites = two,
		  .suite_count = 2,
		  .client = { .most = TLS1_2_VERSION, .suites = "ECDHE-ECDSA-AES128-GCM-SHA256" } },
		/* None of TLS 1.3 is named: it keeps all of its own. */
		{ .suites = two,
		  .suite_count = 2,
		  .client = { .suites_1_3 = "TLS_AES_128_GCM_SHA256" },
		  .suite = "TLS_AES_128_GCM_SHA256" },
		{ .suites = newer, .suite_count = 1, .suite = "TLS_CHACHA20_POLY1305_SHA256" },
		{ .suites = newer,
		  .suite_count = 1,
		  .client = { .suites_1_3 = "TLS_AES_128_GCM_SHA256" } },
		/* None of TLS 1.2 is named: it has none. */
		{ .suites = newer, .suite_count = 1, .client = { .most = TLS1_2_VERSION } },
		/* By default those without forward secrecy are left out. */
		{ .client = { .most = TLS1_2_VERSION, .suites = "ECDHE-ECDSA-AES256-SHA" },
		  .suite = "ECDHE-ECDSA-AES256-SHA" },
		{ .client = { .most = TLS1_2_VERSION, .suites = "AES128-GCM-SHA256" } },
		{ .client = { .most = TLS1_2_VERSION, .suites = "DHE-RSA-AES128-GCM-SHA256" } },
		/* Groups of finite fields, by default too: the largest one costs 0.2 s. */
		{ .client = { .groups = "ffdhe8192" } },
		{ .client = { .groups = "ffdhe2048" } },
		{ .client = { .groups = "ffdhe2048:P-384" },
		  .suite = "TLS_AES_128_GCM_SHA256",
		  .curve = "secp384r1" },
		{ .client = { .groups = "X25519" },
		  .suite = "TLS_AES_128_GCM_SHA256",
		  .curve = "x25519" },
		{ .curves = p384,
		  .curve_count = 1,
		  .client = { .groups = "X25519:P-384" },
		  .suite = "TLS_AES_128_GCM_SHA256",
		  .curve = "secp384r1" },
		{ .curves = p384, .curve_count = 1, .client = { .groups = "X25519:P-256" } },
		{ .curves = two_curves,
		  .curve_count = 2,
		  .client = { .groups = "P-256:X25519" },
		  .suite = "TLS_AES_128_GCM_SHA256",
		  .curve = "x25519" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct tls_options options = plain_options();
		unsigned suites[4], curves[4];
		struct tls_server *server;
		struct tls_pair pair;
		const char *suite;

		for (size_t j = 0; j < rows[i].suite_count; j++) {
			suites[j] = index_of(tls_suite_name, rows[i].suites[j]);
		}
		for (size_t j = 0; j < rows[i].curve_count; j++) {
			curves[j] = index_of(tls_curve_name, rows[i].curves[j]);
		}
		options.suites = suites;
		options.suite_count = rows[i].suite_count;
		options.curves = curves;
		options.curve_count = rows[i].curve_count;
		options.prefer_server_suites = !rows[i].clients_order;
		server = serve(&options);
		tls_pair_open(&pair, server, &rows[i].client);
		suite = tls_pair_handshake(&pair) ? SSL_get_cipher_name(pair.client) : NULL;
		if (!suite != !rows[i].suite || (suite && strcmp(suite, rows[i].suite) != 0)) {
			fail_msg("row %zu: suite %s, not %s", i, suite, rows[i].suite);
		}
		if (rows[i].curve) {
			int group = (int)SSL_get_negotiated_group(pair.client);

			assert_string_equal(SSL_group_to_name(pair.client, group), rows[i].curve);
		}
		tls_pair_close(&pair);
		tls_server_free(server);
	}
}

static void the_protocol_is_http_1_1(void **state)
{
	static const struct {
		const char *offered;
		bool connects;
	} rows[] = {
		{ "\x02h2\x08http/1.1", true },
		{ "\x08http/1.1", true },
		{ "\x02h2", false },
		{ NULL, true },
	};
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct tls_pair pair;
		const unsigned char *chosen;
		unsigned size;

		tls_pair_open(&pair, server,
			      &(const struct tls_client_options){ .protocols = rows[i].offered });
		assert_int_equal(tls_pair_handshake(&pair), rows[i].connects);
		SSL_get0_alpn_selected(pair.client, &chosen, &size);
		assert_int_equal(size, rows[i].offered && rows[i].connects ? 8 : 0);
		tls_pair_close(&pair);
	}
	tls_server_free(server);
}

/* ---- exchanging certificates ---- */

static const X509 *certificate_of_server(const struct tls_pair *pair)
{
	return SSL_get0_peer_certificate(pair->client);
}

/* Whether a client that trusts only the authority takes what the server has sent. */
static bool is_trusted(const struct tls_pair *pair, const struct certificate *authority)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	bool trusted;

	assert_true(store && check && X509_STORE_add_cert(store, authority->cert) == 1);
	assert_int_equal(X509_STORE_CTX_init(check, store, SSL_get0_peer_certificate(pair->client),
					     SSL_get_peer_cert_chain(pair->client)),
			 1);
	trusted = X509_verify_cert(check) == 1;
	X509_STORE_CTX_free(check);
	X509_STORE_free(store);
	return trusted;
}

/* The file has the certificate of the server first, then those that lead to the authority: so
 * public authorities give them out. */
static void certificates_of_authorities_between_are_sent(void **state)
{
	struct certificate *between = certificate_make(&(const struct certificate_options){
		.name = "between", .issuer = of.ca, .authority = true });
	struct certificate *server = make("server below", between, "serverAuth", false);
	struct tls_options options = plain_options();
	struct etw_text chain = { 0 };

	(void)state;
	text_add_string(&chain, server->cert_pem);
	text_add_string(&chain, between->cert_pem);
	options.key = pem(server->key_pem, "key_file");
	for (unsigned whole = 0; whole < 2; whole++) {
		struct tls_server *tls;
		struct tls_pair pair;

		options.cert = pem(whole ? chain.data : server->cert_pem, "cert_file");
		tls = serve(&options);
		tls_pair_open(&pair, tls, &(const struct tls_client_options){ 0 });
		assert_true(tls_pair_handshake(&pair));
		assert_int_equal(X509_cmp(SSL_get0_peer_certificate(pair.client), server->cert), 0);
		assert_int_equal(is_trusted(&pair, of.ca), whole == 1);
		assert_false(is_trusted(&pair, of.other_ca));
		tls_pair_close(&pair);
		tls_server_free(tls);
	}
	text_free(&chain);
	certificate_free(server);
	certificate_free(between);
}

static void an_exchange_is_for_later_connections(void **state)
{
	struct certificate *newer = make("server", of.ca, "serverAuth", false);
	struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	struct tls_pair before, after;
	struct etw_error err = { 0 };
	char byte;
	size_t size;

	(void)state;
	tls_pair_open(&before, server, &(const struct tls_client_options){ 0 });
	options.cert = pem(newer->cert_pem, "cert_file");
	options.key = pem(newer->key_pem, "key_file");
	assert_true(tls_server_set(server, &options, &err));
	tls_pair_open(&after, server, &(const struct tls_client_options){ 0 });
	assert_true(tls_pair_handshake(&before));
	assert_true(tls_pair_handshake(&after));
	assert_int_equal(X509_cmp(certificate_of_server(&before), of.server->cert), 0);
	assert_int_equal(X509_cmp(certificate_of_server(&after), newer->cert), 0);
	tls_pair_close(&after);
	/* The older connection lasts longer than the server. */
	tls_server_free(server);
	assert_int_equal(SSL_write(before.client, "x", 1), 1);
	assert_int_equal(read_within_reason(&before, &byte, 1, &size), TLS_DONE);
	assert_int_equal(byte, 'x');
	tls_pair_close(&before);
	certificate_free(newer);
}

static void after_an_error_the_server_keeps_what_it_has(void **state)
{
	struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	struct etw_error err = { 0 };

	(void)state;
	options.key = pem(of.client->key_pem, "key_file 'b.key'");
	assert_false(tls_server_set(server, &options, &err));
	assert_string_equal(err.text, "key_file 'b.key' is not the key of cert_file");
	assert_true(tls_connects(server, &(const struct tls_client_options){ 0 }));
	tls_server_free(server);
}

/* A session that was resumed would skip the check of the client's certificate. */
static void sessions_are_not_resumed(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	(void)state;
	for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
		struct tls_client_options client = { .own = of.client,
						     .least = versions[i],
						     .most = versions[i] };
		struct tls_options options = plain_options();
		struct tls_server *server;
		struct etw_error err = { 0 };
		struct tls_pair pair;

		options.client_auth = TLS_CLIENT_VERIFY;
		options.client_ca = pem(of.ca->cert_pem, "client_ca_file");
		server = serve(&options);
		tls_pair_open(&pair, server, &client);
		assert_true(tls_pair_handshake(&pair));
		client.session = SSL_get1_session(pair.client);
		assert_non_null(client.session);
		assert_false(SSL_SESSION_has_ticket(client.session));
		tls_pair_close(&pair);
		assert_true(!SSL_SESSION_is_resumable(client.session) ||
			    tls_connects(server, &client));
		options.client_ca = pem(of.other_ca->cert_pem, "client_ca_file");
		assert_true(tls_server_set(server, &options, &err));
		if (SSL_SESSION_is_resumable(client.session)) {
			assert_false(tls_connects(server, &client));
		}
		SSL_SESSION_free(client.session);
		client.session = NULL;
		assert_false(tls_connects(server, &client));
		tls_server_free(server);
	}
}

enum { EXCHANGES = 50, CONNECTIONS = 20 };

static void exchange_often(void *context)
{
	const struct tls_options options = plain_options();
	struct etw_error err = { 0 };

	for (int i = 0; i < EXCHANGES; i++) {
		if (!tls_server_set(context, &options, &err)) {
			abort();
		}
	}
}

static void connections_begin_while_certificates_change(void **state)
{
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	struct os_thread thread;
	struct etw_error err = { 0 };

	(void)state;
	assert_true(os_thread_start(&thread, exchange_often, server, &err));
	for (int i = 0; i < CONNECTIONS; i++) {
		assert_true(tls_connects(server, &(const struct tls_client_options){ 0 }));
		assert_true(tls_server_valid_until(server) > 0);
	}
	os_thread_join(&thread);
	tls_server_free(server);
}

/* ---- errors ---- */

static char *encrypted_key(void)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *bytes, *copy;
	long size;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(out, of.server->key, EVP_aes_128_cbc(), "pw",
						       2, NULL, NULL),
			 1);
	size = BIO_get_mem_data(out, &bytes);
	copy = text_duplicate(bytes, (size_t)size);
	BIO_free(out);
	assert_non_null(copy);
	return copy;
}

static void errors_name_the_text_that_is_wrong(void **state)
{
	static const char damaged[] = "-----BEGIN CERTIFICATE-----\nAAAA\n"
				      "-----END CERTIFICATE-----\n";
	static const char cut[] = "-----BEGIN CERTIFICATE-----\nMIIB\n";
	char *encrypted = encrypted_key();
	const struct {
		const char *cert, *key, *ca, *sentence; /* NULL: a good one, none */
	} rows[] = {
		{ "", NULL, NULL, "C: there is no certificate in it" },
		{ "no PEM\n", NULL, NULL, "C: there is no certificate in it" },
		{ of.server->key_pem, NULL, NULL, "C: there is no certificate in it" },
		{ damaged, NULL, NULL, "C: " },
		{ cut, NULL, NULL, "C: " },
		{ NULL, "", NULL, "K: there is no private key in it" },
		{ NULL, of.server->cert_pem, NULL, "K: there is no private key in it" },
		{ NULL, encrypted, NULL, "K: the key has a password; a key without one is needed" },
		{ NULL, of.client->key_pem, NULL, "K is not the key of C" },
		{ NULL, NULL, "", "A: there is no certificate in it" },
		{ NULL, NULL, damaged, "A: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct tls_options options = plain_options();
		struct etw_error err = { 0 };

		options.cert = pem(rows[i].cert ? rows[i].cert : of.server->cert_pem, "C");
		options.key = pem(rows[i].key ? rows[i].key : of.server->key_pem, "K");
		if (rows[i].ca) {
			options.client_auth = TLS_CLIENT_VERIFY;
			options.client_ca = pem(rows[i].ca, "A");
		}
		assert_null(tls_server_new(&options, &err));
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
		if (strncmp(err.text, rows[i].sentence, strlen(rows[i].sentence)) != 0) {
			fail_msg("row %zu: %s", i, err.text);
		}
	}
	free(encrypted);
}

static void suites_of_no_allowed_version_are_refused(void **state)
{
	unsigned suite = index_of(tls_suite_name, "TLS_AES_256_GCM_SHA384");
	struct tls_options options = plain_options();
	struct etw_error err = { 0 };

	(void)state;
	options.suites = &suite;
	options.suite_count = 1;
	options.most = TLS_VERSION_1_2;
	assert_null(tls_server_new(&options, &err));
	assert_string_equal(err.text,
			    "no cipher suite is left: all that are named are of TLS 1.3, which "
			    "max_version does not allow");
}

static void the_end_of_the_certificate_is_known(void **state)
{
	const struct tls_options options = plain_options();
	struct tls_server *server = serve(&options);
	uint64_t now = os_unix_time_ns() / 1000000000;
	uint64_t until = tls_server_valid_until(server);

	(void)state;
	/* certificates.c: ten days from the start of the test. */
	assert_true(until <= now + 864000 && until > now);
	tls_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_handshake_goes_on_with_each_byte),
		cmocka_unit_test(large_answers_go_in_parts),
		cmocka_unit_test(what_is_decrypted_already_is_read_at_once),
		cmocka_unit_test(a_call_takes_a_bounded_number_of_records),
		cmocka_unit_test(a_close_is_announced),
		cmocka_unit_test(what_is_no_tls_ends_the_connection),
		cmocka_unit_test(clients_are_taken_by_the_type),
		cmocka_unit_test(a_certificate_among_the_authorities_is_taken),
		cmocka_unit_test(one_of_the_allowed_names_is_needed),
		cmocka_unit_test(versions_are_kept),
		cmocka_unit_test(suites_and_curves_are_chosen),
		cmocka_unit_test(the_protocol_is_http_1_1),
		cmocka_unit_test(certificates_of_authorities_between_are_sent),
		cmocka_unit_test(an_exchange_is_for_later_connections),
		cmocka_unit_test(after_an_error_the_server_keeps_what_it_has),
		cmocka_unit_test(sessions_are_not_resumed),
		cmocka_unit_test(connections_begin_while_certificates_change),
		cmocka_unit_test(errors_name_the_text_that_is_wrong),
		cmocka_unit_test(suites_of_no_allowed_version_are_refused),
		cmocka_unit_test(the_end_of_the_certificate_is_known),
	};

	return cmocka_run_group_tests_name("tls", tests, make_all, free_all);
}

/* SPDX-License-Identifier: MIT */
/*
 * Implements TLS with OpenSSL 3.
 *
 * All settings of a server are in an SSL_CTX that does not change once it is made. tls_server_set()
 * makes another one and replaces the former one, which existing connections keep until they close.
 * So a new certificate needs no lock beyond the one around that pointer, and a connection never
 * sees half of an exchange.
 *
 * Sessions are not resumed, neither by tickets nor by a cache: a resumed session skips the check of
 * the client's certificate, and so would outlive a change of client_ca or of the allowed names. The
 * toolkit of Prometheus' exporters does not resume sessions either, because it makes a new
 * configuration for each connection. Prometheus keeps its connection alive between scrapes instead.
 *
 * The requirements for client certificates are those of Go's ClientAuthType. OpenSSL has no mode
 * for each of them: SSL_VERIFY_PEER requests a certificate and checks it. verify_client() replaces
 * that check, accepts certificates that need not be checked, and looks for the allowed names. As in
 * Go, each certificate of client_ca is trusted by itself (X509_V_FLAG_PARTIAL_CHAIN), whether it
 * signed itself or not, and a certificate for servers only is not one for clients.
 *
 * The suites of TLS 1.3 are chosen apart from those of TLS 1.2 in OpenSSL, and not at all in Go. A
 * configuration that names one of TLS 1.3 gets those it names; one that names none gets all three.
 * A configuration that names suites, but none of TLS 1.2, gets no connections of TLS 1.2, as in Go.
 *
 * By default OpenSSL also exchanges keys in finite fields, where a hello of 1.3 KB asks for 0.2 s
 * of the thread that serves all handshakes (ffdhe8192). Go does not have these groups, and they
 * cannot be configured, so they are off.
 *
 * One call of OpenSSL takes records until one has data, and a client can send any number without
 * data: KeyUpdate, or a hello of TLS 1.2 that begins a renegotiation and is refused. So one client
 * could keep the thread busy that reads for all. Therefore a call reads from the socket at most
 * READS_AT_ONCE times; then OpenSSL is made to believe that nothing more has arrived, and the next
 * call continues.
 */
#include "exporter/http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "exporter/http/crypto.h"

/* A name that a client's certificate must have. */
struct allowed_san {
	char *text;                 /* owned */
	ASN1_OCTET_STRING *address; /* owned; the text as an address; NULL: it is a name */
};

/* The settings that connections share. They do not change. */
struct tls_context {
	atomic_uint holders; /* reference count: the server and connections hold one each */
	SSL_CTX *ssl;
	enum tls_client_auth client_auth;
	struct allowed_san *sans;
	size_t san_count;
	uint64_t valid_until;
};

struct tls_server {
	struct os_mutex mutex; /* of context */
	struct tls_context *context;
	atomic_uint_fast64_t failures;
};

struct tls_connection {
	SSL *ssl;
	struct tls_server *server; /* set only during the handshake */
	struct tls_context *context;
	unsigned reads_left; /* reads from the socket that this call may still make */
	bool broken;         /* the connection failed; nothing more may be sent */
};

/* ---- names ---- */

static const struct suite {
	const char *name, *openssl;
	bool of_tls_1_3;
} suites[] = {
	/* The suites of Go's CipherSuites(), in its order of preference. */
	{ "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", true },
	{ "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", true },
	{ "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", true },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", false },
	{ "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", false },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", false },
	{ "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", false },
	{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", false },
	{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", false },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", false },
	{ "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", false },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", false },
	{ "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", false },
};

static const struct {
	const char *name, *openssl;
} curves[] = {
	{ "CurveP256", "P-256" },
	{ "CurveP384", "P-384" },
	{ "CurveP521", "P-521" },
	{ "X25519", "X25519" },
};

enum {
	SUITES = sizeof suites / sizeof suites[0],
	CURVES = sizeof curves / sizeof curves[0],
	SECURITY_LEVEL = 2, /* OpenSSL's level for 112 bits: RSA with 2048 bits or more, no SHA-1
			       signatures */
};

const char *tls_suite_name(size_t index)
{
	return index < SUITES ? suites[index].name : NULL;
}

const char *tls_curve_name(size_t index)
{
	return index < CURVES ? curves[index].name : NULL;
}

/* ---- errors ---- */

/* Sets err to the first error in OpenSSL's queue, because later ones only name the place where it
 * was noticed. Lack of memory is checked apart, because OpenSSL may report it as another error.
 * Returns false. */
static bool openssl_failed(struct etw_error *err, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());
	unsigned long code;
	bool memory = false;

	while ((code = ERR_get_error()) != 0) {
		memory |= ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
	}
	return memory ? error_no_memory(err, what) :
			error_set(err, ETW_ERROR_CONFIG, "%s: %s", what,
				  reason ? reason : "OpenSSL refuses it");
}

/* ---- certificates and keys ---- */

/* Refuses a key with a password, because the program must start without a user. */
static int refuse_password(char *buffer, int size, int writing, void *encrypted)
{
	(void)buffer;
	(void)size;
	(void)writing;
	*(bool *)encrypted = true;
	return -1;
}

static BIO *open_pem(const struct tls_pem *pem)
{
	return pem->size <= INT32_MAX ? BIO_new_mem_buf(pem->bytes, (int)pem->size) : NULL;
}

/*
 * Calls take() with each certificate of a text; take() adds a reference if it keeps the
 * certificate. Returns false with an error if there is no certificate or one is damaged.
 */
static bool read_certificates(const struct tls_pem *pem,
			      bool (*take)(struct tls_context *context, X509 *cert, size_t index),
			      struct tls_context *context, struct etw_error *err)
{
	BIO *in = open_pem(pem);
	bool encrypted = false, good = in != NULL;
	size_t count = 0;
	unsigned long last;
	X509 *cert;

	while (good && (cert = PEM_read_bio_X509(in, NULL, refuse_password, &encrypted)) != NULL) {
		good = take(context, cert, count++);
		X509_free(cert);
	}
	last = ERR_peek_last_error();
	BIO_free(in);
	if (!good) {
		return openssl_failed(err, pem->name);
	}
	/* After the last certificate OpenSSL reports that it finds no further start line. */
	if (ERR_GET_LIB(last) != ERR_LIB_PEM || ERR_GET_REASON(last) != PEM_R_NO_START_LINE) {
		return openssl_failed(err, pem->name);
	}
	ERR_clear_error();
	return count > 0 ||
	       error_set(err, ETW_ERROR_CONFIG, "%s: there is no certificate in it", pem->name);
}

static uint64_t unix_time(const ASN1_TIME *time)
{
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int days = 0, seconds = 0;
	int64_t sum;

	if (epoch && !ASN1_TIME_diff(&days, &seconds, epoch, time)) {
		days = seconds = 0;
	}
	ASN1_TIME_free(epoch);
	sum = (int64_t)days * 86400 + seconds;
	return sum > 0 ? (uint64_t)sum : 0;
}

/* Keeps a certificate of the server: the first is its own, the others are the chain to its
 * authority. */
static bool use_own_certificate(struct tls_context *context, X509 *cert, size_t index)
{
	if (index > 0) {
		return SSL_CTX_add1_chain_cert(context->ssl, cert) == 1;
	}
	context->valid_until = unix_time(X509_get0_notAfter(cert));
	return SSL_CTX_use_certificate(context->ssl, cert) == 1;
}

static bool use_client_ca(struct tls_context *context, X509 *cert, size_t index)
{
	(void)index;
	return X509_STORE_add_cert(SSL_CTX_get_cert_store(context->ssl), cert) == 1 &&
	       SSL_CTX_add_client_CA(context->ssl, cert) == 1;
}

static bool read_key(struct tls_context *context, const struct tls_options *options,
		     struct etw_error *err)
{
	const struct tls_pem *pem = &options->key;
	BIO *in = open_pem(pem);
	bool encrypted = false;
	EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, refuse_password, &encrypted) : NULL;
	bool good = key != NULL;

	BIO_free(in);
	if (encrypted) {
		ERR_clear_error();
		error_set(err, ETW_ERROR_CONFIG,
			  "%s: the key has a password; a key without one is needed", pem->name);
	} else if (!good) {
		unsigned long last = ERR_peek_last_error();

		if (ERR_GET_LIB(last) == ERR_LIB_OSSL_DECODER) { /* "unsupported" */
			ERR_clear_error();
			error_set(err, ETW_ERROR_CONFIG, "%s: there is no private key in it",
				  pem->name);
		} else {
			openssl_failed(err, pem->name);
		}
	} else if (X509_check_private_key(SSL_CTX_get0_certificate(context->ssl), key) != 1) {
		ERR_clear_error();
		good = error_set(err, ETW_ERROR_CONFIG, "%s is not the key of %s", pem->name,
				 options->cert.name);
	} else if (SSL_CTX_use_PrivateKey(context->ssl, key) != 1) {
		good = openssl_failed(err, pem->name);
	}
	EVP_PKEY_free(key);
	return good && !encrypted;
}

static bool read_pems(struct tls_context *context, const struct tls_options *options,
		      struct etw_error *err)
{
	if (!read_certificates(&options->cert, use_own_certificate, context, err) ||
	    !read_key(context, options, err)) {
		return false;
	}
	return !options->client_ca.bytes ||
	       read_certificates(&options->client_ca, use_client_ca, context, err);
}

/* ---- certificates of clients ---- */

static bool same_text(const struct allowed_san *san, const ASN1_STRING *found)
{
	size_t size = strlen(san->text);

	return ASN1_STRING_length(found) == (int)size &&
	       memcmp(ASN1_STRING_get0_data(found), san->text, size) == 0;
}

static bool is_allowed(const struct tls_context *context, const GENERAL_NAME *name)
{
	int type;
	const ASN1_STRING *found = GENERAL_NAME_get0_value(name, &type);

	for (size_t i = 0; i < context->san_count; i++) {
		const struct allowed_san *san = &context->sans[i];

		if ((type == GEN_DNS || type == GEN_EMAIL || type == GEN_URI) &&
		    same_text(san, found)) {
			return true;
		}
		if (type == GEN_IPADD && san->address &&
		    ASN1_OCTET_STRING_cmp(san->address, found) == 0) {
			return true;
		}
	}
	return false;
}

static bool has_allowed_san(const struct tls_context *context, const X509 *cert)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	bool allowed = false;

	for (int i = 0; !allowed && i < sk_GENERAL_NAME_num(names); i++) {
		allowed = is_allowed(context, sk_GENERAL_NAME_value(names, i));
	}
	GENERAL_NAMES_free(names);
	return allowed;
}

/* Replaces OpenSSL's check of a certificate that a client sent. */
static int verify_client(X509_STORE_CTX *store, void *argument)
{
	const struct tls_context *context = argument;

	if (context->client_auth >= TLS_CLIENT_VERIFY_IF_GIVEN && X509_verify_cert(store) != 1) {
		return 0;
	}
	if (context->san_count > 0 && !has_allowed_san(context, X509_STORE_CTX_get0_cert(store))) {
		X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
		return 0;
	}
	return 1;
}

static bool set_clients(struct tls_context *context, const struct tls_options *options,
			struct etw_error *err)
{
	static const int modes[] = {
		[TLS_CLIENT_NONE] = SSL_VERIFY_NONE,
		[TLS_CLIENT_REQUEST] = SSL_VERIFY_PEER,
		[TLS_CLIENT_REQUIRE_ANY] = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
		[TLS_CLIENT_VERIFY_IF_GIVEN] = SSL_VERIFY_PEER,
		[TLS_CLIENT_VERIFY] = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
	};

	context->client_auth = options->client_auth;
	SSL_CTX_set_verify(context->ssl, modes[options->client_auth], NULL);
	SSL_CTX_set_cert_verify_callback(context->ssl, verify_client, context);
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context->ssl), X509_V_FLAG_PARTIAL_CHAIN);
	if (options->allowed_san_count == 0) {
		return true;
	}
	context->sans = calloc(options->allowed_san_count, sizeof *context->sans);
	if (!context->sans) {
		return error_no_memory(err, "the names of clients");
	}
	for (size_t i = 0; i < options->allowed_san_count; i++) {
		const char *san = options->allowed_sans[i];

		context->sans[i].text = text_duplicate(san, strlen(san));
		if (!context->sans[i].text) {
			return error_no_memory(err, "the names of clients");
		}
		context->san_count++;
		context->sans[i].address = a2i_IPADDRESS(san); /* NULL: it is a name */
	}
	ERR_clear_error();
	return true;
}

/* ---- versions, suites, curves ---- */

/* Adds a name to a list in OpenSSL's syntax. */
static void add_name(struct etw_text *list, const char *name)
{
	text_add_format(list, "%s%s", list->size > 0 ? ":" : "", name);
}

/* Lists the chosen suites of a version, or all of its suites. */
static struct etw_text list_suites(const struct tls_options *options, bool of_tls_1_3, bool all)
{
	struct etw_text list = { 0 };

	for (size_t i = 0; all && i < SUITES; i++) {
		if (suites[i].of_tls_1_3 == of_tls_1_3) {
			add_name(&list, suites[i].openssl);
		}
	}
	for (size_t i = 0; !all && i < options->suite_count; i++) {
		if (suites[options->suites[i]].of_tls_1_3 == of_tls_1_3) {
			add_name(&list, suites[options->suites[i]].openssl);
		}
	}
	return list;
}

static bool set_suites(SSL_CTX *ssl, const struct tls_options *options, bool *of_tls_1_2,
		       struct etw_error *err)
{
	struct etw_text older = list_suites(options, false, options->suite_count == 0);
	struct etw_text newer = list_suites(options, true, false);
	bool good = !older.failed && !newer.failed;

	*of_tls_1_2 = older.size > 0;
	if (newer.size == 0) {
		text_free(&newer);
		newer = list_suites(options, true, true);
	}
	if (!good || newer.failed) {
		error_no_memory(err, "the cipher suites");
		good = false;
	} else if ((older.size > 0 && SSL_CTX_set_cipher_list(ssl, older.data) != 1) ||
		   SSL_CTX_set_ciphersuites(ssl, newer.data) != 1) {
		good = openssl_failed(err, "cipher_suites");
	}
	text_free(&older);
	text_free(&newer);
	return good;
}

/* Sets the default curves of Go. OpenSSL has the first of them only since 3.5. */
static bool set_default_curves(SSL_CTX *ssl, struct etw_error *err)
{
	char all[] = "X25519MLKEM768:X25519:P-256:P-384:P-521";
	bool good = SSL_CTX_set1_groups_list(ssl, all) == 1 ||
		    SSL_CTX_set1_groups_list(ssl, strchr(all, ':') + 1) == 1 ||
		    openssl_failed(err, "the curves");

	ERR_clear_error();
	return good;
}

static bool set_curves(SSL_CTX *ssl, const struct tls_options *options, struct etw_error *err)
{
	struct etw_text list = { 0 };
	bool good;

	if (options->curve_count == 0) {
		return set_default_curves(ssl, err);
	}
	for (size_t i = 0; i < options->curve_count; i++) {
		add_name(&list, curves[options->curves[i]].openssl);
	}
	good = !list.failed ? SSL_CTX_set1_groups_list(ssl, list.data) == 1 ||
				      openssl_failed(err, "curve_preferences") :
			      error_no_memory(err, "the curves");
	text_free(&list);
	return good;
}

static bool set_versions(SSL_CTX *ssl, const struct tls_options *options, struct etw_error *err)
{
	static const int versions[] = {
		[TLS_VERSION_1_2] = TLS1_2_VERSION, [TLS_VERSION_1_3] = TLS1_3_VERSION
	};
	enum tls_version least = options->least;
	bool of_tls_1_2;

	if (!set_suites(ssl, options, &of_tls_1_2, err)) {
		return false;
	}
	if (!of_tls_1_2) {
		least = TLS_VERSION_1_3;
	}
	if (least > options->most) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "no cipher suite is left: all that are named are of TLS 1.3, "
				 "which max_version does not allow");
	}
	return (SSL_CTX_set_min_proto_version(ssl, versions[least]) == 1 &&
		SSL_CTX_set_max_proto_version(ssl, versions[options->most]) == 1) ||
	       openssl_failed(err, "the versions of TLS");
}

/* ---- contexts ---- */

/* Selects HTTP/1.1, because HTTP/2 is not offered. Without a common protocol the handshake fails
 * (RFC 7301, section 3.2). */
static int select_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *size,
			   const unsigned char *offered, unsigned offered_size, void *argument)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *found;

	(void)ssl;
	(void)argument;
	if (SSL_select_next_proto(&found, size, ours, sizeof ours - 1, offered, offered_size) !=
	    OPENSSL_NPN_NEGOTIATED) {
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	*chosen = found;
	return SSL_TLSEXT_ERR_OK;
}

static void release_context(struct tls_context *context)
{
	if (!context || atomic_fetch_sub_explicit(&context->holders, 1, memory_order_acq_rel) > 1) {
		return;
	}
	for (size_t i = 0; i < context->san_count; i++) {
		free(context->sans[i].text);
		ASN1_OCTET_STRING_free(context->sans[i].address);
	}
	free(context->sans);
	SSL_CTX_free(context->ssl);
	free(context);
}

static struct tls_context *make_context(const struct tls_options *options, struct etw_error *err)
{
	struct tls_context *context = calloc(1, sizeof *context);

	if (!context) {
		error_no_memory(err, "TLS");
		return NULL;
	}
	atomic_init(&context->holders, 1);
	crypto_lacked_memory();
	ERR_clear_error();
	context->ssl = SSL_CTX_new(TLS_server_method());
	if (!context->ssl) {
		openssl_failed(err, "TLS");
		goto fail;
	}
	SSL_CTX_set_security_level(context->ssl, SECURITY_LEVEL);
	SSL_CTX_set_options(context->ssl,
			    SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context->ssl, 0);
	/* The modes keep certificates of client_ca out of our own chain, and free the buffers of
	 * idle connections, 34 KB each. */
	SSL_CTX_set_mode(context->ssl, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS |
					       SSL_MODE_ENABLE_PARTIAL_WRITE |
					       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_alpn_select_cb(context->ssl, select_protocol, NULL);
	if (options->prefer_server_suites) {
		SSL_CTX_set_options(context->ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
	}
	if (!set_versions(context->ssl, options, err) || !set_curves(context->ssl, options, err) ||
	    !set_clients(context, options, err) || !read_pems(context, options, err)) {
		goto fail;
	}
	return context;

fail:
	if (crypto_lacked_memory()) {
		error_no_memory(err, "TLS");
	}
	release_context(context);
	return NULL;
}

struct tls_server *tls_server_new(const struct tls_options *options, struct etw_error *err)
{
	struct tls_server *server = calloc(1, sizeof *server);

	if (!server) {
		error_no_memory(err, "TLS");
		return NULL;
	}
	server->context = make_context(options, err);
	if (!server->context) {
		free(server);
		return NULL;
	}
	os_mutex_init(&server->mutex);
	atomic_init(&server->failures, 0);
	return server;
}

void tls_server_free(struct tls_server *server)
{
	if (server) {
		os_mutex_done(&server->mutex);
		release_context(server->context);
		free(server);
	}
}

bool tls_server_set(struct tls_server *server, const struct tls_options *options,
		    struct etw_error *err)
{
	struct tls_context *context = make_context(options, err), *old;

	if (!context) {
		return false;
	}
	os_mutex_lock(&server->mutex);
	old = server->context;
	server->context = context;
	os_mutex_unlock(&server->mutex);
	release_context(old);
	return true;
}

static struct tls_context *hold_context(struct tls_server *server)
{
	struct tls_context *context;

	os_mutex_lock(&server->mutex);
	context = server->context;
	atomic_fetch_add_explicit(&context->holders, 1, memory_order_relaxed);
	os_mutex_unlock(&server->mutex);
	return context;
}

uint64_t tls_server_valid_until(struct tls_server *server)
{
	struct tls_context *context = hold_context(server);
	uint64_t valid_until = context->valid_until;

	release_context(context);
	return valid_until;
}

uint64_t tls_server_failures(const struct tls_server *server)
{
	return atomic_load_explicit(&server->failures, memory_order_relaxed);
}

/* ---- connections ---- */

enum { READS_AT_ONCE = 64 }; /* a record takes two reads: its head, then the rest */

/* OpenSSL calls this before and after each operation on the socket. If it returns -1 before a read,
 * the read fails with -1. */
static long bound_reads(BIO *bio, int operation, const char *bytes, size_t size, int command,
			long argument, int result, size_t *processed)
{
	struct tls_connection *connection = (void *)BIO_get_callback_arg(bio);

	(void)bytes;
	(void)size;
	(void)command;
	(void)argument;
	(void)processed;
	if (operation != BIO_CB_READ) {
		return result;
	}
	if (connection->reads_left > 0) {
		connection->reads_left--;
		return result;
	}
	BIO_clear_retry_flags(bio);
	BIO_set_retry_read(bio);
	return -1;
}

/* Clears the error queue before a call of OpenSSL, which would take an older error of this thread
 * for its own. */
static void begin_call(struct tls_connection *connection)
{
	connection->reads_left = READS_AT_ONCE;
	ERR_clear_error();
}

struct tls_connection *tls_accept(struct tls_server *server, intptr_t socket)
{
	struct tls_connection *connection = calloc(1, sizeof *connection);

	if (!connection) {
		return NULL;
	}
	connection->server = server;
	connection->context = hold_context(server);
	connection->ssl = SSL_new(connection->context->ssl);
	/* OpenSSL takes sockets as int on Windows too; their values are small. */
	if (!connection->ssl || SSL_set_fd(connection->ssl, (int)socket) != 1) {
		ERR_clear_error();
		connection->broken = true;
		tls_close(connection);
		return NULL;
	}
	BIO_set_callback_ex(SSL_get_rbio(connection->ssl), bound_reads);
	BIO_set_callback_arg(SSL_get_rbio(connection->ssl), (char *)connection);
	SSL_set_accept_state(connection->ssl);
	return connection;
}

static enum tls_result result_of(struct tls_connection *connection, int returned)
{
	switch (SSL_get_error(connection->ssl, returned)) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_CLOSED;
	default:
		connection->broken = true;
		return TLS_CLOSED;
	}
}

/* Counts a failed handshake, but not a client that only closed the connection, such as a port
 * scanner. */
static void count_failure(struct tls_connection *connection)
{
	unsigned long first = ERR_peek_error();
	long verdict = SSL_get_verify_result(connection->ssl);

	if (first == 0 || ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
	    ERR_GET_LIB(first) == ERR_LIB_SYS) {
		return;
	}
	atomic_fetch_add_explicit(&connection->server->failures, 1, memory_order_relaxed);
	log_debug("TLS handshake failed", log_text("reason", ERR_reason_error_string(first)),
		  log_text("certificate",
			   verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict)));
}

enum tls_result tls_handshake(struct tls_connection *connection)
{
	enum tls_result result;
	int returned;

	begin_call(connection);
	returned = SSL_do_handshake(connection->ssl);
	if (returned == 1) {
		return TLS_DONE;
	}
	result = result_of(connection, returned);
	if (result == TLS_CLOSED) {
		connection->broken = true;
		count_failure(connection);
	}
	ERR_clear_error();
	return result;
}

enum tls_result tls_read(struct tls_connection *connection, char *bytes, size_t capacity,
			 size_t *size)
{
	int returned;

	begin_call(connection);
	returned = SSL_read_ex(connection->ssl, bytes, capacity, size);
	return returned == 1 ? TLS_DONE : result_of(connection, returned);
}

enum tls_result tls_write(struct tls_connection *connection, const char *bytes, size_t count,
			  size_t *size)
{
	int returned;

	begin_call(connection);
	returned = SSL_write_ex(connection->ssl, bytes, count, size);
	return returned == 1 ? TLS_DONE : result_of(connection, returned);
}

void tls_close(struct tls_connection *connection)
{
	if (!connection) {
		return;
	}
	if (!connection->broken && SSL_is_init_finished(connection->ssl)) {
		SSL_shutdown(connection->ssl);
	}
	ERR_clear_error();
	SSL_free(connection->ssl);
	release_context(connection->context);
	free(connection);
}

/* SPDX-License-Identifier: MIT */
#include "exporter/http/fetch.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/http.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "exporter/http/crypto.h"

enum { WAIT_S = 10, CHUNK = 16384, PASSWORD_MOST = 1024 };
#define PAGE_MOST ((size_t)256 << 20)
#define HEAD_MOST ((size_t)256 << 10)

struct fetch {
	const char *url; /* borrowed, for errors */
	char *host;      /* this and the following texts are owned */
	char *port, *path;
	char *address;                  /* the host; an IPv6 address is in brackets */
	STACK_OF(CONF_VALUE) * headers; /* owned; NULL: none */
	SSL_CTX *context;               /* owned; NULL: no TLS */
	size_t may_read;                /* bytes that may still be read from the connection */
};

bool fetch_is_url(const char *word)
{
	return text_starts_nocase(word, strlen(word), "http://", 7) ||
	       text_starts_nocase(word, strlen(word), "https://", 8);
}

/* Sets an error with the reason that OpenSSL reports. Returns false. */
static bool set_error(struct etw_error *err, const char *url)
{
	char reason[512] = "no answer";
	const char *data = NULL;
	int flags = 0;
	unsigned long code = ERR_peek_error_data(&data, &flags);
	bool has_data = (flags & ERR_TXT_STRING) != 0 && data && data[0];

	if (code != 0 && ERR_GET_REASON(code) == ERR_R_SYS_LIB && has_data) {
		/* The data is the reason: "Name or service not known". */
		snprintf(reason, sizeof reason, "%s", data);
	} else if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
		   ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) {
		snprintf(reason, sizeof reason,
			 "the answer is not TLS; does the URL begin with http://?");
	} else if (ERR_SYSTEM_ERROR(code)) {
		/* The data is the call that failed, such as "calling connect(…)". */
		os_error_text(ERR_GET_REASON(code), reason, sizeof reason);
	} else if (code != 0) {
		const char *text = ERR_reason_error_string(code);

		snprintf(reason, sizeof reason, "%s%s%s", text ? text : "failed",
			 has_data ? ": " : "", has_data ? data : "");
	}
	error_set(err, ETW_ERROR_SYSTEM, "%s: %s", url, reason);
	ERR_clear_error();
	return false;
}

/* Reads the password from the first line of the file into the Authorization header; no other copy
 * is kept. */
static bool add_credentials(struct fetch *fetch, const struct fetch_options *options,
			    struct etw_error *err)
{
	struct etw_text plain = { 0 };
	char *password = NULL, *header = NULL;
	size_t size = 0;
	bool good = false;

	if (options->password_path &&
	    !file_read_whole(options->password_path, (size_t)1 << 20, &password, &size, err)) {
		return error_prefix(err, "%s", options->password_path);
	}
	if (password) {
		password[size] = '\0';
		password[strcspn(password, "\r\n")] = '\0';
	}
	text_add_format(&plain, "%s:%s", options->user, password ? password : "");
	if (!plain.failed && plain.size <= PASSWORD_MOST) {
		header = calloc(1, plain.size / 3 * 4 + sizeof "Basic " + 8);
	}
	if (header) {
		memcpy(header, "Basic ", 6);
		EVP_EncodeBlock((unsigned char *)header + 6, (const unsigned char *)plain.data,
				(int)plain.size);
		good = X509V3_add_value("Authorization", header, &fetch->headers) == 1;
	}
	if (plain.data) {
		crypto_wipe(plain.data, plain.size);
	}
	if (password) {
		crypto_wipe(password, size);
	}
	text_free(&plain);
	free(password);
	free(header);
	return good || error_set(err, ETW_ERROR_CONFIG, "user and password are too long");
}

static bool trust(struct fetch *fetch, const char *path, struct etw_error *err)
{
	fetch->context = SSL_CTX_new(TLS_client_method());
	if (!fetch->context) {
		return error_no_memory(err, "TLS");
	}
	SSL_CTX_set_verify(fetch->context, SSL_VERIFY_PEER, NULL);
	if (path ? SSL_CTX_load_verify_file(fetch->context, path) != 1 :
		   SSL_CTX_set_default_verify_paths(fetch->context) != 1) {
		return set_error(err, path ? path : "the authorities of the system");
	}
	return true;
}

/* Adds the path /metrics to a URL that has none, whether or not it has a query. */
static bool complete_path(struct fetch *fetch)
{
	struct etw_text path = { 0 };
	bool good;

	if (fetch->path[0] != '/' || (fetch->path[1] != '\0' && fetch->path[1] != '?')) {
		return true;
	}
	text_add_format(&path, "/metrics%s", fetch->path + 1);
	OPENSSL_free(fetch->path);
	fetch->path = path.failed ? NULL : OPENSSL_strdup(path.data);
	good = fetch->path != NULL;
	text_free(&path);
	return good;
}

/* Splits the URL. An IPv6 address is in brackets in a URL and for connections, but not in
 * certificates. */
static bool read_url(struct fetch *fetch, bool *is_https, struct etw_error *err)
{
	struct etw_text address = { 0 };
	int tls = 0;

	if (OSSL_HTTP_parse_url(fetch->url, &tls, NULL, &fetch->host, &fetch->port, NULL,
				&fetch->path, NULL, NULL) != 1) {
		return set_error(err, fetch->url);
	}
	if (fetch->host[0] == '\0') {
		return error_set(err, ETW_ERROR_CONFIG, "%s: a host is missing", fetch->url);
	}
	if (!complete_path(fetch)) {
		return error_no_memory(err, "an address");
	}
	text_add_string(&address, strchr(fetch->host, ':') ? "[" : "");
	text_add_string(&address, fetch->host);
	text_add_string(&address, strchr(fetch->host, ':') ? "]" : "");
	fetch->address = address.failed ? NULL : address.data;
	*is_https = tls != 0;
	return fetch->address || error_no_memory(err, "an address");
}

struct fetch *fetch_open(const struct fetch_options *options, struct etw_error *err)
{
	struct fetch *fetch = calloc(1, sizeof *fetch);
	bool is_https = false;
	bool good;

	if (!fetch) {
		error_no_memory(err, "a page");
		return NULL;
	}
	fetch->url = options->url;
	good = read_url(fetch, &is_https, err);
	/* Only the OpenMetrics format marks the end of a page. */
	if (good && X509V3_add_value("Accept", "application/openmetrics-text; version=1.0.0",
				     &fetch->headers) != 1) {
		good = error_no_memory(err, "a request");
	}
	good = good && (!options->user || add_credentials(fetch, options, err)) &&
	       (!is_https || trust(fetch, options->authorities_path, err));
	if (!good) {
		fetch_close(fetch);
		return NULL;
	}
	return fetch;
}

void fetch_close(struct fetch *fetch)
{
	if (!fetch) {
		return;
	}
	sk_CONF_VALUE_pop_free(fetch->headers, X509V3_conf_free);
	SSL_CTX_free(fetch->context);
	OPENSSL_free(fetch->host);
	OPENSSL_free(fetch->port);
	OPENSSL_free(fetch->path);
	free(fetch->address);
	free(fetch);
}

/* ---- a connection ---- */

/* Puts TLS on a connection; the server's certificate must be that of the host. Takes ownership of
 * the connection; on failure frees it and returns NULL. */
static BIO *add_tls(struct fetch *fetch, BIO *connection)
{
	SSL *ssl = SSL_new(fetch->context);
	BIO *layer = ssl ? BIO_new(BIO_f_ssl()) : NULL;
	/* A host that is an address is compared with the addresses in the certificate, a name with
	 * its names. */
	bool named = layer &&
		     (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), fetch->host) == 1 ||
		      (SSL_set_tlsext_host_name(ssl, fetch->host) == 1 &&
		       SSL_set1_host(ssl, fetch->host) == 1));

	if (!named) {
		SSL_free(ssl);
		BIO_free(layer);
		BIO_free_all(connection);
		return NULL;
	}
	ERR_clear_error(); /* left by a host that is not an address */
	SSL_set_connect_state(ssl);
	BIO_set_ssl(layer, ssl, BIO_CLOSE);
	return BIO_push(layer, connection);
}

/* Connects to the host. Returns NULL on failure, with the reason in OpenSSL's queue. The socket
 * does not block, so each wait ends at `until`. */
static BIO *connect_to(struct fetch *fetch, time_t until)
{
	BIO *connection = BIO_new(BIO_s_connect());

	if (!connection) {
		return NULL;
	}
	BIO_set_conn_hostname(connection, fetch->address);
	BIO_set_conn_port(connection, fetch->port);
	BIO_set_nbio(connection, 1);
	while (BIO_do_connect(connection) <= 0) {
		if (!BIO_should_retry(connection) || BIO_wait(connection, until, 50) <= 0) {
			BIO_free_all(connection);
			return NULL;
		}
	}
	return fetch->context ? add_tls(fetch, connection) : connection;
}

/*
 * Bounds the bytes of a head. OpenSSL reads the lines of a head in one call as long as more arrive,
 * and checks the time only when it must wait, so an endless head would never end. OpenSSL calls
 * this function before and after each read from the connection; returning 0 before a read makes it
 * fail.
 */
static long bound_reads(BIO *connection, int operation, const char *bytes, size_t size, int command,
			long argument, int result, size_t *processed)
{
	struct fetch *fetch = (void *)BIO_get_callback_arg(connection);

	(void)bytes;
	(void)size;
	(void)command;
	(void)argument;
	if (operation == BIO_CB_READ && fetch->may_read == 0) {
		BIO_clear_retry_flags(connection);
		return 0;
	}
	if (operation == (BIO_CB_READ | BIO_CB_RETURN) && result > 0) {
		fetch->may_read -= *processed < fetch->may_read ? *processed : fetch->may_read;
	}
	return result;
}

/* ---- a page ---- */

static const char elsewhere[] = "that of the metrics is another one, /metrics by default";

/* Reads the rest of an answer to its end. */
static bool read_rest(BIO *answer, struct etw_text *page, const char *url, struct etw_error *err)
{
	time_t until = time(NULL) + WAIT_S;
	char chunk[CHUNK];

	for (;;) {
		int got = BIO_read(answer, chunk, sizeof chunk);

		if (got > 0) {
			text_add(page, chunk, (size_t)got);
		} else if (!BIO_should_retry(answer)) {
			break;
		} else if (BIO_wait(answer, until, 50) <= 0) {
			return set_error(err, url);
		}
		if (page->failed) {
			return error_no_memory(err, "a page");
		}
		if (page->size > PAGE_MOST) {
			return error_set(err, ETW_ERROR_LIMIT,
					 "%s: the page is longer than %zu MiB", url,
					 PAGE_MOST >> 20);
		}
		if (time(NULL) > until) {
			return error_set(err, ETW_ERROR_SYSTEM, "%s: no end after %d s", url,
					 WAIT_S);
		}
	}
	ERR_clear_error();
	return true;
}

/* Requests the page over a connection and reads it. */
static bool ask(struct fetch *fetch, BIO *connection, struct etw_text *page, struct etw_error *err)
{
	/* The connection has its own TLS layer, so OSSL_HTTP_open() gets no TLS arguments. */
	OSSL_HTTP_REQ_CTX *request = OSSL_HTTP_open(fetch->host, fetch->port, NULL, NULL, 0,
						    connection, NULL, NULL, NULL, 0, WAIT_S);
	BIO *answer = NULL;
	char *leads_to = NULL;
	bool good;

	BIO_set_callback_ex(connection, bound_reads);
	BIO_set_callback_arg(connection, (char *)fetch);
	fetch->may_read = HEAD_MOST;
	if (request && OSSL_HTTP_set1_request(request, fetch->path, fetch->headers, NULL, NULL,
					      NULL, 0, 0, WAIT_S, 0) == 1) {
		answer = OSSL_HTTP_exchange(request, &leads_to);
	}
	if (answer) {
		fetch->may_read = SIZE_MAX; /* read_rest() counts */
		good = read_rest(answer, page, fetch->url, err);
	} else if (leads_to) {
		good = error_set(err, ETW_ERROR_FORMAT, "%s: this address leads to %s; %s",
				 fetch->url, leads_to, elsewhere);
		ERR_clear_error();
	} else if (fetch->may_read == 0) {
		good = error_set(err, ETW_ERROR_LIMIT,
				 "%s: the head of the answer is longer than %zu KiB", fetch->url,
				 HEAD_MOST >> 10);
		ERR_clear_error();
	} else {
		good = set_error(err, fetch->url);
	}
	OPENSSL_free(leads_to);
	BIO_free(answer);
	OSSL_HTTP_close(request, good);
	return good;
}

static bool is_for_browsers(const struct etw_text *page)
{
	return text_starts_nocase(page->data, page->size, "<!doctype html", 14) ||
	       text_starts_nocase(page->data, page->size, "<html", 5);
}

bool fetch_page(struct fetch *fetch, struct etw_text *page, struct etw_error *err)
{
	BIO *connection;
	bool good;

	ERR_clear_error();
	connection = connect_to(fetch, time(NULL) + WAIT_S);
	good = connection ? ask(fetch, connection, page, err) : set_error(err, fetch->url);
	BIO_free_all(connection);
	if (good && is_for_browsers(page)) {
		return error_set(err, ETW_ERROR_FORMAT, "%s: this is a page for browsers; %s",
				 fetch->url, elsewhere);
	}
	if (good && (page->size < 6 || memcmp(page->data + page->size - 6, "# EOF\n", 6) != 0)) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "%s: the page is cut short, or not that of an etw_exporter",
				 fetch->url);
	}
	return good;
}

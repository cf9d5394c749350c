/* SPDX-License-Identifier: MIT */
#include "http/fetch.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/http.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http/crypto.h"

enum { WAIT_S = 10, CHUNK = 16384, PASSWORD_MOST = 1024 };
#define PAGE_MOST ((size_t)256 << 20)

struct fetch {
	char *url;  /* owned; with a path */
	char *host; /* owned */
	bool is_https;
	STACK_OF(CONF_VALUE) *headers; /* owned; NULL: none */
	SSL_CTX *context;	       /* owned; NULL: no TLS */
};

bool fetch_is_url(const char *word)
{
	return text_starts_nocase(word, strlen(word), "http://", 7) ||
	       text_starts_nocase(word, strlen(word), "https://", 8);
}

/* The reason that OpenSSL has, in its words. Returns false. */
static bool set_error(struct error *err, const char *url)
{
	char reason[256] = "no answer";
	const char *data = NULL;
	int flags = 0;
	unsigned long code = ERR_peek_error_data(&data, &flags);
	bool has_data = (flags & ERR_TXT_STRING) != 0 && data && data[0];

	if (code != 0 && !ERR_SYSTEM_ERROR(code)) {
		const char *text = ERR_reason_error_string(code);

		snprintf(reason, sizeof reason, "%s", text ? text : "failed");
	} else if (code != 0) {
		ERR_error_string_n(code, reason, sizeof reason);
	}
	error_set(err, ERROR_SYSTEM, "%s: %s%s%s", url, reason, has_data ? ": " : "",
		  has_data ? data : "");
	ERR_clear_error();
	return false;
}

/* The first line of a file; the password is not kept elsewhere. */
static bool add_credentials(struct fetch *fetch, const struct fetch_options *options,
			    struct error *err)
{
	struct text plain = { 0 };
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
	return good || error_set(err, ERROR_CONFIG, "user and password are too long");
}

static bool trust(struct fetch *fetch, const char *path, struct error *err)
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

struct fetch *fetch_open(const struct fetch_options *options, struct error *err)
{
	struct fetch *fetch = calloc(1, sizeof *fetch);
	char *path = NULL;
	int tls = 0;

	if (!fetch) {
		error_no_memory(err, "a page");
		return NULL;
	}
	if (OSSL_HTTP_parse_url(options->url, &tls, NULL, &fetch->host, NULL, NULL, &path, NULL,
				NULL) != 1) {
		set_error(err, options->url);
		goto fail;
	}
	fetch->is_https = tls != 0;
	if (path[0] == '\0' || strcmp(path, "/") == 0) {
		struct text url = { 0 };

		text_add_string(&url, options->url);
		text_add_string(&url,
				url.size > 0 && url.data[url.size - 1] == '/' ? "metrics" :
										"/metrics");
		fetch->url = url.failed ? NULL : url.data;
	} else {
		fetch->url = text_duplicate(options->url, strlen(options->url));
	}
	if (!fetch->url) {
		error_no_memory(err, "an address");
		goto fail;
	}
	/* Only the format of OpenMetrics says where a page ends. */
	if (X509V3_add_value("Accept", "application/openmetrics-text; version=1.0.0",
			     &fetch->headers) != 1) {
		error_no_memory(err, "a request");
		goto fail;
	}
	if ((options->user && !add_credentials(fetch, options, err)) ||
	    (fetch->is_https && !trust(fetch, options->authorities_path, err))) {
		goto fail;
	}
	OPENSSL_free(path);
	return fetch;

fail:
	OPENSSL_free(path);
	fetch_close(fetch);
	return NULL;
}

void fetch_close(struct fetch *fetch)
{
	if (!fetch) {
		return;
	}
	sk_CONF_VALUE_pop_free(fetch->headers, X509V3_conf_free);
	SSL_CTX_free(fetch->context);
	OPENSSL_free(fetch->host);
	free(fetch->url);
	free(fetch);
}

/* Puts TLS in front of a connection: a callback of OSSL_HTTP_get(3). */
static BIO *add_tls(BIO *connection, void *context, int connect, int detail)
{
	struct fetch *fetch = context;
	BIO *layer;
	SSL *ssl;

	if (!connect || detail == 0) {
		return connection; /* it ends, or it has no TLS */
	}
	ssl = SSL_new(fetch->context);
	layer = ssl ? BIO_new(BIO_f_ssl()) : NULL;
	if (!layer || SSL_set_tlsext_host_name(ssl, fetch->host) != 1 ||
	    (SSL_set1_host(ssl, fetch->host) != 1)) {
		SSL_free(ssl);
		BIO_free(layer);
		return NULL;
	}
	/* An address in place of a name is compared with the addresses of the certificate. */
	(void)X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), fetch->host);
	SSL_set_connect_state(ssl);
	BIO_set_ssl(layer, ssl, BIO_CLOSE);
	return BIO_push(layer, connection);
}

/* The rest of an answer, to its end. */
static bool read_rest(BIO *answer, struct text *page, const char *url, struct error *err)
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
			return error_set(err, ERROR_LIMIT, "%s: the page is longer than %zu MiB",
					 url, PAGE_MOST >> 20);
		}
		if (time(NULL) > until) {
			return error_set(err, ERROR_SYSTEM, "%s: no end after %d s", url, WAIT_S);
		}
	}
	ERR_clear_error();
	return true;
}

bool fetch_page(struct fetch *fetch, struct text *page, struct error *err)
{
	BIO *answer;
	bool good;

	ERR_clear_error();
	answer = OSSL_HTTP_get(fetch->url, NULL, NULL, NULL, NULL, fetch->is_https ? add_tls : NULL,
			       fetch, 0, fetch->headers, NULL, 0, 0, WAIT_S);
	if (!answer) {
		return set_error(err, fetch->url);
	}
	good = read_rest(answer, page, fetch->url, err);
	BIO_free_all(answer);
	if (good && (page->size < 6 || memcmp(page->data + page->size - 6, "# EOF\n", 6) != 0)) {
		return error_set(err, ERROR_FORMAT,
				 "%s: the page is cut short, or not that of an etw_exporter",
				 fetch->url);
	}
	return good;
}

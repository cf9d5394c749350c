/* SPDX-License-Identifier: MIT */
/*
 * Certificates for tests, made while they run: authorities, servers and clients, with P-256 keys.
 */
#ifndef HTTP_SUPPORT_CERTIFICATES_H
#define HTTP_SUPPORT_CERTIFICATES_H

#include <stdbool.h>
#include <stddef.h>

struct x509_st;
struct evp_pkey_st;

struct certificate {
	struct x509_st *cert;
	struct evp_pkey_st *key;
	char *cert_pem, *key_pem; /* owned, with a NUL at the end */
};

struct certificate_options {
	const char *name;                 /* common name */
	const struct certificate *issuer; /* NULL: it signs itself */
	bool authority;
	const char *sans;  /* "DNS:a.example,IP:127.0.0.1"; NULL: none */
	const char *usage; /* extended key usage: "clientAuth"; NULL: any */
	bool expired;
};

/* Fails the test when it cannot. To be freed with certificate_free(). */
struct certificate *certificate_make(const struct certificate_options *options);
void certificate_free(struct certificate *certificate); /* NULL is fine */

#endif

/* SPDX-License-Identifier: MIT */
#include "tests/exporter/http/support/certificates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

static void add_extension(X509 *cert, X509 *issuer, int id, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(cert, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

/* The text that was written to a BIO, which is freed. */
static char *text_of(BIO *out)
{
	char *bytes, *text;
	long size = BIO_get_mem_data(out, &bytes);

	assert_true(size > 0);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	memcpy(text, bytes, (size_t)size);
	BIO_free(out);
	return text;
}

static void name_it(X509 *cert, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(cert);

	assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
						    (const unsigned char *)name, -1, -1, 0),
			 1);
}

struct certificate *certificate_make(const struct certificate_options *options)
{
	static long serial;
	struct certificate *made = calloc(1, sizeof *made);
	const struct certificate *issuer = options->issuer ? options->issuer : made;
	BIO *out;

	assert_non_null(made);
	made->key = EVP_EC_gen("P-256");
	made->cert = X509_new();
	assert_non_null(made->key);
	assert_non_null(made->cert);
	X509_set_version(made->cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(made->cert), ++serial);
	name_it(made->cert, options->name);
	X509_set_issuer_name(made->cert, X509_get_subject_name(issuer->cert));
	X509_gmtime_adj(X509_getm_notBefore(made->cert), -172800);
	X509_gmtime_adj(X509_getm_notAfter(made->cert), options->expired ? -86400 : 864000);
	X509_set_pubkey(made->cert, made->key);
	add_extension(made->cert, issuer->cert, NID_basic_constraints,
		      options->authority ? "critical,CA:TRUE" : "CA:FALSE");
	if (options->sans) {
		add_extension(made->cert, issuer->cert, NID_subject_alt_name, options->sans);
	}
	if (options->usage) {
		add_extension(made->cert, issuer->cert, NID_ext_key_usage, options->usage);
	}
	assert_true(X509_sign(made->cert, issuer->key, EVP_sha256()) > 0);
	out = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_X509(out, made->cert), 1);
	made->cert_pem = text_of(out);
	out = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PrivateKey(out, made->key, NULL, NULL, 0, NULL, NULL), 1);
	made->key_pem = text_of(out);
	return made;
}

void certificate_free(struct certificate *certificate)
{
	if (certificate) {
		X509_free(certificate->cert);
		EVP_PKEY_free(certificate->key);
		free(certificate->cert_pem);
		free(certificate->key_pem);
		free(certificate);
	}
}

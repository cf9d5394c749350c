/* SPDX-License-Identifier: MIT */
/*
 * The web configuration: what its keys do, what is wrong with it, and what a change of its files
 * does while the server runs.
 */
#include "exporter/http/web_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/ssl.h>

#include "base/client_address.h"
#include "base/os.h"
#include "exporter/http/web_settings.h"
#include "tests/exporter/http/support/certificates.h"
#include "tests/exporter/http/support/tls_client.h"
#include "tests/support/temporary.h"

#define HASH "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW" /* U*U */

/* ---- files ---- */

/* Writes a file until the system shows that it is another one: its clock for files moves in steps,
 * and a number may be used again. */
static void write_anew(const char *path, const char *text)
{
	struct os_file_stamp before, now;

	os_file_stamp(path, &before);
	do {
		system_remove_file(path);
		temporary_write(path, text, strlen(text));
		os_file_stamp(path, &now);
	} while (memcmp(&before, &now, sizeof now) == 0);
}

static char file[TEMPORARY_PATH_SIZE], cert_file[TEMPORARY_PATH_SIZE],
	key_file[TEMPORARY_PATH_SIZE], ca_file[TEMPORARY_PATH_SIZE];
static struct certificate *ca, *server, *other, *client;

static int make_files(void **state)
{
	(void)state;
	temporary_path(file, "yml");
	temporary_path(cert_file, "crt");
	temporary_path(key_file, "key");
	temporary_path(ca_file, "ca");
	ca = certificate_make(
		&(const struct certificate_options){ .name = "CA", .authority = true });
	server = certificate_make(
		&(const struct certificate_options){ .name = "server", .issuer = ca });
	other = certificate_make(
		&(const struct certificate_options){ .name = "server", .issuer = ca });
	client = certificate_make(
		&(const struct certificate_options){ .name = "client", .issuer = ca });
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	system_remove_file(file);
	system_remove_file(cert_file);
	system_remove_file(key_file);
	system_remove_file(ca_file);
	certificate_free(ca);
	certificate_free(server);
	certificate_free(other);
	certificate_free(client);
	return 0;
}

static int write_good_files(void **state)
{
	(void)state;
	write_anew(cert_file, server->cert_pem);
	write_anew(key_file, server->key_pem);
	write_anew(ca_file, ca->cert_pem);
	return 0;
}

/* A configuration: in it @C, @K and @A are the names of the files, relative to it. */
static void write_config(const char *pattern)
{
	struct etw_text text = { 0 };

	for (const char *at = pattern; *at != '\0'; at++) {
		const char *path = *at != '@'   ? NULL :
				   at[1] == 'C' ? cert_file :
				   at[1] == 'K' ? key_file :
						  ca_file;

		if (path) {
			text_add_string(&text, path);
			at++;
		} else {
			text_add_char(&text, *at);
		}
	}
	assert_false(text.failed);
	write_anew(file, text.data ? text.data : "");
	text_free(&text);
}

#define TLS "tls_server_config:\n  cert_file: @C\n  key_file: @K\n"

/* What a request has, and what its answer gets. */
static const char *authorization, *headers;

static int refuse(struct web_config *config)
{
	const struct client_address address = { .local = true };

	return web_config_refuse(config, authorization, "local", &address, &headers);
}

static struct web_config *open_config(void)
{
	struct etw_error err = { 0 };
	struct web_config *config = web_config_open(file, NULL, &err);

	if (!config) {
		fail_msg("%s", err.text);
	}
	return config;
}

/* ---- keys ---- */

/* Each key of the format: "Web configuration", prometheus/exporter-toolkit. */
static void each_key_is_read(void **state)
{
	struct etw_error err = { 0 };
	struct web_settings *settings;

	(void)state;
	write_config(TLS "  client_ca_file: @A\n"
			 "  client_auth_type: RequireAndVerifyClientCert\n"
			 "  client_allowed_sans:\n    - prometheus.example\n    - 192.0.2.1\n"
			 "  min_version: TLS12\n"
			 "  max_version: TLS12\n"
			 "  cipher_suites:\n"
			 "    - TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n"
			 "    - TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA\n"
			 "  prefer_server_cipher_suites: false\n"
			 "  curve_preferences: [CurveP521, X25519]\n"
			 "http_server_config:\n"
			 "  http2: false\n"
			 "  headers:\n"
			 "    Content-Security-Policy: default-src 'self'\n"
			 "    X-Frame-Options: deny\n"
			 "    X-Content-Type-Options: nosniff\n"
			 "    X-XSS-Protection: 1; mode=block\n"
			 "    Strict-Transport-Security: max-age=31536000\n"
			 "basic_auth_users:\n"
			 "  alice: " HASH "\n"
			 "  'Bob the builder': " HASH "\n"
			 "rate_limit:\n"
			 "  interval: 1m30s\n"
			 "  burst: 20\n");
	settings = web_settings_read(file, NULL, &err);
	assert_non_null(settings);
	if (settings->broken) {
		fail_msg("%s", err.text);
	}
	assert_true(settings->has_tls);
	assert_int_equal(settings->tls.cert.size, strlen(server->cert_pem));
	assert_memory_equal(settings->tls.key.bytes, server->key_pem, settings->tls.key.size);
	assert_int_equal(settings->tls.client_ca.size, strlen(ca->cert_pem));
	assert_int_equal(settings->tls.client_auth, TLS_CLIENT_VERIFY);
	assert_int_equal(settings->tls.allowed_san_count, 2);
	assert_string_equal(settings->tls.allowed_sans[1], "192.0.2.1");
	assert_int_equal(settings->tls.least, TLS_VERSION_1_2);
	assert_int_equal(settings->tls.most, TLS_VERSION_1_2);
	assert_int_equal(settings->tls.suite_count, 2);
	assert_string_equal(tls_suite_name(settings->tls.suites[1]),
			    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA");
	assert_false(settings->tls.prefer_server_suites);
	assert_int_equal(settings->tls.curve_count, 2);
	assert_string_equal(tls_curve_name(settings->tls.curves[0]), "CurveP521");
	assert_string_equal(settings->headers[0], "default-src 'self'");
	assert_string_equal(settings->headers[4], "max-age=31536000");
	assert_int_equal(settings->user_count, 2);
	assert_string_equal(settings->users[1].name, "Bob the builder");
	assert_string_equal(settings->users[1].hash, HASH);
	assert_true(settings->rate_interval_ns == UINT64_C(90000000000));
	assert_true(settings->rate_burst == 20);
	web_settings_free(settings);
}

static void absent_keys_have_the_defaults_of_the_toolkit(void **state)
{
	struct etw_error err = { 0 };
	struct web_settings *settings;

	(void)state;
	write_config(TLS);
	settings = web_settings_read(file, NULL, &err);
	assert_true(settings && !settings->broken);
	assert_int_equal(settings->tls.client_auth, TLS_CLIENT_NONE);
	assert_int_equal(settings->tls.least, TLS_VERSION_1_2);
	assert_int_equal(settings->tls.most, TLS_VERSION_1_3);
	assert_int_equal(settings->tls.suite_count, 0);
	assert_int_equal(settings->tls.curve_count, 0);
	assert_true(settings->tls.prefer_server_suites);
	assert_int_equal(settings->user_count, 0);
	assert_true(settings->rate_interval_ns == 0);
	web_settings_free(settings);
	write_config("");
	settings = web_settings_read(file, NULL, &err);
	assert_true(settings && !settings->broken && !settings->has_tls);
	web_settings_free(settings);
}

/* PEM in the file itself. */
static void certificates_may_be_inline(void **state)
{
	const char *const pems[] = { server->cert_pem, server->key_pem, ca->cert_pem };
	static const char *const keys[] = { "cert", "key", "client_ca" };
	struct etw_text text = { 0 };
	struct etw_error err = { 0 };
	struct web_settings *settings;

	(void)state;
	text_add_string(&text, "tls_server_config:\n  client_auth_type: VerifyClientCertIfGiven\n");
	for (unsigned i = 0; i < 3; i++) {
		text_add_format(&text, "  %s: |\n    ", keys[i]);
		for (const char *c = pems[i]; *c != '\0'; c++) {
			text_add_char(&text, *c);
			text_add_string(&text, *c == '\n' && c[1] != '\0' ? "    " : "");
		}
	}
	temporary_write(file, text.data, text.size);
	settings = web_settings_read(file, NULL, &err);
	assert_non_null(settings);
	if (settings->broken) {
		fail_msg("%s", err.text);
	}
	assert_true(settings->has_tls);
	web_settings_free(settings);
	text_free(&text);
}

static void intervals_are_durations_of_go(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns; /* 1: it is none */
	} rows[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "1s", UINT64_C(1000000000) },
		{ "100ms", 100000000 },
		{ "1.5s", UINT64_C(1500000000) },
		{ "2m", UINT64_C(120000000000) },
		{ "1h1m1s1ms1us", UINT64_C(3661001001000) },
		{ "10ns", 10 },
		{ "3\xc2\xb5s", 3000 },
		{ "24h", UINT64_C(86400000000000) },
		{ "25h", 1 },
		{ "1", 1 },
		{ "-1s", 1 },
		{ "1d", 1 },
		{ "s", 1 },
		{ "1e3s", 1 },
		{ "0x1s", 1 },
		{ "infs", 1 },
		{ "1 s", 1 },
		{ "''", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[128];
		struct etw_error err = { 0 };
		struct web_settings *settings;

		snprintf(text, sizeof text, "rate_limit: { interval: %s, burst: 1 }\n",
			 rows[i].text);
		write_config(text);
		settings = web_settings_read(file, NULL, &err);
		assert_non_null(settings);
		if (settings->broken != (rows[i].ns == 1) ||
		    (!settings->broken && settings->rate_interval_ns != rows[i].ns)) {
			fail_msg("%s", rows[i].text);
		}
		web_settings_free(settings);
	}
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *config, *sentence; /* behind the name of the file */
	} rows[] = {
		{ "tls_config: {}\n", ":1:1: unknown key 'tls_config'" },
		{ TLS "  client_auth: NoClientCert\n", ":4:3: unknown key 'client_auth'" },
		{ "tls_server_config:\n  cert_file: @C\n",
		  ":2:3: tls_server_config needs key_file" },
		{ "tls_server_config:\n  min_version: TLS13\n",
		  ":2:3: tls_server_config needs cert_file" },
		{ "tls_server_config:\n  cert_file: missing.crt\n  key_file: @K\n",
		  ":2:14: cert_file 'missing.crt' cannot be opened" },
		{ "tls_server_config:\n  cert_file: @C\n  cert: x\n  key_file: @K\n",
		  ":2:14: only one of cert and cert_file is possible" },
		{ "tls_server_config:\n  cert_file: @K\n  key_file: @K\n",
		  ":2:3: cert_file './temporary-" },
		{ "tls_server_config:\n  cert: not a certificate\n  key_file: @K\n",
		  ":2:3: cert: there is no certificate in it" },
		{ TLS "  client_ca_file: @A\n",
		  ":4:19: an authority for clients has no effect without client_auth_type" },
		{ TLS "  client_auth_type: RequireAndVerifyClientCert\n",
		  ":4:21: client_auth_type: client_ca_file is needed" },
		{ TLS "  client_auth_type: VerifyClientCertIfGiven\n",
		  ":4:21: client_auth_type: client_ca_file is needed" },
		{ TLS "  client_auth_type: Always\n", ":4:21: unknown client_auth_type 'Always'" },
		{ TLS "  client_allowed_sans: [a]\n", ":4:24: client_allowed_sans needs" },
		{ TLS "  client_auth_type: RequestClientCert\n  client_allowed_sans: [a]\n",
		  ":5:24: client_allowed_sans needs" },
		{ TLS "  client_allowed_sans: []\n", ":4:24: client_allowed_sans: " },
		{ TLS "  min_version: TLS11\n", ":4:16: min_version: TLS11 is not supported" },
		{ TLS "  min_version: SSL30\n", ":4:16: unknown min_version 'SSL30'" },
		{ TLS "  min_version: TLS13\n  max_version: TLS12\n",
		  ":5:16: max_version is before min_version" },
		{ TLS "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n", ":4:19: " },
		{ TLS "  max_version: TLS12\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n",
		  ":2:3: no cipher suite is left" },
		{ TLS "  curve_preferences: [CurveP224]\n", ":4:23: " },
		{ "http_server_config: { http2: true }\n",
		  ":1:30: http2: HTTP/2 is not supported" },
		{ "http_server_config: { headers: { Server: x } }\n",
		  ":1:34: unknown key 'Server'" },
		{ "http_server_config: { headers: { X-Frame-Options: DENY } }\n",
		  ":1:51: X-Frame-Options: expected deny or sameorigin, found 'DENY'" },
		{ "http_server_config: { headers: { X-Content-Type-Options: sniff } }\n",
		  ":1:58: X-Content-Type-Options: expected nosniff, found 'sniff'" },
		{ "http_server_config:\n  headers:\n    X-XSS-Protection: \"0\\r\\nSet-Cookie: a\"\n",
		  ":3:23: X-XSS-Protection: a header consists of" },
		{ "basic_auth_users: { alice: secret }\n",
		  ":1:28: alice: the password is not a bcrypt hash" },
		{ "basic_auth_users: { 'a:b': " HASH " }\n", ":1:21: a user's name contains" },
		{ "basic_auth_users: { '': " HASH " }\n", ":1:21: a user's name has" },
		{ "basic_auth_users: { a: '$2a$31$CCCCCCCCCCCCCCCCCCCCC."
		  "E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' }\n",
		  ":1:24: a: the cost of the bcrypt hash is 31" },
		{ "basic_auth_users:\n", ":1:1" },
		{ "rate_limit: { interval: 1s }\n", ":1:13: rate_limit: with a burst of 0" },
		{ "rate_limit: { interval: soon, burst: 1 }\n",
		  ":1:25: interval: 'soon' is not a duration" },
		{ "rate_limit: { interval: 1s, burst: -1 }\n", ":1:36: burst: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct problems problems = { 0 };
		struct etw_error err = { 0 };

		write_config(rows[i].config);
		assert_null(web_config_open(file, &problems, &err));
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
		if (strncmp(err.text, file, strlen(file)) != 0 ||
		    strncmp(err.text + strlen(file), rows[i].sentence, strlen(rows[i].sentence)) !=
			    0) {
			fail_msg("row %zu: %s", i, err.text);
		}
		assert_true(problems.errors >= 1);
		/* No password, not even one that is not hashed, is repeated. */
		assert_null(strstr(err.text, "secret"));
		problems_done(&problems);
	}
}

static void all_mistakes_are_shown_at_once(void **state)
{
	struct problems problems = { 0 };

	(void)state;
	write_config(TLS "  min_version: TLS10\n  client_auth_type: Sometimes\n"
			 "http_server_config: { http2: on }\n"
			 "basic_auth_users: { a: x, b: y }\n"
			 "rate_limit: { interval: 1s }\n");
	assert_null(web_config_open(file, &problems, NULL));
	assert_int_equal(problems.errors, 6);
	problems_done(&problems);
}

static void passwords_without_tls_are_warned_about(void **state)
{
	struct problems problems = { 0 };
	struct web_config *config;

	(void)state;
	write_config("basic_auth_users: { alice: " HASH " }\n");
	config = web_config_open(file, &problems, NULL);
	assert_non_null(config);
	assert_int_equal(problems.count, 1);
	assert_true(problems.list[0].warning);
	assert_non_null(strstr(problems.list[0].sentence, "passwords travel unencrypted"));
	problems_done(&problems);
	web_config_close(config);
}

/* ---- requests ---- */

static void requests_need_a_user(void **state)
{
	struct web_config *config;

	(void)state;
	write_config("basic_auth_users: { alice: " HASH " }\n");
	config = open_config();
	authorization = NULL;
	assert_int_equal(refuse(config), 401);
	assert_string_equal(headers, "WWW-Authenticate: Basic realm=\"etw_exporter\", "
				     "charset=\"UTF-8\"\r\n");
	authorization = "Basic YWxpY2U6VSpV"; /* alice:U*U */
	assert_int_equal(refuse(config), 0);
	web_config_close(config);
}

static void requests_beyond_the_rate_are_refused(void **state)
{
	struct web_config *config;

	(void)state;
	write_config("rate_limit: { interval: 24h, burst: 2 }\n"
		     "basic_auth_users: { alice: " HASH " }\n");
	config = open_config();
	authorization = "Basic YWxpY2U6VSpV";
	assert_int_equal(refuse(config), 0);
	authorization = NULL;
	assert_int_equal(refuse(config), 401);
	authorization = "Basic YWxpY2U6VSpV";
	assert_int_equal(refuse(config), 429);
	web_config_close(config);
}

static void headers_are_in_each_answer(void **state)
{
	struct web_config *config;
	struct etw_text out = { 0 };

	(void)state;
	write_config("http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n"
		     "    X-Content-Type-Options: nosniff\n    X-XSS-Protection: ''\n"
		     "    Strict-Transport-Security: max-age=1\n");
	config = open_config();
	web_config_add_headers(config, &out);
	/* pages have X-Content-Type-Options anyway; an empty value is none */
	assert_string_equal(out.data, "X-Frame-Options: sameorigin\r\n"
				      "Strict-Transport-Security: max-age=1\r\n");
	text_free(&out);
	web_config_close(config);
}

/* ---- changes ---- */

/* The certificate that a new connection gets. */
static bool serves(struct web_config *config, const struct certificate *wanted,
		   const struct certificate *own)
{
	struct tls_pair pair;
	bool serves = false;

	tls_pair_open(&pair, web_config_tls(config),
		      &(const struct tls_client_options){ .own = own });
	if (tls_pair_handshake(&pair)) {
		serves = X509_cmp(SSL_get0_peer_certificate(pair.client), wanted->cert) == 0;
	}
	tls_pair_close(&pair);
	return serves;
}

static void changed_certificates_are_taken(void **state)
{
	struct web_config *config;

	(void)state;
	write_good_files(NULL);
	write_config(TLS);
	config = open_config();
	assert_true(serves(config, server, NULL));
	assert_true(web_config_refresh(config));
	/* A certificate whose key is not there yet: the earlier ones stay. */
	write_anew(cert_file, other->cert_pem);
	assert_false(web_config_refresh(config));
	assert_false(web_config_refresh(config));
	assert_true(serves(config, server, NULL));
	write_anew(key_file, other->key_pem);
	assert_true(web_config_refresh(config));
	assert_true(serves(config, other, NULL));
	/* A file that has gone. */
	system_remove_file(key_file);
	assert_false(web_config_refresh(config));
	assert_true(serves(config, other, NULL));
	write_good_files(NULL);
	assert_true(web_config_refresh(config));
	assert_true(serves(config, server, NULL));
	web_config_close(config);
}

static void changed_authorities_are_taken(void **state)
{
	struct certificate *other_ca = certificate_make(
		&(const struct certificate_options){ .name = "other CA", .authority = true });
	struct web_config *config;

	(void)state;
	write_good_files(NULL);
	write_config(TLS "  client_ca_file: @A\n"
			 "  client_auth_type: RequireAndVerifyClientCert\n");
	config = open_config();
	assert_true(serves(config, server, client));
	assert_false(serves(config, server, NULL));
	write_anew(ca_file, other_ca->cert_pem);
	assert_true(web_config_refresh(config));
	assert_false(serves(config, server, client));
	web_config_close(config);
	certificate_free(other_ca);
	write_good_files(NULL);
}

static void changed_users_are_taken(void **state)
{
	struct web_config *config;

	(void)state;
	write_config("basic_auth_users: { alice: " HASH " }\n");
	config = open_config();
	authorization = "Basic YWxpY2U6VSpV";
	assert_int_equal(refuse(config), 0);
	write_config("basic_auth_users: { alice: broken }\n");
	assert_false(web_config_refresh(config));
	assert_int_equal(refuse(config), 0);
	system_remove_file(file);
	assert_false(web_config_refresh(config));
	assert_int_equal(refuse(config), 0);
	write_config("basic_auth_users: { robert: " HASH " }\n");
	assert_true(web_config_refresh(config));
	assert_int_equal(refuse(config), 401);
	write_config("rate_limit: { interval: 24h, burst: 1 }\n");
	assert_true(web_config_refresh(config));
	assert_int_equal(refuse(config), 0);
	assert_int_equal(refuse(config), 429);
	web_config_close(config);
}

/* The port does not change from http to https while it is open. */
static void tls_is_not_switched_on_or_off(void **state)
{
	struct web_config *config;

	(void)state;
	write_good_files(NULL);
	write_config("basic_auth_users: { alice: " HASH " }\n");
	config = open_config();
	assert_null(web_config_tls(config));
	write_config(TLS);
	assert_false(web_config_refresh(config));
	assert_null(web_config_tls(config));
	authorization = NULL;
	assert_int_equal(refuse(config), 401);
	web_config_close(config);
	config = open_config();
	write_config("basic_auth_users: { alice: " HASH " }\n");
	assert_false(web_config_refresh(config));
	assert_true(serves(config, server, NULL));
	assert_int_equal(refuse(config), 0);
	web_config_close(config);
}

static void the_watch_takes_changes_by_itself(void **state)
{
	const struct registry_limits limits = { .series_per_family = 100 };
	struct registry *registry = registry_new(&limits, NULL);
	uint64_t end_ns = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
	struct web_config *config;
	struct etw_error err = { 0 };

	(void)state;
	assert_non_null(registry);
	write_good_files(NULL);
	write_config(TLS);
	config = open_config();
	assert_true(web_config_start(config, registry, &err));
	write_anew(cert_file, other->cert_pem);
	write_anew(key_file, other->key_pem);
	while (!serves(config, other, NULL)) {
		assert_true(os_monotonic_ns() < end_ns);
		system_sleep_ms(20);
	}
	web_config_stop(config);
	registry_free(registry);
	web_config_close(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_key_is_read, write_good_files),
		cmocka_unit_test(absent_keys_have_the_defaults_of_the_toolkit),
		cmocka_unit_test(certificates_may_be_inline),
		cmocka_unit_test(intervals_are_durations_of_go),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(all_mistakes_are_shown_at_once),
		cmocka_unit_test(passwords_without_tls_are_warned_about),
		cmocka_unit_test(requests_need_a_user),
		cmocka_unit_test(requests_beyond_the_rate_are_refused),
		cmocka_unit_test(headers_are_in_each_answer),
		cmocka_unit_test(changed_certificates_are_taken),
		cmocka_unit_test(changed_authorities_are_taken),
		cmocka_unit_test(changed_users_are_taken),
		cmocka_unit_test(tls_is_not_switched_on_or_off),
		cmocka_unit_test(the_watch_takes_changes_by_itself),
	};

	return cmocka_run_group_tests_name("web_config", tests, make_files, remove_files);
}

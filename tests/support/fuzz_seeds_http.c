/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds_http.h"

#include <stdio.h>
#include <string.h>

/* What the first byte of a seed says (tests/fuzz/fuzz_http.c). */
enum part { HEAD, ACCEPT, SETTINGS };

static const struct {
	enum part part;
	const char *text;
} seeds[] = {
	{ HEAD, "GET /metrics HTTP/1.1\r\nHost: a:9189\r\n\r\n" },
	{ HEAD, "GET /metrics?collect[]=disk&exclude%5B%5D=cpu HTTP/1.1\r\nHost: a\r\n"
		"User-Agent: Prometheus/2.45.0\r\nAccept-Encoding: gzip\r\n"
		"X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\nGET / HTTP/1.1\r\n\r\n" },
	{ HEAD, "\r\nHEAD / HTTP/1.0\r\nConnection: keep-alive, Upgrade\r\n\r\n" },
	{ HEAD, "POST /-/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
		"Expect: 100-continue\r\n\r\nhello" },
	{ HEAD, "POST /-/quit HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
	{ HEAD, "GET http://user@[::1]:9189/metrics HTTP/1.1\r\nHost: b\r\nX:\tq\t\r\n\r\n" },
	{ HEAD, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" },
	/* What is to be refused. */
	{ HEAD, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\nHost: a\n\n" },
	{ HEAD, "GET / HTTP/1.1\r\nContent-Length: +5\r\nContent-Length: 0x10\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
	{ HEAD, "GET /a b HTTP/2.0\r\n\r\n" },
	{ HEAD, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
	{ HEAD, "\x16\x03\x01\x02\x01\x01" },
	{ ACCEPT, "application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.5,"
		  "text/plain;version=0.0.4;q=0.2,*/*;q=0.1" },
	{ ACCEPT,
	  "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
	  "encoding=delimited;q=0.6,application/openmetrics-text;version=\"0.0.1\";q=1.000" },
	{ ACCEPT, "text/html, text/*;q=0, ;;, */*;q=2;q=.5, \"a\\\"b,c\";x=\"" },
	{ ACCEPT, "gzip, deflate;q=0.5, br, zstd;q=0.9, identity;q=0, *;q=0.001" },
	{ SETTINGS, "tls_server_config:\n"
		    "  cert_file: server.crt\n"
		    "  key_file: server.key\n"
		    "  client_auth_type: RequireAndVerifyClientCert\n"
		    "  client_ca_file: ca.crt\n"
		    "  client_allowed_sans: [a.example, 10.0.0.1]\n"
		    "  min_version: TLS12\n"
		    "  max_version: TLS13\n"
		    "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n"
		    "  prefer_server_cipher_suites: true\n"
		    "  curve_preferences: [X25519, CurveP256]\n" },
	{ SETTINGS, "tls_server_config: { cert: \"-----BEGIN CERTIFICATE-----\\nAA==\\n"
		    "-----END CERTIFICATE-----\\n\", key: x, client_ca: y }\n" },
	{ SETTINGS, "http_server_config:\n"
		    "  http2: false\n"
		    "  headers:\n"
		    "    Content-Security-Policy: default-src 'self'\n"
		    "    X-Frame-Options: deny\n"
		    "    X-Content-Type-Options: nosniff\n"
		    "    X-XSS-Protection: 1\n"
		    "    Strict-Transport-Security: max-age=1\n"
		    "rate_limit: { interval: 1s, burst: 20 }\n" },
	{ SETTINGS, "basic_auth_users:\n"
		    "  alice: $2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234\n"
		    "  bob: plain\n" },
	{ SETTINGS, "unknown: 1\ntls_server_config: []\nrate_limit: { interval: -1 }\n" },
	{ SETTINGS, "" },
};

bool fuzz_http_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static char text[16];

	if (index >= sizeof seeds / sizeof seeds[0]) {
		return false;
	}
	snprintf(text, sizeof text, "http-%u", index);
	*name = text;
	etw_payload_u8(seed, (uint8_t)seeds[index].part);
	if (seeds[index].part == HEAD) {
		etw_payload_u8(seed, (uint8_t)index); /* the size of the pieces */
	}
	etw_payload_bytes(seed, seeds[index].text, strlen(seeds[index].text));
	return true;
}

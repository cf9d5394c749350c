/* SPDX-License-Identifier: MIT */
/*
 * The web server over real sockets: what it answers, and what hostile clients get.
 */
#include "exporter/http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/version.h"
#include "metrics/exposition.h"
#include "tests/support/http_client.h"
#include "tests/support/system.h"

struct fixture {
	struct registry *registry;
	struct http_server *server;
	atomic_bool ready;
};

static bool is_ready(void *context)
{
	return atomic_load((atomic_bool *)context);
}

static int start_server(void **state)
{
	static const char *const addresses[] = { "127.0.0.1:0" };
	struct registry_limits limits = { .series_per_family = 100000 };
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct http_options options = { .listen_addresses = addresses,
					.listen_address_count = 1,
					.telemetry_path = "/metrics",
					.ready = is_ready };
	struct etw_error err = { 0 };

	assert_non_null(fixture);
	fixture->registry = registry_new(&limits, &err);
	assert_non_null(fixture->registry);
	options.ready_context = &fixture->ready;
	fixture->server = http_start(&options, fixture->registry, &err);
	if (!fixture->server) {
		fail_msg("%s", err.text);
	}
	*state = fixture;
	return 0;
}

static int stop_server(void **state)
{
	struct fixture *fixture = *state;

	http_stop(fixture->server);
	registry_free(fixture->registry);
	free(fixture);
	return 0;
}

/* ---- a client ---- */

static connection dial(unsigned port)
{
	connection c = connection_open(port);

	assert_true(c >= 0);
	return c;
}

/* As much as the server takes: it may refuse before the end. */
static void send_bytes(connection c, const char *bytes, size_t size)
{
	while (size > 0) {
		size_t sent = connection_send(c, bytes, size);

		if (sent == 0) {
			return;
		}
		bytes += sent;
		size -= sent;
	}
}

/* All until the server closes. */
static struct etw_text receive(connection c)
{
	struct etw_text all = { 0 };
	char part[65536];
	size_t size;

	while ((size = connection_receive(c, part, sizeof part)) > 0) {
		text_add(&all, part, size);
	}
	connection_close(c);
	text_add_char(&all, '\0');
	assert_false(all.failed);
	return all;
}

static struct etw_text exchange(const struct fixture *fixture, const char *request, size_t size)
{
	return http_exchange(http_port(fixture->server, 0), request, size);
}

static struct etw_text get(const struct fixture *fixture, const char *method, const char *path)
{
	return http_request_page(http_port(fixture->server, 0), method, path, "");
}

static bool has_header(const struct etw_text *reply, const char *name)
{
	const char *end = http_body(reply);

	for (const char *line = strstr(reply->data, "\r\n"); line && line + 2 < end;
	     line = strstr(line + 2, "\r\n")) {
		if (strncasecmp(line + 2, name, strlen(name)) == 0) {
			return true;
		}
	}
	return false;
}

/* The bytes of a chunked body; fails unless it is whole. */
static struct etw_text dechunk(const struct etw_text *reply)
{
	struct etw_text body = { 0 };
	const char *at = http_body(reply);

	for (;;) {
		char *end;
		unsigned long size = strtoul(at, &end, 16);

		assert_true(end > at);
		assert_int_equal(strncmp(end, "\r\n", 2), 0);
		at = end + 2;
		text_add(&body, at, size);
		at += size;
		assert_int_equal(strncmp(at, "\r\n", 2), 0);
		at += 2;
		if (size == 0) {
			break;
		}
	}
	assert_ptr_equal(at, reply->data + reply->size - 1);
	return body;
}

static void wait_for(struct family *family, const uint32_t *ids, int64_t expected)
{
	int64_t value = -1;

	for (int i = 0; i < WAIT_MS; i++) {
		assert_true(family_value(family, ids, &value));
		if (value == expected) {
			return;
		}
		system_sleep_ms(1);
	}
	fail_msg("%s stays at %lld", family_name(family), (long long)value);
}

/* A page of count lines of some 1000 bytes. */
static void fill(struct registry *registry, uint32_t count)
{
	static const struct family_options options = {
		.name = "many_total", .help = "M.", .labels = { "a" }, .label_count = 1
	};
	struct family *family = registry_family(registry, &options, NULL);
	struct shard *shard = registry_shard(registry, false, NULL);
	char value[1000];

	memset(value, 'v', sizeof value);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id;
		int size = snprintf(value, sizeof value, "%u", i);

		value[size] = 'v';
		id = intern_add(registry_strings(registry), value, sizeof value);
		family_add(family, shard, &id, i);
	}
}

/* ---- tests ---- */

static void metrics_are_served_whole_with_their_type(void **state)
{
	struct fixture *fixture = *state;
	struct etw_text reply, body;

	fill(fixture->registry, 2000); /* 2 MB: many chunks */
	reply = get(fixture, "GET", "/metrics?name[]=x");
	assert_int_equal(http_status(&reply), 200);
	http_expect_header(&reply, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
	http_expect_header(&reply, "Connection: close");
	http_expect_header(&reply, "Transfer-Encoding: chunked");
	body = dechunk(&reply);
	assert_int_equal(strncmp(body.data, "# HELP ", 7), 0);
	assert_non_null(strstr(body.data, "\netw_exporter_scrapes_total{code=\"200\"} 0\n"));
	assert_non_null(strstr(body.data, "\netw_exporter_scrapes_total{code=\"499\"} 0\n"));
	assert_non_null(strstr(body.data, "\netw_exporter_scrapes_total{code=\"500\"} 0\n"));
	assert_non_null(strstr(body.data, "\netw_exporter_scrape_duration_seconds_count 0\n"));
	assert_non_null(strstr(body.data, "\netw_exporter_scrape_size_bytes 0\n"));
	text_free(&reply);
	text_free(&body);

	reply = get(fixture, "GET", "/metrics");
	body = dechunk(&reply);
	assert_non_null(strstr(body.data, "\netw_exporter_scrapes_total{code=\"200\"} 1\n"));
	assert_non_null(strstr(body.data, "\netw_exporter_scrape_duration_seconds_count 1\n"));
	assert_null(strstr(body.data, "\netw_exporter_scrape_size_bytes 0\n"));
	text_free(&reply);
	text_free(&body);
}

static void http_1_0_gets_the_page_without_chunks(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
	struct etw_text reply = exchange(*state, request, sizeof request - 1);

	assert_int_equal(http_status(&reply), 200);
	assert_false(has_header(&reply, "Transfer-Encoding"));
	assert_int_equal(strncmp(http_body(&reply), "# HELP ", 7), 0);
	text_free(&reply);
}

static void head_answers_without_a_body(void **state)
{
	static const char *const paths[] = { "/metrics", "/", "/-/healthy", "/-/ready",
					     "/nothing" };

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct etw_text reply = get(*state, "HEAD", paths[i]);
		struct etw_text other = get(*state, "GET", paths[i]);

		assert_int_equal(http_status(&reply), http_status(&other));
		assert_string_equal(http_body(&reply), "");
		assert_true(has_header(&reply, "Content-Type"));
		text_free(&reply);
		text_free(&other);
	}
}

static void health_and_readiness_are_different_pages(void **state)
{
	struct fixture *fixture = *state;
	struct etw_text reply = get(fixture, "GET", "/-/healthy");

	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
	reply = get(fixture, "GET", "/-/ready");
	assert_int_equal(http_status(&reply), 503);
	text_free(&reply);
	atomic_store(&fixture->ready, true);
	reply = get(fixture, "GET", "/-/ready");
	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
}

static void other_methods_are_not_allowed(void **state)
{
	static const char *const methods[] = { "POST", "PUT", "DELETE", "PATCH" };
	static const char *const paths[] = { "/metrics", "/", "/-/healthy", "/-/ready" };

	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
			struct etw_text reply = get(*state, methods[i], paths[j]);

			assert_int_equal(http_status(&reply), 405);
			http_expect_header(&reply, "Allow: GET, HEAD, OPTIONS");
			text_free(&reply);
		}
	}
}

static void a_body_is_not_waited_for(void **state)
{
	static const char request[] = "POST /metrics HTTP/1.1\r\nHost: x\r\n"
				      "Content-Length: 1000000000\r\n\r\nabc";
	struct etw_text reply = exchange(*state, request, sizeof request - 1);

	assert_int_equal(http_status(&reply), 405);
	text_free(&reply);
}

static void what_does_not_exist_is_not_found(void **state)
{
	static const char *const paths[] = {
		"/x",
		"/metrics/",
		"/metricsx",
		"//",
		"//metrics",
		"/..",
		"/../",
		"/./metrics",
		"/%2e%2e/",
		"/%6detrics",
		"/-/stop",
		"/-/",
		"/etc/passwd",
		"/..%2f..%2f",
		"/..\\..\\x",
		"/metrics;x",
		"/~root",
		"/metrics%20",
		"/a/../metrics",
		"/.htpasswd",
		"/%ff%fe%c0%af",
	};

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct etw_text reply = get(*state, "GET", paths[i]);

		if (http_status(&reply) != 404) {
			fail_msg("%s: %s", paths[i], reply.data);
		}
		assert_string_equal(http_body(&reply), "Not Found. There are:\n/\n/metrics\n"
						       "/-/healthy\n/-/ready\n/version\n");
		text_free(&reply);
	}
}

static void hostile_requests_get_4xx(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
#define REQUEST(text) { text, sizeof(text) - 1 }
		REQUEST("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /metrics%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /% HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /%4 HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /%u0041 HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /metrics HTTP/1.1\r\n\r\n"), /* no Host */
		REQUEST("GET /met\0rics HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET\r\n\r\n"),
		REQUEST("\r\n\r\n\r\n"),
		REQUEST("BREW / HTTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET / FTP/1.1\r\nHost: x\r\n\r\n"),
		REQUEST("GET / HTTP/1.1\r\nHost x\r\n\r\n"),
		REQUEST("GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: strange\r\n\r\n"),
		REQUEST("GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"),
		REQUEST("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), /* TLS */
#undef REQUEST
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text reply = exchange(*state, cases[i].bytes, cases[i].size);

		if (http_status(&reply) / 100 != 4) {
			fail_msg("case %zu: %s", i, reply.data);
		}
		text_free(&reply);
	}
}

/* A request that is `filler` all over, between two ends. */
static struct etw_text exchange_long(const struct fixture *fixture, const char *first, char filler,
				     size_t count, const char *last)
{
	struct etw_text request = { 0 }, reply;

	text_add_string(&request, first);
	for (size_t i = 0; i < count; i++) {
		text_add_char(&request, filler);
	}
	text_add_string(&request, last);
	reply = exchange(fixture, request.data, request.size);
	text_free(&request);
	return reply;
}

static void long_requests_get_4xx(void **state)
{
	static const char end[] = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	static const struct {
		const char *first;
		char filler;
		size_t count;
		const char *last;
	} cases[] = {
		{ "GET /", 'a', 65536, end },
		{ "GET /", '/', 65536, end },
		{ "GET /", '.', 65536, end },
		{ "GET /", '%', 65536, end },
		{ "GET /", '/', 16000, end },
		{ "GET /", '.', 16000, end },
		{ "GET /", '\\', 16000, end },
		{ "GET /", 'a', 16000, end },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ", 'a', 65536, "\r\n\r\n" },
		{ "GET /metrics HTTP/1.1\r\nHost: ", 'a', 65536, "\r\n\r\n" },
		{ "GET /metrics HTTP/1.1\r\n", 'a', 65536, "" },
		{ "", 'G', 65536, "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text reply = exchange_long(*state, cases[i].first, cases[i].filler,
						      cases[i].count, cases[i].last);

		if (http_status(&reply) / 100 != 4) {
			fail_msg("case %zu: %s", i, reply.data);
		}
		text_free(&reply);
	}
}

static void a_great_many_headers_do_no_harm(void **state)
{
	struct etw_text request = { 0 }, reply;

	text_add_string(&request, "GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
	for (int i = 0; i < 2000; i++) {
		text_add_string(&request, "a:\r\n");
	}
	text_add_string(&request, "\r\n");
	reply = exchange(*state, request.data, request.size);
	assert_true(http_status(&reply) == 200 || http_status(&reply) / 100 == 4);
	text_free(&request);
	text_free(&reply);
}

static void a_client_that_never_ends_its_request_is_cut_off(void **state)
{
	struct fixture *fixture = *state;
	connection slow[100]; /* more than there are workers */
	struct etw_text reply;

	for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
		slow[i] = dial(http_port(fixture->server, 0));
		send_bytes(slow[i], "GET /metr", 9);
	}
	reply = get(fixture, "GET", "/-/healthy");
	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
	for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
		reply = receive(slow[i]);
		assert_true(http_status(&reply) / 100 == 4 || reply.size == 1);
		text_free(&reply);
	}
}

static void a_client_that_leaves_is_counted(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	struct fixture *fixture = *state;
	struct family *scrapes =
		registry_find_family(fixture->registry, "etw_exporter_scrapes_total");
	uint32_t aborted = intern_string(registry_strings(fixture->registry), "499");
	char first[100];
	connection s;

	fill(fixture->registry, 20000); /* more than sockets hold */
	s = dial(http_port(fixture->server, 0));
	send_bytes(s, request, sizeof request - 1);
	assert_true(connection_receive(s, first, sizeof first) > 0);
	connection_close(s);
	wait_for(scrapes, &aborted, 1);
}

static void stopping_does_not_wait_for_a_client_that_reads_nothing(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	struct fixture *fixture = *state;
	char first[100];
	connection s;

	fill(fixture->registry, 20000);
	s = dial(http_port(fixture->server, 0));
	send_bytes(s, request, sizeof request - 1);
	assert_true(connection_receive(s, first, sizeof first) > 0);
	http_stop(fixture->server);
	fixture->server = NULL;
	connection_close(s);
}

struct scraper {
	const struct fixture *fixture;
	struct os_thread thread;
	unsigned whole;
};

static void scrape(void *context)
{
	struct scraper *scraper = context;

	for (int i = 0; i < 10; i++) {
		struct etw_text reply = get(scraper->fixture, "GET", "/metrics");
		struct etw_text body = dechunk(&reply);

		scraper->whole += strstr(body.data, "\netw_exporter_scrapes_total{") != NULL;
		text_free(&reply);
		text_free(&body);
	}
}

static void scrapes_at_the_same_time_are_whole(void **state)
{
	struct scraper scrapers[12] = { 0 };

	fill(((struct fixture *)*state)->registry, 500);
	for (size_t i = 0; i < 12; i++) {
		scrapers[i].fixture = *state;
		assert_true(os_thread_start(&scrapers[i].thread, scrape, &scrapers[i], NULL));
	}
	for (size_t i = 0; i < 12; i++) {
		os_thread_join(&scrapers[i].thread);
		assert_int_equal(scrapers[i].whole, 10);
	}
}

/* ---- starting ---- */

static void add_state(void *context, struct etw_text *html)
{
	assert_null(context);
	text_add_string(html, "<p>the state</p>\n");
}

static struct http_server *try_start(struct registry *registry, const char *address,
				     const char *telemetry_path, struct etw_error *err)
{
	struct http_options options = { .listen_addresses = &address,
					.listen_address_count = 1,
					.telemetry_path = telemetry_path,
					.add_state = add_state };

	return http_start(&options, registry, err);
}

static void the_landing_page_names_the_telemetry_path(void **state)
{
	struct fixture fixture = { .registry = registry_new(NULL, NULL) };
	struct etw_error err = { 0 };
	struct etw_text reply;

	(void)state;
	fixture.server = try_start(fixture.registry, "127.0.0.1:0", "/m'&amp;", &err);
	if (!fixture.server) {
		fail_msg("%s", err.text);
	}
	reply = get(&fixture, "GET", "/");
	assert_int_equal(http_status(&reply), 200);
	http_expect_header(&reply, "Content-Type: text/html; charset=utf-8");
	assert_non_null(strstr(reply.data, "<a href=\"/m&#39;&amp;amp;\">/m&#39;&amp;amp;</a>"));
	assert_null(strstr(reply.data, "/m'"));
	/* Which program it is, and since when; what the program adds; nothing from elsewhere. */
	assert_non_null(strstr(reply.data, program_version.number));
	assert_non_null(strstr(reply.data, program_version.revision));
	assert_non_null(strstr(reply.data, "Up for "));
	assert_non_null(strstr(reply.data, "<p>the state</p>"));
	assert_null(strstr(reply.data, "://"));
	text_free(&reply);
	reply = get(&fixture, "GET", "/m'&amp;");
	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
	reply = get(&fixture, "GET", "/metrics");
	assert_int_equal(http_status(&reply), 404);
	text_free(&reply);
	http_stop(fixture.server);
	registry_free(fixture.registry);
}

static void the_telemetry_path_may_be_the_root(void **state)
{
	struct fixture fixture = { .registry = registry_new(NULL, NULL) };
	struct etw_text reply;

	(void)state;
	fixture.server = try_start(fixture.registry, "127.0.0.1:0", "/", NULL);
	assert_non_null(fixture.server);
	reply = get(&fixture, "GET", "/");
	http_expect_header(&reply, "Content-Type: text/plain; version=0.0.4; charset=utf-8");
	text_free(&reply);
	http_stop(fixture.server);
	registry_free(fixture.registry);
}

static void bad_options_are_reported(void **state)
{
	static const char hint[] =
		"is not a listen address such as :9189, 127.0.0.1:9189 or [::1]:9189 "
		"(--web.listen-address, or listen_addresses under web:)";
	static const struct {
		const char *address, *path;
		const char *error; /* NULL: hint */
	} cases[] = {
		{ "", "/metrics", NULL },
		{ "9189", "/metrics", NULL },
		{ ":", "/metrics", NULL },
		{ ":65536", "/metrics", NULL },
		{ ":1e3", "/metrics", NULL },
		{ ":+1", "/metrics", NULL },
		{ ":0x10", "/metrics", NULL },
		{ ":9189s", "/metrics", NULL },
		{ ":9189,:9190", "/metrics", NULL },
		{ "example.org:9189", "/metrics", NULL },
		{ "127.0.0:9189", "/metrics", NULL },
		{ "127.0.0.256:9189", "/metrics", NULL },
		{ "127.0.0.1.1:9189", "/metrics", NULL },
		{ "::1:9189", "/metrics", NULL },
		{ "[::1]9189", "/metrics", NULL },
		{ "[]:9189", "/metrics", NULL },
		{ "[::1]x:9189", "/metrics", NULL },
		{ "http://127.0.0.1:9189", "/metrics", NULL },
		{ "[1:2:3]:9189", "/metrics", "\"[1:2:3]:9189\" is not a listen address" },
		{ ":0", "",
		  "\"\" is not a telemetry path: a slash, then characters that a URL allows" },
		{ ":0", "metrics",
		  "\"metrics\" is not a telemetry path: a slash, then characters that a URL allows" },
		{ ":0", "/a?b",
		  "\"/a?b\" is not a telemetry path: a slash, then characters that a URL allows" },
		{ ":0", "/<b>",
		  "\"/<b>\" is not a telemetry path: a slash, then characters that a URL allows" },
		{ ":0", "/-/ready", "the telemetry path /-/ready is the address of another page" },
	};
	struct registry *registry = registry_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };
		char expected[256];

		snprintf(expected, sizeof expected, "\"%s\" %s", cases[i].address, hint);
		assert_null(try_start(registry, cases[i].address, cases[i].path, &err));
		assert_string_equal(err.text, cases[i].error ? cases[i].error : expected);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
	registry_free(registry);
}

#define ELSEWHERE \
	"; --web.listen-address, or listen_addresses under web: in the configuration, chooses another"

static void a_port_in_use_is_reported(void **state)
{
	struct fixture *fixture = *state;
	struct registry *registry = registry_new(NULL, NULL);
	struct etw_error err = { 0 };
	const char *advice = os_listen_advice(system_address_in_use);
	char address[64], expected[512], reason[256];
	const char *addresses[2] = { "127.0.0.1:0", address };
	struct http_options options = { .listen_addresses = addresses,
					.listen_address_count = 2,
					.telemetry_path = "/metrics" };

	os_error_text(system_address_in_use, reason, sizeof reason);
	if (advice) {
		snprintf(reason + strlen(reason), sizeof reason - strlen(reason), " (%s)", advice);
	}
	snprintf(address, sizeof address, "127.0.0.1:%u", http_port(fixture->server, 0));
	snprintf(expected, sizeof expected, "cannot listen on %s: %s" ELSEWHERE, address, reason);
	assert_null(http_start(&options, registry, &err));
	assert_string_equal(err.text, expected);
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);

	snprintf(address, sizeof address, ":%u", http_port(fixture->server, 0));
	snprintf(expected, sizeof expected, "cannot listen on %s: %s" ELSEWHERE, address, reason);
	assert_null(http_start(&options, registry, &err));
	assert_string_equal(err.text, expected);
	err.text[0] = '\0';
	assert_false(http_check_listen(addresses, 2, &err));
	assert_string_equal(err.text, expected);
	registry_free(registry);
}

static void an_address_that_was_checked_is_free(void **state)
{
	struct registry *registry = registry_new(NULL, NULL);
	struct etw_error err = { 0 };
	char address[64] = "127.0.0.1:0";
	const char *addresses[1] = { address };
	struct http_options options = { .listen_addresses = addresses,
					.listen_address_count = 1,
					.telemetry_path = "/metrics" };
	struct http_server *server = http_start(&options, registry, &err);

	(void)state;
	assert_non_null(server);
	snprintf(address, sizeof address, "127.0.0.1:%u", http_port(server, 0));
	assert_false(http_check_listen(addresses, 1, &err));
	http_stop(server);
	assert_true(http_check_listen(addresses, 1, &err));
	server = http_start(&options, registry, &err);
	assert_non_null(server);
	http_stop(server);
	registry_free(registry);
}

static void several_addresses_are_served(void **state)
{
	static const char *const addresses[] = { ":0", "localhost:0", "127.0.0.1:0" };
	struct registry *registry = registry_new(NULL, NULL);
	struct http_options options = { .listen_addresses = addresses,
					.listen_address_count = 3,
					.telemetry_path = "/metrics" };
	struct http_server *server = http_start(&options, registry, NULL);

	(void)state;
	assert_non_null(server);
	for (size_t i = 0; i < 3; i++) {
		static const char request[] = "GET /-/ready HTTP/1.0\r\n\r\n";
		struct etw_text reply;

		assert_int_not_equal(http_port(server, i), 0);
		reply = http_exchange(http_port(server, i), request, sizeof request - 1);
		assert_int_equal(http_status(&reply), 200);
		text_free(&reply);
	}
	assert_int_equal(http_port(server, 3), 0);
	http_stop(server);
	registry_free(registry);
}

static void ipv6_is_served_where_there_is_any(void **state)
{
	static const char *const addresses[] = { "[::1]:0", ":0" };
	static const char request[] = "GET /-/ready HTTP/1.0\r\n\r\n";

	(void)state;
	if (!connection_ipv6_works()) {
		print_message("  no IPv6 here\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		struct registry *registry = registry_new(NULL, NULL);
		struct http_server *server;
		struct etw_text reply;
		connection s;

		server = try_start(registry, addresses[i], "/metrics", NULL);
		assert_non_null(server);
		s = connection_open_ipv6(http_port(server, 0));
		assert_true(s >= 0);
		send_bytes(s, request, sizeof request - 1);
		reply = receive(s);
		assert_int_equal(http_status(&reply), 200);
		text_free(&reply);
		http_stop(server);
		registry_free(registry);
	}
}

#define with_server(test) cmocka_unit_test_setup_teardown(test, start_server, stop_server)

static void the_format_and_its_encoding_are_negotiated(void **state)
{
	static const struct {
		const char *headers, *type, *encoding, *body;
	} cases[] = {
		{ "", "text/plain; version=0.0.4; charset=utf-8", NULL, "# HELP etw_" },
		{ "Accept: application/openmetrics-text\r\n",
		  "application/openmetrics-text; version=1.0.0; charset=utf-8", NULL,
		  "# EOF\n\r\n0\r\n\r\n" },
		{ "Accept: application/openmetrics-text;version=0.0.1;escaping=dots\r\n",
		  "application/openmetrics-text; version=0.0.1; charset=utf-8; escaping=dots", NULL,
		  "# EOF\n\r\n0\r\n\r\n" },
		{ "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n",
		  "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
		  NULL, NULL },
		{ "Accept-Encoding: gzip\r\n", "text/plain; version=0.0.4; charset=utf-8", "gzip",
		  "\x1f\x8b" },
		{ "Accept-Encoding: gzip;q=0.5, zstd\r\n",
		  "text/plain; version=0.0.4; charset=utf-8", "zstd", "\x28\xb5\x2f\xfd" },
	};
	static const char *const methods[] = { "GET", "HEAD" };
	const struct fixture *fixture = *state;

	for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		const char *method = methods[i % 2], *body = cases[i / 2].body;
		char line[256];
		struct etw_text answer;

		answer = http_request_page(http_port(fixture->server, 0), method, "/metrics",
					   cases[i / 2].headers);
		snprintf(line, sizeof line, "Content-Type: %s", cases[i / 2].type);
		http_expect_header(&answer, line);
		http_expect_header(&answer, "Vary: Accept, Accept-Encoding");
		if (cases[i / 2].encoding) {
			snprintf(line, sizeof line, "Content-Encoding: %s", cases[i / 2].encoding);
			http_expect_header(&answer, line);
		} else {
			assert_null(strstr(answer.data, "Content-Encoding"));
		}
		if (i % 2 == 0 && body && !strstr(strstr(answer.data, "\r\n\r\n"), body)) {
			fail_msg("no %s in:\n%s", body, answer.data);
		}
		if (i % 2 == 1) {
			assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
		}
		text_free(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_server(metrics_are_served_whole_with_their_type),
		with_server(http_1_0_gets_the_page_without_chunks),
		with_server(head_answers_without_a_body),
		with_server(the_format_and_its_encoding_are_negotiated),
		with_server(health_and_readiness_are_different_pages),
		with_server(other_methods_are_not_allowed),
		with_server(a_body_is_not_waited_for),
		with_server(what_does_not_exist_is_not_found),
		with_server(hostile_requests_get_4xx),
		with_server(long_requests_get_4xx),
		with_server(a_great_many_headers_do_no_harm),
		with_server(a_client_that_never_ends_its_request_is_cut_off),
		with_server(a_client_that_leaves_is_counted),
		with_server(stopping_does_not_wait_for_a_client_that_reads_nothing),
		with_server(scrapes_at_the_same_time_are_whole),
		with_server(a_port_in_use_is_reported),
		cmocka_unit_test(an_address_that_was_checked_is_free),
		cmocka_unit_test(the_landing_page_names_the_telemetry_path),
		cmocka_unit_test(the_telemetry_path_may_be_the_root),
		cmocka_unit_test(bad_options_are_reported),
		cmocka_unit_test(several_addresses_are_served),
		cmocka_unit_test(ipv6_is_served_where_there_is_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

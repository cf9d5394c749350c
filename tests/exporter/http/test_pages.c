/* SPDX-License-Identifier: MIT */
/*
 * The pages over real sockets: where they are, which methods they have, what the lifecycle pages
 * refuse, and how scrapes are chosen and limited.
 */
#include "exporter/http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "exporter/http/server_internal.h"
#include "exporter/version.h"
#include "tests/support/http_client.h"
#include "tests/support/system.h"

struct fixture {
	struct registry *registry;
	struct http_server *server;
	unsigned port;
	atomic_uint reloads, quits;
	bool reload_fails;
};

static bool reload(void *context, struct etw_error *err)
{
	struct fixture *fixture = context;

	atomic_fetch_add(&fixture->reloads, 1);
	return !fixture->reload_fails ||
	       error_set(err, ETW_ERROR_CONFIG, "my.yaml:3:1: unknown key");
}

static void quit(void *context)
{
	struct fixture *fixture = context;

	atomic_fetch_add(&fixture->quits, 1);
}

static void visit_all(void *context, scrape_collector_visit *visit, void *visitor)
{
	const struct fixture *fixture = context;

	visit(visitor, "many", true, NULL);
	visit(visitor, "many", true, registry_find_family(fixture->registry, "many_total"));
	visit(visitor, "off", false, NULL);
}

static void add_collectors(void *context, const char *metrics, struct etw_text *html)
{
	(void)context;
	text_add_format(html, "<p>the collectors of %s</p>\n", metrics);
}

/* A server with these options, and a family many_total of count samples of 1000 bytes. */
static void start(struct fixture *fixture, struct http_options options, uint32_t count)
{
	static const char *const addresses[] = { "127.0.0.1:0" };
	static const struct family_options many = {
		.name = "many_total", .help = "M.", .labels = { "a" }, .label_count = 1
	};
	const struct registry_limits limits = { .series_per_family = 100000 };
	struct etw_error err = { 0 };
	struct family *family;
	struct shard *shard;

	*fixture = (struct fixture){ .registry = registry_new(&limits, NULL) };
	family = registry_family(fixture->registry, &many, NULL);
	shard = registry_shard(fixture->registry, false, NULL);
	for (uint32_t i = 0; i < count; i++) {
		char value[1000];
		uint32_t id;

		memset(value, 'v', sizeof value);
		memcpy(value, &i, sizeof i);
		id = intern_add(registry_strings(fixture->registry), value, sizeof value);
		family_add(family, shard, &id, 1);
	}
	options.listen_addresses = addresses;
	options.listen_address_count = 1;
	options.telemetry_path = options.telemetry_path ? options.telemetry_path : "/metrics";
	options.collectors = visit_all;
	options.collectors_context = fixture;
	options.add_collectors = add_collectors;
	fixture->server = http_start(&options, fixture->registry, &err);
	if (!fixture->server) {
		fail_msg("%s", err.text);
	}
	fixture->port = http_port(fixture->server, 0);
}

static void stop(struct fixture *fixture)
{
	http_stop(fixture->server);
	registry_free(fixture->registry);
}

/* Fails unless a request is answered with this status, and with a body that contains a text. */
static void expect(const struct fixture *fixture, const char *method, const char *target,
		   const char *headers, int status, const char *part)
{
	struct etw_text reply = http_request_page(fixture->port, method, target, headers);

	if (http_status(&reply) != status || !strstr(http_body(&reply), part)) {
		fail_msg("%s %s: %s", method, target, reply.data);
	}
	text_free(&reply);
}

static void expect_header(const struct fixture *fixture, const char *method, const char *target,
			  const char *line)
{
	struct etw_text reply = http_request_page(fixture->port, method, target, "");

	http_expect_header(&reply, line);
	text_free(&reply);
}

/* ---- addresses ---- */

static void every_page_is_below_the_route_prefix(void **state)
{
	static const char *const routes[] = { "/",        "/metrics",   "/-/healthy", "/-/ready",
					      "/version", "/style.css", "/script.js", "/icon.svg" };
	struct fixture fixture;

	(void)state;
	start(&fixture, (struct http_options){ .route_prefix = "/etw" }, 1);
	for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
		char target[64] = "/etw";

		strcat(target, routes[i]);
		expect(&fixture, "GET", target, "", 200, "");
		if (i > 0) {
			expect(&fixture, "GET", routes[i], "", 404,
			       "Not Found. There are:\n/etw/\n/etw/metrics\n/etw/-/healthy\n");
		}
	}
	/* As Prometheus: the root leads to the prefix. */
	expect(&fixture, "GET", "/", "", 302, "");
	expect_header(&fixture, "GET", "/", "Location: /etw/");
	expect_header(&fixture, "GET", "/etw", "Location: /etw/");
	stop(&fixture);
}

static void links_begin_with_the_path_of_the_external_url(void **state)
{
	const struct http_options options = { .external_url = "https://proxy/a/",
					      .route_prefix = "/" };
	struct fixture fixture;

	(void)state;
	start(&fixture, options, 1);
	expect(&fixture, "GET", "/", "", 200, "<a href=\"/a/metrics\">/metrics</a>");
	expect(&fixture, "GET", "/", "", 200, "<script src=\"/a/script.js\"");
	expect(&fixture, "GET", "/", "", 200, "<link rel=\"stylesheet\" href=\"/a/style.css\">");
	expect(&fixture, "GET", "/", "", 200, "<p>the collectors of /a/metrics</p>");
	expect(&fixture, "GET", "/x", "", 404, "\n/a/metrics\n");
	expect(&fixture, "GET", "/metrics", "", 200, "# HELP many_total M.");
	expect(&fixture, "GET", "/a/metrics", "", 404, "");
	stop(&fixture);
}

static void a_prefix_of_the_proxy_may_be_another_one(void **state)
{
	const struct http_options options = { .external_url = "https://proxy/a",
					      .route_prefix = "b" };
	struct fixture fixture;

	(void)state;
	start(&fixture, options, 1);
	expect(&fixture, "GET", "/b/", "", 200, "<a href=\"/a/metrics\">");
	/* The proxy has turned /a into /b; the root was reached without it. */
	expect_header(&fixture, "GET", "/b", "Location: /a/");
	expect_header(&fixture, "GET", "/", "Location: /b/");
	stop(&fixture);
}

static void an_address_of_another_page_is_no_telemetry_path(void **state)
{
	static const char *const paths[] = { "/-/healthy",   "/-/ready",   "/-/reload",
					     "/-/quit",      "/-/record",  "/version",
					     "/style.css",   "/script.js", "/icon.svg",
					     "/history.json" };
	static const char *const addresses[] = { "127.0.0.1:0" };
	struct registry *registry = registry_new(NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		const struct http_options options = { .listen_addresses = addresses,
						      .listen_address_count = 1,
						      .telemetry_path = paths[i] };
		struct etw_error err = { 0 };

		assert_null(http_start(&options, registry, &err));
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
		assert_non_null(strstr(err.text, "is the address of another page"));
	}
	registry_free(registry);
}

/* ---- small pages and methods ---- */

static void the_version_is_there_as_json(void **state)
{
	struct fixture fixture;
	struct etw_text expected = { 0 };

	(void)state;
	start(&fixture, (struct http_options){ 0 }, 1);
	text_add_format(&expected, "{\"program\": \"etw_exporter\", \"version\": \"%s\", ",
			program_version.number);
	expect(&fixture, "GET", "/version", "", 200, expected.data);
	expect(&fixture, "GET", "/version", "", 200, program_version.revision);
	expect_header(&fixture, "GET", "/version", "Content-Type: application/json");
	text_free(&expected);
	stop(&fixture);
}

static void options_is_answered_with_the_methods(void **state)
{
	static const char *const reading[] = { "/", "/metrics", "/-/healthy", "/version" };
	static const char *const changing[] = { "/-/reload", "/-/quit" };
	static const char *const other[] = { "GET", "HEAD", "DELETE", "PATCH" };
	struct fixture fixture;

	(void)state;
	start(&fixture, (struct http_options){ .enable_lifecycle = true }, 1);
	for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++) {
		expect(&fixture, "OPTIONS", reading[i], "", 200, "");
		expect_header(&fixture, "OPTIONS", reading[i], "Allow: GET, HEAD, OPTIONS");
		expect(&fixture, "POST", reading[i], "", 405, "");
	}
	for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++) {
		expect_header(&fixture, "OPTIONS", changing[i], "Allow: POST, PUT, OPTIONS");
		for (size_t j = 0; j < sizeof other / sizeof other[0]; j++) {
			expect(&fixture, other[j], changing[i], "", 405, "");
			expect_header(&fixture, other[j], changing[i], "Allow: POST, PUT, OPTIONS");
		}
	}
	stop(&fixture);
}

static void the_landing_page_allows_nothing_from_elsewhere(void **state)
{
	struct fixture fixture;
	struct etw_text reply;

	(void)state;
	start(&fixture, (struct http_options){ 0 }, 1);
	reply = http_request_page(fixture.port, "GET", "/", "");
	http_expect_header(&reply,
			   "Content-Security-Policy: default-src 'none'; script-src 'self'; "
			   "style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
			   "form-action 'none'; frame-ancestors 'none'");
	assert_null(strstr(http_body(&reply), "://"));
	assert_null(strstr(http_body(&reply), " style="));
	assert_null(strstr(http_body(&reply), "<style"));
	assert_null(strstr(http_body(&reply), "<script>"));
	assert_null(strstr(http_body(&reply), " onload"));
	assert_null(strstr(http_body(&reply), "{{"));
	text_free(&reply);
	expect_header(&fixture, "GET", "/style.css", "Content-Type: text/css; charset=utf-8");
	expect_header(&fixture, "GET", "/script.js",
		      "Content-Type: text/javascript; charset=utf-8");
	expect_header(&fixture, "GET", "/icon.svg", "Content-Type: image/svg+xml");
	stop(&fixture);
}

/* Days and hours, hours and minutes, or minutes; each case has half a minute for the request at
 * least. */
static void the_landing_page_says_how_long_the_program_runs(void **state)
{
	enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{ MINUTE, ">1 min<" },
		{ 59 * MINUTE + 5, ">59 min<" },
		{ HOUR + 5 * MINUTE, ">1 h 5 min<" },
		{ 23 * HOUR + 59 * MINUTE, ">23 h 59 min<" },
		{ DAY, ">1 d 0 h<" },
		{ 400 * (uint64_t)DAY + 23 * HOUR + 30 * MINUTE, ">400 d 23 h<" },
	};
	struct fixture fixture;

	(void)state;
	start(&fixture, (struct http_options){ 0 }, 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		fixture.server->started_ns =
			os_monotonic_ns() - cases[i].seconds * UINT64_C(1000000000);
		expect(&fixture, "GET", "/", "", 200, cases[i].text);
	}
	stop(&fixture);
}

static void page_and_files_are_small(void **state)
{
	static const char *const targets[] = { "/", "/style.css", "/script.js", "/icon.svg" };
	struct fixture fixture;
	size_t size = 0;

	(void)state;
	start(&fixture, (struct http_options){ 0 }, 1);
	for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
		struct etw_text reply = http_request_page(fixture.port, "GET", targets[i], "");

		assert_int_equal(http_status(&reply), 200);
		size += reply.size;
		text_free(&reply);
	}
	assert_true(size < 30000);
	stop(&fixture);
}

static void add_history(void *context, struct etw_text *json)
{
	(void)context;
	text_add_string(json, "{\"measures\":[]}");
}

static void the_chart_reads_its_values_as_json(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, (struct http_options){ .add_history = add_history }, 1);
	expect(&fixture, "GET", "/history.json", "", 200, "{\"measures\":[]}");
	expect_header(&fixture, "GET", "/history.json", "Content-Type: application/json");
	expect_header(&fixture, "GET", "/history.json", "Cache-Control: no-store");
	stop(&fixture);
	start(&fixture, (struct http_options){ 0 }, 1);
	expect(&fixture, "GET", "/history.json", "", 404, "");
	stop(&fixture);
}

/* ---- /-/reload and /-/quit ---- */

static void lifecycle_pages_are_off_unless_switched_on(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture,
	      (struct http_options){ .quit = quit,
				     .quit_context = &fixture,
				     .reload = reload,
				     .reload_context = &fixture },
	      1);
	expect(&fixture, "POST", "/-/quit", "", 403, "--web.enable-lifecycle");
	expect(&fixture, "PUT", "/-/reload", "", 403, "--web.enable-lifecycle");
	expect(&fixture, "POST", "/-/record", "", 403, "--web.enable-lifecycle");
	expect(&fixture, "GET", "/-/quit", "", 405, "This page allows POST, PUT, OPTIONS.");
	assert_int_equal(fixture.quits + fixture.reloads, 0);
	stop(&fixture);
}

static void start_lifecycle(struct fixture *fixture, const char *external_url)
{
	start(fixture,
	      (struct http_options){ .enable_lifecycle = true,
				     .external_url = external_url,
				     .quit = quit,
				     .quit_context = fixture,
				     .reload = reload,
				     .reload_context = fixture },
	      1);
}

static void post_and_put_reload_and_quit(void **state)
{
	struct fixture fixture;

	(void)state;
	start_lifecycle(&fixture, NULL);
	expect(&fixture, "POST", "/-/reload", "", 200, "The configuration was read again.\n");
	expect(&fixture, "PUT", "/-/reload", "", 200, "");
	expect(&fixture, "POST", "/-/reload", "Content-Length: 0\r\n", 200, "");
	assert_int_equal(fixture.reloads, 3);
	fixture.reload_fails = true;
	expect(&fixture, "POST", "/-/reload", "", 500,
	       "The configuration was not changed: my.yaml:3:1: unknown key\n");
	assert_int_equal(fixture.quits, 0);
	expect(&fixture, "POST", "/-/quit", "", 200, "The program ends.\n");
	/* It comes after the answer. */
	for (int i = 0; i < WAIT_MS && fixture.quits == 0; i++) {
		system_sleep_ms(1);
	}
	assert_int_equal(fixture.quits, 1);
	stop(&fixture);
}

/* What the flight recorder answers. */
static enum http_recording recording;

static enum http_recording write_recording(void *context, struct etw_text *answer)
{
	(void)context;
	text_add_string(answer, recording == HTTP_RECORDING_WRITTEN ? "D:\\rec\\a.etl" :
								      "the disk\x1b is full");
	return recording;
}

static void post_has_a_recording_written(void **state)
{
	struct fixture fixture;

	(void)state;
	start_lifecycle(&fixture, NULL);
	expect(&fixture, "POST", "/-/record", "", 501, "There is no flight recorder");
	stop(&fixture);
	start(&fixture,
	      (struct http_options){ .enable_lifecycle = true, .record = write_recording }, 1);
	recording = HTTP_RECORDING_WRITTEN;
	expect(&fixture, "GET", "/-/record", "", 405, "");
	expect(&fixture, "POST", "/-/record", "", 200, "D:\\rec\\a.etl\n");
	expect(&fixture, "POST", "/-/record", "Origin: http://elsewhere\r\n", 403, "another site");
	recording = HTTP_RECORDING_REFUSED;
	expect(&fixture, "POST", "/-/record", "", 429, "No recording was written: the disk\\u001b");
	recording = HTTP_RECORDING_FAILED;
	expect(&fixture, "POST", "/-/record", "", 500, "No recording was written");
	stop(&fixture);
}

static void a_program_may_lack_reload_and_quit(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture, (struct http_options){ .enable_lifecycle = true }, 1);
	expect(&fixture, "POST", "/-/reload", "", 501, "cannot");
	expect(&fixture, "POST", "/-/quit", "", 501, "cannot");
	stop(&fixture);
}

/* The client sends "Host: localhost". */
static void pages_of_other_sites_can_change_nothing(void **state)
{
	static const char *const refused[] = {
		"http://evil.example",
		"null",
		"",
		"localhost",
		"http://localhost.evil.example",
		"http://evil.example/localhost",
		"http://localhost:80",
		"http://",
		"https://proxy:9",
		"http://proxy",
	};
	static const char *const taken[] = { "http://localhost", "https://localhost",
					     "http://LOCALHOST", "https://proxy", "HTTPS://PROXY" };
	struct fixture fixture;
	char line[128];

	(void)state;
	start_lifecycle(&fixture, "https://proxy/etw");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		snprintf(line, sizeof line, "Origin: %s\r\n", refused[i]);
		expect(&fixture, "POST", "/etw/-/quit", line, 403, "another site");
		expect(&fixture, "POST", "/etw/-/reload", line, 403, "another site");
	}
	assert_int_equal(fixture.quits + fixture.reloads, 0);
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
		snprintf(line, sizeof line, "Origin: %s\r\n", taken[i]);
		expect(&fixture, "POST", "/etw/-/reload", line, 200, "");
	}
	assert_int_equal(fixture.reloads, 5);
	stop(&fixture);
}

/* ---- scrapes ---- */

static int64_t scrapes(const struct fixture *fixture, const char *code)
{
	struct family *family =
		registry_find_family(fixture->registry, "etw_exporter_scrapes_total");
	uint32_t id = intern_string(registry_strings(fixture->registry), code);
	int64_t value = -1;

	assert_true(family_value(family, &id, &value));
	return value;
}

static void a_scrape_can_choose_its_families(void **state)
{
	struct fixture fixture;
	struct etw_text reply;

	(void)state;
	start(&fixture, (struct http_options){ 0 }, 1);
	reply = http_request_page(fixture.port, "GET", "/metrics?collect%5B%5D=many", "");
	assert_int_equal(http_status(&reply), 200);
	assert_non_null(strstr(reply.data, "# HELP many_total M."));
	assert_null(strstr(reply.data, "etw_exporter_"));
	text_free(&reply);
	reply = http_request_page(fixture.port, "GET", "/metrics?exclude[]=many", "");
	assert_null(strstr(reply.data, "many_total"));
	assert_non_null(strstr(reply.data, "# HELP etw_exporter_"));
	text_free(&reply);
	/* Nothing is left: an empty page, which is no error. */
	reply = http_request_page(fixture.port, "GET", "/metrics?collect[]=health", "");
	assert_int_equal(http_status(&reply), 200);
	assert_string_equal(http_body(&reply), "0\r\n\r\n");
	text_free(&reply);
	expect(&fixture, "GET", "/metrics?collect[]=x", "", 400,
	       "Unknown collector 'x'. Valid are: many, exporter, health.\n");
	expect(&fixture, "GET", "/metrics?collect[]=off", "", 400, "Collector 'off' is off. ");
	expect(&fixture, "HEAD", "/metrics?collect[]=x", "", 400, "");
	assert_int_equal(scrapes(&fixture, "400"), 3);
	stop(&fixture);
}

static void exporter_metrics_can_be_left_out(void **state)
{
	struct fixture fixture;
	struct etw_text reply;

	(void)state;
	start(&fixture, (struct http_options){ .disable_exporter_metrics = true }, 1);
	reply = http_request_page(fixture.port, "GET", "/metrics", "");
	assert_int_equal(http_status(&reply), 200);
	assert_non_null(strstr(reply.data, "# HELP many_total M."));
	assert_null(strstr(reply.data, "etw_exporter_"));
	text_free(&reply);
	stop(&fixture);
}

/* A client that has sent a request for metrics. */
static connection ask_for_metrics(const struct fixture *fixture, const char *headers)
{
	struct etw_text request = { 0 };
	connection c = connection_open(fixture->port);

	assert_true(c >= 0);
	text_add_format(&request, "GET /metrics HTTP/1.1\r\nHost: x\r\n%s\r\n", headers);
	assert_int_equal(connection_send(c, request.data, request.size), request.size);
	text_free(&request);
	return c;
}

/* It has also read the first bytes of the answer. */
static connection begin_scrape(const struct fixture *fixture)
{
	connection c = ask_for_metrics(fixture, "");
	char first[12];
	size_t size = 0;

	while (size < sizeof first) {
		size_t got = connection_receive(c, first + size, sizeof first - size);

		assert_true(got > 0);
		size += got;
	}
	assert_memory_equal(first, "HTTP/1.1 200", sizeof first);
	return c;
}

/* A page that no socket takes whole. */
enum { LONG_PAGE = 50000 };

/* The clients of the first two do not read, so one of them is cut off for the third; and the other
 * one where the machine is so busy that it has not read for STALL_NS of dispatch.c. */
static void of_more_scrapes_than_allowed_the_slowest_ends(void **state)
{
	struct fixture fixture;
	struct etw_text reply = { 0 };
	connection first, second;
	uint64_t begun_ns, asked_ns;
	int64_t cut_off;

	(void)state;
	start(&fixture, (struct http_options){ .max_scrapes = 2 }, LONG_PAGE);
	begun_ns = os_monotonic_ns();
	first = begin_scrape(&fixture);
	second = begin_scrape(&fixture);
	/* Other pages are no scrapes. */
	expect(&fixture, "GET", "/-/healthy", "", 200, "Healthy");
	/* The answer is 503 if this machine stands still until the request has waited for QUEUE_NS
	 * of dispatch.c. */
	do {
		text_free(&reply);
		asked_ns = os_monotonic_ns();
		reply = http_request_page(fixture.port, "GET", "/metrics", "");
	} while (http_status(&reply) == 503 &&
		 os_monotonic_ns() - asked_ns >= UINT64_C(5000000000));
	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
	for (int i = 0; i < WAIT_MS && scrapes(&fixture, "499") == 0; i++) {
		system_sleep_ms(1);
	}
	cut_off = scrapes(&fixture, "499");
	assert_in_range((uint64_t)cut_off, 1,
			os_monotonic_ns() - begun_ns < UINT64_C(5000000000) ? 1 : 2);
	/* One that ends makes room. */
	connection_close(first);
	for (int i = 0; i < WAIT_MS; i++) {
		reply = http_request_page(fixture.port, "HEAD", "/metrics", "");
		if (http_status(&reply) == 200) {
			break;
		}
		text_free(&reply);
		system_sleep_ms(1);
	}
	assert_int_equal(http_status(&reply), 200);
	text_free(&reply);
	connection_close(second);
	stop(&fixture);
}

/* The page is cut off: Prometheus has given up by then, and the client takes little. On a busy
 * machine a short time is over before the answer begins, so longer ones follow until it has begun.
 */
static void a_scrape_ends_with_the_time_of_its_client(void **state)
{
	struct fixture fixture;
	bool begun = false;

	(void)state;
	start(&fixture, (struct http_options){ 0 }, LONG_PAGE);
	for (unsigned ms = 10, ended = 1; !begun; ms *= 10, ended++) {
		char part[1000], headers[80];
		connection c;

		snprintf(headers, sizeof headers, "X-Prometheus-Scrape-Timeout-Seconds: %g\r\n",
			 ms / 1e3);
		c = ask_for_metrics(&fixture, headers);
		for (int i = 0; i < WAIT_MS && scrapes(&fixture, "499") < ended; i++) {
			/* A slow reader: the server has to wait for it, but not too long for each
			 * part. */
			begun |= connection_is_readable(c) &&
				 connection_receive(c, part, sizeof part) > 0;
			system_sleep_ms(1);
		}
		assert_int_equal(scrapes(&fixture, "499"), ended);
		assert_int_equal(scrapes(&fixture, "200"), 0);
		connection_close(c);
	}
	stop(&fixture);
}

/* A name of others may mean our address (DNS rebinding): its pages have the Origin of our Host. */
static void lifecycle_requests_are_for_names_of_the_exporter(void **state)
{
	static const char *const refused[] = { "evil:9189", "evil", "localhost.evil.example",
					       "127.0.0.1.evil:9189", "proxy.evil" };
	static const char *const taken[] = { "127.0.0.1:9189", "10.1.2.3",       "[::1]:9189",
					     "[2001:db8::1]",  "localhost:9189", "LOCALHOST",
					     "proxy:9189",     "proxy" };
	static const char *const pages[] = { "reload", "record", "quit" };
	struct fixture fixture;
	char line[128], path[32], computer[256];

	(void)state;
	start_lifecycle(&fixture, "https://proxy/etw");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		for (size_t j = 0; j < sizeof pages / sizeof pages[0]; j++) {
			snprintf(path, sizeof path, "/etw/-/%s", pages[j]);
			snprintf(line, sizeof line, "Host: %s\r\n", refused[i]);
			expect(&fixture, "POST", path, line, 403, "another host");
			snprintf(line, sizeof line, "Host: %s\r\nOrigin: http://%s\r\n", refused[i],
				 refused[i]);
			expect(&fixture, "PUT", path, line, 403, "another host");
		}
	}
	assert_int_equal(fixture.quits + fixture.reloads, 0);
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
		snprintf(line, sizeof line, "Host: %s\r\n", taken[i]);
		expect(&fixture, "POST", "/etw/-/reload", line, 200, "");
	}
	os_computer_name(computer, sizeof computer);
	if (computer[0] != '\0') {
		snprintf(line, sizeof line, "Host: %.100s:9189\r\n", computer);
		expect(&fixture, "POST", "/etw/-/reload", line, 200, "");
	}
	stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_is_below_the_route_prefix),
		cmocka_unit_test(links_begin_with_the_path_of_the_external_url),
		cmocka_unit_test(a_prefix_of_the_proxy_may_be_another_one),
		cmocka_unit_test(an_address_of_another_page_is_no_telemetry_path),
		cmocka_unit_test(the_version_is_there_as_json),
		cmocka_unit_test(options_is_answered_with_the_methods),
		cmocka_unit_test(the_landing_page_allows_nothing_from_elsewhere),
		cmocka_unit_test(the_landing_page_says_how_long_the_program_runs),
		cmocka_unit_test(page_and_files_are_small),
		cmocka_unit_test(the_chart_reads_its_values_as_json),
		cmocka_unit_test(lifecycle_pages_are_off_unless_switched_on),
		cmocka_unit_test(post_and_put_reload_and_quit),
		cmocka_unit_test(post_has_a_recording_written),
		cmocka_unit_test(lifecycle_requests_are_for_names_of_the_exporter),
		cmocka_unit_test(a_program_may_lack_reload_and_quit),
		cmocka_unit_test(pages_of_other_sites_can_change_nothing),
		cmocka_unit_test(a_scrape_can_choose_its_families),
		cmocka_unit_test(exporter_metrics_can_be_left_out),
		cmocka_unit_test(of_more_scrapes_than_allowed_the_slowest_ends),
		cmocka_unit_test(a_scrape_ends_with_the_time_of_its_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

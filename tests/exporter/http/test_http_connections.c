/* SPDX-License-Identifier: MIT */
/*
 * The life of connections: kept for further requests, ended after an answer, refused, and bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/http/connection.h"
#include "exporter/http/server.h"
#include "tests/support/system.h"

struct fixture {
	struct registry *registry;
	struct http_server *server;
	unsigned port;
};

static void open_server(struct fixture *fixture, const struct http_options *options)
{
	struct etw_error err = { 0 };

	fixture->registry = registry_new(NULL, &err);
	assert_non_null(fixture->registry);
	fixture->server = http_start(options, fixture->registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(fixture->server);
	fixture->port = http_port(fixture->server, 0);
}

static void close_server(struct fixture *fixture)
{
	http_stop(fixture->server);
	registry_free(fixture->registry);
}

static const char *const any_port[] = { "127.0.0.1:0" };
static const struct http_options usual = { .listen_addresses = any_port,
					   .listen_address_count = 1,
					   .telemetry_path = "/metrics" };

static int start_server(void **state)
{
	static struct fixture fixture;

	open_server(&fixture, &usual);
	*state = &fixture;
	return 0;
}

static int stop_server(void **state)
{
	close_server(*state);
	return 0;
}

static void wait_until_closed(const struct fixture *fixture, const char *reason, int64_t count)
{
	struct family *family = registry_find_family(fixture->registry,
						     "etw_exporter_http_connections_closed_total");
	uint32_t id = intern_string(registry_strings(fixture->registry), reason);
	int64_t value = 0;

	for (int i = 0; i < WAIT_MS && value != count; i++) {
		(void)family_value(family, &id, &value);
		system_sleep_ms(1);
	}
	assert_int_equal(value, count);
}

/* ---- a client ---- */

static connection dial(const struct fixture *fixture)
{
	connection c = connection_open(fixture->port);

	assert_true(c >= 0);
	return c;
}

static void send_text(connection c, const char *text)
{
	assert_int_equal(connection_send(c, text, strlen(text)), strlen(text));
}

/* Reads until the text has come that ends it; NULL: until the server closes. */
static void receive(connection c, const char *end, struct etw_text *out)
{
	char part[4096];

	text_clear(out);
	while (!end || !out->data || out->size < strlen(end) ||
	       strcmp(out->data + out->size - strlen(end), end) != 0) {
		size_t size = connection_receive(c, part, sizeof part);

		if (size == 0) {
			assert_null(end);
			return;
		}
		text_add(out, part, size);
		assert_false(out->failed);
	}
}

static void expect(const struct etw_text *reply, const char *part)
{
	if (!reply->data || !strstr(reply->data, part)) {
		fail_msg("no \"%s\" in: %s", part, reply->data ? reply->data : "nothing");
	}
}

static void expect_not(const struct etw_text *reply, const char *part)
{
	if (reply->data && strstr(reply->data, part)) {
		fail_msg("\"%s\" in: %s", part, reply->data);
	}
}

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define LAST(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* ---- keeping ---- */

static void a_connection_serves_many_requests(void **state)
{
	connection c = dial(*state);
	struct etw_text reply = { 0 };

	for (int i = 0; i < 20; i++) {
		send_text(c, GET("/-/healthy"));
		receive(c, "\r\n\r\nHealthy\n", &reply);
		expect(&reply, "HTTP/1.1 200 OK\r\n");
		expect_not(&reply, "Connection: close");
		send_text(c, GET("/metrics"));
		receive(c, "\r\n0\r\n\r\n", &reply);
		expect(&reply, "HTTP/1.1 200 OK\r\n");
		expect_not(&reply, "Connection: close");
	}
	/* All of these were answered on the one connection that is open. */
	expect(&reply, "\netw_exporter_http_connections 1\n");
	send_text(c, LAST("/-/healthy"));
	receive(c, NULL, &reply);
	expect(&reply, "\r\nConnection: close\r\n");
	connection_close(c);
	text_free(&reply);
	wait_until_closed(*state, "done", 1);
}

/* More than are waited for in each pass, each silent for longer than it counts as active. */
static void silent_connections_that_wake_up_are_answered(void **state)
{
	enum { CLIENTS = 2 * (WAIT_SET_FEW + WAIT_SET_KEPT) };
	connection clients[CLIENTS];
	struct etw_text reply = { 0 };

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = dial(*state);
		send_text(clients[i], GET("/-/healthy"));
		receive(clients[i], "\r\n\r\nHealthy\n", &reply);
	}
	for (int round = 0; round < 2; round++) {
		system_sleep_ms(2 * WAIT_SET_SILENT_MS);
		for (int i = 0; i < CLIENTS; i++) {
			send_text(clients[i], GET("/-/healthy"));
		}
		for (int i = 0; i < CLIENTS; i++) {
			receive(clients[i], "\r\n\r\nHealthy\n", &reply);
			expect(&reply, "HTTP/1.1 200 OK\r\n");
		}
	}
	/* That they leave is noticed as well. */
	system_sleep_ms(2 * WAIT_SET_SILENT_MS);
	for (int i = 0; i < CLIENTS; i++) {
		connection_close(clients[i]);
	}
	text_free(&reply);
	wait_until_closed(*state, "done", CLIENTS);
}

static void a_connection_does_not_last_for_ever(void **state)
{
	connection c = dial(*state);
	struct etw_text reply = { 0 };

	for (int i = 1; i < 1000; i++) {
		send_text(c, GET("/-/healthy"));
		receive(c, "\r\n\r\nHealthy\n", &reply);
		expect_not(&reply, "Connection: close");
	}
	send_text(c, GET("/-/healthy"));
	receive(c, NULL, &reply);
	expect(&reply, "\r\nConnection: close\r\n");
	connection_close(c);
	text_free(&reply);
}

static void requests_in_a_row_are_answered_in_order(void **state)
{
	static const char both[] = GET("/-/healthy") GET("/-/ready") "\r\n" LAST("/nothing");
	connection c = dial(*state);
	struct etw_text reply = { 0 };
	const char *healthy, *ready, *nothing;

	/* In two parts, cut within the second request. */
	assert_int_equal(connection_send(c, both, 60), 60);
	receive(c, "Healthy\n", &reply);
	healthy = strstr(reply.data, "Healthy");
	assert_non_null(healthy);
	send_text(c, both + 60);
	receive(c, NULL, &reply);
	ready = strstr(reply.data, "\r\n\r\nReady\n");
	nothing = strstr(reply.data, "HTTP/1.1 404");
	assert_non_null(ready);
	assert_non_null(nothing);
	assert_true(ready < nothing);
	connection_close(c);
	text_free(&reply);
}

static void some_answers_end_the_connection(void **state)
{
	static const struct {
		const char *request, *status;
	} cases[] = {
		{ LAST("/-/healthy"), "HTTP/1.1 200 " },
		{ "GET /-/healthy HTTP/1.0\r\n\r\n", "HTTP/1.1 200 " },
		/* Bodies are not read, so what follows them cannot be found. */
		{ "GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		  "HTTP/1.1 200 " },
		{ "GET /-/healthy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "HTTP/1.1 200 " },
		{ GET("/nothing"), "HTTP/1.1 404 " },
		{ "POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 " },
		/* What request_head.c refuses is answered without a worker. */
		{ "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "HTTP/1.1 400 " },
		{ "GET / HTTP/1.1\nHost: x\n\n", "HTTP/1.1 400 " },
		{ "GET / HTTP/3.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 " },
		{ "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 " },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		connection c = dial(*state);
		struct etw_text reply = { 0 };

		send_text(c, cases[i].request);
		receive(c, NULL, &reply);
		if (!reply.data || strncmp(reply.data, cases[i].status, 13) != 0) {
			fail_msg("%s: %s", cases[i].request, reply.data ? reply.data : "nothing");
		}
		expect(&reply, "\r\nConnection: close\r\n");
		expect(&reply, "\r\nDate: ");
		connection_close(c);
		text_free(&reply);
	}
}

/* RFC 9110, section 15.5.6 */
static void answers_with_405_say_which_methods_there_are(void **state)
{
	static const struct {
		const char *request, *allow;
	} cases[] = {
		{ "PUT /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "\r\nAllow: GET, HEAD, OPTIONS\r\n" },
		{ "GET /-/quit HTTP/1.1\r\nHost: x\r\n\r\n", "\r\nAllow: POST, PUT, OPTIONS\r\n" },
		/* "GET *" and all others are refused too. */
		{ "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "\r\nAllow:\r\n" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		connection c = dial(*state);
		struct etw_text reply = { 0 };

		send_text(c, cases[i].request);
		receive(c, NULL, &reply);
		expect(&reply, "HTTP/1.1 405 ");
		expect(&reply, cases[i].allow);
		expect(&reply, "\r\nConnection: close\r\n");
		expect(&reply, "\r\nDate: ");
		connection_close(c);
		text_free(&reply);
	}
}

static void absolute_targets_are_answered(void **state)
{
	connection c = dial(*state);
	struct etw_text reply = { 0 };

	send_text(c, LAST("http://elsewhere.example:1/-/healthy?a"));
	receive(c, NULL, &reply);
	expect(&reply, "\r\n\r\nHealthy\n");
	connection_close(c);
	text_free(&reply);
}

static void the_date_is_that_of_today(void **state)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t before = (time_t)(os_unix_time_ns() / UINT64_C(1000000000)), said;
	connection c = dial(*state);
	struct etw_text reply = { 0 };
	struct tm date = { 0 };
	char weekday[4], month[4];
	const char *line;
	size_t i = 0;

	send_text(c, LAST("/-/healthy"));
	receive(c, NULL, &reply);
	line = strstr(reply.data, "\r\nDate: ");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "\r\nDate: %3s, %2d %3s %4d %2d:%2d:%2d GMT\r", weekday,
				&date.tm_mday, month, &date.tm_year, &date.tm_hour, &date.tm_min,
				&date.tm_sec),
			 7);
	while (i < 12 && strcmp(month, months[i]) != 0) {
		i++;
	}
	date.tm_mon = (int)i;
	date.tm_year -= 1900;
	said = (time_t)system_unix_seconds(&date);
	assert_true(said >= before);
	assert_true(said <= (time_t)(os_unix_time_ns() / UINT64_C(1000000000)));
	connection_close(c);
	text_free(&reply);
}

/* ---- ending ---- */

/* Again, with another server, if the machine is so busy that the head does not even begin in time.
 */
static void a_head_that_does_not_end_is_answered_with_408(void **state)
{
	const uint64_t time_ns = UINT64_C(5000000000); /* HEAD_NS of reception.c */
	struct etw_text reply = { 0 };
	connection c, silent;
	bool in_time = false;

	while (!in_time) {
		uint64_t begun_ns = os_monotonic_ns();

		c = dial(*state);
		silent = dial(*state);
		send_text(c, "GET / HTTP/1.1\r\nHost: ");
		in_time = os_monotonic_ns() - begun_ns < time_ns;
		if (!in_time) {
			connection_close(c);
			connection_close(silent);
			stop_server(state);
			start_server(state);
		}
	}
	receive(c, NULL, &reply);
	expect(&reply, "HTTP/1.1 408 ");
	receive(silent, NULL, &reply);
	assert_int_equal(reply.size, 0);
	connection_close(c);
	connection_close(silent);
	text_free(&reply);
	wait_until_closed(*state, "timeout", 2);
}

static void clients_that_leave_are_counted(void **state)
{
	connection c = dial(*state);

	send_text(c, "GET / HT");
	connection_close(c);
	wait_until_closed(*state, "client", 1);
}

static void only_allowed_addresses_are_served(void **state)
{
	static const char *const others[] = { "192.0.2.0/24", "2001:db8::/32" };
	static const char *const with_local[] = { "192.0.2.0/24", "127.0.0.0/8" };
	struct http_options options = usual;
	struct fixture fixture;
	struct etw_text reply = { 0 };
	connection c;

	(void)state;
	options.allowed = others;
	options.allowed_count = 2;
	open_server(&fixture, &options);
	c = dial(&fixture);
	receive(c, NULL, &reply);
	assert_int_equal(reply.size, 0);
	connection_close(c);
	wait_until_closed(&fixture, "not_allowed", 1);
	close_server(&fixture);

	options.allowed = with_local;
	open_server(&fixture, &options);
	c = dial(&fixture);
	send_text(c, LAST("/-/healthy"));
	receive(c, NULL, &reply);
	expect(&reply, "HTTP/1.1 200 ");
	connection_close(c);
	close_server(&fixture);
	text_free(&reply);
}

static void other_texts_than_ranges_are_reported(void **state)
{
	static const char *const bad[] = { "10.0.0.0/8", "10.0.0.1/8" };
	struct registry *registry = registry_new(NULL, NULL);
	struct http_options options = usual;
	struct etw_error err = { 0 };

	(void)state;
	options.allowed = bad;
	options.allowed_count = 2;
	assert_null(http_start(&options, registry, &err));
	assert_string_equal(err.text, "\"10.0.0.1/8\" is not a range of addresses such as "
				      "10.0.0.0/8, 192.0.2.1 or 2001:db8::/32 (--web.allow, or "
				      "allow under web:)");
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	registry_free(registry);
}

int main(void)
{
#define with_server(test) cmocka_unit_test_setup_teardown(test, start_server, stop_server)
	const struct CMUnitTest tests[] = {
		with_server(a_connection_serves_many_requests),
		with_server(silent_connections_that_wake_up_are_answered),
		with_server(a_connection_does_not_last_for_ever),
		with_server(requests_in_a_row_are_answered_in_order),
		with_server(some_answers_end_the_connection),
		with_server(answers_with_405_say_which_methods_there_are),
		with_server(absolute_targets_are_answered),
		with_server(the_date_is_that_of_today),
		with_server(a_head_that_does_not_end_is_answered_with_408),
		with_server(clients_that_leave_are_counted),
		cmocka_unit_test(only_allowed_addresses_are_served),
		cmocka_unit_test(other_texts_than_ranges_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

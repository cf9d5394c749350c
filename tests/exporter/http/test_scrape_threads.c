/* SPDX-License-Identifier: MIT */
/*
 * Four clients scrape over HTTP while a replay runs at full speed; under ThreadSanitizer this is
 * the proof that a scrape and a consumer may meet anywhere.
 */
#include "exporter/http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/runner.h"
#include "tests/support/program.h"
#include "tests/support/small_recording.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { CLIENTS = 4, SCRAPES = 25, ROUNDS = 2000 };

struct client {
	struct os_thread thread;
	uint16_t port;
	unsigned answers;
	unsigned good; /* answers that were whole */
	uint64_t last; /* events counted, in the last answer */
	bool went_backwards;
};

/* One request, the whole answer. */
static struct etw_text get_metrics(uint16_t port)
{
	static const char request[] =
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	connection c = connection_open(port);
	struct etw_text answer = { 0 };
	char chunk[16384];
	size_t got;

	if (c >= 0 && connection_send(c, request, sizeof request - 1) == sizeof request - 1) {
		while ((got = connection_receive(c, chunk, sizeof chunk)) > 0) {
			text_add(&answer, chunk, got);
		}
	}
	connection_close(c);
	return answer;
}

/*
 * A client asks SCRAPES times from the replay's first record on, however late that comes: a busy
 * machine may answer every client many times before it lets the replay's thread run.
 */
static void scrape_again_and_again(void *context)
{
	struct client *client = context;

	for (unsigned i = 0; i < SCRAPES && client->good == client->answers;
	     i += client->last > 0) {
		struct etw_text answer = get_metrics(client->port);
		uint64_t events = page_value(&answer, "etw_consumer_records_total");

		if (events == UINT64_MAX && client->last == 0) {
			events = 0; /* the replay has not come to its first record */
		}
		client->answers++;
		if (answer.size > 12 && memcmp(answer.data, "HTTP/1.1 200", 12) == 0 &&
		    events != UINT64_MAX) {
			client->good++;
			client->went_backwards = client->went_backwards || events < client->last;
			client->last = events;
		}
		text_free(&answer);
	}
}

static void four_clients_scrape_while_a_replay_runs_at_full_speed(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	const char *const paths[] = { path };
	const char *const addresses[] = { "127.0.0.1:0" };
	const struct http_options options = {
		.listen_addresses = addresses,
		.listen_address_count = 1,
		.telemetry_path = "/metrics",
	};
	struct client clients[CLIENTS] = { 0 };
	struct http_server *server;
	struct etw_error err = { 0 };
	struct program program;
	struct etw_text page;
	unsigned answers = 0;

	(void)state;
	temporary_path(path, "etl");
	small_recording(path, ROUNDS);
	program_open(&program, paths, 1, true);
	server = http_start(&options, program.setup.registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(server);
	assert_true(runner_start(program.runner, &err));
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i].port = (uint16_t)http_port(server, 0);
		assert_true(os_thread_start(&clients[i].thread, scrape_again_and_again, &clients[i],
					    &err));
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		os_thread_join(&clients[i].thread);
		assert_int_equal(clients[i].good, clients[i].answers);
		assert_false(clients[i].went_backwards);
		assert_true(clients[i].last > 0);
		answers += clients[i].answers;
	}
	runner_stop(program.runner);
	runner_join(program.runner);
	page = program_page(&program);
	/* At rest nothing is under way: every event has been counted by its provider and has its
	 * outcome. */
	assert_int_equal(page_value(&page, "etw_consumer_records_total"),
			 page_value(&page, "etw_events_total"));
	assert_int_equal(page_value(&page, "etw_consumer_events_total"),
			 page_value(&page, "etw_events_total"));
	assert_int_equal(page_value(&page, "etw_exporter_scrapes_total{code=\"200\"}"), answers);
	text_free(&page);
	http_stop(server);
	program_close(&program);
	remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_clients_scrape_while_a_replay_runs_at_full_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

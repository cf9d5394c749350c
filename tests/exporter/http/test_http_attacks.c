/* SPDX-License-Identifier: MIT */
/*
 * Clients that hold connections without using them, and those that use them slowly: while all of
 * them are there, other clients are answered.
 *
 * Each attack is kept up by a thread. The probes run meanwhile and must be answered; how long the
 * longest took is printed, and nothing fails on it, because the machine may be busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/http/server.h"
#include "tests/support/system.h"

#define MS UINT64_C(1000000)

enum { PAGE_LINES = 20000, PROBES = 15, PAUSE_MS = 100 };

struct fixture {
	struct registry *registry;
	struct http_server *server;
	unsigned port;
};

/* A page of some 20 MB. */
static void fill(struct registry *registry)
{
	static const struct family_options options = {
		.name = "many_total", .help = "M.", .labels = { "a" }, .label_count = 1
	};
	struct family *family = registry_family(registry, &options, NULL);
	struct shard *shard = registry_shard(registry, false, NULL);
	char value[1000];

	memset(value, 'v', sizeof value);
	for (uint32_t i = 0; i < PAGE_LINES; i++) {
		uint32_t id;
		int size = snprintf(value, sizeof value, "%u", i);

		value[size] = 'v';
		id = intern_add(registry_strings(registry), value, sizeof value);
		family_add(family, shard, &id, i);
	}
}

static int start_server(void **state)
{
	static const char *const addresses[] = { "127.0.0.1:0" };
	const struct registry_limits limits = { .series_per_family = 100000 };
	const struct http_options options = { .listen_addresses = addresses,
					      .listen_address_count = 1,
					      .telemetry_path = "/metrics" };
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct etw_error err = { 0 };

	assert_non_null(fixture);
	fixture->registry = registry_new(&limits, &err);
	assert_non_null(fixture->registry);
	fill(fixture->registry);
	fixture->server = http_start(&options, fixture->registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(fixture->server);
	fixture->port = http_port(fixture->server, 0);
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

static int64_t value_of(const struct fixture *fixture, const char *name, const char *label)
{
	struct family *family = registry_find_family(fixture->registry, name);
	uint32_t id = label ? intern_string(registry_strings(fixture->registry), label) : 0;
	int64_t value = 0;

	assert_non_null(family);
	(void)family_value(family, label ? &id : NULL, &value);
	return value;
}

/* ---- probes ---- */

static bool request(connection c, const char *path)
{
	char text[256];
	int size = snprintf(text, sizeof text,
			    "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);

	return c >= 0 && connection_send(c, text, (size_t)size) == (size_t)size;
}

/* Fetches a page whole; returns the status, 0 for no answer, and how long it took. */
static int fetch(const struct fixture *fixture, const char *path, size_t least_size,
		 uint64_t *duration_ns)
{
	uint64_t begin_ns = os_monotonic_ns();
	connection c = connection_open(fixture->port);
	char part[65536], first[16] = "";
	size_t all = 0, size;
	int status = 0;

	if (!request(c, path)) { /* the server has closed it already */
		connection_close(c);
		return 0;
	}
	while ((size = connection_receive(c, part, sizeof part)) > 0) {
		if (all == 0) {
			memcpy(first, part, size < sizeof first - 1 ? size : sizeof first - 1);
		}
		all += size;
	}
	connection_close(c);
	*duration_ns = os_monotonic_ns() - begin_ns;
	(void)sscanf(first, "HTTP/1.1 %d", &status);
	assert_true(status != 200 || all >= least_size);
	return status;
}

static void wait_for_attackers(const struct fixture *fixture, unsigned attackers)
{
	for (int i = 0; i < WAIT_MS; i++) {
		if (value_of(fixture, "etw_exporter_http_connections", NULL) >= attackers) {
			return;
		}
		system_sleep_ms(1);
	}
	fail_msg("the attackers do not get through");
}

/* The longest of some probes, each begun while that many attackers are connected. */
static uint64_t probe(const struct fixture *fixture, const char *path, size_t least_size,
		      unsigned attackers)
{
	uint64_t longest = 0, duration;

	for (int i = 0; i < PROBES; i++) {
		wait_for_attackers(fixture, attackers);
		assert_int_equal(fetch(fixture, path, least_size, &duration), 200);
		longest = duration > longest ? duration : longest;
		system_sleep_ms(PAUSE_MS);
	}
	return longest;
}

/* ---- attacks ---- */

struct attack {
	const char *name;
	unsigned clients;
	const char *text;    /* what each sends at first */
	const char *dribble; /* and then again and again; NULL: nothing */
	bool is_answered;    /* the server ends such connections, and they come again */

	unsigned port;
	struct os_thread thread;
	connection *connections;
	atomic_uint opened; /* connections that were opened in all */
	atomic_bool stop;
};

/* A connection that the server has ended is opened again. */
static void attack_once(struct attack *attack, connection *c)
{
	char part[10000];

	if (*c < 0) {
		*c = connection_open(attack->port);
		if (*c >= 0 && attack->text) {
			connection_send(*c, attack->text, strlen(attack->text));
		}
		atomic_fetch_add(&attack->opened, 1);
	} else if ((attack->dribble && connection_send(*c, attack->dribble, 1) == 0) ||
		   (connection_is_readable(*c) && connection_receive(*c, part, sizeof part) == 0)) {
		connection_close(*c);
		*c = -1;
	}
}

static void keep_up(void *context)
{
	struct attack *attack = context;

	while (!atomic_load(&attack->stop)) {
		for (unsigned i = 0; i < attack->clients && !atomic_load(&attack->stop); i++) {
			attack_once(attack, &attack->connections[i]);
		}
		system_sleep_ms(PAUSE_MS);
	}
}

static void start_attack(struct attack *attack, const struct fixture *fixture)
{
	attack->port = fixture->port;
	attack->connections = calloc(attack->clients, sizeof *attack->connections);
	assert_non_null(attack->connections);
	for (unsigned i = 0; i < attack->clients; i++) {
		attack->connections[i] = -1;
	}
	assert_true(os_thread_start(&attack->thread, keep_up, attack, NULL));
	for (int i = 0; i < WAIT_MS && atomic_load(&attack->opened) < attack->clients; i++) {
		system_sleep_ms(1);
	}
	assert_true(atomic_load(&attack->opened) >= attack->clients);
}

static void end_attack(struct attack *attack)
{
	atomic_store(&attack->stop, true);
	os_thread_join(&attack->thread);
	for (unsigned i = 0; i < attack->clients; i++) {
		connection_close(attack->connections[i]);
	}
	free(attack->connections);
}

static void others_are_answered(struct fixture *fixture, struct attack *attack)
{
	uint64_t alone_ns, page_ns, healthy_ns;
	/* Those that are answered are closed a moment later, or not yet opened again. */
	unsigned there = attack->is_answered ? 0 : attack->clients;

	fetch(fixture, "/metrics", 1, &alone_ns);
	start_attack(attack, fixture);
	healthy_ns = probe(fixture, "/-/healthy", 1, there);
	page_ns = probe(fixture, "/metrics", PAGE_LINES * 1000, there);
	end_attack(attack);
	print_message("  %u %s: /-/healthy %.3f s, /metrics %.3f s at most (%.3f s without)\n",
		      attack->clients, attack->name, (double)healthy_ns / 1e9,
		      (double)page_ns / 1e9, (double)alone_ns / 1e9);
}

static void silent_clients_delay_no_answer(void **state)
{
	struct attack attack = { .name = "silent clients", .clients = 200 };

	others_are_answered(*state, &attack);
}

static void half_heads_delay_no_answer(void **state)
{
	struct attack attack = { .name = "half heads",
				 .clients = 200,
				 .text = "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ",
				 .dribble = "y" };

	others_are_answered(*state, &attack);
}

static void slow_bodies_delay_no_answer(void **state)
{
	struct attack attack = { .name = "slow bodies",
				 .clients = 16,
				 .text = "GET /-/healthy HTTP/1.1\r\nHost: x\r\n"
					 "Content-Length: 1000000000\r\n\r\n",
				 .dribble = "y",
				 .is_answered = true };

	others_are_answered(*state, &attack);
}

static void slow_readers_delay_no_answer(void **state)
{
	struct attack attack = { .name = "slow readers of 20 MB",
				 .clients = 16,
				 .text = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" };

	others_are_answered(*state, &attack);
}

/* More than there are workers: some are cut off to make room, so pages get through. On a machine
 * that is too busy for that the answer may be 503, but it is one. */
static void more_slow_readers_than_workers_are_cut_off(void **state)
{
	struct attack attack = { .name = "slow readers of 20 MB",
				 .clients = 100,
				 .text = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" };

	struct fixture *fixture = *state;
	uint64_t healthy_ns, page_ns = 0;
	int status = 0;

	start_attack(&attack, fixture);
	for (int i = 0;
	     i < WAIT_MS &&
	     value_of(fixture, "etw_exporter_http_connections_closed_total", "slow") == 0;
	     i++) {
		system_sleep_ms(1);
	}
	assert_true(value_of(fixture, "etw_exporter_http_connections_closed_total", "slow") > 0);
	healthy_ns = probe(fixture, "/-/healthy", 1, 1);
	for (int i = 0; i < 100 && status != 200; i++) {
		status = fetch(fixture, "/metrics", PAGE_LINES * 1000, &page_ns);
		assert_true(status == 200 || status == 503);
	}
	assert_int_equal(status, 200);
	end_attack(&attack);
	print_message("  %u %s: /-/healthy %.3f s, /metrics %.3f s at most\n", attack.clients,
		      attack.name, (double)healthy_ns / 1e9, (double)page_ns / 1e9);
}

/* Above the limit of one address. The clients have had an answer, since one that is kept for its
 * next request may be silent for two minutes: those that never sent a head are ended after five
 * seconds, in which a busy machine does not open so many. */
static void the_oldest_silent_clients_make_room(void **state)
{
	enum { CLIENTS = 2100, ROOM = 2048 };
	struct attack attack = { .name = "kept clients",
				 .clients = CLIENTS,
				 .text = "GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n" };
	struct fixture *fixture = *state;
	uint64_t duration;
	int tries = 0;

	start_attack(&attack, fixture);
	for (int i = 0;
	     i < WAIT_MS &&
	     value_of(fixture, "etw_exporter_http_connections_closed_total", "evicted") == 0;
	     i++) {
		system_sleep_ms(1);
	}
	assert_true(value_of(fixture, "etw_exporter_http_connections", NULL) <= ROOM);
	/* On a busy machine this client may become the oldest one itself, and has to come again. */
	while (tries < WAIT_MS && fetch(fixture, "/-/healthy", 1, &duration) != 200) {
		tries++;
		system_sleep_ms(1);
	}
	assert_true(tries < WAIT_MS);
	end_attack(&attack);
	assert_true(value_of(fixture, "etw_exporter_http_connections_closed_total", "evicted") > 0);
	assert_int_equal(value_of(fixture, "etw_exporter_http_connections_closed_total", "full"),
			 0);
}

int main(void)
{
#define with_server(test) cmocka_unit_test_setup_teardown(test, start_server, stop_server)
	const struct CMUnitTest tests[] = {
		with_server(silent_clients_delay_no_answer),
		with_server(half_heads_delay_no_answer),
		with_server(slow_bodies_delay_no_answer),
		with_server(slow_readers_delay_no_answer),
		with_server(more_slow_readers_than_workers_are_cut_off),
		with_server(the_oldest_silent_clients_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

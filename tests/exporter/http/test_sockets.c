/* SPDX-License-Identifier: MIT */
/*
 * How much of a page the system takes for a client that does not read it: each such page costs
 * that memory, which the exporter does not see, and the time to render it at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/http/sockets.h"
#include "tests/support/system.h"

/* What the client's end takes is more than the rest: 128 KiB by default on Linux, some of it twice.
 */
enum { PART = 32 * 1024, MOST = 1536 * 1024, PATIENT_MS = 200 };

static socket_handle accept_one(socket_handle listener)
{
	struct client_address address;
	socket_handle client = SOCKET_NONE;

	for (int i = 0; i < WAIT_MS && client == SOCKET_NONE; i++) {
		if (socket_accept(listener, &client, &address) != SOCKET_ACCEPTED) {
			system_sleep_ms(1);
		}
	}
	assert_int_not_equal(client, SOCKET_NONE);
	return client;
}

static void a_client_that_does_not_read_takes_little_memory(void **state)
{
	const struct listen_address address = { .family = LISTEN_IPV4, .host = "127.0.0.1" };
	char part[PART];
	size_t all = 0, size;
	int error_number;
	socket_handle listener = socket_listen(&address, &error_number);
	connection client;
	socket_handle server;

	(void)state;
	assert_int_not_equal(listener, SOCKET_NONE);
	client = connection_open(socket_port(listener));
	server = accept_one(listener);
	memset(part, 'x', sizeof part);
	for (int waited_ms = 0; waited_ms < PATIENT_MS && all < 2 * MOST;) {
		if (socket_write(server, part, sizeof part, &size) == SOCKET_DONE) {
			all += size;
			waited_ms = 0;
		} else {
			system_sleep_ms(1);
			waited_ms++;
		}
	}
	print_message("  %zu bytes\n", all);
	assert_true(all > 0);
	assert_true(all <= MOST);
	connection_close(client);
	socket_close(server);
	socket_close(listener);
}

static int start(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	return sockets_start(&err) ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	sockets_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_that_does_not_read_takes_little_memory),
	};

	return cmocka_run_group_tests(tests, start, stop);
}

/* SPDX-License-Identifier: MIT */
/*
 * What a service manager hears. The manager is a socket of the test.
 */
#include "notify.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/os.h"
#include "tests/support/patience.h"
#include "tests/support/program.h"
#include "tests/support/small_recording.h"
#include "tests/support/temporary.h"

enum { ROUNDS = 10, MESSAGE_SIZE = 1024 };

static char recording[TEMPORARY_PATH_SIZE];
static char *socket_path; /* absolute */

/* Opens the socket of a manager; its name is that of NOTIFY_SOCKET. */
static int open_manager(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@') {
		address.sun_path[0] = '\0';
	} else {
		size++;
	}
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void close_manager(int fd)
{
	close(fd);
	remove(socket_path);
	unsetenv("NOTIFY_SOCKET");
}

/* Waits for the next message. */
static const char *hear(int fd)
{
	static char message[MESSAGE_SIZE];
	ssize_t size;

	do { /* a socket with a timeout ends the call when the process is stopped and goes on */
		size = recv(fd, message, sizeof message - 1, 0);
	} while (size < 0 && errno == EINTR);
	assert_true(size >= 0);
	message[size] = '\0';
	return message;
}

static void messages_arrive_at_a_path_and_at_an_abstract_name(void **state)
{
	char abstract[64];
	const char *const names[] = { socket_path, abstract };

	(void)state;
	snprintf(abstract, sizeof abstract, "@etw_exporter_test_%ld", (long)getpid());
	for (size_t i = 0; i < 2; i++) {
		int fd = open_manager(names[i]);

		notify_ready();
		assert_string_equal(hear(fd), "READY=1");
		notify_stopping();
		assert_string_equal(hear(fd), "STOPPING=1");
		close_manager(fd);
	}
}

/* systemd takes a reload for done when READY=1 comes with a time after this one. */
static void a_reload_says_when_it_began(void **state)
{
	int fd = open_manager(socket_path);
	uint64_t before = os_monotonic_ns() / 1000, began = 0;

	(void)state;
	notify_reloading();
	assert_int_equal(sscanf(hear(fd), "RELOADING=1\nMONOTONIC_USEC=%" SCNu64, &began), 1);
	assert_in_range(began, before, os_monotonic_ns() / 1000);
	notify_ready();
	assert_string_equal(hear(fd), "READY=1");
	close_manager(fd);
}

static void what_cannot_be_told_is_an_error(void **state)
{
	char longest[sizeof((struct sockaddr_un *)NULL)->sun_path + 1] = "/";
	static const char *const names[] = { "relative", "/", "@", "/none/socket", NULL };
	struct error err = { 0 };

	(void)state;
	assert_true(os_service_notify("READY=1", &err));
	setenv("NOTIFY_SOCKET", "", 1);
	assert_true(os_service_notify("READY=1", &err));
	memset(longest + 1, 'a', sizeof longest - 2);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *name = names[i] ? names[i] : longest;

		setenv("NOTIFY_SOCKET", name, 1);
		assert_false(os_service_notify("READY=1", &err));
		assert_non_null(strstr(err.text, name));
	}
	unsetenv("NOTIFY_SOCKET");
}

static void a_watchdog_is_for_the_process_that_it_names(void **state)
{
	char own[24], other[24];
	const struct {
		const char *usec, *pid;
		uint64_t ns;
	} cases[] = {
		{ NULL, NULL, 0 },
		{ "3000000", NULL, 3000000000 },
		{ "3000000", own, 3000000000 },
		{ "3000000", other, 0 },
		{ "3000000", "x", 0 },
		{ "", own, 0 },
		{ "18446744073709551615", own, UINT64_MAX },
	};

	(void)state;
	snprintf(own, sizeof own, "%ld", (long)getpid());
	snprintf(other, sizeof other, "%ld", (long)getpid() + 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		unsetenv("WATCHDOG_USEC");
		unsetenv("WATCHDOG_PID");
		if (cases[i].usec) {
			setenv("WATCHDOG_USEC", cases[i].usec, 1);
		}
		if (cases[i].pid) {
			setenv("WATCHDOG_PID", cases[i].pid, 1);
		}
		assert_int_equal(os_service_watchdog_ns(), cases[i].ns);
	}
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

/* Well within the time of the manager, and not for ever without one. */
static void beats_come_in_time(void **state)
{
	(void)state;
	assert_int_equal(heartbeat_interval_ns(0), 10000000000);
	assert_int_equal(heartbeat_interval_ns(3000000000), 1000000000);
	assert_int_equal(heartbeat_interval_ns(60000000000), 10000000000);
	assert_int_equal(heartbeat_interval_ns(UINT64_MAX), 10000000000);
	assert_int_equal(heartbeat_interval_ns(1), 10000000);
}

static void a_beat_has_the_state_of_the_runner(void **state)
{
	const char *const paths[] = { recording };
	const uint64_t records = small_recording(recording, ROUNDS);
	struct error err = { 0 };
	struct heartbeat *heartbeat;
	struct program program;
	struct text status = { 0 };
	char expected[MESSAGE_SIZE];
	int fd = open_manager(socket_path);

	(void)state;
	program_open(&program, paths, 1, false);
	notify_status(&status, program.runner);
	assert_string_equal(status.data, "Replaying 1 recording: 0 events, 0 lost");
	text_free(&status);
	assert_true(runner_run(program.runner, &err));
	setenv("WATCHDOG_USEC", "30000", 1);
	heartbeat = heartbeat_start(program.runner, &err);
	assert_non_null(heartbeat);
	snprintf(expected, sizeof expected,
		 "STATUS=Has replayed 1 recording: %" PRIu64 " events, %d lost\nWATCHDOG=1",
		 records, SMALL_LOST_EVENTS);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(hear(fd), expected);
	}
	heartbeat_stop(heartbeat);
	unsetenv("WATCHDOG_USEC");
	program_close(&program);
	close_manager(fd);
	remove(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_at_a_path_and_at_an_abstract_name),
		cmocka_unit_test(a_reload_says_when_it_began),
		cmocka_unit_test(what_cannot_be_told_is_an_error),
		cmocka_unit_test(a_watchdog_is_for_the_process_that_it_names),
		cmocka_unit_test(beats_come_in_time),
		cmocka_unit_test(a_beat_has_the_state_of_the_runner),
	};

	int failed;

	temporary_path(recording, "socket");
	socket_path = os_path_absolute(recording);
	temporary_path(recording, "etl");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(socket_path);
	return failed;
}

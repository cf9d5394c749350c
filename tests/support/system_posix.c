/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* timegm */
#include "tests/support/system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

bool system_make_folder(const char *path)
{
	return mkdir(path, 0777) == 0 || errno == EEXIST;
}

bool system_remove_folder(const char *path)
{
	return rmdir(path) == 0;
}

bool system_remove_file(const char *path)
{
	return remove(path) == 0;
}

void system_set_time_zone(const char *zone)
{
	if (zone) {
		setenv("TZ", zone, 1);
	} else {
		unsetenv("TZ");
	}
	tzset();
}

int64_t system_unix_seconds(struct tm *utc)
{
	return timegm(utc);
}

unsigned long system_process_id(void)
{
	return (unsigned long)getpid();
}

void system_sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

const int system_address_in_use = EADDRINUSE;

static connection dial(const struct sockaddr *address, socklen_t size)
{
	struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	int s = socket(address->sa_family, SOCK_STREAM, 0);

	if (s >= 0 && (setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
		       connect(s, address, size) != 0)) {
		close(s);
		return -1;
	}
	return s;
}

connection connection_open(unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return dial((const struct sockaddr *)&address, sizeof address);
}

connection connection_open_ipv6(unsigned port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_port = htons((uint16_t)port),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT };

	return dial((const struct sockaddr *)&address, sizeof address);
}

bool connection_ipv6_works(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int s = socket(AF_INET6, SOCK_STREAM, 0);
	bool works = s >= 0 && bind(s, (const struct sockaddr *)&address, sizeof address) == 0;

	if (s >= 0) {
		close(s);
	}
	return works;
}

bool connection_pair(connection pair[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	bool good;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	good = bind(listener, (const struct sockaddr *)&address, size) == 0 &&
	       listen(listener, 1) == 0 &&
	       getsockname(listener, (struct sockaddr *)&address, &size) == 0;
	pair[0] = pair[1] = -1;
	if (good) {
		pair[0] = connection_open(ntohs(address.sin_port));
		pair[1] = accept(listener, NULL, NULL);
	}
	close(listener);
	for (unsigned i = 0; i < 2; i++) {
		good = good && pair[i] >= 0 && fcntl((int)pair[i], F_SETFL, O_NONBLOCK) == 0;
	}
	return good;
}

size_t connection_send(connection c, const void *bytes, size_t size)
{
	ssize_t sent = send((int)c, bytes, size, MSG_NOSIGNAL);

	return sent > 0 ? (size_t)sent : 0;
}

/* A socket with a timeout ends the call when the process is stopped and goes on: signal(7). */
static size_t receive(connection c, void *bytes, size_t size, int flags)
{
	ssize_t got;

	do {
		got = recv((int)c, bytes, size, flags);
	} while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

size_t connection_receive(connection c, void *bytes, size_t size)
{
	return receive(c, bytes, size, 0);
}

size_t connection_peek(connection c, void *bytes, size_t size)
{
	return receive(c, bytes, size, MSG_PEEK);
}

bool connection_is_readable(connection c)
{
	struct pollfd one = { .fd = (int)c, .events = POLLIN };

	return poll(&one, 1, 0) > 0;
}

void connection_close(connection c)
{
	if (c >= 0) {
		close((int)c);
	}
}

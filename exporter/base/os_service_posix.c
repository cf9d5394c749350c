/* SPDX-License-Identifier: MIT */
/*
 * The protocol of sd_notify(3), which needs no library: one datagram to a socket of the manager.
 */
#include "base/os.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

enum { SEND_SECONDS = 5 };

/* A path, or a name that begins with '@' in place of a NUL, which has no file: unix(7). */
static bool address_of(const char *name, struct sockaddr_un *address, socklen_t *size)
{
	size_t length = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || length < 2 ||
	    length >= sizeof address->sun_path) {
		return false;
	}
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, name, length);
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	if (name[0] == '@') {
		address->sun_path[0] = '\0';
	} else {
		++*size;
	}
	return true;
}

bool os_service_notify(const char *lines, struct error *err)
{
	const struct timeval patience = { .tv_sec = SEND_SECONDS };
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t size;
	ssize_t sent = -1;
	int fd, number;

	if (!name || name[0] == '\0') {
		return true;
	}
	if (!address_of(name, &address, &size)) {
		return error_set(err, ERROR_SYSTEM, "NOTIFY_SOCKET: '%s' is no socket", name);
	}
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
		sent = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL,
			      (const struct sockaddr *)&address, size);
	}
	number = errno;
	if (fd >= 0) {
		close(fd);
	}
	return sent >= 0 ||
	       error_set(err, ERROR_SYSTEM, "NOTIFY_SOCKET: %s: %s", name, strerror(number));
}

uint64_t os_service_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t time, watched = (uint64_t)getpid();

	if ((pid && !parse_u64(pid, strlen(pid), &watched)) || watched != (uint64_t)getpid() ||
	    !usec || !parse_u64(usec, strlen(usec), &time)) {
		return 0;
	}
	return time > UINT64_MAX / 1000 ? UINT64_MAX : time * 1000;
}

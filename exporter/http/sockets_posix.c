/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* accept4(), pipe2() */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/http/sockets.h"

#include "base/os.h"

/* The most memory of the kernel that a page takes while it waits for its client; the default is
 * some MB. */
enum { UNSENT_BYTES_MAX = 256 * 1024 };

/* Raises the soft limit of descriptors. It is low by default only because of select(), which this
 * program does not call. */
bool sockets_start(struct etw_error *err)
{
	enum { DESCRIPTORS = 8192 };
	struct rlimit limit;

	(void)err;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS) {
		limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	return true;
}

void sockets_stop(void)
{
}

size_t sockets_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ?
		       (size_t)limit.rlim_cur / 2 :
		       SIZE_MAX;
}

static bool lacks_descriptors(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

bool socket_is_left(void)
{
	int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (one < 0) {
		return !lacks_descriptors();
	}
	close(one);
	return true;
}

/* ---- listening ---- */

union any_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	struct sockaddr_storage room;
};

/* Converts an address and returns its size; 0: the text is not an address. */
static socklen_t address_of(const struct listen_address *address, bool ipv6,
			    union any_address *binary)
{
	memset(binary, 0, sizeof *binary);
	if (ipv6) {
		binary->ipv6.sin6_family = AF_INET6;
		binary->ipv6.sin6_port = htons((uint16_t)address->port);
		return address->family == LISTEN_ANY || inet_pton(AF_INET6, address->host,
								  &binary->ipv6.sin6_addr) == 1 ?
			       sizeof binary->ipv6 :
			       0;
	}
	binary->ipv4.sin_family = AF_INET;
	binary->ipv4.sin_port = htons((uint16_t)address->port);
	return address->family == LISTEN_ANY ||
			       inet_pton(AF_INET, address->host, &binary->ipv4.sin_addr) == 1 ?
		       sizeof binary->ipv4 :
		       0;
}

/* Sets options that accepted sockets inherit. A socket that is not TCP refuses them, and does not
 * need them. */
static void set_for_clients(int listener)
{
	int on = 1, unsent = UNSENT_BYTES_MAX;

	(void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	(void)setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static int listen_on(const struct listen_address *address, bool ipv6, int *error_number)
{
	union any_address binary;
	socklen_t size = address_of(address, ipv6, &binary);
	int on = 1, only = address->family == LISTEN_IPV6;
	int socket_number;

	if (size == 0) {
		*error_number = 0;
		return -1;
	}
	socket_number = socket(binary.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (socket_number >= 0 &&
	    setsockopt(socket_number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
	    (!ipv6 ||
	     setsockopt(socket_number, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0) &&
	    bind(socket_number, &binary.any, size) == 0 && listen(socket_number, SOMAXCONN) == 0) {
		set_for_clients(socket_number);
		return socket_number;
	}
	*error_number = errno;
	if (socket_number >= 0) {
		close(socket_number);
	}
	return -1;
}

socket_handle socket_listen(const struct listen_address *address, int *error_number)
{
	int listener = listen_on(address, address->family != LISTEN_IPV4, error_number);

	if (listener < 0 && address->family == LISTEN_ANY &&
	    (*error_number == EAFNOSUPPORT || *error_number == EADDRNOTAVAIL)) {
		listener = listen_on(address, false, error_number);
	}
	return listener;
}

unsigned socket_port(socket_handle listener)
{
	union any_address address = { .any = { 0 } };
	socklen_t size = sizeof address;

	if (getsockname((int)listener, &address.any, &size) != 0) {
		return 0;
	}
	return address.any.sa_family == AF_INET6 ? ntohs(address.ipv6.sin6_port) :
	       address.any.sa_family == AF_INET  ? ntohs(address.ipv4.sin_port) :
						   0;
}

/* ---- connections ---- */

static void read_address(const union any_address *binary, struct client_address *address)
{
	memset(address, 0, sizeof *address);
	if (binary->any.sa_family == AF_INET6) {
		memcpy(address->bytes, &binary->ipv6.sin6_addr, 16);
	} else if (binary->any.sa_family == AF_INET) {
		address->bytes[10] = address->bytes[11] = 0xff;
		memcpy(address->bytes + 12, &binary->ipv4.sin_addr, 4);
	} else {
		address->local = true;
	}
}

enum socket_accepted socket_accept(socket_handle listener, socket_handle *client,
				   struct client_address *address)
{
	union any_address binary = { .any = { 0 } };
	socklen_t size = sizeof binary;
	int accepted = accept4((int)listener, &binary.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (accepted < 0) {
		return lacks_descriptors() ? SOCKET_NO_DESCRIPTORS : SOCKET_NO_CLIENT;
	}
	read_address(&binary, address);
	*client = accepted;
	return SOCKET_ACCEPTED;
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static enum socket_result result_of(ssize_t moved, size_t *size)
{
	if (moved > 0) {
		*size = (size_t)moved;
		return SOCKET_DONE;
	}
	return moved < 0 && would_block() ? SOCKET_WOULD_BLOCK : SOCKET_CLOSED;
}

enum socket_result socket_read(socket_handle socket, char *bytes, size_t capacity, size_t *size)
{
	return result_of(recv((int)socket, bytes, capacity, 0), size);
}

enum socket_result socket_write(socket_handle socket, const char *bytes, size_t count, size_t *size)
{
	return result_of(send((int)socket, bytes, count, MSG_NOSIGNAL), size);
}

enum socket_result socket_peek(socket_handle socket, char *byte)
{
	size_t size;

	return result_of(recv((int)socket, byte, 1, MSG_PEEK), &size);
}

static struct pollfd poll_entry(socket_handle socket, bool for_writing)
{
	return (struct pollfd){ .fd = (int)socket, .events = for_writing ? POLLOUT : POLLIN };
}

void socket_wait(socket_handle socket, bool for_writing, unsigned timeout_ms)
{
	struct pollfd one = poll_entry(socket, for_writing);

	(void)poll(&one, 1, (int)timeout_ms);
}

void socket_end_writing(socket_handle socket)
{
	(void)shutdown((int)socket, SHUT_WR);
}

void socket_close(socket_handle socket)
{
	if (socket != SOCKET_NONE) {
		close((int)socket);
	}
}

void socket_reset(socket_handle socket)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt((int)socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	socket_close(socket);
}

/* ---- waiting for many ---- */

struct socket_set {
	size_t count, capacity;
	struct pollfd sockets[];
};

struct socket_set *socket_set_new(size_t capacity)
{
	struct socket_set *set = calloc(1, sizeof *set + capacity * sizeof set->sockets[0]);

	if (set) {
		set->capacity = capacity;
	}
	return set;
}

void socket_set_free(struct socket_set *set)
{
	free(set);
}

void socket_set_clear(struct socket_set *set)
{
	set->count = 0;
}

void socket_set_add(struct socket_set *set, socket_handle socket, bool for_writing)
{
	assert(set->count < set->capacity);
	set->sockets[set->count++] = poll_entry(socket, for_writing);
}

void socket_set_wait(struct socket_set *set, unsigned timeout_ms)
{
	if (poll(set->sockets, set->count, (int)timeout_ms) <= 0) {
		for (size_t i = 0; i < set->count; i++) {
			set->sockets[i].revents = 0;
		}
	}
}

bool socket_set_ready(const struct socket_set *set, size_t index)
{
	return set->sockets[index].revents != 0;
}

struct waker {
	int ends[2]; /* of a pipe: the reading end, then the writing end */
};

struct waker *waker_new(struct etw_error *err)
{
	struct waker *waker = calloc(1, sizeof *waker);
	char reason[128];

	if (waker && pipe2(waker->ends, O_NONBLOCK | O_CLOEXEC) == 0) {
		return waker;
	}
	os_error_text(errno, reason, sizeof reason);
	free(waker);
	error_set(err, ETW_ERROR_SYSTEM, "cannot make a pipe for the web server: %s", reason);
	return NULL;
}

void waker_free(struct waker *waker)
{
	if (waker) {
		close(waker->ends[0]);
		close(waker->ends[1]);
		free(waker);
	}
}

void waker_wake(struct waker *waker)
{
	/* If the pipe is full, the write fails, but the thread is woken anyway. */
	ssize_t written = write(waker->ends[1], "", 1);

	(void)written;
}

socket_handle waker_socket(const struct waker *waker)
{
	return waker->ends[0];
}

void waker_clear(struct waker *waker)
{
	char bytes[256];

	while (read(waker->ends[0], bytes, sizeof bytes) == sizeof bytes) {
	}
}

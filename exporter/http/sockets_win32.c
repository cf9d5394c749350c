/* SPDX-License-Identifier: MIT */
#include <winsock2.h>
#include <ws2tcpip.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/http/sockets.h"

static_assert(sizeof(socket_handle) == sizeof(SOCKET), "a handle holds a SOCKET");

/*
 * The most memory of the kernel that a page takes while it waits for its client. Windows otherwise
 * makes the buffer as large as the connection seems to need ("SIO_IDEAL_SEND_BACKLOG_QUERY",
 * Microsoft Learn), and Wine uses the several MB of Linux: then 64 clients that do not read would
 * cost the time of rendering many whole pages.
 */
enum { SEND_BUFFER_BYTES = 256 * 1024 };

bool sockets_start(struct etw_error *err)
{
	WSADATA data;
	int code = WSAStartup(MAKEWORD(2, 2), &data);

	return code == 0 ||
	       error_set(err, ETW_ERROR_SYSTEM, "cannot start Winsock: error %d", code);
}

void sockets_stop(void)
{
	WSACleanup();
}

/* A process may have millions of handles, so there is no limit to respect. */
size_t sockets_limit(void)
{
	return SIZE_MAX;
}

/* Windows has no limit for each program that users would set. */
bool socket_is_left(void)
{
	return true;
}

/* ---- listening ---- */

union any_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static int address_of(const struct listen_address *address, bool ipv6, union any_address *binary)
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

static bool never_block(SOCKET socket_number)
{
	u_long on = 1;

	return ioctlsocket(socket_number, (long)FIONBIO, &on) == 0;
}

static SOCKET listen_on(const struct listen_address *address, bool ipv6, int *error_number)
{
	union any_address binary;
	int size = address_of(address, ipv6, &binary);
	DWORD on = 1, only = address->family == LISTEN_IPV6;
	int buffer = SEND_BUFFER_BYTES;
	SOCKET socket_number;

	if (size == 0) {
		*error_number = 0;
		return INVALID_SOCKET;
	}
	socket_number = WSASocketW(binary.any.sa_family, SOCK_STREAM, IPPROTO_TCP, NULL, 0,
				   WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
	/* Without exclusive use another program could take over the port ("Using SO_REUSEADDR and
	 * SO_EXCLUSIVEADDRUSE", Microsoft Learn). */
	if (socket_number != INVALID_SOCKET &&
	    setsockopt(socket_number, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on,
		       sizeof on) == 0 &&
	    (!ipv6 || setsockopt(socket_number, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&only,
				 sizeof only) == 0) &&
	    bind(socket_number, &binary.any, size) == 0 && never_block(socket_number) &&
	    listen(socket_number, SOMAXCONN) == 0) {
		/* Accepted sockets inherit these ("accept function", Microsoft Learn). */
		(void)setsockopt(socket_number, IPPROTO_TCP, TCP_NODELAY, (const char *)&on,
				 sizeof on);
		(void)setsockopt(socket_number, SOL_SOCKET, SO_KEEPALIVE, (const char *)&on,
				 sizeof on);
		(void)setsockopt(socket_number, SOL_SOCKET, SO_SNDBUF, (const char *)&buffer,
				 sizeof buffer);
		return socket_number;
	}
	*error_number = WSAGetLastError();
	if (socket_number != INVALID_SOCKET) {
		closesocket(socket_number);
	}
	return INVALID_SOCKET;
}

socket_handle socket_listen(const struct listen_address *address, int *error_number)
{
	SOCKET listener = listen_on(address, address->family != LISTEN_IPV4, error_number);

	if (listener == INVALID_SOCKET && address->family == LISTEN_ANY &&
	    (*error_number == WSAEAFNOSUPPORT || *error_number == WSAEADDRNOTAVAIL)) {
		listener = listen_on(address, false, error_number);
	}
	return (socket_handle)listener;
}

unsigned socket_port(socket_handle listener)
{
	union any_address address = { .any = { 0 } };
	int size = sizeof address;

	if (getsockname((SOCKET)listener, &address.any, &size) != 0) {
		return 0;
	}
	return address.any.sa_family == AF_INET6 ? ntohs(address.ipv6.sin6_port) :
						   ntohs(address.ipv4.sin_port);
}

/* ---- connections ---- */

enum socket_accepted socket_accept(socket_handle listener, socket_handle *client,
				   struct client_address *address)
{
	union any_address binary = { .any = { 0 } };
	int size = sizeof binary;
	SOCKET accepted = accept((SOCKET)listener, &binary.any, &size);

	if (accepted == INVALID_SOCKET) {
		int code = WSAGetLastError();

		return code == WSAEMFILE || code == WSAENOBUFS ? SOCKET_NO_DESCRIPTORS :
								 SOCKET_NO_CLIENT;
	}
	if (!never_block(accepted)) {
		closesocket(accepted);
		return SOCKET_NO_CLIENT;
	}
	memset(address, 0, sizeof *address);
	if (binary.any.sa_family == AF_INET6) {
		memcpy(address->bytes, &binary.ipv6.sin6_addr, 16);
	} else {
		address->bytes[10] = address->bytes[11] = 0xff;
		memcpy(address->bytes + 12, &binary.ipv4.sin_addr, 4);
	}
	*client = (socket_handle)accepted;
	return SOCKET_ACCEPTED;
}

static enum socket_result result_of(int moved, size_t *size)
{
	if (moved > 0) {
		*size = (size_t)moved;
		return SOCKET_DONE;
	}
	return moved < 0 && WSAGetLastError() == WSAEWOULDBLOCK ? SOCKET_WOULD_BLOCK :
								  SOCKET_CLOSED;
}

static int size_for_winsock(size_t size)
{
	return size < INT32_MAX ? (int)size : INT32_MAX;
}

enum socket_result socket_read(socket_handle socket, char *bytes, size_t capacity, size_t *size)
{
	return result_of(recv((SOCKET)socket, bytes, size_for_winsock(capacity), 0), size);
}

enum socket_result socket_write(socket_handle socket, const char *bytes, size_t count, size_t *size)
{
	return result_of(send((SOCKET)socket, bytes, size_for_winsock(count), 0), size);
}

enum socket_result socket_peek(socket_handle socket, char *byte)
{
	size_t size;

	return result_of(recv((SOCKET)socket, byte, 1, MSG_PEEK), &size);
}

static WSAPOLLFD poll_entry(socket_handle socket, bool for_writing)
{
	return (WSAPOLLFD){ .fd = (SOCKET)socket, .events = for_writing ? POLLWRNORM : POLLRDNORM };
}

void socket_wait(socket_handle socket, bool for_writing, unsigned timeout_ms)
{
	WSAPOLLFD one = poll_entry(socket, for_writing);

	(void)WSAPoll(&one, 1, (int)timeout_ms);
}

void socket_end_writing(socket_handle socket)
{
	(void)shutdown((SOCKET)socket, SD_SEND);
}

void socket_close(socket_handle socket)
{
	if (socket != SOCKET_NONE) {
		closesocket((SOCKET)socket);
	}
}

void socket_reset(socket_handle socket)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt((SOCKET)socket, SOL_SOCKET, SO_LINGER, (const char *)&none, sizeof none);
	socket_close(socket);
}

/* ---- waiting for many ---- */

struct socket_set {
	size_t count, capacity;
	WSAPOLLFD sockets[];
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
	if (WSAPoll(set->sockets, (ULONG)set->count, (int)timeout_ms) <= 0) {
		for (size_t i = 0; i < set->count; i++) {
			set->sockets[i].revents = 0;
		}
	}
}

bool socket_set_ready(const struct socket_set *set, size_t index)
{
	return set->sockets[index].revents != 0;
}

/* A datagram socket on the loopback address that sends to itself. */
struct waker {
	SOCKET socket_number;
};

struct waker *waker_new(struct etw_error *err)
{
	struct waker *waker = calloc(1, sizeof *waker);
	union any_address address = { .ipv4 = { .sin_family = AF_INET } };
	int size = sizeof address.ipv4;

	if (!waker) {
		error_no_memory(err, "the web server");
		return NULL;
	}
	address.ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	waker->socket_number = WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, NULL, 0,
					  WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
	if (waker->socket_number != INVALID_SOCKET &&
	    bind(waker->socket_number, &address.any, size) == 0 &&
	    getsockname(waker->socket_number, &address.any, &size) == 0 &&
	    connect(waker->socket_number, &address.any, size) == 0 &&
	    never_block(waker->socket_number)) {
		return waker;
	}
	error_set(err, ETW_ERROR_SYSTEM, "cannot make a socket for the web server: error %d",
		  WSAGetLastError());
	waker_free(waker);
	return NULL;
}

void waker_free(struct waker *waker)
{
	if (waker) {
		socket_close((socket_handle)waker->socket_number);
		free(waker);
	}
}

void waker_wake(struct waker *waker)
{
	/* If the buffer is full, send() fails, but the thread is woken anyway. */
	(void)send(waker->socket_number, "", 1, 0);
}

socket_handle waker_socket(const struct waker *waker)
{
	return (socket_handle)waker->socket_number;
}

void waker_clear(struct waker *waker)
{
	char byte;

	while (recv(waker->socket_number, &byte, 1, 0) > 0) {
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Makes the connections of the self-test's activity: one over the loopback for each version of IP.
 *
 * Received bytes may arrive in other pieces than they were sent in, but their sum is the same. Each
 * piece is received before the next is sent, so no buffer of the connection can fill up and block
 * the only thread.
 */
#include "selftest/activity_win32.h"

#include <string.h>
/* behind winsock2.h */
#include <ws2tcpip.h>

#include "base/os_win32.h"

enum { PIECES = 64 };

static bool fail_socket(struct etw_error *err, const char *what)
{
	SetLastError((DWORD)WSAGetLastError());
	return error_set_last(err, what);
}

/* Sends pieces in one direction, and receives each before the next. */
static bool talk(SOCKET from, SOCKET to, struct activity_network *done, struct etw_error *err)
{
	char piece[ACTIVITY_PIECE_BYTES] = { 0 };

	for (unsigned i = 0; i < PIECES; i++) {
		int sent = send(from, piece, sizeof piece, 0);

		if (sent <= 0) {
			return fail_socket(err, "the loopback connection cannot be written to");
		}
		done->sent_bytes += (uint64_t)sent;
		for (int left = sent; left > 0;) {
			int size = recv(to, piece, left, 0);

			if (size <= 0) {
				return fail_socket(err, "the loopback connection cannot be read");
			}
			done->received_bytes += (uint64_t)size;
			left -= size;
		}
	}
	return true;
}

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

/* Listens on a port of the loopback address that Windows chooses. *size: size of the address. */
static bool listen_on_loopback(SOCKET listener, int family, union address *address, int *size)
{
	memset(address, 0, sizeof *address);
	if (family == AF_INET6) {
		address->ipv6.sin6_family = AF_INET6;
		address->ipv6.sin6_addr.s6_addr[15] = 1;
		*size = sizeof address->ipv6;
	} else {
		address->ipv4.sin_family = AF_INET;
		address->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*size = sizeof address->ipv4;
	}
	return bind(listener, &address->any, *size) == 0 && listen(listener, 1) == 0 &&
	       getsockname(listener, &address->any, size) == 0;
}

static bool connect_and_talk(SOCKET listener, SOCKET client, int family,
			     struct activity_network *done, struct etw_error *err)
{
	union address address;
	SOCKET server;
	bool talked;
	int size;

	if (!listen_on_loopback(listener, family, &address, &size) ||
	    connect(client, &address.any, size) != 0) {
		return fail_socket(err, "a loopback connection cannot be made");
	}
	done->connects++;
	server = accept(listener, NULL, NULL);
	if (server == INVALID_SOCKET) {
		return fail_socket(err, "a loopback connection is not accepted");
	}
	done->accepts++;
	talked = talk(client, server, done, err);
	closesocket(server);
	return talked;
}

static bool run_connection(int family, struct activity_network *done, struct etw_error *err)
{
	WSADATA data;
	SOCKET listener, client;
	bool talked;

	if (WSAStartup(MAKEWORD(2, 2), &data) != 0) {
		return fail_socket(err, "there is no network");
	}
	listener = socket(family, SOCK_STREAM, IPPROTO_TCP);
	client = socket(family, SOCK_STREAM, IPPROTO_TCP);
	talked = connect_and_talk(listener, client, family, done, err);
	closesocket(client);
	closesocket(listener);
	WSACleanup();
	return talked;
}

bool activity_ipv4(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	(void)work;
	return run_connection(AF_INET, &done->ipv4, err);
}

bool activity_ipv6(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	(void)work;
	return run_connection(AF_INET6, &done->ipv6, err);
}

/* SPDX-License-Identifier: MIT */
#include "tests/support/system.h"

#include <limits.h>
#include <winsock2.h>
#include <ws2tcpip.h>
/* after winsock2.h */
#include <windows.h>

#include "base/os.h"

enum { PATH_SIZE = 512 };

/* False for what is no UTF-8 or too long. */
static bool widen(const char *path, wchar_t wide[PATH_SIZE])
{
	return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_SIZE) > 0;
}

bool system_make_folder(const char *path)
{
	wchar_t wide[PATH_SIZE];

	return widen(path, wide) &&
	       (CreateDirectoryW(wide, NULL) || GetLastError() == ERROR_ALREADY_EXISTS);
}

bool system_remove_folder(const char *path)
{
	wchar_t wide[PATH_SIZE];

	return widen(path, wide) && RemoveDirectoryW(wide);
}

bool system_remove_file(const char *path)
{
	wchar_t wide[PATH_SIZE];

	return widen(path, wide) && DeleteFileW(wide);
}

void system_set_time_zone(const char *zone)
{
	SetEnvironmentVariableA("TZ", zone);
	_tzset();
}

int64_t system_unix_seconds(struct tm *utc)
{
	return _mkgmtime(utc);
}

unsigned long system_process_id(void)
{
	return GetCurrentProcessId();
}

void system_sleep_ms(unsigned ms)
{
	Sleep(ms);
}

const int system_address_in_use = WSAEADDRINUSE;

static void start_sockets(void)
{
	WSADATA data;

	WSAStartup(MAKEWORD(2, 2), &data);
}

static SOCKET new_socket(int family)
{
	static struct os_once once = { OS_ONCE_INIT };

	os_once(&once, start_sockets);
	return socket(family, SOCK_STREAM, 0);
}

static connection dial(const struct sockaddr *address, int size)
{
	DWORD patience_ms = WAIT_MS;
	SOCKET s = new_socket(address->sa_family);

	if (s != INVALID_SOCKET &&
	    (setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (const char *)&patience_ms,
			sizeof patience_ms) != 0 ||
	     connect(s, address, size) != 0)) {
		closesocket(s);
		return -1;
	}
	return (connection)s; /* INVALID_SOCKET is -1 */
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
					.sin6_port = htons((uint16_t)port) };

	address.sin6_addr.s6_addr[15] = 1;
	return dial((const struct sockaddr *)&address, sizeof address);
}

bool connection_ipv6_works(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
	SOCKET s = new_socket(AF_INET6);
	bool works;

	address.sin6_addr.s6_addr[15] = 1;
	works = s != INVALID_SOCKET && bind(s, (struct sockaddr *)&address, sizeof address) == 0;
	if (s != INVALID_SOCKET) {
		closesocket(s);
	}
	return works;
}

bool connection_pair(connection pair[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int size = sizeof address;
	SOCKET listener = new_socket(AF_INET);
	u_long on = 1;
	bool good;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	good = bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
	       getsockname(listener, (struct sockaddr *)&address, &size) == 0;
	pair[0] = pair[1] = -1;
	if (good) {
		pair[0] = connection_open(ntohs(address.sin_port));
		pair[1] = (connection)accept(listener, NULL, NULL);
	}
	closesocket(listener);
	for (unsigned i = 0; i < 2; i++) {
		good = good && pair[i] != -1 &&
		       ioctlsocket((SOCKET)pair[i], (long)FIONBIO, &on) == 0;
	}
	return good;
}

size_t connection_send(connection c, const void *bytes, size_t size)
{
	int sent = send((SOCKET)c, bytes, size < INT_MAX ? (int)size : INT_MAX, 0);

	return sent > 0 ? (size_t)sent : 0;
}

size_t connection_receive(connection c, void *bytes, size_t size)
{
	int got = recv((SOCKET)c, bytes, size < INT_MAX ? (int)size : INT_MAX, 0);

	return got > 0 ? (size_t)got : 0;
}

size_t connection_peek(connection c, void *bytes, size_t size)
{
	int got = recv((SOCKET)c, bytes, size < INT_MAX ? (int)size : INT_MAX, MSG_PEEK);

	return got > 0 ? (size_t)got : 0;
}

bool connection_is_readable(connection c)
{
	WSAPOLLFD one = { .fd = (SOCKET)c, .events = POLLRDNORM };

	return WSAPoll(&one, 1, 0) > 0;
}

void connection_close(connection c)
{
	if (c != -1) {
		closesocket((SOCKET)c);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Addresses of clients, the ranges of them that may connect, and addresses of servers.
 */
#ifndef BASE_CLIENT_ADDRESS_H
#define BASE_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* IPv4 is always stored as ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2), also if the socket was an
 * IPv4 one. */
struct client_address {
	uint8_t bytes[16];
	bool local; /* the client uses an AF_UNIX socket, which has no address */
};

enum { CLIENT_ADDRESS_TEXT_SIZE = 48 };

/* Writes the address like "127.0.0.1" or "2001:db8:0:0:0:0:0:1", or "local" for an AF_UNIX socket.
 */
void client_address_text(const struct client_address *address, char text[CLIENT_ADDRESS_TEXT_SIZE]);

/* Returns whether limits count both as one client: they have the same IPv4 address, or are in the
 * same /64 of IPv6, because one machine usually gets a whole /64. */
bool client_address_alike(const struct client_address *a, const struct client_address *b);

/* All addresses that have the same first bits. */
struct address_range {
	uint8_t bytes[16];
	unsigned bits; /* 0 to 128 */
};

/* Parses "10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1"; returns false for other texts, and if
 * bits after the prefix are set. */
bool address_range_parse(const char *text, struct address_range *range);
bool address_range_contains(const struct address_range *range,
			    const struct client_address *address);

/* ---- addresses to listen on ---- */

/*
 * An address that a server listens on: ":9189", "127.0.0.1:9189", "[::1]:9189", "localhost:9189".
 */

struct listen_address {
	enum { LISTEN_ANY, LISTEN_IPV4, LISTEN_IPV6 } family;
	char host[48]; /* empty for LISTEN_ANY; without brackets */
	unsigned port; /* 0: the system chooses one */
};

/*
 * Parses an address. Returns false, and leaves *address unchanged, if text is no such address. The
 * host is a number or "localhost", because resolving other names would need the network. Only the
 * characters of an IPv6 address are checked; the system refuses a wrong one when it is bound.
 */
bool listen_address_parse(const char *text, struct listen_address *address);

#endif

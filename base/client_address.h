/* SPDX-License-Identifier: MIT */
/*
 * Addresses of clients, and the ranges of them that may connect.
 */
#ifndef BASE_CLIENT_ADDRESS_H
#define BASE_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* IPv4 is ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2), however the client was accepted. */
struct client_address {
	uint8_t bytes[16];
	bool local; /* a socket of this machine without an address (AF_UNIX) */
};

enum { CLIENT_ADDRESS_TEXT_SIZE = 48 };

/* As in "127.0.0.1" and "2001:db8:0:0:0:0:0:1". */
void client_address_text(const struct client_address *address, char text[CLIENT_ADDRESS_TEXT_SIZE]);

/* Whether limits count them as one client: the same IPv4 address, or the same /64 of IPv6, since a
 * machine is usually given as many addresses. */
bool client_address_alike(const struct client_address *a, const struct client_address *b);

/* Addresses with the same first bits. */
struct address_range {
	uint8_t bytes[16];
	unsigned bits; /* 0 to 128 */
};

/* Parses "10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1"; false for other texts, and for bits
 * that are set behind the prefix. */
bool address_range_parse(const char *text, struct address_range *range);
bool address_range_contains(const struct address_range *range,
			    const struct client_address *address);

#endif

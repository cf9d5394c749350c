/* SPDX-License-Identifier: MIT */
/*
 * An address that a server listens on: ":9189", "127.0.0.1:9189", "[::1]:9189", "localhost:9189".
 */
#ifndef CONFIG_LISTEN_ADDRESS_H
#define CONFIG_LISTEN_ADDRESS_H

#include <stdbool.h>

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

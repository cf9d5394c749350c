/* SPDX-License-Identifier: MIT */
/*
 * Where the web server listens: ":9189", "127.0.0.1:9189", "[::1]:9189", "localhost:9189".
 */
#ifndef EXPORTER_HTTP_ADDRESS_H
#define EXPORTER_HTTP_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"

struct http_address {
	enum { HTTP_ADDRESS_ANY, HTTP_ADDRESS_IPV4, HTTP_ADDRESS_IPV6 } type;
	char host[48];
	unsigned port;
};

/* Other names than localhost are refused. Whether an IPv6 address is one shows when it is bound. */
bool http_address_parse(const char *text, struct http_address *address, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The web server: /metrics, the landing page, health and readiness.
 *
 * There is no document root: every URI is answered by our own handler (CVE-2025-55763 is in
 * civetweb's directory code), so nothing of the file system can be reached.
 */
#ifndef EXPORTER_HTTP_H
#define EXPORTER_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "metrics/registry.h"

struct http_options {
	/* ":9189" (IPv6 too where there is any), "127.0.0.1:0", "[::1]:9189", "localhost:9189"; at
	 * most 16 */
	const char *const *listen_addresses;
	size_t listen_address_count;
	const char *telemetry_path;   /* "/metrics"; starts with a slash */
	bool (*ready)(void *context); /* any thread; false answers /-/ready with 503; NULL: always
					 ready */
	void *ready_context;
	/* Adds what the program says about itself to the landing page, as HTML. Any thread; NULL:
	 * nothing. */
	void (*add_state)(void *context, struct text *html);
	void *state_context;
};

struct http_server; /* opaque */

/* Starts listening; the registry stays the caller's and must outlive the server. Adds the
 * etw_exporter_scrape* families to it. */
struct http_server *http_start(const struct http_options *options, struct registry *registry,
			       struct error *err);

/* The port of listen address i (for ":0", the one the system gave). */
unsigned http_port(const struct http_server *server, size_t index);

/* Stops listening, cuts off requests under way (within some 0.3 s) and frees. NULL is fine. */
void http_stop(struct http_server *server);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The web server: /metrics, the landing page and the other pages.
 *
 * There is no document root: every URI is answered by our own handler (CVE-2025-55763 is in
 * civetweb's directory code, which is not compiled), so nothing of the file system can be reached.
 */
#ifndef EXPORTER_HTTP_H
#define EXPORTER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "metrics/registry.h"

struct web_config;
/*
 * Shows a collector to a visitor, for collect[] and exclude[]: once for its name, with family NULL,
 * and once for each family that it adds to, if it is on. A family may come more than once.
 */
typedef void scrape_collector_visit(void *visitor, const char *collector, bool on,
				    const struct family *family);

enum http_recording { HTTP_RECORDING_WRITTEN, HTTP_RECORDING_FAILED, HTTP_RECORDING_REFUSED };

struct http_options {
	/* ":9189" (IPv6 too where there is any), "127.0.0.1:0", "[::1]:9189", "localhost:9189"; at
	 * most 16 */
	const char *const *listen_addresses;
	size_t listen_address_count;
	/* The addresses that may connect, as in "10.0.0.0/8"; none: all. */
	const char *const *allowed;
	size_t allowed_count;
	const char *telemetry_path;   /* "/metrics"; behind the route prefix */
	bool (*ready)(void *context); /* any thread; false answers /-/ready with 503; NULL: always
					 ready */
	void *ready_context;
	/* ---- what the landing page says about the program, as HTML; any thread ---- */
	/* Its sources and their losses; NULL: nothing. */
	void (*add_state)(void *context, struct etw_text *html);
	/* Its collectors; metrics is the address of the metrics page in links. NULL: nothing. */
	void (*add_collectors)(void *context, const char *metrics, struct etw_text *html);
	void *state_context; /* of both */

	/* ---- addresses: see exporter/http/web_paths.h ---- */
	const char *external_url; /* NULL or "": none */
	const char *route_prefix; /* NULL or "": the path of the external URL */

	/* ---- scrapes ---- */
	/* Shows every collector, on or off. Any thread; NULL: there are none. */
	void (*collectors)(void *context, scrape_collector_visit *visit, void *visitor);
	void *collectors_context;
	bool disable_exporter_metrics; /* see exporter/http/collect.h */
	/* At the same time; one more waits while the slowest client is cut off, and gets 503 after
	 * 5 seconds. 0: as many as there are threads, less those kept for other pages. */
	uint64_t max_scrapes;
	/* A scrape ends so long before the time when its client gives up, as the client says. */
	uint64_t timeout_offset_ns;
	bool no_created; /* leaves out the samples _created of OpenMetrics */

	/* ---- POST /-/reload and /-/quit ---- */
	bool enable_lifecycle; /* otherwise both are refused */
	/* Requests the end of the program; returns at once. Any thread; NULL: it cannot. */
	void (*quit)(void *context);
	void *quit_context;
	/* Reads the configuration again. Any thread; returns when the new one is in force, or
	 * false with all that is wrong with it. NULL: the program cannot reload. */
	bool (*reload)(void *context, struct etw_error *err);
	void *reload_context;

	/* ---- POST /-/record, with enable_lifecycle ---- */
	/* Has a recording written and waits for it; answer: its path, or why there is none. Any
	 * thread; NULL: there is no flight recorder. */
	enum http_recording (*record)(void *context, struct etw_text *answer);
	void *record_context;

	/* TLS, users and headers (exporter/http/web_config.h). It stays the caller's and must
	 * outlive the server; NULL: none. */
	struct web_config *web;
};

struct http_server; /* opaque */

/* Starts listening; the registry stays the caller's and must outlive the server. Adds the
 * etw_exporter_scrape* families to it. */
struct http_server *http_start(const struct http_options *options, struct registry *registry,
			       struct etw_error *err);

/* The port of listener i (for ":0", the one the system gave). */
unsigned http_port(const struct http_server *server, size_t index);

/* Stops listening, cuts off requests under way (within some 0.3 s) and frees. NULL is fine. */
void http_stop(struct http_server *server);

#endif

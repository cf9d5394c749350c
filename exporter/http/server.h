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
 * Shows a collector to a visitor, for collect[] and exclude[]. It is called once with the
 * collector's name and family NULL. If the collector is on, it is also called once for each family
 * that the collector adds to; a family may come more than once.
 */
typedef void scrape_collector_visit(void *visitor, const char *collector, bool on,
				    const struct family *family);

enum http_recording { HTTP_RECORDING_WRITTEN, HTTP_RECORDING_FAILED, HTTP_RECORDING_REFUSED };

struct http_options {
	/* For example ":9189" (all addresses, IPv6 too if the system has it), "127.0.0.1:0",
	 * "[::1]:9189" or "localhost:9189"; at most 16. */
	const char *const *listen_addresses;
	size_t listen_address_count;
	/* The address ranges that may connect, such as "10.0.0.0/8". Without any, all may. */
	const char *const *allowed;
	size_t allowed_count;
	const char *telemetry_path;   /* "/metrics"; after the route prefix */
	bool (*ready)(void *context); /* runs on any thread; if it returns false, /-/ready has
					 status 503; NULL: always ready */
	void *ready_context;
	/* ---- parts of the landing page; these run on any thread ---- */
	/* Adds the sources and their losses as HTML; NULL: the page does not show them. */
	void (*add_state)(void *context, struct etw_text *html);
	/* Adds the collectors as HTML; metrics is the address of the metrics page for links. NULL:
	 * the page does not show them. */
	void (*add_collectors)(void *context, const char *metrics, struct etw_text *html);
	/* Adds what the chart shows, as JSON; NULL: the page has no chart. */
	void (*add_history)(void *context, struct etw_text *json);
	void *state_context; /* passed to these functions */

	/* ---- addresses: see exporter/http/server_internal.h ---- */
	const char *external_url; /* NULL or "": none */
	const char *route_prefix; /* NULL or "": the path of external_url */

	/* ---- scrapes ---- */
	/* Shows every collector, on or off, to visit(). Runs on any thread; NULL: there are no
	 * collectors. */
	void (*collectors)(void *context, scrape_collector_visit *visit, void *visitor);
	void *collectors_context;
	bool disable_exporter_metrics; /* see exporter/http/negotiate.h */
	/* The most scrapes at the same time, up to 72. A further one waits while the slowest client
	 * is cut off, and gets 503 after 5 seconds. 0: twice as many as there are processors, and
	 * besides those whose clients read slowly, 72 in all. */
	uint64_t max_scrapes;
	/* A scrape ends this long before its client gives up, by the time limit that the client
	 * sends. */
	uint64_t timeout_offset_ns;
	bool created; /* adds the samples _created to OpenMetrics */

	/* ---- POST /-/reload and /-/quit ---- */
	bool enable_lifecycle; /* false: these requests are refused */
	/* Requests the end of the program and returns at once. Runs on any thread; NULL: the
	 * program cannot be ended so. */
	void (*quit)(void *context);
	void *quit_context;
	/* Reads the configuration again, and returns when it is in force, or returns false with its
	 * problems in err. Runs on any thread; NULL: the program cannot reload. */
	bool (*reload)(void *context, struct etw_error *err);
	void *reload_context;

	/* ---- POST /-/record, with enable_lifecycle ---- */
	/* Has a recording written and waits for it; answer gets its path, or the reason why there
	 * is none. Runs on any thread; NULL: there is no flight recorder. */
	enum http_recording (*record)(void *context, struct etw_text *answer);
	void *record_context;

	/* TLS, users and headers (exporter/http/web_config.h); borrowed until http_stop(). NULL:
	 * none. */
	struct web_config *web;
};

struct http_server; /* opaque */

/* Returns whether the addresses can be listened on now; nothing stays open. */
bool http_check_listen(const char *const *addresses, size_t count, struct etw_error *err);

/* Starts the server. The registry is borrowed until http_stop(); the etw_exporter_scrape* families
 * are added to it. */
struct http_server *http_start(const struct http_options *options, struct registry *registry,
			       struct etw_error *err);

/* Returns the port of listener `index` (for ":0", the port that the system chose). */
unsigned http_port(const struct http_server *server, size_t index);

/* Stops listening, cuts off requests under way (within about 0.3 s) and frees the server. NULL is
 * fine. */
void http_stop(struct http_server *server);

#endif

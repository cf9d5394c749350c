/* SPDX-License-Identifier: MIT */
/*
 * The families about ourselves: sessions, consumers, decoder, trackers, the replay, the program,
 * its process and its scrapes (docs/metrics.md).
 *
 * They are read from statistics at each scrape: a hook of the registry sets them just before the
 * page is rendered.
 */
#ifndef EXPORTER_HEALTH_H
#define EXPORTER_HEALTH_H

#include <stdbool.h>

#include "base/error.h"
#include "metrics/registry.h"

struct setup;
struct runner;
struct health; /* opaque */

/*
 * Registers the families that such a runner has, and a hook that sets them before each scrape.
 * Everything is borrowed until health_free(), which comes after the last scrape.
 */
struct health *health_new(const struct setup *setup, struct runner *runner, struct etw_error *err);
void health_free(struct health *health);

/* A reload has put another set-up in force, in place of the one so far, which is borrowed until
 * this call; or it has failed. Any thread. */
void health_reloaded(struct health *health, const struct setup *next);
void health_reload_failed(struct health *health);

/* The families about the web server, which it adds to itself: scrapes, with a counter by HTTP
 * status, a histogram in nanoseconds, a gauge in bytes; connections, with a gauge and a counter by
 * reason. */
enum scrape_family {
	SCRAPE_COUNT,
	SCRAPE_DURATION,
	SCRAPE_SIZE,
	CONNECTIONS_OPEN,
	CONNECTIONS_CLOSED,
	SCRAPE_FAMILIES
};

bool scrape_families(struct registry *registry, struct family *families[SCRAPE_FAMILIES],
		     struct etw_error *err);

/* The families about the web configuration: authentication, TLS, the file
 * (exporter/http/web_config.h). */
enum web_family {
	WEB_AUTH_FAILURES,
	WEB_RATE_LIMITED,
	WEB_TLS_FAILURES,
	WEB_CERTIFICATE_END, /* Unix time in seconds */
	WEB_READ,
	WEB_READ_TIME, /* Unix time in nanoseconds */
	WEB_FAMILIES,
};

bool web_families(struct registry *registry, struct family *families[WEB_FAMILIES],
		  struct etw_error *err);

/* Registers all families that the program always has, for a list of them: those above, of replays
 * and of live sessions, and those of consumers. */
bool health_declare(struct registry *registry, struct etw_error *err);

#endif

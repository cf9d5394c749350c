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
 * Registers the families that a runner of this type (replay or live) has, and a hook that sets them
 * before each scrape. Borrows all arguments until health_free(), which the caller calls after the
 * last scrape.
 */
struct health *health_new(const struct setup *setup, struct runner *runner, struct etw_error *err);
void health_free(struct health *health);

/* Report the result of a reload: `next` is in force and is borrowed from now on in place of the
 * former set-up, or the reload failed and nothing changed. Any thread may call them. */
void health_reloaded(struct health *health, const struct setup *next);
void health_reload_failed(struct health *health);

/* The families about the web server, whose samples the web server itself updates. Scrapes: a
 * counter by HTTP status, a histogram in nanoseconds, a gauge in bytes. Connections: a gauge of
 * open ones, a counter of closed ones by reason. */
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

/* Registers every family that the program can have without a collector, so that a tool can list
 * them: the families above, those of replays and of live sessions, and those of consumers. */
bool health_declare(struct registry *registry, struct etw_error *err);

#endif

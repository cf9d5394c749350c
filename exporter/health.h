/* SPDX-License-Identifier: MIT */
/*
 * The families about ourselves: sessions, consumers, decoder, trackers, the replay, the program,
 * its process (docs/metrics.md).
 *
 * They are read from statistics when somebody scrapes: a hook of the registry sets them just before
 * the page is rendered.
 */
#ifndef EXPORTER_HEALTH_H
#define EXPORTER_HEALTH_H

#include <stdbool.h>

#include "base/error.h"
#include "live.h"
#include "metrics/registry.h"
#include "replay.h"
#include "rules/rules.h"

struct health; /* opaque */

/* Registers the families and the hook. Everything is borrowed until health_free(), which comes
 * after the last scrape. */
struct health *health_new(struct registry *registry, struct replay *replay,
			  const struct rule_set *rules, struct error *err);

/* The same for live sessions. */
struct health *health_new_live(struct registry *registry, struct live_runner *live,
			       const struct rule_set *rules, struct error *err);
void health_free(struct health *health);

/* Only registers the families, those of replays and of live sessions: for a list of them. */
bool health_declare(struct registry *registry, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Writes the sections of the landing page about a run: its losses, its sources and its collectors.
 */
#ifndef EXPORTER_LANDING_H
#define EXPORTER_LANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "metrics/registry.h"

struct rule_set;
struct runner;
struct setup;

/* The functions add sections of the page as HTML. Any thread may call them. */

/* config_file: NULL for the built-in configuration. */
void landing_add_state(struct etw_text *html, const struct setup *setup, struct runner *runner,
		       const char *config_file);

/* Sums over all sources. */
struct landing_losses {
	bool live;
	size_t sources, up; /* sources in all, and those that run now */
	uint64_t events;
	uint64_t buffers; /* lost buffers; how many events they held is unknown */
	uint64_t damaged; /* buffers and records that were skipped */
};

/* Adds the sentences about losses, with which landing_add_state() begins. */
void landing_add_losses(struct etw_text *html, const struct landing_losses *losses);

/* Adds the list of collectors. metrics: the address of the metrics page, which the links use. */
void landing_add_collectors(struct etw_text *html, const struct rule_set *rules,
			    const char *metrics);

/* ---- the chart of the busiest processes ---- */

/*
 * What the busiest processes did in the last five minutes, for the chart of the landing page. The
 * memory is allocated once; its size does not depend on the number of processes.
 */

struct history; /* opaque */

/* The time between two steps, and the number of steps that are kept. */
#define HISTORY_STEP_NS UINT64_C(5000000000)
enum { HISTORY_STEPS = 60 };

/* The registry is borrowed until history_free(). */
struct history *history_new(struct registry *registry, struct etw_error *err);
void history_free(struct history *history); /* NULL is fine */

/* Reads the counters (metrics/visit.h) and adds a step; the first call only reads them. now_ns:
 * os_monotonic_ns(). One thread at a time may call it. Without memory for it no step is added, and
 * the next one is longer. */
void history_step(struct history *history, uint64_t now_ns);

/*
 * Adds the steps as JSON. Any thread may call it.
 *
 *	ages_ms: for each step, oldest first, how long before the newest it ended
 *	measures: those whose families are on the metrics page
 *		id, title, note: words
 *		unit: "bytes", "seconds" (of CPU time) or "samples"; numbers are integers of
 *			unit / 10^decimals
 *		processes: the busiest of all steps first; total: since the exporter started;
 *			window: in all steps; rates: per second, one for each step; null: unknown
 */
void history_add_json(struct history *history, struct etw_text *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Writes the sections of the landing page about a run: its losses, its sources and its collectors.
 */
#ifndef EXPORTER_LANDING_H
#define EXPORTER_LANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

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

#endif

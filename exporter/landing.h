/* SPDX-License-Identifier: MIT */
/*
 * What the landing page says about a run: its losses, its sources and its collectors.
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

/* Both add sections of the page as HTML. Any thread. */

/* config_file: NULL for the built-in configuration. */
void landing_add_state(struct etw_text *html, const struct setup *setup, struct runner *runner,
		       const char *config_file);

/* Of all sources together. */
struct landing_losses {
	bool live;
	size_t sources, up; /* how many there are, and run */
	uint64_t events;
	uint64_t buffers; /* of which it is not known how many events they had */
	uint64_t damaged; /* buffers and records that were skipped */
};

/* The sentences about them, which landing_add_state() begins with. */
void landing_add_losses(struct etw_text *html, const struct landing_losses *losses);

/* metrics: the address of the metrics page, for links. */
void landing_add_collectors(struct etw_text *html, const struct rule_set *rules,
			    const char *metrics);

#endif

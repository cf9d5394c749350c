/* SPDX-License-Identifier: MIT */
/*
 * What the landing page says about a run: its losses, its sources and its collectors.
 */
#ifndef EXPORTER_LANDING_H
#define EXPORTER_LANDING_H

#include "base/text.h"

struct rule_set;
struct runner;
struct setup;

/* Both add sections of the page as HTML. Any thread. */

/* config_file: NULL for the built-in configuration. */
void landing_add_state(struct text *html, const struct setup *setup, struct runner *runner,
		       const char *config_file);

/* metrics: the address of the metrics page, for links. */
void landing_add_collectors(struct text *html, const struct rule_set *rules, const char *metrics);

#endif

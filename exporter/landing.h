/* SPDX-License-Identifier: MIT */
/*
 * What the landing page says about a run: its sessions and what they lost, and its collectors.
 */
#ifndef EXPORTER_LANDING_H
#define EXPORTER_LANDING_H

#include "base/text.h"

struct runner;
struct setup;

/* Adds the part of the page as HTML. config_file: NULL for the built-in configuration. Any thread.
 */
void landing_add(struct text *html, const struct setup *setup, struct runner *runner,
		 const char *config_file);

#endif

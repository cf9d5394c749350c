/* SPDX-License-Identifier: MIT */
/*
 * The program around one exposition, set up as main.c does it, for tests that look at the whole
 * from inside.
 *
 * For the thread of the test; a failure ends it.
 */
#ifndef SUPPORT_WIRING_H
#define SUPPORT_WIRING_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "health.h"
#include "runner.h"
#include "setup.h"

struct wiring {
	struct setup setup;
	struct runner *runner;
	struct health *health;
};

/* A configuration from YAML; NULL: the built-in one. */
struct config *config_of(const char *text);

/* Sets up and opens the recordings with the default collectors and no manifests; speed 0. */
void wiring_open(struct wiring *wiring, const char *const *paths, size_t count, bool loop);

/* The same in two steps: the set-up, with the options of setup_open(), … */
void wiring_set_up(struct wiring *wiring, const char *config, const struct setup_options *options);
/* … and what is run; the set-up of the options is that of wiring. */
void wiring_run(struct wiring *wiring, struct runner_options options);

/* What does not run any more. */
void wiring_close(struct wiring *wiring);

/* The exposition, to be freed with text_free(). */
struct text wiring_page(struct wiring *wiring);

/* The value of a line that begins with name_and_labels, or the sum of a family given by its bare
 * name; UINT64_MAX when there is none. */
uint64_t page_value(const struct text *page, const char *name_and_labels);

#endif

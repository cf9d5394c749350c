/* SPDX-License-Identifier: MIT */
/*
 * Registry, rules, replay and health wired up as main.c does, for tests that look at the whole from
 * inside.
 */
#ifndef SUPPORT_WIRING_H
#define SUPPORT_WIRING_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "config/config.h"
#include "health.h"
#include "metrics/registry.h"
#include "replay.h"
#include "rules/rules.h"

struct wiring {
	struct config *config;
	struct registry *registry;
	struct rule_set *rules;
	struct replay *replay;
	struct health *health;
};

/* Opens the recordings with the default collectors; speed 0. Ends the test on failure. */
void wiring_open(struct wiring *wiring, const char *const *paths, size_t count, bool loop);
void wiring_close(struct wiring *wiring);

/* The exposition, to be freed with text_free(). */
struct text wiring_page(struct wiring *wiring);

/* The value of a line that begins with name_and_labels, or the sum of a family given by its bare
 * name; UINT64_MAX when there is none. */
uint64_t page_value(const struct text *page, const char *name_and_labels);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The state gauges: families that trackers set without rules, if their collector is on
 * (docs/rules.md, "State gauges").
 */
#ifndef TRACK_STATE_GAUGES_H
#define TRACK_STATE_GAUGES_H

#include <stdbool.h>

#include "metrics/registry.h"

struct state_gauge {
	const char *family;
	const char *collector;
	const char *events;  /* the events that set it, for a list of metrics */
	bool without_kernel; /* providers also set it when no session has kernel events */
};

/* All state gauges; the row after the last one has no family. */
extern const struct state_gauge state_gauges[];

/* Whether the collector has a state gauge that is set without kernel events. */
bool state_gauges_without_kernel(const char *collector);

/* Whether a state gauge of the collector has a series. */
bool state_gauges_have_series(struct registry *registry, const char *collector);

#endif

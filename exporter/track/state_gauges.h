/* SPDX-License-Identifier: MIT */
/*
 * The state gauges: families that trackers set without rules, while the collector that they belong
 * to is on (docs/rules.md, "State gauges").
 */
#ifndef TRACK_STATE_GAUGES_H
#define TRACK_STATE_GAUGES_H

#include <stdbool.h>

#include "metrics/registry.h"

struct state_gauge {
	const char *family;
	const char *collector;
	const char *events;  /* that they come from, for a list of metrics */
	bool without_kernel; /* providers report it too, where no session has kernel events */
};

/* The last has no family. */
extern const struct state_gauge state_gauges[];

/* Whether one of those of the collector is set where no session has kernel events. */
bool state_gauges_without_kernel(const char *collector);

/* Whether one of those of the collector has a series. */
bool state_gauges_have_series(struct registry *registry, const char *collector);

#endif

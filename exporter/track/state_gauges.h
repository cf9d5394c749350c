/* SPDX-License-Identifier: MIT */
/*
 * The state gauges: families that trackers set without rules, while the collector that they belong
 * to is on (docs/rules.md, "State gauges").
 */
#ifndef TRACK_STATE_GAUGES_H
#define TRACK_STATE_GAUGES_H

struct state_gauge {
	const char *family;
	const char *collector;
	const char *events; /* that they come from, for a list of metrics */
};

/* The last has no family. */
extern const struct state_gauge state_gauges[];

#endif

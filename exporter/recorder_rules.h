/* SPDX-License-Identifier: MIT */
/*
 * Whether the rules of the flight recorder (`recorder: on`) can fire.
 */
#ifndef EXPORTER_RECORDER_RULES_H
#define EXPORTER_RECORDER_RULES_H

#include "exporter/setup.h"

/*
 * Warns, at their places, of rules whose family the metrics page will not have, or whose labels the
 * family does not have. Warnings, not errors: an exporter that does not start because a metric was
 * renamed would measure nothing at all.
 */
void recorder_rules_warn(const struct setup *setup);

#endif

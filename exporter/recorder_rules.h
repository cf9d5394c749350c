/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the rules of the flight recorder (`recorder: on`) can fire.
 */
#ifndef EXPORTER_RECORDER_RULES_H
#define EXPORTER_RECORDER_RULES_H

#include "exporter/setup.h"

/*
 * Logs a warning, with its place in the configuration, for each rule whose family the metrics page
 * will not have, or whose labels the family does not have. These are warnings and no errors: an
 * exporter that does not start because a metric was renamed would measure nothing at all.
 */
void recorder_rules_warn(const struct setup *setup);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A rule set of one collector, from text: what tests of the rules' language need.
 */
#ifndef SUPPORT_ONE_COLLECTOR_H
#define SUPPORT_ONE_COLLECTOR_H

#include "exporter/rules/language/rule_set.h"
#include "metrics/registry.h"

/* The collector is called x and stands in x.yaml; it is always on. */
struct rule_set *one_collector(const char *text, const struct config *config,
			       struct registry *registry, struct etw_error *err);

/* The same in place of a rule set that is in use: its families are prepared and not shown. */
struct rule_set *next_collector(const char *text, const struct config *config,
				struct registry *registry, struct etw_error *err);

/* The same of several, x, y, z in this order; NULL texts are left out. */
struct rule_set *three_collectors(const char *const texts[3], const struct config *config,
				  struct registry *registry, struct etw_error *err);

#endif

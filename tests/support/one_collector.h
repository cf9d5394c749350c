/* SPDX-License-Identifier: MIT */
/*
 * Makes rule sets from the text of collectors, for tests of the rules' language.
 */
#ifndef SUPPORT_ONE_COLLECTOR_H
#define SUPPORT_ONE_COLLECTOR_H

#include "exporter/rules/language/rule_set.h"
#include "metrics/registry.h"

/* Makes a rule set of one collector, which is named x, has the file name x.yaml, and is on. */
struct rule_set *one_collector(const char *text, const struct config *config,
			       struct registry *registry, struct etw_error *err);

/* Does the same for a rule set that will replace one in use: its families are prepared but not
 * shown. */
struct rule_set *next_collector(const char *text, const struct config *config,
				struct registry *registry, struct etw_error *err);

/* Does the same for the collectors x, y and z, in this order; those with text NULL are left out. */
struct rule_set *three_collectors(const char *const texts[3], const struct config *config,
				  struct registry *registry, struct etw_error *err);

#endif

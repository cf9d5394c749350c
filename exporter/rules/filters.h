/* SPDX-License-Identifier: MIT */
/*
 * What the configuration takes out before any counter: processes by name, kinds of events.
 */
#ifndef RULES_FILTERS_H
#define RULES_FILTERS_H

#include "base/intern.h"
#include "rules/rule_set.h"

/* Whether the names of processes matter at all, and whether this one stays. */
bool filters_look_at_processes(const struct rule_set *set);
bool filters_keep_process(const struct rule_set *set, struct regex_matcher *matcher,
			  const char *name, size_t size);

bool filters_drop_event(const struct rule_set *set, const struct event_class *class);

#endif

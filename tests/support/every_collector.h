/* SPDX-License-Identifier: MIT */
/*
 * The shipped collectors, all of them on.
 */
#ifndef SUPPORT_EVERY_COLLECTOR_H
#define SUPPORT_EVERY_COLLECTOR_H

#include "config/config.h"
#include "metrics/registry.h"
#include "rules/rules.h"

/* Ends the test when the rules are refused. To be freed with rule_set_free(). */
struct rule_set *every_collector(const struct config *config, struct registry *registry);

#endif

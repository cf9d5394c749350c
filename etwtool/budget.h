/* SPDX-License-Identifier: MIT */
/*
 * Reports what the families of a configuration cost, on one host and at a Prometheus server that
 * scrapes many such hosts (etwtool check CONFIG --with FILE --hosts N).
 */
#ifndef ETWTOOL_BUDGET_H
#define ETWTOOL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "exporter/rules/rules.h"
#include "metrics/registry.h"

struct budget_input {
	const char *config, *recording; /* file names, which the report shows */
	struct registry *registry;      /* after the replay */
	const struct dry_run *dry_run;
	uint64_t hosts;
	uint64_t records;
	uint64_t duration_100ns; /* event time from the first record to the last */
	uint64_t cpu_ns;         /* processor time that the replay took */
};

/* Adds the report to out, as columns of text or as a JSON object. */
void add_budget(struct etw_text *out, const struct budget_input *input, bool as_json);

#endif

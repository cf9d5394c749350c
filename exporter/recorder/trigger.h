/* SPDX-License-Identifier: MIT */
/*
 * Triggers decide when the flight recorder writes a recording without a request: they evaluate
 * rules about values of the metrics page. One thread uses them.
 */
#ifndef RECORDER_TRIGGER_H
#define RECORDER_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "metrics/registry.h"

struct triggers; /* opaque */

/* Copies the rules. */
struct triggers *triggers_new(const struct config_recorder *recorder, struct etw_error *err);
void triggers_free(struct triggers *triggers); /* NULL is fine */

/*
 * Evaluates the rules on the present values. now_ns: of os_monotonic_ns(). Returns the series of
 * the first rule that fires now, valid until triggers_free(), or NULL. A rule fires once, and again
 * only after its value has not been above the limit.
 */
const char *triggers_evaluate(struct triggers *triggers, struct registry *registry,
			      uint64_t now_ns);

/* ---- one rule, for tests ---- */

struct trigger_state {
	bool seen;  /* there is a former value */
	bool fired; /* it has fired since the value rose above the limit */
	bool is_above;
	double former; /* the former sum, for counters */
	uint64_t former_ns;
	uint64_t since_ns; /* since when the value is above the limit */
};

/* Returns whether a rule fires. value: the sum over its series. rising: the value is a count, of
 * which the increase per second is compared. */
bool trigger_step(struct trigger_state *state, const struct config_recorder_rule *rule,
		  double value, bool rising, uint64_t now_ns);

#endif

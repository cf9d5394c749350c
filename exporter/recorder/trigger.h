/* SPDX-License-Identifier: MIT */
/*
 * When the flight recorder writes a recording without being requested: rules about values of the
 * metrics page. One thread.
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

/* The rules are copied. */
struct triggers *triggers_new(const struct config_recorder *recorder, struct etw_error *err);
void triggers_free(struct triggers *triggers); /* NULL is fine */

/*
 * Looks at the values at a time of os_monotonic_ns(). Returns the series of the first rule that
 * fires now, valid until triggers_free(); NULL: none does. A rule fires once, and again only when
 * its value was not above the limit in between.
 */
const char *triggers_look(struct triggers *triggers, struct registry *registry, uint64_t now_ns);

/* ---- one rule, for tests ---- */

struct trigger_state {
	bool seen;  /* there is a value before */
	bool fired; /* since it is above the limit */
	bool is_above;
	double former; /* of a counter, the sum then */
	uint64_t former_ns;
	uint64_t since_ns; /* that it is above */
};

/* Whether a rule fires; value: the sum over its series, rising: it is a count. */
bool trigger_step(struct trigger_state *state, const struct config_recorder_rule *rule,
		  double value, bool rising, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The values are those of the metrics page (metrics/visit.h). Therefore a rule sees exactly what
 * Prometheus sees, in the same units, state gauges included.
 *
 * The value of a counter or a histogram is its increase per second since the last evaluation. A sum
 * that has fallen, because a series was evicted, counts as not increased.
 */
#include "exporter/recorder/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "base/series.h"
#include "base/text.h"
#include "metrics/visit.h"

#define NS_PER_S 1e9

struct trigger {
	struct config_recorder_rule rule; /* series owned */
	struct series_selector *selector; /* owned */
	struct trigger_state state;
	const struct family *family; /* set during an evaluation; NULL: there is no such family */
	bool rising;
	double sum;
};

struct triggers {
	struct trigger *list;
	size_t count;
};

struct triggers *triggers_new(const struct config_recorder *recorder, struct etw_error *err)
{
	struct triggers *triggers = calloc(1, sizeof *triggers);

	if (!triggers) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	triggers->list = calloc(recorder->rule_count + 1, sizeof *triggers->list);
	for (size_t i = 0; triggers->list && i < recorder->rule_count; i++) {
		struct trigger *trigger = &triggers->list[i];

		trigger->rule = recorder->rules[i];
		trigger->rule.series =
			text_duplicate(trigger->rule.series, strlen(trigger->rule.series));
		if (!trigger->rule.series) {
			break;
		}
		triggers->count++;
		trigger->selector = series_selector_of(trigger->rule.series, err);
		if (!trigger->selector) {
			triggers_free(triggers);
			return NULL;
		}
	}
	if (!triggers->list || triggers->count < recorder->rule_count) {
		triggers_free(triggers);
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	return triggers;
}

void triggers_free(struct triggers *triggers)
{
	if (!triggers) {
		return;
	}
	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];

		series_selector_free(trigger->selector);
		free((void *)(uintptr_t)trigger->rule.series);
	}
	free(triggers->list);
	free(triggers);
}

bool trigger_step(struct trigger_state *state, const struct config_recorder_rule *rule,
		  double value, bool rising, uint64_t now_ns)
{
	double seconds = (double)(now_ns - state->former_ns) / NS_PER_S;
	double now = value;
	bool had_value = state->seen;

	if (rising) {
		now = had_value && seconds > 0 && value > state->former ?
			      (value - state->former) / seconds :
			      0;
	}
	state->seen = true;
	state->former = value;
	state->former_ns = now_ns;
	if (!(now > rule->above) || (rising && !had_value)) {
		state->is_above = false;
		state->fired = false;
		return false;
	}
	if (!state->is_above) {
		state->is_above = true;
		state->since_ns = now_ns;
	}
	if (state->fired || now_ns - state->since_ns < rule->for_ms * 1000000) {
		return false;
	}
	state->fired = true;
	return true;
}

/* ---- the values ---- */

/* Returns whether a rule is about the family, so that its samples must be visited. */
static bool wants_family(void *context, const struct family *family)
{
	struct triggers *triggers = context;
	bool chosen = false;

	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];

		if (strcmp(series_selector_name(trigger->selector), family_name(family)) == 0) {
			trigger->family = family;
			trigger->rising = family_type(family) != FAMILY_GAUGE;
			chosen = true;
		}
	}
	return chosen;
}

/* Returns the value that a page shows; for a histogram its number of observations. */
static double shown_value(const struct visited_sample *sample)
{
	enum family_type type = family_type(sample->family);
	double value = type == FAMILY_GAUGE ? (double)(int64_t)sample->value :
					      (double)sample->value;
	double scale = 1;

	if (type == FAMILY_HISTOGRAM) {
		return (double)sample->count;
	}
	for (unsigned i = 0; i < family_decimals(sample->family); i++) {
		scale *= 10;
	}
	return value / scale;
}

static const char *label_of(const void *sample, const char *label)
{
	return sample_label(sample, label);
}

static void add_sample(void *context, const struct visited_sample *sample)
{
	struct triggers *triggers = context;

	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];

		if (trigger->family == sample->family &&
		    series_selector_accepts(trigger->selector, label_of, sample)) {
			trigger->sum += shown_value(sample);
		}
	}
}

const char *triggers_evaluate(struct triggers *triggers, struct registry *registry, uint64_t now_ns)
{
	const struct registry_visitor visitor = { .wants = wants_family,
						  .on_sample = add_sample,
						  .context = triggers };
	const char *fires = NULL;

	if (triggers->count == 0) {
		return NULL;
	}
	for (size_t i = 0; i < triggers->count; i++) {
		triggers->list[i].sum = 0;
		triggers->list[i].family = NULL;
	}
	if (!registry_visit(registry, &visitor)) {
		return NULL; /* there is no memory; the next evaluation may have some */
	}
	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];

		if (trigger_step(&trigger->state, &trigger->rule, trigger->sum, trigger->rising,
				 now_ns) &&
		    !fires) {
			fires = trigger->rule.series;
		}
	}
	return fires;
}

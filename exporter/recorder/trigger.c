/* SPDX-License-Identifier: MIT */
/*
 * The values are those of the metrics page: it is rendered with the families of the rules alone,
 * and its lines are added up. So a rule sees exactly what Prometheus sees, in the same units, state
 * gauges included.
 *
 * The value of a counter or a histogram is its increase each second since the last look. A sum that
 * has fallen (a series was given back) has not increased.
 */
#include "exporter/recorder/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "base/series.h"
#include "base/text.h"
#include "metrics/exposition.h"

#define NS_PER_S 1e9

struct trigger {
	struct config_recorder_rule rule; /* series owned */
	struct series_selector *selector; /* owned */
	struct trigger_state state;
	char *sample; /* owned: the name of its lines; NULL: the page does not have the family */
	bool rising;
	double sum;
};

struct triggers {
	struct trigger *list;
	size_t count;
	struct etw_text line; /* the part of one that a chunk ended in */
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
		struct trigger *trigger = &triggers->list[triggers->count++];

		trigger->rule = recorder->rules[i];
		trigger->rule.series =
			text_duplicate(trigger->rule.series, strlen(trigger->rule.series));
		if (!trigger->rule.series) {
			break;
		}
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
		free(trigger->sample);
		free((void *)(uintptr_t)trigger->rule.series);
	}
	text_free(&triggers->line);
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

/* ---- the page ---- */

/* A family is rendered when a rule is about it. */
static bool is_requested(void *context, const struct family *family)
{
	struct triggers *triggers = context;
	bool requested = false;

	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];
		struct etw_text sample = { 0 };

		if (strcmp(series_selector_name(trigger->selector), family_name(family)) != 0) {
			continue;
		}
		requested = true;
		trigger->rising = family_type(family) != FAMILY_GAUGE;
		if (!trigger->sample) {
			text_add_string(&sample, family_name(family));
			if (family_type(family) == FAMILY_HISTOGRAM) {
				text_add_string(&sample, "_count");
			}
			trigger->sample = sample.data;
		}
	}
	return requested;
}

static void look_at_line(struct triggers *triggers, const char *line)
{
	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->list[i];
		double value;

		if (trigger->sample && series_selector_matches_line(
					       trigger->selector, trigger->sample, line, &value)) {
			trigger->sum += value;
		}
	}
}

static bool take_chunk(void *context, const char *bytes, size_t size)
{
	struct triggers *triggers = context;
	struct etw_text *line = &triggers->line;

	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) : size;

		text_add(line, bytes, part);
		if (!end) {
			break;
		}
		if (!line->failed && line->data) {
			look_at_line(triggers, line->data);
		}
		text_clear(line);
		bytes += part + 1;
		size -= part + 1;
	}
	return true;
}

const char *triggers_look(struct triggers *triggers, struct registry *registry, uint64_t now_ns)
{
	const struct exposition_options page = { .requested = is_requested, .context = triggers };
	const char *fires = NULL;

	if (triggers->count == 0) {
		return NULL;
	}
	for (size_t i = 0; i < triggers->count; i++) {
		triggers->list[i].sum = 0;
	}
	text_clear(&triggers->line);
	if (!exposition_write_as(registry, &page, take_chunk, triggers)) {
		return NULL; /* without memory: the next look will do */
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

/* SPDX-License-Identifier: MIT */
/*
 * Several threads that count the records of one recording.
 *
 * Nearly all the work on a record is to find its process and its label sets and to add to cells. In
 * the second pass, most records change nothing that another record needs: a packet was sent, a page
 * was read. The records of such an event class are *shared*: they may be counted by any thread and
 * in any order, because sums do not depend on it. So a pipeline has helpers: pipelines on other
 * threads, each with an event table, a rule engine and a shard of its own, and with a tracker that
 * borrows what the first pass has found (track/helper.c). The source shows each record to one of
 * them (etl/ranges.c), and what they leave, in its order, to the pipeline itself.
 *
 * One thing does depend on the order: who gets a place where places are limited. Label sets are
 * first come, first served, and give way near a limit. Therefore helpers are for those alone who
 * can count everything again on one thread when a limit comes near (pipeline_is_crowded()), before
 * anything was shown.
 */
#include <stdlib.h>

#include "pipeline_internal.h"

static void on_idle(void *context)
{
	pipeline_leave(context);
}

/* NULL without memory. */
static struct pipeline *new_helper(const struct pipeline *lead, struct shard *shard)
{
	struct pipeline *helper = calloc(1, sizeof *helper);

	if (!helper) {
		return NULL;
	}
	helper->lead = lead;
	helper->options = lead->options;
	helper->options.shard = shard;
	helper->origins = lead->origins;
	helper->origins.inband = NULL; /* those of a recording are in origins.trace */
	helper->schemas_known = true;
	helper->tracker = tracker_new_helper(lead->tracker);
	if (!helper->tracker || !pipeline_make_engine(helper, NULL) ||
	    !pipeline_attend(helper, NULL)) {
		pipeline_free(helper);
		return NULL;
	}
	return helper;
}

void pipeline_make_helpers(struct pipeline *pipeline)
{
	const struct pipeline_options *options = &pipeline->options;

	if (options->helper_count == 0) {
		return; /* another thread may ask for the statistics */
	}
	pipeline_free_helpers(pipeline);
	if (pipeline_has_extras(options) || !tracker_may_have_helpers(pipeline->tracker) ||
	    registry_is_crowded(options->setup->registry)) {
		return;
	}
	/* Fewer than asked for without memory for more. */
	for (size_t i = 0; i < options->helper_count && i < EVENT_HELPERS_MAX; i++) {
		struct pipeline *helper = new_helper(pipeline, options->helper_shards[i]);

		if (!helper) {
			break;
		}
		pipeline->helpers[i] = helper;
		pipeline->receivers[i] = (struct event_helper){
			.context = helper,
			.on_event = pipeline_help_with,
			.on_idle = on_idle,
		};
		pipeline->helper_count++;
	}
	pipeline->sink.helpers = pipeline->receivers;
	pipeline->sink.helper_count = pipeline->helper_count;
}

bool pipeline_is_crowded(struct pipeline *pipeline)
{
	if (!pipeline->crowded && pipeline->helper_count > 0) {
		pipeline->crowded = registry_is_crowded(pipeline->options.setup->registry);
	}
	return pipeline->crowded;
}

/* The look-ups of the helpers, except those of records that they left. */
static void count_lookups(struct pipeline *pipeline)
{
	const struct event_table *others[EVENT_HELPERS_MAX + 1] = { pipeline->event_table };

	for (size_t i = 0; i < pipeline->helper_count; i++) {
		const struct pipeline *helper = pipeline->helpers[i];
		size_t found = event_table_own_classes(helper->event_table, others, i + 1);
		struct event_table_statistics lookups;

		event_table_statistics(helper->event_table, &lookups);
		pipeline->helped.misses += found;
		pipeline->helped.hits += lookups.hits + lookups.misses - helper->left - found;
		others[i + 1] = helper->event_table;
	}
}

void pipeline_end_helpers(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->helper_count; i++) {
		pipeline->failed |= pipeline->helpers[i]->failed;
	}
	count_lookups(pipeline);
	pipeline_is_crowded(pipeline);
}

void pipeline_free_helpers(struct pipeline *pipeline)
{
	if (pipeline->helper_count == 0) {
		return;
	}
	for (size_t i = 0; i < pipeline->helper_count; i++) {
		pipeline_free(pipeline->helpers[i]);
	}
	pipeline->helper_count = 0;
	pipeline->sink.helper_count = 0;
}

/* SPDX-License-Identifier: MIT */
/* What every pipeline counts, whatever the rules say, and the sums over several pipelines. */
#include "pipeline.h"

#include <string.h>

/*
 * "RT_LostEvent class", Microsoft Learn: what a session writes in place of events that a real-time
 * consumer was too slow for.
 */
static const struct {
	uint8_t opcode;
	const char *type;
} lost_types[PIPELINE_LOST_TYPES] = {
	{ KERNEL_OPCODE_LOST_EVENT, "event" },
	{ KERNEL_OPCODE_LOST_BUFFER, "buffer" },
	{ KERNEL_OPCODE_LOST_FILE, "file" },
};

bool pipeline_families(struct registry *registry, struct pipeline_families *families,
		       struct error *err)
{
	static const struct family_options events = {
		.name = "etw_consumer_events_total",
		.help = "Event records delivered to a consumer, by provider.",
		.type = FAMILY_COUNTER,
		.labels = { "session", "provider" },
		.label_count = 2,
		.dynamic_labels = 1U << 1,
	};
	static const struct family_options records = {
		.name = "etw_consumer_records_total",
		.help = "Event records by what became of them: each has exactly one outcome.",
		.type = FAMILY_COUNTER,
		.labels = { "session", "outcome" },
		.label_count = 2,
	};
	static const struct family_options lost = {
		.name = "etw_consumer_lost_notifications_total",
		.help = "Records by which a session tells that it lost events, a buffer or its file.",
		.type = FAMILY_COUNTER,
		.labels = { "session", "type" },
		.label_count = 2,
	};

	families->events = registry_family(registry, &events, err);
	families->records = registry_family(registry, &records, err);
	families->lost = registry_family(registry, &lost, err);
	return families->events && families->records && families->lost;
}

bool pipeline_cells(struct registry *registry, struct shard *shard, const char *session,
		    struct pipeline_cells *cells, struct error *err)
{
	struct intern *strings = registry_strings(registry);
	uint32_t labels[] = { intern_string(strings, session), 0 };
	struct pipeline_families families;
	bool good = true;

	if (!pipeline_families(registry, &families, err)) {
		return false;
	}
	cells->events = families.events;
	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		labels[1] = intern_string(strings, record_outcome_name(i));
		cells->outcomes[i] = family_cells(families.records, shard, labels, NULL);
		good = good && cells->outcomes[i];
	}
	for (unsigned i = 0; i < PIPELINE_LOST_TYPES; i++) {
		labels[1] = intern_string(strings, lost_types[i].type);
		cells->lost[i] = family_cells(families.lost, shard, labels, NULL);
		good = good && cells->lost[i];
	}
	return good ||
	       error_set(err, ERROR_NO_MEMORY, "no memory for the counters of session %s", session);
}

cell *pipeline_lost_cell(const struct pipeline_cells *cells, const struct event_class *class)
{
	for (unsigned i = 0; i < PIPELINE_LOST_TYPES; i++) {
		if (class->kernel_class == KERNEL_LOST_EVENT &&
		    class->opcode == lost_types[i].opcode) {
			return cells->lost[i];
		}
	}
	return NULL;
}

void pipeline_statistics_add(struct pipeline_statistics *sum,
			     const struct pipeline_statistics *statistics)
{
	/* Every member is a uint64_t, so that a new one is summed without a line here. */
	enum { COUNT = sizeof *sum / sizeof(uint64_t) };
	const uint64_t *from = (const uint64_t *)statistics;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < COUNT; i++) {
		to[i] += from[i];
	}
}

void pipeline_statistics_end(struct pipeline_statistics *statistics)
{
	statistics->event_table.entries = 0;
	statistics->inband.entries = 0;
	memset(statistics->tracker.entries, 0, sizeof statistics->tracker.entries);
}

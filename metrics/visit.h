/* SPDX-License-Identifier: MIT */
/*
 * Reads the samples of a registry for readers other than Prometheus: the same values as an
 * exposition at that moment, as integers.
 */
#ifndef METRICS_VISIT_H
#define METRICS_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics/registry.h"

/* A sample and its value. The pointers are valid until the callback returns; texts of label
 * values are valid until registry_free(). */
struct visited_sample {
	const struct family *family;
	const uint32_t *ids; /* ids of the label values, in the order of the family's labels */
	/* The value of a counter or, in two's complement, of a gauge; for a histogram, the sum
	 * of its observations. A page shows value / 10^family_decimals(). */
	uint64_t value;
	/* For a histogram: the number of observations, and that in each bucket (not cumulated;
	 * the last bucket is +Inf). */
	uint64_t count;
	const uint64_t *buckets;
};

/* Returns the value of a label; "" if the family has no such label. */
const char *sample_label(const struct visited_sample *sample, const char *name);

struct registry_visitor {
	/* Returns whether the samples of a family are visited, which is then done next; NULL:
	 * all families are. */
	bool (*wants)(void *context, const struct family *family);
	void (*on_sample)(void *context, const struct visited_sample *sample);
	/* No scrape hook runs, so this is no scrape for anyone; gauges may be old. */
	bool counters_only;
	void *context;
};

/*
 * Runs the scrape hooks (unless counters_only), then visits the samples that an exposition would
 * show: families in the order of their names, samples in the order in which they were made. Any
 * thread may call it, and several at once. Returns false without memory.
 */
bool registry_visit(struct registry *registry, const struct registry_visitor *visitor);

#endif

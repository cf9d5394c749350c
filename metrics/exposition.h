/* SPDX-License-Identifier: MIT */
/*
 * Renders a registry in the formats that Prometheus scrapes: its text format 0.0.4, OpenMetrics,
 * and protobuf with native histograms.
 *
 * Families are in the order of their names, samples in the order in which they were made, or in
 * that of their labels. The page is passed to a sink in chunks and is never in memory as a whole,
 * so a scrape of a million series, in the order in which they were made, needs no more memory than
 * a small one.
 */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

#include "metrics/registry.h"

/* Receives one chunk of size bytes; returns false to stop the rendering (for example if the
 * client has disconnected). */
typedef bool exposition_sink(void *context, const char *bytes, size_t size);

/* The formats. Both versions of OpenMetrics have the same text; clients from before 1.0 request
 * 0.0.1. */
enum exposition_format {
	EXPOSITION_TEXT_0_0_4,
	EXPOSITION_OPENMETRICS_1_0_0,
	EXPOSITION_PROTOBUF,
	EXPOSITION_OPENMETRICS_0_0_1,
};

/* Returns the media type for the header Content-Type. */
const char *exposition_content_type(enum exposition_format format);

/* Zero-initialise it, which means: the text format, all families. */
struct exposition_options {
	enum exposition_format format;
	/* Adds the OpenMetrics samples `_created`, which most versions of Prometheus store as
	 * series. */
	bool created;
	/* Renders samples in the order of their labels, not in that in which they were made. It
	 * takes 16 bytes for each sample of a family. Evicted samples are not freed meanwhile. */
	bool sorted;
	/* Returns whether a family is rendered; NULL: every family is. It is called on the
	 * thread of the scrape. */
	bool (*requested)(void *context, const struct family *family);
	void *context; /* argument of requested */
};

/*
 * Runs the scrape hooks, then renders every requested family that has a sample. options NULL: as
 * zero-initialised ones. Any thread may call it, and several at once; only the hooks run for one
 * scrape at a time. Returns false if the sink did, or without memory. If the page is empty, the
 * sink is not called and the result is true.
 */
bool exposition_write(struct registry *registry, const struct exposition_options *options,
		      exposition_sink *sink, void *context);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Renders a registry in the Prometheus text format 0.0.4.
 *
 * Families stand in the order of their names, samples in the order in which they were made. The
 * page goes out in chunks: it is never held whole, so a scrape of a million series needs no more
 * memory than a small one.
 */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

#include "metrics/registry.h"

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Takes one chunk; false ends the rendering (the client went away). */
typedef bool exposition_sink(void *context, const char *bytes, size_t size);

/*
 * Runs the scrape hooks, then renders every family that has a sample (HELP, TYPE, samples). Any
 * thread; several at once are fine, hooks apart. Returns the bytes written, or 0 when the sink
 * refused.
 */
size_t exposition_write(struct registry *registry, exposition_sink *sink, void *context);

struct text;

/* Adds what stands between the quotes of a label value: escaped, and clean UTF-8. */
void text_add_label_value(struct text *text, const char *value, size_t size);

#endif

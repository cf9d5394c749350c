/* SPDX-License-Identifier: MIT */
/*
 * Buckets of a histogram: written in the family's unit, kept in the integers that are added.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules/load.h"

/* Doubles hold integers exactly up to here: 104 days in nanoseconds. */
#define BOUND_MOST 9007199254740992.0

static bool read_real(struct loader *loader, const struct yaml_node *node, const char *what,
		      double *value)
{
	char *end;

	if (!yaml_is_text(loader->tree, node, what, loader->err)) {
		return false;
	}
	/* Only what looks like a number: strtod() also takes "nan", "inf" and hexadecimal. */
	if (strspn(node->text, "0123456789.eE+-") != node->size) {
		return yaml_error(loader->tree, node, loader->err, "%s: '%s' is not a number", what,
				  node->text);
	}
	*value = strtod(node->text, &end);
	if (end == node->text || *end != '\0' || !isfinite(*value)) {
		return yaml_error(loader->tree, node, loader->err, "%s: '%s' is not a number", what,
				  node->text);
	}
	return true;
}

/* Adds one bound, which must be above the one before. */
static bool add_bound(struct loader *loader, const struct yaml_node *at, struct metric *metric,
		      double bound)
{
	double scaled = metric->seconds ? bound * 1e9 : bound;
	double whole = nearbyint(scaled);

	if (!(whole >= 1) || whole > BOUND_MOST) {
		return yaml_error(loader->tree, at, loader->err,
				  "buckets: bound %g is out of range", bound);
	}
	if (!metric->seconds && fabs(whole - scaled) > 1e-6) {
		return yaml_error(loader->tree, at, loader->err,
				  "buckets: bound %g is not a whole number", bound);
	}
	if (metric->bucket_count > 0 &&
	    (uint64_t)whole <= metric->buckets[metric->bucket_count - 1]) {
		return yaml_error(loader->tree, at, loader->err,
				  "buckets: bound %g is not above the one before", bound);
	}
	metric->buckets[metric->bucket_count++] = (uint64_t)whole;
	return true;
}

static bool load_series(struct loader *loader, const struct yaml_node *node, struct metric *metric)
{
	static const char *const keys[] = { "start", "factor", "width", "count", NULL };
	const struct yaml_node *start, *factor, *width, *count;
	double bound = 0, step = 0;
	uint64_t bounds;

	if (!yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	start = yaml_find(node, "start");
	factor = yaml_find(node, "factor");
	width = yaml_find(node, "width");
	count = yaml_find(node, "count");
	if (!start || !count || (factor != NULL) == (width != NULL)) {
		return yaml_error(loader->tree, node, loader->err,
				  "buckets: {start, factor, count} or {start, width, count}");
	}
	if (!read_real(loader, start, "start", &bound) ||
	    !read_real(loader, factor ? factor : width, factor ? "factor" : "width", &step) ||
	    !yaml_number(loader->tree, count, "count", 1, FAMILY_BUCKETS_MAX, &bounds,
			 loader->err)) {
		return false;
	}
	if (factor ? step <= 1 : step <= 0) {
		return yaml_error(loader->tree, factor ? factor : width, loader->err,
				  "buckets: they must rise");
	}
	metric->buckets =
		yaml_alloc(loader->tree, (size_t)bounds, sizeof *metric->buckets, loader->err);
	if (!metric->buckets) {
		return false;
	}
	for (uint64_t i = 0; i < bounds; i++) {
		double at = factor ? bound * pow(step, (double)i) : bound + step * (double)i;

		if (!add_bound(loader, node, metric, at)) {
			return false;
		}
	}
	return true;
}

bool load_buckets(struct loader *loader, const struct yaml_node *node, struct metric *metric)
{
	if (node->type == YAML_MAP) {
		return load_series(loader, node, metric);
	}
	if (!yaml_is_list(loader->tree, node, "buckets", loader->err)) {
		return false;
	}
	if (node->size == 0 || node->size > FAMILY_BUCKETS_MAX) {
		return yaml_error(loader->tree, node, loader->err, "buckets: from 1 to %d bounds",
				  FAMILY_BUCKETS_MAX);
	}
	metric->buckets =
		yaml_alloc(loader->tree, node->size, sizeof *metric->buckets, loader->err);
	if (!metric->buckets) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		double bound = 0;

		if (!read_real(loader, entry, "buckets", &bound) ||
		    !add_bound(loader, entry, metric, bound)) {
			return false;
		}
	}
	return true;
}

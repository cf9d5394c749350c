/* SPDX-License-Identifier: MIT */
/*
 * The series of one or two expositions side by side, to compare recordings.
 */
#ifndef ETWTOOL_PAGE_SERIES_H
#define ETWTOOL_PAGE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/map.h"
#include "base/series.h"
#include "base/text.h"
#include "metrics/registry.h"

enum { SIDES = 2 };

/* All series of one name have the same bounds. */
struct series_family {
	char *name; /* owned */
	enum family_type type;
	double *bounds; /* upper bounds of a histogram's buckets, +Inf included; owned */
	size_t bucket_count, bucket_capacity;
};

/* A series on one page. */
struct series_side {
	bool present;
	double value; /* of a counter or gauge */
	double sum, count;
	double *buckets; /* cumulated, in the order of the bounds; owned; NULL: no bucket */
};

struct series {
	size_t family; /* index in the table */
	char *labels;  /* as on the page, without braces and `le`; owned */
	struct series_side sides[SIDES];
};

/* Zero-initialise it. */
struct series_table {
	struct series_family *families; /* owned */
	size_t family_count, family_capacity;
	struct series *rows; /* owned */
	size_t count, capacity;
	struct map by_key; /* hash of family and labels -> index + 1 */
};

/*
 * Adds the families of collectors on a page of the text format 0.0.4, NUL at its end; those about
 * the program and its sessions are left out. side: below SIDES. False without memory.
 */
bool series_table_add(struct series_table *table, const char *page, unsigned side,
		      struct etw_error *err);
void series_table_done(struct series_table *table);

/* The value of one label, in *value; "" if the series does not have it. */
void series_label(const struct series *series, const char *name, struct etw_text *value);

/*
 * The quantile that the buckets show, by linear interpolation in a bucket, as histogram_quantile()
 * of Prometheus: what lies above the last finite bound is that bound. NaN without an observation.
 */
double series_quantile(const struct series_family *family, const struct series_side *side,
		       double quantile);

#endif

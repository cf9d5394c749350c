/* SPDX-License-Identifier: MIT */
/*
 * Families and samples: what the exporter has counted.
 *
 * Consumers add to samples on their per-event path: no lock, no allocation and no string work
 * unless a label set is new. Every thread that counts has a *writer*: cells of its own, one a
 * value, that it alone writes (relaxed load and store); the scrape sums the cells of all writers. A
 * sample's rendered prefix is built once, when the sample is made, into chunks that lie in render
 * order, so a scrape copies text and prints integers and never blocks a consumer.
 *
 * Values are integers; a family says by how many decimal places the exposition moves the point
 * (nanoseconds shown as seconds: 9).
 */
#ifndef METRICS_REGISTRY_H
#define METRICS_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"

struct registry; /* opaque */
struct family;   /* opaque, owned by its registry, valid until registry_free() */
struct shard;    /* opaque, owned by its registry */

enum family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM };

enum {
	FAMILY_LABELS_MAX = 8,
	FAMILY_BUCKETS_MAX = 64,
	SHARDS_MAX = 16,
};

struct registry_limits {
	uint32_t series_per_family; /* 0: 2000 */
	uint32_t series;            /* of all families together that may fold; 0: 200000 */
	size_t strings_bytes;       /* budget of interned label text; 0: 64 MiB */
};

struct family_options {
	const char *name; /* copied, as are all texts here */
	const char *help; /* one sentence; escaped by the exposition */
	enum family_type type;
	unsigned decimals; /* 0 to 9: shown value = integer / 10^decimals */
	const char *labels[FAMILY_LABELS_MAX];
	size_t label_count;
	/* Bit i: label i is open (its values come from events) and reads "_other" past a limit; the
	 * others keep their value. */
	uint32_t dynamic_labels;
	uint32_t max_series; /* 0: the registry's series_per_family */
	/*
	 * Histogram: rising upper bounds in the integers that are added (nanoseconds for seconds),
	 * +Inf left out. Shown scaled by decimals, exactly.
	 */
	const uint64_t *buckets;
	size_t bucket_count;
};

struct registry *registry_new(const struct registry_limits *limits, struct error *err);
/* When no writer and no scrape is at work. NULL is fine. */
void registry_free(struct registry *registry);

/*
 * Adds a family. Name and label names are checked against the Prometheus data model; a name that
 * exists already is an error unless everything but the help is the same (then that family is
 * returned). Before consumers start; takes the registry's lock.
 */
struct family *registry_family(struct registry *registry, const struct family_options *options,
			       struct error *err);
struct family *registry_find_family(struct registry *registry, const char *name); /* or NULL */
/* Families in the order of their names; NULL: the first. NULL behind the last. */
struct family *registry_next_family(struct registry *registry, struct family *family);
const char *family_name(const struct family *family);
const char *family_help(const struct family *family, size_t *size);  /* as shown: escaped, no NUL */
const char *family_label(const struct family *family, size_t index); /* NULL behind the last */
enum family_type family_type(const struct family *family);
const char *family_type_name(enum family_type type); /* "counter", "gauge", "histogram" */

/* The table of label values: ids in keys below are ids of this table. INTERN_FULL in a key reads
 * "_other". */
struct intern *registry_strings(struct registry *registry);
/* Ids of the words that stand for what is missing: "_other", "_unknown", "_none". */
uint32_t registry_other(const struct registry *registry);
uint32_t registry_unknown(const struct registry *registry);
uint32_t registry_none(const struct registry *registry);

/*
 * The cells of one more thread; at most SHARDS_MAX. Freed with the registry: what it counted stays
 * counted. shared: several threads use this writer (HTTP workers): additions become atomic
 * read-modify-writes.
 */
struct shard *registry_shard(struct registry *registry, bool shared, struct error *err);

/* ---- the per-event path: the thread that owns the writer ---- */

/*
 * A sample as one writer sees it: its cells. Valid until registry_free(). Counters and gauges have
 * one cell; a histogram has its buckets (not cumulated, the last is +Inf), then the sum.
 */
typedef _Atomic(uint64_t) cell;

/*
 * The cells of the sample with these label values (ids in the order of the family's labels), made
 * if new. Past a limit the folded sample's cells: *one call counts one event* in
 * etw_exporter_series_overflow_total{metric} then, so call it per event or remember the cells only
 * when *folded is false (folded may be NULL). NULL without memory (counted as overflow as well).
 *
 * Also folded: a label set of more than 4 KiB of text, and what would take more text than 512 bytes
 * for each series of the limit. Values that are not UTF-8 count under their text with U+FFFD, the
 * slow way: clean them before they are interned.
 */
cell *family_cells(struct family *family, struct shard *shard, const uint32_t *ids,
		   bool *overflowed);

/* Adds to a cell that only the calling thread writes. */
static inline void cell_add(cell *at, uint64_t amount)
{
	atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

/* family_cells() and an addition in one: the usual call. Histograms: family_observe(). */
void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount);

/* Adds one observation to a histogram. */
void family_observe(struct family *family, struct shard *shard, const uint32_t *ids,
		    uint64_t value);
/* The same with the cells in hand. */
void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value);

/*
 * Sets a gauge (two's complement: may be negative), or a counter that is kept elsewhere, as the
 * only writer that ever touches this sample: statistics read at the scrape.
 */
void family_set(struct family *family, struct shard *shard, const uint32_t *ids, int64_t value);

/*
 * Removes nothing, hides: a gauge sample that is hidden is left out of the exposition until it is
 * set again (an _info whose object is gone). For gauges only.
 */
void family_hide(struct family *family, struct shard *shard, const uint32_t *ids);

/* ---- the scrape: any thread ---- */

/*
 * Called before each exposition, one scrape at a time, to bring gauges read from elsewhere up to
 * date (family_set with a writer that only such hooks use). At most 16. Before consumers start. A
 * hook must not declare families or scrape.
 */
bool registry_on_scrape(struct registry *registry, void (*hook)(void *context), void *context,
			struct error *err);

/* Sum over writers of one sample, for tests and health; false when there is no such sample.
 * Histograms: the sum of observations. */
bool family_value(struct family *family, const uint32_t *ids, int64_t *value);

/* Series of a family now; one for each label set (a histogram's lines count as one), hidden ones
 * included. */
size_t family_series(const struct family *family);

/* The registry adds itself: etw_exporter_series{metric},
 * etw_exporter_series_overflow_total{metric}, etw_exporter_series_evicted_total{metric}. */

#endif

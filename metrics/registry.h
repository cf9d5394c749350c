/* SPDX-License-Identifier: MIT */
/*
 * Metric families and their samples.
 *
 * Consumers add to samples on their per-event path: without a lock, an allocation or work on
 * strings, unless a label set is new. Every thread that counts has a *shard*: its own cells, one
 * for each value, which no other thread writes (relaxed load and store). A scrape sums the cells of
 * all shards. The prefix of a sample is rendered once, when the sample is made. So a scrape copies
 * text and prints integers, and never blocks a consumer.
 *
 * Values are integers. Each family says by how many decimal places a page moves the decimal point
 * (9 to show nanoseconds as seconds).
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
	SHARDS_MAX = 72, /* 64 consumers, the web server, the program's own metrics */
};

struct registry_limits {
	uint32_t series_per_family; /* 0: 2000 */
	uint32_t series;      /* limit of all families with dynamic labels together; 0: 200000 */
	size_t strings_bytes; /* budget of interned label text; 0: 64 MiB */
	/* Label sets that did not change for this time are evicted; 0: never for this reason. */
	uint64_t idle_100ns;
	bool native_histograms; /* histograms also count native buckets */
};

struct family_options {
	const char *name; /* copied, like all texts here */
	const char *help; /* one sentence; escaped by the exposition */
	enum family_type type;
	unsigned decimals; /* 0 to 9: the page shows integer / 10^decimals */
	const char *labels[FAMILY_LABELS_MAX];
	size_t label_count;
	/* Bit i: label i is dynamic: events decide its values, and it reads "_other" beyond a
	 * limit. The other labels keep their values. */
	uint32_t dynamic_labels;
	uint32_t max_series; /* 0: the registry's series_per_family */
	/*
	 * For a histogram: rising upper bounds as integers of the added unit (nanoseconds for
	 * seconds), without +Inf. They are shown scaled by decimals, exactly.
	 */
	const uint64_t *buckets;
	size_t bucket_count;
};

struct registry *registry_new(const struct registry_limits *limits, struct etw_error *err);
/* Call it when no thread counts or scrapes any more. registry may be NULL. */
void registry_free(struct registry *registry);

/*
 * Adds a family. Name and label names are checked against the Prometheus data model. If the name
 * exists, the existing family is returned if its declaration is equal except for the help;
 * otherwise it is an error. Other threads may count and scrape meanwhile; it takes the mutex of the
 * registry.
 */
struct family *registry_family(struct registry *registry, const struct family_options *options,
			       struct etw_error *err);
/* Returns the family with this name among those that are shown; NULL if there is none. It takes the
 * mutex of the registry. */
struct family *registry_find_family(struct registry *registry, const char *name);
/* Returns the next shown family in the order of names; for NULL the first one. NULL after the
 * last. */
struct family *registry_next_family(struct registry *registry, struct family *family);
const char *family_name(const struct family *family);
const char *family_help(const struct family *family,
			size_t *size); /* as on the page: escaped, no NUL */
const char *family_label(const struct family *family, size_t index); /* NULL after the last */
enum family_type family_type(const struct family *family);
const char *family_type_name(enum family_type type); /* "counter", "gauge", "histogram" */
unsigned family_decimals(const struct family *family);
/* Sets *bounds to the upper bounds of a histogram's buckets as declared, without +Inf. Returns
 * their number. */
size_t family_buckets(const struct family *family, const uint64_t **bounds);

/*
 * ---- another set of families, while threads count and scrape ----
 *
 * A reload prepares the families of the next configuration, then exchanges the sets. A family of
 * both sets keeps its samples and values. A family that only the former set has leaves the page and
 * keeps its memory: when a family of the same declaration is prepared again, it is used again with
 * the values that it had. So 100 reloads between two configurations need no more memory than two.
 */

/* Like registry_family(), but a new family is not shown yet, and its name is not compared with
 * others before the exchange. */
struct family *registry_prepare(struct registry *registry, const struct family_options *options,
				struct etw_error *err);

/* Returns whether the family shows this help. A family that both sets have keeps its first help. */
bool family_has_help(const struct family *family, const char *help);

/*
 * Takes the families of the former set off the page and shows the prepared ones, in one step for
 * every page. Families in neither set stay as they are. Fails, and changes nothing, if two families
 * would then have the same name. Threads may still count into the former set until they use the
 * next one.
 */
bool registry_exchange(struct registry *registry, struct family *const *former, size_t former_count,
		       struct family *const *next, size_t next_count, struct etw_error *err);

/* Changes series_per_family and series; 0 as for registry_new(). Series above a lower limit
 * stay. The other members cannot be changed and are ignored. */
void registry_set_limits(struct registry *registry, const struct registry_limits *limits);

/* Returns the table of label values, which the registry owns. The label ids below are ids of
 * this table; INTERN_FULL as an id reads "_other". */
struct intern *registry_strings(struct registry *registry);
/* Return the ids of the special label values "_other", "_unknown" and "_none". */
uint32_t registry_other(const struct registry *registry);
uint32_t registry_unknown(const struct registry *registry);
uint32_t registry_none(const struct registry *registry);

/*
 * Adds a shard for another thread; at most SHARDS_MAX. The registry owns it until registry_free(),
 * so its counts remain when the thread ends. shared: several threads use it (HTTP workers), so
 * additions are atomic read-modify-writes.
 */
struct shard *registry_shard(struct registry *registry, bool shared, struct etw_error *err);

/* ---- the per-event path: only the thread that owns the shard may call these ---- */

/*
 * The cells of a sample in one shard. Those of a family with dynamic labels are valid until the
 * owner of the shard is called to forget them (struct shard_owner); without an owner, and for all
 * other families, until registry_free(). A counter has one cell; a gauge has a second one, for
 * cells_hold() and cells_move(); a histogram has its buckets (not cumulated, the last is +Inf),
 * then the sum, then, with native histograms, the address of their cells.
 */
typedef _Atomic(uint64_t) cell;

/*
 * Returns the cells of the sample with these label values (ids in the order of the family's
 * labels), which is made if it is new. Beyond a limit, the cells are those of the overflow series,
 * and *each call counts one event* in etw_exporter_series_overflow_total{metric}. So call it for
 * each event, or keep the cells only if *overflowed is false (overflowed may be NULL). Returns NULL
 * without memory, which also counts as overflow.
 *
 * A label set of more than 4 KiB of text also belongs to the overflow series, and so does one that
 * would exceed the budget of 512 bytes of text for each series of the limit. Invalid UTF-8 in a
 * value becomes U+FFFD, which is slow: clean values before they are interned.
 */
cell *family_cells(struct family *family, struct shard *shard, const uint32_t *ids,
		   bool *overflowed);

/*
 * Adds to a cell of a counter or histogram that only the calling thread writes. After 2^64 - 1 it
 * continues from 0, as the sum over the shards does. Prometheus takes a counter that falls as one
 * that starts again, so a rate stays right, while a counter that stays at its maximum would be lost
 * until the program is started again.
 */
static inline void cell_add(cell *at, uint64_t amount)
{
	atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + amount,
			      memory_order_relaxed);
}

/* Adds 1 to such a cell. */
static inline void cell_count(cell *at)
{
	cell_add(at, 1);
}

/* What the second cell of a gauge changes by when the sum in the first passes 2^63: the upper half
 * of the second cell counts this, and the lower half counts the holds. */
#define GAUGE_WRAP (UINT64_C(1) << 32)

/*
 * Adds to the cells of a gauge that only the calling thread writes. The amount is in two's
 * complement, so it may be negative. The sum may pass 2^63: pages then show the nearest number that
 * they can, and the gauge is right again when the values that made it so large are gone.
 */
static inline void cells_move(cell *cells, uint64_t amount)
{
	uint64_t before = atomic_load_explicit(cells, memory_order_relaxed);
	uint64_t after = before + amount;

	if (((before ^ after) & (amount ^ after)) >> 63 != 0) {
		cell_add(&cells[1], amount >> 63 != 0 ? 0 - GAUGE_WRAP : GAUGE_WRAP);
	}
	atomic_store_explicit(cells, after, memory_order_relaxed);
}

/* Replaces a value that was added to the cells of a gauge by another one. */
static inline void cells_replace(cell *cells, uint64_t former, uint64_t value)
{
	uint64_t difference = value - former;

	if (((value ^ former) & (value ^ difference)) >> 63 !=
	    0) { /* the difference does not fit */
		cells_move(cells, 0 - former);
		difference = value;
	}
	cells_move(cells, difference);
}

/* Finds the cells of a sample and adds to them, in one call. For counters; for histograms use
 * family_observe(). */
void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount);

/* Adds one observation to the sample of a histogram with these label values. */
void family_observe(struct family *family, struct shard *shard, const uint32_t *ids,
		    uint64_t value);
/* Adds one observation to cells that the caller has kept. */
void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value);

/*
 * Sets a gauge (in two's complement, so the value may be negative), or a counter whose value is
 * kept elsewhere. It is for statistics that are read at a scrape. No other shard may write this
 * sample.
 */
void family_set(struct family *family, struct shard *shard, const uint32_t *ids, int64_t value);

/*
 * Keeps the cells of a gauge valid although its value may be 0, until cells_release() is called as
 * often. A gauge that is not 0 is valid anyway. For cells that only the calling thread writes.
 */
static inline void cells_hold(cell *cells)
{
	cell_add(&cells[1], 1);
}

static inline void cells_release(cell *cells)
{
	cell_add(&cells[1], UINT64_MAX);
}

/* Makes the sample with these label values, at 0, unless a limit forbids it. It is never
 * evicted. Any thread may call it. */
void family_keep(struct family *family, const uint32_t *ids);

/*
 * Hides a sample of a gauge: pages leave it out until it is set again (for an _info metric whose
 * object no longer exists). It is evicted soon after.
 */
void family_hide(struct family *family, struct shard *shard, const uint32_t *ids);

/* Set and hide a gauge by cells that the caller has kept. The gauge must have had a value other
 * than 0 since then, so that it was not evicted. */
void cells_show(cell *cells, int64_t value);
void cells_hide(struct family *family, cell *cells);

/* Hides every sample of a gauge that this shard has set to a value other than 0. */
void family_hide_all(struct family *family, const struct shard *shard);

/* ---- evicting label sets: only the thread that owns the shard may call these ---- */

/*
 * Label sets of families with dynamic labels are evicted for three reasons: the family is nearly
 * full, and the process that they name ended a minute ago or more (or they name none and did not
 * change for that time); they did not change for limits.idle_100ns; they are hidden. An eviction
 * does not wait for a shard without an owner, so such a shard must not count in these families
 * while other threads call shard_tend().
 */
struct shard_owner {
	void *context;
	/* Called between two records: the owner must not use a cell of a family with dynamic
	 * labels again, except those of gauges that are held or not 0. */
	void (*forget_cells)(void *context);
	/* Called during shard_tend(): the owner must call registry_alive() for the names of
	 * running processes. */
	void (*report_alive)(void *context);
};

/* Sets the owner of a shard, which then waits for its first record; owner is copied. NULL: the
 * owner has ended; call it so before the next owner begins. */
void shard_attend(struct shard *shard, const struct shard_owner *owner);

/*
 * Call it before the owner uses the registry: before its first record, and whenever
 * registry_epoch() differs from what the last call returned. It may call forget_cells. Returns the
 * epoch.
 */
uint64_t shard_enter(struct shard *shard);
const _Atomic(uint64_t) *registry_epoch(const struct registry *registry); /* never 0 */

/* Call it when the owner is about to wait for records, so that no eviction waits for it. Call
 * shard_enter() afterwards. */
void shard_leave(struct shard *shard);

/*
 * Searches for label sets to evict. Call it between two records every ten seconds of event time.
 * before: time of the last record; now: time of the next one; in 100 ns, from any origin. It
 * includes shard_enter().
 */
void shard_tend(struct shard *shard, int64_t before, int64_t now);

/* Reports that the process with this name (a label id) was alive at a time; see shard_tend(). */
void registry_alive(struct registry *registry, uint32_t id, int64_t time);

/* Sets the cells that this shard has in a gauge to 0. For a gauge that is shown again: nothing was
 * counted while it was not shown. */
void family_restart(struct family *family, const struct shard *shard);

/* Returns whether a cell belongs to the family in this shard. */
bool family_has_cell(const struct family *family, const struct shard *shard, const cell *at);

/*
 * Between two passes of a replay: while gauges are held, pages show those of the shard as they were
 * when shard_hold_gauges() was called, although the shard continues to count; label sets that are
 * new since then are left out. If there is no memory, nothing is held. Only the thread that owns
 * the shard may call these.
 */
void shard_hold_gauges(struct shard *shard);
void shard_release_gauges(struct shard *shard);

/* ---- the scrape: any thread may call these ---- */

/*
 * Adds a hook, which is called before each exposition, by one scrape at a time. It updates gauges
 * whose values are kept elsewhere (family_set() with a shard that only hooks use). At most 16
 * hooks; add them before consumers start. A hook must not declare families or scrape.
 */
bool registry_on_scrape(struct registry *registry, void (*hook)(void *context), void *context,
			struct etw_error *err);

/* Sets *value to the sum of one sample over all shards, for tests and health metrics; for a
 * histogram to the sum of its observations. Returns false if there is no such sample. */
bool family_value(struct family *family, const uint32_t *ids, int64_t *value);

/* Returns the number of samples of a family: one for each label set, also of a histogram. Hidden
 * samples are included until they are evicted. */
size_t family_series(const struct family *family);

/* Returns the bytes that the registry has allocated for a family and its samples. */
size_t family_memory(struct family *family);

/* The registry adds three families itself: etw_exporter_series,
 * etw_exporter_series_overflow_total{metric} for families that have reached a limit, and
 * etw_exporter_series_evicted_total{metric} for families with evicted label sets. */

/* Appends a label value as a page has it between the quotes: escaped, and valid UTF-8. */
struct etw_text;
void text_add_label_value(struct etw_text *text, const char *value, size_t size);

#endif

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
 * Values are integers. A family determines by how many decimal places the exposition moves the
 * decimal point (9 to show nanoseconds as seconds).
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
	SHARDS_MAX = 72, /* 64 consumers, the web server, what the program says of itself */
};

struct registry_limits {
	uint32_t series_per_family; /* 0: 2000 */
	uint32_t series;            /* of all families with dynamic labels; 0: 200000 */
	size_t strings_bytes;       /* budget of interned label text; 0: 64 MiB */
	/* Label sets that did not change for so long are given back; 0: none for this reason. */
	uint64_t idle_100ns;
	bool native_histograms; /* histograms count native buckets as well */
};

struct family_options {
	const char *name; /* copied, like all texts here */
	const char *help; /* one sentence; escaped by the exposition */
	enum family_type type;
	unsigned decimals; /* 0 to 9: shown value = integer / 10^decimals */
	const char *labels[FAMILY_LABELS_MAX];
	size_t label_count;
	/* Bit i: label i is dynamic (its values come from events) and reads "_other" beyond a
	 * limit. The others keep their value. */
	uint32_t dynamic_labels;
	uint32_t max_series; /* 0: the registry's series_per_family */
	/*
	 * Histogram: rising upper bounds in the integers that are added (nanoseconds for seconds),
	 * +Inf left out. Shown scaled by decimals, exactly.
	 */
	const uint64_t *buckets;
	size_t bucket_count;
};

struct registry *registry_new(const struct registry_limits *limits, struct etw_error *err);
/* Call it when no thread counts or scrapes any more. NULL is allowed. */
void registry_free(struct registry *registry);

/*
 * Adds a family. Name and label names are checked against the Prometheus data model. If the name
 * exists, the existing family is returned if it is the same except for the help; otherwise it is an
 * error. Threads may count and scrape meanwhile; it takes the lock of the registry.
 */
struct family *registry_family(struct registry *registry, const struct family_options *options,
			       struct etw_error *err);
/* Of the families that are shown; NULL: there is none. */
struct family *registry_find_family(struct registry *registry, const char *name);
/* The next family by name that is shown; for NULL the first one. Returns NULL after the last. */
struct family *registry_next_family(struct registry *registry, struct family *family);
const char *family_name(const struct family *family);
const char *family_help(const struct family *family, size_t *size);  /* as shown: escaped, no NUL */
const char *family_label(const struct family *family, size_t index); /* NULL after the last */
enum family_type family_type(const struct family *family);
const char *family_type_name(enum family_type type); /* "counter", "gauge", "histogram" */
unsigned family_decimals(const struct family *family);
/* The upper bounds of a histogram's buckets without +Inf, as they were declared; their number. */
size_t family_buckets(const struct family *family, const uint64_t **bounds);

/*
 * ---- another set of families, while threads count and scrape ----
 *
 * A reload prepares the families of the next configuration, then exchanges the sets. A family of
 * both keeps its samples and values. One that only the former set has leaves the page and keeps its
 * memory: it is used again, with the values that it had, when a family of the same declaration is
 * prepared again. So 100 reloads between two configurations need no more memory than two.
 */

/* Like registry_family(), but a family that is not shown stays so, and its name is not compared
 * with others before the exchange. */
struct family *registry_prepare(struct registry *registry, const struct family_options *options,
				struct etw_error *err);

/* Whether the family shows this help. A family that goes on keeps the help of its start. */
bool family_has_help(const struct family *family, const char *help);

/*
 * Takes the families of the former set off the page and shows the prepared ones, in one step for
 * every page. What is in neither set stays. Fails, and changes nothing, if two families would have
 * the same name then. Threads may still count into the former set until they use the next one.
 */
bool registry_exchange(struct registry *registry, struct family *const *former, size_t former_count,
		       struct family *const *next, size_t next_count, struct etw_error *err);

/* Other values of series_per_family and series; 0 as for registry_new(). Series beyond a lower one
 * stay. The other members cannot be changed and are ignored. */
void registry_set_limits(struct registry *registry, const struct registry_limits *limits);

/* The table of label values. The ids below are ids of this table; INTERN_FULL as an id reads
 * "_other". */
struct intern *registry_strings(struct registry *registry);
/* The ids of the special label values "_other", "_unknown" and "_none". */
uint32_t registry_other(const struct registry *registry);
uint32_t registry_unknown(const struct registry *registry);
uint32_t registry_none(const struct registry *registry);

/*
 * Adds a shard for another thread; at most SHARDS_MAX. It is freed with the registry, so its counts
 * remain. shared: several threads use it (HTTP workers), so additions are atomic
 * read-modify-writes.
 */
struct shard *registry_shard(struct registry *registry, bool shared, struct etw_error *err);

/* ---- the per-event path: for the thread that owns the shard ---- */

/*
 * The cells of a sample in one shard. Of a family with dynamic labels they are valid until the
 * owner of the shard is asked to forget them (struct shard_owner); without an owner, and of all
 * other families, until registry_free(). A counter has one cell; a gauge has a second one, for
 * cells_hold(); a histogram has its buckets (not cumulated, the last is +Inf), then the sum, then,
 * with native histograms, the address of their cells.
 */
typedef _Atomic(uint64_t) cell;

/*
 * The cells of the sample with these label values (ids in the order of the family's labels). A new
 * sample is made. Beyond a limit, the cells are those of the overflow series, and *each call counts
 * one event* in etw_exporter_series_overflow_total{metric}. So call it for each event, or keep the
 * cells only if *overflowed is false (it may be NULL). Returns NULL without memory, which also
 * counts as overflow.
 *
 * A label set of more than 4 KiB of text also belongs to the overflow series, and so does one that
 * would exceed the budget of 512 bytes of text for each series of the limit. Invalid bytes in a
 * value become U+FFFD, which is slow: clean values before they are interned.
 */
cell *family_cells(struct family *family, struct shard *shard, const uint32_t *ids,
		   bool *overflowed);

/*
 * Adds to a cell of a counter or histogram that only the calling thread writes. Behind 2^64 - 1 it
 * goes on from 0, as the sum over the shards does. Prometheus takes a counter that falls for one
 * that begins again, so a rate stays right, while a counter that stays at its end is lost until the
 * program is started again.
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

/* Adds to a cell of a gauge that only the calling thread writes. The amount is in two's complement,
 * so it may be negative. */
static inline void cell_move(cell *at, uint64_t amount)
{
	cell_add(at, amount);
}

/* family_cells() and an addition in one call. For counters; for histograms use family_observe(). */
void family_add(struct family *family, struct shard *shard, const uint32_t *ids, uint64_t amount);

/* Adds one observation to a histogram. */
void family_observe(struct family *family, struct shard *shard, const uint32_t *ids,
		    uint64_t value);
/* The same for cells that the caller has kept. */
void cells_observe(const struct family *family, struct shard *shard, cell *cells, uint64_t value);

/*
 * Sets a gauge (in two's complement, so it may be negative), or a counter whose value is kept
 * elsewhere. No other shard may write this sample. It is for statistics that are read at a scrape.
 */
void family_set(struct family *family, struct shard *shard, const uint32_t *ids, int64_t value);

/*
 * Keeps the cells of a gauge valid, until as many cells_release(), although it may be 0. A gauge
 * that is not 0 is valid anyway. For cells that only the calling thread writes.
 */
static inline void cells_hold(cell *cells)
{
	cell_move(&cells[1], 1);
}

static inline void cells_release(cell *cells)
{
	cell_move(&cells[1], UINT64_MAX);
}

/* Makes the sample with these label values, at 0, unless a limit is against it. It is never given
 * back. Any thread. */
void family_keep(struct family *family, const uint32_t *ids);

/*
 * Hides a sample of a gauge: the exposition leaves it out until it is set again (for an _info
 * metric whose object no longer exists). It is given back soon after.
 */
void family_hide(struct family *family, struct shard *shard, const uint32_t *ids);

/* Hides every sample of a gauge that this shard has set to another value than 0. */
void family_hide_all(struct family *family, const struct shard *shard);

/* ---- giving label sets back: for the thread that owns the shard ---- */

/*
 * Label sets of families with dynamic labels are given back when a family is nearly full and the
 * process that they name ended 10 minutes ago or more (or, without one, they did not change for so
 * long), when they did not change for limits.idle_100ns, and when they are hidden. Nothing waits
 * for a shard without an owner: it must not count in such families while others tend.
 */
struct shard_owner {
	void *context;
	/* Between two records: no cell of a family with dynamic labels is used again, except those
	 * of gauges that are held or not 0. */
	void (*forget_cells)(void *context);
	/* During shard_tend(): registry_alive() for the names of processes. */
	void (*report_alive)(void *context);
};

/* The owner of a shard begins, waiting for its first record; NULL: it has ended, before the next
 * one begins. Copied. */
void shard_attend(struct shard *shard, const struct shard_owner *owner);

/*
 * Before the owner uses the registry, that is before its first record and whenever registry_epoch()
 * is another than the one that the last call returned. It may call forget_cells.
 */
uint64_t shard_enter(struct shard *shard);
const _Atomic(uint64_t) *registry_epoch(const struct registry *registry); /* never 0 */

/* The owner is about to wait, so that nothing waits for it. shard_enter() comes next. */
void shard_leave(struct shard *shard);

/*
 * Looks for label sets to give back; call it between two records every ten seconds of event time.
 * before: time of the last record; now: of the next one; 100 ns since any moment. It includes
 * shard_enter().
 */
void shard_tend(struct shard *shard, int64_t before, int64_t now);

/* The process whose name is this label value was alive at a time; see shard_tend(). */
void registry_alive(struct registry *registry, uint32_t id, int64_t time);

/* Sets a gauge back to 0, as far as this shard has counted: nothing was counted while it was not
 * shown. */
void family_restart(struct family *family, const struct shard *shard);

/* Whether a cell is one of the family in this shard. */
bool family_has_cell(const struct family *family, const struct shard *shard, const cell *at);

/* ---- the scrape: any thread ---- */

/*
 * Adds a hook, which is called before each exposition, for one scrape at a time. It updates gauges
 * whose values are kept elsewhere (family_set() with a shard that only hooks use). There are at
 * most 16 hooks; add them before consumers start. A hook must not declare families or scrape.
 */
bool registry_on_scrape(struct registry *registry, void (*hook)(void *context), void *context,
			struct etw_error *err);

/* The sum of one sample over all shards, for tests and health metrics; for a histogram the sum of
 * observations. Returns false if there is no such sample. */
bool family_value(struct family *family, const uint32_t *ids, int64_t *value);

/* The number of samples of a family: one for each label set, also of a histogram; hidden ones are
 * included until they are given back. */
size_t family_series(const struct family *family);

/* The bytes that the registry has for a family and its samples. */
size_t family_memory(struct family *family);

/* Families that the registry adds itself: etw_exporter_series, for families that have reached a
 * limit etw_exporter_series_overflow_total{metric}, and for those that have given label sets back
 * etw_exporter_series_evicted_total{metric}. */

#endif

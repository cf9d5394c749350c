/* SPDX-License-Identifier: MIT */
/*
 * The structures of a registry, for the files of metrics/ only.
 *
 * Samples of a family have numbers in the order in which they are made; their label ids, cells and
 * rendered prefixes are in arrays indexed by that number. Numbers begin at 16. The arrays grow by
 * segments that never move: segment 4 has the numbers 16 to 31, segment 5 those from 32 to 63, and
 * so on. So readers need no lock; only the order of stores matters:
 *
 *   ids, then the slot of the table that names the sample      slot: release / acquire
 *   all slots of a new table, then the pointer to it           table: release / acquire
 *   ids, cells and text, then the pointer to the prefix        prefix: release / acquire
 *   prefix and slot, then the number of samples                sample_count: release / acquire
 *   a segment of cells, zeroed, then the pointer to it         segment: release / acquire
 *
 * An evicted sample (eviction.c) has no prefix until its number is used for other labels.
 *
 * Prefixes, and tables that a smaller set of samples has replaced, are on the heap, and eviction.c
 * frees them. All other memory is in the arena of the registry until registry_free(). A function
 * that allocates must hold the mutex of the registry.
 */
#ifndef METRICS_REGISTRY_INTERNAL_H
#define METRICS_REGISTRY_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/os.h"
#include "metrics/registry.h"

/* ---- memory of a registry ---- */

/*
 * Memory that is valid until the registry is freed: zeroed, aligned, freed only as a whole.
 *
 * Readers use this memory without a lock, so it must not move, and nothing is freed before the
 * registry is. Small pieces share blocks. A large piece has pages of its own, of which the system
 * adds only those that are used.
 */

/* Zero-initialise it. Only one thread may use it at a time. */
struct arena {
	struct arena_block *blocks; /* owned */
	char *at;                   /* free memory of the current block */
	size_t left;
	size_t next_block_size;
};

/* Returns zeroed memory that the arena owns; NULL without memory. size: bytes. align: a power of
 * two, at most 64. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);

/* Frees everything that was allocated. */
void arena_done(struct arena *arena);

/* ---- texts of a page that are rendered only once (texts.c) ---- */

/* Appends the HELP and TYPE lines. type: a word of family_type_name(). */
void text_add_family_head(struct etw_text *text, const char *name, const char *help,
			  const char *type);

/* Appends the label of a bucket up to the value, `le="0.005"} `. bound NULL: +Inf. canonical:
 * the number is written as OpenMetrics requires. */
void text_add_bucket(struct etw_text *text, const uint64_t *bound, unsigned decimals,
		     bool canonical);

/* ---- families, samples and shards ---- */

enum {
	SEGMENT_FIRST = 4,
	SEGMENT_COUNT = 24, /* so the number of a sample has at most 24 bits of its slot */
	SAMPLE_FIRST = 1 << SEGMENT_FIRST,
	SAMPLE_END = 1 << SEGMENT_COUNT,
	NO_SAMPLE = 0,

	NAME_SIZE_MAX = 200,
	PREFIX_SIZE_MAX = 4096,        /* longer label sets belong to the overflow series */
	PREFIX_BYTES_PER_SERIES = 512, /* budget for each series of the limits */
	HOOKS_MAX = 16,
	SERIES_PER_FAMILY = 2000, /* default limits */
	SERIES = 200000,
	/* One more slot, for the families about the registry itself, which a scrape updates. */
	SHARD_SLOTS = SHARDS_MAX + 1,
	COPY_BLOCK_SIZE = 32,
	RETIRED_MAX = 4096, /* the most samples that one batch evicts */
};

/* A gauge is hidden if its cell has this value. */
#define CELL_HIDDEN ((uint64_t)INT64_MIN)

/* The cells of a gauge: its value; then the number of cells_hold() without a cells_release(), and
 * in the upper half how often the value passed 2^63 (GAUGE_WRAP). */
enum { GAUGE_VALUE, GAUGE_HOLDS, GAUGE_CELLS };

/* The sum of a gauge over its shards: value + wraps * 2^64. */
struct gauge_sum {
	uint64_t value;
	int64_t wraps;
};

/* Adds the cells of one shard. Returns false if they hide the gauge. */
static inline bool gauge_sum_add(struct gauge_sum *sum, const cell *cells)
{
	uint64_t one = atomic_load_explicit(&cells[GAUGE_VALUE], memory_order_relaxed);
	uint64_t holds = atomic_load_explicit(&cells[GAUGE_HOLDS], memory_order_relaxed);
	uint64_t after = sum->value + one;

	if (one == CELL_HIDDEN) {
		return false;
	}
	sum->wraps += (int32_t)(uint32_t)(holds / GAUGE_WRAP);
	if (((sum->value ^ after) & (one ^ after)) >> 63 != 0) {
		sum->wraps += one >> 63 != 0 ? -1 : 1;
	}
	sum->value = after;
	return true;
}

/* Returns the sum, or the nearest number that a page can show. */
static inline int64_t gauge_sum_value(const struct gauge_sum *sum)
{
	return sum->wraps > 0 ? INT64_MAX : sum->wraps < 0 ? -INT64_MAX : (int64_t)sum->value;
}

/*
 * A hash table of samples. A bucket has two slots; the first is in its low half and is filled
 * first. A slot has 8 bits of the hash above the number of the sample; 0 is a free slot.
 */
struct sample_table {
	struct sample_table
		*older; /* owned; the tables before, which other threads may still read; mutex */
	size_t mask;    /* bucket count - 1; the count is a power of two */
	_Atomic(uint64_t) buckets[];
};

/*
 * The rendered prefix of a sample, without the start that all samples of its family share
 * (family->common). Together they are, for a counter or gauge, `name{a="x",b="y"} `, of which
 * `x",b="y"} ` is stored here. For a histogram they are the text between the name and the `le`
 * label: `{a="x",b="y",`.
 */
struct prefix {
	uint16_t size;
	char text[];
};

/* The state of a sample in a family with dynamic labels, for eviction.c. */
enum life_state {
	LIFE_KEPT,    /* never evicted: an overflow series, or a sample of family_keep() */
	LIFE_COUNTED, /* counts against the limits, and may be evicted */
	LIFE_RETIRED, /* in the batch to evict, and no longer in the table */
	LIFE_FREE,    /* evicted; its number can be used for other labels */
};

/* What eviction.c knows of such a sample. Only the thread that tends writes it, or the one that
 * makes the sample before it is published. */
struct sample_life {
	/* Event time of the last change that an examination noticed: seconds, rounded up, plus 1,
	 * modulo 2^32. CHANGE_UNKNOWN: the sample was never examined. */
	uint32_t changed;
	/* The low half of the sum of all cells at the last examination; LIFE_FREE: the next free
	 * number. */
	uint32_t sum;
};

enum { CHANGE_UNKNOWN = 0 };

struct shard {
	struct registry *registry;
	size_t index;
	bool shared;
	/* The members below are explained in eviction.c. */
	struct shard_owner owner; /* forget_cells NULL: the shard has no owner */
	uint64_t passed;        /* used by the owner only: it has no cells from before this epoch */
	_Atomic(uint64_t) seen; /* the epoch that the owner has seen; 0: it waits for records */
	/* The members below are explained in exchange.c. */
	struct shard *held;       /* has the gauges that this shard holds; NULL: none so far */
	struct shard *held_of;    /* this shard has the gauges that that one holds */
	_Atomic(bool) is_holding; /* pages show held in place of this shard */
};

/* The cells of one shard in one family. */
struct family_shard {
	_Atomic(cell *) segments[SEGMENT_COUNT];
};

/* An empty struct for shards that have not counted in a family yet. */
extern struct family_shard family_no_cells;

struct bucket_text {
	const char *text; /* `le="0.005"} ` */
	size_t size;
};

struct family {
	/* Used on the per-event path. */
	_Atomic(struct sample_table *) table;
	uint32_t label_count;
	uint32_t cells_per_sample;
	_Atomic(struct family_shard *) shards[SHARD_SLOTS]; /* never NULL, see family_no_cells */
	uint32_t *ids[SEGMENT_COUNT]; /* rows of label_count ids; published by the slots of their
					 samples */
	uint32_t slots_used; /* slots in use in the table, those of retired samples included; mutex
			      */
	struct registry *registry;
	const uint64_t *buckets; /* owned by the arena; bucket_count upper bounds */
	size_t bucket_count;
	const struct native_scale *native; /* NULL: no native histograms */

	/*
	 * The family is on the pages of the generations from shown_from on, up to but without
	 * shown_until (exchange.c). They are stored before the registry's generation, with release,
	 * and read after it, with acquire.
	 */
	_Atomic(uint32_t) shown_from, shown_until;
	bool coming; /* set while sets are exchanged: the next generation shows the family; mutex */
	uint32_t coming_max_series; /* max_series to use when the family is shown; mutex */

	/* The declaration, which is constant except for max_series. */
	_Atomic(struct family *) next; /* the next family in the order of names */
	const char *name;
	size_t name_size;
	const char *label_names[FAMILY_LABELS_MAX];
	enum family_type type;
	unsigned decimals;
	uint32_t dynamic_labels;
	_Atomic(uint32_t) max_series; /* a reload may change it: exchange.c */
	bool own_max_series; /* max_series was declared; otherwise it is that of the registry */
	const char *head;    /* the HELP and TYPE lines */
	size_t head_size;
	/* The text with which the prefixes of all samples begin, followed by zeros up to a
	 * multiple of COPY_BLOCK_SIZE. */
	const char *common;
	size_t common_size;
	const struct bucket_text *bucket_texts; /* bucket_count + 1 texts, +Inf included */
	const struct bucket_text *canonical_bucket_texts; /* the same in the form of OpenMetrics */

	/* Read by scrapes without the mutex; written with it. */
	_Atomic(uint32_t) sample_count; /* numbers that were ever used, from SAMPLE_FIRST on */
	/* Owned texts; NULL: the sample was evicted. sample_count publishes the segments, and
	 * those of the next three members. */
	_Atomic(struct prefix *) *prefixes[SEGMENT_COUNT];
	/* Both NULL for a family without dynamic labels. The states (enum life_state) are written
	 * with the mutex. */
	struct sample_life *lives[SEGMENT_COUNT];
	_Atomic(uint8_t) *states[SEGMENT_COUNT];
	/* When each sample was made, in tenths of a second after the registry; for counters and
	 * histograms only. */
	_Atomic(uint32_t) *created[SEGMENT_COUNT];

	/* Written with the mutex. The counts are also read without it, as hints, so that
	 * checking a limit does not take the mutex. */
	_Atomic(uint32_t) live_count;     /* samples on the page */
	_Atomic(uint32_t) limited_count;  /* samples that count against max_series */
	_Atomic(uint32_t) overflow_count; /* samples made because of a limit */
	uint32_t free_sample;             /* the first number to reuse; NO_SAMPLE: none */
	_Atomic(bool) hides;              /* the family is a gauge that may have hidden samples */

	_Atomic(uint64_t) overflow; /* events counted in the overflow series */
	_Atomic(uint64_t) evicted;  /* samples that were on the page and were evicted */
};

/* ---- evicting samples; eviction.c explains the steps ---- */

/* A scrape that walks over samples, in a list of all. It is on the stack of its thread. */
struct scrape {
	uint64_t start; /* value of the registry's scrape clock at its start */
	struct scrape *next, **link;
};

struct retired_sample {
	struct family *family;
	struct prefix *prefix; /* owned, once it is off the page */
	uint32_t sample;
	uint64_t sum; /* sum of its cells when it was chosen */
};

/* How far the eviction of the batch is. */
enum batch_stage {
	BATCH_NONE,
	BATCH_RETIRED, /* the batch waits for the consumers, which may have the cells in a cache */
	BATCH_HIDDEN,  /* the batch waits for the scrapes that may have read the prefixes */
};

struct eviction {
	_Atomic(uint64_t) epoch; /* from 1; it rises when consumers must forget their cells */
	_Atomic(bool) tending;   /* one thread examines samples, or advances the batch */
	_Atomic(bool) pending;   /* there is a batch */
	uint64_t idle_100ns;     /* from the limits; UINT64_MAX: never */
	/* The members below are used with the mutex of the registry. */
	enum batch_stage stage;
	struct retired_sample *batch; /* owned; room for RETIRED_MAX samples */
	size_t batch_count;
	struct sample_table **tables; /* owned; the former tables of the families in the batch */
	size_t table_count, table_capacity;
	uint64_t scrape_clock;
	uint64_t hidden_at;     /* scrape clock when BATCH_HIDDEN began */
	struct scrape *scrapes; /* running scrapes; the newest first */
};

struct scrape_hook {
	void (*run)(void *context);
	void *context;
};

struct registry {
	struct registry_limits limits;
	uint64_t made_ms;       /* wall time at which the registry was made; ms since 1970 */
	struct intern *strings; /* owned */
	uint32_t other, unknown, none;

	_Atomic(struct family *) families; /* the first family by name; see family_shown() */
	_Atomic(uint32_t) generation;      /* rises with each exchange of families */
	_Atomic(uint32_t) series_limit;    /* limits.series, for readers without the mutex */
	_Atomic(uint32_t)
		series; /* sum of limited_count of all shown families; written with the mutex */

	struct os_mutex mutex; /* held to add families, samples, cells or shards, and for the
				  members below */
	struct arena arena;
	/* Owned; all families, shown or not, in the order of the list, so that names are found by a
	 * binary search. */
	struct family **by_name;
	size_t family_count, family_capacity;
	/* Budget of text for label sets that count against a limit; also read without the mutex,
	 * as a hint. */
	_Atomic(size_t) prefix_bytes; /* the whole budget in bytes */
	_Atomic(size_t) prefix_bytes_left;
	struct shard *shards[SHARD_SLOTS];
	_Atomic(unsigned) shard_count; /* see registry_shards() */

	struct eviction eviction;

	struct os_mutex scrape_mutex; /* held while the hooks run, one scrape at a time */
	struct scrape_hook hooks[HOOKS_MAX];
	size_t hook_count;
	struct shard *self; /* shard for the families about the registry; used with scrape_mutex */
	struct native_scale *native_scales[DECIMALS_MAX + 1]; /* by decimals; NULL until needed */
	struct family *series_family;
	struct family *overflow_family;
	struct family *evicted_family;
};

/* A value of shown_from or shown_until that no generation reaches. */
#define NEVER_SHOWN UINT32_MAX

/* Returns whether the pages of a generation have the family. */
static inline bool family_shown(const struct family *family, uint32_t generation)
{
	/* Both pair with the releases in exchange.c. The order matters: when a family is shown
	 * again, its new shown_from is stored before shown_until is raised. */
	return generation < atomic_load_explicit(&family->shown_until, memory_order_acquire) &&
	       atomic_load_explicit(&family->shown_from, memory_order_acquire) <= generation;
}

static inline uint32_t registry_generation(const struct registry *registry)
{
	/* Pairs with the release in registry_exchange(). */
	return atomic_load_explicit(&registry->generation, memory_order_acquire);
}

/* Returns the next family by name, shown or not; for NULL the first one. NULL after the last. */
static inline struct family *next_declared(struct registry *registry, struct family *family)
{
	/* Pairs with the release in link_family(). */
	return atomic_load_explicit(family ? &family->next : &registry->families,
				    memory_order_acquire);
}

/* Returns the next family that the present generation shows; for NULL the first one. NULL after
 * the last. */
static inline struct family *next_shown(struct registry *registry, struct family *family)
{
	uint32_t generation = registry_generation(registry);

	do {
		family = next_declared(registry, family);
	} while (family && !family_shown(family, generation));
	return family;
}

/*
 * Call it with the mutex: counts one more sample of the family against the limits, or one fewer.
 * Only shown families count against the limit of all families; registry_exchange() adds or
 * subtracts all samples of a family.
 */
static inline void family_count_limited(struct family *family, bool counts)
{
	uint32_t by = counts ? 1 : UINT32_MAX; /* -1 */

	atomic_fetch_add_explicit(&family->limited_count, by, memory_order_relaxed);
	if (family_shown(family, registry_generation(family->registry))) {
		atomic_fetch_add_explicit(&family->registry->series, by, memory_order_relaxed);
	}
}

/* Call it with the mutex. Returns the family with this name in the present generation, or, if
 * `coming`, among those that will be shown next; NULL if there is none. */
struct family *registry_find_coming(struct registry *registry, const char *name, bool coming);

/* Call it with the mutex: changes the limits that a reload can change. */
void registry_take_limits(struct registry *registry, const struct registry_limits *limits);

/* Call it with the mutex. Returns the name of a family (chosen as above) that conflicts with a
 * family of this name and type, because both would use one name; NULL if there is none. */
const char *registry_name_taken(struct registry *registry, const char *name, enum family_type type,
				bool coming);

/* Returns the segment of a sample, and sets *index to its index there. */
static inline unsigned segment_of(uint32_t sample, uint32_t *index)
{
	unsigned segment = 31u ^ (unsigned)__builtin_clz(sample);

	*index = sample ^ (1u << segment);
	return segment;
}

/*
 * Returns the number of shards; all shards that have counted are below it. Without the mutex the
 * number may lack a shard that was just added, as if its first counts came a moment later.
 */
static inline unsigned registry_shards(const struct registry *registry)
{
	return atomic_load_explicit(&registry->shard_count, memory_order_relaxed);
}

/* Returns the cells of a shard for a segment; NULL if the shard has none there. */
static inline cell *family_segment(const struct family *family, size_t shard, unsigned segment)
{
	/* Both pair with the releases in family_make_segment(). */
	struct family_shard *cells =
		atomic_load_explicit(&family->shards[shard], memory_order_acquire);

	return atomic_load_explicit(&cells->segments[segment], memory_order_acquire);
}

/* Returns the cells of a shard that pages show; NULL if there are none. Those of a gauge may be
 * held (exchange.c). The flag is read once, so that no page adds both or neither. */
static inline cell *shown_cells(const struct family *family, size_t index, unsigned segment)
{
	cell *cells = family_segment(family, index, segment);
	const struct shard *shard;

	if (!cells || family->type != FAMILY_GAUGE) {
		return cells;
	}
	/* The struct of a shard is visible when it has cells. */
	shard = family->registry->shards[index];
	if (shard->held_of) {
		return NULL;
	}
	/* Pairs with the release in shard_hold_gauges(): held and the copies are visible. */
	return atomic_load_explicit(&shard->is_holding, memory_order_acquire) ?
		       family_segment(family, shard->held->index, segment) :
		       cells;
}

/* native_buckets.c; call it with the mutex: returns the scale of families with these decimals.
 * NULL without memory. */
const struct native_scale *registry_native_scale(struct registry *registry, unsigned decimals);

/* Returns the prefix of a sample whose number is not above sample_count; NULL if it was evicted. */
static inline const struct prefix *sample_prefix(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	/* Pairs with the release in begin_sample(). */
	return atomic_load_explicit(&family->prefixes[segment][index], memory_order_acquire);
}

/* Returns the state of a sample. */
static inline enum life_state sample_state(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return family->dynamic_labels != 0 ?
		       (enum life_state)atomic_load_explicit(&family->states[segment][index],
							     memory_order_relaxed) :
		       LIFE_KEPT;
}

/* Call it with the mutex: sets the state of a sample in a family with dynamic labels. */
static inline void sample_set_state(const struct family *family, uint32_t sample,
				    enum life_state state)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	atomic_store_explicit(&family->states[segment][index], (uint8_t)state,
			      memory_order_relaxed);
}

/* samples.c; call it with the mutex: returns the cells of a segment, which are made if the shard
 * uses it for the first time. NULL without memory. */
cell *family_make_segment(struct family *family, const struct shard *shard, unsigned segment);
/* samples.c; call it with the mutex: makes an empty table. Returns false without memory. */
bool family_make_table(struct family *family);
/*
 * samples.c; call it with the mutex: replaces the table by one of the same size without the samples
 * that are retired or free. Returns the old table, which other threads may still read, or NULL
 * without memory.
 */
struct sample_table *family_shrink_table(struct family *family);
void family_free_tables(struct sample_table *table);
/* samples.c; call it with the mutex: puts a retired sample into the table again, so that it
 * counts against the limits. */
void family_put_back(struct family *family, uint32_t sample);
/* samples.c: frees the memory of a family that is not in the arena. */
void family_free(struct family *family);

/* Runs the hooks and updates the families about the registry itself. The caller holds
 * scrape_mutex. */
void registry_refresh(struct registry *registry);

/* eviction.c */
void eviction_init(struct registry *registry);
void eviction_done(struct registry *registry);

/* Mark the start and end of a scrape. In between, every prefix that it reads stays valid. */
void scrape_begin(struct registry *registry, struct scrape *scrape);
void scrape_end(struct registry *registry, struct scrape *scrape);

/* ---- native histograms ---- */

/*
 * Native histograms: counts in the exponential buckets of Prometheus' schema 3, beside the classic
 * buckets of a family. Only files of metrics/ may use it.
 *
 * The bucket with index i contains the values above 2^((i-1)/8) up to 2^(i/8). As values are
 * integers of 64 bits, 513 indices are possible; together with the bucket of 0 they are the
 * *positions*. The counts of a sample in one shard are in pages of a few positions. A page is made
 * when a value first belongs there, never moves, and is freed with the registry. So one thread
 * counts without a lock while others read.
 *
 * Source: "Native Histograms", prometheus.io; prometheus/client_model
 * `io/prometheus/client/metrics.proto`.
 */

enum {
	NATIVE_SCHEMA = 3, /* 2^3 buckets for each power of two */
	NATIVE_POSITIONS = 514,
	NATIVE_PAGE_POSITIONS = 16, /* 128 bytes */
	NATIVE_PAGES = (NATIVE_POSITIONS + NATIVE_PAGE_POSITIONS - 1) / NATIVE_PAGE_POSITIONS,
	NATIVE_BUCKETS_MAX =
		160, /* the most that a scrape shows; the limit that client libraries recommend */
};

/* Maps integers to positions. It depends only on the decimals of a family. */
struct native_scale {
	int first_index; /* index of the bucket of position 1 */
	/* Indexed by the highest five bits of a value: the position of the smallest value with
	 * these bits. The others are at the same position or the next one. */
	uint16_t first[64 * 16];
	uint64_t bounds[NATIVE_POSITIONS]; /* the greatest integer at each position */
};

/* decimals: 0 to 9. */
void native_scale_init(struct native_scale *scale, unsigned decimals);

static inline unsigned native_position(const struct native_scale *scale, uint64_t value)
{
	unsigned power, position;

	if (value == 0) {
		return 0;
	}
	power = 63u ^ (unsigned)__builtin_clzll(value);
	position = scale->first[power << 4 | ((value << (63 - power)) >> 59 & 15)];
	return position + (value > scale->bounds[position]);
}

/* The counts of a sample in one shard; pages that are not made yet are NULL. */
struct native_cells {
	_Atomic(cell *) pages[NATIVE_PAGES];
};

/*
 * Returns the cell that counts a position; NULL if it is not made yet. `at` is the cell of the
 * sample that holds the address of its struct native_cells, or 0.
 */
static inline cell *native_cell(const cell *at, unsigned position)
{
	/* Both pair with the releases in native_make(). */
	const struct native_cells *cells =
		(const struct native_cells *)(uintptr_t)atomic_load_explicit(at,
									     memory_order_acquire);
	cell *page = cells ? atomic_load_explicit(&cells->pages[position / NATIVE_PAGE_POSITIONS],
						  memory_order_acquire) :
			     NULL;

	return page ? page + position % NATIVE_PAGE_POSITIONS : NULL;
}

/*
 * Makes the cell of a position. Any thread may call it. Returns NULL without memory; the sample
 * then has no native histogram any more, because one that lacks observations would be wrong.
 */
cell *native_make(struct registry *registry, cell *at, unsigned position);

/* Sets the counts of a sample in one shard to 0, so that another label set can use them. No
 * other thread may use the cells. */
void native_clear(cell *at);

/* The native histogram of a sample as a scrape shows it. */
struct native_histogram {
	int schema; /* NATIVE_SCHEMA, or lower if there would be more than NATIVE_BUCKETS_MAX
		       buckets */
	uint64_t zero_count;
	uint64_t count; /* sum of all buckets, that of 0 included */
	unsigned bucket_count;
	struct native_bucket {
		int index;
		uint64_t count;        /* above 0, not cumulated */
	} buckets[NATIVE_BUCKETS_MAX]; /* in the order of indices */
};

/*
 * Adds up the counts of a sample in shard_count shards. cells[i]: the first cell of its family's
 * segment in shard i; index: that of the cell with the address. Returns false if the sample has no
 * native histogram, for lack of memory.
 */
bool native_read(const struct native_scale *scale, cell *const *cells, unsigned shard_count,
		 size_t index, struct native_histogram *histogram);

#endif

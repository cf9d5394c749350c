/* SPDX-License-Identifier: MIT */
/*
 * The structures of a registry, for the files of metrics/ only.
 *
 * Samples of a family have numbers in the order in which they are made, and their label ids, cells
 * and rendered prefixes are in arrays by that number. Numbers begin at 16. The arrays grow by
 * segments that never move: segment 4 has the numbers 16 to 31, segment 5 those from 32 to 63, and
 * so on. So readers need no lock; only the order of stores matters:
 *
 *   ids, then the slot of the table that names the sample      slot: release / acquire
 *   all slots of a new table, then the pointer to it           table: release / acquire
 *   ids, cells and text, then the pointer to the prefix        prefix: release / acquire
 *   prefix and slot, then the number of samples                sample_count: release / acquire
 *   a segment of cells, zeroed, then the pointer to it         segment: release / acquire
 *
 * A sample that is given back (eviction.c) has no prefix until its number is used for other labels.
 *
 * Prefixes, and tables that a smaller set of samples has replaced, are on the heap, and eviction.c
 * frees them. All other memory is in the arena of the registry until registry_free(). A function
 * that allocates holds the mutex of the registry.
 */
#ifndef METRICS_REGISTRY_INTERNAL_H
#define METRICS_REGISTRY_INTERNAL_H

#include "base/decimal.h"
#include "base/os.h"
#include "metrics/arena.h"
#include "metrics/registry.h"

enum {
	SEGMENT_FIRST = 4,
	SEGMENT_COUNT = 24,
	SAMPLE_BITS = 24, /* of a slot: the number of a sample */
	SAMPLE_FIRST = 1 << SEGMENT_FIRST,
	SAMPLE_END = 1 << SEGMENT_COUNT,
	NO_SAMPLE = 0,

	NAME_SIZE_MAX = 200,
	PREFIX_SIZE_MAX = 4096,        /* longer label sets belong to the overflow series */
	PREFIX_BYTES_PER_SERIES = 512, /* budget for each series of the limits */
	HOOKS_MAX = 16,
	SERIES_PER_FAMILY = 2000, /* limits where none is given */
	SERIES = 200000,
	/* One more is for the families about the registry itself, which a scrape updates. */
	SHARD_SLOTS = SHARDS_MAX + 1,
	RETIRED_MAX = 4096, /* samples that are given back at once */
};

/* A gauge whose cell holds this is hidden. */
#define CELL_HIDDEN ((uint64_t)INT64_MIN)

/* Of a gauge: the value, then how many cells_hold() are in force. */
enum { GAUGE_VALUE, GAUGE_HOLDS, GAUGE_CELLS };

/* A sample that was never looked at. */
#define TIME_UNKNOWN INT64_MIN

/*
 * A bucket has two slots; the first is in its low half and is filled first. A slot has 8 bits of
 * the hash above the number of the sample; 0 is a free slot.
 */
struct sample_table {
	struct sample_table *older; /* owned: the smaller ones, which may still be read; mutex */
	size_t mask;                /* buckets - 1; buckets are a power of two */
	_Atomic(uint64_t) buckets[];
};

/*
 * The rendered prefix of a sample. That of a counter or gauge is `name{a="x",b="y"} `. That of a
 * histogram is the text between the name and the `le` label: `{a="x",b="y",`.
 */
struct prefix {
	uint16_t size;
	char text[];
};

/* What eviction.c knows of a sample of a family with dynamic labels. */
enum life_state {
	LIFE_KEPT,    /* never given back: an overflow series, or one of family_keep() */
	LIFE_COUNTED, /* counts against the limits, and may be given back */
	LIFE_RETIRED, /* in the batch, no longer in the table */
	LIFE_FREE,    /* its number waits for other labels */
};

struct sample_life {
	/* Written by the thread that tends, or before the sample is published. */
	uint64_t sum;    /* of all cells when they were last looked at; LIFE_FREE: the next free */
	int64_t changed; /* time of the last change, as far as it was looked at; 100 ns */
	_Atomic(uint8_t) state; /* enum life_state; written with the mutex */
};

struct shard {
	struct registry *registry;
	size_t index;
	bool shared;
	/* See eviction.c. */
	struct shard_owner owner; /* forget_cells NULL: none */
	uint64_t passed;          /* the owner's: it has no older cells */
	_Atomic(uint64_t) seen;   /* the epoch that its owner has passed; 0: it waits */
};

/* The cells of one shard in one family. */
struct family_shard {
	_Atomic(cell *) segments[SEGMENT_COUNT];
};

/* For a shard that has not counted in a family yet. */
extern struct family_shard family_no_cells;

struct bucket_text {
	const char *text; /* `le="0.005"} ` */
	size_t size;
};

struct family {
	/* The per-event path. */
	_Atomic(struct sample_table *) table;
	uint32_t label_count;
	uint32_t cells_per_sample;
	_Atomic(struct family_shard *) shards[SHARD_SLOTS]; /* never NULL, see family_no_cells */
	uint32_t *ids[SEGMENT_COUNT]; /* rows of label_count; published by the slots that name their
					 samples */
	uint32_t slots_used; /* of the table, those of retired samples too; with the mutex */
	struct registry *registry;
	const uint64_t *buckets; /* bucket_count bounds */
	size_t bucket_count;
	const struct native_scale *native; /* NULL: no native histograms */

	/*
	 * The family is on the pages of the generations from shown_from up to, not with,
	 * shown_until (exchange.c). They are stored before the registry's generation, with release,
	 * and read after it, with acquire.
	 */
	_Atomic(uint32_t) shown_from, shown_until;
	bool coming;                /* used with the mutex, while sets are exchanged */
	uint32_t coming_max_series; /* likewise: in force when the family is shown */

	/* The declaration; constant. */
	_Atomic(struct family *) next; /* in the order of names */
	const char *name;
	size_t name_size;
	const char *label_names[FAMILY_LABELS_MAX];
	enum family_type type;
	unsigned decimals;
	uint32_t dynamic_labels;
	_Atomic(uint32_t) max_series; /* a reload may change it: exchange.c */
	bool own_max_series;          /* it is the family's, not that of the registry */
	const char *head;             /* the HELP and TYPE lines */
	size_t head_size;
	const struct bucket_text *bucket_texts;           /* bucket_count + 1, with +Inf */
	const struct bucket_text *canonical_bucket_texts; /* the same for OpenMetrics */

	/* A scrape reads these members; they are written with the mutex. */
	_Atomic(uint32_t) sample_count; /* numbers that were ever used */
	/* Owned texts; NULL: given back. The segments are published by sample_count, as are the
	 * next two. */
	_Atomic(struct prefix *) *prefixes[SEGMENT_COUNT];
	struct sample_life *lives[SEGMENT_COUNT]; /* NULL without dynamic labels */
	/* When each sample began, ms since 1970; of counters and histograms. */
	_Atomic(uint64_t) *created_ms[SEGMENT_COUNT];

	/* Written with the mutex. The counts are also read without it, as hints, so that a limit
	 * does not need the mutex. */
	_Atomic(uint32_t) live_count;     /* samples on the page */
	_Atomic(uint32_t) limited_count;  /* samples that count against max_series */
	_Atomic(uint32_t) overflow_count; /* samples made because of a limit */
	uint32_t free_sample;             /* the first number to use again; NO_SAMPLE: none */
	_Atomic(bool) hides;              /* a gauge that may have hidden samples */

	_Atomic(uint64_t) overflow; /* events counted in the overflow series */
	_Atomic(uint64_t) evicted;  /* samples that were on the page and were given back */
};

/* ---- giving samples back; eviction.c has the whole picture ---- */

/* A scrape that walks the samples; on the stack of its thread. */
struct scrape {
	uint64_t start; /* on the scrape clock of the registry */
	struct scrape *next, **link;
};

struct retired_sample {
	struct family *family;
	struct prefix *prefix; /* owned; once it is off the page */
	uint32_t sample;
	uint64_t sum; /* when it was chosen */
};

/* Where the batch is. */
enum batch_stage {
	BATCH_NONE,
	BATCH_RETIRED, /* waits for the consumers: they may have the cells in a cache */
	BATCH_HIDDEN,  /* waits for the scrapes that may have read the prefixes */
};

struct eviction {
	_Atomic(uint64_t) epoch; /* from 1; rises when consumers must forget their cells */
	_Atomic(bool) tending;   /* a thread looks at the samples, or moves the batch on */
	_Atomic(bool) pending;   /* there is a batch */
	uint64_t idle_100ns;     /* of the limits; UINT64_MAX: never */
	/* With the mutex of the registry. */
	enum batch_stage stage;
	struct retired_sample *batch; /* owned; RETIRED_MAX */
	size_t batch_count;
	struct sample_table **tables; /* owned; replaced, of the families of the batch */
	size_t table_count, table_capacity;
	uint64_t scrape_clock;
	uint64_t hidden_at;     /* on the scrape clock: BATCH_HIDDEN began */
	struct scrape *scrapes; /* that run; the newest first */
};

struct scrape_hook {
	void (*run)(void *context);
	void *context;
};

struct registry {
	struct registry_limits limits;
	struct intern *strings; /* owned */
	uint32_t other, unknown, none;

	_Atomic(struct family *) families; /* the first by name; see family_shown() */
	_Atomic(uint32_t) generation;      /* rises with each exchange of families */
	_Atomic(uint32_t) series_limit;    /* limits.series, for readers without the mutex */
	_Atomic(uint32_t) series;          /* limited_count of all families that are shown; mutex */

	struct os_mutex
		mutex; /* guards adding families, samples, cells, writers; and what follows */
	struct arena arena;
	/* Of label sets that count against a limit; also read without the mutex, as a hint. */
	_Atomic(size_t) prefix_bytes; /* the budget of text */
	_Atomic(size_t) prefix_bytes_left;
	struct shard *shards[SHARD_SLOTS];
	_Atomic(unsigned) shard_count; /* see registry_shards() */

	struct eviction eviction;

	struct os_mutex scrape_mutex; /* one run of the hooks at a time */
	struct scrape_hook hooks[HOOKS_MAX];
	size_t hook_count;
	struct shard *self;                                   /* used with scrape_mutex */
	struct native_scale *native_scales[DECIMALS_MAX + 1]; /* by decimals; made when needed */
	struct family *series_family;
	struct family *overflow_family;
	struct family *evicted_family;
};

/* From this generation on no page has the family. */
#define NEVER_SHOWN UINT32_MAX

/* Whether the pages of a generation have the family. Another set may be in force later. */
static inline bool family_shown(const struct family *family, uint32_t generation)
{
	/* Pair with the releases in exchange.c. In this order: a family that is shown again has its
	 * new beginning before it has no end any more. */
	return generation < atomic_load_explicit(&family->shown_until, memory_order_acquire) &&
	       atomic_load_explicit(&family->shown_from, memory_order_acquire) <= generation;
}

static inline uint32_t registry_generation(const struct registry *registry)
{
	/* Pairs with the release in registry_exchange(). */
	return atomic_load_explicit(&registry->generation, memory_order_acquire);
}

/* The next family by name, shown or not; for NULL the first one. */
static inline struct family *next_declared(struct registry *registry, struct family *family)
{
	/* Pairs with the release in link_family(). */
	return atomic_load_explicit(family ? &family->next : &registry->families,
				    memory_order_acquire);
}

/* The next family of the present generation; for NULL the first one. */
static inline struct family *next_shown(struct registry *registry, struct family *family)
{
	uint32_t generation = registry_generation(registry);

	do {
		family = next_declared(registry, family);
	} while (family && !family_shown(family, generation));
	return family;
}

/*
 * With the mutex: a sample of the family begins to count against the limits, or counts no longer.
 * The limit of all families is for those that are shown; registry_exchange() adds or takes off all
 * samples of the others.
 */
static inline void family_count_limited(struct family *family, bool counts)
{
	uint32_t by = counts ? 1 : UINT32_MAX; /* -1 */

	atomic_fetch_add_explicit(&family->limited_count, by, memory_order_relaxed);
	if (family_shown(family, registry_generation(family->registry))) {
		atomic_fetch_add_explicit(&family->registry->series, by, memory_order_relaxed);
	}
}

/* With the mutex. The family with this name in the present generation, or among those that are
 * coming; NULL: none. */
struct family *registry_find_coming(struct registry *registry, const char *name, bool coming);

/* With the mutex: puts the limits that a reload can change in force. */
void registry_take_limits(struct registry *registry, const struct registry_limits *limits);

/* With the mutex. The name of a family, as above, that has one of the names which a family of this
 * name and type would take; NULL: none. */
const char *registry_name_taken(struct registry *registry, const char *name, enum family_type type,
				bool coming);

/* The place of a sample. */
static inline unsigned segment_of(uint32_t sample, uint32_t *index)
{
	unsigned segment = 31u ^ (unsigned)__builtin_clz(sample);

	*index = sample ^ (1u << segment);
	return segment;
}

/*
 * How many shards there are: what has counted is below it. Without the mutex the number may lack
 * one that has just come, as if its first counts came a moment later.
 */
static inline unsigned registry_shards(const struct registry *registry)
{
	return atomic_load_explicit(&registry->shard_count, memory_order_relaxed);
}

/* The cells of a shard for a segment; NULL if the shard has none there. */
static inline cell *family_segment(const struct family *family, size_t shard, unsigned segment)
{
	/* Both pair with the releases in make_segment(). */
	struct family_shard *cells =
		atomic_load_explicit(&family->shards[shard], memory_order_acquire);

	return atomic_load_explicit(&cells->segments[segment], memory_order_acquire);
}

/* native_buckets.c: the scale of families with so many decimals; call it with the mutex. NULL
 * without memory. */
const struct native_scale *registry_native_scale(struct registry *registry, unsigned decimals);

/* The prefix of a sample whose number is not above sample_count; NULL: it was given back. */
static inline const struct prefix *sample_prefix(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	/* Pairs with the release in begin_sample(). */
	return atomic_load_explicit(&family->prefixes[segment][index], memory_order_acquire);
}

/* NULL in a family without dynamic labels. */
static inline struct sample_life *sample_life(const struct family *family, uint32_t sample)
{
	uint32_t index;
	unsigned segment = segment_of(sample, &index);

	return family->lives[segment] ? &family->lives[segment][index] : NULL;
}

/* samples.c: makes an empty table; call it with the mutex. Returns false without memory. */
bool family_make_table(struct family *family);
/*
 * samples.c, with the mutex: replaces the table by one of the same size without the samples that
 * are retired or free. Returns the old table, which other threads may still read, or NULL without
 * memory.
 */
struct sample_table *family_shrink_table(struct family *family);
void family_free_tables(struct sample_table *table);
/* samples.c, with the mutex: a retired sample is in the table again and counts against the limits.
 */
void family_put_back(struct family *family, uint32_t sample);
/* samples.c: frees what is not in the arena. */
void family_free(struct family *family);

/* Runs the hooks and updates the families about the registry itself. */
void registry_refresh(struct registry *registry);

/* eviction.c */
void eviction_init(struct registry *registry);
void eviction_done(struct registry *registry);

/* A scrape begins, and ends. In between it may use any prefix that it reads. */
void scrape_begin(struct registry *registry, struct scrape *scrape);
void scrape_end(struct registry *registry, struct scrape *scrape);

#endif

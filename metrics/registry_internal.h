/* SPDX-License-Identifier: MIT */
/*
 * The structures of a registry, for registry.c, samples.c and exposition.c only.
 *
 * Samples of a family have numbers in the order in which they are made, and their label ids, cells
 * and rendered prefixes are in arrays by that number. Numbers begin at 16. The arrays grow by
 * segments that never move: segment 4 has the numbers 16 to 31, segment 5 those from 32 to 63, and
 * so on. So readers need no lock; only the order of stores matters:
 *
 *   ids, then the slot of the table that names the sample      slot: release / acquire
 *   all slots of a grown table, then the pointer to it         table: release / acquire
 *   ids, prefix and slot, then the number of samples           sample_count: release / acquire
 *   a segment of cells, zeroed, then the pointer to it         segment: release / acquire
 *
 * All memory is in the arena of the registry until registry_free(). A function that allocates holds
 * the mutex of the registry.
 */
#ifndef METRICS_REGISTRY_INTERNAL_H
#define METRICS_REGISTRY_INTERNAL_H

#include "base/os.h"
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
	/* One more is for the families about the registry itself, which a scrape updates. */
	SHARD_SLOTS = SHARDS_MAX + 1,
};

/* A gauge whose cell holds this is hidden. */
#define CELL_HIDDEN ((uint64_t)INT64_MIN)

/*
 * A bucket has two slots; the first is in its low half and is filled first. A slot has 8 bits of
 * the hash above the number of the sample; 0 is a free slot.
 */
struct sample_table {
	size_t mask; /* buckets - 1; buckets are a power of two */
	_Atomic(uint64_t) buckets[];
};

/*
 * Rendered prefixes in the order of samples: a uint16_t with the size, then the text. After size 0,
 * the next prefix is in the next chunk.
 *
 * The prefix of a counter or gauge is `name{a="x",b="y"} `. That of a histogram is the text between
 * the name and the `le` label: `{a="x",b="y",`.
 */
struct prefix_chunk {
	struct prefix_chunk *next; /* set before the sample that needs it is published */
	char bytes[];
};

struct shard {
	struct registry *registry;
	size_t index;
	bool shared;
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
	struct registry *registry;
	const uint64_t *buckets; /* bucket_count bounds */
	size_t bucket_count;

	/* The declaration; constant. */
	_Atomic(struct family *) next; /* in the order of names */
	const char *name;
	size_t name_size;
	const char *label_names[FAMILY_LABELS_MAX];
	enum family_type type;
	unsigned decimals;
	uint32_t dynamic_labels;
	uint32_t max_series;
	const char *head; /* the HELP and TYPE lines */
	size_t head_size;
	const struct bucket_text *bucket_texts; /* bucket_count + 1, with +Inf */

	/* A scrape reads these members; they are written with the mutex. */
	_Atomic(uint32_t) sample_count;
	struct prefix_chunk *prefixes; /* the first chunk; published by sample_count */

	/* Written with the mutex. The counts are also read without it, as hints, so that a limit
	 * does not need the mutex. */
	_Atomic(uint32_t) limited_count;   /* samples that count against max_series */
	_Atomic(uint32_t) overflow_count;  /* samples made because of a limit */
	struct prefix_chunk *prefix_chunk; /* the newest */
	char *prefix_at;                   /* in the newest chunk */
	size_t prefix_left;
	size_t prefix_chunk_size;

	_Atomic(uint64_t) overflow; /* events counted in the overflow series */
};

/*
 * Memory that is valid as long as the registry: zeroed, aligned, freed only as a whole.
 *
 * Readers use memory without a lock, so it must not move, and the registry frees nothing before its
 * end. Small pieces share blocks. A large piece has its own block, of which the system commits only
 * the pages that are used. Zero-initialise it. One thread at a time.
 */
struct arena {
	struct arena_block *blocks; /* owned */
	char *at;                   /* in the block being filled */
	size_t left;
	size_t next_block_size;
};

/* align: a power of two, at most 64. NULL without memory. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);

struct scrape_hook {
	void (*run)(void *context);
	void *context;
};

struct registry {
	struct registry_limits limits;
	struct intern *strings; /* owned */
	uint32_t other, unknown, none;

	_Atomic(struct family *) families; /* the first by name */
	_Atomic(uint32_t) series;          /* samples that count against limits.series */

	struct os_mutex
		mutex; /* guards adding families, samples, cells, writers; and what follows */
	struct arena arena;
	size_t prefix_bytes_left; /* of label sets that count against a limit */
	struct shard *shards[SHARD_SLOTS];
	unsigned shard_count;

	struct os_mutex scrape_mutex; /* one run of the hooks at a time */
	struct scrape_hook hooks[HOOKS_MAX];
	size_t hook_count;
	struct shard *self; /* used with scrape_mutex */
	struct family *series_family;
	struct family *overflow_family;
};

/* The place of a sample. */
static inline unsigned segment_of(uint32_t sample, uint32_t *index)
{
	unsigned segment = 31u ^ (unsigned)__builtin_clz(sample);

	*index = sample ^ (1u << segment);
	return segment;
}

/* The cells of a shard for a segment; NULL if the shard has none there. */
static inline cell *family_segment(const struct family *family, size_t shard, unsigned segment)
{
	/* Both pair with the releases in make_segment(). */
	struct family_shard *cells =
		atomic_load_explicit(&family->shards[shard], memory_order_acquire);

	return atomic_load_explicit(&cells->segments[segment], memory_order_acquire);
}

/* samples.c: makes an empty table; call it with the mutex. Returns false without memory. */
bool family_make_table(struct family *family);

/* Runs the hooks and updates the families about the registry itself. */
void registry_refresh(struct registry *registry);

/* exposition.c: the texts of a family and its samples. */
struct text;
void text_add_family_head(struct text *text, const struct family_options *options);
void text_add_bucket(struct text *text, const uint64_t *bound,
		     unsigned decimals); /* bound NULL: +Inf */

#endif

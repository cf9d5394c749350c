/* SPDX-License-Identifier: MIT */
/*
 * Giving samples back, for the files of the registry only; eviction.c has the whole picture.
 */
#ifndef METRICS_EVICTION_H
#define METRICS_EVICTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct family;
struct prefix;
struct registry;
struct sample_table;

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
	uint64_t hidden_at; /* on the scrape clock: BATCH_HIDDEN began */
	struct scrape *scrapes; /* that run; the newest first */
};

void eviction_init(struct registry *registry);
void eviction_done(struct registry *registry);

/* A scrape begins, and ends. In between it may use any prefix that it reads. */
void scrape_begin(struct registry *registry, struct scrape *scrape);
void scrape_end(struct registry *registry, struct scrape *scrape);

/*
 * With the mutex: the number of a retired sample with these label ids, which is in the table again
 * and stays; NO_SAMPLE if there is none.
 */
uint32_t eviction_revive(struct family *family, const uint32_t *ids);

#endif

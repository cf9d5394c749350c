/* SPDX-License-Identifier: MIT */
/*
 * The last records of one consumer, as they came, in a ring of blocks.
 *
 * The consumer adds, other threads read; the consumer takes no lock and never waits. What falls out
 * of the ring is lost, except for facts (exporter/recorder/facts.h), of which the ring keeps the
 * newest.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"
#include "exporter/recorder/facts.h"

struct ring; /* opaque */

enum { RING_BLOCK_BYTES = 128 << 10, RING_BLOCKS_LEAST = 8 };
/* The least memory of a ring. */
#define RING_BYTES_LEAST ((size_t)RING_BLOCKS_LEAST * RING_BLOCK_BYTES * 4 / 3)

/* memory_bytes: three quarters for records, one quarter for facts. NULL without memory. */
struct ring *ring_new(size_t memory_bytes, struct etw_error *err);
void ring_free(struct ring *ring); /* NULL is fine */

/* ---- for the consumer ---- */

/* Empties the ring: records of another source follow. May wait for a reader that copies facts. */
void ring_begin(struct ring *ring, const struct etw_source_clock *clock);

/* What a record says about the machine; zero-initialised: nothing. */
struct ring_fact {
	enum fact_type type;
	uint64_t key; /* which fact it replaces or ends */
	bool known;   /* it was true before the record came, which is no event of the source */
};

/* Copies a record; one that is larger than recordings have them is left out and counted. */
void ring_add(struct ring *ring, const struct etw_record *record, const struct ring_fact *fact);

/* ---- any thread ---- */

struct ring_statistics {
	uint64_t added;
	uint64_t overwritten;   /* fell out of the ring */
	uint64_t too_large;     /* left out */
	uint64_t facts_dropped; /* for want of room or memory */
	uint64_t span_ns;       /* from the oldest record to the newest */
};

void ring_statistics(struct ring *ring, struct ring_statistics *statistics);

/* Raw time of the last record that has one. */
int64_t ring_newest(const struct ring *ring);

/*
 * Reads what the ring holds at the moment of ring_reader_open(), oldest first, while the consumer
 * adds; after ring_reader_more() what it holds then. A reader belongs to one thread. ring_begin()
 * ends what it can read.
 */
struct ring_reader {
	struct ring *ring;
	struct etw_source_clock clock;
	struct fact_copy facts; /* owned: what was true before the first record */
	uint64_t next, end;     /* numbers of blocks; end is the last */
	uint64_t end_words;     /* that were used in the last block */
	uint64_t expected;      /* running number of the next record */
	uint64_t last_index;    /* of the record behind the last */
	uint64_t *words;        /* owned: the copy of one block */
	uint64_t copied;        /* number of that block; 0: none was copied */
	size_t count, at;       /* words of it, 0 if it had no record yet; the next record */
	uint64_t lost;          /* records that were overwritten before they could be read */
};

/* False without memory; the reader is then empty. */
bool ring_reader_open(struct ring_reader *reader, struct ring *ring, struct etw_error *err);

/* The next record, valid until the next call; NULL: there is none. */
const struct kept_record *ring_reader_next(struct ring_reader *reader);

/* Behind the last record: goes on with those that were added since. */
void ring_reader_more(struct ring_reader *reader);
/* Whether more than half of the ring has been added that was not read. */
bool ring_reader_is_late(const struct ring_reader *reader);

void ring_reader_close(struct ring_reader *reader);

#endif

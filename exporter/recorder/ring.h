/* SPDX-License-Identifier: MIT */
/*
 * Keeps the last records of one consumer, in the order in which they came, in a ring of blocks.
 *
 * The consumer adds and other threads read; the consumer takes no lock and never waits, except in
 * ring_begin(). Overwritten records are lost, except for facts (exporter/recorder/facts.h), of
 * which the ring keeps the newest.
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
/* The least memory of a ring, in bytes. */
#define RING_BYTES_LEAST ((size_t)RING_BLOCKS_LEAST * RING_BLOCK_BYTES * 4 / 3)

/* memory_bytes: three quarters are for records, one quarter for facts. Returns NULL without
 * memory. */
struct ring *ring_new(size_t memory_bytes, struct etw_error *err);
void ring_free(struct ring *ring); /* NULL is fine */

/* ---- for the consumer ---- */

/* Empties the ring, because records of another source follow. May wait for a reader that copies
 * facts. */
void ring_begin(struct ring *ring, const struct etw_source_clock *clock);

/* The fact that a record states about the machine; zero-initialised: none. */
struct ring_fact {
	enum fact_type type;
	uint64_t key; /* identifies the fact that it replaces or ends */
	bool known;   /* true: it states what existed already and is no event of the source */
};

/* Copies a record. A record that is too large for a recording is left out and counted. */
void ring_add(struct ring *ring, const struct etw_record *record, const struct ring_fact *fact);

/* ---- any thread ---- */

struct ring_statistics {
	uint64_t added;
	uint64_t overwritten;   /* records that have been overwritten */
	uint64_t too_large;     /* records left out */
	uint64_t facts_dropped; /* because there was no room or no memory */
	uint64_t span_ns;       /* from the oldest record to the newest */
};

void ring_statistics(struct ring *ring, struct ring_statistics *statistics);

/* Returns the raw time of the last record that has one. */
int64_t ring_newest(const struct ring *ring);

/*
 * Reads the records that the ring has at the time of ring_reader_open(), oldest first, while the
 * consumer adds. ring_reader_more() includes those added since. A reader belongs to one thread.
 * After ring_begin() a reader finds no more records.
 */
struct ring_reader {
	struct ring *ring;
	struct etw_source_clock clock;
	struct fact_copy facts; /* owned: what was true before the first record */
	uint64_t next, end;     /* numbers of the next and the last block to read */
	uint64_t end_words;     /* words used in the block `end` */
	uint64_t expected;      /* running number of the next record */
	uint64_t last_index;    /* running number of the record after the last one to read */
	uint64_t *words;        /* owned: the copy of one block */
	uint64_t copied;        /* number of the block in `words`; 0: none was copied */
	size_t count, at;       /* words copied of it; offset of the next record in them */
	uint64_t lost;          /* records overwritten before they could be read */
};

/* Returns false without memory; the reader is then empty. */
bool ring_reader_open(struct ring_reader *reader, struct ring *ring, struct etw_error *err);

/* Returns the next record, valid until the next call; NULL if there is none. */
const struct kept_record *ring_reader_next(struct ring_reader *reader);

/* Call it after the last record: the reader continues with the records added since. */
void ring_reader_more(struct ring_reader *reader);
/* Returns whether the consumer has added more than half of the ring that the reader has not
 * read. */
bool ring_reader_is_late(const struct ring_reader *reader);

void ring_reader_close(struct ring_reader *reader);

#endif

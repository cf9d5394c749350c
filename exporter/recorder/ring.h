/* SPDX-License-Identifier: MIT */
/*
 * Keeps the last records of one consumer, in the order in which they came, in a ring of blocks.
 *
 * The consumer adds and other threads read; the consumer takes no lock and never waits, except in
 * ring_begin(). Overwritten records are lost, except for facts, of which the ring keeps the newest.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"

/* ---- kept records (facts.c) ---- */

/*
 * A kept record is a copy of an event record in words of 64 bits: a header, then the parts that its
 * flags name, payload and extended items, each padded to whole words. It has everything that struct
 * etw_record has, so that the record can be written again.
 */

/* The type of fact that a record states about the machine. */
enum fact_type {
	FACT_NONE,
	/* These facts say that something exists. They come from a start, a load or a rundown. */
	FACT_PROCESS,
	FACT_THREAD,
	FACT_IMAGE,
	FACT_NAME,   /* the name of a file */
	FACT_SYSTEM, /* volumes, disks, services, descriptions of events */
	FACT_ENDS,   /* the fact with the key is over */
	FACT_TYPES,
};

enum kept_flag {
	KEPT_PROVIDER = 1, /* GUID and keyword follow; without it kernel_group implies them */
	KEPT_ACTIVITY = 2, /* a GUID follows */
	KEPT_KEY = 4,      /* the key of a fact follows */
	KEPT_CLASSIC = 8,
	KEPT_HIDDEN = 16, /* readers do not get the record; it only becomes a fact */
};

struct kept_record {
	uint32_t words; /* size of the whole copy in words */
	uint32_t
		next_fact; /* used by the ring: offset of the block's next fact in words; 0: none */
	int64_t raw_time;
	uint32_t process_id;
	uint32_t thread_id;
	uint32_t payload_size;
	uint32_t extended_size;
	uint16_t id;
	uint16_t task;
	uint16_t processor;
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
	uint8_t channel;
	uint8_t pointer_size;
	uint8_t type;
	uint8_t kernel_group;
	uint8_t flags;
	uint8_t fact;  /* enum fact_type */
	uint8_t known; /* true: it states what existed already and is no event of the source */
};

enum { KEPT_WORDS = sizeof(struct kept_record) / sizeof(uint64_t), KEPT_WORDS_MAX = 1 << 14 };

/* Fills in the header of a copy. Returns false if the record is larger than a record in a recording
 * can be. */
bool kept_describe(struct kept_record *kept, const struct etw_record *record, enum fact_type fact);

/* Lists the pieces that follow the header of a copy; the caller pads each to a multiple of 8 bytes.
 * Returns how many there are. key: of the fact, if the record states one. The pieces borrow from
 * the record and the key. */
struct kept_piece {
	const void *bytes;
	size_t size;
};
enum { KEPT_PIECES = 6 };
size_t kept_pieces(const struct kept_record *kept, const struct etw_record *record,
		   const uint64_t *key, struct kept_piece pieces[KEPT_PIECES]);

/* Makes a record of the copy. Its pointers point into the copy; its member time is not set. */
void kept_read(const struct kept_record *kept, struct etw_record *record);

/* ---- facts (facts.c) ---- */

/*
 * Facts are what a recording needs in addition to its events so that these can be decoded and
 * attributed: which processes, threads and images exist, the names of files, volumes, the
 * configuration of the system, descriptions of events. Each fact is a copy of a record of the
 * source under a key. A later record with the same key replaces it, and a record that ends the fact
 * removes it.
 *
 * The memory is bounded: when it is full, the oldest facts of the type that uses most of it are
 * dropped. One thread at a time may use a struct facts.
 */

struct facts; /* opaque */

struct facts *facts_new(size_t memory_bytes, struct etw_error *err);
void facts_free(struct facts *facts); /* NULL is fine */
void facts_clear(struct facts *facts);

/* Adds, replaces or removes the fact that a kept record states. Returns false if there was no room
 * or no memory for it. */
bool facts_update(struct facts *facts, const struct kept_record *record);

/* Returns how many facts were dropped to make room. */
uint64_t facts_dropped(const struct facts *facts);

/* All facts as kept records, one after another, in the order in which they became true. */
struct fact_copy {
	uint64_t *words; /* owned; NULL: none */
	size_t count;
};

bool facts_copy(const struct facts *facts, struct fact_copy *copy, struct etw_error *err);

/* ---- the ring ---- */

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
	/* true: readers do not get the record, because an event in the ring states the same. It
	 * becomes a fact when it leaves the window. */
	bool hidden;
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

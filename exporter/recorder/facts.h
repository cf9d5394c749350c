/* SPDX-License-Identifier: MIT */
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
#ifndef RECORDER_FACTS_H
#define RECORDER_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

#include "base/error.h"

/* ---- kept records ---- */

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

uint64_t kept_key(const struct kept_record *kept); /* returns 0 without KEPT_KEY */

/* ---- facts ---- */

struct facts; /* opaque */

struct facts *facts_new(size_t memory_bytes, struct etw_error *err);
void facts_free(struct facts *facts); /* NULL is fine */
void facts_clear(struct facts *facts);

/* Adds, replaces or removes the fact that a kept record states. Returns false if there was no room
 * or no memory for it. */
bool facts_take(struct facts *facts, const struct kept_record *record);

/* Returns how many facts were dropped to make room. */
uint64_t facts_dropped(const struct facts *facts);

/* All facts as kept records, one after another, in the order in which they became true. */
struct fact_copy {
	uint64_t *words; /* owned; NULL: none */
	size_t count;
};

bool facts_copy(const struct facts *facts, struct fact_copy *copy, struct etw_error *err);

#endif

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

#include "base/error.h"
#include "exporter/recorder/kept.h"

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

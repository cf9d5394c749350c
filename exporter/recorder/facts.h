/* SPDX-License-Identifier: MIT */
/*
 * What a recording needs besides its events so that they can be decoded and attributed: which
 * processes, threads and images exist, the names of files, volumes, the configuration of the
 * system, descriptions of events. Each is a record of the source, kept under a key; a later record
 * with the same key replaces it, and one that ends the fact removes it.
 *
 * Bounded; beyond its memory the oldest facts of the type that takes most of it go first. For one
 * thread at a time.
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

/* Takes over what a kept record says. False: there was no room or no memory for it. */
bool facts_take(struct facts *facts, const struct kept_record *record);

/* Dropped to make room. */
uint64_t facts_dropped(const struct facts *facts);

/* All facts, one kept record behind the other, in the order in which they became true. */
struct fact_copy {
	uint64_t *words; /* owned; NULL: none */
	size_t count;
};

bool facts_copy(const struct facts *facts, struct fact_copy *copy, struct etw_error *err);

#endif

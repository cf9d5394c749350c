/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of the rings into one recording, either in one step or in many while consumers
 * add.
 */
#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "exporter/recorder/tap.h"

struct recording_result {
	uint64_t bytes;
	uint64_t facts;   /* records that state what existed before */
	uint64_t records; /* those of the rings */
	uint64_t lost;    /* records overwritten before they could be read */
	/* Records left out because they are too large for a recording, although a ring takes
	 * them. */
	uint64_t too_large;
	uint64_t other_clock; /* records left out because their session has another clock */
	uint64_t span_ns;
};

/*
 * Reads the rings of all taps while their consumers add, and writes the file at path, which has
 * that name when it is complete. Fails if no ring has a record, or if *stop is set meanwhile (stop
 * may be NULL). Reading does not delay the consumers.
 */
bool recording_write(const char *path, struct tap *const *taps, size_t count,
		     const atomic_bool *stop, struct recording_result *result,
		     struct etw_error *err);

/* ---- a recording that grows; one thread ---- */

struct ring_writer; /* opaque */

/*
 * The file is created when the first record arrives, under a random name beside path
 * (ETW_VISIBLE_ALWAYS), and renamed when it is complete. taps is borrowed until
 * ring_writer_close(). wait_ns: how long after a record another session may still deliver an
 * earlier one; records wait that long, so that those of several sessions are written in order of
 * time. Records do not wait if their ring would overflow.
 */
struct ring_writer *ring_writer_open(const char *path, struct tap *const *taps, size_t count,
				     uint64_t wait_ns, struct etw_error *err);

/* Writes the records that the rings have received since the last call. all: writes even those that
 * would still wait, because no more will come. */
bool ring_writer_follow(struct ring_writer *writer, bool all, struct etw_error *err);

/* Returns the counts so far, valid until ring_writer_close(). */
const struct recording_result *ring_writer_result(const struct ring_writer *writer);

/* Leaves an incomplete file where it is. Returns its path, which the caller frees; NULL if there is
 * none. */
char *ring_writer_leave(struct ring_writer *writer);

/* Completes the file. Its header reports these losses of the sessions plus the records that were
 * lost in the rings. Fails if there was no record. Call it once. */
bool ring_writer_finish(struct ring_writer *writer, uint64_t lost_events, uint64_t lost_buffers,
			struct etw_error *err);

/* Frees the writer. A file that was neither finished nor left is removed. NULL is fine. */
void ring_writer_close(struct ring_writer *writer);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Writes what the rings hold into one recording: at once, or again and again while consumers add.
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
	uint64_t facts;   /* records that say what existed before */
	uint64_t records; /* those of the rings */
	uint64_t lost;    /* were overwritten before they could be read */
	/* Left out: larger than the records of a recording, although a ring takes them. */
	uint64_t too_large;
	uint64_t other_clock; /* left out: of a session with another clock than the others */
	uint64_t span_ns;
};

/*
 * Reads the rings of all taps while their consumers add, and writes the file at path, which is
 * overwritten. On failure it may stay behind incomplete. Fails when no ring has a record, and when
 * *stop is set meanwhile (NULL: never).
 */
bool recording_write(const char *path, struct tap *const *taps, size_t count,
		     const atomic_bool *stop, struct recording_result *result,
		     struct etw_error *err);

/* ---- a recording that grows; one thread ---- */

struct ring_writer; /* opaque */

/*
 * path is overwritten when the first record is there. taps is borrowed. wait_ns: a session may
 * deliver a record so long after another one has delivered a later record; so the records of
 * several sessions are written in order of time. A ring that fills up is not waited for.
 */
struct ring_writer *ring_writer_open(const char *path, struct tap *const *taps, size_t count,
				     uint64_t wait_ns, struct etw_error *err);

/* Writes what the rings have received since the last call. all: without waiting, because nothing
 * more comes. */
bool ring_writer_follow(struct ring_writer *writer, bool all, struct etw_error *err);

/* So far. */
const struct recording_result *ring_writer_result(const struct ring_writer *writer);

/* Completes the file, which then reports these losses of the sessions, and those of the rings.
 * Fails when there was no record. Once. */
bool ring_writer_finish(struct ring_writer *writer, uint64_t lost_events, uint64_t lost_buffers,
			struct etw_error *err);

/* A file that was not finished stays behind incomplete. NULL is fine. */
void ring_writer_close(struct ring_writer *writer);

#endif

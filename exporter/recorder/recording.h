/* SPDX-License-Identifier: MIT */
/*
 * Writes what the rings hold into one recording.
 */
#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "recorder/tap.h"

struct recording_result {
	uint64_t bytes;
	uint64_t facts;    /* records that say what existed before */
	uint64_t records;  /* those of the rings */
	uint64_t lost;     /* were overwritten while the rings were read */
	uint64_t left_out; /* cannot stand in a recording, or have another clock than the others */
	uint64_t span_ns;
};

/*
 * Reads the rings of all taps while their consumers add, and writes the file at path, which is
 * overwritten. On failure it may stay behind incomplete. Fails when no ring has a record, and when
 * *stop is set meanwhile (NULL: never).
 */
bool recording_write(const char *path, struct tap *const *taps, size_t count,
		     const atomic_bool *stop, struct recording_result *result, struct error *err);

#endif

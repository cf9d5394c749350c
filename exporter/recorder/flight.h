/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: keeps the last records of every consumer in memory, and writes them to a
 * recording when a rule of the configuration fires or a request comes.
 *
 * Its own thread evaluates the rules once a second and writes the recordings; consumers only copy
 * their records into their rings (exporter/recorder/tap.h).
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/recorder/tap.h"
#include "metrics/registry.h"

struct flight_recorder; /* opaque */

/* Returns whether the configuration has a flight recorder. */
bool flight_configured(const struct config *config);

/* Checks whether recordings can be written to the configured folder, before one is needed. Call it
 * only if flight_configured(). */
bool flight_check_dir(const struct config *config, struct etw_error *err);

/*
 * Makes a flight recorder; flight_start() starts its thread. consumers, grows: see taps_new(). The
 * registry is borrowed until flight_free(), the configuration only during the call. Fails if the
 * folder cannot be written to.
 */
struct flight_recorder *flight_new(const struct config *config, struct registry *registry,
				   size_t consumers, bool grows, struct etw_error *err);
/* Call it after flight_stop(), when no consumer uses its tap any more. NULL is fine. */
void flight_free(struct flight_recorder *recorder);

/* Returns the taps of the consumers, valid until flight_free(). Returns NULL if recorder is
 * NULL. */
struct taps *flight_taps(struct flight_recorder *recorder);

bool flight_start(struct flight_recorder *recorder, struct etw_error *err);
/* Ends the thread. A recording that is being written fails. NULL is fine, and so is a second
 * call. */
void flight_stop(struct flight_recorder *recorder);

enum flight_result { FLIGHT_WRITTEN, FLIGHT_FAILED, FLIGHT_REFUSED, FLIGHT_RESULTS };
const char *flight_result_name(enum flight_result result);

/*
 * Has a recording written and waits for it. Simultaneous requests get the same recording. reason:
 * for the log. answer: gets the path, or a sentence with the reason why there is none: it failed,
 * or the last recording is too recent. Any thread may call it, after flight_start().
 */
enum flight_result flight_request(struct flight_recorder *recorder, const char *reason,
				  struct etw_text *answer);
/* Requests a recording as flight_request() does, but does not wait for it. */
void flight_ask(struct flight_recorder *recorder, const char *reason);

/* All members are uint64_t. Any thread may read them with flight_statistics(). */
struct flight_statistics {
	uint64_t recordings[FLIGHT_RESULTS];
	uint64_t bytes;       /* of recordings */
	uint64_t records;     /* copied into the rings */
	uint64_t overwritten; /* records overwritten in the rings */
	uint64_t lost;        /* records overwritten before a recording could read them */
	uint64_t left_out;    /* records too large for a recording, or of another clock */
	uint64_t facts_dropped;
	uint64_t span_ns; /* time covered by the ring that covers least; rings without records do
			     not count */
	uint64_t last_unix_ns;      /* time of the last recording; UINT64_MAX: none so far */
	uint64_t disk_free_bytes;   /* on the disk of the folder, at most a second or so ago;
				       UINT64_MAX: not known */
	uint64_t disk_needed_bytes; /* with less than this free no recording begins */
};
void flight_statistics(struct flight_recorder *recorder, struct flight_statistics *statistics);

/* Adds the name of the last recording, without its folder, and the reason for which it was written.
 * Returns false if there is none so far or no memory. Any thread may call it. */
bool flight_last_recording(struct flight_recorder *recorder, struct etw_text *file,
			   struct etw_text *reason);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: keeps the last records of every consumer in memory, and writes them to a
 * recording when a rule of the configuration fires or a request comes.
 *
 * A thread of its own looks at the rules once a second and writes; consumers only copy their
 * records into their rings (exporter/recorder/tap.h).
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/recorder/taps.h"
#include "metrics/registry.h"

struct flight_recorder; /* opaque */

/* Whether the configuration has a flight recorder. */
bool flight_configured(const struct config *config);

/* Whether recordings can be written to its folder, if there is one: found out before it is needed.
 */
bool flight_check_dir(const struct config *config, struct etw_error *err);

/*
 * consumers, grows: see taps_new(). The registry is borrowed until flight_free(), the configuration
 * only during the call. Fails when the folder cannot be written to.
 */
struct flight_recorder *flight_new(const struct config *config, struct registry *registry,
				   size_t consumers, bool grows, struct etw_error *err);
/* After flight_stop(), when no consumer uses its tap any more. NULL is fine. */
void flight_free(struct flight_recorder *recorder);

/* For the consumers, until flight_free(). NULL: there is no recorder. */
struct taps *flight_taps(struct flight_recorder *recorder);

bool flight_start(struct flight_recorder *recorder, struct etw_error *err);
/* Ends the thread, also while it writes: that recording fails. NULL is fine; more than once too. */
void flight_stop(struct flight_recorder *recorder);

enum flight_result { FLIGHT_WRITTEN, FLIGHT_FAILED, FLIGHT_REFUSED, FLIGHT_RESULTS };
const char *flight_result_name(enum flight_result result);

/*
 * Has a recording written and waits for it. Requests at the same time get the same one. reason: for
 * the log. answer: the path, or the sentence that says why there is none: it failed, or the last
 * recording is too recent. Any thread, after flight_start().
 */
enum flight_result flight_request(struct flight_recorder *recorder, const char *reason,
				  struct etw_text *answer);
/* The same without waiting. */
void flight_ask(struct flight_recorder *recorder, const char *reason);

/* All members are uint64_t. Any thread. */
struct flight_statistics {
	uint64_t recordings[FLIGHT_RESULTS];
	uint64_t bytes;       /* of recordings */
	uint64_t records;     /* copied into the rings */
	uint64_t overwritten; /* fell out of the rings */
	uint64_t lost;        /* were overwritten while a recording was written */
	uint64_t left_out;    /* too large for a recording, or with another clock */
	uint64_t facts_dropped;
	uint64_t span_ns;      /* of the ring that reaches back least; rings without records are
				  left out */
	uint64_t last_unix_ns; /* when the last recording was written; UINT64_MAX: none so far */
};
void flight_statistics(struct flight_recorder *recorder, struct flight_statistics *statistics);

/* Adds the name of the file that was written last, without its folder, and why it was written.
 * False: there is none so far, or no memory. Any thread. */
bool flight_last_recording(struct flight_recorder *recorder, struct etw_text *file,
			   struct etw_text *reason);

#endif

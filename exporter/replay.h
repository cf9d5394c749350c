/* SPDX-License-Identifier: MIT */
/*
 * What only replays of recordings need: their pace, and log lines about them.
 */
#ifndef EXPORTER_REPLAY_H
#define EXPORTER_REPLAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <etw/source.h>

#include "base/error.h"
#include "base/log.h"
#include "exporter/rules/rules.h"

/* ---- pace ---- */

/* Holds a replay back to the speed at which its recording was made, or a multiple of it. */
struct pace; /* opaque */

/* speed: 1 replays as recorded, 2 twice as fast; it must be above 0. */
struct pace *pace_new(double speed, struct etw_error *err);
void pace_free(struct pace *pace);

/* Starts a new pass: the next record is due now, and later records relative to it. The consumer's
 * thread calls it. */
void pace_start(struct pace *pace);

/*
 * Waits until an event of this time (100 ns since 1601 UTC) is due, to within a few milliseconds.
 * If the event is due already, the call costs one comparison. Records without a time, or earlier
 * than one seen before, are due at once. Returns false after pace_stop(), and when the flag of
 * pace_interrupt_by() is set: then the caller resets the flag and waits again. The consumer's
 * thread calls it.
 */
bool pace_wait(struct pace *pace, int64_t time);

/* Ends the present wait and every later one. Any thread may call it. */
void pace_stop(struct pace *pace);
bool pace_stopped(struct pace *pace);

/*
 * Sets a flag that interrupts waits: while *flag is set, a wait returns false. NULL means no flag.
 * The flag is borrowed until pace_free(); call this before the first wait. A thread that sets the
 * flag calls pace_wake() afterwards, which wakes the consumer; the consumer resets the flag.
 */
void pace_interrupt_by(struct pace *pace, const atomic_bool *flag);
void pace_wake(struct pace *pace);

/* Returns how far the replay is behind its schedule, in nanoseconds; 0 when it keeps up. Any thread
 * may call it. */
uint64_t pace_lag_ns(const struct pace *pace);

/* ---- log lines about replays ---- */

/*
 * Logs what a user should know about recordings that are replayed: one is damaged, one has changed,
 * and the totals at the end. One thread at a time may use a struct replay_log.
 */

/* What has been logged about one recording. Zero-initialise it. */
struct replay_log {
	struct etw_source_statistics warned; /* statistics at the last warning of damage */
	unsigned warnings;
};

/* Logs that a recording changed. change: what etw_source_file_change() returned; with NULL nothing
 * is logged. */
void replay_log_change(struct replay_log *logged, const char *path, const char *change);

/* Call it after a pass: logs the damage that is new since the last warning. */
void replay_log_damage(struct replay_log *logged, const char *path,
		       const struct etw_source_statistics *now);

/* Logs one line about all recordings together; its outcomes add up to the number of records. */
void replay_log_totals(enum log_level level, const char *message,
		       const uint64_t outcomes[OUTCOME_COUNT], uint64_t lost, uint64_t ns);

#endif

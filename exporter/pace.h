/* SPDX-License-Identifier: MIT */
/*
 * Holds a replay back to the speed at which its recording was made, or a multiple of it.
 */
#ifndef EXPORTER_PACE_H
#define EXPORTER_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

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
 * flag calls pace_look() afterwards, which wakes the consumer; the consumer resets the flag.
 */
void pace_interrupt_by(struct pace *pace, const atomic_bool *flag);
void pace_look(struct pace *pace);

/* Returns how far the replay is behind its schedule, in nanoseconds; 0 when it keeps up. Any thread
 * may call it. */
uint64_t pace_lag_ns(const struct pace *pace);

#endif

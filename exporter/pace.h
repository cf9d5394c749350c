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

/* speed: 1 as recorded, 2 twice as fast …; above 0. */
struct pace *pace_new(double speed, struct etw_error *err);
void pace_free(struct pace *pace);

/* The next record starts a recording anew: its time is now. The consumer's thread. */
void pace_start(struct pace *pace);

/*
 * Waits until an event of this time (100 ns since 1601 UTC) is due, to within a few milliseconds;
 * costs a comparison when it is. Records without a time, or earlier than one seen before, are due
 * at once. False after pace_stop(), and when the flag of pace_interrupt_by() is set: then wait
 * again. The consumer's thread.
 */
bool pace_wait(struct pace *pace, int64_t time);

/* Ends a wait and every later one. Any thread. */
void pace_stop(struct pace *pace);
bool pace_stopped(struct pace *pace);

/*
 * While *flag is set, a wait ends with false; NULL: no flag. Borrowed until pace_free(), before the
 * first wait. The consumer resets it. After setting it, any thread calls pace_look().
 */
void pace_interrupt_by(struct pace *pace, const atomic_bool *flag);
void pace_look(struct pace *pace);

/* How far the replay is behind its schedule, in nanoseconds; 0 when it keeps up. Any thread. */
uint64_t pace_lag_ns(const struct pace *pace);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Holds a replay back to the speed at which its recording was made, or a multiple of it.
 */
#ifndef EXPORTER_PACE_H
#define EXPORTER_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct pace; /* opaque */

/* speed: 1 as recorded, 2 twice as fast …; above 0. */
struct pace *pace_new(double speed, struct error *err);
void pace_free(struct pace *pace);

/* The next record starts a recording anew: its time is now. The consumer's thread. */
void pace_start(struct pace *pace);

/*
 * Waits until an event of this time (100 ns since 1601 UTC) is due, to within a few milliseconds;
 * costs a comparison when it is. Records without a time, or earlier than one seen before, are due
 * at once. False after pace_stop(), and after pace_interrupt(): then wait again. The consumer's
 * thread.
 */
bool pace_wait(struct pace *pace, int64_t time);

/* Ends a wait and every later one. Any thread. */
void pace_stop(struct pace *pace);
bool pace_stopped(struct pace *pace);

/* Ends the wait that is under way, if there is one, with false. Any thread. */
void pace_interrupt(struct pace *pace);

/* How far the replay is behind its schedule, in nanoseconds; 0 when it keeps up. Any thread. */
uint64_t pace_lag_ns(const struct pace *pace);

#endif

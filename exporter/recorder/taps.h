/* SPDX-License-Identifier: MIT */
/*
 * The taps of a program's consumers, which share one memory.
 */
#ifndef RECORDER_TAPS_H
#define RECORDER_TAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "exporter/recorder/tap.h"

struct taps; /* opaque */

enum { TAPS_MOST = 64 };

/*
 * recorder: borrowed until taps_free(). consumers: at least 1; each has an equal part of the
 * memory, less what is kept for consumers that come later, if there may be any (grows): an eighth.
 */
struct taps *taps_new(const struct config_recorder *recorder, size_t consumers, bool grows,
		      struct etw_error *err);
/* When no consumer uses its tap any more. NULL is fine. */
void taps_free(struct taps *taps);

/* ---- any thread ---- */

/* Of the consumer with this number, which may be a new one: it gets half of the memory that is
 * left. NULL: there is not enough, which is logged, or taps is NULL. */
struct tap *taps_of(struct taps *taps, size_t consumer);

/* All that there are; returns how many. They stay until taps_free(). */
size_t taps_list(struct taps *taps, struct tap *list[TAPS_MOST]);

#endif

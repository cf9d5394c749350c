/* SPDX-License-Identifier: MIT */
/*
 * The taps of a program's consumers, which share one memory budget.
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
 * recorder: borrowed until taps_free(). consumers: at least 1; each gets an equal part of the
 * memory. grows: consumers may come later, so an eighth of the memory is kept for them.
 */
struct taps *taps_new(const struct config_recorder *recorder, size_t consumers, bool grows,
		      struct etw_error *err);
/* Call it when no consumer uses its tap any more. NULL is fine. */
void taps_free(struct taps *taps);

/* ---- any thread ---- */

/* Returns the tap of the consumer with this number. A new consumer gets half of the remaining
 * memory. Returns NULL if that is too little, which is logged, or if taps is NULL. */
struct tap *taps_of(struct taps *taps, size_t consumer);

/* Lists all taps and returns how many there are. They are valid until taps_free(). */
size_t taps_list(struct taps *taps, struct tap *list[TAPS_MOST]);

#endif

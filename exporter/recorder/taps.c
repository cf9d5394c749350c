/* SPDX-License-Identifier: MIT */
#include "exporter/recorder/taps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/os.h"

enum { RESERVE_SHARE = 8 };

struct taps {
	const struct config_recorder *recorder;
	struct os_mutex lock;        /* guards the rest */
	struct tap *list[TAPS_MOST]; /* by number of the consumer; NULL: none */
	size_t left;                 /* memory */
};

struct taps *taps_new(const struct config_recorder *recorder, size_t consumers, bool grows,
		      struct etw_error *err)
{
	size_t memory = (size_t)recorder->memory_bytes;
	struct taps *taps;

	if (consumers > TAPS_MOST || memory / consumers < RING_BYTES_LEAST) {
		error_set(err, ETW_ERROR_CONFIG,
			  "recorder: memory: %" PRIu64
			  " bytes are too few for %zu sessions; each needs %zu",
			  recorder->memory_bytes, consumers, RING_BYTES_LEAST);
		return NULL;
	}
	taps = calloc(1, sizeof *taps);
	if (!taps) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	os_mutex_init(&taps->lock);
	taps->recorder = recorder;
	taps->left = grows ? memory / RESERVE_SHARE : 0;
	if (taps->left < RING_BYTES_LEAST || (memory - taps->left) / consumers < RING_BYTES_LEAST) {
		taps->left = 0;
	}
	for (size_t i = 0; i < consumers; i++) {
		taps->list[i] = tap_new(recorder, (memory - taps->left) / consumers, err);
		if (!taps->list[i]) {
			taps_free(taps);
			return NULL;
		}
	}
	return taps;
}

void taps_free(struct taps *taps)
{
	if (taps) {
		for (size_t i = 0; i < TAPS_MOST; i++) {
			tap_free(taps->list[i]);
		}
		os_mutex_done(&taps->lock);
		free(taps);
	}
}

/* Makes the tap of a new consumer. The caller holds the lock. */
static struct tap *add(struct taps *taps, struct etw_error *err)
{
	size_t memory = taps->left / 2 > RING_BYTES_LEAST ? taps->left / 2 : RING_BYTES_LEAST;
	struct tap *tap = NULL;

	if (memory > taps->left) {
		error_set(err, ETW_ERROR_LIMIT,
			  "recorder: memory: %" PRIu64
			  " bytes are in use by the sessions that were there before",
			  taps->recorder->memory_bytes);
	} else {
		tap = tap_new(taps->recorder, memory, err);
		taps->left -= tap ? memory : 0;
	}
	return tap;
}

struct tap *taps_of(struct taps *taps, size_t consumer)
{
	struct etw_error err = { 0 };
	struct tap *tap;

	if (!taps) {
		return NULL;
	}
	if (consumer >= TAPS_MOST) {
		log_warning("Session is not recorded by the flight recorder",
			    log_u64("sessions_most", TAPS_MOST));
		return NULL;
	}
	os_mutex_lock(&taps->lock);
	if (!taps->list[consumer]) {
		taps->list[consumer] = add(taps, &err);
	}
	tap = taps->list[consumer];
	os_mutex_unlock(&taps->lock);
	if (!tap) {
		log_warning("Session is not recorded by the flight recorder",
			    log_text("error", err.text));
	}
	return tap;
}

size_t taps_list(struct taps *taps, struct tap *list[TAPS_MOST])
{
	size_t count = 0;

	os_mutex_lock(&taps->lock);
	for (size_t i = 0; i < TAPS_MOST; i++) {
		if (taps->list[i]) {
			list[count++] = taps->list[i];
		}
	}
	os_mutex_unlock(&taps->lock);
	return count;
}

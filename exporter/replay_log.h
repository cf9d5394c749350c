/* SPDX-License-Identifier: MIT */
/*
 * What the log says about recordings that are replayed: that one is damaged or was changed, and the
 * totals at the end. One thread at a time.
 */
#ifndef REPLAY_LOG_H
#define REPLAY_LOG_H

#include <stdint.h>

#include <etw/source.h>

#include "base/log.h"
#include "exporter/rules/rules.h"

/* What was said about one recording. Zero-initialise it. */
struct replay_log {
	struct etw_source_statistics warned; /* at the last warning of damage */
	unsigned warnings;
};

/* change: as etw_source_file_change() has it; NULL: none. */
void replay_log_change(struct replay_log *said, const char *path, const char *change);

/* After a pass: the damage that is new since the last warning. */
void replay_log_damage(struct replay_log *said, const char *path,
		       const struct etw_source_statistics *now);

/* One line about all recordings together, in which the outcomes add up to the records. */
void replay_log_totals(enum log_level level, const char *message,
		       const uint64_t outcomes[OUTCOME_COUNT], uint64_t lost, uint64_t ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Logs what a user should know about recordings that are replayed: one is damaged, one has changed,
 * and the totals at the end. One thread at a time may use a struct replay_log.
 */
#ifndef REPLAY_LOG_H
#define REPLAY_LOG_H

#include <stdint.h>

#include <etw/source.h>

#include "base/log.h"
#include "exporter/rules/rules.h"

/* What has been logged about one recording. Zero-initialise it. */
struct replay_log {
	struct etw_source_statistics warned; /* statistics at the last warning of damage */
	unsigned warnings;
};

/* Logs that a recording changed. change: what etw_source_file_change() returned; with NULL nothing
 * is logged. */
void replay_log_change(struct replay_log *said, const char *path, const char *change);

/* Call it after a pass: logs the damage that is new since the last warning. */
void replay_log_damage(struct replay_log *said, const char *path,
		       const struct etw_source_statistics *now);

/* Logs one line about all recordings together; its outcomes add up to the number of records. */
void replay_log_totals(enum log_level level, const char *message,
		       const uint64_t outcomes[OUTCOME_COUNT], uint64_t lost, uint64_t ns);

#endif

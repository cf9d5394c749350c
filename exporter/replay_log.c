/* SPDX-License-Identifier: MIT */
#include "exporter/replay_log.h"

#include <stdio.h>

/* Returns whether another warning about the recording may be logged. The number is limited, because
 * a loop could log one in each pass. */
static bool may_warn(struct replay_log *said, const char *path)
{
	enum { WARNINGS_MOST = 20 };

	if (said->warnings == WARNINGS_MOST) {
		log_warning("Further changes of the recording are not logged",
			    log_text("file", path));
	}
	said->warnings += said->warnings <= WARNINGS_MOST;
	return said->warnings <= WARNINGS_MOST;
}

void replay_log_change(struct replay_log *said, const char *path, const char *change)
{
	if (change && may_warn(said, path)) {
		log_warning("Recording was changed while it is replayed", log_text("file", path),
			    log_text("change", change));
	}
}

void replay_log_damage(struct replay_log *said, const char *path,
		       const struct etw_source_statistics *now)
{
	const struct etw_source_statistics warned = said->warned;

	said->warned = *now;
	if (now->truncated && !warned.truncated && may_warn(said, path)) {
		log_warning("Recording " ETW_RECORDING_CUT_SHORT, log_text("file", path));
	}
	if ((now->bad_buffers > warned.bad_buffers || now->bad_records > warned.bad_records) &&
	    may_warn(said, path)) {
		log_warning("Recording " ETW_RECORDING_DAMAGED, log_text("file", path),
			    log_u64("buffers", now->bad_buffers), log_u64("bytes", now->bad_bytes),
			    log_u64("records", now->bad_records));
	}
}

void replay_log_totals(enum log_level level, const char *message,
		       const uint64_t outcomes[OUTCOME_COUNT], uint64_t lost, uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	uint64_t records = 0;
	char seconds_text[32];

	for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
		records += outcomes[i];
	}
	snprintf(seconds_text, sizeof seconds_text, "%.3f", seconds);
	log_line(level, message, log_u64("records", records),
		 log_u64("counted", outcomes[OUTCOME_COUNTED]),
		 log_u64("no_rule", outcomes[OUTCOME_NO_RULE]),
		 log_u64("undecoded", outcomes[OUTCOME_NO_SCHEMA] + outcomes[OUTCOME_UNDECODABLE]),
		 log_u64("filtered", outcomes[OUTCOME_FILTERED]), log_u64("lost", lost),
		 log_text("seconds", seconds_text),
		 log_u64("records_per_second",
			 seconds > 0 ? (uint64_t)((double)records / seconds) : 0));
}

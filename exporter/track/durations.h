/* SPDX-License-Identifier: MIT */
/*
 * Durations: which times are valid durations, how long an I/O request took, how long a thread ran
 * and how long it waited for a processor. Only one consumer uses it, so it has no lock.
 *
 * Source: "CSwitch class" and "ReadyThread class", Microsoft Learn.
 */
#ifndef TRACK_DURATIONS_H
#define TRACK_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>

/* ---- what is a duration ---- */

/*
 * Windows reports times that are no measurements: a negative response time of a disk on virtual
 * machines, a start of 0, and anything in a damaged recording. Everything that counts a duration
 * checks it here first. A duration that does not fit is counted by its reason
 * (etw_invalid_durations_total) and nowhere else.
 */
enum duration_verdict {
	DURATION_FITS,
	DURATION_NEGATIVE, /* its end is before its start */
	DURATION_TOO_LONG, /* longer than the machine had run by its end, see etw_clock_uptime() */
	DURATION_VERDICTS
};

/* Returns "negative" or "too_long". */
const char *duration_verdict_name(enum duration_verdict verdict);

/* Judges a duration of ns nanoseconds that ended at the raw time `end`. negative: the duration
 * is below 0, and ns is ignored. */
static inline enum duration_verdict duration_judge(const struct etw_source_clock *clock,
						   int64_t end, bool negative, uint64_t ns)
{
	if (negative) {
		return DURATION_NEGATIVE;
	}
	/* Avoids the division in etw_clock_uptime(): at `end` the machine had run at least
	 * uptime_ns. */
	if (ns <= clock->uptime_ns && end >= clock->anchor_raw) {
		return DURATION_FITS;
	}
	return ns <= etw_clock_uptime(clock, end) ? DURATION_FITS : DURATION_TOO_LONG;
}

/* Judges the time between two raw times. Sets *ns only if the verdict is DURATION_FITS. */
static inline enum duration_verdict duration_between(const struct etw_source_clock *clock,
						     int64_t begin, int64_t end, uint64_t *ns)
{
	uint64_t time_ns = etw_ticks_to_ns(etw_time_between(begin, end), clock->frequency);
	enum duration_verdict verdict = duration_judge(clock, end, end < begin, time_ns);

	if (verdict == DURATION_FITS) {
		*ns = time_ns;
	}
	return verdict;
}

/* ---- starts that wait for their end ---- */

/*
 * A table of fixed size: each hash has four places. If all four are in use, the oldest entry is
 * dropped and counted as an eviction. So operations whose ends are lost or not recorded cannot fill
 * the table.
 */

struct recent_entry {
	uint64_t key;
	int64_t time;
	/* The caller's; not interpreted. */
	uint64_t file_key, file_object;
	uint32_t owner;
	uint8_t tag;
	uint8_t owner_type;
	bool taken;
};

struct recent {
	struct recent_entry *entries; /* owned; NULL until the first start */
	size_t sets;                  /* number of sets of four entries; a power of two */
	uint64_t count;
	uint64_t evictions;
};

/* sets: a power of two; each set has four entries. */
void recent_init(struct recent *recent, size_t sets);
void recent_clear(struct recent *recent); /* frees all memory */

/* Notes that an operation started; begin->taken is ignored. It replaces an earlier start of the
 * same key that has no end. If a later start of the key is present, this one came late and is
 * ignored. */
void recent_begin(struct recent *recent, const struct recent_entry *begin);

/* The operation ended at `time`: removes its start and copies it to *begin. Returns false and
 * leaves *begin unchanged if there is no start at or before that time. */
bool recent_end(struct recent *recent, uint64_t key, int64_t time, struct recent_entry *begin);

/* ---- the scheduler ---- */

struct scheduler_processor; /* private */

struct scheduler {
	struct scheduler_processor *processors; /* owned */
	uint32_t processor_count;
	struct recent ready; /* thread id -> when it became ready */
};

void scheduler_init(struct scheduler *scheduler);
void scheduler_clear(struct scheduler *scheduler); /* frees all memory */

/* Notes that a thread became ready. Records of different processors may come out of time order;
 * those of one processor come in time order. */
void scheduler_ready(struct scheduler *scheduler, uint32_t thread_id, int64_t time);

/* Raw times of a context switch; ETW_RECORD_NO_TIME if not known. */
struct scheduler_switch {
	int64_t on_cpu_since; /* when the old thread was switched in on this processor */
	int64_t ready_since;  /* when the new thread became ready */
};

/* Sets *thread_id to the thread that was last switched in on a processor. Returns false if none
 * is known. */
bool scheduler_running(const struct scheduler *scheduler, uint16_t processor, uint32_t *thread_id);

/* A processor switches from one thread to another at a raw time. Sets *out. */
void scheduler_switch(struct scheduler *scheduler, uint16_t processor, uint32_t old_thread,
		      uint32_t new_thread, int64_t time, struct scheduler_switch *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Event time is released in slices: the clock is read once for each slice, not for each event, and
 * a wait ends when the slice that contains the event begins.
 */
#include <etw/record.h>

#include "exporter/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"

enum { SLICE_NS = 5 * 1000 * 1000 };

struct pace {
	double speed;
	bool started;
	int64_t released;     /* event times up to this one are due */
	int64_t first_time;   /* event time at which the schedule started … */
	uint64_t first_clock; /* and the monotonic clock at that moment, in ns */
	_Atomic(uint64_t) lag_ns;
	const atomic_bool *flag; /* see pace_interrupt_by() */
	struct os_mutex lock;    /* of `stopped` */
	struct os_condition changed;
	bool stopped;
};

struct pace *pace_new(double speed, struct etw_error *err)
{
	struct pace *pace = calloc(1, sizeof *pace);

	if (!pace) {
		error_no_memory(err, "the pace of a replay");
		return NULL;
	}
	pace->speed = speed;
	os_mutex_init(&pace->lock);
	os_condition_init(&pace->changed);
	pace_start(pace);
	return pace;
}

void pace_free(struct pace *pace)
{
	if (!pace) {
		return;
	}
	os_condition_done(&pace->changed);
	os_mutex_done(&pace->lock);
	free(pace);
}

void pace_start(struct pace *pace)
{
	pace->started = false;
	pace->released = ETW_RECORD_NO_TIME; /* a record without a time is due at once */
}

/* Returns how many nanoseconds after the start an event is due. The result saturates, because times
 * in recordings may jump by centuries. */
static uint64_t due_after_ns(const struct pace *pace, int64_t time)
{
	double ns = ((double)time - (double)pace->first_time) * 100 / pace->speed;

	if (ns <= 0) {
		return 0;
	}
	return ns >= 9e18 ? UINT64_C(9000000000000000000) : (uint64_t)ns;
}

/* Sleeps until the monotonic clock reads at least `due`, in ns. Returns false when stopped or
 * interrupted. */
static bool sleep_until(struct pace *pace, uint64_t due)
{
	bool ended;

	os_mutex_lock(&pace->lock);
	for (;;) {
		uint64_t now = os_monotonic_ns();

		/* The flag is read under the lock that pace_wake() takes, so that a flag which is
		 * set just before the wait is not missed. */
		ended = pace->stopped ||
			(pace->flag && atomic_load_explicit(pace->flag, memory_order_relaxed));
		if (ended || now >= due) {
			break;
		}
		(void)os_condition_wait(&pace->changed, &pace->lock, due - now);
	}
	os_mutex_unlock(&pace->lock);
	return !ended;
}

static bool wait_for(struct pace *pace, int64_t time)
{
	uint64_t now = os_monotonic_ns();
	uint64_t due;

	if (!pace->started) {
		pace->started = true;
		pace->first_time = time;
		pace->first_clock = now;
	}
	due = pace->first_clock + due_after_ns(pace, time);
	atomic_store_explicit(&pace->lag_ns, now > due ? now - due : 0, memory_order_relaxed);
	if (!sleep_until(pace, due)) {
		return false;
	}
	pace->released =
		etw_time_add(time, etw_i64_of_double((double)SLICE_NS / 100 * pace->speed));
	return true;
}

bool pace_wait(struct pace *pace, int64_t time)
{
	return time <= pace->released || wait_for(pace, time);
}

void pace_stop(struct pace *pace)
{
	os_mutex_lock(&pace->lock);
	pace->stopped = true;
	os_condition_wake_all(&pace->changed);
	os_mutex_unlock(&pace->lock);
}

bool pace_stopped(struct pace *pace)
{
	bool stopped;

	os_mutex_lock(&pace->lock);
	stopped = pace->stopped;
	os_mutex_unlock(&pace->lock);
	return stopped;
}

void pace_interrupt_by(struct pace *pace, const atomic_bool *flag)
{
	pace->flag = flag;
}

void pace_wake(struct pace *pace)
{
	os_mutex_lock(&pace->lock);
	os_condition_wake_all(&pace->changed);
	os_mutex_unlock(&pace->lock);
}

uint64_t pace_lag_ns(const struct pace *pace)
{
	return atomic_load_explicit(&pace->lag_ns, memory_order_relaxed);
}

/* ---- log lines about replays ---- */

/* Returns whether another warning about the recording may be logged. The number is limited, because
 * a loop could log one in each pass. */
static bool may_warn(struct replay_log *logged, const char *path)
{
	enum { WARNINGS_MOST = 20 };

	if (logged->warnings == WARNINGS_MOST) {
		log_warning("Further changes of the recording are not logged",
			    log_text("file", path));
	}
	logged->warnings += logged->warnings <= WARNINGS_MOST;
	return logged->warnings <= WARNINGS_MOST;
}

void replay_log_change(struct replay_log *logged, const char *path, const char *change)
{
	if (change && may_warn(logged, path)) {
		log_warning("Recording was changed while it is replayed", log_text("file", path),
			    log_text("change", change));
	}
}

void replay_log_damage(struct replay_log *logged, const char *path,
		       const struct etw_source_statistics *now)
{
	const struct etw_source_statistics warned = logged->warned;

	logged->warned = *now;
	if (now->truncated && !warned.truncated && may_warn(logged, path)) {
		log_warning("Recording " ETW_RECORDING_CUT_SHORT, log_text("file", path));
	}
	if ((now->bad_buffers > warned.bad_buffers || now->bad_records > warned.bad_records) &&
	    may_warn(logged, path)) {
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

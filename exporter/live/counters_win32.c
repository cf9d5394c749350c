/* SPDX-License-Identifier: MIT */
/*
 * Figures of a session: Windows counts in 32 bits and from 0 for each session, we in 64 bits and
 * over all sessions that this source had.
 */
#include "live/live_internal_win32.h"

/*
 * Unsigned differences are right across one wrap, and a session is asked each second. A figure that
 * went back by less than half the range is an older answer than the one before: two threads ask.
 */
static void add(uint64_t *total, uint32_t *seen, ULONG now)
{
	uint32_t more = (uint32_t)now - *seen;

	if (more <= UINT32_MAX / 2) {
		*total += more;
		*seen = (uint32_t)now;
	}
}

void counters_begin(struct live *live)
{
	os_mutex_lock(live->source.mutex);
	live->seen = (struct session_counters){ 0 };
	live->generation++;
	os_mutex_unlock(live->source.mutex);
}

unsigned counters_generation(struct live *live)
{
	unsigned generation;

	os_mutex_lock(live->source.mutex);
	generation = live->generation;
	os_mutex_unlock(live->source.mutex);
	return generation;
}

void counters_add(struct live *live, unsigned generation, const EVENT_TRACE_PROPERTIES *properties)
{
	struct source_statistics *statistics = &live->source.statistics;
	struct session_counters *seen = &live->seen;

	os_mutex_lock(live->source.mutex);
	if (generation != live->generation) {
		os_mutex_unlock(live->source.mutex);
		return;
	}
	add(&statistics->events_lost, &seen->events_lost, properties->EventsLost);
	add(&statistics->buffers_lost, &seen->log_buffers_lost, properties->LogBuffersLost);
	add(&statistics->realtime_buffers_lost, &seen->realtime_buffers_lost,
	    properties->RealTimeBuffersLost);
	add(&statistics->buffers_written, &seen->buffers_written, properties->BuffersWritten);
	statistics->buffers_allocated = properties->NumberOfBuffers;
	statistics->buffers_free = properties->FreeBuffers;
	statistics->buffers_max = properties->MaximumBuffers;
	statistics->buffer_size_bytes = (uint64_t)properties->BufferSize * 1024;
	os_mutex_unlock(live->source.mutex);
}

void counters_restart(struct live *live, enum restart_reason reason)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.restarts[reason]++;
	os_mutex_unlock(live->source.mutex);
}

void counters_up(struct live *live, bool up)
{
	os_mutex_lock(live->source.mutex);
	live->source.statistics.up = up;
	if (!up) {
		live->source.statistics.buffers_allocated = 0;
		live->source.statistics.buffers_free = 0;
	}
	os_mutex_unlock(live->source.mutex);
}

/* By the counter and the anchor that event times come from: the system time may have been set
 * since. */
static uint64_t lag_ns(const struct live *live)
{
	int64_t now = clock_time(&live->source.facts.clock, consume_counter());

	return now > live->last_time ? ((uint64_t)now - (uint64_t)live->last_time) * 100 : 0;
}

void counters_delivered(struct live *live)
{
	struct source_statistics *statistics = &live->source.statistics;
	uint64_t lag = live->last_time == RECORD_NO_TIME ? 0 : lag_ns(live);

	os_mutex_lock(live->source.mutex);
	statistics->records = live->records;
	statistics->buffers = live->buffers;
	statistics->bad_records = live->bad_records;
	statistics->last_time = live->last_time;
	statistics->lag_ns = lag;
	os_mutex_unlock(live->source.mutex);
}

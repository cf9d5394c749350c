/* SPDX-License-Identifier: MIT */
#include "lib/source/source_internal.h"

const char *restart_reason_name(enum restart_reason reason)
{
	static const char *const names[RESTART_COUNT] = { "stopped", "stolen", "flags_changed",
							  "error" };

	return names[reason];
}

const char *names_source_name(enum names_source source)
{
	static const char *const names[NAMES_COUNT] = { "rundown_provider", "harvest" };

	return names[source];
}

const char *harvest_result_name(enum harvest_result result)
{
	static const char *const names[HARVEST_COUNT] = { "done", "empty", "failed" };

	return names[result];
}

static void add_each(uint64_t *to, const uint64_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] += from[i];
	}
}

void source_statistics_add(struct source_statistics *statistics,
			   const struct source_statistics *earlier)
{
	statistics->events_lost += earlier->events_lost;
	statistics->buffers_lost += earlier->buffers_lost;
	statistics->realtime_buffers_lost += earlier->realtime_buffers_lost;
	statistics->buffers_written += earlier->buffers_written;
	statistics->buffers += earlier->buffers;
	statistics->records += earlier->records;
	statistics->bad_buffers += earlier->bad_buffers;
	statistics->bad_bytes += earlier->bad_bytes;
	statistics->bad_records += earlier->bad_records;
	statistics->late_records += earlier->late_records;
	statistics->restores_given_up += earlier->restores_given_up;
	statistics->canary_sent += earlier->canary_sent;
	statistics->canary_received += earlier->canary_received;
	statistics->canary_refused += earlier->canary_refused;
	statistics->names_lost += earlier->names_lost;
	add_each(statistics->restarts, earlier->restarts, RESTART_COUNT);
	add_each(statistics->names, earlier->names, NAMES_COUNT);
	add_each(statistics->harvests, earlier->harvests, HARVEST_COUNT);
}

void source_init(struct source *source, const struct source_operations *operations)
{
	source->operations = operations;
	atomic_init(&source->stopping, false);
	os_mutex_init(&source->own_mutex);
	source->mutex = &source->own_mutex;
	source->statistics.last_time = RECORD_NO_TIME;
}

void source_done(struct source *source)
{
	os_mutex_done(&source->own_mutex);
}

void source_publish(struct source *source, const struct source_statistics *statistics)
{
	os_mutex_lock(source->mutex);
	source->statistics = *statistics;
	os_mutex_unlock(source->mutex);
}

bool source_run(struct source *source, const struct event_sink *sink, struct error *err)
{
	return source->operations->run(source, sink, err);
}

void source_stop(struct source *source)
{
	/* Pairs with the acquire in source_stopping() and etl_visitor_stopping(): when the consumer
	 * leaves its loop, it sees everything that the stopping thread wrote before this call. */
	atomic_store_explicit(&source->stopping, true, memory_order_release);
	if (source->operations->stop) {
		source->operations->stop(source);
	}
}

void source_sink_changed(struct source *source)
{
	if (source->operations->sink_changed) {
		source->operations->sink_changed(source);
	}
}

void source_wake(struct source *source)
{
	if (source->operations->wake) {
		source->operations->wake(source);
	}
}

bool source_stopping(const struct source *source)
{
	return atomic_load_explicit(&source->stopping, memory_order_acquire);
}

void source_statistics(const struct source *source, struct source_statistics *statistics)
{
	os_mutex_lock(source->mutex);
	*statistics = source->statistics;
	os_mutex_unlock(source->mutex);
}

const struct source_facts *source_facts(const struct source *source)
{
	return &source->facts;
}

void source_close(struct source *source)
{
	if (source) {
		source->operations->close(source);
	}
}

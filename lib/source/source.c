/* SPDX-License-Identifier: MIT */
#include "lib/source/source_internal.h"

const char *etw_restart_reason_name(enum etw_restart_reason reason)
{
	static const char *const names[ETW_RESTART_COUNT] = { "stopped", "stolen", "flags_changed",
							      "error" };

	return names[reason];
}

const char *etw_names_source_name(enum etw_names_source source)
{
	static const char *const names[ETW_NAMES_COUNT] = { "rundown_provider", "harvest" };

	return names[source];
}

const char *etw_harvest_result_name(enum etw_harvest_result result)
{
	static const char *const names[ETW_HARVEST_COUNT] = { "done", "empty", "failed" };

	return names[result];
}

static void add_each(uint64_t *to, const uint64_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] += from[i];
	}
}

void etw_source_statistics_add(struct etw_source_statistics *statistics,
			       const struct etw_source_statistics *earlier)
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
	add_each(statistics->restarts, earlier->restarts, ETW_RESTART_COUNT);
	add_each(statistics->names, earlier->names, ETW_NAMES_COUNT);
	add_each(statistics->harvests, earlier->harvests, ETW_HARVEST_COUNT);
}

void source_init(struct etw_source *source, const struct source_operations *operations)
{
	source->operations = operations;
	atomic_init(&source->stopping, false);
	os_mutex_init(&source->own_mutex);
	source->mutex = &source->own_mutex;
	source->statistics.last_time = ETW_RECORD_NO_TIME;
}

void source_done(struct etw_source *source)
{
	os_mutex_done(&source->own_mutex);
}

void source_publish(struct etw_source *source, const struct etw_source_statistics *statistics)
{
	os_mutex_lock(source->mutex);
	source->statistics = *statistics;
	os_mutex_unlock(source->mutex);
}

bool etw_source_run(struct etw_source *source, const struct etw_event_sink *sink,
		    struct etw_error *err)
{
	return source->operations->run(source, sink, err);
}

void etw_source_stop(struct etw_source *source)
{
	/* Pairs with the acquire in etw_source_stopping() and etl_visitor_stopping(): when the
	 * consumer leaves its loop, it sees everything that the stopping thread wrote before this
	 * call. */
	atomic_store_explicit(&source->stopping, true, memory_order_release);
	if (source->operations->stop) {
		source->operations->stop(source);
	}
}

void etw_source_sink_changed(struct etw_source *source)
{
	if (source->operations->sink_changed) {
		source->operations->sink_changed(source);
	}
}

void etw_source_wake(struct etw_source *source)
{
	if (source->operations->wake) {
		source->operations->wake(source);
	}
}

bool etw_source_stopping(const struct etw_source *source)
{
	return atomic_load_explicit(&source->stopping, memory_order_acquire);
}

void etw_source_statistics(const struct etw_source *source,
			   struct etw_source_statistics *statistics)
{
	os_mutex_lock(source->mutex);
	*statistics = source->statistics;
	os_mutex_unlock(source->mutex);
}

const struct etw_source_facts *etw_source_facts(const struct etw_source *source)
{
	return &source->facts;
}

void etw_source_close(struct etw_source *source)
{
	if (source) {
		source->operations->close(source);
	}
}

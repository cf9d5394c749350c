/* SPDX-License-Identifier: MIT */
/*
 * What all sources have in common: statistics, and a clock.
 *
 * The clock is an exact conversion from ticks to wall time and durations, and arithmetic that
 * saturates.
 *
 * A record has a raw time in ticks of the clock of its session. The source knows the frequency
 * of the clock and one anchor: a raw time and the wall time of the same moment. The wall time of a
 * record is the anchor plus or minus the distance in ticks, converted to units of 100 ns.
 *
 * The inputs come from files, so every 64-bit value is possible: a frequency of 2^63 Hz, or times
 * at both ends of the range. A product of ticks and units may need 128 bits, so scale() divides
 * bit by bit where 64 bits do not suffice. Results are rounded down, towards earlier times, and
 * saturate. ETW_RECORD_NO_TIME never results from another time.
 *
 * Source: docs/etl-format.md section 6; "TRACE_LOGFILE_HEADER structure", Microsoft Learn
 * (ReservedFlags).
 */
#include <etw/record.h>

#include "lib/source/event_record.h"
#include "lib/source/source_internal.h"

/* ---- the clock ---- */

#define TICKS_100NS_PER_SECOND UINT64_C(10000000)
#define NS_PER_SECOND          UINT64_C(1000000000)

const char *etw_clock_type_name(enum etw_clock_type type)
{
	static const char *const names[] = { NULL, "qpc", "systemtime", "cputick" };

	return type >= ETW_CLOCK_QPC && type <= ETW_CLOCK_CPU_CYCLE ? names[type] : "unknown";
}

/* Returns part * unit / whole, rounded down, for part < whole. It uses long division, since part *
 * unit may not fit into 64 bits. */
static uint64_t scale_part(uint64_t part, uint64_t unit, uint64_t whole)
{
	uint64_t quotient = 0;
	uint64_t rest = 0;

	if (part <= UINT64_MAX / unit) {
		return part * unit / whole;
	}
	/* Adds one bit of unit at a time, the highest first. rest < whole and part < whole hold
	 * throughout. */
	for (int bit = 63; bit >= 0; bit--) {
		bool overflow = rest >= whole - rest;

		quotient <<= 1;
		rest = overflow ? rest - (whole - rest) : 2 * rest;
		quotient += overflow;
		if (unit >> bit & 1) {
			overflow = rest >= whole - part;
			rest = overflow ? rest - (whole - part) : rest + part;
			quotient += overflow;
		}
	}
	return quotient;
}

/* Returns ticks * unit / frequency, rounded down; saturates. */
static uint64_t scale(uint64_t ticks, uint64_t unit, uint64_t frequency)
{
	uint64_t whole = ticks / frequency;
	uint64_t part = scale_part(ticks % frequency, unit, frequency);

	if (whole > (UINT64_MAX - part) / unit) {
		return UINT64_MAX;
	}
	return whole * unit + part;
}

/* Computes the same as scale(), rounded up. */
static uint64_t scale_up(uint64_t ticks, uint64_t unit, uint64_t frequency)
{
	uint64_t down = scale(ticks, unit, frequency);
	uint64_t part = ticks % frequency;

	/* Nothing was rounded if and only if part * unit is a multiple of frequency. Both products
	 * wrap around in the same way. */
	if (down != UINT64_MAX && part * unit != scale_part(part, unit, frequency) * frequency) {
		down++;
	}
	return down;
}

/* Returns time + distance, or time - distance if back is true; saturates at INT64_MAX and at
 * INT64_MIN + 1, because INT64_MIN is ETW_RECORD_NO_TIME. */
static int64_t add_saturating(int64_t time, uint64_t distance, bool back)
{
	uint64_t room = back ? (uint64_t)time - (uint64_t)INT64_MIN :
			       (uint64_t)INT64_MAX - (uint64_t)time;
	int64_t sum;

	if (distance > room) {
		return back ? INT64_MIN + 1 : INT64_MAX;
	}
	sum = (int64_t)(back ? (uint64_t)time - distance : (uint64_t)time + distance);
	return sum == ETW_RECORD_NO_TIME ? INT64_MIN + 1 : sum;
}

int64_t etw_clock_time(const struct etw_source_clock *clock, int64_t raw)
{
	bool back = raw < clock->anchor_raw;
	uint64_t ticks = back ? (uint64_t)clock->anchor_raw - (uint64_t)raw :
				(uint64_t)raw - (uint64_t)clock->anchor_raw;
	uint64_t distance;

	if (raw == ETW_RECORD_NO_TIME) {
		return ETW_RECORD_NO_TIME;
	}
	if (clock->frequency == TICKS_100NS_PER_SECOND) {
		distance = ticks;
	} else if (ticks <= UINT64_MAX / TICKS_100NS_PER_SECOND && !back) {
		distance = ticks * TICKS_100NS_PER_SECOND / clock->frequency;
	} else if (back) {
		distance = scale_up(ticks, TICKS_100NS_PER_SECOND, clock->frequency);
	} else {
		distance = scale(ticks, TICKS_100NS_PER_SECOND, clock->frequency);
	}
	return add_saturating(clock->anchor_time, distance, back);
}

int64_t etw_clock_raw_time(const struct etw_source_clock *clock, int64_t time)
{
	int64_t low = INT64_MIN + 1, high = INT64_MAX;

	while (low < high) {
		int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);

		if (etw_clock_time(clock, middle) < time) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

uint64_t etw_ticks_to_ns(uint64_t ticks, uint64_t frequency)
{
	if (ticks <= UINT64_MAX / NS_PER_SECOND) {
		return ticks * NS_PER_SECOND / frequency;
	}
	return scale(ticks, NS_PER_SECOND, frequency);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void etw_clock_find_uptime(struct etw_source_clock *clock, int64_t boot_time)
{
	uint64_t uptime = 0, counted = 0;

	if (boot_time > 0) {
		uptime = etw_ticks_to_ns(etw_time_between(boot_time, clock->anchor_time),
					 TICKS_100NS_PER_SECOND);
	}
	if (clock->type != ETW_CLOCK_SYSTEM_TIME && clock->anchor_raw > 0) {
		counted = etw_ticks_to_ns((uint64_t)clock->anchor_raw, clock->frequency);
	}
	clock->uptime_ns = least(uptime > counted ? uptime : counted, ETW_UPTIME_MOST_NS);
}

uint64_t etw_clock_uptime(const struct etw_source_clock *clock, int64_t raw)
{
	uint64_t distance;

	if (clock->uptime_ns == 0 || raw == ETW_RECORD_NO_TIME) {
		return ETW_UPTIME_MOST_NS;
	}
	if (raw >= clock->anchor_raw) {
		distance =
			etw_ticks_to_ns(etw_time_between(clock->anchor_raw, raw), clock->frequency);
		return clock->uptime_ns + least(distance, ETW_UPTIME_MOST_NS - clock->uptime_ns);
	}
	distance = etw_ticks_to_ns(etw_time_between(raw, clock->anchor_raw), clock->frequency);
	return clock->uptime_ns - least(distance, clock->uptime_ns);
}

uint64_t etw_ticks_of_ms(uint64_t ms, uint64_t frequency)
{
	return scale(ms, frequency, 1000);
}

int64_t etw_time_add(int64_t time, int64_t distance)
{
	bool back = distance < 0;

	return add_saturating(time, back ? 0 - (uint64_t)distance : (uint64_t)distance, back);
}

uint64_t etw_time_since_1970(int64_t time)
{
	return etw_time_between(ETW_TIME_1970, time);
}

uint64_t etw_u64_of_double(double number)
{
	if (!(number > 0)) { /* also true for NaN */
		return 0;
	}
	return number < 0x1p64 ? (uint64_t)number : UINT64_MAX;
}

int64_t etw_i64_of_double(double number)
{
	if (number >= -0x1p63 && number < 0x1p63) {
		return (int64_t)number;
	}
	if (number > 0) {
		return INT64_MAX;
	}
	return number < 0 ? INT64_MIN : 0;
}

/* ---- sources ---- */

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

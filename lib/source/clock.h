/* SPDX-License-Identifier: MIT */
/*
 * The clocks of recordings and sessions, and arithmetic on times.
 *
 * A wall time is an int64_t in units of 100 ns since 1601 UTC. A recording chooses its times, so
 * each may be any 64-bit number, and so may the frequency of the clock. The functions here are
 * defined for all of them: they saturate where a result does not fit. Other code adds, subtracts
 * and converts times with these functions only.
 */
#ifndef LIB_SOURCE_CLOCK_H
#define LIB_SOURCE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum etw_clock_type { ETW_CLOCK_QPC = 1, ETW_CLOCK_SYSTEM_TIME = 2, ETW_CLOCK_CPU_CYCLE = 3 };

/* "qpc", "systemtime", "cputick", as in the summaries; otherwise "unknown". */
const char *etw_clock_type_name(enum etw_clock_type type);

/*
 * The clock of a source, which converts raw times to wall time and durations. The facts of a source
 * have the one with which it was opened; a live session takes new anchors for the times of its
 * records.
 */
struct etw_source_clock {
	enum etw_clock_type type;
	uint64_t frequency; /* ticks per second of raw times; never 0 */
	/* ticks per second of the performance counter (DiskIo response times); never 0 */
	uint64_t perf_frequency;
	int64_t anchor_raw;  /* a raw time … */
	int64_t anchor_time; /* … and the same moment in 100 ns since 1601 UTC */
	/* how long the machine had run at the anchor, in ns, at most UPTIME_MOST_NS; 0: not known
	 */
	uint64_t uptime_ns;
};

/* No machine is taken to have run for longer: 366 days. A recording may say anything. */
#define UPTIME_MOST_NS (UINT64_C(366) * 24 * 3600 * 1000000000)

/*
 * Fills in uptime_ns. boot_time: when the machine started, in 100 ns since 1601 UTC; 0: not known.
 * The counters of processors and the performance counter begin when the machine starts. If both are
 * known, the longer time is taken: a correction of the wall clock makes the one wrong, a program
 * that writes raw times of its own makes the other too short.
 *
 * Source: TRACE_LOGFILE_HEADER (BootTime) and "Acquiring high-resolution time stamps", Microsoft
 * Learn; the recordings of docs/etl-format.md section 19 agree within 36 s in four days.
 */
void clock_find_uptime(struct etw_source_clock *clock, int64_t boot_time);

/* How long the machine had run at a raw time, in ns; UPTIME_MOST_NS if it is not known, and at
 * most. */
uint64_t clock_uptime(const struct etw_source_clock *clock, int64_t raw);

/*
 * The wall time of a raw time, in 100 ns since 1601 UTC, by docs/etl-format.md section 6. It is
 * rounded down and saturates at INT64_MAX and at INT64_MIN + 1. ETW_RECORD_NO_TIME results only
 * from ETW_RECORD_NO_TIME.
 */
int64_t etw_clock_time(const struct etw_source_clock *clock, int64_t raw);

/*
 * Converts ticks to nanoseconds; frequency: ticks per second. Rounded down, saturating, exact for
 * every 64-bit input.
 */
uint64_t etw_ticks_to_ns(uint64_t ticks, uint64_t frequency);

/* The ticks in a time of `ms`; frequency: ticks per second. Rounded down, saturating. */
uint64_t etw_ticks_of_ms(uint64_t ms, uint64_t frequency);

/* From one time to another, in their unit; 0 if the second is earlier. Exact. */
static inline uint64_t etw_time_between(int64_t start, int64_t end)
{
	return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

/* A time and a distance in its unit, which may be negative. Saturates at INT64_MAX and at
 * INT64_MIN + 1, because INT64_MIN is ETW_RECORD_NO_TIME. */
int64_t etw_time_add(int64_t time, int64_t distance);

#define ETW_TIME_1970 INT64_C(116444736000000000) /* the beginning of 1970 UTC as a wall time */

/* A wall time in units of 100 ns since 1970 UTC; 0 for an earlier one and for ETW_RECORD_NO_TIME.
 */
uint64_t etw_time_since_1970(int64_t time);

/* The whole number in a double; the nearest number of the type if it is outside, 0 for NaN. */
uint64_t etw_u64_of_double(double number);
int64_t etw_i64_of_double(double number);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One event of any source, and the clock by which its times are read.
 *
 * An event record has the contents of a record header in a recording, or of an EVENT_RECORD in a
 * live session. The source owns the record, its payload and its extended items. They are valid only
 * during the callback; the callback copies what it keeps.
 *
 * A wall time is an int64_t in units of 100 ns since 1601 UTC. A recording chooses its times, so
 * each may be any 64-bit number, and so may the frequency of the clock. The functions here are
 * defined for all of them: they saturate where a result does not fit.
 */
#ifndef ETW_RECORD_H
#define ETW_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Types of record headers (docs/etl-format.md section 3). Live events are ETW_RECORD_EVENT, classic
 * ones ETW_RECORD_FULL, and those whose payload is one text ETW_RECORD_STRING.
 */
enum etw_record_type {
	ETW_RECORD_SYSTEM,
	ETW_RECORD_COMPACT,
	ETW_RECORD_PERFINFO,
	ETW_RECORD_EVENT,
	ETW_RECORD_FULL,
	ETW_RECORD_INSTANCE,
	/* an ETW_RECORD_EVENT whose payload is one UTF-16 text (section 4.5) */
	ETW_RECORD_STRING,
	ETW_RECORD_MESSAGE, /* WPP */
	ETW_RECORD_TIMED, /* of this type and the following ones only the header type is known; they
			     are skipped by their size */
	ETW_RECORD_ERROR,
	ETW_RECORD_WNODE,
	ETW_RECORD_MESSAGE_TYPED,
	ETW_RECORD_UNKNOWN, /* an undocumented header type; skipped by the size at offset 0 */
	ETW_RECORD_TYPE_COUNT
};

/* Returns the name of a header type in lower case, as in summaries ("system"). The text is static.
 */
const char *etw_record_type_name(enum etw_record_type type);

/* Windows writes this in a header for a missing id; also used if a record has no such field. */
#define ETW_RECORD_NO_ID UINT32_MAX

/* The CPU times of a record whose header has none. */
#define ETW_RECORD_NO_CPU_TIMES UINT64_MAX

/* The kernel group of a record that has none. */
enum { ETW_RECORD_NO_GROUP = 0xff };

/* The time of a record without a time (a WPP message); it sorts before all other times. */
#define ETW_RECORD_NO_TIME INT64_MIN

struct etw_record {
	/*
	 * The provider or the event class. Points into a static table or into the record; never
	 * NULL.
	 */
	const struct etw_guid *provider;
	const uint8_t *payload; /* borrowed; never NULL, even when payload_size is 0 */
	/* What distinguishes the event classes of a provider. */
	union {
		ETW_ANONYMOUS struct {
			/* event id; 0 for classic and kernel events, the number of a message */
			uint16_t id;
			uint8_t version;
			uint8_t opcode;
			uint8_t pointer_size; /* 4 or 8: pointers in this payload */
			uint8_t type;         /* enum etw_record_type */
			/* the provider GUID names an event class, and the opcode identifies the
			 * event in it (MOF) */
			bool classic;
			/* the kernel group of SYSTEM, COMPACT and PERFINFO records
			 * (docs/etl-format.md section 8); else ETW_RECORD_NO_GROUP */
			uint8_t kernel_group;
		};
		uint64_t class_key; /* all of these as one number, to compare */
	};
	uint32_t payload_size;
	uint32_t extended_size; /* bytes of all extended items */
	uint32_t thread_id;     /* ETW_RECORD_NO_ID if the header has none */
	uint32_t process_id;    /* ETW_RECORD_NO_ID if the header has none */
	uint16_t processor;
	uint16_t task;
	uint8_t channel;
	uint8_t level;
	int64_t raw_time; /* ticks of the clock of the source, or ETW_RECORD_NO_TIME */
	int64_t time;     /* 100 ns since 1601-01-01 UTC; ETW_RECORD_NO_TIME if raw_time is */
	uint64_t keyword;
	const struct etw_guid *activity; /* 16 bytes in the record; NULL if its header has none */
	/* the first extended item as on disk (docs/etl-format.md section 9), already checked; NULL:
	 * none */
	const uint8_t *extended;
	/* CPU time of the thread in units of the timer resolution: the low half in kernel mode, the
	 * high half in user mode; ETW_RECORD_NO_CPU_TIMES if the header has none */
	uint64_t cpu_times;
	/* number of the record in file order, from 0; in a live session in order of delivery */
	uint64_t index;
};

/* A set of event ids: bit id % 8 of byte id / 8. */
struct etw_id_choice {
	uint8_t ids[(UINT16_MAX + 1) / 8];
};

static inline void etw_id_choose(struct etw_id_choice *choice, uint16_t id)
{
	choice->ids[id / 8] |= (uint8_t)(1U << id % 8);
}

/* Extended item types (EVENT_HEADER_EXT_TYPE_*). */
enum etw_extended_type {
	ETW_EXTENDED_RELATED_ACTIVITY = 1,
	ETW_EXTENDED_SID = 2,
	ETW_EXTENDED_SESSION_ID = 3,
	ETW_EXTENDED_STACK32 = 5,
	ETW_EXTENDED_STACK64 = 6,
	ETW_EXTENDED_EVENT_KEY = 10,
	ETW_EXTENDED_TRACELOGGING = 11,
	ETW_EXTENDED_PROVIDER_TRAITS = 12,
	ETW_EXTENDED_PROCESS_START_KEY = 13,
	ETW_EXTENDED_CONTAINER_ID = 16,
};

struct etw_extended_item {
	uint16_t type;
	uint16_t size; /* bytes of data */
	const uint8_t *data;
};

/*
 * Walks the extended items: start with *offset = 0; returns false after the last item. The items
 * were checked when the record was read.
 */
bool etw_record_next_extended(const struct etw_record *record, uint32_t *offset,
			      struct etw_extended_item *item);

/* Finds the first item of a type; false if there is none. */
bool etw_record_find_extended(const struct etw_record *record, enum etw_extended_type type,
			      struct etw_extended_item *item);

enum etw_clock_type { ETW_CLOCK_QPC = 1, ETW_CLOCK_SYSTEM_TIME = 2, ETW_CLOCK_CPU_CYCLE = 3 };

/* Returns "qpc", "systemtime" or "cputick", as in summaries; "unknown" for another number. */
const char *etw_clock_type_name(enum etw_clock_type type);

/*
 * The clock of a source, which converts raw times to wall time and durations. The facts of a source
 * contain the clock with which it was opened; a live session later uses newer anchors for the times
 * of its records.
 */
struct etw_source_clock {
	enum etw_clock_type type;
	uint64_t frequency; /* ticks per second of raw times; never 0 */
	/* ticks per second of the performance counter (DiskIo response times); never 0 */
	uint64_t perf_frequency;
	int64_t anchor_raw;  /* a raw time … */
	int64_t anchor_time; /* … and the same moment in 100 ns since 1601 UTC */
	/* how long the machine had run at the anchor, in ns, at most ETW_UPTIME_MOST_NS; 0: not
	 * known */
	uint64_t uptime_ns;
};

/*
 * Converts a raw time to wall time (100 ns since 1601 UTC; docs/etl-format.md section 6). The
 * result is rounded down and saturates at INT64_MAX and at INT64_MIN + 1. It is ETW_RECORD_NO_TIME
 * only for ETW_RECORD_NO_TIME.
 */
int64_t etw_clock_time(const struct etw_source_clock *clock, int64_t raw);

/* Returns the first raw time whose wall time is not below `time`. */
int64_t etw_clock_raw_time(const struct etw_source_clock *clock, int64_t time);

/* The longest uptime that is believed: 366 days. A recording may claim any. */
#define ETW_UPTIME_MOST_NS (UINT64_C(366) * 24 * 3600 * 1000000000)

/*
 * Fills in uptime_ns. boot_time: when the machine started, in 100 ns since 1601 UTC; 0: not known.
 * The counters of processors and the performance counter begin when the machine starts. If both
 * times are known, the longer one is taken: a correction of the wall clock makes the time since
 * boot_time wrong, and a program that writes raw times of its own makes the counter too small.
 *
 * Source: TRACE_LOGFILE_HEADER (BootTime) and "Acquiring high-resolution time stamps", Microsoft
 * Learn; the recordings of docs/etl-format.md section 19 agree within 36 s in four days.
 */
void etw_clock_find_uptime(struct etw_source_clock *clock, int64_t boot_time);

/* Returns how long the machine had run at a raw time, in ns, at most ETW_UPTIME_MOST_NS; that is
 * also the result if it is not known. */
uint64_t etw_clock_uptime(const struct etw_source_clock *clock, int64_t raw);

/*
 * Converts ticks to nanoseconds; frequency: ticks per second. Rounded down, saturating, exact for
 * every 64-bit input.
 */
uint64_t etw_ticks_to_ns(uint64_t ticks, uint64_t frequency);

/* Converts milliseconds to ticks; frequency: ticks per second. Rounded down, saturating. */
uint64_t etw_ticks_of_ms(uint64_t ms, uint64_t frequency);

/* Returns the time from start to end, in their unit; 0 if end is earlier. Exact. */
static inline uint64_t etw_time_between(int64_t start, int64_t end)
{
	return end > start ? (uint64_t)end - (uint64_t)start : 0;
}

/* Returns time + distance, in the same unit; distance may be negative. Saturates at INT64_MAX and
 * at INT64_MIN + 1, because INT64_MIN is ETW_RECORD_NO_TIME. */
int64_t etw_time_add(int64_t time, int64_t distance);

#define ETW_TIME_1970 INT64_C(116444736000000000) /* the beginning of 1970 UTC as a wall time */

/* Converts a wall time to units of 100 ns since 1970 UTC; 0 for an earlier time and for
 * ETW_RECORD_NO_TIME. */
uint64_t etw_time_since_1970(int64_t time);

/* Convert a double to an integer: the fraction is dropped, a number out of range becomes the
 * nearest limit of the type, NaN becomes 0. */
uint64_t etw_u64_of_double(double number);
int64_t etw_i64_of_double(double number);

#ifdef __cplusplus
}
#endif

#endif

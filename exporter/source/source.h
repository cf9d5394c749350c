/* SPDX-License-Identifier: MIT */
/*
 * Where event records come from: a recording or a live session.
 *
 * A source delivers records in time order to a sink, on the thread that calls source_run(), until
 * it ends or is stopped. It knows its clock and its losses. One source has one consumer; other
 * threads may only call source_stop() and source_statistics().
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "source/event_record.h"

enum clock_type { CLOCK_QPC = 1, CLOCK_SYSTEM_TIME = 2, CLOCK_CPU_CYCLE = 3 };

/* "qpc", "systemtime", "cputick" as in the summaries; "unknown" else. */
const char *clock_type_name(enum clock_type type);

/*
 * The clock of a source: how raw times become wall time and durations. Immutable once the source is
 * open.
 */
struct source_clock {
	enum clock_type type;
	uint64_t frequency; /* ticks per second of raw times; never 0 */
	/* ticks per second of the performance counter (DiskIo response times); never 0 */
	uint64_t perf_frequency;
	int64_t anchor_raw;  /* a raw time … */
	int64_t anchor_time; /* … and the same moment in 100 ns since 1601 UTC */
};

/*
 * 100 ns since 1601 UTC of a raw time, by docs/etl-format.md section 6: rounded down, saturating at the
 * ends of int64_t (below at INT64_MIN + 1: RECORD_NO_TIME stays itself and comes from nothing
 * else).
 */
int64_t clock_time(const struct source_clock *clock, int64_t raw);

/*
 * ticks of frequency per second in nanoseconds, rounded down, saturating; exact for every 64-bit
 * input.
 */
uint64_t ticks_to_ns(uint64_t ticks, uint64_t frequency);

/*
 * What a sink does with records. on_first_pass and on_first_pass_end may be NULL; a source that can
 * only be read once never calls them.
 *
 * A recording is passed over twice: first every record in *file* order to on_first_pass (a
 * recording often names a process only in the rundown at its end), then on_first_pass_end once,
 * then every record again in *time* order to on_event. on_buffer is called between records at least
 * once a buffer, in both passes: the place for epochs and pacing.
 */
struct event_sink {
	void *context;
	void (*on_first_pass)(void *context, const struct event_record *record);
	/* The kernel records that on_first_pass wants to see, which saves reading the others, the
	 * most by far; borrowed. NULL: all. */
	const struct kernel_choice *first_pass_choice;
	void (*on_first_pass_end)(void *context);
	void (*on_event)(void *context, const struct event_record *record);
	void (*on_buffer)(void *context);
	/*
	 * Of live sessions, NULL for whoever does not care; between records, like on_buffer.
	 * on_restart: the session was started again, and what happened meanwhile nobody knows.
	 * Then, as at the first start, what was found to exist already: processes, threads, drives,
	 * and the end of the list.
	 */
	void (*on_restart)(void *context);
	void (*on_process)(void *context, uint32_t process_id, const char *name, size_t size);
	void (*on_thread)(void *context, uint32_t thread_id, uint32_t process_id);
	void (*on_volume)(void *context, const char *nt_path, const char *dos_path);
	void (*on_snapshot_end)(void *context);
};

/* Why a live session was started again (etw_session_restarts_total). */
enum restart_reason {
	RESTART_STOPPED,       /* somebody stopped it */
	RESTART_STOLEN,        /* somebody stopped it and started one of the same name */
	RESTART_FLAGS_CHANGED, /* somebody changed it: put back, without a new start */
	RESTART_ERROR,         /* Windows ended the consumer */
	RESTART_RELOAD,
	RESTART_COUNT
};

const char *restart_reason_name(enum restart_reason reason);

/*
 * Counters that a session or a recording keeps about itself. Written by the source's thread, read
 * by any.
 */
struct source_statistics {
	uint64_t events_lost;
	uint64_t buffers_lost; /* log buffers of a recording */
	uint64_t realtime_buffers_lost;
	uint64_t buffers_written; /* as the header tells */
	uint64_t buffers;         /* delivered so far */
	uint64_t records;         /* delivered so far */
	uint64_t bad_buffers;     /* dropped: header or compressed data that make no sense */
	/* places where a buffer's rest, or a record's payload, was dropped */
	uint64_t bad_records;
	/* delivered out of time order, because too many buffers were open at once */
	uint64_t late_records;
	uint64_t buffer_size_bytes;
	uint64_t bytes_read; /* of this pass of the file */
	uint64_t bytes_total;
	/* 100 ns since 1601 UTC of the last record delivered; RECORD_NO_TIME before the first */
	int64_t last_time;
	bool truncated; /* the last buffer is cut short */

	/* Of live sessions; all zero for a recording. The losses above go on counting when the
	 * session is started again. */
	bool up; /* the session runs and is consumed */
	uint64_t buffers_allocated;
	uint64_t buffers_free;
	uint64_t buffers_max;
	uint64_t lag_ns; /* delivery after event time, at the last buffer */
	uint64_t restarts[RESTART_COUNT];
	uint64_t canary_sent; /* live/canary.h says what counts */
	uint64_t canary_received;
};

/* What a source is, fixed when it is open. The name is valid until source_close(); kind and mode
 * are literals. */
struct source_facts {
	const char *name; /* session label: a recording's base file name */
	const char *type; /* replay, system_logger, … (etw_session_info) */
	const char *mode; /* file, circular, real_time, … a word for etw_session_info */
	uint32_t os_build;
	uint32_t processors;
	uint32_t buffers_max; /* 0: not told */
	struct source_clock clock;
};

struct kernel_choice; /* source/kernel_group.h */
struct source;        /* opaque */

/*
 * Delivers everything to sink and returns; true at the end of the recording or after source_stop().
 * May be called again: each call is a pass from the start (a replay in a loop). Damage inside is
 * weather, counted in the statistics; false is for what makes going on impossible (the file cannot
 * be read any more, no memory).
 */
bool source_run(struct source *source, const struct event_sink *sink, struct error *err);

/*
 * Any thread: source_run() returns soon, a recording's at the next record, a live session's when
 * the session is stopped and what it still held is delivered. Sticky.
 */
void source_stop(struct source *source);
bool source_stopping(const struct source *source);

/* Any thread. */
void source_statistics(const struct source *source, struct source_statistics *statistics);
const struct source_facts *source_facts(const struct source *source);

/* After source_run() has returned. NULL is fine. */
void source_close(struct source *source);

#endif

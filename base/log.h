/* SPDX-License-Identifier: MIT */
/*
 * The program's log: one line on standard error per call, logfmt or JSON.
 *
 *   log_info("Replay started", log_text("file", path), log_u64("buffers", n));
 *   ts=2026-01-01T00:00:00.000Z level=info msg="Replay started" file=a.etl buffers=12
 *   {"ts":"2026-01-01T00:00:00.000Z","level":"info","msg":"Replay started",
 *    "file":"a.etl","buffers":12}
 *
 * Only main, http and the start and end of consumers log; other modules return errors. Text is
 * escaped, and quoted unless it is a plain word, so that a value can never form a line or a field.
 * Any thread may log; each line is written with one call.
 *
 * Repeated messages cannot fill the disk: after LOG_LINES_A_MINUTE lines with one message, further
 * ones are suppressed until the minute has ended. Then one line has the same message and
 * suppressed=NUMBER. Debug lines are not limited, because users who enable them need every line.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* ---- log ---- */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
	const char *name; /* [a-z_]+; NULL ends a list */
	enum { LOG_FIELD_TEXT, LOG_FIELD_U64 } type;
	union {
		const char *text;
		uint64_t u64;
	} value;
};

static inline struct log_field log_text(const char *name, const char *text)
{
	struct log_field field = { .name = name, .type = LOG_FIELD_TEXT };

	field.value.text = text ? text : "";
	return field;
}

static inline struct log_field log_u64(const char *name, uint64_t value)
{
	struct log_field field = { .name = name, .type = LOG_FIELD_U64 };

	field.value.u64 = value;
	return field;
}

/* Sets level and format; the defaults are info and logfmt. Any thread may call it. */
void log_configure(enum log_level level, enum log_format format);

/*
 * Receives a line of size bytes, without a newline, which is valid during the call. Several threads
 * may call it at once; it must not log.
 */
typedef void log_sink(void *context, enum log_level level, const char *line, size_t size);
/* Sends lines to sink instead of standard error; NULL restores standard error. Call it while no
 * other thread logs. */
void log_to(log_sink *sink, void *context);

/* Parse "debug", "info", "warn" or "warning", "error"; and "logfmt", "json"; in any case of
 * letters.
 */
bool log_level_parse(const char *text, enum log_level *level);
bool log_format_parse(const char *text, enum log_format *format);
const char *log_level_name(enum log_level level);
const char *log_format_name(enum log_format format);

/* Writes a line. message must be a literal. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);
/* As log_write(), without the limit: for a list that is logged once, and for the last lines of the
 * program. */
void log_write_always(enum log_level level, const char *message, const struct log_field *fields);

#define log_line(level, ...) log_pick(level, __VA_ARGS__, (struct log_field){ .name = NULL })
#define log_pick(level, message, ...) \
	log_write((level), (message), (const struct log_field[]){ __VA_ARGS__ })
#define log_always(level, ...) \
	log_pick_always(level, __VA_ARGS__, (struct log_field){ .name = NULL })
#define log_pick_always(level, message, ...) \
	log_write_always((level), (message), (const struct log_field[]){ __VA_ARGS__ })
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...)   log_line(LOG_ERROR, __VA_ARGS__)

/* Logs how many lines were suppressed in minutes that have ended; with at_end also in the present
 * one. Call it regularly, because a suppressed message may never come again. */
void log_report_suppressed(bool at_end);

struct log_statistics {
	uint64_t suppressed; /* lines */
};
void log_statistics(struct log_statistics *statistics);

/* Tests set the clock of the limits here; NULL restores os_monotonic_ns(). */
void log_set_clock(uint64_t (*now_ns)(void));

/* ---- a queue for slow writers ---- */

/*
 * Passes log lines to a writer that may be slow or hang. The writer runs on its own thread.
 *
 * A thread that logs never waits for the writer. If LOG_QUEUE_LINES lines are waiting, further
 * lines are dropped, and an additional line reports their number when the writer continues.
 */

enum { LOG_QUEUE_LINES = 256 };

struct log_queue; /* opaque */

/* Starts the writer's thread. write() is called on that thread only. */
struct log_queue *log_queue_open(log_sink *write, void *context, struct etw_error *err);

/* Adds a line to a queue. It is a log_sink for log_to() whose context is the struct log_queue. Any
 * thread may call it. */
void log_queue_add(void *queue, enum log_level level, const char *line, size_t size);

/*
 * Waits until the writer has received all lines, and frees the queue. Returns false if this takes
 * longer than timeout_ns; the queue and its thread then continue, for another call or until the
 * program ends. NULL is allowed.
 */
bool log_queue_close(struct log_queue *queue, uint64_t timeout_ns);

/* ---- limits ---- */

enum {
	LOG_LINES_A_MINUTE = 30, /* lines with one message; about 10 MB a day at most */
	LOG_MESSAGES_MOST =
		64, /* number of different messages that are limited; further ones are not */
};

/* Forgets which messages were logged how often, for tests. Call it while no other thread logs. */
void log_limit_reset(void);

#endif

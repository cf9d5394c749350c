/* SPDX-License-Identifier: MIT */
/*
 * The log of the program, and a queue for slow writers.
 *
 * A line is built in memory and written with one call, so that the lines of several threads, or of
 * several programs on one pipe, are not mixed. The level and the format may change while other
 * threads log; each line uses one level and one format. logfmt readers split at spaces and "=", so
 * a value that is not a plain word is quoted. Characters that control a terminal (base/utf8.h) are
 * escaped, because values come from events and must not change the appearance of the log.
 *
 * On Windows a service writes to the event log, which can block. The queue keeps the threads that
 * log from blocking: they copy the line into a ring buffer and wake the thread of the queue. When
 * the ring buffer is full, further lines are counted and dropped. log_queue_close() can give up
 * waiting, because a writer that hangs must not keep the program from ending; the queue is then not
 * freed, since its thread still uses it.
 */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/os.h"
#include "base/print.h"
#include "base/text.h"
#include "base/utf8.h"

/* ---- limits ---- */

/*
 * Counts how often each message was logged in a minute.
 *
 * A session that cannot be restarted, or a client that breaks its connections, can produce the same
 * message forever. So each message is limited to a number of lines per minute. Fields are not
 * compared, because they come from outside and differ in each line. Minutes are counted by the
 * monotonic clock and are the same for all messages, so a burst across the end of a minute can have
 * twice as many lines.
 *
 * The program has a few dozen messages, all of them literals, so a small table is searched in full.
 * A message keeps its entry until the program ends. The minute and the number of lines share one
 * 64-bit word, which is changed only by compare and exchange. So no lock can be held when a thread
 * crashes (the crash handler logs as well), and each suppressed line is reported exactly once.
 */

#define NS_PER_MINUTE UINT64_C(60000000000)

struct message {
	_Atomic(const char *) text; /* NULL: this entry and all after it are free */
	atomic_int level;           /* level of the last line */
	/* High bits: the number of the minute, from 1; low bits: the number of lines in it. 0: no
	 * minute yet. */
	_Atomic uint64_t state;
};

static struct message messages[LOG_MESSAGES_MOST];

static uint64_t state_of(uint64_t minute, uint32_t lines)
{
	return minute << 32 | lines;
}

static uint64_t minute_of(uint64_t state)
{
	return state >> 32;
}

static uint32_t lines_of(uint64_t state)
{
	return (uint32_t)state;
}

static uint32_t suppressed_of(uint64_t state)
{
	return lines_of(state) > LOG_LINES_A_MINUTE ? lines_of(state) - LOG_LINES_A_MINUTE : 0;
}

static uint64_t minute_at(uint64_t now_ns)
{
	return now_ns / NS_PER_MINUTE + 1;
}

/* Finds or adds the entry of a message; NULL if the table is full. */
static struct message *find(const char *text)
{
	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		const char *known = NULL;

		/* Relaxed order suffices, because only the pointer to a literal is published. */
		if (atomic_compare_exchange_strong_explicit(&messages[i].text, &known, text,
							    memory_order_relaxed,
							    memory_order_relaxed) ||
		    strcmp(known, text) == 0) {
			return &messages[i];
		}
	}
	return NULL;
}

static bool replace(struct message *message, uint64_t *state, uint64_t next)
{
	return atomic_compare_exchange_weak_explicit(&message->state, state, next,
						     memory_order_relaxed, memory_order_relaxed);
}

/*
 * Returns whether a line with this message may be written at the time now_ns (os_monotonic_ns()).
 * *before is set to the number of lines that were suppressed in a minute that has ended and have
 * not been reported yet. The text must stay valid. level is stored for the report.
 */
static bool limit_pass(const char *text, int level, uint64_t now_ns, uint64_t *before)
{
	struct message *message = find(text);
	uint64_t minute = minute_at(now_ns), state, next;

	*before = 0;
	if (!message) {
		return true;
	}
	atomic_store_explicit(&message->level, level, memory_order_relaxed);
	state = atomic_load_explicit(&message->state, memory_order_relaxed);
	do {
		/* A thread that was suspended may still have the time of an earlier minute. */
		bool same = minute <= minute_of(state);

		if (same && lines_of(state) == UINT32_MAX) {
			return false;
		}
		next = same ? state + 1 : state_of(minute, 1);
	} while (!replace(message, &state, next));
	if (minute_of(next) != minute_of(state)) {
		*before = suppressed_of(state);
	}
	return suppressed_of(next) == 0;
}

struct suppressed {
	const char *message;
	int level; /* level of the last line */
	uint64_t lines;
};

/* Takes the suppressed lines of one message from a minute that has ended, with at_end also from the
 * present one. Returns false if none are left. */
static bool limit_take(uint64_t now_ns, bool at_end, struct suppressed *taken)
{
	uint64_t minute = minute_at(now_ns);

	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		struct message *message = &messages[i];
		uint64_t state = atomic_load_explicit(&message->state, memory_order_relaxed);
		uint64_t next;

		while (suppressed_of(state) > 0 && (at_end || minute_of(state) < minute)) {
			/* In a minute that has not ended the limit stays reached. */
			next = state_of(minute_of(state), LOG_LINES_A_MINUTE);
			if (replace(message, &state, next)) {
				taken->message =
					atomic_load_explicit(&message->text, memory_order_relaxed);
				taken->level =
					atomic_load_explicit(&message->level, memory_order_relaxed);
				taken->lines = suppressed_of(state);
				return true;
			}
		}
	}
	return false;
}

void log_limit_reset(void)
{
	for (size_t i = 0; i < LOG_MESSAGES_MOST; i++) {
		atomic_store(&messages[i].text, NULL);
		atomic_store(&messages[i].state, 0);
	}
}

/* ---- log ---- */

enum { TIMESTAMP_SIZE = 32 };

/* Read by all threads; a reload may change them. */
static _Atomic(enum log_level) lowest_level = LOG_INFO;
static _Atomic(enum log_format) line_format = LOG_LOGFMT;
/* Written before other threads start, read by all. */
static log_sink *line_sink;
static void *sink_context;
static uint64_t (*limit_clock)(void) = os_monotonic_ns;

static _Atomic uint64_t suppressed_lines;

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARNING] = "warning",
	[LOG_ERROR] = "error",
};

static const char *const format_names[] = { [LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json" };

/* Writes a time as in RFC 3339, in UTC, with milliseconds. */
static void format_time(char out[TIMESTAMP_SIZE], uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	unsigned ms = (unsigned)(unix_ns / 1000000 % 1000);
	struct tm utc;
	size_t size;

	os_utc(seconds, &utc);
	size = strftime(out, TIMESTAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
	out[size++] = '.';
	out[size++] = (char)('0' + ms / 100);
	out[size++] = (char)('0' + ms / 10 % 10);
	out[size++] = (char)('0' + ms % 10);
	out[size++] = 'Z';
	out[size] = '\0';
}

/* Returns whether a value needs no quotes: readers of logfmt split at spaces and at '='. */
static bool plain_word(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at <= ' ' || *at > '~' || *at == '"' || *at == '=' || *at == '\\') {
			return false;
		}
	}
	return *text != '\0';
}

static void add_quoted(struct etw_text *line, const char *text)
{
	size_t left = strlen(text);

	text_add_char(line, '"');
	while (left > 0) {
		uint32_t codepoint;
		size_t taken = utf8_decode(text, left, &codepoint);

		if (codepoint == '"' || codepoint == '\\' || utf8_steers_terminal(codepoint)) {
			text_add_escape(line, codepoint);
		} else {
			char encoded[4];

			text_add(line, encoded, utf8_encode(codepoint, encoded));
		}
		text += taken;
		left -= taken;
	}
	text_add_char(line, '"');
}

static void add_logfmt(struct etw_text *line, const char *timestamp, enum log_level level,
		       const char *message, const struct log_field *fields)
{
	text_add_string(line, "ts=");
	text_add_string(line, timestamp);
	text_add_string(line, " level=");
	text_add_string(line, level_names[level]);
	text_add_string(line, " msg=");
	add_quoted(line, message);
	for (const struct log_field *field = fields; field->name; field++) {
		text_add_char(line, ' ');
		text_add_string(line, field->name);
		text_add_char(line, '=');
		if (field->type == LOG_FIELD_U64) {
			text_add_u64(line, field->value.u64);
		} else if (plain_word(field->value.text)) {
			text_add_string(line, field->value.text);
		} else {
			add_quoted(line, field->value.text);
		}
	}
}

static void add_json(struct etw_text *line, const char *timestamp, enum log_level level,
		     const char *message, const struct log_field *fields)
{
	struct json json;

	json_init(&json, line, false);
	json_object_begin(&json);
	json_member_string(&json, "ts", timestamp);
	json_member_string(&json, "level", level_names[level]);
	json_member_string(&json, "msg", message);
	for (const struct log_field *field = fields; field->name; field++) {
		json_key(&json, field->name);
		if (field->type == LOG_FIELD_U64) {
			json_u64(&json, field->value.u64);
		} else {
			json_string(&json, field->value.text);
		}
	}
	json_object_end(&json);
}

void log_configure(enum log_level level, enum log_format format)
{
	atomic_store_explicit(&lowest_level, level, memory_order_relaxed);
	atomic_store_explicit(&line_format, format, memory_order_relaxed);
}

void log_to(log_sink *sink, void *context)
{
	line_sink = sink;
	sink_context = context;
}

static bool is_word(const char *text, const char *word)
{
	return text_equal_nocase(text, strlen(text), word, strlen(word));
}

bool log_level_parse(const char *text, enum log_level *level)
{
	if (is_word(text, "warn")) {
		*level = LOG_WARNING;
		return true;
	}
	for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
		if (is_word(text, level_names[i])) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool log_format_parse(const char *text, enum log_format *format)
{
	for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++) {
		if (is_word(text, format_names[i])) {
			*format = (enum log_format)i;
			return true;
		}
	}
	return false;
}

const char *log_level_name(enum log_level level)
{
	return level_names[level];
}

const char *log_format_name(enum log_format format)
{
	return format_names[format];
}

static void write_line(enum log_level level, const char *message, const struct log_field *fields)
{
	static const char no_memory[] = "level=error msg=\"No memory for a log line\"\n";
	char timestamp[TIMESTAMP_SIZE];
	struct etw_text line = { 0 };
	int saved_errno = errno;

	format_time(timestamp, os_unix_time_ns());
	if (atomic_load_explicit(&line_format, memory_order_relaxed) == LOG_JSON) {
		add_json(&line, timestamp, level, message, fields);
	} else {
		add_logfmt(&line, timestamp, level, message, fields);
	}
	text_add_char(&line, '\n');
	if (!line_sink) {
		progress_clear();
	}
	if (line.failed) {
		os_stderr_write(no_memory, sizeof no_memory - 1);
	} else if (line_sink) {
		line_sink(sink_context, level, line.data, line.size - 1);
	} else {
		os_stderr_write(line.data, line.size);
	}
	text_free(&line);
	errno = saved_errno;
}

static void write_suppressed(enum log_level level, const char *message, uint64_t lines)
{
	write_line(level, message,
		   (const struct log_field[]){ log_u64("suppressed", lines), { .name = NULL } });
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	uint64_t before = 0;
	bool pass;

	if (level < atomic_load_explicit(&lowest_level, memory_order_relaxed)) {
		return;
	}
	pass = level == LOG_DEBUG || limit_pass(message, (int)level, limit_clock(), &before);
	if (before > 0) {
		write_suppressed(level, message, before);
	}
	if (pass) {
		write_line(level, message, fields);
	} else {
		atomic_fetch_add_explicit(&suppressed_lines, 1, memory_order_relaxed);
	}
}

void log_write_always(enum log_level level, const char *message, const struct log_field *fields)
{
	if (level >= atomic_load_explicit(&lowest_level, memory_order_relaxed)) {
		write_line(level, message, fields);
	}
}

void log_report_suppressed(bool at_end)
{
	struct suppressed taken;

	while (limit_take(limit_clock(), at_end, &taken)) {
		write_suppressed((enum log_level)taken.level, taken.message, taken.lines);
	}
}

void log_statistics(struct log_statistics *statistics)
{
	statistics->suppressed = atomic_load_explicit(&suppressed_lines, memory_order_relaxed);
}

void log_set_clock(uint64_t (*now_ns)(void))
{
	limit_clock = now_ns ? now_ns : os_monotonic_ns;
}

/* ---- a queue for slow writers ---- */

struct waiting_line {
	enum log_level level;
	char *text; /* owned */
	size_t size;
};

struct log_queue {
	log_sink *write;
	void *context;
	struct os_thread thread;
	struct os_mutex lock;
	struct os_condition changed;
	/* Guarded by lock. */
	struct waiting_line lines[LOG_QUEUE_LINES]; /* a ring buffer */
	size_t first;
	size_t count;
	uint64_t dropped; /* lines since the last report */
	bool closing;
	bool ended; /* the thread no longer uses the queue */
};

static void write_dropped(struct log_queue *queue, uint64_t dropped)
{
	char line[96];
	int size = snprintf(line, sizeof line,
			    "level=warning msg=\"Log lines dropped\" lines=%" PRIu64, dropped);

	queue->write(queue->context, LOG_WARNING, line, (size_t)size);
}

/* Takes the oldest line and the number of dropped lines, and waits for them. Returns false if the
 * queue is closing and empty. */
static bool take_line(struct log_queue *queue, struct waiting_line *line, uint64_t *dropped)
{
	bool taken;

	os_mutex_lock(&queue->lock);
	while (queue->count == 0 && !queue->closing) {
		os_condition_wait(&queue->changed, &queue->lock, UINT64_MAX);
	}
	taken = queue->count > 0;
	if (taken) {
		*line = queue->lines[queue->first];
		queue->first = (queue->first + 1) % LOG_QUEUE_LINES;
		queue->count--;
	}
	*dropped = queue->dropped;
	queue->dropped = 0;
	queue->ended = !taken;
	os_condition_wake_all(&queue->changed);
	os_mutex_unlock(&queue->lock);
	return taken;
}

static void run(void *context)
{
	struct log_queue *queue = context;
	struct waiting_line line;
	uint64_t dropped;

	while (take_line(queue, &line, &dropped)) {
		queue->write(queue->context, line.level, line.text, line.size);
		free(line.text);
		if (dropped > 0) {
			write_dropped(queue, dropped);
		}
	}
}

struct log_queue *log_queue_open(log_sink *write, void *context, struct etw_error *err)
{
	struct log_queue *queue = calloc(1, sizeof *queue);

	if (!queue) {
		error_no_memory(err, "the log");
		return NULL;
	}
	queue->write = write;
	queue->context = context;
	os_mutex_init(&queue->lock);
	os_condition_init(&queue->changed);
	if (!os_thread_start(&queue->thread, run, queue, err)) {
		os_condition_done(&queue->changed);
		os_mutex_done(&queue->lock);
		free(queue);
		return NULL;
	}
	return queue;
}

void log_queue_add(void *context, enum log_level level, const char *line, size_t size)
{
	struct log_queue *queue = context;
	char *copy = text_duplicate(line, size);

	os_mutex_lock(&queue->lock);
	if (copy && queue->count < LOG_QUEUE_LINES) {
		size_t last = (queue->first + queue->count++) % LOG_QUEUE_LINES;

		queue->lines[last] =
			(struct waiting_line){ .level = level, .text = copy, .size = size };
		copy = NULL;
		os_condition_wake_all(&queue->changed);
	} else {
		queue->dropped++;
	}
	os_mutex_unlock(&queue->lock);
	free(copy);
}

static bool wait_ended(struct log_queue *queue, uint64_t timeout_ns)
{
	uint64_t start = os_monotonic_ns();
	uint64_t passed = 0;
	bool ended;

	os_mutex_lock(&queue->lock);
	queue->closing = true;
	os_condition_wake_all(&queue->changed);
	while (!queue->ended && passed < timeout_ns) {
		os_condition_wait(&queue->changed, &queue->lock, timeout_ns - passed);
		passed = os_monotonic_ns() - start;
	}
	ended = queue->ended;
	os_mutex_unlock(&queue->lock);
	return ended;
}

bool log_queue_close(struct log_queue *queue, uint64_t timeout_ns)
{
	if (!queue) {
		return true;
	}
	if (!wait_ended(queue, timeout_ns)) {
		return false;
	}
	os_thread_join(&queue->thread);
	os_condition_done(&queue->changed);
	os_mutex_done(&queue->lock);
	free(queue);
	return true;
}

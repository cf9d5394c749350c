/* SPDX-License-Identifier: MIT */
/*
 * Makes lines of JSON on several threads.
 *
 * A line takes some fifty times as long as the reading of its record, and depends on nothing but
 * the record and the schemas of the recording, which nothing changes any more. So records are
 * collected in jobs, and a job is made into text by the thread that is free: the helper, or the one
 * that reads, when it would wait for the oldest job because all others are taken. The thread that
 * reads alone writes, one job after the other, so the lines come in the order of the records.
 *
 * A record borrows its bytes from the reader, which goes on. A job therefore has copies of them. It
 * is full with a number of records or of bytes, so memory is bounded.
 *
 * The jobs are a ring, and three numbers count them: those that were filled, of these the ones that
 * a thread has begun to make into text, and the ones that were written. Schemas of TraceLogging
 * events are made when such an event comes; each thread has a cache of its own for them.
 */
#include "tool/dump_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "decode/tracelogging.h"
#include "tool/dump.h"
#include "tool/tool.h"

enum {
	JOBS = 2 * DUMP_THREADS_MOST,
	JOB_RECORDS = 256,
	JOB_BYTES = 64 << 10,        /* with more a job is full */
	RECORD_MOST = 2 * (64 << 10) /* bytes that are copied of one: its size has 16 bits */
};

#define WAIT_NS                                                                          \
	UINT64_C(1000000000) /* every wait is woken; this bounds the cost of a lost wake \
			      */

struct job {
	struct event_record records[JOB_RECORDS];
	size_t count;
	uint8_t bytes[JOB_BYTES + RECORD_MOST]; /* what the records borrow */
	size_t used;
	struct text text; /* owned */
	bool done;        /* with the lock */
};

struct helper {
	struct dump_lines *lines;
	struct os_thread thread;
	struct tracelogging_cache *cache; /* owned */
};

struct dump_lines {
	const struct schema_origins *origins;
	struct tracelogging_cache *cache; /* owned; of the thread that reads */
	unsigned written;                 /* jobs */
	bool failed;                      /* a job could not be written; none is any more */
	struct helper helpers[DUMP_THREADS_MOST - 1];
	unsigned helper_count;
	struct os_mutex lock;
	struct os_condition changed;
	unsigned filled, begun; /* jobs; with the lock, as is what follows */
	bool stopping;
	struct job jobs[JOBS];
};

/* ---- jobs ---- */

static const void *copy(struct job *job, const void *from, size_t size)
{
	uint8_t *to = job->bytes + job->used;

	if (size > 0) {
		memcpy(to, from, size);
	}
	job->used += size;
	return to;
}

static void make_text(struct job *job, const struct schema_origins *origins,
		      struct tracelogging_cache *cache)
{
	for (size_t i = 0; i < job->count; i++) {
		if (tracelogging_cache_full(cache)) {
			tracelogging_cache_clear(cache); /* no line needs another's schema */
		}
		dump_add_line(&job->text, &job->records[i], origins, cache);
	}
}

/* Makes the next job, if there is one, into text. With the lock. */
static bool make_next(struct dump_lines *lines, struct tracelogging_cache *cache)
{
	struct job *job = &lines->jobs[lines->begun % JOBS];

	if (lines->begun == lines->filled) {
		return false;
	}
	lines->begun++;
	os_mutex_unlock(&lines->lock);
	make_text(job, lines->origins, cache);
	os_mutex_lock(&lines->lock);
	job->done = true;
	os_condition_wake_all(&lines->changed);
	return true;
}

static void help(void *context)
{
	struct helper *helper = context;
	struct dump_lines *lines = helper->lines;

	os_mutex_lock(&lines->lock);
	while (!lines->stopping) {
		if (!make_next(lines, helper->cache)) {
			os_condition_wait(&lines->changed, &lines->lock, WAIT_NS);
		}
	}
	os_mutex_unlock(&lines->lock);
}

/* ---- the thread that reads ---- */

/* Writes the oldest job once it is made into text, and empties it. */
static bool write_oldest(struct dump_lines *lines)
{
	struct job *job = &lines->jobs[lines->written % JOBS];

	os_mutex_lock(&lines->lock);
	while (!job->done) {
		if (!make_next(lines, lines->cache)) {
			os_condition_wait(&lines->changed, &lines->lock, WAIT_NS);
		}
	}
	job->done = false;
	os_mutex_unlock(&lines->lock);
	/* After a failed write, another one would fail for another reason. */
	lines->failed = lines->failed || !tool_write("dump", &job->text);
	text_clear(&job->text);
	job->count = 0;
	job->used = 0;
	lines->written++;
	return !lines->failed;
}

/* Gives the job that was filled to the threads, and makes room for the next one. */
static bool submit(struct dump_lines *lines)
{
	os_mutex_lock(&lines->lock);
	lines->filled++;
	os_condition_wake_all(&lines->changed);
	os_mutex_unlock(&lines->lock);
	return lines->filled - lines->written < JOBS || write_oldest(lines);
}

bool dump_lines_add(struct dump_lines *lines, const struct event_record *record)
{
	struct job *job = &lines->jobs[lines->filled % JOBS];
	struct event_record *kept = &job->records[job->count++];

	*kept = *record;
	kept->provider = copy(job, record->provider, sizeof *record->provider);
	kept->payload = copy(job, record->payload, record->payload_size);
	if (record->extended) {
		kept->extended = copy(job, record->extended, record->extended_size);
	}
	if (record->activity) {
		kept->activity = copy(job, record->activity, sizeof *record->activity);
	}
	return (job->count < JOB_RECORDS && job->used < JOB_BYTES) || submit(lines);
}

bool dump_lines_finish(struct dump_lines *lines)
{
	bool good = lines->jobs[lines->filled % JOBS].count == 0 || submit(lines);

	while (good && lines->written != lines->filled) {
		good = write_oldest(lines);
	}
	return good;
}

/* False without memory or a thread. */
static bool start_helper(struct dump_lines *lines)
{
	struct helper *helper = &lines->helpers[lines->helper_count];

	helper->lines = lines;
	helper->cache = tracelogging_cache_new(NULL);
	if (!helper->cache || !os_thread_start(&helper->thread, help, helper, NULL)) {
		tracelogging_cache_free(helper->cache);
		return false;
	}
	lines->helper_count++;
	return true;
}

struct dump_lines *dump_lines_start(const struct schema_origins *origins, unsigned threads)
{
	struct dump_lines *lines = calloc(1, sizeof *lines);

	if (!lines) {
		return NULL;
	}
	lines->origins = origins;
	os_mutex_init(&lines->lock);
	os_condition_init(&lines->changed);
	lines->cache = tracelogging_cache_new(NULL);
	while (lines->cache && lines->helper_count + 1 < threads &&
	       lines->helper_count + 1 < DUMP_THREADS_MOST && start_helper(lines)) {
	}
	if (lines->helper_count == 0) {
		dump_lines_free(lines);
		return NULL;
	}
	return lines;
}

void dump_lines_free(struct dump_lines *lines)
{
	if (!lines) {
		return;
	}
	os_mutex_lock(&lines->lock);
	lines->stopping = true;
	os_condition_wake_all(&lines->changed);
	os_mutex_unlock(&lines->lock);
	for (unsigned i = 0; i < lines->helper_count; i++) {
		os_thread_join(&lines->helpers[i].thread);
		tracelogging_cache_free(lines->helpers[i].cache);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		text_free(&lines->jobs[i].text);
	}
	tracelogging_cache_free(lines->cache);
	os_condition_done(&lines->changed);
	os_mutex_done(&lines->lock);
	free(lines);
}

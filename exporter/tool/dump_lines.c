/* SPDX-License-Identifier: MIT */
/*
 * Makes lines of JSON on several threads.
 *
 * A line takes some fifty times as long as the reading of its record, and depends on nothing but
 * the record and the schemas of the recording, which nothing changes any more. So records are
 * collected in batches, and each batch is a job (base/jobs.h). The thread that reads alone writes,
 * one batch after the other, so the lines come in the order of the records.
 *
 * A record borrows its bytes from the reader, which goes on. A batch therefore has copies of them.
 * It is full with a number of records or of bytes, and the batches are a ring, so memory is
 * bounded.
 *
 * Schemas of TraceLogging events are made when such an event comes; each thread has a cache of its
 * own for them.
 */
#include "tool/dump_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/jobs.h"
#include "base/text.h"
#include "decode/tracelogging.h"
#include "tool/dump.h"
#include "tool/tool.h"

enum {
	BATCHES = 2 * JOBS_THREADS_MOST,
	BATCH_RECORDS = 256,
	BATCH_BYTES = 64 << 10,      /* with more a batch is full */
	RECORD_MOST = 2 * (64 << 10) /* bytes that are copied of one: its size has 16 bits */
};

struct batch {
	struct job job; /* the first member */
	struct event_record records[BATCH_RECORDS];
	size_t count;
	uint8_t bytes[BATCH_BYTES + RECORD_MOST]; /* what the records borrow */
	size_t used;
	struct text text; /* owned */
};

struct dump_lines {
	const struct schema_origins *origins;
	struct tracelogging_cache *caches[JOBS_THREADS_MOST]; /* owned; of each thread */
	struct jobs *jobs;                                    /* owned */
	unsigned filled, written;                             /* batches */
	bool failed; /* a batch could not be written; none is any more */
	struct batch batches[BATCHES];
};

/* ---- batches ---- */

static const void *copy(struct batch *batch, const void *from, size_t size)
{
	uint8_t *to = batch->bytes + batch->used;

	if (size > 0) {
		memcpy(to, from, size);
	}
	batch->used += size;
	return to;
}

static void make_text(void *context, struct job *job, unsigned thread)
{
	struct dump_lines *lines = context;
	struct batch *batch = (struct batch *)(void *)job;
	struct tracelogging_cache *cache = lines->caches[thread];

	for (size_t i = 0; i < batch->count; i++) {
		if (tracelogging_cache_full(cache)) {
			tracelogging_cache_clear(cache); /* no line needs another's schema */
		}
		dump_add_line(&batch->text, &batch->records[i], lines->origins, cache);
	}
}

/* Writes the oldest batch once it is made into text, and empties it. */
static bool write_oldest(struct dump_lines *lines)
{
	struct batch *batch = &lines->batches[lines->written % BATCHES];

	jobs_wait(lines->jobs, &batch->job);
	/* After a failed write, another one would fail for another reason. */
	lines->failed = lines->failed || !tool_write("dump", &batch->text);
	text_clear(&batch->text);
	batch->count = 0;
	batch->used = 0;
	lines->written++;
	return !lines->failed;
}

/* Gives the batch that was filled to the threads, and makes room for the next one. */
static bool submit(struct dump_lines *lines)
{
	jobs_submit(lines->jobs, &lines->batches[lines->filled % BATCHES].job);
	lines->filled++;
	return lines->filled - lines->written < BATCHES || write_oldest(lines);
}

bool dump_lines_add(struct dump_lines *lines, const struct event_record *record)
{
	struct batch *batch = &lines->batches[lines->filled % BATCHES];
	struct event_record *kept = &batch->records[batch->count++];

	*kept = *record;
	kept->provider = copy(batch, record->provider, sizeof *record->provider);
	kept->payload = copy(batch, record->payload, record->payload_size);
	if (record->extended) {
		kept->extended = copy(batch, record->extended, record->extended_size);
	}
	if (record->activity) {
		kept->activity = copy(batch, record->activity, sizeof *record->activity);
	}
	return (batch->count < BATCH_RECORDS && batch->used < BATCH_BYTES) || submit(lines);
}

bool dump_lines_finish(struct dump_lines *lines)
{
	bool good = lines->batches[lines->filled % BATCHES].count == 0 || submit(lines);

	while (good && lines->written != lines->filled) {
		good = write_oldest(lines);
	}
	return good;
}

struct dump_lines *dump_lines_start(const struct schema_origins *origins, unsigned threads)
{
	struct dump_lines *lines = calloc(1, sizeof *lines);
	bool good = lines != NULL;

	for (unsigned i = 0; good && i < threads && i < JOBS_THREADS_MOST; i++) {
		lines->caches[i] = tracelogging_cache_new(NULL);
		good = lines->caches[i] != NULL;
	}
	if (good) {
		lines->origins = origins;
		lines->jobs = jobs_start(threads, make_text, lines);
	}
	if (!good || !lines->jobs) {
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
	jobs_stop(lines->jobs);
	for (unsigned i = 0; i < BATCHES; i++) {
		text_free(&lines->batches[i].text);
	}
	for (unsigned i = 0; i < JOBS_THREADS_MOST; i++) {
		tracelogging_cache_free(lines->caches[i]);
	}
	free(lines);
}

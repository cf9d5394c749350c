/* SPDX-License-Identifier: MIT */
/*
 * One consumer, several recordings. Only one pipeline exists at a time: a recording that ended
 * gives its memory back, and what its statistics said is kept in its entry.
 */
#include "replay.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"

struct entry {
	char *path;                /* owned */
	char *name;                /* owned: the session label */
	struct source *source;     /* owned; NULL once a single replay of it has ended */
	struct source_facts facts; /* a copy whose texts are in `texts` */
	char *texts[2];
	/* Under the lock: what earlier passes of this recording came to, and the last statistics of
	 * its source. */
	struct source_statistics last;
	uint64_t buffers;
	uint64_t busy_ns;
	uint64_t unattributed[MISS_COUNT];
	bool passed; /* its losses are counted */
};

struct replay {
	struct replay_options options;
	struct pipeline_families families;
	struct shard *shard;
	struct names *names;   /* owned; one spelling for all recordings */
	struct entry *entries; /* owned */
	size_t entry_count;
	struct pace *pace; /* owned; NULL at full speed */
	struct os_thread thread;
	bool threaded;
	_Atomic(bool) stopping;
	_Atomic(bool) ready;
	/*
	 * The books below are read by scrapes and written when a pass begins and ends; the
	 * per-event path takes no lock.
	 */
	struct os_mutex lock;
	struct pipeline *pipeline; /* the running one, NULL between two */
	struct entry *current;
	uint64_t cpu_at_start;             /* of the consumer's thread, when the pass began */
	struct pipeline_statistics before; /* sums over pipelines that ended */
	uint64_t bytes_before;             /* of recordings that ended in this pass */
	int64_t position;
	bool finished;
};

/* ---- opening ---- */

/* The file's base name; "#2", "#3" … behind it when an earlier recording has that name. */
static char *session_name(const struct replay *replay, size_t index, const char *path)
{
	struct text name = { 0 };
	unsigned number = 1;

	for (;;) {
		bool taken = false;

		text_clear(&name);
		text_add_string(&name, os_path_name(path));
		if (number > 1) {
			text_add_format(&name, "#%u", number);
		}
		for (size_t i = 0; i < index && !name.failed; i++) {
			taken = taken || strcmp(replay->entries[i].name, name.data) == 0;
		}
		if (!taken || name.failed) {
			break;
		}
		number++;
	}
	if (name.failed) {
		text_free(&name);
		return NULL;
	}
	return name.data;
}

static bool open_entry(struct replay *replay, size_t index, const char *path, struct error *err)
{
	struct entry *entry = &replay->entries[index];

	entry->path = text_duplicate(path, strlen(path));
	entry->name = session_name(replay, index, path);
	if (!entry->path || !entry->name) {
		return error_set(err, ERROR_NO_MEMORY, "no memory to open %s", path);
	}
	entry->source = source_open_file(path, &replay->options.file, err);
	if (!entry->source) {
		return false;
	}
	entry->facts = *source_facts(entry->source);
	entry->texts[0] = text_duplicate(entry->facts.type, strlen(entry->facts.type));
	entry->texts[1] = text_duplicate(entry->facts.mode, strlen(entry->facts.mode));
	if (!entry->texts[0] || !entry->texts[1]) {
		return error_set(err, ERROR_NO_MEMORY, "no memory to open %s", path);
	}
	entry->facts.name = entry->name;
	entry->facts.type = entry->texts[0];
	entry->facts.mode = entry->texts[1];
	source_statistics(entry->source, &entry->last);
	return true;
}

/* What is known before the first event exists at 0 from the start. */
static bool make_samples(struct replay *replay, struct error *err)
{
	struct registry *registry = replay->options.registry;
	struct pipeline_cells cells;

	rule_set_make_samples(replay->options.rules, registry, replay->shard);
	for (size_t i = 0; i < replay->entry_count; i++) {
		if (!pipeline_cells(&replay->families, registry, replay->shard,
				    replay->entries[i].name, &cells, err)) {
			return false;
		}
	}
	return true;
}

struct replay *replay_new(const struct replay_options *options, struct error *err)
{
	struct replay *replay = calloc(1, sizeof *replay);

	if (!replay) {
		error_set(err, ERROR_NO_MEMORY, "no memory to replay");
		return NULL;
	}
	replay->options = *options;
	replay->options.paths = NULL; /* copied into the entries below */
	replay->position = RECORD_NO_TIME;
	os_mutex_init(&replay->lock);
	replay->entries = calloc(options->path_count, sizeof *replay->entries);
	if (!replay->entries) {
		error_set(err, ERROR_NO_MEMORY, "no memory to replay");
		goto fail;
	}
	for (size_t i = 0; i < options->path_count; i++) {
		replay->entry_count = i + 1;
		if (!open_entry(replay, i, options->paths[i], err)) {
			goto fail;
		}
	}
	if (!pipeline_families(options->registry, &replay->families, err)) {
		goto fail;
	}
	replay->shard = registry_shard(options->registry, false, err);
	if (!replay->shard) {
		goto fail;
	}
	if (!make_samples(replay, err)) {
		goto fail;
	}
	replay->names = names_new(options->registry, options->config->limits.processes,
				  options->config->lower_case_processes, err);
	if (!replay->names) {
		goto fail;
	}
	if (options->speed > 0) {
		replay->pace = pace_new(options->speed, err);
		if (!replay->pace) {
			goto fail;
		}
	}
	return replay;

fail:
	replay_free(replay);
	return NULL;
}

void replay_free(struct replay *replay)
{
	if (!replay) {
		return;
	}
	for (size_t i = 0; i < replay->entry_count; i++) {
		struct entry *entry = &replay->entries[i];

		source_close(entry->source);
		free(entry->path);
		free(entry->name);
		free(entry->texts[0]);
		free(entry->texts[1]);
	}
	free(replay->entries);
	names_free(replay->names);
	pace_free(replay->pace);
	os_mutex_done(&replay->lock);
	free(replay);
}

/* ---- running ---- */

static void set_ready(void *context)
{
	struct replay *replay = context;

	atomic_store_explicit(&replay->ready, true, memory_order_release);
}

static bool stopping(const struct replay *replay)
{
	return atomic_load_explicit(&replay->stopping, memory_order_acquire);
}

/* A pass over one recording begins: from now on scrapes look at its pipeline. */
static void begin_pass(struct replay *replay, struct entry *entry, struct pipeline *pipeline)
{
	os_mutex_lock(&replay->lock);
	replay->pipeline = pipeline;
	replay->current = entry;
	replay->cpu_at_start = os_thread_cpu_ns();
	os_mutex_unlock(&replay->lock);
	if (stopping(replay)) {
		source_stop(entry->source); /* the stop came before there was a source to stop */
	}
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Every pass of a loop meets the same damage again: what is known of an earlier pass stays, and
 * counters do not fall. */
static void keep_most(struct source_statistics *now, const struct source_statistics *earlier)
{
	now->late_records = most(now->late_records, earlier->late_records);
	now->bad_buffers = most(now->bad_buffers, earlier->bad_buffers);
	now->bad_records = most(now->bad_records, earlier->bad_records);
}

/* The pass is over and its pipeline about to be freed: what both came to is added to the books in
 * one step. */
static void end_pass(struct replay *replay, struct entry *entry)
{
	struct source_statistics source;
	struct pipeline_statistics pipeline;

	source_statistics(entry->source, &source);
	pipeline_statistics(replay->pipeline, &pipeline);
	os_mutex_lock(&replay->lock);
	keep_most(&source, &entry->last);
	entry->last = source;
	entry->buffers += source.buffers;
	entry->busy_ns += os_thread_cpu_ns() - replay->cpu_at_start;
	entry->passed = true;
	replay->bytes_before += source.bytes_total;
	if (source.last_time != RECORD_NO_TIME) {
		replay->position = source.last_time;
	}
	pipeline_statistics_end(&pipeline);
	pipeline_statistics_add(&replay->before, &pipeline);
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		entry->unattributed[i] += pipeline.tracker.unattributed[i];
	}
	replay->current = NULL;
	replay->pipeline = NULL;
	os_mutex_unlock(&replay->lock);
}

static bool run_entry(struct replay *replay, struct entry *entry, bool last, struct error *err)
{
	const struct pipeline_options options = {
		.source = entry->source,
		.session = entry->name,
		.registry = replay->options.registry,
		.shard = replay->shard,
		.families = &replay->families,
		.rules = replay->options.rules,
		.config = replay->options.config,
		.manifests = replay->options.manifests,
		.names = replay->names,
		.pace = replay->pace,
		.on_time = replay->options.on_time,
		.time_context = replay->options.time_context,
		.on_ready = set_ready,
		.ready_context = replay,
	};
	struct pipeline *pipeline = pipeline_new(&options, err);
	bool done;

	if (!pipeline) {
		return false;
	}
	begin_pass(replay, entry, pipeline);
	done = pipeline_run(pipeline, err);
	end_pass(replay, entry);
	set_ready(replay);
	if (!last && !stopping(replay)) {
		pipeline_reset(pipeline); /* the state of one machine must not stand beside that of
					     the next */
	}
	pipeline_free(pipeline);
	if (entry->last.truncated) {
		log_warning("Recording is cut short; everything up to there is counted",
			    log_text("file", entry->path));
	}
	if (entry->last.bad_buffers || entry->last.bad_records) {
		log_warning("Recording is damaged; what could not be read is left out",
			    log_text("file", entry->path),
			    log_u64("buffers", entry->last.bad_buffers),
			    log_u64("records", entry->last.bad_records));
	}
	return done || error_prefix(err, "%s", entry->path);
}

static void close_source(struct replay *replay, struct entry *entry)
{
	struct source *source = entry->source;

	os_mutex_lock(&replay->lock);
	entry->source = NULL;
	os_mutex_unlock(&replay->lock);
	source_close(source);
}

static bool run_once(struct replay *replay, struct error *err)
{
	os_mutex_lock(&replay->lock);
	replay->bytes_before = 0;
	os_mutex_unlock(&replay->lock);
	for (size_t i = 0; i < replay->entry_count && !stopping(replay); i++) {
		struct entry *entry = &replay->entries[i];

		if (!run_entry(replay, entry, !replay->options.loop && i + 1 == replay->entry_count,
			       err)) {
			return false;
		}
		if (!replay->options.loop) {
			close_source(replay, entry);
		}
	}
	return true;
}

bool replay_run(struct replay *replay, struct error *err)
{
	bool done;

	do {
		done = run_once(replay, err);
	} while (done && replay->options.loop && !stopping(replay));
	os_mutex_lock(&replay->lock);
	replay->finished = !stopping(replay);
	os_mutex_unlock(&replay->lock);
	set_ready(replay);
	os_release_memory(); /* the recording's buffers: idle, the program is small */
	return done;
}

static void run_thread(void *context)
{
	struct replay *replay = context;
	struct error err = { 0 };

	log_info("Replay started", log_u64("recordings", replay->entry_count));
	if (!replay_run(replay, &err)) {
		log_error("Replay failed", log_text("error", err.text));
	} else if (!stopping(replay)) {
		log_info("Replay finished");
	}
}

bool replay_start(struct replay *replay, struct error *err)
{
	bool started;

	/* Under the lock, because scrapes ask for the thread's CPU time as soon as the thread has
	 * begun a pass. */
	os_mutex_lock(&replay->lock);
	started = os_thread_start(&replay->thread, run_thread, replay, err);
	replay->threaded = started;
	os_mutex_unlock(&replay->lock);
	return started;
}

void replay_stop(struct replay *replay)
{
	/* Pairs with the acquire in stopping(). */
	atomic_store_explicit(&replay->stopping, true, memory_order_release);
	if (replay->pace) {
		pace_stop(replay->pace);
	}
	os_mutex_lock(&replay->lock);
	if (replay->current) {
		source_stop(replay->current->source);
	}
	os_mutex_unlock(&replay->lock);
}

void replay_join(struct replay *replay)
{
	if (replay->threaded) {
		os_thread_join(&replay->thread);
		os_mutex_lock(&replay->lock);
		replay->threaded = false;
		os_mutex_unlock(&replay->lock);
	}
}

bool replay_ready(const struct replay *replay)
{
	return atomic_load_explicit(&replay->ready, memory_order_acquire);
}

/* ---- the books ---- */

size_t replay_session_count(const struct replay *replay)
{
	return replay->entry_count;
}

/* CPU time that the consumer has spent on the running pass; 0 when the system does not tell. */
static uint64_t cpu_of_pass(const struct replay *replay)
{
	uint64_t now = replay->threaded ? os_thread_cpu_ns_of(&replay->thread) : 0;

	return now > replay->cpu_at_start ? now - replay->cpu_at_start : 0;
}

void replay_session(struct replay *replay, size_t index, struct replay_session *session)
{
	struct entry *entry = &replay->entries[index];

	memset(session, 0, sizeof *session);
	os_mutex_lock(&replay->lock);
	session->name = entry->name;
	session->path = entry->path;
	session->facts = &entry->facts;
	session->running = replay->current == entry;
	session->statistics = entry->last;
	session->buffers = entry->buffers;
	session->busy_ns = entry->busy_ns;
	memcpy(session->unattributed, entry->unattributed, sizeof session->unattributed);
	if (session->running) {
		struct pipeline_statistics now;

		source_statistics(entry->source, &session->statistics);
		session->buffers += session->statistics.buffers;
		keep_most(&session->statistics, &entry->last);
		session->busy_ns += cpu_of_pass(replay);
		pipeline_statistics(replay->pipeline, &now);
		for (unsigned i = 0; i < MISS_COUNT; i++) {
			session->unattributed[i] += now.tracker.unattributed[i];
		}
	}
	if (session->running || entry->passed) {
		session->lost_events = session->statistics.events_lost;
		session->lost_buffers = session->statistics.buffers_lost;
	}
	os_mutex_unlock(&replay->lock);
}

/* The lock is held: a pass that ends writes what is summed here. */
static uint64_t bytes_total(const struct replay *replay)
{
	uint64_t total = 0;

	for (size_t i = 0; i < replay->entry_count; i++) {
		total += replay->entries[i].last.bytes_total;
	}
	return total;
}

void replay_totals(struct replay *replay, struct replay_totals *totals)
{
	uint64_t bytes;
	uint64_t all;

	memset(totals, 0, sizeof *totals);
	os_mutex_lock(&replay->lock);
	totals->pipeline = replay->before;
	totals->position = replay->position;
	totals->finished = replay->finished;
	bytes = replay->bytes_before;
	if (replay->pipeline) {
		struct pipeline_statistics now;

		pipeline_statistics(replay->pipeline, &now);
		pipeline_statistics_add(&totals->pipeline, &now);
	}
	if (replay->current) {
		struct source_statistics now;

		source_statistics(replay->current->source, &now);
		bytes += now.bytes_read;
		if (now.last_time != RECORD_NO_TIME) {
			totals->position = now.last_time;
		}
	}
	totals->lag_ns = replay->pace && replay->current ? pace_lag_ns(replay->pace) : 0;
	all = bytes_total(replay);
	os_mutex_unlock(&replay->lock);
	totals->progress = all ? (double)bytes / (double)all : 1;
	if (totals->progress > 1) {
		totals->progress = 1;
	}
}

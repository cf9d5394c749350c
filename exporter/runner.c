/* SPDX-License-Identifier: MIT */
/*
 * A runner has consumers, and a consumer has sessions: a session is a recording or a live session,
 * named by the session label. A replay is one consumer with all recordings; live sessions are one
 * consumer each, with one session. Everything else is the same for both.
 *
 * A consumer is one thread. It runs its sessions one after another, each with a pipeline of its
 * own: a recording that has ended gives its memory back, and its statistics are added to those of
 * its session. The pipeline of a live session is made when the session is opened, so that a set-up
 * that cannot run is refused at once. Shard and names belong to the consumer, because they are used
 * by its thread alone and outlive the pipelines.
 *
 * Scrapes read the statistics from other threads. What they read is either atomic, or guarded by
 * the runner's lock, which a consumer takes only when a pass begins and when it ends; the per-event
 * path takes no lock. While a pass runs, a scrape adds the statistics of its source and pipeline to
 * the sums of earlier passes. The lock also keeps the source and the pipeline alive meanwhile.
 */
#include "exporter/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>

#include "base/log.h"
#include "base/text.h"
#include "base/utc.h"
#include "exporter/runner_internal.h"
#include "exporter/version.h"

/* How long a loop waits after a pass that delivered no record. */
#define IDLE_PASS_NS UINT64_C(1000000000)

/* ---- opening ---- */

bool runner_init_consumer(struct runner *runner, struct consumer *consumer,
			  const struct config *config, struct etw_error *err)
{
	if (!consumer->shard) {
		consumer->shard = registry_shard(runner->registry, false, err);
	}
	consumer->names = consumer->shard ? names_new(runner->registry, config->limits.processes,
						      config->lower_case_processes, err) :
					    NULL;
	return consumer->names != NULL;
}

/* Initialises the next consumer and gives it the next session_count sessions. */
static bool add_consumer(struct runner *runner, size_t session_count, struct etw_error *err)
{
	const struct setup *setup = runner->options.setup;
	struct consumer *consumer = &runner->consumers[runner->consumer_count++];

	consumer->sessions = &runner->sessions[runner->session_count];
	consumer->session_count = session_count;
	runner->session_count += session_count;
	for (size_t i = 0; i < session_count; i++) {
		consumer->sessions[i].consumer = consumer;
	}
	if (!runner_init_consumer(runner, consumer, setup->config, err)) {
		return false;
	}
	if (consumer == runner->consumers) {
		rule_set_make_samples(setup->rules, setup->registry);
	}
	return true;
}

void runner_on_named(void *context)
{
	struct consumer *consumer = context;

	atomic_store_explicit(&consumer->named, true, memory_order_release);
}

static void on_snapshot(void *context)
{
	struct consumer *consumer = context;

	atomic_store_explicit(&consumer->snapshot_ns, os_monotonic_ns(), memory_order_release);
}

static void on_buffer(void *context)
{
	const struct consumer *consumer = context;
	const struct runner *runner = consumer->runner;
	struct etw_source_statistics now;

	if (runner->options.progress->watched) {
		etw_source_statistics(consumer->current->source, &now);
		progress_show(runner->options.progress, now.bytes_read, now.bytes_total,
			      consumer->bytes_before, runner->bytes_total);
	}
}

/* ---- the set-up that a consumer uses ---- */

/* Returns what the session's next pipeline uses or its present one takes over, and resets the flag
 * of the reload. */
static struct pipeline_reload take_setup(struct consumer *consumer, const struct session *session)
{
	struct runner *runner = consumer->runner;
	struct pipeline_reload taken;

	os_mutex_lock(&runner->lock);
	taken = (struct pipeline_reload){ .setup = runner->options.setup,
					  .names_only = session->names_only,
					  .first_session = session->is_first };
	consumer->taking = taken.setup;
	atomic_store_explicit(&consumer->reload_due, false, memory_order_relaxed);
	os_mutex_unlock(&runner->lock);
	return taken;
}

/* Notes that the consumer now uses the set-up that it took, or (nothing) no set-up at all. */
static void set_used(struct consumer *consumer, bool nothing)
{
	struct runner *runner = consumer->runner;

	os_mutex_lock(&runner->lock);
	if (nothing) {
		consumer->taking = NULL;
	}
	consumer->uses = consumer->taking;
	os_condition_wake_all(&runner->changed);
	os_mutex_unlock(&runner->lock);
}

static struct pipeline_reload on_reload(void *context)
{
	struct consumer *consumer = context;

	return take_setup(consumer, consumer->current);
}

static void on_reloaded(void *context)
{
	struct consumer *consumer = context;

	names_set_limit(consumer->names, consumer->taking->config->limits.processes);
	set_used(consumer, false);
}

void runner_free_pipeline(struct consumer *consumer)
{
	pipeline_free(consumer->pipeline);
	consumer->pipeline = NULL;
	set_used(consumer, true);
}

bool runner_make_pipeline(struct session *session, struct etw_error *err)
{
	struct consumer *consumer = session->consumer;
	const struct runner *runner = consumer->runner;
	struct pipeline_reload taken = take_setup(consumer, session);
	struct pipeline_options options = {
		.setup = taken.setup,
		.source = session->source,
		.session = session->name,
		.shard = consumer->shard,
		.names = consumer->names,
		.from = runner->options.from,
		.to = runner->options.to,
		.pace = runner->pace,
		.gauges_held = consumer->gauges_held,
		.tap = taps_of(runner->options.taps, (size_t)(consumer - runner->consumers)),
		.on_time = runner->options.on_time,
		.time_context = runner->options.time_context,
		.live = session->path == NULL,
		.attached = session->path == NULL && session->started.logger == LOGGER_ATTACH,
		.first_session = taken.first_session,
		.late_ms = session->path == NULL ? session->started.flush_ms : 0,
		.names_only = taken.names_only,
		.on_ready = runner_on_named,
		.on_snapshot = on_snapshot,
		.ready_context = consumer,
		.reload_due = &consumer->reload_due,
		.on_reload = on_reload,
		.on_reloaded = on_reloaded,
		.reload_context = consumer,
		.on_buffer = runner->options.progress ? on_buffer : NULL,
		.buffer_context = consumer,
		.observer = runner->options.observer,
	};

	if (session->live.tdh) {
		options.system = etw_tdh_system(session->live.tdh);
	}
	consumer->pipeline = pipeline_new(&options, err);
	set_used(consumer, !consumer->pipeline);
	return consumer->pipeline != NULL;
}

/* Returns a copy of the text that lives as long as the registry, because scrapes of other threads
 * may read it. Returns "" without memory. */
static const char *kept_text(const struct runner *runner, const char *text)
{
	struct intern *strings = registry_strings(runner->registry);
	uint32_t id = intern_own(strings, text);

	return id != INTERN_FULL ? intern_text(strings, id, NULL) : "";
}

/* Reads the statistics of the session's source, plus those of the sources that it had before. */
static void read_statistics(const struct session *session, struct etw_source_statistics *statistics)
{
	etw_source_statistics(session->source, statistics);
	etw_source_statistics_add(statistics, &session->earlier);
}

void runner_copy_facts(struct session *session)
{
	session->sum.facts = *etw_source_facts(session->source);
	session->sum.facts.name = session->name;
	session->sum.facts.mode = kept_text(session->consumer->runner, session->sum.facts.mode);
	session->sum.path = session->path;
	session->sum.with_volume_millionths = UINT64_MAX;
	read_statistics(session, &session->sum.statistics);
}

static bool name_is_taken(const struct runner *runner, const struct session *session,
			  const char *name)
{
	for (const struct session *earlier = runner->sessions; earlier < session; earlier++) {
		if (strcmp(earlier->name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* Returns the base name of the file, followed by "#2", "#3" … if an earlier recording has that
 * name. */
static char *recording_name(const struct runner *runner, const struct session *session,
			    const char *path)
{
	struct etw_text name = { 0 };

	text_add_string(&name, os_path_name(path));
	for (unsigned number = 2; !name.failed && name_is_taken(runner, session, name.data);
	     number++) {
		text_clear(&name);
		text_add_format(&name, "%s#%u", os_path_name(path), number);
	}
	if (name.failed) {
		text_free(&name);
		return NULL;
	}
	return name.data;
}

static bool open_recording(struct runner *runner, struct session *session, const char *path,
			   struct etw_error *err)
{
	session->path = text_duplicate(path, strlen(path));
	session->name = recording_name(runner, session, path);
	if (!session->path || !session->name) {
		return error_no_memory(err, "a recording");
	}
	session->source = etw_source_open_file(path, &runner->options.file, err);
	if (!session->source) {
		return false;
	}
	if (etw_source_facts(session->source)->doubt) {
		log_warning("Files of the recording are missing", log_text("file", path),
			    log_text("doubt", etw_source_facts(session->source)->doubt));
	}
	runner_copy_facts(session);
	session->sum.facts.doubt = NULL; /* it belongs to the source, which is closed before */
	return pipeline_make_samples(runner->options.setup->registry, session->consumer->shard,
				     session->name, err);
}

static bool open_recordings(struct runner *runner, struct etw_error *err)
{
	const struct runner_options *options = &runner->options;

	if (!add_consumer(runner, options->path_count, err)) {
		return false;
	}
	for (size_t i = 0; i < options->path_count; i++) {
		if (!open_recording(runner, &runner->sessions[i], options->paths[i], err)) {
			return false;
		}
	}
	runner->options.paths = NULL; /* the sessions have copies */
	for (size_t i = 0; i < runner->session_count; i++) {
		runner->bytes_total += runner->sessions[i].sum.statistics.bytes_total;
	}
	runner->pace = options->speed > 0 ? pace_new(options->speed, err) : NULL;
	if (runner->pace) {
		pace_interrupt_by(runner->pace, &runner->consumers[0].reload_due);
	}
	return runner->pace || options->speed <= 0;
}

/* Returns whether someone has looked at the memory of processes since it was read. */
static bool wants_memory(void *context)
{
	struct runner *runner = context;

	return atomic_exchange_explicit(&runner->memory_due, false, memory_order_relaxed);
}

void runner_note_scrape(struct runner *runner)
{
	atomic_store_explicit(&runner->memory_due, true, memory_order_relaxed);
}

struct live_session_options runner_live_options(struct runner *runner,
						const struct session *session,
						const struct setup *setup, size_t index)
{
	const struct runner_options *options = &runner->options;

	return (struct live_session_options){
		.setup = setup,
		.index = index,
		.name = session->name,
		.shard = session->consumer->shard,
		.canary = runner->canary,
		.on_fault = options->on_fault,
		.changes = runner->changes,
		.wants_memory = wants_memory,
		.memory_context = runner,
		.watch_ms = options->watch_ms,
		.retry_ms = options->retry_ms,
		.stop_grace_ms = options->stop_grace_ms,
		.snapshot_ms = options->snapshot_ms,
	};
}

bool runner_open_session(struct runner *runner, struct session *session, const struct setup *setup,
			 size_t index, struct etw_error *err)
{
	const struct config_session *configured = &setup->config->sessions[index];
	struct live_session_options options;

	session->consumer->flush_ns = configured->flush_ms * 1000000;
	if (!session->name) {
		session->name = text_duplicate(configured->name, strlen(configured->name));
	}
	if (!session->name) {
		return error_no_memory(err, "live sessions");
	}
	session->started = *configured;
	session->started.name = NULL;
	session->started.providers = NULL;
	options = runner_live_options(runner, session, setup, index);
	session->source = live_session_open(&session->live, &options, err);
	session->names_only = session->live.names_only;
	session->is_first = index == 0;
	return session->source != NULL;
}

/* Opens each session of the configuration, with a consumer of its own. */
static bool open_sessions(struct runner *runner, struct etw_error *err)
{
	const struct setup *setup = runner->options.setup;
	struct etw_error canary_err = { 0 };

	runner->options.loop = false;
	runner->canary = etw_canary_open(program_version.number, &canary_err);
	runner->changes = etw_session_changes_new(err);
	if (!runner->changes) {
		return false;
	}
	for (size_t i = 0; i < setup->config->session_count; i++) {
		struct session *session = &runner->sessions[i];

		if (!add_consumer(runner, 1, err) ||
		    !runner_open_session(runner, session, setup, i, err)) {
			return false;
		}
		runner_copy_facts(session);
		if (!runner_make_pipeline(session, err)) {
			return false;
		}
	}
	if (!runner->canary) {
		log_warning("No canaries are written into sessions",
			    log_text("error", canary_err.text));
	}
	return true;
}

/* ---- making and ending ---- */

struct runner *runner_new(const struct runner_options *options, struct etw_error *err)
{
	struct runner *runner = calloc(1, sizeof *runner);
	bool live = options->path_count == 0;

	if (!runner) {
		error_no_memory(err, "sessions");
		return NULL;
	}
	atomic_init(&runner->memory_due, true); /* so that the first scrape has values */
	runner->options = *options;
	runner->registry = options->setup->registry;
	/* A reload may add live sessions; each needs a shard. */
	runner->room = live ? SESSIONS_MAX : options->path_count;
	assert(!live || options->setup->config->session_count <= runner->room);
	runner->position = ETW_RECORD_NO_TIME;
	os_mutex_init(&runner->lock);
	os_condition_init(&runner->changed);
	runner->sessions = calloc(runner->room, sizeof *runner->sessions);
	runner->consumers = calloc(runner->room, sizeof *runner->consumers);
	if (!runner->sessions || !runner->consumers) {
		error_no_memory(err, "sessions");
		goto fail;
	}
	for (size_t i = 0; i < runner->room; i++) {
		struct consumer *consumer = &runner->consumers[i];

		consumer->runner = runner;
		atomic_init(&consumer->named, false);
		atomic_init(&consumer->snapshot_ns, NEVER);
		atomic_init(&consumer->reload_due, false);
	}
	if (live ? !open_sessions(runner, err) : !open_recordings(runner, err)) {
		goto fail;
	}
	return runner;

fail:
	runner_free(runner);
	return NULL;
}

void runner_free(struct runner *runner)
{
	if (!runner) {
		return;
	}
	for (size_t i = 0; i < runner->consumer_count; i++) {
		pipeline_free(runner->consumers[i].pipeline);
		names_free(runner->consumers[i].names);
	}
	for (size_t i = 0; i < runner->session_count; i++) {
		etw_source_close(runner->sessions[i].source);
		live_session_done(&runner->sessions[i].live);
		free(runner->sessions[i].name);
		free(runner->sessions[i].path);
	}
	etw_canary_close(runner->canary);
	etw_session_changes_free(runner->changes);
	pace_free(runner->pace);
	free(runner->consumers);
	free(runner->sessions);
	os_condition_done(&runner->changed);
	os_mutex_done(&runner->lock);
	free(runner);
}

/* ---- running ---- */

bool runner_stopping(const struct runner *runner)
{
	return atomic_load_explicit(&runner->stopping, memory_order_acquire);
}

static bool is_leaving(struct consumer *consumer)
{
	bool leaving;

	os_mutex_lock(&consumer->runner->lock);
	leaving = consumer->leaving;
	os_mutex_unlock(&consumer->runner->lock);
	return leaving;
}

/* Begins a pass over a session: from now on scrapes read its source and pipeline. */
static void begin_pass(struct runner *runner, struct session *session)
{
	os_mutex_lock(&runner->lock);
	session->consumer->current = session;
	session->consumer->cpu_at_start = os_thread_cpu_ns();
	os_mutex_unlock(&runner->lock);
	if (runner_stopping(runner) || is_leaving(session->consumer)) {
		etw_source_stop(session->source); /* a stop was requested before the pass began */
	}
}

/* Keeps the greater value. The source counts damage from 0 in every pass of a loop, and counters
 * must not fall. */
static void keep_most(uint64_t *now, uint64_t earlier)
{
	*now = *now > earlier ? *now : earlier;
}

static uint64_t millionths(uint64_t part, uint64_t all)
{
	if (all == 0) {
		return UINT64_MAX;
	}
	/* Above 2^64 / 10^6 bytes the product would overflow, and the lowest digits do not
	 * matter. */
	return all > UINT64_MAX / 1000000 ? part / (all / 1000000) : part * 1000000 / all;
}

/*
 * Returns the sums of the session, including its running pass. The caller holds the lock.
 *
 * cpu_ns: CPU time of the consumer's thread now; 0 if it is unknown.
 */
static struct runner_session session_now(const struct session *session, uint64_t cpu_ns)
{
	const struct consumer *consumer = session->consumer;
	const struct etw_source_statistics *earlier = &session->sum.statistics;
	struct runner_session now = session->sum;
	struct pipeline_statistics pipeline;

	if (consumer->current != session) {
		return now;
	}
	read_statistics(session, &now.statistics);
	keep_most(&now.statistics.bad_buffers, earlier->bad_buffers);
	keep_most(&now.statistics.bad_bytes, earlier->bad_bytes);
	keep_most(&now.statistics.bad_records, earlier->bad_records);
	now.lost_events = now.statistics.events_lost;
	now.lost_buffers = now.statistics.buffers_lost;
	now.busy_ns += cpu_ns > consumer->cpu_at_start ? cpu_ns - consumer->cpu_at_start : 0;
	pipeline_statistics(consumer->pipeline, &pipeline);
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		now.unattributed[i] += pipeline.tracker.unattributed[i];
	}
	now.repeated += pipeline.tracker.repeated;
	now.with_volume_millionths = millionths(pipeline.tracker.file_bytes[FILE_BYTES_WITH_VOLUME],
						pipeline.tracker.file_bytes[FILE_BYTES_ALL]);
	return now;
}

/*
 * Ends a pass whose pipeline is about to be freed: adds the statistics of both to the sums in one
 * step. changed: the recording differs from that of the former pass, so its damage is added to the
 * former damage.
 */
static void end_pass(struct runner *runner, struct session *session, bool changed)
{
	struct consumer *consumer = session->consumer;
	const struct etw_source_statistics before = session->sum.statistics;
	struct etw_source_statistics pass;
	struct pipeline_statistics pipeline;

	pipeline_statistics(consumer->pipeline, &pipeline);
	pipeline_statistics_end(&pipeline);
	etw_source_statistics(session->source, &pass);
	os_mutex_lock(&runner->lock);
	session->sum = session_now(session, os_thread_cpu_ns());
	if (changed) {
		session->sum.statistics.bad_buffers = before.bad_buffers + pass.bad_buffers;
		session->sum.statistics.bad_bytes = before.bad_bytes + pass.bad_bytes;
		session->sum.statistics.bad_records = before.bad_records + pass.bad_records;
	}
	consumer->bytes_before += session->sum.statistics.bytes_total;
	if (session->sum.statistics.last_time != ETW_RECORD_NO_TIME) {
		runner->position = session->sum.statistics.last_time;
	}
	pipeline_statistics_add(&runner->before, &pipeline);
	consumer->current = NULL;
	os_mutex_unlock(&runner->lock);
}

/* Says where the recording has events: a range beside it counts nothing. */
static void warn_of_range(const struct session *session)
{
	int64_t start = etw_source_facts(session->source)->clock.anchor_time;
	struct etw_source_statistics statistics;
	char first[UTC_TEXT_SIZE] = "", last[UTC_TEXT_SIZE] = "";

	etw_source_statistics(session->source, &statistics);
	utc_format(start, first);
	utc_format(statistics.last_time, last);
	log_warning("No event is between --replay.from and --replay.to",
		    log_text("file", session->path), log_text("begin", first),
		    log_text("end", last));
}

/* Runs one pass over a session. last: no session follows on this consumer. */
static bool run_session(struct session *session, bool last, struct etw_error *err)
{
	struct consumer *consumer = session->consumer;
	struct runner *runner = consumer->runner;
	const char *change;
	bool done;

	if (!consumer->pipeline && !runner_make_pipeline(session, err)) {
		return false;
	}
	begin_pass(runner, session);
	done = pipeline_run(consumer->pipeline, err);
	if (session->path && done && pipeline_missed_range(consumer->pipeline)) {
		warn_of_range(session);
	}
	change = session->path ? etw_source_file_change(session->source) : NULL;
	end_pass(runner, session, change != NULL);
	runner_on_named(consumer);
	if ((!last && !runner_stopping(runner)) || is_leaving(consumer)) {
		/* State gauges of one machine must not stay beside those of the next; those of a
		 * session that the configuration no longer has must not stay either. Between two
		 * passes of a replay, the former ones are shown until the next pass has its own. */
		if (session->path) {
			shard_hold_gauges(consumer->shard);
			consumer->gauges_held = true;
		}
		pipeline_reset(consumer->pipeline);
	}
	runner_free_pipeline(consumer);
	if (!session->path) {
		return done;
	}
	log_debug("Recording was read", log_text("file", session->path),
		  log_u64("records", session->sum.statistics.records),
		  log_u64("buffers", session->sum.statistics.buffers));
	replay_log_change(&session->logged, session->path, change);
	replay_log_damage(&session->logged, session->path, &session->sum.statistics);
	return done || error_prefix(err, "%s", session->path);
}

static bool run_sessions(struct consumer *consumer, struct etw_error *err)
{
	struct runner *runner = consumer->runner;
	bool loop = runner->options.loop;

	os_mutex_lock(&runner->lock);
	consumer->bytes_before = 0;
	os_mutex_unlock(&runner->lock);
	for (size_t i = 0; i < consumer->session_count && !runner_stopping(runner); i++) {
		struct session *session = &consumer->sessions[i];

		if (!run_session(session, !loop && i + 1 == consumer->session_count, err)) {
			return false;
		}
		if (!loop && session->path) {
			etw_source_close(
				session->source); /* scrapes read the source only during a pass */
			session->source = NULL;
		}
	}
	return true;
}

/* Returns the number of records that all sessions have delivered so far. */
static uint64_t records_of(const struct consumer *consumer)
{
	uint64_t records = 0;

	for (size_t i = 0; i < consumer->session_count; i++) {
		records += consumer->sessions[i].sum.statistics.records;
	}
	return records;
}

/* Waits for IDLE_PASS_NS or until the runner stops. It is called after a pass without a record,
 * because a loop over empty recordings would use a whole processor. */
static void wait_before_next_pass(struct runner *runner)
{
	uint64_t start = os_monotonic_ns(), passed = 0;

	os_mutex_lock(&runner->lock);
	while (!runner_stopping(runner) && passed < IDLE_PASS_NS) {
		os_condition_wait(&runner->changed, &runner->lock, IDLE_PASS_NS - passed);
		passed = os_monotonic_ns() - start;
	}
	os_mutex_unlock(&runner->lock);
}

static bool run_consumer(struct consumer *consumer, struct etw_error *err)
{
	struct runner *runner = consumer->runner;
	bool done;

	do {
		uint64_t records = records_of(consumer);

		done = run_sessions(consumer, err);
		if (runner->options.loop && records_of(consumer) == records) {
			wait_before_next_pass(runner);
		}
	} while (done && runner->options.loop && !runner_stopping(runner));
	shard_release_gauges(consumer->shard);
	os_mutex_lock(&runner->lock);
	runner->finished = done && !runner_stopping(runner);
	os_mutex_unlock(&runner->lock);
	runner_on_named(consumer);
	if (runner->options.path_count > 0) {
		os_release_memory(); /* frees the memory of the recordings' buffers, so that an idle
					program is small */
	}
	return done;
}

/* start_ns: monotonic time at which the first recording began. */
static void log_totals(enum log_level level, const char *message, struct runner *runner,
		       uint64_t start_ns)
{
	uint64_t outcomes[OUTCOME_COUNT] = { 0 };
	uint64_t lost = 0;

	for (size_t i = 0; i < runner->session_count; i++) {
		pipeline_add_outcomes(runner->registry, runner->sessions[i].name, outcomes);
		lost += runner->sessions[i].sum.lost_events;
	}
	replay_log_totals(level, message, outcomes, lost, os_monotonic_ns() - start_ns);
}

bool runner_run(struct runner *runner, struct etw_error *err)
{
	uint64_t start_ns = os_monotonic_ns();
	bool done;

	assert(runner->consumer_count == 1);
	if (runner->options.progress && runner->options.file.single_pass) {
		runner->options.progress->passes = 1;
	}
	done = run_consumer(runner->consumers, err);
	log_totals(LOG_DEBUG, "Replay finished", runner, start_ns);
	return done;
}

static void consumer_thread(void *context)
{
	struct consumer *consumer = context;
	struct runner *runner = consumer->runner;
	bool live = runner_is_live(runner);
	uint64_t start_ns = os_monotonic_ns();
	struct etw_error err = { 0 };
	bool done;

	if (!live) {
		log_info("Replay started", log_u64("recordings", consumer->session_count));
	}
	done = run_consumer(consumer, &err);
	if (!live) {
		log_totals(LOG_INFO,
			   runner_stopping(runner) ? "Replay stopped" :
			   done                    ? "Replay finished" :
						     "Replay ended by an error",
			   runner, start_ns);
	}
	if (done) {
		return;
	}
	if (live) {
		log_error("Session is no longer consumed",
			  log_text("session", consumer->sessions[0].name),
			  log_text("error", err.text));
	} else {
		log_error("Replay failed", log_text("error", err.text));
	}
}

bool runner_start_consumer(struct consumer *consumer, struct etw_error *err)
{
	consumer->threaded = os_thread_start(&consumer->thread, consumer_thread, consumer, err);
	return consumer->threaded;
}

bool runner_start(struct runner *runner, struct etw_error *err)
{
	bool started = true;

	/* Threads start under the lock, because scrapes read a thread's CPU time as soon as it runs
	 * a pass. */
	os_mutex_lock(&runner->lock);
	for (size_t i = 0; i < runner->consumer_count && started; i++) {
		/* A reload may have started this consumer already. */
		started = runner->consumers[i].threaded ||
			  runner_start_consumer(&runner->consumers[i], err);
	}
	os_mutex_unlock(&runner->lock);
	if (!started) {
		runner_stop(runner);
		runner_join(runner);
	}
	return started;
}

void runner_stop(struct runner *runner)
{
	/* Pairs with the acquire in runner_stopping(). */
	atomic_store_explicit(&runner->stopping, true, memory_order_release);
	if (runner->pace) {
		pace_stop(runner->pace);
	}
	os_mutex_lock(&runner->lock);
	os_condition_wake_all(&runner->changed);
	for (size_t i = 0; i < runner->consumer_count; i++) {
		if (runner->consumers[i].current) {
			etw_source_stop(runner->consumers[i].current->source);
		}
	}
	os_mutex_unlock(&runner->lock);
}

void runner_join_consumer(struct consumer *consumer)
{
	if (consumer->threaded) {
		os_thread_join(&consumer->thread);
		os_mutex_lock(&consumer->runner->lock);
		consumer->threaded = false;
		os_mutex_unlock(&consumer->runner->lock);
	}
}

void runner_join(struct runner *runner)
{
	for (size_t i = 0; i < runner->consumer_count; i++) {
		runner_join_consumer(&runner->consumers[i]);
	}
}

bool runner_ready(struct runner *runner)
{
	uint64_t now = os_monotonic_ns();
	size_t count = runner_session_count(runner);

	count = runner_is_live(runner) ? count : 1; /* consumers */
	for (size_t i = 0; i < count; i++) {
		const struct consumer *consumer = &runner->consumers[i];
		uint64_t since = atomic_load_explicit(&consumer->snapshot_ns, memory_order_acquire);

		if (!atomic_load_explicit(&consumer->named, memory_order_acquire) &&
		    (since == NEVER || now < since || now - since < consumer->flush_ns)) {
			return false;
		}
	}
	return true;
}

/* ---- statistics ---- */

bool runner_is_live(const struct runner *runner)
{
	return runner->options.path_count == 0;
}

struct flight_recorder *runner_recorder(const struct runner *runner)
{
	return runner->options.recorder;
}

size_t runner_session_count(struct runner *runner)
{
	size_t count;

	os_mutex_lock(&runner->lock);
	count = runner->session_count;
	os_mutex_unlock(&runner->lock);
	return count;
}

void runner_session(struct runner *runner, size_t index, struct runner_session *result)
{
	const struct session *session = &runner->sessions[index];
	const struct consumer *consumer = session->consumer;
	bool running;

	os_mutex_lock(&runner->lock);
	running = consumer->current == session;
	*result = session_now(session, running && consumer->threaded ?
					       os_thread_cpu_ns_of(&consumer->thread) :
					       0);
	os_mutex_unlock(&runner->lock);
	if (runner_is_live(runner)) {
		result->up = result->statistics.up;
		result->lag_ns = result->statistics.lag_ns;
	} else {
		result->up = running;
		result->lag_ns = running && runner->pace ? pace_lag_ns(runner->pace) : 0;
	}
}

void runner_totals(struct runner *runner, struct runner_totals *totals)
{
	uint64_t bytes = 0;
	int64_t position;

	memset(totals, 0, sizeof *totals);
	os_mutex_lock(&runner->lock);
	totals->pipeline = runner->before;
	totals->finished = runner->finished;
	position = runner->position;
	for (size_t i = 0; i < runner->consumer_count; i++) {
		const struct consumer *consumer = &runner->consumers[i];
		struct pipeline_statistics pipeline;
		struct etw_source_statistics source;

		bytes += consumer->bytes_before;
		if (consumer->current) {
			pipeline_statistics(consumer->pipeline, &pipeline);
			pipeline_statistics_add(&totals->pipeline, &pipeline);
			etw_source_statistics(consumer->current->source, &source);
			bytes += source.bytes_read;
			position = source.last_time != ETW_RECORD_NO_TIME ? source.last_time :
									    position;
		}
	}
	os_mutex_unlock(&runner->lock);
	totals->progress_millionths =
		bytes < runner->bytes_total ?
			(uint64_t)((double)bytes / (double)runner->bytes_total * 1e6) :
			1000000;
	totals->position_100ns = etw_time_since_1970(position);
	totals->refused_texts = intern_refused(registry_strings(runner->registry));
}

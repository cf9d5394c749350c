/* SPDX-License-Identifier: MIT */
/*
 * One consumer a session. A consumer's writer, names and pipeline are its own; only the books are
 * read by others.
 */
#include "live.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "decode/tdh.h"
#include "live/live_source.h"
#include "live_providers.h"
#include "version.h"

#define NEVER UINT64_MAX

struct consumer {
	struct source *source;     /* owned */
	struct pipeline *pipeline; /* owned */
	struct shard *shard;       /* the registry's */
	struct names *names;       /* owned */
	struct tdh *tdh;           /* owned */
	const char *session;       /* the configuration's */
	const struct family *delay;
	cell *delay_cells; /* of its canaries */
	uint64_t flush_ns;
	_Atomic(bool) named;           /* events have told about every process found */
	_Atomic(uint64_t) snapshot_ns; /* when what exists was told, or NEVER; monotonic */
	struct os_thread thread;
	/* Guarded by the runner's lock. */
	bool threaded;
	uint64_t busy_ns; /* once the thread has ended */
};

struct live_runner {
	struct live_runner_options options;
	struct pipeline_families families;
	struct canary *canary; /* owned; NULL: it could not be registered */
	struct family *delay;
	struct consumer *consumers; /* owned */
	size_t count;
	struct os_mutex lock;
};

/* ---- what sessions tell ---- */

static void on_news(void *context, enum live_news news, const char *sentence)
{
	const struct consumer *consumer = context;
	static const struct {
		enum log_level level;
		const char *message;
	} lines[] = {
		[NEWS_STARTED] = { LOG_INFO, "Session started" },
		[NEWS_STALE] = { LOG_WARNING, "Session was there already" },
		[NEWS_CONFLICT] = { LOG_WARNING, "Session belongs to another program" },
		[NEWS_LOST] = { LOG_WARNING, "Session ended; starting it again" },
		[NEWS_PUT_BACK] = { LOG_WARNING, "Session was changed" },
		[NEWS_NOT_AGAIN] = { LOG_ERROR, "Session cannot be started again; trying on" },
		[NEWS_PROVIDER] = { LOG_WARNING, "Session does without" },
		[NEWS_STOPPED] = { LOG_INFO, "Session stopped" },
	};

	log_line(lines[news].level, lines[news].message, log_text("session", consumer->session),
		 log_text("what", sentence));
}

static void on_canary(void *context, uint64_t delay_ns)
{
	const struct consumer *consumer = context;

	cells_observe(consumer->delay, consumer->shard, consumer->delay_cells, delay_ns);
}

static void on_named(void *context)
{
	struct consumer *consumer = context;

	atomic_store_explicit(&consumer->named, true, memory_order_release);
}

static void on_snapshot(void *context)
{
	struct consumer *consumer = context;

	atomic_store_explicit(&consumer->snapshot_ns, os_monotonic_ns(), memory_order_release);
}

/* ---- making ---- */

static struct source *open_session(struct live_runner *live, const struct config_session *session,
				   struct consumer *consumer,
				   const struct live_providers *providers, bool first,
				   struct error *err)
{
	static const enum live_logger loggers[] = { [LOGGER_AUTO] = LIVE_AUTO,
						    [LOGGER_PRIVATE] = LIVE_PRIVATE,
						    [LOGGER_SYSTEM_PROVIDERS] =
							    LIVE_SYSTEM_PROVIDERS,
						    [LOGGER_NT_KERNEL] = LIVE_NT_KERNEL,
						    [LOGGER_USER] = LIVE_USER };
	struct live_options options = {
		.name = session->name,
		.logger = loggers[session->logger],
		.takeover = session->takeover,
		.kernel_flags = first ? rule_set_kernel_flags(live->options.rules) : 0,
		.kernel_groups = first ? rule_set_kernel_groups(live->options.rules) : 0,
		.buffer_size_bytes = session->buffer_size_bytes,
		.buffers_min = session->buffers_min,
		.buffers_max = session->buffers_max,
		.flush_ms = session->flush_ms,
		.rundown = session->rundown,
		.providers = providers->list,
		.provider_count = providers->count,
		.canary = live->canary,
		.on_canary = on_canary,
		.canary_context = consumer,
		.on_news = on_news,
		.news_context = consumer,
		.watch_ms = live->options.watch_ms,
		.retry_ms = live->options.retry_ms,
		.stop_grace_ms = live->options.stop_grace_ms,
	};

	if (options.logger == LIVE_NT_KERNEL && options.provider_count > 0) {
		error_set(err, ERROR_CONFIG,
			  "session %s: the collectors that are on need providers, which the NT "
			  "Kernel Logger does not take; give them a user session",
			  session->name);
		return NULL;
	}
	return source_open_live(&options, err);
}

/* Its histogram stands at 0 from the start. */
static bool make_delay(struct live_runner *live, struct consumer *consumer, struct error *err)
{
	uint32_t session =
		intern_string(registry_strings(live->options.registry), consumer->session);

	consumer->delay = live->delay;
	consumer->delay_cells = family_cells(live->delay, consumer->shard, &session, NULL);
	return consumer->delay_cells ||
	       error_set(err, ERROR_NO_MEMORY, "no memory for the counters of session %s",
			 consumer->session);
}

static bool open_consumer(struct live_runner *live, size_t index, struct error *err)
{
	const struct config *config = live->options.config;
	const struct config_session *session = &config->sessions[index];
	struct consumer *consumer = &live->consumers[index];
	struct pipeline_options pipeline = {
		.session = session->name,
		.registry = live->options.registry,
		.families = &live->families,
		.rules = live->options.rules,
		.config = config,
		.manifests = live->options.manifests,
		.live = true,
		.on_ready = on_named,
		.ready_context = consumer,
		.on_snapshot = on_snapshot,
		.snapshot_context = consumer,
	};
	struct live_providers providers;

	consumer->session = session->name;
	consumer->flush_ns = session->flush_ms * 1000000;
	atomic_init(&consumer->named, false);
	atomic_init(&consumer->snapshot_ns, NEVER);
	consumer->shard = registry_shard(live->options.registry, false, err);
	consumer->names = consumer->shard ?
				  names_new(live->options.registry, config->limits.processes,
					    config->lower_case_processes, err) :
				  NULL;
	if (!consumer->names || !make_delay(live, consumer, err)) {
		return false;
	}
	if (index == 0) {
		rule_set_make_samples(live->options.rules, live->options.registry, consumer->shard);
	}
	if (!live_providers_init(&providers, config, live->options.rules, index, err)) {
		return false;
	}
	consumer->source = open_session(live, session, consumer, &providers, index == 0, err);
	pipeline.names_only = providers.names_only;
	live_providers_done(&providers);
	if (!consumer->source) {
		return false;
	}
	pipeline.source = consumer->source;
	pipeline.shard = consumer->shard;
	pipeline.names = consumer->names;
	consumer->tdh = tdh_new(err);
	if (!consumer->tdh) {
		return false;
	}
	pipeline.system = tdh_system(consumer->tdh);
	consumer->pipeline = pipeline_new(&pipeline, err);
	return consumer->pipeline != NULL;
}

/* Delivery waits for a flush, so one second is usual. */
static const uint64_t delay_bounds_ns[] = { 1000000,     10000000,    100000000,  250000000,
					    500000000,   1000000000,  2000000000, 5000000000,
					    10000000000, 30000000000, 60000000000 };

static const struct family_options delay_family = {
	.name = "etw_session_canary_delay_seconds",
	.help = "Time from writing a canary to its delivery.",
	.type = FAMILY_HISTOGRAM,
	.decimals = 9,
	.labels = { "session" },
	.label_count = 1,
	.buckets = delay_bounds_ns,
	.bucket_count = sizeof delay_bounds_ns / sizeof delay_bounds_ns[0],
};

struct family *live_delay_family(struct registry *registry, struct error *err)
{
	return registry_family(registry, &delay_family, err);
}

struct live_runner *live_new(const struct live_runner_options *options, struct error *err)
{
	struct live_runner *live = calloc(1, sizeof *live);
	struct error canary_err = { 0 };

	if (!live) {
		error_set(err, ERROR_NO_MEMORY, "no memory for live sessions");
		return NULL;
	}
	live->options = *options;
	os_mutex_init(&live->lock);
	live->consumers = calloc(options->config->session_count, sizeof *live->consumers);
	if (!live->consumers) {
		error_set(err, ERROR_NO_MEMORY, "no memory for live sessions");
		goto fail;
	}
	live->delay = live_delay_family(options->registry, err);
	if (!live->delay || !pipeline_families(options->registry, &live->families, err)) {
		goto fail;
	}
	live->canary = canary_open(version_number(), &canary_err);
	for (size_t i = 0; i < options->config->session_count; i++) {
		live->count = i + 1;
		if (!open_consumer(live, i, err)) {
			goto fail;
		}
	}
	if (!live->canary) { /* the sessions do without */
		log_warning("No canaries are written into sessions",
			    log_text("error", canary_err.text));
	}
	return live;

fail:
	live_free(live);
	return NULL;
}

void live_free(struct live_runner *live)
{
	if (!live) {
		return;
	}
	for (size_t i = 0; i < live->count; i++) {
		pipeline_free(live->consumers[i].pipeline);
		tdh_free(live->consumers[i].tdh);
		source_close(live->consumers[i].source);
		names_free(live->consumers[i].names);
	}
	canary_close(live->canary);
	free(live->consumers);
	os_mutex_done(&live->lock);
	free(live);
}

/* ---- running ---- */

static void run_consumer(void *context)
{
	struct consumer *consumer = context;
	struct error err = { 0 };

	if (!pipeline_run(consumer->pipeline, &err)) {
		log_error("Session is no longer consumed", log_text("session", consumer->session),
			  log_text("error", err.text));
	}
}

bool live_start(struct live_runner *live, struct error *err)
{
	bool started = true;

	/* Under the lock, because scrapes ask for a thread's CPU time as soon as it is known. */
	os_mutex_lock(&live->lock);
	for (size_t i = 0; i < live->count && started; i++) {
		struct consumer *consumer = &live->consumers[i];

		started = os_thread_start(&consumer->thread, run_consumer, consumer, err);
		consumer->threaded = started;
	}
	os_mutex_unlock(&live->lock);
	if (!started) {
		live_stop(live);
		live_join(live);
	}
	return started;
}

void live_stop(struct live_runner *live)
{
	for (size_t i = 0; i < live->count; i++) {
		source_stop(live->consumers[i].source);
	}
}

void live_join(struct live_runner *live)
{
	for (size_t i = 0; i < live->count; i++) {
		struct consumer *consumer = &live->consumers[i];
		bool threaded;

		os_mutex_lock(&live->lock);
		threaded = consumer->threaded;
		if (threaded) {
			consumer->busy_ns = os_thread_cpu_ns_of(&consumer->thread);
			consumer->threaded = false;
		}
		os_mutex_unlock(&live->lock);
		if (threaded) {
			os_thread_join(&consumer->thread);
		}
	}
}

bool live_ready(const struct live_runner *live)
{
	uint64_t now = os_monotonic_ns();

	for (size_t i = 0; i < live->count; i++) {
		const struct consumer *consumer = &live->consumers[i];
		uint64_t since = atomic_load_explicit(&consumer->snapshot_ns, memory_order_acquire);

		if (!atomic_load_explicit(&consumer->named, memory_order_acquire) &&
		    (since == NEVER || now < since || now - since < consumer->flush_ns)) {
			return false;
		}
	}
	return true;
}

/* ---- the books ---- */

size_t live_session_count(const struct live_runner *live)
{
	return live->count;
}

void live_session(struct live_runner *live, size_t index, struct live_session *session)
{
	struct consumer *consumer = &live->consumers[index];
	struct pipeline_statistics pipeline;

	memset(session, 0, sizeof *session);
	session->name = consumer->session;
	session->facts = source_facts(consumer->source);
	source_statistics(consumer->source, &session->statistics);
	pipeline_statistics(consumer->pipeline, &pipeline);
	memcpy(session->unattributed, pipeline.tracker.unattributed, sizeof session->unattributed);
	os_mutex_lock(&live->lock);
	session->busy_ns = consumer->threaded ? os_thread_cpu_ns_of(&consumer->thread) :
						consumer->busy_ns;
	os_mutex_unlock(&live->lock);
}

void live_totals(struct live_runner *live, struct pipeline_statistics *totals)
{
	memset(totals, 0, sizeof *totals);
	for (size_t i = 0; i < live->count; i++) {
		struct pipeline_statistics now;

		pipeline_statistics(live->consumers[i].pipeline, &now);
		pipeline_statistics_add(totals, &now);
	}
}

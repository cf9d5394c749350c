/* SPDX-License-Identifier: MIT */
/*
 * A live session as a source: opening starts the session, running consumes it.
 *
 * The consumer announces what exists, consumes until ProcessTrace() returns, finds out why it
 * returned, and starts the session again after a while. The watcher thread queries the session once
 * a second. It also stops the session, after ProcessTrace() has delivered what the session held.
 *
 * Every program that may control sessions can also disable a provider in ours, and Windows does not
 * report this. So the watchdog checks whether one of the providers is still enabled each time the
 * session is queried, and enables it again if not. If a provider seems to be disabled right after
 * this, the watchdog ignores it from then on, because the answer of Windows is not reliable for it.
 * A provider that Windows refused to enable is tried again now and then: the reason, such as eight
 * sessions that have it already, may go.
 *
 * The watcher also compares the performance counter, which stamps events, with the system time. The
 * counter is not disciplined, and an administrator may set the system time. Once a minute, and at
 * once when they are far apart, it takes a new anchor for the times of events.
 *
 * Source: "ProcessTrace function", "EnumerateTraceGuidsEx function", "TRACE_PROVIDER_INSTANCE_INFO
 * structure", "TRACE_ENABLE_INFO structure", Microsoft Learn.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"
#include "lib/live/session_changes.h"

enum {
	BUFFER_SIZE = 256 * 1024,
	BUFFERS_LEAST = 64,
	BUFFERS_PER_PROCESSOR = 4,
	FLUSH_MS = 1000,
	WATCH_MS = 1000,
	RETRY_MS = 250,
	RETRY_MOST_MS = 30000,
	STOP_GRACE_MS = 5000,
	SNAPSHOT_MS = 10000,
	CANARIES_PER_LOOK = 4,
	POLL_MS = 5,   /* interval at which delivery is checked */
	LATE_MS = 500, /* added to the flush interval: later no buffer is expected */
	ANCHOR_MS = 60000,
	SET_100NS = 1000000,       /* clocks this far apart mean that one was set */
	PRECISE_PER_SECOND = 1000, /* an anchor is taken if it is right to a millisecond */
};

#define NS_PER_MS UINT64_C(1000000)
#define HEALTHY_NS                                                                     \
	(UINT64_C(60000) * NS_PER_MS) /* after that, retries begin with retry_ms again \
				       */

/* ---- providers that another program disabled ---- */

/* Returns whether a provider is enabled only for some processes. For such providers the check is
 * meaningless. */
static bool is_for_some(const struct etw_provider_spec *provider)
{
	return provider->process_id_count > 0 || provider->executables;
}

/* Tries again to enable a provider that Windows has refused to enable. */
static void try_refused(struct live *live, TRACEHANDLE session, size_t index)
{
	struct provider_watchdog *watchdog = &live->list.watchdogs[index];
	char text[GUID_TEXT_SIZE + 2];

	if (os_monotonic_ns() < watchdog->try_ns || session_ours(live) != session) {
		return;
	}
	if (enable_provider(live, session, index) == ERROR_SUCCESS) {
		watchdog->wait_ms = 0;
		live_report(live, ETW_SESSION_RESTORED,
			    "provider %s, which could not be enabled before, is enabled",
			    etw_provider_spec_label(&live->list.providers[index], text));
		return;
	}
	watchdog->wait_ms = watchdog->wait_ms != 0 ? 2 * watchdog->wait_ms : live->options.retry_ms;
	if (watchdog->wait_ms > RETRY_MOST_MS) {
		watchdog->wait_ms = RETRY_MOST_MS;
	}
	watchdog->try_ns = os_monotonic_ns() + watchdog->wait_ms * NS_PER_MS;
}

/* Enables the provider again if it is disabled. Returns false if it was disabled. */
static bool watchdog_check_provider(struct live *live, TRACEHANDLE session, size_t index)
{
	const struct etw_provider_spec *provider = &live->list.providers[index];
	GUID guid = live_windows_guid(&provider->guid);
	struct provider_watchdog *watchdog = &live->list.watchdogs[index];
	char text[GUID_TEXT_SIZE + 2], who[SESSION_CHANGES_WHO];
	const char *label = etw_provider_spec_label(provider, text);

	if (watchdog->refused != ERROR_SUCCESS) {
		try_refused(live, session, index);
		return false;
	}
	if (watchdog->state == WATCHDOG_GIVEN_UP || is_for_some(provider)) {
		return true;
	}
	if (!running_is_disabled(&guid, session)) {
		watchdog->state = WATCHDOG_FINE;
		return true;
	}
	if (watchdog->state == WATCHDOG_DOUBT) {
		watchdog->state = WATCHDOG_GIVEN_UP;
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "Windows does not report provider %s as enabled after it was enabled: "
			    "whether another program disables it is not seen",
			    label);
		return true;
	}
	/* Windows reuses handles: first make sure that the session is still ours. */
	if (session_watch(live) == ERROR_SUCCESS && session_running(live) == session &&
	    restore_again(live, &watchdog->budget, label) &&
	    enable_provider(live, session, index) == ERROR_SUCCESS) {
		watchdog->state = running_is_disabled(&guid, session) ? WATCHDOG_DOUBT :
									WATCHDOG_FINE;
		counters_restart(live, ETW_RESTART_FLAGS_CHANGED);
		live_report(live, ETW_SESSION_RESTORED, "%s disabled provider %s: enabled again",
			    session_changes_who(live->change, CHANGE_DISABLED, &provider->guid,
						who),
			    label);
	}
	return false;
}

/*
 * Enables providers again that another program disabled: each call checks the exporter's own
 * provider and one of the others in turn. The session is known to run. Returns false if canaries
 * may have been lost since the last call.
 */
static bool watchdog_check_providers(struct live *live, TRACEHANDLE session)
{
	bool known = true, enabled;

	os_mutex_lock(&live->lock);
	enabled = live->providers_enabled && live->session == session;
	os_mutex_unlock(&live->lock);
	if (!enabled || live->list.count == 0) {
		return false;
	}
	if (live->canary) {
		known = watchdog_check_provider(live, session, live->list.canary_index);
	}
	live->watchdog_next = (live->watchdog_next + 1) % live->list.count;
	if (!live->canary || live->watchdog_next != live->list.canary_index) {
		watchdog_check_provider(live, session, live->watchdog_next);
	}
	return known;
}

/* ---- the watcher ---- */

/* The session is known to run. */
static void capture_when_due(struct live *live)
{
	uint64_t now = os_monotonic_ns();
	TRACEHANDLE session = session_running(live);

	os_mutex_lock(&live->settings);
	for (size_t i = 0; i < live->list.count; i++) {
		const struct etw_provider_spec *provider = &live->list.providers[i];
		uint64_t *due = &live->list.watchdogs[i].capture_due_ns;

		if (provider->capture_every_ms == 0 || session == 0 || now < *due) {
			continue;
		}
		if (*due != 0) {
			enable_capture(live, session, provider, provider->capture_at_start);
		}
		*due = now + provider->capture_every_ms * NS_PER_MS;
	}
	os_mutex_unlock(&live->settings);
}

/* Takes a new anchor for the times of events, for the consumer to use from its next buffer on. */
static void anchor_when_due(struct live *live)
{
	struct etw_source_clock now;
	uint64_t wrong = consume_clock(&now);
	int64_t expected = etw_clock_time(&live->last_anchor, now.anchor_raw);
	uint64_t apart = etw_time_between(expected, now.anchor_time) +
			 etw_time_between(now.anchor_time, expected);

	/* A session that is attached to may have system time. */
	if (live->source.facts.clock.type != ETW_CLOCK_QPC ||
	    wrong > now.frequency / PRECISE_PER_SECOND ||
	    (apart < SET_100NS &&
	     os_monotonic_ns() - live->last_anchor_ns < live->options.anchor_ms * NS_PER_MS)) {
		return;
	}
	live->last_anchor = now;
	live->last_anchor_ns = os_monotonic_ns();
	os_mutex_lock(&live->lock);
	live->anchored = now;
	/* Pairs with the acquire in take_anchor(). */
	atomic_store_explicit(&live->anchored_anew, true, memory_order_release);
	os_mutex_unlock(&live->lock);
}

/* Checks the session. *missing counts how often in a row the session was missing while it was
 * consumed. Returns whether it runs. */
static bool check_session(struct live *live, unsigned *missing)
{
	struct canary_epoch written = canaries_written(live);
	TRACEHANDLE session;
	bool consuming;
	ULONG status;

	os_mutex_lock(&live->lock);
	session = live->session;
	consuming = live->consuming;
	os_mutex_unlock(&live->lock);
	if (session == 0) {
		return false;
	}
	os_mutex_lock(&live->settings);
	status = session_watch(live);
	harvest_look(live);
	if (status == ERROR_SUCCESS && watchdog_check_providers(live, session)) {
		canaries_confirm(live, &written);
	}
	if (status == ERROR_SUCCESS && !session_changes_reports(live->change)) {
		enable_changes(live, session, true); /* if a session that did has left */
	}
	os_mutex_unlock(&live->settings);
	if (status != ERROR_WMI_INSTANCE_NOT_FOUND || !consuming) {
		*missing = 0;
		return status == ERROR_SUCCESS;
	}
	/* ProcessTrace() returns when its session ends. If it does not, closing the trace ends
	 * it. */
	if (++*missing > 1) {
		consume_abandon(live);
		*missing = 0;
	}
	return false;
}

/* Waits until no consumer runs, at most until until_ns. Returns false if one still runs. */
static bool wait_for_consumer(struct live *live, uint64_t until_ns)
{
	bool gone;

	os_mutex_lock(&live->lock);
	while (live->consuming && os_condition_wait_until(&live->changed, &live->lock, until_ns)) {
	}
	gone = !live->consuming;
	os_mutex_unlock(&live->lock);
	return gone;
}

/*
 * Waits until the consumer has delivered the buffers that the session held when it was flushed, by
 * their number. If the consumer missed some, the wait ends when no buffer has come for longer than
 * a buffer can be late, about a flush interval.
 */
static void wait_for_delivery(struct live *live, uint64_t deadline)
{
	uint64_t late_ns = (live->options.flush_ms + LATE_MS) * NS_PER_MS;
	uint64_t now = os_monotonic_ns(), last = now, delivered = 0, before = 0;

	while (!counters_caught_up(live, &delivered) && now < deadline && now - last < late_ns) {
		if (delivered != before) {
			before = delivered;
			last = now;
		}
		if (wait_for_consumer(live, now + POLL_MS * NS_PER_MS)) {
			return;
		}
		now = os_monotonic_ns();
	}
}

/*
 * Stops the session. First all its buffers are delivered, then the consumer is closed. The session
 * is stopped last, because STOP writes a rundown (DCEnd, SystemConfig, names of files) that the
 * consumer does not need.
 */
static void stop_and_wait(struct live *live)
{
	uint64_t deadline;

	if (is_attached(live)) {
		consume_abandon(live);
		wait_for_consumer(live,
				  os_monotonic_ns() + live->options.stop_grace_ms * NS_PER_MS);
		session_stop(live);
		return;
	}
	session_drain(live);
	deadline = os_monotonic_ns() + live->options.stop_grace_ms * NS_PER_MS;
	wait_for_delivery(live, deadline);
	session_count(live);
	consume_abandon(live);
	wait_for_consumer(live, deadline);
	session_stop(live);
}

/* Waits for ns nanoseconds. Returns false earlier if the source must stop or the consumer has
 * ended. */
static bool wait_ns(struct live *live, uint64_t ns)
{
	uint64_t deadline = os_monotonic_ns() + ns;
	bool goes_on;

	os_mutex_lock(&live->lock);
	while (!live->ended && !etw_source_stopping(&live->source) &&
	       os_condition_wait_until(&live->changed, &live->lock, deadline)) {
	}
	goes_on = !live->ended && !etw_source_stopping(&live->source);
	os_mutex_unlock(&live->lock);
	return goes_on;
}

/* As wait_ns(). Meanwhile it enables flags that wait until the session is consumed. */
static bool watch_ns(struct live *live, uint64_t ns)
{
	uint64_t deadline = os_monotonic_ns() + ns;
	bool goes_on;

	os_mutex_lock(&live->lock);
	for (;;) {
		uint64_t now = os_monotonic_ns(), due = live->late_due_ns;

		goes_on = !live->ended && !etw_source_stopping(&live->source);
		if (goes_on && now >= due) {
			os_mutex_unlock(&live->lock);
			session_enable_late(live);
			os_mutex_lock(&live->lock);
		} else if (!goes_on || now >= deadline) {
			break;
		} else {
			os_condition_wait_until(&live->changed, &live->lock,
						due < deadline ? due : deadline);
		}
	}
	os_mutex_unlock(&live->lock);
	return goes_on;
}

static void watch(void *context)
{
	struct live *live = context;
	unsigned ticks_per_look = live->canary ? CANARIES_PER_LOOK : 1;
	uint64_t tick_ns = live->options.watch_ms * NS_PER_MS / ticks_per_look;
	char sentence[SESSION_CHANGES_SENTENCE];
	unsigned missing = 0;
	bool runs;

	for (unsigned tick = 1; watch_ns(live, tick_ns); tick++) {
		if (session_changes_late(live->change, sentence)) {
			live_report(live, ETW_SESSION_EXPLAINED, "%s", sentence);
		}
		if (live->canary) {
			canaries_write(live);
		}
		if (tick % ticks_per_look != 0) {
			continue;
		}
		runs = check_session(live, &missing);
		anchor_when_due(live);
		if (runs) {
			capture_when_due(live);
		}
	}
	if (etw_source_stopping(&live->source)) {
		stop_and_wait(live);
	}
}

/* ---- the consumer ---- */

static void report_start(struct live *live)
{
	if (is_attached(live)) {
		live_report(live, ETW_SESSION_ATTACHED, "it is read, and nothing in it is changed");
		return;
	}
	live_report(live, ETW_SESSION_STARTED, "%s",
		    system_flags(live) != 0 ? "started, with system providers" : "started");
}

/* Returns whether the source waits until the session can be started, or until it can be attached
 * to. */
static bool must_wait(const struct live *live, ULONG status)
{
	return is_attached(live) ?
		       status == ERROR_WMI_INSTANCE_NOT_FOUND :
		       status == ERROR_ALREADY_EXISTS && live->options.logger == ETW_LIVE_NT_KERNEL;
}

/* Reports it once. */
static void report_waiting(struct live *live)
{
	if (!live->conflict_reported && is_attached(live)) {
		live_report(live, ETW_SESSION_ABSENT, "no such session runs; waiting");
	} else if (!live->conflict_reported) {
		live_report(live, ETW_SESSION_CONFLICT, "another program owns it; waiting");
	}
	live->conflict_reported = true;
}

/* Starts the session. The same failure is reported only once in a row. */
static bool try_start(struct live *live)
{
	ULONG status = is_attached(live) ? attach_start(live) : session_start(live);
	struct etw_error err;

	if (status == ERROR_SUCCESS) {
		live->last_failure = ERROR_SUCCESS;
		live->conflict_reported = false;
		report_start(live);
		return true;
	}
	if (must_wait(live, status)) {
		report_waiting(live);
	} else if (status != live->last_failure) {
		session_error(live, "started", status, &err);
		live_report(live, ETW_SESSION_NOT_RESTARTED, "%s", err.text);
	}
	live->last_failure = status;
	return false;
}

/* Consumes until ProcessTrace() returns. Returns its status. */
static ULONG consume(struct live *live)
{
	ULONG status = consume_open(live);

	if (status != ERROR_SUCCESS) {
		return status;
	}
	session_know_masks(live);
	live->awaits_buffer = true;
	status = consume_run(live);
	consume_close(live);
	return status;
}

/* Counts why the consumer ended without a stop, and forgets a session that is no longer ours. */
static void handle_end(struct live *live, ULONG status)
{
	enum etw_restart_reason reason = session_judge(live, &status);
	char text[160], who[SESSION_CHANGES_WHO];
	struct etw_error err;

	counters_restart(live, reason);
	if (reason == ETW_RESTART_ERROR && live->obstacle) {
		session_error(live, "consumed", status, &err);
		live_report(live, ETW_SESSION_NOT_RESTARTED, "%s", err.text);
	} else if (reason == ETW_RESTART_ERROR) {
		live_report(live, ETW_SESSION_LOST, "%s", live_error_text(status, text));
	} else {
		live_report(live, is_attached(live) ? ETW_SESSION_ABSENT : ETW_SESSION_LOST,
			    "%s %s it",
			    session_changes_who(live->change, CHANGE_STOPPED, NULL, who),
			    reason == ETW_RESTART_STOPPED ? "stopped" : "took");
	}
	if (reason != ETW_RESTART_ERROR) {
		session_forget(live);
	}
}

static void consume_until_stopped(struct live *live, const struct etw_event_sink *sink)
{
	uint64_t wait = live->options.retry_ms;
	bool known = false; /* the sink knows what exists */
	bool first = true;

	while (!etw_source_stopping(&live->source)) {
		bool runs = session_running(live) != 0;

		known = known && runs;
		if (runs || try_start(live)) {
			uint64_t began;
			ULONG status;

			if (!known) {
				if (!first && sink->on_restart) {
					sink->on_restart(sink->context);
				}
				snapshot_announce(live);
				first = false;
				known = true;
			}
			if (etw_source_stopping(&live->source)) {
				break;
			}
			began = os_monotonic_ns();
			status = consume(live);
			if (live->faulted) {
				break;
			}
			if (etw_source_stopping(&live->source)) {
				break;
			}
			if (os_monotonic_ns() - began > HEALTHY_NS) {
				wait = live->options.retry_ms;
			}
			handle_end(live, status);
		}
		wait_ns(live, wait * NS_PER_MS);
		wait = wait * 2 < RETRY_MOST_MS ? wait * 2 : RETRY_MOST_MS;
	}
}

static bool live_run(struct etw_source *base, const struct etw_event_sink *sink,
		     struct etw_error *err)
{
	struct live *live = (struct live *)base;

	live->sink = sink;
	live->ended = false;
	if (!snapshot_start(live, err)) {
		goto fail;
	}
	if (!os_thread_start(&live->watcher, watch, live, err)) {
		snapshot_stop(live);
		goto fail;
	}
	harvest_start(live);
	consume_until_stopped(live, sink);
	consume_close(live); /* still open if the stop came before consume_run() */
	os_mutex_lock(&live->lock);
	live->ended = true;
	os_condition_wake_all(&live->changed);
	os_mutex_unlock(&live->lock);
	os_thread_join(&live->watcher);
	harvest_end(live);
	snapshot_stop(live);
	session_stop(live); /* may have been started while the watcher stopped an earlier one */
	live->sink = NULL;
	if (live->faulted) {
		return error_set(err, ETW_ERROR_SYSTEM, "session %s: a callback has faulted",
				 live->name);
	}
	return true;

fail: /* a session that nothing consumes only wastes resources */
	consume_close(live);
	session_stop(live);
	return error_prefix(err, "session %s", live->name);
}

static void live_stop(struct etw_source *base)
{
	struct live *live = (struct live *)base;

	os_mutex_lock(&live->lock);
	os_condition_wake_all(&live->changed);
	os_mutex_unlock(&live->lock);
}

static void live_close(struct etw_source *base)
{
	struct live *live = (struct live *)base;

	consume_close(live); /* open if the source was never run */
	session_stop(live);
	canaries_close(live);
	known_free(live->known);
	session_changes_leave(live->change);
	provider_list_done(&live->list);
	free(live->items);
	free(live->stacks);
	machine_clear(&live->announced);
	free(live->name);
	os_condition_done(&live->changed);
	os_mutex_done(&live->lock);
	os_mutex_done(&live->settings);
	source_done(base);
	free(live);
}

static void live_sink_changed(struct etw_source *base)
{
	snapshot_change((struct live *)base);
}

static void live_wake(struct etw_source *base)
{
	struct live *live = (struct live *)base;

	if (live->canary) {
		canaries_write(live); /* so that the session has something to deliver */
	}
	session_flush(live);
}

static const struct source_operations operations = {
	.run = live_run,
	.stop = live_stop,
	.sink_changed = live_sink_changed,
	.wake = live_wake,
	.close = live_close,
};

/* ---- opening ---- */

static void end_process(const char *reason)
{
	(void)reason;
	abort();
}

/* Replaces zeros by the defaults of <etw/session.h>. */
static void set_defaults(struct live *live, uint32_t processors)
{
	struct etw_live_options *options = &live->options;

	options->buffer_size_bytes = options->buffer_size_bytes ? options->buffer_size_bytes :
								  BUFFER_SIZE;
	options->flush_ms = options->flush_ms ? options->flush_ms : FLUSH_MS;
	options->watch_ms = options->watch_ms ? options->watch_ms : WATCH_MS;
	options->retry_ms = options->retry_ms ? options->retry_ms : RETRY_MS;
	options->stop_grace_ms = options->stop_grace_ms ? options->stop_grace_ms : STOP_GRACE_MS;
	options->anchor_ms = options->anchor_ms ? options->anchor_ms : ANCHOR_MS;
	options->on_fault = options->on_fault ? options->on_fault : end_process;
	options->snapshot_ms = options->snapshot_ms ? options->snapshot_ms : SNAPSHOT_MS;
	live->buffers_min = options->buffers_min;
	live->buffers_max = options->buffers_max;
	if (live->buffers_min == 0) {
		live->buffers_min = BUFFERS_PER_PROCESSOR * processors;
		if (live->buffers_min < BUFFERS_LEAST) {
			live->buffers_min = BUFFERS_LEAST;
		}
		if (live->buffers_max != 0 && live->buffers_min > live->buffers_max) {
			live->buffers_min = live->buffers_max;
		}
	}
	if (live->buffers_max == 0) {
		live->buffers_max = 2 * live->buffers_min;
	}
}

/*
 * A system logger needs a GUID of its own, and not that of the NT Kernel Logger ("Configuring and
 * Starting a SystemTraceProvider Session"). The GUID depends on the name, so that two exporters can
 * run.
 */
static GUID private_guid(const char *name)
{
	GUID guid = { 0x6b1f3a5e, 0x0d52, 0x4c7b, { 0 } };
	uint64_t hash = text_hash_nocase(name, strlen(name), 0);

	memcpy(guid.Data4, &hash, sizeof guid.Data4);
	return guid;
}

static const GUID nt_kernel_guid = {
	0x9e814aad, 0x3204, 0x11d2, { 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39 }
};

static void set_facts(struct live *live, uint32_t processors)
{
	static const char *const types[] = { [ETW_LIVE_PRIVATE] = "system_logger",
					     [ETW_LIVE_NT_KERNEL] = "nt_kernel_logger",
					     [ETW_LIVE_USER] = "user",
					     [ETW_LIVE_ATTACH] = "attached" };

	live->source.facts = (struct etw_source_facts){
		.name = live->name,
		.type = types[live->options.logger],
		.mode = live->mode_text,
		.processors = processors,
	};
	consume_clock(&live->source.facts.clock);
	consume_use_clock(live, &live->source.facts.clock);
	live->last_anchor = live->clock;
	live->last_anchor_ns = os_monotonic_ns();
}

/* Copies the events that get call stacks. */
static bool copy_stacks(struct live *live, const struct etw_live_options *options)
{
	live->stacks = calloc(options->stack_count + 1, sizeof *live->stacks);
	live->stack_count = (ULONG)options->stack_count;
	for (size_t i = 0; live->stacks && i < options->stack_count; i++) {
		const struct etw_kernel_event *event = &options->stacks[i];

		live->stacks[i] = (CLASSIC_EVENT_ID){
			.EventGuid = live_windows_guid(&event->class_guid),
			.Type = event->opcode,
		};
	}
	return live->stacks != NULL;
}

static bool start_at_open(struct live *live, struct etw_error *err)
{
	ULONG status = is_attached(live) ? attach_start(live) : session_start(live);

	if (must_wait(live, status)) {
		report_waiting(live);
		return true;
	}
	if (status != ERROR_SUCCESS) {
		return session_error(live, "started", status, err);
	}
	report_start(live);
	/* Open the trace here, so that missing rights to consume it are reported now. */
	status = consume_open(live);
	return status == ERROR_SUCCESS || session_error(live, "consumed", status, err);
}

struct etw_source *etw_source_open_live(const struct etw_live_options *options,
					struct etw_error *err)
{
	struct live *live = calloc(1, sizeof *live);
	uint32_t processors = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);

	if (!live) {
		error_no_memory(err, "a live session");
		return NULL;
	}
	source_init(&live->source, &operations);
	os_mutex_init(&live->settings);
	os_mutex_init(&live->lock);
	os_condition_init(&live->changed);
	live->options = *options;
	live->options.name = NULL;
	live->options.providers = NULL;
	live->options.stacks = NULL;
	atomic_init(&live->kernel_flags, options->kernel_flags);
	atomic_init(&live->kernel_groups, options->kernel_groups);
	live->newest_raw = ETW_RECORD_NO_TIME;
	live->source.statistics.sample_interval_100ns = UINT64_MAX;
	live->late_due_ns = UINT64_MAX;
	atomic_init(&live->known_due, INT64_MAX);
	live->name = text_duplicate(options->name, strlen(options->name));
	live->items = malloc(LIVE_ITEMS_BYTES);
	if (!live->name || !live->items || !copy_stacks(live, options)) {
		error_no_memory(err, "a live session");
		goto fail;
	}
	if (!live_wide(live->name, live->wide_name, SESSION_NAME_MAX)) {
		error_set(err, ETW_ERROR_CONFIG, "session %s: the name is not UTF-8 or too long",
			  live->name);
		goto fail;
	}
	if (!system_choose(live, err)) {
		goto fail;
	}
	set_defaults(live, processors);
	if (live->options.logger == ETW_LIVE_PRIVATE) {
		live->guid = private_guid(live->name);
	} else if (live->options.logger == ETW_LIVE_NT_KERNEL) {
		live->guid = nt_kernel_guid;
	}
	set_facts(live, processors);
	live->change = session_changes_join(live->options.changes, live->name);
	canaries_open(live);
	if (!provider_list_init(live, options, &live->list, err)) {
		goto fail;
	}
	harvest_open(live);
	if (start_at_open(live, err)) {
		session_mode_text(live, live->mode_text);
		return &live->source;
	}

fail:
	live_close(&live->source);
	return NULL;
}

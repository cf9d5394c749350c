/* SPDX-License-Identifier: MIT */
/*
 * Replaces the set-up of a runner while it runs.
 *
 * A replay only gets other rules. Live sessions are compared by name: one that both configurations
 * have continues, and its providers and kernel events are exchanged; a new one is started beside
 * the others; a removed one is stopped after its remaining events are delivered. Everything that
 * Windows or the configuration can refuse is tried in the first step, when nothing has changed yet.
 *
 * The next set-up is published before any provider is enabled: an event that the session did not
 * have before finds the consumer's flag set, and is counted by the next rules. Therefore nothing
 * depends on how soon a consumer looks. The wait at the end is for the caller, who wants to free
 * the former set-up and to say that the next one is in force.
 *
 * Sessions and consumers never move, and a removed session keeps its index, its name and its shard:
 * scrapes may be reading them, and its counters continue if a later reload brings it back.
 */
#include "exporter/runner_internal.h"

#include <stdlib.h>

#include "base/log.h"

/* Returns the index of the session with this name among those that run or, if `gone`, among those
 * that do not; the count of sessions if there is none. */
static size_t find_session(const struct runner *runner, const struct config_session *configured,
			   bool gone)
{
	size_t i = 0;

	while (i < runner->session_count &&
	       (runner->sessions[i].sum.gone != gone ||
		!session_has_name(configured, runner->sessions[i].name))) {
		i++;
	}
	return i;
}

static bool prepare_change(struct runner *runner, struct session *session, size_t index,
			   struct etw_error *err)
{
	const struct live_session_options options =
		runner_live_options(runner, session, runner->next, index);

	session->stays = true;
	session->next_index = index;
	session->change =
		live_session_prepare(session->source, &options, &session->names_only_next, err);
	return session->change != NULL;
}

/* Starts a session at a free index, or at the index that it had before. */
static bool prepare_session(struct runner *runner, size_t place, size_t index,
			    struct etw_error *err)
{
	struct session *session = &runner->sessions[place];
	struct consumer *consumer = &runner->consumers[place];

	session->consumer = consumer;
	session->stays = session->added = true;
	consumer->sessions = session;
	consumer->session_count = 1;
	consumer->leaving = false;
	return runner_init_consumer(runner, consumer, runner->next->config, err) &&
	       runner_open_session(runner, session, runner->next, index, err);
}

bool runner_reload_prepare(struct runner *runner, const struct setup *next, struct etw_error *err)
{
	const struct config *config = next->config;
	size_t added = 0;
	bool good = true;

	if (runner_is_live(runner) &&
	    config->kernel_events != runner->options.setup->config->kernel_events) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "kernel_events: a reload cannot change it; restart the exporter");
	}
	runner->next = next;
	for (size_t i = 0; good && runner_is_live(runner) && i < config->session_count; i++) {
		const struct config_session *configured = &config->sessions[i];
		size_t place = find_session(runner, configured, false);

		if (place < runner->session_count) {
			good = prepare_change(runner, &runner->sessions[place], i, err);
			continue;
		}
		place = find_session(runner, configured, true);
		place = place < runner->session_count ? place : runner->session_count + added++;
		good = place < runner->room ?
			       prepare_session(runner, place, i, err) :
			       error_set(
				       err, ETW_ERROR_LIMIT,
				       "more than %d sessions since the program started: it needs "
				       "a restart",
				       SESSIONS_MAX);
	}
	if (!good) {
		runner_reload_cancel(runner);
	}
	return good;
}

/* Frees what a session needed to run; it no longer runs, or never did. Its label and its counts
 * stay. */
static void close_session(struct session *session)
{
	struct consumer *consumer = session->consumer;

	runner_free_pipeline(consumer);
	names_free(consumer->names);
	consumer->names = NULL;
	etw_source_close(session->source);
	session->source = NULL;
	live_session_done(&session->live);
	session->live = (struct live_session){ .name = NULL };
}

void runner_reload_cancel(struct runner *runner)
{
	for (size_t i = 0; i < runner->room; i++) {
		struct session *session = &runner->sessions[i];

		etw_live_change_free(session->change);
		session->change = NULL;
		if (session->added) {
			close_session(session);
		}
		if (session->added && i >= runner->session_count) {
			free(session->name);
			session->name = NULL;
		}
		session->added = session->stays = false;
	}
	runner->next = NULL;
}

/* Lets a session that a reload has started begin to count. Without memory or a thread it does not
 * begin. */
static void begin_session(struct runner *runner, struct session *session)
{
	struct consumer *consumer = session->consumer;
	struct etw_error err = { 0 };
	bool good;

	runner_on_named(consumer); /* a reload must not make the program unready again */
	good = runner_make_pipeline(session, &err);
	os_mutex_lock(&runner->lock);
	session->earlier = session->sum.statistics;
	runner_copy_facts(session);
	session->sum.gone = false;
	if ((size_t)(session - runner->sessions) >= runner->session_count) {
		runner->session_count = runner->consumer_count =
			(size_t)(session - runner->sessions) + 1;
	}
	good = good && runner_start_consumer(consumer, &err);
	os_mutex_unlock(&runner->lock);
	if (!good) {
		log_error("Session cannot be consumed", log_text("session", session->name),
			  log_text("error", err.text));
	}
}

static void end_session(struct runner *runner, struct session *session)
{
	struct consumer *consumer = session->consumer;

	os_mutex_lock(&runner->lock);
	consumer->leaving = true;
	if (consumer->current) {
		etw_source_stop(consumer->current->source);
	}
	os_mutex_unlock(&runner->lock);
	runner_join_consumer(consumer);
	os_mutex_lock(&runner->lock);
	session->sum.gone = true;
	os_mutex_unlock(&runner->lock);
	close_session(session);
}

static bool is_private(const struct config_session *session)
{
	return session->logger == LOGGER_AUTO || session->logger == LOGGER_PRIVATE;
}

static bool same_stacks(const struct config_session *a, const struct config_session *b)
{
	bool same = a->kernel_stack_count == b->kernel_stack_count;

	for (size_t i = 0; same && i < a->kernel_stack_count; i++) {
		same = a->kernel_stacks[i].opcode == b->kernel_stacks[i].opcode &&
		       etw_guid_equal(&a->kernel_stacks[i].class_guid,
				      &b->kernel_stacks[i].class_guid);
	}
	return same;
}

/* Logs a warning that names the changed settings which a running session cannot take over. */
static void warn_of_fixed(const struct session *session, const struct config_session *next)
{
	const struct config_session *now = &session->started;
	const struct {
		const char *setting;
		bool differs;
	} settings[] = {
		{ "logger", now->logger != next->logger && !(is_private(now) && is_private(next)) },
		{ "on_conflict", now->takeover != next->takeover },
		{ "buffers.size", now->buffer_size_bytes != next->buffer_size_bytes },
		{ "buffers.min", now->buffers_min != next->buffers_min },
		{ "buffers.max", now->buffers_max != next->buffers_max },
		{ "flush", now->flush_ms != next->flush_ms },
		{ "rundown", now->rundown != next->rundown },
		{ "kernel_stacks", !same_stacks(now, next) },
	};

	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		if (settings[i].differs) {
			log_warning("Setting of a session needs a restart; the former value stays",
				    log_text("session", session->name),
				    log_text("setting", settings[i].setting));
		}
	}
}

/* Makes the next set-up that of the runner, and sets the flag of each consumer. */
static void publish_next(struct runner *runner)
{
	os_mutex_lock(&runner->lock);
	runner->options.setup = runner->next;
	for (size_t i = 0; i < runner->session_count; i++) {
		struct session *session = &runner->sessions[i];

		if (session->change) {
			session->names_only = session->names_only_next;
			session->is_first = session->next_index == 0;
		}
	}
	for (size_t i = 0; i < runner->consumer_count; i++) {
		/* Pairs with the acquire in the pipeline's reload_when_due(). */
		atomic_store_explicit(&runner->consumers[i].reload_due, true, memory_order_release);
	}
	os_mutex_unlock(&runner->lock);
}

static void wake_consumers(struct runner *runner)
{
	if (runner->pace) {
		pace_wake(runner->pace);
	}
	for (size_t i = 0; runner_is_live(runner) && i < runner->session_count; i++) {
		if (runner->sessions[i].source) {
			etw_source_wake(runner->sessions[i].source);
		}
	}
}

/* Returns whether the consumer's live session does not run at the moment, so that no events
 * come. */
static bool has_no_session(const struct consumer *consumer)
{
	struct etw_source_statistics now;

	if (!consumer->current || consumer->current->path) {
		return false;
	}
	etw_source_statistics(consumer->current->source, &now);
	return !now.up;
}

/* Returns whether all consumers use the set-up. patient: also waits for consumers whose session
 * does not run. The caller holds the lock. */
static bool all_use(const struct runner *runner, const struct setup *setup, bool patient)
{
	for (size_t i = 0; i < runner->consumer_count; i++) {
		const struct consumer *consumer = &runner->consumers[i];

		if (consumer->uses && consumer->uses != setup &&
		    (patient || !has_no_session(consumer))) {
			return false;
		}
	}
	return true;
}

bool runner_reload(struct runner *runner, uint32_t wait_ms)
{
	const struct setup *next = runner->next;
	uint64_t until_ns;
	bool done;

	rule_set_make_samples(next->rules, runner->registry);
	publish_next(runner);
	/* From here on the next rules count each event, so providers may deliver new events. */
	for (size_t i = 0; runner_is_live(runner) && i < runner->room; i++) {
		struct session *session = &runner->sessions[i];

		if (session->added) {
			begin_session(runner, session);
		} else if (session->stays) {
			etw_live_change_apply(session->change);
			warn_of_fixed(session, &next->config->sessions[session->next_index]);
		} else if (session->source && !session->sum.gone) {
			end_session(runner, session);
		}
		etw_live_change_free(session->change);
		session->change = NULL;
		session->added = session->stays = false;
	}
	runner->next = NULL;
	wake_consumers(runner);
	until_ns = os_monotonic_ns() + wait_ms * UINT64_C(1000000);
	os_mutex_lock(&runner->lock);
	while (!all_use(runner, next, false) && !runner_stopping(runner) &&
	       os_condition_wait_until(&runner->changed, &runner->lock, until_ns)) {
	}
	done = all_use(runner, next, true);
	os_mutex_unlock(&runner->lock);
	return done;
}

bool runner_uses(struct runner *runner, const struct setup *setup)
{
	bool uses;

	os_mutex_lock(&runner->lock);
	uses = runner->options.setup == setup;
	for (size_t i = 0; i < runner->consumer_count; i++) {
		uses = uses || runner->consumers[i].uses == setup ||
		       runner->consumers[i].taking == setup;
	}
	os_mutex_unlock(&runner->lock);
	return uses;
}

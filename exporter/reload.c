/* SPDX-License-Identifier: MIT */
/*
 * A reload makes a whole set-up beside the one in use, with the same registry, and then exchanges
 * them. Everything that can fail happens first: reading and checking the files, finding the
 * providers of live sessions, starting new sessions. Until then nothing has changed, so a refused
 * configuration needs nothing to be undone. The exchange itself is one step in the registry, which
 * decides what pages show. Then a flag is set for each consumer.
 *
 * A consumer takes the new set-up over between two records (pipeline.c), so none of them waits, and
 * no event is counted by half of one configuration and half of another. A consumer without events
 * takes nothing over until its next event, which the new rules count. Until then the former set-up
 * is kept in a list of set-ups that wait to be freed.
 *
 * The settings of the web server, the registry's limit for texts and the spelling of process names
 * cannot change while the program runs. A file that changes them is not refused, because the rest
 * of it can be put in force; a warning names each of them at every reload, until the program is
 * started again. Therefore the settings of the start are kept here, and not compared with those of
 * the configuration before.
 */
#include "exporter/reload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"

enum { WAIT_MS = 5000 }; /* how long to wait for consumers; a busy one needs some time */

/* A set-up that consumers may still use. */
struct former {
	struct former *older; /* owned */
	struct setup *setup;  /* owned, unless it is the caller's */
};

/* The settings that only a restart can change, as they were at the start of the program. */
struct fixed {
	char *listen_addresses; /* owned: all of them, with blanks between */
	char *allowed;          /* owned: all of them, with blanks between */
	char *telemetry_path;   /* owned */
	uint64_t strings_bytes, idle_ms;
	char *recorder; /* owned */
	bool native_histograms;
	bool lower_case_processes;
};

struct reload {
	struct reload_options options;
	struct fixed fixed;
	struct os_mutex busy; /* held during a reload */
	bool ended;           /* guarded by busy */
	struct former *formers;
	struct os_mutex lock;  /* guards current, and is held while reload_use_setup() uses it */
	struct setup *current; /* in force; owned, unless it is the caller's */
};

/* ---- settings that need a restart ---- */

static char *join_texts(const char *const *texts, size_t count)
{
	struct etw_text all = { 0 };

	for (size_t i = 0; i < count; i++) {
		text_add_format(&all, "%s%s", i > 0 ? " " : "", texts[i]);
	}
	text_add(&all, "", 1);
	if (all.failed) {
		text_free(&all);
		return NULL;
	}
	return all.data;
}

/* Returns all settings of the flight recorder as one text, owned by the caller, so that two can be
 * compared. */
static char *describe_recorder(const struct config *config)
{
	const struct config_recorder *recorder = &config->recorder;
	struct etw_text all = { 0 };

	text_add_format(&all, "%s|%" PRIu64 "|%" PRIu32 "|%" PRIu64,
			recorder->dir ? recorder->dir : "", recorder->memory_bytes, recorder->keep,
			recorder->interval_ms);
	for (size_t i = 0; i < recorder->provider_count; i++) {
		text_add_format(&all, "|provider %s", recorder->providers[i]);
	}
	for (size_t i = 0; i < recorder->process_count; i++) {
		text_add_format(&all, "|process %s", recorder->processes[i]);
	}
	for (size_t i = 0; i < recorder->rule_count; i++) {
		const struct config_recorder_rule *rule = &recorder->rules[i];

		text_add_format(&all, "|rule %s %a %" PRIu64, rule->series, rule->above,
				rule->for_ms);
	}
	if (all.failed) {
		text_free(&all);
		return NULL;
	}
	return all.data;
}

/* Copies the settings that only a restart can change. Returns false without memory; the caller
 * calls free_fixed() in either case. */
static bool keep_fixed(struct fixed *fixed, const struct config *config)
{
	fixed->listen_addresses = join_texts((const char *const *)config->listen_addresses,
					     config->listen_address_count);
	fixed->allowed = join_texts((const char *const *)config->allowed, config->allowed_count);
	fixed->telemetry_path =
		text_duplicate(config->telemetry_path, strlen(config->telemetry_path));
	fixed->recorder = describe_recorder(config);
	fixed->strings_bytes = config->limits.strings_bytes;
	fixed->idle_ms = config->limits.idle_ms;
	fixed->native_histograms = config->native_histograms;
	fixed->lower_case_processes = config->lower_case_processes;
	return fixed->listen_addresses && fixed->allowed && fixed->telemetry_path &&
	       fixed->recorder;
}

static void free_fixed(struct fixed *fixed)
{
	free(fixed->listen_addresses);
	free(fixed->allowed);
	free(fixed->telemetry_path);
	free(fixed->recorder);
}

static void warn_of_fixed(const struct reload *reload, const struct config *config)
{
	const struct reload_options *options = &reload->options;
	const struct fixed *fixed = &reload->fixed;
	struct fixed next = { 0 };
	bool kept = keep_fixed(&next, config);
	const struct {
		const char *setting;
		bool differs;
	} settings[] = {
		{ "web.listen_addresses",
		  kept && !options->listen_addresses_set &&
			  strcmp(next.listen_addresses, fixed->listen_addresses) != 0 },
		{ "web.allow",
		  kept && !options->allowed_set && strcmp(next.allowed, fixed->allowed) != 0 },
		{ "web.telemetry_path",
		  kept && !options->telemetry_path_set &&
			  strcmp(next.telemetry_path, fixed->telemetry_path) != 0 },
		{ "limits.strings", next.strings_bytes != fixed->strings_bytes },
		{ "limits.idle", next.idle_ms != fixed->idle_ms },
		{ "recorder", kept && strcmp(next.recorder, fixed->recorder) != 0 },
		{ "native_histograms", next.native_histograms != fixed->native_histograms },
		{ "process_case", next.lower_case_processes != fixed->lower_case_processes },
	};

	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		if (settings[i].differs) {
			log_warning("Setting needs a restart; the former value stays",
				    log_text("setting", settings[i].setting));
		}
	}
	free_fixed(&next);
}

/* ---- set-ups ---- */

static void drop_setup(const struct reload *reload, struct setup *setup)
{
	setup_close(setup);
	if (setup != reload->options.current) {
		free(setup);
	}
}

/* Frees the set-ups that no consumer uses any more. */
static void drop_formers(struct reload *reload)
{
	struct former **at = &reload->formers;

	while (*at) {
		struct former *former = *at;

		if (runner_uses(reload->options.runner, former->setup)) {
			at = &former->older;
			continue;
		}
		*at = former->older;
		drop_setup(reload, former->setup);
		free(former);
	}
}

struct reload *reload_new(const struct reload_options *options, struct etw_error *err)
{
	struct reload *reload = calloc(1, sizeof *reload);

	if (!reload || !keep_fixed(&reload->fixed, options->current->config)) {
		if (reload) {
			free_fixed(&reload->fixed);
		}
		free(reload);
		error_no_memory(err, "reloads");
		return NULL;
	}
	reload->options = *options;
	reload->current = options->current;
	os_mutex_init(&reload->busy);
	os_mutex_init(&reload->lock);
	return reload;
}

void reload_free(struct reload *reload)
{
	struct former *former;

	if (!reload) {
		return;
	}
	while ((former = reload->formers) != NULL) {
		reload->formers = former->older;
		drop_setup(reload, former->setup);
		free(former);
	}
	if (reload->current != reload->options.current) {
		drop_setup(reload, reload->current);
	}
	os_mutex_done(&reload->busy);
	os_mutex_done(&reload->lock);
	free_fixed(&reload->fixed);
	free(reload);
}

/* ---- one reload ---- */

void reload_log_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	log_always(warning ? LOG_WARNING : LOG_ERROR, "Configuration",
		   log_text(warning ? "warning" : "error", sentence));
}

/* Sets err to one sentence with as many errors as it has room for; leaves err unchanged if not even
 * one fits. */
static void join_errors(const struct problems *problems, struct etw_error *err)
{
	enum { REST = 32 }; /* room for "; and N more" */
	char text[sizeof err->text];
	size_t size = 0, joined = 0;

	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *problem = &problems->list[i];

		if (problem->warning) {
			continue;
		}
		if (size + 2 + strlen(problem->sentence) + REST > sizeof text) {
			break;
		}
		size += (size_t)snprintf(text + size, sizeof text - size, "%s%s",
					 joined > 0 ? "; " : "", problem->sentence);
		joined++;
	}
	if (joined > 0 && joined < problems->errors) {
		snprintf(text + size, sizeof text - size, "; and %zu more",
			 problems->errors - joined);
	}
	if (joined > 0) {
		error_set(err, ETW_ERROR_CONFIG, "%s", text);
	}
}

/* Makes the next set-up, which is complete but not in force. Returns NULL on failure, after the
 * reason is logged. */
static struct setup *make_next(struct reload *reload, struct etw_error *err)
{
	const struct reload_options *options = &reload->options;
	struct problems problems = { .list = NULL };
	struct setup *next = calloc(1, sizeof *next);
	struct config *config = next ? setup_config(options->config_file, &problems, err) : NULL;

	if (!next) {
		error_no_memory(err, "a configuration");
	} else if (!setup_open_next(next, reload->current, config, options->setup, err)) {
		free(next);
		next = NULL;
	}
	problems_show(&problems, reload_log_problem, NULL);
	if (!next && problems.errors == 0) {
		reload_log_problem(NULL, err->text, false);
	}
	if (!next && err->code == ETW_ERROR_CONFIG) {
		join_errors(&problems, err);
	}
	problems_done(&problems);
	return next;
}

static void configure_log(const struct reload_options *options, const struct config *config)
{
	log_configure(options->log_level_set ? options->log_level : config->log_level,
		      options->log_format_set ? options->log_format : config->log_format);
}

/* Puts the next set-up in force; this cannot fail. */
static void put_in_force(struct reload *reload, struct setup *next, struct former *former)
{
	const struct reload_options *options = &reload->options;

	former->setup = reload->current;
	former->older = reload->formers;
	reload->formers = former;
	configure_log(options, next->config);
	os_mutex_lock(&reload->lock);
	reload->current = next;
	os_mutex_unlock(&reload->lock);
	if (!runner_reload(options->runner, WAIT_MS)) {
		log_info("A session without events uses the configuration from its next event on");
	}
	warn_of_fixed(reload, next->config);
	health_reloaded(options->health, next);
}

static bool try_reload(struct reload *reload, struct etw_error *err)
{
	struct runner *runner = reload->options.runner;
	struct former *former = calloc(1, sizeof *former);
	struct setup *next = former ? make_next(reload, err) : NULL;

	if (!former) {
		return error_no_memory(err, "a configuration");
	}
	if (!next) {
		free(former);
		return false;
	}
	if (!runner_reload_prepare(runner, next, err)) {
		goto refused;
	}
	if (!setup_exchange(reload->current, next, err)) {
		runner_reload_cancel(runner);
		goto refused;
	}
	put_in_force(reload, next, former);
	return true;

refused:
	reload_log_problem(NULL, err->text, false);
	drop_setup(reload, next);
	free(former);
	return false;
}

static void log_success(const struct reload *reload, const char *file)
{
	struct etw_text collectors = { 0 };

	setup_add_collectors(reload->current, &collectors);
	log_info("Configuration was reloaded", log_text("file", file),
		 log_text("collectors", collectors.failed ? NULL : collectors.data));
	text_free(&collectors);
}

bool reload_now(struct reload *reload, struct etw_error *err)
{
	const struct reload_options *options = &reload->options;
	const char *file = options->config_file ? options->config_file : "built-in";
	struct etw_error why = { 0 };
	bool good;

	os_mutex_lock(&reload->busy);
	if (reload->ended) {
		os_mutex_unlock(&reload->busy);
		return error_set(err, ETW_ERROR_SYSTEM, "the program is stopping");
	}
	drop_formers(reload);
	good = try_reload(reload, &why);
	if (good) {
		drop_formers(reload);
		log_success(reload, file);
	} else {
		health_reload_failed(options->health);
		log_error("Configuration was not reloaded; the former one stays in force",
			  log_text("file", file));
		if (err) {
			*err = why;
		}
	}
	os_mutex_unlock(&reload->busy);
	return good;
}

void reload_use_setup(struct reload *reload, void (*use)(void *context, const struct setup *setup),
		      void *context)
{
	os_mutex_lock(&reload->lock);
	use(context, reload->current);
	os_mutex_unlock(&reload->lock);
}

void reload_end(struct reload *reload)
{
	os_mutex_lock(&reload->busy);
	reload->ended = true;
	os_mutex_unlock(&reload->busy);
}

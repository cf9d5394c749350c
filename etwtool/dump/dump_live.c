/* SPDX-License-Identifier: MIT */
/*
 * etwtool dump without a file: follows live sessions and writes one JSON object per line.
 *
 * The sessions run as in the exporter, each with a thread and a pipeline of its own, so that
 * conditions and processes mean the same as in a rule. They are those of a configuration, with its
 * collectors, or one session of providers, without any collector. An observer of the pipelines adds
 * the lines of all sessions to one output, under a lock. Events of one session are in the order of
 * time; those of several come as Windows delivers them.
 *
 * The output is written whenever a buffer has been delivered, so that a line appears at once, and
 * many events are written together. If the reader is too slow, the threads wait for it. Then the
 * sessions run out of buffers, and Windows counts the events that it drops. The command reports
 * them at the end, and fails, because a reader who counts lines must know.
 *
 * The command ends with Ctrl-C, with another request to end, after --duration, or when the output
 * cannot be written. Each of these stops the sessions. They have names of their own, which no other
 * program uses, so that nothing but this command starts and stops them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/event_json.h>
#include <etw/provider.h>
#include <etw/session.h>

#include "base/guid.h"
#include "base/log.h"
#include "base/os.h"
#include "config/problems.h"
#include "etwtool/dump/dump.h"
#include "etwtool/recording.h"
#include "exporter/live.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "exporter/windows/crash.h"

#define NS_PER_MS UINT64_C(1000000)

/* A run of the command; live_done() frees what it owns. */
struct live_dump {
	struct dump_request *request;
	struct etw_provider_spec *providers; /* owned; the configuration owns their texts */
	struct problems problems;
	struct setup setup;
	struct etw_schema_origins named; /* origins of the names of events of one text */
	struct pipeline_observer observer;
	struct runner *runner;
	/* Guarded by the lock, as is the filter of the request while the sessions run. */
	struct os_mutex lock;
	struct dump_limit limit;
	struct etw_text out; /* lines that are not written yet; owned */
	uint64_t shown;
	bool stopped; /* the output cannot be written */
};

/* ---- events, on the threads of the sessions ---- */

/* Writes the lines so far, also if they are few. The caller holds the lock. */
static void write_lines(struct live_dump *live)
{
	if (live->out.size == 0 && !live->out.failed) {
		return;
	}
	if (!tool_write("dump", &live->out)) {
		live->stopped = true;
		os_stop_ask("the output cannot be written");
	}
	text_clear(&live->out);
}

static void add_line(struct live_dump *live, const struct etw_record *record,
		     const struct etw_event_class *class)
{
	const struct etw_schema *naming =
		etw_event_schema_naming(&live->named, record, class->schema);
	struct etw_guid guid;

	/* A class whose provider has no name has its GUID as the label, and a line has that anyway.
	 */
	etw_event_json_add(&live->out, record,
			   etw_guid_parse(class->provider_name, &guid) ? NULL :
									 class->provider_name,
			   naming ? naming->event : NULL, class->schema, NULL, NULL);
	text_add_char(&live->out, '\n');
	live->shown++;
}

static void on_class(void *context, const struct etw_event_class *class)
{
	struct live_dump *live = context;

	os_mutex_lock(&live->lock);
	event_filter_class(&live->request->filter, class);
	os_mutex_unlock(&live->lock);
}

static void on_record(void *context, const struct etw_record *record,
		      const struct etw_event_class *class, struct tracker *tracker)
{
	struct live_dump *live = context;
	struct event_filter *filter = &live->request->filter;
	const char *process = NULL;
	uint32_t process_id = ETW_RECORD_NO_ID;

	if (filter->process.name) {
		process = record_process(live->setup.registry, tracker, &process_id);
	}
	os_mutex_lock(&live->lock);
	if (!live->stopped && event_filter_keeps_of(filter, process, process_id, record, class) &&
	    dump_limit_allows(&live->limit, record)) {
		add_line(live, record, class);
		if (live->out.size >= DUMP_OUTPUT_SIZE || live->out.failed) {
			write_lines(live);
		}
	}
	os_mutex_unlock(&live->lock);
}

static void on_buffer(void *context)
{
	struct live_dump *live = context;

	os_mutex_lock(&live->lock);
	if (!live->stopped) {
		write_lines(live);
	}
	os_mutex_unlock(&live->lock);
}

/* ---- the sessions ---- */

static bool add_provider(struct config_session *session, const char *text, struct etw_error *err)
{
	struct etw_provider_spec *spec = &session->providers[session->provider_count++];

	if (!etw_provider_spec_parse(spec, text, err)) {
		return error_prefix(err, "--provider %s", text);
	}
	for (size_t i = 0; i + 1 < session->provider_count; i++) {
		if (live_same_provider(spec, &session->providers[i])) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "--provider %s: a provider is given twice; Windows would "
					 "use only the last one",
					 text);
		}
	}
	return true;
}

/* Makes the first session of the defaults one of the providers of the command line. */
static bool use_providers(struct live_dump *live, struct config *config, struct etw_error *err)
{
	const struct dump_request *request = live->request;
	struct config_session *session = config->sessions;
	struct etw_text name = { 0 };

	if (request->session) {
		text_add_string(&name, request->session);
	} else {
		text_add_format(&name, "etwtool-dump-%" PRIu32, os_process_id());
	}
	live->providers = calloc(request->provider_count, sizeof *live->providers);
	if (name.failed || !live->providers) {
		text_free(&name);
		return error_no_memory(err, "a session");
	}
	config->kernel_events = false;
	free(session->name);
	session->name = name.data;
	session->logger = LOGGER_USER;
	session->providers = live->providers;
	for (size_t i = 0; i < request->provider_count; i++) {
		if (!add_provider(session, request->providers[i], err)) {
			return false;
		}
	}
	return true;
}

static struct config *provider_config(struct live_dump *live, struct etw_error *err)
{
	struct config *config = config_default(err);

	if (config && !use_providers(live, config, err)) {
		config_free(config);
		return NULL;
	}
	return config;
}

static bool open_set_up(struct live_dump *live, struct etw_error *err)
{
	struct dump_request *request = live->request;
	bool configured = request->config != NULL;
	const struct setup_options options = {
		.disable_defaults = !configured,
		.no_manifests = !configured,
		.manifests = &request->arguments.manifests,
		.switches = request->arguments.switches.rows,
		.switch_count = request->arguments.switches.count,
	};

	if (!setup_open(&live->setup,
			configured ? setup_config(request->config, &live->problems, err) :
				     provider_config(live, err),
			&options, err)) {
		return false;
	}
	live->named = (struct etw_schema_origins){
		.live = true,
		.configured = live->setup.manifests.configured,
		.builtin = live->setup.manifests.builtin,
	};
	return !configured || sessions_rename(live->setup.config, "-dump", err);
}

static bool open_sessions(struct live_dump *live, struct etw_error *err)
{
	struct runner_options options = { .setup = &live->setup,
					  .observer = &live->observer,
					  .on_fault = crash_end };

	live->observer = (struct pipeline_observer){ .context = live,
						     .on_class = on_class,
						     .on_record = on_record,
						     .on_buffer = on_buffer,
						     .probe = live->request->filter.probe };
	if (!sessions_are_free(live->setup.config,
			       "another program uses it, or left it behind; \"logman stop NAME "
			       "-ets\" ends it",
			       err) ||
	    !os_stop_catch(err) || !crash_catch(etw_live_emergency_stop, err)) {
		return false;
	}
	live->runner = runner_new(&options, err);
	return live->runner != NULL;
}

/* Shows the events until the end is requested or the time is over. */
static bool follow_sessions(struct live_dump *live, struct etw_error *err)
{
	uint64_t ms = live->request->duration_ms;

	if (!open_set_up(live, err)) {
		return false;
	}
	if (!etw_here(err)) {
		return error_prefix(err, "name a recording");
	}
	if (!open_sessions(live, err) || !runner_start(live->runner, err)) {
		return false;
	}
	os_stop_wait(ms > 0 && ms < UINT64_MAX / NS_PER_MS ? ms * NS_PER_MS : UINT64_MAX, NULL,
		     NULL);
	runner_stop(live->runner);
	runner_join(live->runner);
	write_lines(live);
	return true;
}

/* ---- the command ---- */

/* Reports the losses, and names of the filter that no event had. Returns an exit status. */
static int report_losses(struct live_dump *live)
{
	uint64_t events_lost = 0, buffers_lost = 0;
	struct etw_text line = { 0 };

	for (size_t i = 0; i < runner_session_count(live->runner); i++) {
		struct runner_session session;

		runner_session(live->runner, i, &session);
		events_lost += session.statistics.events_lost;
		buffers_lost +=
			session.statistics.buffers_lost + session.statistics.realtime_buffers_lost;
	}
	text_add_counted(&line, live->shown, "event");
	text_add_string(&line, " shown, ");
	if (events_lost + buffers_lost == 0) {
		text_add_string(&line, "none lost");
	} else {
		text_add_counted(&line, events_lost, "event");
		if (buffers_lost > 0) {
			text_add_string(&line, " and ");
			text_add_counted(&line, buffers_lost, "buffer");
			text_add_string(&line, " with an unknown number of events");
		}
		text_add_string(&line, " lost: a faster reader helps, or more buffers (sessions: "
				       "NAME: buffers of --config.file)");
	}
	tool_complain(TOOL_DONE, "dump", "%s", line.failed ? "no memory" : line.data);
	text_free(&line);
	return event_filter_found(&live->request->filter, &RECORD_TIMES_NONE, "dump") &&
			       events_lost + buffers_lost == 0 ?
		       TOOL_DONE :
		       TOOL_FAILED;
}

static void live_done(struct live_dump *live)
{
	runner_free(live->runner);
	setup_close(&live->setup);
	problems_done(&live->problems);
	map_done(&live->limit.shown);
	text_free(&live->out);
	os_mutex_done(&live->lock);
	free(live->providers);
}

/* Returns what of the command line is for recordings only; NULL: nothing. */
static const char *only_for_recordings(const struct dump_request *request)
{
	return request->filter.from.set        ? "--from" :
	       request->filter.to.set          ? "--to" :
	       request->stacks                 ? "--stacks" :
	       request->arguments.pointer_size ? "--pointer-size" :
	       request->format == DUMP_CSV     ? "--format csv" :
	       request->format == DUMP_TEXT    ? "--format text" :
						 NULL;
}

/* Complains if the options do not fit together. Returns an exit status. */
static int check_usage(const struct dump_request *request)
{
	const char *option = only_for_recordings(request);

	if (!request->config && request->provider_count == 0) {
		return tool_complain(TOOL_BAD_USAGE, "dump", "%s",
				     request->session ?
					     "--session names the session of --provider: which "
					     "provider?" :
					     "name a recording; without one, --provider NAME or "
					     "--config.file FILE follows live sessions");
	}
	if (option) {
		return tool_complain(TOOL_BAD_USAGE, "dump",
				     "%s is for recordings, not for live sessions", option);
	}
	if (request->config && request->session) {
		return tool_complain(TOOL_BAD_USAGE, "dump",
				     "--session names the session of --provider, not those of "
				     "--config.file");
	}
	if (request->config && request->provider_count > 1) {
		return tool_complain(TOOL_BAD_USAGE, "dump", DUMP_ONE_PROVIDER);
	}
	if (!request->config && request->arguments.switches.count > 0) {
		return tool_complain(TOOL_BAD_USAGE, "dump",
				     "collectors are those of --config.file, which is missing");
	}
	return TOOL_DONE;
}

int dump_live(struct dump_request *request)
{
	struct live_dump live = { .request = request, .limit.per_class = request->per_class };
	struct etw_error err = { 0 };
	int status = check_usage(request);

	if (status != TOOL_DONE) {
		return status;
	}
	if (!request->config) {
		request->filter.provider.name = NULL; /* it chooses what is enabled */
	}
	request->filter.live = true;
	log_configure(LOG_WARNING, LOG_LOGFMT);
	os_mutex_init(&live.lock);
	if (follow_sessions(&live, &err)) {
		status = live.stopped ? TOOL_FAILED : report_losses(&live);
	} else {
		status = err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED;
		if (live.problems.errors == 0) {
			tool_complain(status, "dump", "%s", err.text);
		}
	}
	tool_show_problems("dump", &live.problems);
	live_done(&live);
	return status;
}

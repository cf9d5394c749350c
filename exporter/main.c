/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter reads the command line, sets up configuration and rules, runs its sources and the
 * web server, and waits to be stopped.
 *
 * There are four ways to run it, and run() chooses one of them: install or remove the service,
 * check a configuration, replay and print once, or serve. All but the first set up the same way
 * (setup.h) and all that consume have a runner (runner.h), which knows whether it replays
 * recordings or consumes live sessions. The parts of a run are in struct app and are freed in one
 * place, also after a failure. As a service the same code runs on a thread of the service manager,
 * and errors are logged, because nothing reads the standard error of a service.
 *
 * Exit status: 0 done, 1 could not run, 2 bad usage or configuration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>
#include <etw/session.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/print.h"
#include "exporter/health.h"
#include "exporter/http/crypto.h"
#include "exporter/http/server.h"
#include "exporter/http/web_config.h"
#include "exporter/landing.h"
#include "exporter/options.h"
#include "exporter/recorder/flight.h"
#include "exporter/reload.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "exporter/track/repeats.h"
#include "exporter/track/tracker.h"
#include "exporter/version.h"
#include "exporter/windows/crash.h"
#include "exporter/windows/service.h"
#include "metrics/exposition.h"

enum exit_status { EXIT_DONE = 0, EXIT_COULD_NOT_RUN = 1, EXIT_BAD_USAGE = 2 };

/* The parts of a run, owned; app_done() frees them in reverse order. */
struct app {
	int argc;
	char **argv; /* borrowed */
	struct options options;
	struct problems problems; /* of the configuration */
	struct setup setup;
	struct web_config *web;           /* NULL: none */
	struct flight_recorder *recorder; /* NULL: none */
	struct runner *runner;
	struct health *health;
	struct reload *reload;
	struct history *history; /* of the landing page */
	struct http_server *server;
};

static bool print_line(const char *line, struct etw_error *err)
{
	struct etw_text out = { 0 };

	text_add_format(&out, "%s\n", line);
	return print_text(&out, err);
}

/* Returns the exit status for an error. A configuration that could not be read for lack of memory
 * may be right, so that is not bad usage. */
static enum exit_status status_of(const struct etw_error *err)
{
	return err->code == ETW_ERROR_CONFIG && !memory_has_losses() ? EXIT_BAD_USAGE :
								       EXIT_COULD_NOT_RUN;
}

static void print_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	(void)warning;
	print_failure("etw_exporter: %s", sentence);
}

/* Shows all problems of the configuration: as lines of the log if the program runs afterwards or is
 * a service. Clears an error that was shown, so that it is not shown twice. */
static void show_problems(const struct app *app, struct etw_error *err)
{
	bool service = app->options.service == SERVICE_RUN;
	bool runs = app->problems.errors == 0 && !app->options.check_config &&
		    !app->options.print_config;

	problems_show(&app->problems, service || runs ? reload_log_problem : print_problem, NULL);
	if (app->problems.errors > 0 && err->code == ETW_ERROR_CONFIG && !service) {
		err->text[0] = '\0';
	}
}

static bool set_up(struct app *app, struct etw_error *err)
{
	const struct options *options = &app->options;
	struct config *config = setup_config(options->config_file, &app->problems, err);
	bool good;

	if (config) {
		log_configure(options->log_level_set ? options->log_level : config->log_level,
			      options->log_format_set ? options->log_format : config->log_format);
	}
	good = setup_open(&app->setup, config, &options->setup, err);
	if (options->web_config_file) {
		struct etw_error *first = good ? err : NULL;

		app->web = web_config_open(options->web_config_file, &app->problems, first);
		good = good && app->web;
	}
	if (good && !options->once) {
		recorder_rules_warn(&app->setup);
	}
	show_problems(app, err);
	return good;
}

static bool open_sources(struct app *app, struct etw_error *err)
{
	struct runner_options runner = app->options.runner;

	/* A relative time and an absolute one can only be compared for each recording. */
	if (runner.from.set && runner.to.set && runner.from.relative == runner.to.relative &&
	    runner.to.time_100ns <= runner.from.time_100ns) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--replay.to is not later than --replay.from");
	}
	runner.setup = &app->setup;
	runner.recorder = app->recorder;
	runner.taps = flight_taps(app->recorder);
	runner.on_fault = crash_end;
	/* An emergency stop must find every session that runs, so it is set up before the first
	 * session starts. */
	if (runner.path_count == 0 && !crash_catch(etw_live_emergency_stop, err)) {
		return false;
	}
	app->runner = runner_new(&runner, err);
	if (!app->runner && runner.path_count == 0 && err->code == ETW_ERROR_UNSUPPORTED) {
		error_prefix(err, "no recording is named with --replay.file");
	}
	app->health = app->runner ? health_new(&app->setup, app->runner, err) : NULL;
	return app->health != NULL;
}

/* Logs the version, the configuration and the collectors. */
static void log_start(enum log_level level, const struct app *app)
{
	struct etw_text collectors = { 0 };

	log_line(level, "Starting etw_exporter", log_text("version", program_version.number),
		 log_text("revision", program_version.revision),
		 log_text("compiler", program_version.compiler),
		 log_text("arch", program_version.arch));
	setup_add_collectors(&app->setup, &collectors);
	log_line(level, "Configuration",
		 log_text("file", app->options.config_file ? app->options.config_file : "built-in"),
		 log_text("collectors", collectors.failed ? NULL : collectors.data));
	text_free(&collectors);
}

static void log_recordings(enum log_level level, struct runner *runner)
{
	for (size_t i = 0; !runner_is_live(runner) && i < runner_session_count(runner); i++) {
		struct runner_session session;

		runner_session(runner, i, &session);
		log_always(level, "Recording", log_text("file", session.path),
			   log_u64("bytes", session.statistics.bytes_total),
			   log_text("session", session.facts.name));
	}
}

/* ---- --once: replay, print, end ---- */

/* State of a sink that writes the page to standard output. */
struct printing {
	struct etw_error *err;
	bool failed;
};

static bool print_chunk(void *context, const char *bytes, size_t size)
{
	struct printing *printing = context;

	printing->failed |= !print_bytes(bytes, size, printing->err);
	return !printing->failed;
}

static bool run_once(struct app *app, struct etw_error *err)
{
	const struct exposition_options page = { .format = app->options.once_format,
						 .created = app->options.created,
						 .sorted = true };
	struct printing printing = { .err = err };
	struct progress progress;
	bool done;

	if (app->options.runner.loop) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--once and --replay.loop cannot be combined");
	}
	if (app->options.runner.path_count == 0) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--once needs a recording: --replay.file=FILE");
	}
	log_start(LOG_DEBUG, app);
	app->options.runner.progress = &progress;
	progress_start(&progress, "etw_exporter", NULL, OUTPUT_AT_END);
	done = open_sources(app, err);
	if (done) {
		log_recordings(LOG_DEBUG, app->runner);
		done = runner_run(app->runner, err);
	}
	progress_end(&progress);
	if (!done) {
		return false;
	}
	if (!exposition_write(app->setup.registry, &page, print_chunk, &printing)) {
		return printing.failed ? false : error_no_memory(err, "the page");
	}
	return !memory_has_losses() || error_no_memory(err, "all events: the counts are too low");
}

/* ---- serving ---- */

static bool is_ready(void *context)
{
	const struct app *app = context;

	return runner_ready(app->runner);
}

/* The arguments of a callback of struct http_options that reads the set-up in force. */
struct setup_request {
	const struct app *app;
	struct etw_text *html;
	const char *metrics;
	scrape_collector_visit *visit;
	void *visitor;
};

static void write_state(void *context, const struct setup *setup)
{
	const struct setup_request *request = context;

	landing_add_state(request->html, setup, request->app->runner,
			  request->app->options.config_file);
}

static void write_collectors(void *context, const struct setup *setup)
{
	const struct setup_request *request = context;

	landing_add_collectors(request->html, setup->rules, request->metrics);
}

static void visit_families(void *context, const struct setup *setup)
{
	const struct setup_request *request = context;
	const struct collector_info *info;

	for (size_t i = 0; (info = rule_set_collector(setup->rules, i)) != NULL; i++) {
		const struct family *family = NULL;
		size_t at = 0;

		do {
			request->visit(request->visitor, info->name, info->on, family);
			family = rule_set_next_family(setup->rules, info->name, &at);
		} while (family);
		for (const struct state_gauge *gauge = state_gauges; gauge->family; gauge++) {
			if (info->on && strcmp(gauge->collector, info->name) == 0) {
				request->visit(request->visitor, info->name, info->on,
					       registry_find_family(setup->registry,
								    gauge->family));
			}
		}
	}
}

static void add_state(void *context, struct etw_text *html)
{
	struct setup_request request = { .app = context, .html = html };

	reload_use_setup(request.app->reload, write_state, &request);
}

static void add_collectors(void *context, const char *metrics, struct etw_text *html)
{
	struct setup_request request = { .app = context, .html = html, .metrics = metrics };

	reload_use_setup(request.app->reload, write_collectors, &request);
}

static void add_history(void *context, struct etw_text *json)
{
	const struct app *app = context;

	history_add_json(app->history, json);
}

/* Shows collectors and their families to the web server, for collect[] and exclude[]. */
static void visit_collectors(void *context, scrape_collector_visit *visit, void *visitor)
{
	struct setup_request request = { .app = context, .visit = visit, .visitor = visitor };

	reload_use_setup(request.app->reload, visit_families, &request);
}

static void quit(void *context)
{
	(void)context;
	os_stop_ask("a request to /-/quit");
}

static bool open_reload(struct app *app, struct etw_error *err)
{
	const struct options *options = &app->options;
	const struct reload_options reload = {
		.config_file = options->config_file,
		.setup = &options->setup,
		.current = &app->setup,
		.runner = app->runner,
		.health = app->health,
		.log_level_set = options->log_level_set,
		.log_format_set = options->log_format_set,
		.log_level = options->log_level,
		.log_format = options->log_format,
		.listen_addresses_set = options->listen_address_count > 0,
		.allowed_set = options->allowed_count > 0,
		.telemetry_path_set = options->telemetry_path != NULL,
	};

	app->reload = reload_new(&reload, err);
	return app->reload != NULL;
}

/* Opens the flight recorder. It comes before the sources, because their consumers use it. */
static bool open_recorder(struct app *app, struct etw_error *err)
{
	const struct config *config = app->setup.config;
	bool live = app->options.runner.path_count == 0;

	if (!flight_configured(config)) {
		return true;
	}
	app->recorder = flight_new(config, app->setup.registry, live ? config->session_count : 1,
				   live, err);
	return app->recorder != NULL;
}

/* POST /-/record. */
static enum http_recording record(void *context, struct etw_text *answer)
{
	static const enum http_recording results[FLIGHT_RESULTS] = {
		[FLIGHT_WRITTEN] = HTTP_RECORDING_WRITTEN,
		[FLIGHT_FAILED] = HTTP_RECORDING_FAILED,
		[FLIGHT_REFUSED] = HTTP_RECORDING_REFUSED,
	};
	const struct app *app = context;

	return results[flight_request(app->recorder, "a request to /-/record", answer)];
}

static void record_for_service(void *context)
{
	const struct app *app = context;

	flight_ask(app->recorder, "a control of the service");
}

static bool reload(void *context, struct etw_error *err)
{
	const struct app *app = context;

	return reload_now(app->reload, err);
}

/* Reloads; reload_now() logs what is wrong. */
static void reload_on_signal(void *context)
{
	reload(context, NULL);
}

/* Begins before the consumers do, so that the first step has all that they count. */
static bool open_history(struct app *app, struct etw_error *err)
{
	app->history = history_new(app->setup.registry, err);
	if (app->history) {
		history_step(app->history, os_monotonic_ns());
	}
	return app->history != NULL;
}

/* Returns the addresses of the command line, otherwise those of the configuration. */
static const char *const *addresses_of(const struct app *app, size_t *count)
{
	const struct options *options = &app->options;
	const struct config *config = app->setup.config;
	bool given = options->listen_address_count > 0;

	*count = given ? options->listen_address_count : config->listen_address_count;
	return given ? options->listen_addresses : (const char *const *)config->listen_addresses;
}

static bool start_server(struct app *app, struct etw_error *err)
{
	const struct options *options = &app->options;
	const struct config *config = app->setup.config;
	size_t address_count;
	const char *const *addresses = addresses_of(app, &address_count);
	const struct http_options http = {
		.listen_addresses = addresses,
		.listen_address_count = address_count,
		.allowed = options->allowed_count ? options->allowed :
						    (const char *const *)config->allowed,
		.allowed_count = options->allowed_count ? options->allowed_count :
							  config->allowed_count,
		.telemetry_path = options->telemetry_path ? options->telemetry_path :
							    config->telemetry_path,
		.ready = is_ready,
		.ready_context = app,
		.add_state = add_state,
		.add_collectors = add_collectors,
		.add_history = add_history,
		.state_context = app,
		.external_url = options->external_url,
		.route_prefix = options->route_prefix,
		.collectors = visit_collectors,
		.collectors_context = app,
		.disable_exporter_metrics = options->disable_exporter_metrics,
		.max_scrapes = options->max_scrapes,
		.timeout_offset_ns = options->timeout_offset_ns,
		.enable_lifecycle = options->enable_lifecycle,
		.quit = quit,
		.quit_context = app,
		.web = app->web,
		.created = options->created,
		.reload = reload,
		.reload_context = app,
		.record = app->recorder ? record : NULL,
		.record_context = app,
	};

	app->server = http_start(&http, app->setup.registry, err);
	if (!app->server) {
		return false;
	}
	for (size_t i = 0; i < http.listen_address_count; i++) {
		log_info("Listening", log_text("address", http.listen_addresses[i]),
			 log_u64("port", http_port(app->server, i)),
			 log_text("path", http.telemetry_path));
	}
	return true;
}

/* Waits until the program must stop and returns the reason. Meanwhile reloads when requested, keeps
 * the history, and reports regularly how many lines the log has suppressed. */
static const char *wait_for_stop(struct app *app)
{
	const char *reason;

	while ((reason = os_stop_wait(HISTORY_STEP_NS, reload_on_signal, app)) == NULL) {
		history_step(app->history, os_monotonic_ns());
		log_report_suppressed(false);
	}
	return reason;
}

/* Serves until the program is requested to stop. */
static bool serve(struct app *app, struct etw_error *err)
{
	bool live = app->options.runner.path_count == 0;
	size_t address_count;
	const char *const *addresses = addresses_of(app, &address_count);

	log_start(LOG_INFO, app);
	service_move_to(PHASE_STARTING);
	/*
	 * Opening a recording may take minutes: a pipe must end and an archive be unpacked first.
	 * Until then a request to end the program ends it at once.
	 */
	if (!open_recorder(app, err) || (!live && !open_sources(app, err))) {
		return false;
	}
	/* Signals are caught before sessions start, because from then on every end of the program
	 * must stop the sessions. */
	if (app->options.service != SERVICE_RUN && !os_stop_catch(err)) {
		return false;
	}
	/* Another exporter that runs already has the port, and sessions of the same names, which
	 * must not be taken from it by a program that ends at once. */
	if (live && etw_here(NULL) && !http_check_listen(addresses, address_count, err)) {
		return false;
	}
	if (live && !open_sources(app, err)) {
		return false;
	}
	log_recordings(LOG_INFO, app->runner);
	if (!open_reload(app, err) || (app->recorder && !flight_start(app->recorder, err)) ||
	    !open_history(app, err) || !start_server(app, err) || !runner_start(app->runner, err)) {
		return false;
	}
	if (app->recorder) {
		service_on_record(record_for_service, app);
	}
	service_move_to(PHASE_SERVING);
	log_info("Stopping", log_text("reason", wait_for_stop(app)));
	service_move_to(PHASE_STOPPING);
	service_on_record(NULL, NULL);
	flight_stop(app->recorder);
	runner_stop(app->runner);
	reload_end(app->reload);
	runner_join(app->runner);
	return true;
}

/* ---- the program ---- */

static bool print_configuration(const struct app *app, struct etw_error *err)
{
	struct etw_text out = { 0 };

	print_config(&out, &app->options, &app->setup);
	return print_text(&out, err);
}

static bool run(struct app *app, struct etw_error *err)
{
	if (app->options.service == SERVICE_UNINSTALL) {
		return service_uninstall(err) && print_line("The service is removed.", err);
	}
	if (app->options.once_format != EXPOSITION_TEXT_0_0_4 && !app->options.once) {
		return error_set(err, ETW_ERROR_CONFIG, "--once.format needs --once");
	}
	if (!set_up(app, err)) {
		return false;
	}
	if (app->options.check_config) {
		return (!flight_configured(app->setup.config) ||
			flight_check_dir(app->setup.config, err)) &&
		       print_line("The configuration is valid.", err);
	}
	if (app->options.print_config) {
		return print_configuration(app, err);
	}
	if (app->options.service == SERVICE_INSTALL) {
		return service_install(app->argc, app->argv, err) &&
		       print_line(
			       "The service is installed. Start it with: net start " SERVICE_KEY_NAME,
			       err);
	}
	return app->options.once ? run_once(app, err) : serve(app, err);
}

static void app_done(struct app *app)
{
	/* Stop these first, because their threads read what the other parts own. */
	flight_stop(app->recorder);
	http_stop(app->server);
	web_config_close(app->web);
	health_free(app->health);
	runner_free(app->runner);
	flight_free(app->recorder);
	reload_free(app->reload);
	history_free(app->history);
	setup_close(&app->setup);
	problems_done(&app->problems);
	options_done(&app->options);
	log_report_suppressed(true);
}

static enum exit_status run_and_free(struct app *app, struct etw_error *err)
{
	enum exit_status status = run(app, err) ? EXIT_DONE : status_of(err);

	app_done(app);
	return status;
}

static int run_as_service(void *context)
{
	struct etw_error err = { 0 };
	enum exit_status status;

	log_info("Service started", log_text("version", program_version.number));
	status = run_and_free(context, &err);
	if (status != EXIT_DONE) {
		log_always(LOG_ERROR, "Service cannot run", log_text("error", err.text));
	}
	return (int)status;
}

/*
 * Prints an error. An error without a sentence is not printed: the reader of standard output has
 * closed it, or the problems of the configuration are printed already.
 */
static void complain(const struct etw_error *err)
{
	if (err->text[0] != '\0') {
		print_failure("etw_exporter: %s", err->text);
	}
}

static enum exit_status start(struct app *app)
{
	struct etw_error err = { 0 };
	int status = EXIT_COULD_NOT_RUN;

	if (app->options.service != SERVICE_RUN) {
		status = (int)run_and_free(app, &err);
	} else if (!os_stop_catch_service(&err) ||
		   !service_run(run_as_service, app, &status, &err)) {
		status = (int)status_of(&err);
		app_done(app);
	}
	complain(&err);
	return (enum exit_status)status;
}

/* --help, --describe and --version */
static enum exit_status print(struct etw_text *out)
{
	struct etw_error err = { 0 };
	enum exit_status status = print_text(out, &err) ? EXIT_DONE : EXIT_COULD_NOT_RUN;

	complain(&err);
	return status;
}

int main(int argc, char **argv)
{
	struct app app = { 0 };
	struct etw_error err = { 0 };
	struct etw_text out = { 0 };
	enum exit_status status;

	if (!os_program_start(&argc, &argv, &err)) {
		complain(&err);
		return EXIT_COULD_NOT_RUN;
	}
	progress_allow();
	os_share_heaps(); /* a reload may run on each thread of the web server */
	crypto_note_losses();
	etw_file_find_repeats(&repeat_finder);
	app.argc = argc;
	app.argv = argv;
	if (!options_parse(&app.options, argc, argv, &err)) {
		complain(&err);
		status = status_of(&err);
	} else if (app.options.help) {
		options_help(&out);
		status = print(&out);
	} else if (app.options.describe) {
		options_describe(&out);
		status = print(&out);
	} else if (app.options.version) {
		text_add_format(&out, "etw_exporter %s (revision %s, %s, %s)\n",
				program_version.number, program_version.revision,
				program_version.compiler, program_version.arch);
		status = print(&out);
	} else {
		return (int)start(&app);
	}
	app_done(&app);
	return (int)status;
}

/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter: reads the command line, wires configuration, rules, replay and web server, and
 * waits to be stopped.
 *
 * Exit status: 0 done, 1 could not run, 2 bad usage or configuration.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "config/config.h"
#include "decode/manifest/load.h"
#include "health.h"
#include "http/server.h"
#include "live.h"
#include "live/live_source.h"
#include "metrics/exposition.h"
#include "metrics/registry.h"
#include "options.h"
#include "replay.h"
#include "rules/rules.h"
#include "version.h"
#include "windows/activity.h"
#include "windows/crash.h"
#include "windows/event_log.h"
#include "windows/self_test.h"
#include "windows/service.h"

enum exit_status { EXIT_DONE = 0, EXIT_COULD_NOT_RUN = 1, EXIT_BAD_USAGE = 2 };

/* Everything that a run is made of, owned; freed in reverse by app_done(). */
struct app {
	int argc;
	char **argv; /* borrowed */
	struct options options;
	struct config *config;
	struct configured_manifests manifests;
	struct registry *registry;
	struct rule_set *rules;
	struct replay *replay;    /* either this … */
	struct live_runner *live; /* … or that */
	struct health *health;
	struct http_server *server;
};

static enum exit_status status_of(const struct error *err)
{
	return err->code == ERROR_CONFIG ? EXIT_BAD_USAGE : EXIT_COULD_NOT_RUN;
}

static bool load_config(struct app *app, struct error *err)
{
	app->config = app->options.config_file ? config_load(app->options.config_file, err) :
						 config_default(err);
	if (!app->config) {
		return false;
	}
	log_configure(app->options.log_level_set ? app->options.log_level : app->config->log_level,
		      app->options.log_format_set ? app->options.log_format :
						    app->config->log_format);
	return true;
}

static bool load_rules(struct app *app, struct error *err)
{
	const struct registry_limits limits = {
		.series_per_family = app->config->limits.series_per_family,
		.series = app->config->limits.series,
		.strings_bytes = app->config->limits.strings_bytes,
	};
	const struct rule_set_options options = {
		.config = app->config,
		.manifests = app->manifests,
		.switches = app->options.switches,
		.switch_count = app->options.switch_count,
		.disable_defaults = app->options.disable_defaults,
	};

	app->registry = registry_new(&limits, err);
	if (!app->registry) {
		return false;
	}
	app->rules = rule_set_new(&options, app->registry, err);
	return app->rules != NULL;
}

static bool open_replay(struct app *app, struct error *err)
{
	const struct replay_options options = {
		.paths = app->options.replay_files,
		.path_count = app->options.replay_file_count,
		.file = { .pointer_size = app->options.replay_pointer_size,
			  .single_pass = app->options.replay_single_pass },
		.speed = app->options.replay_speed,
		.loop = app->options.replay_loop,
		.registry = app->registry,
		.rules = app->rules,
		.config = app->config,
		.manifests = app->manifests,
	};

	app->replay = replay_new(&options, err);
	if (!app->replay) {
		return false;
	}
	app->health = health_new(app->registry, app->replay, app->rules, err);
	return app->health != NULL;
}

static bool open_live(struct app *app, struct error *err)
{
	const struct live_runner_options options = {
		.registry = app->registry,
		.rules = app->rules,
		.config = app->config,
		.manifests = app->manifests,
	};

	if (app->options.once) {
		return error_set(err, ERROR_UNSUPPORTED,
				 "--once prints a recording; name it with --replay.file");
	}
	app->live = crash_catch(live_emergency_stop, err) ? live_new(&options, err) : NULL;
	if (!app->live) {
		return false;
	}
	app->health = health_new_live(app->registry, app->live, app->rules, err);
	return app->health != NULL;
}

static bool open_sources(struct app *app, struct error *err)
{
	return app->options.replay_file_count > 0 ? open_replay(app, err) : open_live(app, err);
}

/* ---- --once: replay, print, end ---- */

static bool print_chunk(void *context, const char *bytes, size_t size)
{
	return fwrite(bytes, 1, size, context) == size;
}

static bool run_once(struct app *app, struct error *err)
{
	if (app->options.replay_loop) {
		return error_set(err, ERROR_CONFIG, "--once and --replay.loop exclude each other");
	}
	if (!open_sources(app, err) || !replay_run(app->replay, err)) {
		return false;
	}
	if (exposition_write(app->registry, print_chunk, stdout) == 0 || fflush(stdout) != 0) {
		return error_set(err, ERROR_SYSTEM, "standard output: %s", strerror(errno));
	}
	return true;
}

/* ---- serving ---- */

static bool is_ready(void *context)
{
	const struct app *app = context;

	return app->live ? live_ready(app->live) : replay_ready(app->replay);
}

static bool start_server(struct app *app, struct error *err)
{
	const struct options *options = &app->options;
	const char *const *configured = (const char *const *)app->config->listen_addresses;
	const struct http_options http = {
		.listen_addresses = options->listen_address_count ? options->listen_addresses :
								    configured,
		.listen_address_count = options->listen_address_count ?
						options->listen_address_count :
						app->config->listen_address_count,
		.telemetry_path = options->telemetry_path ? options->telemetry_path :
							    app->config->telemetry_path,
		.ready = is_ready,
		.ready_context = app,
	};

	app->server = http_start(&http, app->registry, err);
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

/* Serves until somebody says stop. */
static bool serve(struct app *app, struct error *err)
{
	/* Caught before sessions start: from then on every end of the program must stop them. */
	if (app->options.service != SERVICE_RUN && !os_stop_catch(err)) {
		return false;
	}
	service_starting();
	if (!open_sources(app, err) || !start_server(app, err)) {
		return false;
	}
	if (app->live ? !live_start(app->live, err) : !replay_start(app->replay, err)) {
		return false;
	}
	service_serving();
	log_info("Stopping", log_text("reason", os_stop_wait()));
	service_stopping();
	if (app->live) {
		live_stop(app->live);
		live_join(app->live);
	} else {
		replay_stop(app->replay);
		replay_join(app->replay);
	}
	return true;
}

/* ---- the self-test ---- */

static bool wait_unless_stopped(void *context, uint64_t ms)
{
	(void)context;
	return os_stop_wait_for(ms * 1000000) == NULL;
}

/* Prints the table; a row that fails fails the program. */
static bool self_test(const struct app *app, struct error *err)
{
	char *process = activity_process();
	const struct self_test_options options = {
		.act = activity_run,
		.process = process,
		.wait = wait_unless_stopped,
		.idle_ms = 3000,
		.duration_ms = 7000,
	};
	struct text report = { 0 };
	bool passed = false;
	bool done;

	log_configure(app->options.log_level_set ? app->options.log_level : LOG_WARNING,
		      app->options.log_format);
	if (!process) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for the self-test");
	}
	done = os_stop_catch(err) && crash_catch(live_emergency_stop, err) &&
	       self_test_run(&options, &report, &passed, err);
	if (done) {
		fwrite(report.data, 1, report.size, stdout);
	}
	text_free(&report);
	free(process);
	return done && (passed || error_set(err, ERROR_SYSTEM, "the self-test failed"));
}

/* ---- the service ---- */

/* With a configuration that is known to be fine. */
static bool install(struct app *app, struct error *err)
{
	if (!service_install(app->argc, app->argv, err)) {
		return false;
	}
	puts("The service is installed. Start it with: net start " SERVICE_KEY_NAME);
	return true;
}

static bool uninstall(struct error *err)
{
	if (!service_uninstall(err)) {
		return false;
	}
	puts("The service is removed.");
	return true;
}

/* ---- the program ---- */

static bool run(struct app *app, struct error *err)
{
	if (app->options.service == SERVICE_UNINSTALL) {
		return uninstall(err);
	}
	if (app->options.self_test) {
		return self_test(app, err);
	}
	if (!load_config(app, err) ||
	    !configured_manifests_load(&app->manifests, app->config, err) ||
	    !load_rules(app, err)) {
		return false;
	}
	if (app->options.check_config) {
		puts("The configuration is fine.");
		return true;
	}
	if (app->options.service == SERVICE_INSTALL) {
		return install(app, err);
	}
	return app->options.once ? run_once(app, err) : serve(app, err);
}

static void app_done(struct app *app)
{
	/* The server goes first: its threads scrape what the others own. */
	http_stop(app->server);
	health_free(app->health);
	replay_free(app->replay);
	live_free(app->live);
	rule_set_free(app->rules);
	configured_manifests_done(&app->manifests);
	registry_free(app->registry);
	config_free(app->config);
	options_done(&app->options);
}

static enum exit_status run_and_free(struct app *app, struct error *err)
{
	enum exit_status status = run(app, err) ? EXIT_DONE : status_of(err);

	app_done(app);
	return status;
}

/* What a service writes on standard error, nobody sees. */
static int run_as_service(void *context)
{
	struct error err = { 0 };
	struct error no_log = { 0 };
	bool logged = event_log_open(&no_log);
	int status;

	log_info("Service started", log_text("version", version_number()));
	status = run_and_free(context, &err);
	if (status != EXIT_DONE) {
		log_error("Service cannot run", log_text("error", err.text));
	}
	if (logged) {
		event_log_close();
	}
	return status;
}

static enum exit_status start(struct app *app)
{
	struct error err = { 0 };
	int status = EXIT_COULD_NOT_RUN;

	if (app->options.service != SERVICE_RUN) {
		status = (int)run_and_free(app, &err);
	} else if (!os_stop_catch_service(&err) ||
		   !service_run(run_as_service, app, &status, &err)) {
		status = (int)status_of(&err);
		app_done(app);
	}
	if (err.code != ERROR_NONE) {
		fprintf(stderr, "etw_exporter: %s\n", err.text);
	}
	return (enum exit_status)status;
}

int main(int argc, char **argv)
{
	struct app app = { 0 };
	struct error err = { 0 };
	enum exit_status status = EXIT_DONE;

	if (!os_program_start(&argc, &argv, &err)) {
		fprintf(stderr, "etw_exporter: %s\n", err.text);
		return EXIT_COULD_NOT_RUN;
	}
	app.argc = argc;
	app.argv = argv;
	if (!options_parse(&app.options, argc, argv, &err)) {
		fprintf(stderr, "etw_exporter: %s\n", err.text);
		status = EXIT_BAD_USAGE;
	} else if (app.options.help) {
		options_help(stdout);
	} else if (app.options.version) {
		printf("etw_exporter %s (revision %s, %s, %s)\n", version_number(),
		       version_revision(), version_compiler(), version_arch());
	} else {
		return start(&app);
	}
	app_done(&app);
	return status;
}

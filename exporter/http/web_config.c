/* SPDX-License-Identifier: MIT */
/*
 * Applies the web configuration while the server runs.
 *
 * Once a second a thread compares what stat() reports for the configuration, certificate, key and
 * authorities. If one has changed, all are read again, because they belong together. Connections
 * and requests, scrapes too, never wait for files, which may be on a share that hangs. If the files
 * have a mistake, such as a certificate whose key is not written yet, the former settings stay in
 * force until a file changes again.
 *
 * Connections get TLS from one struct tls_server, whose contents are exchanged
 * (exporter/http/tls.h). Whether there is TLS at all is decided when the program starts, as in the
 * toolkit: ports do not change from http to https while they are open, so such a change is refused
 * and needs a restart. Users are exchanged in struct auth. Headers and the rate limit are in the
 * settings, which requests read under the lock.
 *
 * The order in which a request is checked is that of the toolkit: the rate first, so that it also
 * bounds how many passwords can be tried, then the user. Both come before anything else, for every
 * path.
 */
#include "exporter/http/web_config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "exporter/health.h"
#include "exporter/http/auth.h"
#include "exporter/http/tls.h"
#include "exporter/http/web_settings.h"

static const uint64_t watch_interval_ns = UINT64_C(1000000000);

/* A file that is watched, with its stamp from before it was read. */
struct watched {
	char *path; /* owned; NULL: none */
	struct os_file_stamp stamp;
};

struct web_config {
	char *path; /* owned */
	struct tls_server *tls;
	struct auth *auth;

	struct os_mutex reading; /* held while files are read: one thread at a time */
	struct watched files[1 + WEB_PEMS];
	atomic_bool in_force; /* written under the lock, read without it */

	struct os_mutex mutex; /* guards what requests read */
	struct web_settings *settings;
	struct rate_limit rate;
	uint64_t rate_limited;
	uint64_t read_unix_ns; /* when the settings in force were read */

	struct family *families[WEB_FAMILIES];
	struct shard *shard;
	struct registry *registry;

	struct os_mutex watch_mutex; /* of stopping */
	struct os_condition watch_wake;
	bool watching, stopping;
	struct os_thread watch;
};

/* ---- putting settings in force ---- */

static bool set_path(struct watched *file, const char *path)
{
	free(file->path);
	file->path = path ? text_duplicate(path, strlen(path)) : NULL;
	return file->path || !path;
}

/* Stamps files before they are read, so that a change during the read is noticed later. */
static void stamp_files(struct web_config *config)
{
	for (unsigned i = 0; i <= WEB_PEMS; i++) {
		if (config->files[i].path) {
			os_file_stamp(config->files[i].path, &config->files[i].stamp);
		}
	}
}

/* Remembers which files the configuration names, and their stamps. */
static void note_files(struct web_config *config, const struct web_settings *settings)
{
	config->files[0].stamp = settings->stamp;
	for (unsigned i = 0; i < WEB_PEMS; i++) {
		struct watched *file = &config->files[1 + i];

		/* If there is no memory for the path, the file is not watched. */
		set_path(file, settings->pems[i].path);
		file->stamp = settings->pems[i].stamp;
	}
}

/* Replaces the settings in force. Takes ownership of the new ones if it succeeds. */
static bool apply_settings(struct web_config *config, struct web_settings *settings,
			   struct etw_error *err)
{
	struct web_settings *before;

	if (config->settings && settings->has_tls != (config->tls != NULL)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 settings->has_tls ?
					 "tls_server_config is new: restart the program for TLS" :
					 "tls_server_config is gone: restart the program to serve "
					 "without TLS");
	}
	if (config->tls && !tls_server_set(config->tls, &settings->tls, err)) {
		return false;
	}
	if (settings->has_tls && !config->tls) {
		config->tls = tls_server_new(&settings->tls, err);
		if (!config->tls) {
			return false;
		}
	}
	if (!auth_set_users(config->auth, settings->users, settings->user_count, err)) {
		return false;
	}
	os_mutex_lock(&config->mutex);
	before = config->settings;
	config->settings = settings;
	config->read_unix_ns = os_unix_time_ns();
	if (!before || before->rate_interval_ns != settings->rate_interval_ns ||
	    before->rate_burst != settings->rate_burst) {
		config->rate = (struct rate_limit){ .interval_ns = settings->rate_interval_ns,
						    .burst = settings->rate_burst };
	}
	os_mutex_unlock(&config->mutex);
	web_settings_free(before);
	return true;
}

/* Reads all files, and puts their settings in force if they have no mistakes. */
static bool read_files(struct web_config *config, struct problems *problems, struct etw_error *err)
{
	struct web_settings *settings;

	stamp_files(config);
	settings = web_settings_read(config->path, problems, err);
	if (!settings) {
		return false; /* the files it names are unknown, so the former ones stay watched */
	}
	note_files(config, settings);
	if (!settings->broken && apply_settings(config, settings, err)) {
		web_settings_forget_files(settings);
		return true;
	}
	web_settings_free(settings);
	return false;
}

/* ---- reading again ---- */

static bool files_changed(const struct web_config *config)
{
	for (unsigned i = 0; i <= WEB_PEMS; i++) {
		struct os_file_stamp now;

		if (config->files[i].path) {
			os_file_stamp(config->files[i].path, &now);
			if (memcmp(&now, &config->files[i].stamp, sizeof now) != 0) {
				return true;
			}
		}
	}
	return false;
}

static void log_problem(void *context, const char *sentence, bool warning)
{
	(void)context;
	log_write(warning ? LOG_WARNING : LOG_ERROR, "Web configuration",
		  (const struct log_field[]){ log_text(warning ? "warning" : "error", sentence),
					      { .name = NULL } });
}

bool web_config_refresh(struct web_config *config)
{
	struct problems problems = { 0 };
	struct etw_error err = { 0 };
	bool in_force;

	os_mutex_lock(&config->reading);
	if (files_changed(config)) {
		in_force = read_files(config, &problems, &err);
		atomic_store_explicit(&config->in_force, in_force, memory_order_relaxed);
		if (in_force || problems.errors > 1) {
			problems_show(&problems, log_problem, NULL);
		}
		if (in_force) {
			log_info("The web configuration was read again",
				 log_text("file", config->path));
		} else {
			log_error("The changed web configuration cannot be used; the earlier one "
				  "stays in force",
				  log_text("file", config->path), log_text("error", err.text));
		}
		problems_done(&problems);
	}
	in_force = atomic_load_explicit(&config->in_force, memory_order_relaxed);
	os_mutex_unlock(&config->reading);
	return in_force;
}

static void watch(void *context)
{
	struct web_config *config = context;

	os_mutex_lock(&config->watch_mutex);
	while (!config->stopping) {
		uint64_t next_ns = os_monotonic_ns() + watch_interval_ns;

		while (!config->stopping &&
		       os_condition_wait_until(&config->watch_wake, &config->watch_mutex,
					       next_ns)) {
		}
		if (!config->stopping) {
			os_mutex_unlock(&config->watch_mutex);
			web_config_refresh(config);
			os_mutex_lock(&config->watch_mutex);
		}
	}
	os_mutex_unlock(&config->watch_mutex);
}

/* ---- requests ---- */

struct tls_server *web_config_tls(struct web_config *config)
{
	return config->tls;
}

static bool within_rate(struct web_config *config)
{
	bool within;

	os_mutex_lock(&config->mutex);
	within = rate_limit_take(&config->rate, os_monotonic_ns());
	config->rate_limited += !within;
	os_mutex_unlock(&config->mutex);
	return within;
}

bool web_config_knows(struct web_config *config, const char *authorization)
{
	return auth_knows(config->auth, authorization);
}

int web_config_refuse(struct web_config *config, const char *authorization, const char *client,
		      const struct client_address *address, const char **headers)
{
	*headers = "";
	if (!within_rate(config)) {
		return 429;
	}
	switch (auth_check(config->auth, authorization, address)) {
	case AUTH_GRANTED:
		break;
	case AUTH_DENIED:
		if (authorization) { /* not logged without a user: browsers try that first */
			log_info("A login was refused: unknown user or wrong password",
				 log_text("client", client));
		}
		*headers = "WWW-Authenticate: Basic realm=\"etw_exporter\", charset=\"UTF-8\"\r\n";
		return 401;
	case AUTH_BUSY:
		*headers = "Retry-After: 1\r\n";
		return 503;
	case AUTH_LATER:
		*headers = "Retry-After: 1\r\n";
		return 429;
	}
	return 0;
}

void web_config_add_headers(struct web_config *config, struct etw_text *out)
{
	os_mutex_lock(&config->mutex);
	for (size_t i = 0; i < WEB_HEADERS; i++) {
		const char *value = config->settings->headers[i];

		/* Each answer already has X-Content-Type-Options with its only possible value. */
		if (value && value[0] != '\0' && i != WEB_HEADER_CONTENT_TYPE_OPTIONS) {
			text_add_format(out, "%s: %s\r\n", web_header_name(i), value);
		}
	}
	os_mutex_unlock(&config->mutex);
}

/* ---- metrics ---- */

static void set_sample(struct web_config *config, enum web_family family, const char *label,
		       uint64_t value)
{
	uint32_t id = label ? intern_own(registry_strings(config->registry), label) : 0;

	family_set(config->families[family], config->shard, label ? &id : NULL, (int64_t)value);
}

/* Sets the samples before each scrape. */
static void update_samples(void *context)
{
	struct web_config *config = context;
	struct auth_statistics auth;

	auth_statistics(config->auth, &auth);
	set_sample(config, WEB_AUTH_FAILURES, "denied", auth.denied);
	set_sample(config, WEB_AUTH_FAILURES, "busy", auth.busy);
	set_sample(config, WEB_AUTH_FAILURES, "penalty", auth.later);
	os_mutex_lock(&config->mutex);
	set_sample(config, WEB_RATE_LIMITED, NULL, config->rate_limited);
	set_sample(config, WEB_READ_TIME, NULL, config->read_unix_ns);
	os_mutex_unlock(&config->mutex);
	set_sample(config, WEB_READ, NULL,
		   atomic_load_explicit(&config->in_force, memory_order_relaxed));
	if (config->tls) {
		set_sample(config, WEB_TLS_FAILURES, NULL, tls_server_failures(config->tls));
		set_sample(config, WEB_CERTIFICATE_END, NULL, tls_server_valid_until(config->tls));
	}
}

/* ---- opening and closing ---- */

struct web_config *web_config_open(const char *path, struct problems *problems,
				   struct etw_error *err)
{
	struct web_config *config = calloc(1, sizeof *config);

	if (!config) {
		error_no_memory(err, "the web configuration");
		return NULL;
	}
	os_mutex_init(&config->reading);
	os_mutex_init(&config->mutex);
	os_mutex_init(&config->watch_mutex);
	os_condition_init(&config->watch_wake);
	config->path = text_duplicate(path, strlen(path));
	if (!config->path || !set_path(&config->files[0], path)) {
		error_no_memory(err, "the web configuration");
		goto fail;
	}
	config->auth = auth_new(NULL, NULL, err);
	if (!config->auth || !read_files(config, problems, err)) {
		goto fail;
	}
	atomic_store_explicit(&config->in_force, true, memory_order_relaxed);
	return config;

fail:
	web_config_close(config);
	return NULL;
}

bool web_config_start(struct web_config *config, struct registry *registry, struct etw_error *err)
{
	config->registry = registry;
	config->shard = registry_shard(registry, false, err);
	if (!config->shard || !web_families(registry, config->families, err) ||
	    !registry_on_scrape(registry, update_samples, config, err)) {
		return false;
	}
	log_info("Web configuration", log_text("file", config->path),
		 log_text("tls", config->tls ? "on" : "off"),
		 log_u64("users", config->settings->user_count));
	config->watching = os_thread_start(&config->watch, watch, config, err);
	return config->watching;
}

void web_config_stop(struct web_config *config)
{
	auth_stop(config->auth);
	os_mutex_lock(&config->watch_mutex);
	config->stopping = true;
	os_condition_wake_all(&config->watch_wake);
	os_mutex_unlock(&config->watch_mutex);
	if (config->watching) {
		os_thread_join(&config->watch);
		config->watching = false;
	}
}

void web_config_close(struct web_config *config)
{
	if (!config) {
		return;
	}
	for (unsigned i = 0; i <= WEB_PEMS; i++) {
		free(config->files[i].path);
	}
	tls_server_free(config->tls);
	auth_free(config->auth);
	web_settings_free(config->settings);
	os_condition_done(&config->watch_wake);
	os_mutex_done(&config->watch_mutex);
	os_mutex_done(&config->mutex);
	os_mutex_done(&config->reading);
	free(config->path);
	free(config);
}

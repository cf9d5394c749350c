/* SPDX-License-Identifier: MIT */
/*
 * The command line of etw_exporter: flags as exporters have them, `--x v` and `--x=v`.
 */
#ifndef EXPORTER_OPTIONS_H
#define EXPORTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "exporter/windows/service.h"
#include "metrics/exposition.h"

/* Texts are borrowed from argv, except the names in switches. */
struct options {
	const char *config_file;      /* NULL: the built-in defaults */
	const char **replay_files;    /* owned array: the paths of runner */
	struct runner_options runner; /* --replay…; without a set-up */
	bool once;
	enum exposition_format once_format;
	const char **listen_addresses; /* owned array; none: those of the configuration */
	size_t listen_address_count;
	const char **allowed; /* owned array */
	size_t allowed_count;
	const char *telemetry_path; /* NULL: that of the configuration */
	/* Pages and scrapes: see struct http_options. */
	const char *external_url;
	const char *route_prefix;
	uint64_t max_scrapes;
	uint64_t timeout_offset_ns;
	bool disable_exporter_metrics;
	bool enable_lifecycle;
	bool no_created;
	const char *web_config_file;    /* NULL: plain HTTP */
	struct config_switch *switches; /* owned, with their names: those of setup */
	struct setup_options setup;     /* --collector… */
	bool check_config;
	bool print_config;
	enum service_action service;
	bool log_level_set, log_format_set;
	enum log_level log_level;
	enum log_format log_format;
	bool describe; /* this table, for packaging/pages.py */
	bool version;
	bool help;
};

/* Reads the command line; one sentence in err names what is wrong. To be freed with options_done()
 * either way. */
bool options_parse(struct options *options, int argc, char **argv, struct etw_error *err);
void options_done(struct options *options);

void options_help(struct etw_text *out);
/* Adds the flags and the names of the shipped collectors as JSON. */
void options_describe(struct etw_text *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line of etw_exporter. Flags have the form of other exporters, `--x v` or
 * `--x=v`.
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
	const char **replay_files;    /* owned array; runner.paths points to it */
	struct runner_options runner; /* from the flags --replay…; its member setup is not set */
	bool once;
	enum exposition_format once_format;
	const char **listen_addresses; /* owned array; if empty, the configuration's apply */
	size_t listen_address_count;
	const char **allowed; /* owned array */
	size_t allowed_count;
	const char *telemetry_path; /* NULL: the configuration's applies */
	/* The options of pages and scrapes are explained at struct http_options. */
	const char *external_url;
	const char *route_prefix;
	uint64_t max_scrapes;
	uint64_t timeout_offset_ns;
	bool disable_exporter_metrics;
	bool enable_lifecycle;
	bool created;
	const char *web_config_file;    /* NULL: plain HTTP */
	struct config_switch *switches; /* owned, with their names; setup.switches points to it */
	struct setup_options setup;     /* from the flags --collector… */
	bool check_config;
	bool print_config;
	enum service_action service;
	bool log_level_set, log_format_set;
	enum log_level log_level;
	enum log_format log_format;
	bool describe; /* print the flags as JSON, for packaging/pages.py */
	bool version;
	bool help;
};

/* Parses the command line. On failure err has one sentence that names the wrong argument. The
 * caller frees the options with options_done() in either case. */
bool options_parse(struct options *options, int argc, char **argv, struct etw_error *err);
void options_done(struct options *options);

void options_help(struct etw_text *out);
/* Adds the flags and the names of the shipped collectors as JSON. */
void options_describe(struct etw_text *out);

/* ---- --print-config ---- */

/*
 * Adds the configuration that applies, that of a finished set-up, as YAML: the defaults, what the
 * file says, and what the flags change. With the printed file and without these flags the program
 * behaves the same. If memory runs out, `out` is marked as failed.
 */
void print_config(struct etw_text *out, const struct options *options, const struct setup *setup);

#endif

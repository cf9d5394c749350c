/* SPDX-License-Identifier: MIT */
/*
 * The command line of etw_exporter: flags as exporters have them, `--x v` and `--x=v`.
 */
#ifndef EXPORTER_OPTIONS_H
#define EXPORTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "windows/service.h"

/* Texts are borrowed from argv, except the names in switches. */
struct options {
	const char *config_file;   /* NULL: the built-in defaults */
	const char **replay_files; /* owned array */
	size_t replay_file_count;
	double replay_speed; /* 0: as fast as possible */
	bool replay_loop;
	bool replay_single_pass;
	uint8_t replay_pointer_size; /* 0: as recorded */
	bool once;
	const char **listen_addresses; /* owned array; none: those of the configuration */
	size_t listen_address_count;
	const char *telemetry_path;     /* NULL: that of the configuration */
	struct config_switch *switches; /* owned, with their names: --collector.NAME and
					   --no-collector.NAME in order */
	size_t switch_count;
	bool disable_defaults;
	bool check_config;
	bool self_test;
	enum service_action service;
	bool log_level_set, log_format_set;
	enum log_level log_level;
	enum log_format log_format;
	bool version;
	bool help;
};

/* Reads the command line; one sentence in err names what is wrong. To be freed with options_done()
 * either way. */
bool options_parse(struct options *options, int argc, char **argv, struct error *err);
void options_done(struct options *options);

void options_help(FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The table of the flags of etw_exporter has one row for each flag. base/command_line.h parses the
 * command line with it and writes --help.
 *
 * Most rows only name the member of struct options that they set. Flags that may be repeated,
 * switches of collectors, and values with a syntax of their own have a read function. Flags about
 * replays and collectors are read into the options of the runner and of the set-up directly. struct
 * options owns their arrays, because those structs only borrow them. Whether values fit together,
 * such as --once with --replay.loop, is checked where they are used.
 */
#include "exporter/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command_line.h"
#include "base/text.h"
#include "base/utc.h"
#include "config/builtin.h"
#include "config/yaml.h"
#include "config/yaml_rows.h"
#include "exporter/version.h"

/* ---- values with a syntax of their own ---- */

static bool add_text(const char ***list, size_t *count, const char *text, struct etw_error *err)
{
	const char **grown = realloc((void *)*list, (*count + 1) * sizeof *grown);

	if (!grown) {
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the command line");
	}
	grown[(*count)++] = text;
	*list = grown;
	return true;
}

static bool read_replay_file(void *target, const char *value, struct etw_error *err)
{
	struct options *options = target;
	bool added = add_text(&options->replay_files, &options->runner.path_count, value, err);

	options->runner.paths = options->replay_files;
	return added;
}

static bool read_listen_address(void *target, const char *value, struct etw_error *err)
{
	struct options *options = target;

	return add_text(&options->listen_addresses, &options->listen_address_count, value, err);
}

static bool read_allowed(void *target, const char *value, struct etw_error *err)
{
	struct options *options = target;

	return add_text(&options->allowed, &options->allowed_count, value, err);
}

static bool read_speed(void *speed, const char *value, struct etw_error *err)
{
	char *end;
	double number = strtod(value, &end);

	(void)err;
	if (end == value || *end != '\0' || !isfinite(number) || number < 0) {
		return false;
	}
	*(double *)speed = number;
	return true;
}

static bool read_telemetry_path(void *path, const char *value, struct etw_error *err)
{
	(void)err;
	*(const char **)path = value;
	return value[0] == '/';
}

static bool read_scrapes(void *target, const char *value, struct etw_error *err)
{
	uint64_t *count = target;

	(void)err;
	return parse_u64(value, strlen(value), count) && *count <= CONFIG_SCRAPES_MOST;
}

static bool read_seconds(void *ns, const char *value, struct etw_error *err)
{
	double seconds;

	if (!read_speed(&seconds, value, err) || seconds > 60) {
		return false;
	}
	*(uint64_t *)ns = (uint64_t)(seconds * 1e9);
	return true;
}

static bool read_log_level(void *target, const char *value, struct etw_error *err)
{
	struct options *options = target;

	(void)err;
	options->log_level_set = true;
	return log_level_parse(value, &options->log_level);
}

static bool read_log_format(void *target, const char *value, struct etw_error *err)
{
	struct options *options = target;

	(void)err;
	options->log_format_set = true;
	return log_format_parse(value, &options->log_format);
}

/* --collector.NAME and --no-collector.NAME */
static bool read_switch(void *target, const char *argument, struct etw_error *err)
{
	struct options *options = target;
	bool added =
		setup_add_switch(&options->switches, &options->setup.switch_count, argument, err);

	options->setup.switches = options->switches;
	return added;
}

/* A list as windows_exporter takes it: names, and [defaults] for those that are on by default. */
static bool read_enabled(void *target, const char *value, struct etw_error *err)
{
	static const char defaults[] = "[defaults]";
	struct options *options = target;

	options->setup.disable_defaults = true;
	for (const char *name = value; name;) {
		const char *end = strchr(name, ',');
		size_t size = end ? (size_t)(end - name) : strlen(name);
		char argument[128];

		if (size == 0 || size > 64) {
			return false;
		}
		if (size == strlen(defaults) && memcmp(name, defaults, size) == 0) {
			options->setup.disable_defaults = false;
		} else {
			snprintf(argument, sizeof argument, "--collector.%.*s", (int)size, name);
			if (!read_switch(options, argument, err)) {
				return false;
			}
		}
		name = end ? end + 1 : NULL;
	}
	return true;
}

/* ---- the flags ---- */

#define AT(member) .offset = offsetof(struct options, member)
/* The hint for a flag that has been removed. command: the program that replaces it. */
#define SELFTEST(command) "run " command ", which is in the folder of etw_exporter on Windows"

static const char *const pointer_sizes[] = { "4", "8", NULL };
/* In the order of enum exposition_format. */
static const char *const once_formats[] = { "text", "openmetrics", "protobuf", NULL };
static const char *const log_levels[] = { "debug", "info", "warning", "error", NULL };
static const char *const log_formats[] = { "logfmt", "json", NULL };
static const char *const service_actions[] = { "install", "uninstall", "run", NULL };

/* clang-format off */
static const struct command_option flags[] = {
	{ "--config.file", "FILE", "Configuration file (YAML). Without it the built-in defaults apply.",
	  OPTION_TEXT, AT(config_file) },
	{ "--replay.file", "FILE",
	  "Recording (.etl, also .gz, .xz, .zst, .zip; -: standard input) to replay. Repeatable; replayed in this order.",
	  OPTION_READ, .read = read_replay_file },
	{ "--replay.speed", "N",
	  "0: as fast as possible; 1: as recorded; N: N times as fast. Default: 0.",
	  OPTION_READ, AT(runner.speed), .takes = "a number from 0", .read = read_speed },
	{ "--replay.loop", NULL, "Replay the recordings again and again; counters continue.",
	  OPTION_SET, AT(runner.loop) },
	{ "--replay.single-pass", NULL,
	  "Read the recording only once. Events of processes that are named later count as _unknown.",
	  OPTION_SET, AT(runner.file.single_pass) },
	{ "--replay.from", "TIME",
	  "Count events from here on: 2020-07-29T00:07:00Z, or seconds (also 500ms, 1m) after the start. Earlier ones only say what exists.",
	  OPTION_READ, AT(runner.from), .takes = UTC_MOMENT, .read = utc_moment_read },
	{ "--replay.to", "TIME", "Count events before this time.",
	  OPTION_READ, AT(runner.to), .takes = UTC_MOMENT, .read = utc_moment_read },
	{ "--replay.pointer-size", "4|8",
	  "Pointer size of kernel events, if the recording states a wrong one.",
	  OPTION_DIGIT, AT(runner.file.pointer_size), .words = pointer_sizes },
	{ "--once", NULL, "Replay, print the metrics on standard output, and exit.",
	  OPTION_SET, AT(once) },
	{ "--once.format", "FORMAT", "With --once: text, openmetrics or protobuf. Default: text.",
	  OPTION_WORD, AT(once_format), .words = once_formats },
	{ "--web.listen-address", "ADDRESS",
	  "Address to listen on. Repeatable. Default: :9189.",
	  OPTION_READ, .read = read_listen_address },
	{ "--web.allow", "CIDR",
	  "Range of addresses that may connect, such as 10.0.0.0/8. Repeatable. Default: all.",
	  OPTION_READ, .read = read_allowed },
	{ "--web.telemetry-path", "PATH", "Path of the metrics page. Default: /metrics.",
	  OPTION_READ, AT(telemetry_path), .takes = "a path that begins with a slash",
	  .read = read_telemetry_path },
	/* Flags about pages and scrapes. */
	{ "--web.external-url", "URL",
	  "URL under which clients reach the pages through a reverse proxy.",
	  OPTION_TEXT, AT(external_url) },
	{ "--web.route-prefix", "PREFIX",
	  "Prefix of the paths of all pages. Default: the path of --web.external-url.",
	  OPTION_TEXT, AT(route_prefix) },
	{ "--web.max-requests", "N",
	  "Maximum number of concurrent scrapes, up to 72. 0: two for each processor; slow readers do not count. Default: 0.",
	  OPTION_READ, AT(max_scrapes), .takes = "a number from 0 to 72", .read = read_scrapes },
	{ "--web.timeout-offset", "SECONDS",
	  "Seconds to subtract from the scrape timeout that Prometheus sends. Default: 0.5.",
	  OPTION_READ, AT(timeout_offset_ns), .takes = "a number of seconds from 0 to 60",
	  .read = read_seconds },
	{ "--web.disable-exporter-metrics", NULL,
	  "Leave out the metrics about the exporter itself: etw_exporter_* and process_*.",
	  OPTION_SET, AT(disable_exporter_metrics) },
	{ "--web.enable-lifecycle", NULL,
	  "Allow clients to reload, to have a recording written and to end the program: POST /-/reload, POST /-/record, POST /-/quit.",
	  OPTION_SET, AT(enable_lifecycle) },
	{ "--web.config.file", "FILE",
	  "TLS, users and headers (YAML), in the format of Prometheus' exporter toolkit.",
	  OPTION_TEXT, AT(web_config_file) },
	{ "--web.enable-created-samples", NULL,
	  "Add _created samples to OpenMetrics. Most versions of Prometheus store each as a series.",
	  OPTION_SET, AT(created) },
	{ "--collector.disable-defaults", NULL,
	  "Switch off every collector that is not switched on by name.",
	  OPTION_SET, AT(setup.disable_defaults) },
	{ "--collectors.enabled", "LIST",
	  "Only these collectors, separated by commas, as in windows_exporter; [defaults] stands for those that are on by default.",
	  OPTION_READ, .takes = "names of collectors, separated by commas", .read = read_enabled },
	{ "--check-config", NULL, "Check the configuration and the collectors, and exit.",
	  OPTION_SET, AT(check_config) },
	{ "--print-config", NULL,
	  "Print the configuration that applies, with the defaults and the other flags, and exit.",
	  OPTION_SET, AT(print_config) },
	{ "--service", "ACTION",
	  "Windows service: install (with the other flags) or uninstall. Only the service manager "
	  "uses run.",
	  OPTION_WORD, AT(service), .words = service_actions, .first = SERVICE_INSTALL },
	{ "--log.level", "LEVEL", "debug, info, warning or error. Default: info.",
	  OPTION_READ, .takes = "debug, info, warning or error", .read = read_log_level,
	  .words = log_levels },
	{ "--log.format", "FORMAT", "logfmt or json. Default: logfmt.",
	  OPTION_READ, .takes = "logfmt or json", .read = read_log_format, .words = log_formats },
	{ "--describe", NULL, NULL, OPTION_SET, AT(describe) },
	{ "--version", NULL, "Print the version and the build, and exit.", OPTION_SET, AT(version) },
	{ "--help", NULL, "Print this help and exit.", OPTION_HELP, AT(help) },
	{ "--collector.", "NAME", "Switch a collector on or off; overrides the configuration.",
	  OPTION_SWITCH, .read = read_switch },
	/* The self-test is now a separate program. */
	{ "--self-test", .gone = SELFTEST("etw_selftest") },
	{ "--self-test.child", .gone = SELFTEST("etw_selftest") },
	{ "--self-test.out", .gone = SELFTEST("etw_selftest --out=DIR") },
	{ "--self-test.private", .gone = SELFTEST("etw_selftest --out=DIR --private") },
	{ "--self-test.service", .gone = SELFTEST("etw_selftest --out=DIR --service") },
	{ "--self-test.system-providers", .gone = SELFTEST("etw_selftest --system-providers") },
	{ "--web.systemd-socket",
	  .gone = "name the address of the socket with --web.listen-address, and disable the socket unit" },
	{ "--web.disable-created-samples",
	  .gone = "these samples are left out by default, so leave the flag out" },
	{ "--replay.threads", .gone = "one thread reads and counts a recording, so leave the flag out" },
	{ NULL },
};
/* clang-format on */

bool options_parse(struct options *options, int argc, char **argv, struct etw_error *err)
{
	const struct command_line line = {
		.options = flags,
		.hint = " (a recording is given with --replay.file)",
	};

	memset(options, 0, sizeof *options);
	options->timeout_offset_ns = 500000000; /* as blackbox_exporter */
	if (!command_line_read(&line, argc, argv, options, err)) {
		return false;
	}
	options->setup.live = options->runner.path_count == 0;
	options->setup.skip_off = true;
	return true;
}

void options_done(struct options *options)
{
	for (size_t i = 0; i < options->setup.switch_count; i++) {
		free(options->switches[i].collector);
	}
	free(options->switches);
	free((void *)options->replay_files);
	free((void *)options->listen_addresses);
	free((void *)options->allowed);
	memset(options, 0, sizeof *options);
}

static const char synopsis[] = "[--replay.file=FILE] [flags]";
static const char about[] = "Turns Event Tracing for Windows into Prometheus metrics";

void options_help(struct etw_text *out)
{
	enum { HELP_COLUMN = 37 };

	text_add_format(out, "usage: etw_exporter %s\n\n%s.\n\nflags:\n", synopsis, about);
	command_line_help(out, flags, '=', HELP_COLUMN);
}

void options_describe(struct etw_text *out)
{
	struct json json;

	json_init(&json, out, false);
	json_object_begin(&json);
	json_member_string(&json, "program", "etw_exporter");
	json_member_string(&json, "version", program_version.number);
	json_member_string(&json, "synopsis", synopsis);
	json_member_string(&json, "about", about);
	json_member_array(&json, "collectors");
	for (size_t i = 0; i < builtin_collector_count; i++) {
		json_string(&json, builtin_collectors[i].name);
	}
	json_array_end(&json);
	json_key(&json, "options");
	command_line_describe(&json, flags);
	json_object_end(&json);
	text_add_char(out, '\n');
}

/* ---- --print-config ---- */

/*
 * The file is printed by the tables from which it is read (config/yaml_rows.h). This file only
 * says what counts in place of the configuration: the collectors, each by name, because their
 * defaults and the flags decide too; the session that is there without being configured; and the
 * flags that have a key. Such values are nodes in the memory of the configuration.
 */

enum { OVERRIDES_MOST = 8 };

struct changes {
	struct yaml_tree *tree;
	struct yaml_override list[OVERRIDES_MOST];
	size_t count;
	bool failed; /* no memory */
};

/* Makes a node for one text. Returns NULL without memory. */
static struct yaml_node *text_node(struct changes *changes, const char *text)
{
	struct yaml_node *node = yaml_alloc(changes->tree, 1, sizeof *node, NULL);

	changes->failed |= !node;
	if (node) {
		*node = (struct yaml_node){ .type = YAML_TEXT, .text = text, .size = strlen(text) };
	}
	return node;
}

/* Adds an entry to the front of a list or map. */
static void put_first(struct yaml_node *list, struct yaml_node *entry, const struct yaml_node *key)
{
	if (entry) {
		entry->key = key;
		entry->next = list->first;
		list->first = entry;
		list->size++;
	}
}

static struct yaml_node * override(struct changes *changes, const char *path, enum yaml_type type)
{
	struct yaml_node *node = text_node(changes, "");

	if (node) {
		node->type = type;
		changes->list[changes->count++] =
			(struct yaml_override){ .path = path, .node = node };
	}
	return node;
}

static void override_text(struct changes *changes, const char *path, const char *text)
{
	struct yaml_node *node = override(changes, path, YAML_TEXT);

	if (node) {
		node->text = text;
		node->size = strlen(text);
	}
}

static void add_collectors(struct changes *changes, const struct rule_set *rules)
{
	struct yaml_node *map = override(changes, "collectors", YAML_MAP);
	const struct collector_info *collector;
	size_t count = 0;

	while (rule_set_collector(rules, count)) {
		count++;
	}
	while (map && count > 0) {
		collector = rule_set_collector(rules, --count);
		put_first(map, text_node(changes, collector->on ? "on" : "off"),
			  text_node(changes, collector->name));
	}
}

/* Adds the session of the kernel events, which exists even if the file names no session. Without
 * kernel events it would be a user session that has only the providers of the collectors, which a
 * file cannot express. */
static void add_session(struct changes *changes, const struct config *config)
{
	const struct yaml_node *sessions = yaml_find(yaml_root(config->tree), "sessions");
	size_t configured = sessions ? sessions->size : 0;
	struct yaml_node *map, *session;

	if (configured == config->session_count || !config->kernel_events) {
		return;
	}
	map = override(changes, "sessions", YAML_MAP);
	session = text_node(changes, "");
	if (map && session) {
		session->type = YAML_MAP;
		map->size = configured;
		map->first = sessions ? sessions->first : NULL;
		put_first(map, session, text_node(changes, config->sessions[0].name));
	}
}

/* Replaces the whole list at `path` by the values of a flag, if the flag was given. */
static void override_list(struct changes *changes, const char *path, const char *const *texts,
			  size_t count)
{
	struct yaml_node *list = count > 0 ? override(changes, path, YAML_LIST) : NULL;

	for (size_t i = count; list && i > 0; i--) {
		put_first(list, text_node(changes, texts[i - 1]), NULL);
	}
}

static void add_flags(struct changes *changes, const struct options *options)
{
	if (options->log_level_set) {
		override_text(changes, "log.level", log_level_name(options->log_level));
	}
	if (options->log_format_set) {
		override_text(changes, "log.format", log_format_name(options->log_format));
	}
	if (options->telemetry_path) {
		override_text(changes, "web.telemetry_path", options->telemetry_path);
	}
	override_list(changes, "web.listen_addresses", options->listen_addresses,
		      options->listen_address_count);
	override_list(changes, "web.allow", options->allowed, options->allowed_count);
}

void print_config(struct etw_text *out, const struct options *options, const struct setup *setup)
{
	struct changes changes = { .tree = setup->config->tree };
	struct yaml_overrides overrides;

	add_collectors(&changes, setup->rules);
	add_session(&changes, setup->config);
	add_flags(&changes, options);
	if (changes.failed) {
		out->failed = true;
		return;
	}
	overrides = (struct yaml_overrides){ .list = changes.list, .count = changes.count };
	yaml_print(out, &config_shape, setup->config->tree, &overrides);
}

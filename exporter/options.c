/* SPDX-License-Identifier: MIT */
/*
 * One row per flag: its name, what it takes, what --help says. A row's number is the case that
 * stores it.
 */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum flag {
	FLAG_CONFIG_FILE,
	FLAG_REPLAY_FILE,
	FLAG_REPLAY_SPEED,
	FLAG_REPLAY_LOOP,
	FLAG_REPLAY_SINGLE_PASS,
	FLAG_REPLAY_POINTER_SIZE,
	FLAG_ONCE,
	FLAG_LISTEN_ADDRESS,
	FLAG_TELEMETRY_PATH,
	FLAG_DISABLE_DEFAULTS,
	FLAG_CHECK_CONFIG,
	FLAG_SELF_TEST,
	FLAG_SERVICE,
	FLAG_LOG_LEVEL,
	FLAG_LOG_FORMAT,
	FLAG_VERSION,
	FLAG_HELP,
	FLAG_COUNT
};

static const struct {
	const char *name;  /* without the dashes */
	const char *value; /* what --help calls the value; NULL: the flag takes none */
	const char *help;
} flags[FLAG_COUNT] = {
	[FLAG_CONFIG_FILE] = { "config.file", "FILE",
			       "Configuration; without it the built-in defaults serve." },
	[FLAG_REPLAY_FILE] = { "replay.file", "FILE",
			       "Recording (.etl) to replay; repeat it for several, one after another." },
	[FLAG_REPLAY_SPEED] = { "replay.speed", "N",
				"0 as fast as possible, 1 as recorded, N times as fast. Default: 0." },
	[FLAG_REPLAY_LOOP] = { "replay.loop", NULL, "Start again at the end; counters go on." },
	[FLAG_REPLAY_SINGLE_PASS] = { "replay.single-pass", NULL,
				      "Read the recording once only: names that it tells last come too late." },
	[FLAG_REPLAY_POINTER_SIZE] = { "replay.pointer-size", "4|8",
				       "Pointer size of kernel events, when the recording does not tell the right one." },
	[FLAG_ONCE] = { "once", NULL, "Replay, print the metrics on standard output, exit." },
	[FLAG_LISTEN_ADDRESS] = { "web.listen-address", "ADDRESS",
				  "Address to serve on; may be repeated. Default: :9189." },
	[FLAG_TELEMETRY_PATH] = { "web.telemetry-path", "PATH",
				  "Path of the metrics. Default: /metrics." },
	[FLAG_DISABLE_DEFAULTS] = { "collector.disable-defaults", NULL,
				    "Switch every collector off that is not asked for." },
	[FLAG_CHECK_CONFIG] = { "check-config", NULL,
				"Check the configuration and the collectors, exit." },
	[FLAG_SELF_TEST] = { "self-test", NULL,
			     "On Windows: do what is known for ten seconds, compare with what is "
			     "counted, exit." },
	[FLAG_SERVICE] = { "service", "ACTION",
			   "Windows service: install (with the other flags given), uninstall; run is the "
			   "service manager's." },
	[FLAG_LOG_LEVEL] = { "log.level", "LEVEL",
			     "debug, info, warning or error. Default: info." },
	[FLAG_LOG_FORMAT] = { "log.format", "FORMAT", "logfmt or json. Default: logfmt." },
	[FLAG_VERSION] = { "version", NULL, "Print version and build, exit." },
	[FLAG_HELP] = { "help", NULL, "Print this, exit." },
};

static bool bad_value(enum flag flag, const char *value, const char *expected, struct error *err)
{
	return error_set(err, ERROR_CONFIG, "--%s takes %s, not \"%s\"", flags[flag].name, expected,
			 value);
}

static bool add_text(const char ***list, size_t *count, const char *text, struct error *err)
{
	const char **grown = realloc((void *)*list, (*count + 1) * sizeof *grown);

	if (!grown) {
		return error_set(err, ERROR_NO_MEMORY, "no memory for the command line");
	}
	grown[(*count)++] = text;
	*list = grown;
	return true;
}

static bool add_switch(struct options *options, const char *collector, bool on, struct error *err)
{
	struct config_switch *grown =
		realloc(options->switches, (options->switch_count + 1) * sizeof *grown);
	char *name = text_duplicate(collector, strlen(collector));

	if (grown) {
		options->switches = grown;
	}
	if (!grown || !name) {
		free(name);
		return error_set(err, ERROR_NO_MEMORY, "no memory for the command line");
	}
	grown[options->switch_count++] = (struct config_switch){ .collector = name, .on = on };
	return true;
}

static bool parse_speed(const char *value, double *speed)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end != '\0' || !isfinite(number) || number < 0) {
		return false;
	}
	*speed = number;
	return true;
}

static bool parse_service(const char *value, enum service_action *action)
{
	static const char *const actions[] = {
		[SERVICE_INSTALL] = "install",
		[SERVICE_UNINSTALL] = "uninstall",
		[SERVICE_RUN] = "run",
	};

	for (unsigned i = SERVICE_INSTALL; i <= SERVICE_RUN; i++) {
		if (strcmp(value, actions[i]) == 0) {
			*action = (enum service_action)i;
			return true;
		}
	}
	return false;
}

static bool store(struct options *options, enum flag flag, const char *value, struct error *err)
{
	switch (flag) {
	case FLAG_CONFIG_FILE:
		options->config_file = value;
		return true;
	case FLAG_REPLAY_FILE:
		return add_text(&options->replay_files, &options->replay_file_count, value, err);
	case FLAG_REPLAY_SPEED:
		return parse_speed(value, &options->replay_speed) ||
		       bad_value(flag, value, "a number from 0", err);
	case FLAG_REPLAY_LOOP:
		options->replay_loop = true;
		return true;
	case FLAG_REPLAY_SINGLE_PASS:
		options->replay_single_pass = true;
		return true;
	case FLAG_REPLAY_POINTER_SIZE:
		if (strcmp(value, "4") != 0 && strcmp(value, "8") != 0) {
			return bad_value(flag, value, "4 or 8", err);
		}
		options->replay_pointer_size = (uint8_t)(value[0] - '0');
		return true;
	case FLAG_ONCE:
		options->once = true;
		return true;
	case FLAG_LISTEN_ADDRESS:
		return add_text(&options->listen_addresses, &options->listen_address_count, value,
				err);
	case FLAG_TELEMETRY_PATH:
		if (value[0] != '/') {
			return bad_value(flag, value, "a path that begins with a slash", err);
		}
		options->telemetry_path = value;
		return true;
	case FLAG_DISABLE_DEFAULTS:
		options->disable_defaults = true;
		return true;
	case FLAG_CHECK_CONFIG:
		options->check_config = true;
		return true;
	case FLAG_SELF_TEST:
		options->self_test = true;
		return true;
	case FLAG_SERVICE:
		return parse_service(value, &options->service) ||
		       bad_value(flag, value, "install, uninstall or run", err);
	case FLAG_LOG_LEVEL:
		options->log_level_set = true;
		return log_level_parse(value, &options->log_level) ||
		       bad_value(flag, value, "debug, info, warning or error", err);
	case FLAG_LOG_FORMAT:
		options->log_format_set = true;
		return log_format_parse(value, &options->log_format) ||
		       bad_value(flag, value, "logfmt or json", err);
	case FLAG_VERSION:
		options->version = true;
		return true;
	case FLAG_HELP:
		options->help = true;
		return true;
	case FLAG_COUNT:
		break;
	}
	return false;
}

static enum flag find_flag(const char *name, size_t size)
{
	unsigned i = 0;

	while (i < FLAG_COUNT &&
	       !(strlen(flags[i].name) == size && memcmp(flags[i].name, name, size) == 0)) {
		i++;
	}
	return (enum flag)i;
}

/* How many letters from the start two names share: enough to suggest what was meant. */
static size_t shared_start(const char *a, const char *b)
{
	size_t size = 0;

	while (a[size] && a[size] == b[size]) {
		size++;
	}
	return size;
}

static bool unknown_flag(const char *argument, struct error *err)
{
	const char *nearest = NULL;
	size_t most = 2;

	for (unsigned i = 0; i < FLAG_COUNT; i++) {
		size_t shared = shared_start(argument + 2, flags[i].name);

		if (shared > most) {
			most = shared;
			nearest = flags[i].name;
		}
	}
	if (nearest) {
		return error_set(err, ERROR_CONFIG,
				 "unknown flag %s; did you mean --%s? (--help lists all)", argument,
				 nearest);
	}
	return error_set(err, ERROR_CONFIG, "unknown flag %s (--help lists all)", argument);
}

/* --collector.NAME and --no-collector.NAME; *taken tells whether the argument is one. */
static bool parse_switch(struct options *options, const char *argument, bool *taken,
			 struct error *err)
{
	static const char on[] = "--collector.";
	static const char off[] = "--no-collector.";

	*taken = true;
	if (strncmp(argument, on, sizeof on - 1) == 0 && argument[sizeof on - 1]) {
		return add_switch(options, argument + sizeof on - 1, true, err);
	}
	if (strncmp(argument, off, sizeof off - 1) == 0 && argument[sizeof off - 1]) {
		return add_switch(options, argument + sizeof off - 1, false, err);
	}
	*taken = false;
	return true;
}

bool options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	memset(options, 0, sizeof *options);
	for (int i = 1; i < argc; i++) {
		const char *argument = argv[i];
		const char *equals = strchr(argument, '=');
		const char *value = equals ? equals + 1 : NULL;
		enum flag flag;
		bool taken;

		if (strcmp(argument, "-h") == 0) {
			options->help = true;
			continue;
		}
		if (strncmp(argument, "--", 2) != 0) {
			return error_set(
				err, ERROR_CONFIG,
				"unexpected argument \"%s\" (a recording is given with --replay.file)",
				argument);
		}
		flag = find_flag(argument + 2,
				 equals ? (size_t)(equals - argument - 2) : strlen(argument + 2));
		if (flag == FLAG_COUNT) {
			if (!parse_switch(options, argument, &taken, err)) {
				return false;
			}
			if (!taken) {
				return unknown_flag(argument, err);
			}
			continue;
		}
		if (!flags[flag].value && value) {
			return error_set(err, ERROR_CONFIG, "--%s takes no value",
					 flags[flag].name);
		}
		if (flags[flag].value && !value) {
			if (i + 1 == argc) {
				return error_set(err, ERROR_CONFIG, "--%s needs a value: %s",
						 flags[flag].name, flags[flag].value);
			}
			value = argv[++i];
		}
		if (!store(options, flag, value, err)) {
			return false;
		}
	}
	return true;
}

void options_done(struct options *options)
{
	for (size_t i = 0; i < options->switch_count; i++) {
		free(options->switches[i].collector);
	}
	free(options->switches);
	free((void *)options->replay_files);
	free((void *)options->listen_addresses);
	memset(options, 0, sizeof *options);
}

void options_help(FILE *out)
{
	fputs("usage: etw_exporter [--replay.file=FILE] [flags]\n\n"
	      "Turns Event Tracing for Windows into Prometheus metrics.\n\nflags:\n",
	      out);
	for (unsigned i = 0; i < FLAG_COUNT; i++) {
		char left[64];

		snprintf(left, sizeof left, "--%s%s%s", flags[i].name, flags[i].value ? "=" : "",
			 flags[i].value ? flags[i].value : "");
		fprintf(out, "  %-34s %s\n", left, flags[i].help);
	}
	fprintf(out, "  %-34s %s\n", "--[no-]collector.NAME",
		"Switch a collector on or off; the command line wins.");
}

/* SPDX-License-Identifier: MIT */
/*
 * etw_selftest tests whether etw_exporter counts the events of this machine correctly.
 *
 * Without --out it runs the self-test (selftest/self_test.h) and prints its table. With --out it
 * runs the kit around the self-test (selftest/kit.h) and prints the summary of the files.
 *
 * It is a separate program because the exporter runs as a service with the rights of LocalSystem
 * and should contain no code for tests. It counts with the exporter's libraries, so its results
 * apply to the exporter too. This process performs the activity, and starts itself with --child for
 * the tree of processes.
 *
 * Exit status: 0 every row holds, 1 a row failed or nothing could be compared, 2 bad usage.
 */
#include <stdio.h>
#include <stdlib.h>

#include <etw/session.h>

#include "base/command_line.h"
#include "base/log.h"
#include "base/os.h"
#include "base/print.h"
#include "exporter/version.h"
#include "exporter/windows/crash.h"
#include "selftest/kit.h"
#include "selftest/kit_etw.h"
#include "selftest/self_test.h"

enum exit_status { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_BAD_USAGE = 2 };

/* ---- the command line ---- */

/* Texts are borrowed from argv. */
struct options {
	const char *folder; /* NULL: only the table is printed */
	bool private_names;
	bool service;
	bool system_providers;
	const char *child; /* the work of a child of the activity; NULL: this is no child */
	enum log_level log_level;
	bool describe; /* print the flags as JSON, for packaging/pages.py */
	bool version;
	bool help;
};

#define AT(member) .offset = offsetof(struct options, member)

/* The words are in the order of enum log_level. */
static const char *const log_levels[] = { "debug", "info", "warning", "error", NULL };

/* clang-format off */
static const struct command_option flags[] = {
	{ "--out", "DIR", "Write files to DIR that show which assumptions about Windows hold.",
	  OPTION_TEXT, AT(folder) },
	{ "--private", NULL,
	  "With --out: mask names of the machine, of users and in paths; no event logs.",
	  OPTION_SET, AT(private_names) },
	{ "--service", NULL,
	  "With --out: also install, run and remove a service named etw_exporter_probe.",
	  OPTION_SET, AT(service) },
	{ "--system-providers", NULL,
	  "Use a session with system providers (Windows 11, Server 2022).",
	  OPTION_SET, AT(system_providers) },
	{ "--child", "WORK", NULL, OPTION_TEXT, AT(child) },
	{ "--log.level", "LEVEL", "debug, info, warning or error. Default: warning.",
	  OPTION_WORD, AT(log_level), .words = log_levels },
	{ "--describe", NULL, NULL, OPTION_SET, AT(describe) },
	{ "--version", NULL, "Print the version and the build, and exit.", OPTION_SET, AT(version) },
	{ "--help", NULL, "Print this help and exit.", OPTION_HELP, AT(help) },
	{ NULL },
};
/* clang-format on */

static const char synopsis[] = "[flags]";
static const char about[] =
	"Performs a known activity and compares it with what etw_exporter counts on this machine";

static void add_help(struct etw_text *out)
{
	enum { HELP_COLUMN = 23 };

	text_add_format(out, "usage: etw_selftest %s\n\n%s.\n\nflags:\n", synopsis, about);
	command_line_help(out, flags, '=', HELP_COLUMN);
}

static void add_description(struct etw_text *out)
{
	struct json json;

	json_init(&json, out, false);
	json_object_begin(&json);
	json_member_string(&json, "program", "etw_selftest");
	json_member_string(&json, "version", program_version.number);
	json_member_string(&json, "synopsis", synopsis);
	json_member_string(&json, "about", about);
	json_key(&json, "options");
	command_line_describe(&json, flags);
	json_object_end(&json);
	text_add_char(out, '\n');
}

static bool options_fit(const struct options *options, struct etw_error *err)
{
	const char *flag = options->private_names ? "--private" :
			   options->service       ? "--service" :
						    NULL;

	return !flag || options->folder ||
	       error_set(err, ETW_ERROR_CONFIG, "%s needs --out=DIR", flag);
}

/* ---- the self-test ---- */

static bool wait_unless_stopped(void *context, uint64_t ms)
{
	(void)context;
	return os_stop_wait(ms * 1000000, NULL, NULL) == NULL;
}

/* Makes the report: a table without --out, otherwise a summary of the files. */
static bool make_report(const struct options *options, const struct self_test_options *self_test,
			struct etw_text *report, bool *passed, struct etw_error *err)
{
	const struct kit_options kit = { .folder = options->folder,
					 .private_names = options->private_names,
					 .service = options->service,
					 .self_test = *self_test };

	return kit.folder ? etw_here(err) && kit_run(&kit, report, passed, err) :
			    self_test_run(self_test, report, passed, err);
}

/* For a program that dies: sessions of the exporter's code, and those that the kit's probes start. */
static void stop_all_sessions(void)
{
	etw_live_emergency_stop();
	kit_etw_clean();
}

/* Performs the self-test and prints the result. Returns false if a row failed. */
static bool run_self_test(const struct options *options, struct etw_error *err)
{
	const struct activity_work_options activity = { .wait = wait_unless_stopped };
	struct activity_work *work = activity_open(&activity, err);
	char *process = work ? activity_process(err) : NULL;
	const struct self_test_options self_test = {
		.prepare = activity_prepare,
		.act = activity_run,
		.context = work,
		.process = process,
		.wait = wait_unless_stopped,
		.system_providers = options->system_providers,
		.idle_ms = 3000,
		.duration_ms = 15000,
	};
	struct etw_text report = { 0 };
	bool passed = false;
	bool done;

	log_configure(options->log_level, LOG_LOGFMT);
	if (process && os_is_terminal(stderr)) {
		fprintf(stderr, "etw_selftest: this takes about half a minute\n");
	}
	done = process && os_stop_catch(err) && crash_catch(stop_all_sessions, err) &&
	       make_report(options, &self_test, &report, &passed, err);
	done = done && print_text(&report, err);
	text_free(&report);
	free(process);
	activity_close(work);
	log_report_suppressed(true);
	return done && (passed || error_set(err, ETW_ERROR_SYSTEM, "the self-test failed"));
}

/* ---- the program ---- */

static bool run(const struct options *options, struct etw_error *err)
{
	struct etw_text out = { 0 };

	if (options->help) {
		add_help(&out);
	} else if (options->describe) {
		add_description(&out);
	} else if (options->version) {
		text_add_format(&out, "etw_selftest %s (revision %s, %s, %s)\n",
				program_version.number, program_version.revision,
				program_version.compiler, program_version.arch);
	} else {
		return options->child ? activity_child(options->child, err) :
					run_self_test(options, err);
	}
	return print_text(&out, err);
}

/* Prints an error and returns the exit status. An error without a sentence is not printed, because
 * the reader of standard output has closed it. */
static int complain(const struct etw_error *err, enum exit_status status)
{
	if (err->text[0] != '\0') {
		print_failure("etw_selftest: %s", err->text);
	}
	return (int)status;
}

int main(int argc, char **argv)
{
	const struct command_line line = { .options = flags, .hint = "" };
	struct options options = { .log_level = LOG_WARNING };
	struct etw_error err = { 0 };

	if (!os_program_start(&argc, &argv, &err)) {
		return complain(&err, EXIT_FAILED);
	}
	if (!command_line_read(&line, argc, argv, &options, &err) || !options_fit(&options, &err)) {
		return complain(&err, EXIT_BAD_USAGE);
	}
	return run(&options, &err) ? EXIT_PASSED : complain(&err, EXIT_FAILED);
}

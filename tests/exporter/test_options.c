/* SPDX-License-Identifier: MIT */
/*
 * The command line: what it may say, and the one line that answers what it may not.
 */
#include "exporter/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 12 };

/* Parses a NULL-terminated list of arguments, the program's name left out. */
static bool parse(struct options *options, const char *const *arguments, struct etw_error *err)
{
	char program[] = "etw_exporter";
	char *argv[ARGUMENTS_MAX + 2] = { program };
	int argc = 1;

	for (; arguments[argc - 1]; argc++) {
		argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
	}
	return options_parse(options, argc, argv, err);
}

static void values_follow_an_equals_sign_or_are_the_next_argument(void **state)
{
	static const char *const forms[][ARGUMENTS_MAX] = {
		{ "--replay.file=a.etl", "--replay.speed=2.5", "--web.telemetry-path=/m" },
		{ "--replay.file", "a.etl", "--replay.speed", "2.5", "--web.telemetry-path", "/m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		struct options options;

		assert_true(parse(&options, forms[i], NULL));
		assert_int_equal(options.runner.path_count, 1);
		assert_string_equal(options.runner.paths[0], "a.etl");
		assert_float_equal(options.runner.speed, 2.5, 0);
		assert_string_equal(options.telemetry_path, "/m");
		options_done(&options);
	}
}

static void repeated_flags_keep_their_order(void **state)
{
	static const char *const arguments[] = {
		"--replay.file=a",         "--replay.file=b",
		"--collector.cpu",         "--no-collector.cpu",
		"--collector.sched",       "--web.listen-address=:1",
		"--web.listen-address=:2", NULL
	};
	struct options options;

	(void)state;
	assert_true(parse(&options, arguments, NULL));
	assert_int_equal(options.runner.path_count, 2);
	assert_string_equal(options.runner.paths[1], "b");
	assert_int_equal(options.listen_address_count, 2);
	assert_string_equal(options.listen_addresses[1], ":2");
	assert_int_equal(options.setup.switch_count, 3);
	assert_string_equal(options.setup.switches[1].collector, "cpu");
	assert_true(options.setup.switches[0].on);
	assert_false(options.setup.switches[1].on);
	assert_string_equal(options.setup.switches[2].collector, "sched");
	options_done(&options);
}

static void a_list_of_collectors_is_read_as_windows_exporter_does(void **state)
{
	static const char *const alone[] = { "--collectors.enabled=cpu,file", NULL };
	static const char *const added[] = { "--collectors.enabled", "[defaults],cpu", NULL };
	static const char *const wrong[] = { "--collectors.enabled=cpu,,file", NULL };
	struct options options;

	(void)state;
	assert_true(parse(&options, alone, NULL));
	assert_true(options.setup.disable_defaults);
	assert_int_equal(options.setup.switch_count, 2);
	assert_string_equal(options.setup.switches[1].collector, "file");
	assert_true(options.setup.switches[1].on);
	options_done(&options);

	assert_true(parse(&options, added, NULL));
	assert_false(options.setup.disable_defaults);
	assert_int_equal(options.setup.switch_count, 1);
	options_done(&options);

	assert_false(parse(&options, wrong, NULL));
	options_done(&options);
}

static void every_flag_without_a_value_sets_its_switch(void **state)
{
	static const char *const arguments[] = { "--once",
						 "--replay.loop",
						 "--replay.single-pass",
						 "--collector.disable-defaults",
						 "--check-config",
						 "--version",
						 "--help",
						 NULL };
	struct options options;

	(void)state;
	assert_true(parse(&options, arguments, NULL));
	assert_true(options.once && options.runner.loop && options.runner.file.single_pass);
	assert_true(options.setup.disable_defaults && options.check_config);
	assert_true(options.version && options.help);
	options_done(&options);
}

static void without_arguments_everything_is_left_to_the_configuration(void **state)
{
	static const char *const none[] = { NULL };
	struct options options;

	(void)state;
	assert_true(parse(&options, none, NULL));
	assert_null(options.config_file);
	assert_null(options.telemetry_path);
	assert_int_equal(options.listen_address_count, 0);
	assert_int_equal(options.runner.file.pointer_size, 0);
	assert_float_equal(options.runner.speed, 0, 0);
	assert_false(options.log_level_set || options.log_format_set);
	options_done(&options);
}

static void web_flags_have_defaults(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const all[] = { "--web.external-url=https://proxy/etw",
					   "--web.route-prefix=/",
					   "--web.max-requests=7",
					   "--web.timeout-offset=0.25",
					   "--web.disable-exporter-metrics",
					   "--web.enable-lifecycle",
					   NULL };
	struct options options;

	(void)state;
	assert_true(parse(&options, none, NULL));
	assert_null(options.external_url);
	assert_null(options.route_prefix);
	assert_int_equal(options.max_scrapes, 0);
	assert_int_equal(options.timeout_offset_ns, 500000000);
	assert_false(options.disable_exporter_metrics || options.enable_lifecycle);
	options_done(&options);
	assert_true(parse(&options, all, NULL));
	assert_string_equal(options.external_url, "https://proxy/etw");
	assert_string_equal(options.route_prefix, "/");
	assert_int_equal(options.max_scrapes, 7);
	assert_int_equal(options.timeout_offset_ns, 250000000);
	assert_true(options.disable_exporter_metrics && options.enable_lifecycle);
	options_done(&options);
}

static void log_flags_are_remembered_as_given(void **state)
{
	static const char *const arguments[] = { "--log.level=debug", "--log.format", "json",
						 NULL };
	struct options options;

	(void)state;
	assert_true(parse(&options, arguments, NULL));
	assert_true(options.log_level_set && options.log_format_set);
	assert_int_equal(options.log_level, LOG_DEBUG);
	assert_int_equal(options.log_format, LOG_JSON);
	options_done(&options);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *argument;
		const char *sentence;
	} cases[] = {
		{ "--replay.fiel=a",
		  "unknown flag --replay.fiel; did you mean --replay.file? (--help lists all)" },
		{ "--colector.cpu",
		  "unknown flag --colector.cpu; did you mean --collector.cpu? (--help lists all)" },
		{ "--no-colector.cpu",
		  "unknown flag --no-colector.cpu; did you mean --no-collector.cpu? (--help lists all)" },
		{ "--bogus", "unknown flag --bogus (--help lists all)" },
		{ "--", "unknown flag -- (--help lists all)" },
		{ "-v", "unknown flag -v (--help lists all)" },
		{ "-", "unexpected argument \"-\" (a recording is given with --replay.file)" },
		{ "--replay",
		  "unknown flag --replay; did you mean --replay.file? (--help lists all)" },
		{ "a.etl",
		  "unexpected argument \"a.etl\" (a recording is given with --replay.file)" },
		{ "--once=yes", "--once takes no value" },
		{ "--service=start", "--service takes install, uninstall or run, not \"start\"" },
		{ "--config.file", "--config.file needs a value: FILE" },
		{ "--replay.file=", "--replay.file needs a value: FILE" },
		{ "--web.config.file=", "--web.config.file needs a value: FILE" },
		{ "--replay.speed=fast", "--replay.speed takes a number from 0, not \"fast\"" },
		{ "--replay.speed=-1", "--replay.speed takes a number from 0, not \"-1\"" },
		{ "--replay.speed=nan", "--replay.speed takes a number from 0, not \"nan\"" },
		{ "--replay.speed=", "--replay.speed takes a number from 0, not \"\"" },
		{ "--replay.pointer-size=16", "--replay.pointer-size takes 4 or 8, not \"16\"" },
		{ "--web.telemetry-path=m",
		  "--web.telemetry-path takes a path that begins with a slash, not \"m\"" },
		{ "--web.max-requests=-1",
		  "--web.max-requests takes a number from 0 to 72, not \"-1\"" },
		{ "--web.max-requests=many",
		  "--web.max-requests takes a number from 0 to 72, not \"many\"" },
		{ "--web.max-requests=73",
		  "--web.max-requests takes a number from 0 to 72, not \"73\"" },
		{ "--web.timeout-offset=61",
		  "--web.timeout-offset takes a number of seconds from 0 to 60, not \"61\"" },
		{ "--web.timeout-offset=-1",
		  "--web.timeout-offset takes a number of seconds from 0 to 60, not \"-1\"" },
		{ "--self-test",
		  "--self-test no longer exists; run etw_selftest, which is in the folder of etw_exporter on Windows" },
		{ "--self-test=x",
		  "--self-test no longer exists; run etw_selftest, which is in the folder of etw_exporter on Windows" },
		{ "--self-test.out=x",
		  "--self-test.out no longer exists; run etw_selftest --out=DIR, which is in the folder of etw_exporter on Windows" },
		{ "--self-test.private",
		  "--self-test.private no longer exists; run etw_selftest --out=DIR --private, which is in the folder of etw_exporter on Windows" },
		{ "--self-test.service",
		  "--self-test.service no longer exists; run etw_selftest --out=DIR --service, which is in the folder of etw_exporter on Windows" },
		{ "--self-test.system-providers",
		  "--self-test.system-providers no longer exists; run etw_selftest --system-providers, which is in the folder of etw_exporter on Windows" },
		{ "--self-test.child=1",
		  "--self-test.child no longer exists; run etw_selftest, which is in the folder of etw_exporter on Windows" },
		{ "--web.systemd-socket",
		  "--web.systemd-socket no longer exists; name the address of the socket with --web.listen-address, and disable the socket unit" },
		{ "--log.level=loud",
		  "--log.level takes debug, info, warning or error, not \"loud\"" },
		{ "--replay.threads=2",
		  "--replay.threads no longer exists; one thread reads and counts a recording, so leave the flag out" },
		{ "--log.format=xml", "--log.format takes logfmt or json, not \"xml\"" },
		{ "--collector.",
		  "unknown flag --collector.; did you mean --collector.disable-defaults? (--help lists all)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *const arguments[] = { cases[i].argument, NULL };
		struct options options;
		struct etw_error err = { 0 };

		assert_false(parse(&options, arguments, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
		options_done(&options);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_follow_an_equals_sign_or_are_the_next_argument),
		cmocka_unit_test(repeated_flags_keep_their_order),
		cmocka_unit_test(a_list_of_collectors_is_read_as_windows_exporter_does),
		cmocka_unit_test(every_flag_without_a_value_sets_its_switch),
		cmocka_unit_test(without_arguments_everything_is_left_to_the_configuration),
		cmocka_unit_test(web_flags_have_defaults),
		cmocka_unit_test(log_flags_are_remembered_as_given),
		cmocka_unit_test(what_is_wrong_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

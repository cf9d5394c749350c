/* SPDX-License-Identifier: MIT */
/*
 * Names of processes in the configuration: `process_names:` and what is wrong with it. What the
 * rules do is in tests/exporter/track/test_process_names.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "exporter/setup.h"
#include "tests/support/temporary.h"

/* The first error of a set-up with this configuration is in err. */
static bool opens(const char *text, struct etw_error *err)
{
	const struct setup_options options = { .disable_defaults = true };
	char path[TEMPORARY_PATH_SIZE];
	struct setup setup;
	bool good;

	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	good = setup_open(&setup, config_load(path, NULL, err), &options, err);
	remove(path);
	if (good) {
		setup_close(&setup);
	}
	return good;
}

static void rules_and_lists_are_read_in_their_order(void **state)
{
	static const char text[] =
		"process_names:\n"
		"  - iis\n"
		"  - { image: a*, parent: b, path: '**\\\\c.exe', command_line: '-x (.)', name: '$1' }\n"
		"limits: { process_names: 7 }\n";
	char path[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };
	struct config *config;

	(void)state;
	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	config = config_load(path, NULL, &err);
	remove(path);
	assert_string_equal(err.text, "");
	assert_int_equal(config->process_name_count, 2);
	assert_string_equal(config->process_names[0].list, "iis");
	assert_null(config->process_names[1].list);
	assert_string_equal(config->process_names[1].image, "a*");
	assert_string_equal(config->process_names[1].parent, "b");
	assert_string_equal(config->process_names[1].path, "**\\\\c.exe");
	assert_string_equal(config->process_names[1].command_line, "-x (.)");
	assert_string_equal(config->process_names[1].name, "$1");
	assert_int_equal(config->process_names[1].line, 3);
	assert_int_equal(config->limits.process_names, 7);
	config_free(config);
	assert_true(opens(text, &err));
}

static void errors_name_file_line_and_column_of_process_names(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "process_names: iis\n", "1:16: process_names: expected a list such as [a, b], found text" },
		{ "process_names: [isi]\n",
		  "1:17: unknown list of names 'isi'; did you mean 'iis'?" },
		{ "process_names: [{ name: a }]\n",
		  "1:17: process_names: an entry needs image, parent, path or command_line" },
		{ "process_names: [{ image: a }]\n", "1:17: process_names: 'name' is missing" },
		{ "process_names: [{ image: a, name: _b }]\n", "name: '_b' begins with _" },
		{ "process_names: [{ image: a, name: 'x/$1' }]\n",
		  "name: 'x/$1' refers to a group of command_line, which the entry lacks" },
		{ "process_names: [{ command_line: '(', name: a }]\n",
		  "1:17: process_names: regular expression '(': missing closing parenthesis" },
		{ "process_names: [{ command_line: 'x', name: '$1' }]\n",
		  "1:17: process_names: replacement '$1': the expression has 0 groups" },
		{ "process_names: [{ path: 'x', name: a }]\n", "can match no path" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		print_message("  %s", cases[i].text);
		assert_false(opens(cases[i].text, &err));
		if (!strstr(err.text, cases[i].sentence)) {
			fail_msg("said: %s", err.text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_lists_are_read_in_their_order),
		cmocka_unit_test(errors_name_file_line_and_column_of_process_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

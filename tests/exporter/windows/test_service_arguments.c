/* SPDX-License-Identifier: MIT */
/*
 * The command line that the service manager starts. test_service_win32 checks with
 * CommandLineToArgvW() itself that Windows splits the lines as they were put together.
 */
#include "exporter/windows/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* By the rules in "Parsing C command-line arguments", Microsoft Learn. */
static void an_argument_is_quoted_as_windows_reads_it(void **state)
{
	static const struct {
		const char *argument, *quoted;
	} cases[] = {
		{ "plain", "plain" },
		{ "--x=C:\\a\\b.yaml", "--x=C:\\a\\b.yaml" },
		{ "ends in \\", "\"ends in \\\\\"" },
		{ "ends\\", "ends\\" },
		{ "", "\"\"" },
		{ "two words", "\"two words\"" },
		{ "tab\there", "\"tab\there\"" },
		{ "say \"x\"", "\"say \\\"x\\\"\"" },
		{ "a\"b", "\"a\\\"b\"" },
		{ "a\\\"b", "\"a\\\\\\\"b\"" },
		{ "a\\\\b c", "\"a\\\\b c\"" },
		{ "gr\xc3\xb6\xc3\x9f"
		  "e",
		  "gr\xc3\xb6\xc3\x9f"
		  "e" },
		{ "%PATH%&^", "%PATH%&^" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text line = { 0 };

		service_add_argument(&line, cases[i].argument);
		assert_string_equal(line.data, cases[i].quoted);
		text_free(&line);
	}
}

/* As if the current folder were C:\here. */
static char *below_here(const char *path)
{
	char full[128];

	snprintf(full, sizeof full, "%s%s", path[1] == ':' ? "" : "C:\\here now\\", path);
	return text_duplicate(full, strlen(full));
}

static char *no_memory(const char *path)
{
	(void)path;
	return NULL;
}

static void the_service_gets_the_other_arguments_with_paths_from_the_root(void **state)
{
	static const struct {
		const char *arguments[6];
		const char *line;
	} cases[] = {
		{ { "--service=install" }, "" },
		{ { "--service", "install" }, "" },
		{ { "--service", "install", "--collector.cpu" }, " --collector.cpu" },
		{ { "--log.level=debug", "--service=install", "--web.listen-address", "[::1]:1" },
		  " --log.level=debug --web.listen-address [::1]:1" },
		{ { "--config.file=a.yaml", "--service=install" },
		  " \"--config.file=C:\\here now\\a.yaml\"" },
		{ { "--service=install", "--config.file", "a.yaml", "--collector.cpu" },
		  " \"--config.file=C:\\here now\\a.yaml\" --collector.cpu" },
		{ { "--config.file", "D:\\etc\\a.yaml", "--service=install" },
		  " --config.file=D:\\etc\\a.yaml" },
		{ { "--web.config.file=web.yml" }, " \"--web.config.file=C:\\here now\\web.yml\"" },
		{ { "--replay.file=a.etl", "--replay.file", "--config.file", "--replay.loop" },
		  " \"--replay.file=C:\\here now\\a.etl\""
		  " \"--replay.file=C:\\here now\\--config.file\" --replay.loop" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char program[] = "etw_exporter", arguments[6][64], expected[256];
		char *argv[8] = { program };
		int argc = 1;
		struct etw_text line = { 0 };
		struct etw_error err = { 0 };

		for (; argc <= 6 && cases[i].arguments[argc - 1]; argc++) {
			snprintf(arguments[argc - 1], sizeof arguments[0], "%s",
				 cases[i].arguments[argc - 1]);
			argv[argc] = arguments[argc - 1];
		}
		assert_true(service_command_line(&line, "C:\\Program Files\\e.exe", argc, argv,
						 below_here, &err));
		snprintf(expected, sizeof expected, "\"C:\\Program Files\\e.exe\" --service=run%s",
			 cases[i].line);
		assert_string_equal(line.data, expected);
		text_free(&line);
	}
}

static void a_line_longer_than_windows_takes_is_refused(void **state)
{
	char program[] = "x", *word = calloc(20000, 1);
	char *argv[] = { program, word, word };
	struct etw_text line = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_non_null(word);
	memset(word, 'a', 19999);
	assert_true(service_command_line(&line, "C:\\e.exe", 2, argv, below_here, &err));
	text_clear(&line);
	assert_false(service_command_line(&line, "C:\\e.exe", 3, argv, below_here, &err));
	assert_string_equal(err.text,
			    "a service's command line has room for 32766 characters, not 40024");
	text_free(&line);
	free(word);
}

static void a_path_without_memory_is_an_error(void **state)
{
	char program[] = "x", flag[] = "--config.file=a";
	char *argv[] = { program, flag };
	struct etw_text line = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_false(service_command_line(&line, "C:\\e.exe", 2, argv, no_memory, &err));
	assert_int_equal(err.code, ETW_ERROR_NO_MEMORY);
	text_free(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_argument_is_quoted_as_windows_reads_it),
		cmocka_unit_test(the_service_gets_the_other_arguments_with_paths_from_the_root),
		cmocka_unit_test(a_line_longer_than_windows_takes_is_refused),
		cmocka_unit_test(a_path_without_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("service_arguments", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * A table of each type of option, and what becomes of arguments.
 */
#include "base/command_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum colour { NO_COLOUR, RED, GREEN };

struct target {
	bool set, help;
	const char *text;
	enum colour colour;
	uint8_t digit;
	uint64_t count;
	int even;
	char switches[64], words[64];
};

static bool read_even(void *member, const char *value, struct etw_error *err)
{
	if (value[0] == '9') {
		return error_set(err, ETW_ERROR_LIMIT, "no nines");
	}
	*(int *)member = value[0] - '0';
	return (value[0] - '0') % 2 == 0;
}

static bool read_switch(void *member, const char *argument, struct etw_error *err)
{
	(void)err;
	strcat(member, argument);
	return true;
}

static bool read_word(void *target, const char *word, struct etw_error *err)
{
	struct target *read = target;

	strcat(strcat(read->words, word), " ");
	return read->words[0] != '!' || error_set(err, ETW_ERROR_CONFIG, "no such word");
}

#define AT(member) .offset = offsetof(struct target, member)

static const char *const colours[] = { "red", "green", NULL };
static const char *const digits[] = { "4", "8", NULL };

static const struct command_option options[] = {
	{ "--set", NULL, "sets", OPTION_SET, AT(set) },
	{ "--text", "TEXT", "a text", OPTION_TEXT, AT(text) },
	{ "--colour", "COLOUR", "red or green", OPTION_WORD, AT(colour), .words = colours,
	  .first = RED },
	{ "--digit", "4|8", "of two", OPTION_DIGIT, AT(digit), .words = digits },
	{ "--count", "N", "how many", OPTION_COUNT, AT(count) },
	{ "--even", "DIGIT", "an even one", OPTION_READ, AT(even), .takes = "an even digit",
	  .read = read_even },
	{ "--part.all", NULL, "looks like a switch", OPTION_SET, AT(set) },
	{ "--part.", "NAME", "switches", OPTION_SWITCH, AT(switches), .read = read_switch },
	{ "--help", NULL, "this", OPTION_HELP, AT(help) },
	{ NULL },
};

/* Splits a line at blanks and reads it; words are refused when none are taken. */
static bool read_line(const char *text, bool words, struct target *target, struct etw_error *err)
{
	static char buffer[128];
	const struct command_line line = { .options = options,
					   .word = words ? read_word : NULL,
					   .hint = " here" };
	char *argv[16] = { NULL };
	int argc = 1;

	snprintf(buffer, sizeof buffer, "%s", text);
	for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " ")) {
		argv[argc++] = word;
	}
	*target = (struct target){ .colour = NO_COLOUR };
	return command_line_read(&line, argc, argv, target, err);
}

static void each_type_sets_its_member(void **state)
{
	struct target read;

	(void)state;
	assert_true(read_line("--set --text=a=b --colour green --digit 8 --count=7 --even 4", false,
			      &read, NULL));
	assert_true(read.set);
	assert_false(read.help);
	assert_string_equal(read.text, "a=b");
	assert_int_equal(read.colour, GREEN);
	assert_int_equal(read.digit, 8);
	assert_int_equal(read.count, 7);
	assert_int_equal(read.even, 4);
	assert_true(read_line("--text --set --colour=red", false, &read, NULL));
	assert_string_equal(read.text, "--set");
	assert_false(read.set);
	assert_int_equal(read.colour, RED);
}

static void switches_are_a_family_beside_their_namesakes(void **state)
{
	struct target read;

	(void)state;
	assert_true(read_line("--part.a --no-part.b --part.all", false, &read, NULL));
	assert_string_equal(read.switches, "--part.a--no-part.b");
	assert_true(read.set);
}

static void words_stand_anywhere_and_behind_two_dashes_everything_is_one(void **state)
{
	struct target read;

	(void)state;
	assert_true(read_line("a --set - -- --text -- b", true, &read, NULL));
	assert_string_equal(read.words, "a - --text -- b ");
	assert_true(read.set);
}

static void behind_help_nothing_is_read(void **state)
{
	struct target read;

	(void)state;
	assert_true(read_line("--set --help --bogus", true, &read, NULL));
	assert_true(read.set && read.help);
	assert_true(read_line("-h --set", true, &read, NULL));
	assert_true(read.help && !read.set);
}

static void the_first_wrong_argument_is_named(void **state)
{
	static const struct {
		const char *line, *sentence;
		bool words;
	} cases[] = {
		{ "a", "unexpected argument \"a\" here", false },
		{ "--", "unknown flag -- (--help lists all)", false },
		{ "!", "no such word", true },
		{ "-x --bogus", "unknown flag -x (--help lists all)", true },
		{ "--txet=1", "unknown flag --txet; did you mean --text? (--help lists all)",
		  true },
		{ "--c", "unknown flag --c; did you mean --count? (--help lists all)", true },
		{ "--part.", "unknown flag --part.; did you mean --part.all? (--help lists all)",
		  true },
		{ "--set=1", "--set takes no value", true },
		{ "--help=1", "--help takes no value", true },
		{ "--part.a=1", "--part.a takes no value", true },
		{ "--no-part.a=", "--no-part.a takes no value", true },
		{ "--text", "--text needs a value: TEXT", true },
		{ "--text=", "--text needs a value: TEXT", true },
		{ "--colour=gren", "--colour takes red or green, not \"gren\"; did you mean green?",
		  true },
		{ "--colour=", "--colour takes red or green, not \"\"", true },
		{ "--digit 5", "--digit takes 4 or 8, not \"5\"", true },
		{ "--count 0", "--count takes a number above 0, not \"0\"", true },
		{ "--count -1", "--count takes a number above 0, not \"-1\"", true },
		{ "--count 18446744073709551616",
		  "--count takes a number above 0, not \"18446744073709551616\"", true },
		{ "--even 3", "--even takes an even digit, not \"3\"", true },
		{ "--even 9", "no nines", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };
		struct target read;

		print_message("  %s\n", cases[i].line);
		assert_false(read_line(cases[i].line, cases[i].words, &read, &err));
		assert_string_equal(err.text, cases[i].sentence);
		assert_false(read_line(cases[i].line, cases[i].words, &read, NULL));
	}
}

static void help_is_one_line_an_option(void **state)
{
	struct etw_text help = { 0 };

	(void)state;
	command_line_help(&help, options, '=', 16);
	assert_string_equal(help.data, "  --set         sets\n"
				       "  --text=TEXT   a text\n"
				       "  --colour=COLOUR red or green\n"
				       "  --digit=4|8   of two\n"
				       "  --count=N     how many\n"
				       "  --even=DIGIT  an even one\n"
				       "  --part.all    looks like a switch\n"
				       "  --[no-]part.NAME switches\n"
				       "  --help        this\n");
	text_free(&help);
}

/* What is not in --help is not described either. */
static void a_description_has_what_help_has_and_the_words(void **state)
{
	static const struct command_option some[] = {
		{ "--set", NULL, "sets", OPTION_SET, AT(set) },
		{ "--hidden", NULL, NULL, OPTION_SET, AT(set) },
		{ "--digit", "4|8", "of \"two\"", OPTION_DIGIT, AT(digit), .words = digits },
		{ "--part.", "NAME", "switches", OPTION_SWITCH, AT(switches), .read = read_switch },
		{ NULL },
	};
	struct etw_text out = { 0 };
	struct json json;

	(void)state;
	json_init(&json, &out, false);
	command_line_describe(&json, some);
	assert_string_equal(out.data, "[{\"name\":\"--set\",\"value\":null,\"is_switch\":false,"
				      "\"words\":null,\"help\":\"sets\"},"
				      "{\"name\":\"--digit\",\"value\":\"4|8\",\"is_switch\":false,"
				      "\"words\":[\"4\",\"8\"],\"help\":\"of \\\"two\\\"\"},"
				      "{\"name\":\"--part.\",\"value\":\"NAME\",\"is_switch\":true,"
				      "\"words\":null,\"help\":\"switches\"}]");
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_sets_its_member),
		cmocka_unit_test(switches_are_a_family_beside_their_namesakes),
		cmocka_unit_test(words_stand_anywhere_and_behind_two_dashes_everything_is_one),
		cmocka_unit_test(behind_help_nothing_is_read),
		cmocka_unit_test(the_first_wrong_argument_is_named),
		cmocka_unit_test(help_is_one_line_an_option),
		cmocka_unit_test(a_description_has_what_help_has_and_the_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

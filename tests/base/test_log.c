/* SPDX-License-Identifier: MIT */
/*
 * The log, as it arrives on standard error.
 */
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/os.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

enum { LINES_SIZE = 65536, TIMESTAMP_LENGTH = sizeof "2026-01-01T00:00:00.000Z" - 1 };

static int real_stderr;
static char caught_path[TEMPORARY_PATH_SIZE];
static FILE *caught;

/* From here to release(), standard error is a file. */
static void catch_stderr(void)
{
	temporary_path(caught_path, "log");
	caught = fopen(caught_path, "w+b");
	assert_non_null(caught);
	real_stderr = dup(STDERR_FILENO);
	assert_true(real_stderr >= 0);
	assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
}

/* What was written meanwhile, as a string. */
static const char *release_stderr(void)
{
	static char lines[LINES_SIZE];
	size_t size;

	assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
	close(real_stderr);
	rewind(caught);
	size = fread(lines, 1, sizeof lines - 1, caught);
	lines[size] = '\0';
	fclose(caught);
	remove(caught_path);
	return lines;
}

static void assert_timestamp(const char *text)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	for (size_t i = 0; i < TIMESTAMP_LENGTH; i++) {
		if (shape[i] == 'd') {
			assert_in_range(text[i], '0', '9');
		} else {
			assert_int_equal(text[i], shape[i]);
		}
	}
}

static void a_line_has_time_level_message_and_fields(void **state)
{
	const char *line;

	(void)state;
	log_configure(LOG_INFO, LOG_LOGFMT);
	catch_stderr();
	log_info("Replay started", log_text("file", "a.etl"), log_u64("buffers", 12));
	line = release_stderr();
	assert_memory_equal(line, "ts=", 3);
	assert_timestamp(line + 3);
	assert_string_equal(line + 3 + TIMESTAMP_LENGTH,
			    " level=info msg=\"Replay started\" file=a.etl buffers=12\n");
}

static void the_same_line_as_json(void **state)
{
	const char *line;

	(void)state;
	log_configure(LOG_INFO, LOG_JSON);
	catch_stderr();
	log_warning("Replay \"cut\"", log_text("file", "C:\\a\nb"), log_u64("buffers", UINT64_MAX),
		    log_text("none", NULL));
	line = release_stderr();
	assert_memory_equal(line, "{\"ts\":\"", 7);
	assert_timestamp(line + 7);
	assert_string_equal(line + 7 + TIMESTAMP_LENGTH,
			    "\",\"level\":\"warning\",\"msg\":\"Replay \\\"cut\\\"\","
			    "\"file\":\"C:\\\\a\\nb\",\"buffers\":18446744073709551615,"
			    "\"none\":\"\"}\n");
}

static void the_timestamp_is_now_in_utc(void **state)
{
	struct tm utc = { 0 };
	const char *line;
	long long written, before, after;

	(void)state;
	system_set_time_zone("XXX-5");
	log_configure(LOG_INFO, LOG_LOGFMT);
	catch_stderr();
	before = (long long)(os_unix_time_ns() / 1000000000);
	log_info("Now");
	after = (long long)(os_unix_time_ns() / 1000000000);
	line = release_stderr();
	assert_int_equal(sscanf(line, "ts=%d-%d-%dT%d:%d:%d", &utc.tm_year, &utc.tm_mon,
				&utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec),
			 6);
	utc.tm_year -= 1900;
	utc.tm_mon -= 1;
	written = system_unix_seconds(&utc);
	assert_true(before <= written && written <= after);
	system_set_time_zone(NULL);
}

static void text_from_outside_makes_no_line_or_field_of_its_own(void **state)
{
	static const struct {
		const char *text;
		const char *written;
	} cases[] = {
		{ "word", "v=word" },
		{ "/a/b-c_d.etl:1,2;{}", "v=/a/b-c_d.etl:1,2;{}" },
		{ "", "v=\"\"" },
		{ NULL, "v=\"\"" },
		{ "two words", "v=\"two words\"" },
		{ "a=b", "v=\"a=b\"" },
		{ "C:\\x", "v=\"C:\\\\x\"" },
		{ "say \"x\"", "v=\"say \\\"x\\\"\"" },
		{ "x\nts=1 level=error\r\t", "v=\"x\\nts=1 level=error\\r\\t\"" },
		{ "\x1b[2J\x7f", "v=\"\\u001b[2J\\u007f\"" },
		{ "\xc2\x9b"
		  "1m",
		  "v=\"\\u009b1m\"" },
		{ "a\xe2\x80\xa8"
		  "b\xe2\x80\xae"
		  "c",
		  "v=\"a\\u2028b\\u202ec\"" },
		{ "caf\xc3\xa9", "v=\"caf\xc3\xa9\"" },
		{ "caf\xe9", "v=\"caf\xef\xbf\xbd\"" },
	};

	(void)state;
	log_configure(LOG_INFO, LOG_LOGFMT);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char expected[128];
		const char *line;

		catch_stderr();
		log_error("M", log_text("v", cases[i].text));
		line = release_stderr();
		snprintf(expected, sizeof expected, " level=error msg=\"M\" %s\n",
			 cases[i].written);
		assert_string_equal(line + 3 + TIMESTAMP_LENGTH, expected);
	}
}

static void levels_below_the_configured_one_are_silent(void **state)
{
	static const unsigned lines_from[] = {
		[LOG_DEBUG] = 4,
		[LOG_INFO] = 3,
		[LOG_WARNING] = 2,
		[LOG_ERROR] = 1,
	};

	(void)state;
	for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
		const char *lines;
		unsigned count = 0;

		log_configure((enum log_level)level, LOG_LOGFMT);
		catch_stderr();
		log_debug("D");
		log_info("I");
		log_warning("W");
		log_error("E");
		lines = release_stderr();
		for (const char *at = lines; (at = strchr(at, '\n')); at++) {
			count++;
		}
		assert_int_equal(count, lines_from[level]);
		assert_non_null(strstr(lines, "level=error msg=\"E\""));
	}
}

static void level_and_format_are_read_by_name(void **state)
{
	static const struct {
		const char *text;
		enum log_level level;
	} levels[] = {
		{ "debug", LOG_DEBUG },     { "info", LOG_INFO }, { "warn", LOG_WARNING },
		{ "WARNING", LOG_WARNING }, { "Info", LOG_INFO }, { "warning", LOG_WARNING },
		{ "error", LOG_ERROR },
	};
	enum log_level level = LOG_ERROR;
	enum log_format format = LOG_LOGFMT;

	(void)state;
	for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
		assert_true(log_level_parse(levels[i].text, &level));
		assert_int_equal(level, levels[i].level);
	}
	assert_false(log_level_parse("", &level));
	assert_false(log_level_parse("inf", &level));
	assert_int_equal(level, LOG_ERROR);
	assert_true(log_format_parse("json", &format));
	assert_int_equal(format, LOG_JSON);
	assert_true(log_format_parse("logfmt", &format));
	assert_int_equal(format, LOG_LOGFMT);
	assert_false(log_format_parse("xml", &format));
}

static void errno_survives_a_line(void **state)
{
	(void)state;
	log_configure(LOG_INFO, LOG_LOGFMT);
	catch_stderr();
	errno = ENOENT;
	log_info("Line");
	assert_int_equal(errno, ENOENT);
	release_stderr();
}

static void write_100_lines(void *context)
{
	for (int i = 0; i < 100; i++) {
		log_always(LOG_INFO, "Line", log_text("from", context));
	}
}

static void lines_of_several_threads_stay_whole(void **state)
{
	static char names[4][200];
	struct os_thread threads[4];
	const char *lines;
	unsigned count = 0;

	(void)state;
	log_configure(LOG_INFO, LOG_LOGFMT);
	catch_stderr();
	for (size_t i = 0; i < 4; i++) {
		memset(names[i], (int)('a' + i), sizeof names[i] - 100 - i);
		if (!os_thread_start(&threads[i], write_100_lines, names[i], NULL)) {
			release_stderr();
			fail_msg("no thread");
		}
	}
	for (size_t i = 0; i < 4; i++) {
		os_thread_join(&threads[i]);
	}
	lines = release_stderr();
	while (*lines) {
		const char *end = strchr(lines, '\n');
		const char *name;

		assert_non_null(end);
		assert_memory_equal(lines, "ts=", 3);
		name = lines + strlen("ts= level=info msg=\"Line\" from=") + TIMESTAMP_LENGTH;
		assert_in_range(*name, 'a', 'd');
		assert_int_equal(end - name, strlen(names[*name - 'a']));
		assert_memory_equal(name, names[*name - 'a'], (size_t)(end - name));
		lines = end + 1;
		count++;
	}
	assert_int_equal(count, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_time_level_message_and_fields),
		cmocka_unit_test(the_same_line_as_json),
		cmocka_unit_test(the_timestamp_is_now_in_utc),
		cmocka_unit_test(text_from_outside_makes_no_line_or_field_of_its_own),
		cmocka_unit_test(levels_below_the_configured_one_are_silent),
		cmocka_unit_test(level_and_format_are_read_by_name),
		cmocka_unit_test(errno_survives_a_line),
		cmocka_unit_test(lines_of_several_threads_stay_whole),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
